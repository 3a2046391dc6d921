//! Points by stream become series by entity: what several processes say of the same is added up, or the worst of it taken.

use std::collections::BTreeMap;

use eog_core::evidence::{PeerRole, Signal};
use eog_core::incident::EffectDirection;

use super::{Point, PointKind, SeriesKey, Since, is_of_requests};
use crate::period::Period;
use crate::piece::{Link, Measured, Millis, Piece, Who};

/// Who is measured, with whom, by which metric.
type Group<'a> = (&'a Who, &'a str, &'a str);

/// What was counted of a group by time.
#[derive(Default)]
struct Counted<'a> {
    unit: &'a str,
    /// Whether its points have a count of their own.
    is_spread: bool,
    /// Whether all of its points are of what failed.
    is_of_failures: bool,
    /// Time, count, sum, whether they failed.
    increments: Vec<(Millis, f64, f64, bool)>,
    gaps: Vec<Millis>,
}

/// What points say of a period. Those of a stream are in any order.
pub(crate) fn series<'a>(
    points: impl IntoIterator<Item = (&'a SeriesKey, Point)>,
    period: Period,
    piece: &mut Piece,
) {
    let mut streams: BTreeMap<&SeriesKey, Vec<Point>> = BTreeMap::new();
    for (key, point) in points {
        streams.entry(key).or_default().push(point);
    }
    let mut groups: BTreeMap<Group<'_>, Counted<'_>> = BTreeMap::new();
    let mut levels: BTreeMap<Group<'_>, (&str, BTreeMap<Millis, f64>)> = BTreeMap::new();
    for (key, mut points) in streams {
        points.sort_by_key(|it| it.at);
        points.dedup_by_key(|it| it.at);
        let group = (&key.who, key.peer.as_str(), key.metric.as_str());
        let since = match key.kind {
            PointKind::Total(since) | PointKind::Spread(since) => since,
            PointKind::Level => {
                let (_, all) = levels.entry(group).or_insert((key.unit.as_str(), BTreeMap::new()));
                for point in points.into_iter().filter(|it| period.contains(it.at)) {
                    // The worst of several, such as of the CPUs.
                    let known = all.entry(point.at).or_insert(point.sum);
                    *known = known.max(point.sum);
                }
                continue;
            }
        };
        let is_new = !groups.contains_key(&group);
        let counted = groups.entry(group).or_default();
        counted.unit = &key.unit;
        counted.is_spread = matches!(key.kind, PointKind::Spread(_));
        counted.is_of_failures = key.failed && (is_new || counted.is_of_failures);
        let mut before: Option<Point> = None;
        for mut point in points {
            // A total is what it counts.
            point.count = if counted.is_spread { point.count } else { point.sum };
            let (mut count, mut sum) = (point.count, point.sum);
            match (since, before) {
                // How much of the first was before is not known.
                (Since::Start, None) => count = f64::NAN,
                // After a new start of the process it begins at 0.
                (Since::Start, Some(last)) if count >= last.count => {
                    (count, sum) = (count - last.count, sum - last.sum);
                }
                _ => {}
            }
            if let Some(last) = before {
                counted.gaps.push(point.at - last.at);
            }
            before = Some(point);
            if count.is_finite() && period.contains(point.at) {
                counted.increments.push((point.at, count, sum, key.failed));
            }
        }
    }
    let (mut alone, mut peerless) = (0, 0);
    for (group, counted) in groups {
        let is_of_requests = is_of_requests(group.2);
        match () {
            () if counted.increments.is_empty() => alone += 1,
            () if is_of_requests && group.2.contains(".client.") && other(group.1).is_none() => {
                peerless += 1;
            }
            () if is_of_requests => requests(group, counted, piece),
            () => others(group, counted, piece),
        }
    }
    for (count, why) in [
        (alone, "have one point of the time alone, from which no rate follows"),
        (peerless, "are of clients and do not say who is asked"),
    ] {
        if count > 0 {
            piece.notes.push(format!("{count} metrics {why}"));
        }
    }
    for (group, (unit, points)) in levels {
        let (signal, spoken) = signal_of(group.2);
        let unit = if unit.is_empty() { spoken } else { unit };
        add(group, "", signal, unit, points.into_iter().collect(), piece);
    }
}

/// What the name of a metric speaks of, without its attributes, and its unit.
fn signal_of(metric: &str) -> (Signal, &'static str) {
    let name = metric.split('{').next().unwrap_or(metric);
    match crate::prometheus::spoken(name) {
        // Of graphs of services.
        (Signal::Other, unit)
            if name.ends_with("request_total") || name.ends_with("request.total") =>
        {
            (Signal::Traffic, unit)
        }
        spoken => spoken,
    }
}

/// Count, failed and sum of each step of the export.
fn binned(counted: &mut Counted<'_>) -> (f64, BTreeMap<Millis, (f64, f64, f64)>) {
    counted.gaps.sort_unstable();
    // How often is exported, of all streams together.
    let step = counted.gaps.get(counted.gaps.len() / 2).copied().unwrap_or(60_000).max(1_000);
    let mut bins: BTreeMap<Millis, (f64, f64, f64)> = BTreeMap::new();
    for (at, count, sum, is_failed) in std::mem::take(&mut counted.increments) {
        let (all, failed, taken) = bins.entry(at / step * step).or_default();
        *all += count;
        *failed += if is_failed { count } else { 0.0 };
        *taken += sum;
    }
    (step as f64 / 1000.0, bins)
}

/// The other end of a call; nothing where it is the machine itself.
fn other(peer: &str) -> Option<Who> {
    let is_local = peer == "localhost" || peer == "::1" || peer.starts_with("127.");
    (!peer.is_empty() && !is_local).then(|| Who::service(peer))
}

fn add(
    (who, peer, metric): Group<'_>,
    what: &str,
    signal: Signal,
    unit: &str,
    points: Vec<(Millis, f64)>,
    piece: &mut Piece,
) {
    if points.is_empty() {
        return;
    }
    piece.series.push(Measured {
        who: who.clone(),
        peer: other(peer).map(|other| (other, PeerRole::Callee)),
        metric: if what.is_empty() { metric.to_owned() } else { format!("{metric} {what}") },
        signal,
        unit: unit.to_owned(),
        points,
    });
}

fn call((who, peer, _): Group<'_>, piece: &mut Piece) {
    if let Some(target) = other(peer).filter(|target| target != who) {
        piece.links.push(Link {
            source: who.clone(),
            target,
            relation: "calls".to_owned(),
            effects: EffectDirection::TargetToSource,
        });
    }
}

fn requests(group: Group<'_>, mut counted: Counted<'_>, piece: &mut Piece) {
    let (seconds, bins) = binned(&mut counted);
    call(group, piece);
    let some = || bins.iter().filter(|(_, (all, ..))| *all > 0.0);
    let share = some().map(|(at, (all, failed, _))| (*at, failed / all)).collect();
    let mean = some().map(|(at, (all, _, taken))| (*at, taken / all)).collect();
    let rate = bins.iter().map(|(at, (all, ..))| (*at, all / seconds)).collect();
    add(group, "error rate", Signal::Errors, "ratio", share, piece);
    add(group, "mean duration", Signal::Latency, "ms", mean, piece);
    add(group, "requests", Signal::Traffic, "1/s", rate, piece);
}

/// Metrics of which is known what their names say alone: rates of totals, rates and means of what was measured, and the share
/// of what failed where there is both.
fn others(group: Group<'_>, mut counted: Counted<'_>, piece: &mut Piece) {
    let (seconds, bins) = binned(&mut counted);
    call(group, piece);
    let Counted { unit, is_spread, is_of_failures, .. } = counted;
    let (spoken, _) = signal_of(group.2);
    let rate = bins.iter().map(|(at, (all, ..))| (*at, all / seconds)).collect();
    let some = || bins.iter().filter(|(_, (all, ..))| *all > 0.0);
    let signal = match (is_of_failures, is_spread, spoken) {
        (true, ..) => Signal::Errors,
        (false, true, Signal::Latency) => Signal::Traffic,
        (false, true, _) => Signal::Other,
        (false, false, _) => spoken,
    };
    if is_spread {
        let mean = some().map(|(at, (all, _, sum))| (*at, sum / all)).collect();
        add(group, "count", signal, "1/s", rate, piece);
        add(group, "mean", spoken, unit, mean, piece);
    } else {
        let unit = if unit.is_empty() { "1" } else { unit };
        add(group, "", signal, &format!("{unit}/s"), rate, piece);
    }
    if !is_of_failures && bins.values().any(|(_, failed, _)| *failed > 0.0) {
        let share = some().map(|(at, (all, failed, _))| (*at, failed / all)).collect();
        add(group, "error rate", Signal::Errors, "ratio", share, piece);
    }
}
