//! What a window holds of a period, as a piece.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use eog_core::evidence::{PeerRole, Signal};
use eog_core::incident::EffectDirection;

use super::columns::{Columns, LineRow, Point, PointKind, SeriesKey, SpanRow};
use super::window::Window;
use crate::period::{Period, shown};
use crate::piece::{Line, Link, Measured, Millis, Piece, Span, Who};

/// Histograms of durations of requests, as the semantic conventions name them now and named them before.
const REQUESTS: [&str; 9] = [
    "http.server.request.duration",
    "http.server.duration",
    "rpc.server.call.duration",
    "rpc.server.duration",
    "http.client.request.duration",
    "http.client.duration",
    "rpc.client.call.duration",
    "rpc.client.duration",
    "db.client.operation.duration",
];

/// Since when the window is held may lie so much after the begin of a period, in milliseconds.
const LATE: Millis = 60_000;

/// Whether a metric is of use. Others are not held.
pub(super) fn is_kept(metric: &str) -> bool {
    REQUESTS.contains(&metric) || is_share(metric)
}

/// A share of what there is, from 0 to 1, by the convention for names.
fn is_share(metric: &str) -> bool {
    metric.ends_with(".utilization")
}

/// What was received of a period: at most so many spans and lines, the latest ones.
pub(super) fn piece(window: &Window, period: Period, spans: usize, lines: usize) -> Piece {
    let mut piece = Piece::default();
    if window.since() > period.from + LATE {
        piece.notes.push(format!("OTLP is held since {} alone", shown(window.since())));
    }
    let rows = window.parts().rev().flat_map(Columns::spans);
    let mut rows = rows.filter(|row| period.contains(row.start / 1_000_000));
    piece.spans = rows.by_ref().take(spans).map(span).collect();
    piece.spans.reverse();
    let left = rows.count();
    let rows = window.parts().rev().flat_map(Columns::lines);
    let mut rows = rows.filter(|row| period.contains(row.at / 1_000_000));
    piece.lines = rows.by_ref().take(lines).map(line).collect();
    piece.lines.reverse();
    let left = left + rows.count();
    if left > 0 {
        piece.missing.push(format!("{left} records beyond max_spans or max_logs, the oldest ones"));
    }
    metrics(window, period, &mut piece);
    piece
}

fn hex(bytes: &[u8]) -> String {
    if bytes.iter().all(|byte| *byte == 0) {
        return String::new();
    }
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn span(row: SpanRow) -> Span {
    let kinds = ["", "Internal", "Server", "Client", "Producer", "Consumer"];
    let peer = Some(row.peer).filter(|peer| !peer.is_empty());
    Span {
        start: row.start,
        nanoseconds: row.nanoseconds,
        who: row.who,
        trace: hex(&row.trace),
        id: hex(&row.id),
        parent: hex(&row.parent),
        name: row.name,
        kind: kinds.get(usize::from(row.kind)).copied().unwrap_or_default().to_owned(),
        failed: Some(row.failed),
        message: row.message,
        resource: BTreeMap::new(),
        attributes: peer.map(|peer| ("peer.service".to_owned(), peer)).into_iter().collect(),
    }
}

fn line(row: LineRow) -> Line {
    Line {
        at: row.at,
        who: row.who,
        level: row.level,
        text: row.text,
        trace: hex(&row.trace),
        resource: BTreeMap::new(),
    }
}

/// Which entity is measured, with which peer, by which metric.
type Group<'a> = (&'a Who, &'a str, &'a str);

/// Requests of a group by time.
#[derive(Default)]
struct Counted {
    /// Time, requests, milliseconds, whether they failed.
    increments: Vec<(Millis, f64, f64, bool)>,
    gaps: Vec<Millis>,
}

fn metrics(window: &Window, period: Period, piece: &mut Piece) {
    let mut streams: BTreeMap<&SeriesKey, Vec<Point>> = BTreeMap::new();
    for (key, point) in window.parts().flat_map(Columns::points) {
        streams.entry(key).or_default().push(point);
    }
    let mut groups: BTreeMap<Group<'_>, Counted> = BTreeMap::new();
    let mut levels: BTreeMap<(&Who, &str), BTreeMap<Millis, f64>> = BTreeMap::new();
    for (key, mut points) in streams {
        points.sort_by_key(|it| it.at);
        points.dedup_by_key(|it| it.at);
        if key.kind == PointKind::Level {
            let all = levels.entry((&key.who, &key.metric)).or_default();
            for point in points.into_iter().filter(|it| period.contains(it.at)) {
                // The worst of several, such as of the CPUs.
                let known = all.entry(point.at).or_insert(point.sum);
                *known = known.max(point.sum);
            }
            continue;
        }
        let counted = groups.entry((&key.who, &key.peer, &key.metric)).or_default();
        let mut before: Option<Point> = None;
        for point in points {
            let (mut count, mut sum) = (point.count, point.sum);
            match (key.kind, before) {
                // How much of the first was before is not known.
                (PointKind::Cumulative, None) => count = f64::NAN,
                // After a new start of the process it begins at 0.
                (PointKind::Cumulative, Some(last)) if point.count >= last.count => {
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
    for ((who, peer, metric), counted) in groups {
        requests(who, peer, metric, counted, piece);
    }
    for ((who, metric), points) in levels {
        piece.series.push(Measured {
            who: who.clone(),
            peer: None,
            metric: metric.to_owned(),
            signal: Signal::Saturation,
            unit: "ratio".to_owned(),
            points: points.into_iter().collect(),
        });
    }
}

fn requests(who: &Who, peer: &str, metric: &str, mut counted: Counted, piece: &mut Piece) {
    counted.gaps.sort_unstable();
    // How often is exported, of all streams together.
    let step = counted.gaps.get(counted.gaps.len() / 2).copied().unwrap_or(60_000).max(1_000);
    let mut bins: BTreeMap<Millis, (f64, f64, f64)> = BTreeMap::new();
    for (at, count, sum, is_failed) in counted.increments {
        let (all, failed, taken) = bins.entry(at / step * step).or_default();
        *all += count;
        *failed += if is_failed { count } else { 0.0 };
        *taken += sum;
    }
    let is_client = metric.contains(".client.");
    let is_local = peer == "localhost" || peer == "::1" || peer.starts_with("127.");
    if bins.is_empty() || is_client && (peer.is_empty() || is_local) {
        return;
    }
    let other = is_client.then(|| Who::service(peer));
    if let Some(target) = other.clone().filter(|target| target != who) {
        piece.links.push(Link {
            source: who.clone(),
            target,
            relation: "calls".to_owned(),
            effects: EffectDirection::TargetToSource,
        });
    }
    let mut add = |name: &str, signal, unit: &str, points: Vec<(Millis, f64)>| {
        piece.series.push(Measured {
            who: who.clone(),
            peer: other.clone().map(|other| (other, PeerRole::Callee)),
            metric: format!("{metric} {name}"),
            signal,
            unit: unit.to_owned(),
            points,
        });
    };
    let seconds = step as f64 / 1000.0;
    let some = || bins.iter().filter(|(_, (all, ..))| *all > 0.0);
    let share = some().map(|(at, (all, failed, _))| (*at, failed / all)).collect();
    let mean = some().map(|(at, (all, _, taken))| (*at, taken / all)).collect();
    add("error rate", Signal::Errors, "ratio", share);
    add("mean duration", Signal::Latency, "ms", mean);
    let rate = bins.iter().map(|(at, (all, ..))| (*at, all / seconds)).collect();
    add("requests", Signal::Traffic, "1/s", rate);
}
