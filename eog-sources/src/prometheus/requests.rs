//! Rate, errors and duration of requests, by who serves and who asks.

use std::collections::BTreeMap;

use eog_core::evidence::{PeerRole, Signal};
use eog_core::incident::EffectDirection;

use super::answer::Raw;
use super::conventions::{Ends, OUTCOMES, Requests, failed};
use super::subject::{SERVERS, distinct};
use super::{Asking, Prometheus};
use crate::error::AskError;
use crate::piece::{Link, Measured, Millis, Piece, Who};

/// Spans that ask, or are within, are no requests that are served.
const SERVED: &str = "span_kind!~\".*(CLIENT|INTERNAL|PRODUCER)\"";

/// Values by time.
type Sums = BTreeMap<Millis, f64>;

type Key = (Who, Option<(Who, PeerRole)>);

/// Requests per second at each time.
#[derive(Debug, Default)]
struct Rates {
    all: BTreeMap<Millis, f64>,
    failed: BTreeMap<Millis, f64>,
    /// Whether anything says how requests ended.
    has_outcome: bool,
}

pub(super) async fn ask(
    source: &Prometheus<'_>,
    of: &Requests,
    asking: &Asking,
) -> Result<Piece, AskError> {
    let naming = source.naming.by_service();
    let ends: Vec<&str> = match of.ends {
        Ends::Served => vec![&naming],
        Ends::Asked => [&[naming.as_str()], &SERVERS[..]].concat(),
        Ends::Both { caller, callee } => vec![caller, callee, "namespace"],
    };
    let mut only: Vec<&str> = Vec::new();
    only.extend((!of.only.is_empty()).then_some(of.only));
    only.extend((of.ends == Ends::Served).then_some(SERVED));
    let only = format!("{}{}", only.join(","), asking.matchers);
    let only = only.trim_start_matches(',');
    let rate = |metric: &str, by: &str| {
        format!("sum by ({by}) (rate({metric}{{{only}}}[{}]))", asking.window)
    };
    let range = |query: String| async move { source.range(&query, asking).await };
    let by_end = distinct(&ends);
    let by_outcome = distinct(&[&[by_end.as_str()], &OUTCOMES[..]].concat());
    let whose = |raw: &Raw| key(source, of.ends, raw, asking);

    let (mut piece, series) = range(rate(&of.count, &by_outcome)).await?;
    let mut rates: BTreeMap<Key, Rates> = BTreeMap::new();
    for raw in &series {
        let Some(key) = whose(raw) else { continue };
        let rates = rates.entry(key).or_default();
        add(&mut rates.all, raw);
        if let Some(is_failed) = failed(|name| raw.label(name)) {
            rates.has_outcome = true;
            if is_failed {
                add(&mut rates.failed, raw);
            }
        }
    }
    if let Some(metric) = &of.failed {
        let (more, series) = range(rate(metric, &by_end)).await?;
        piece.join(more);
        rates.values_mut().for_each(|rates| rates.has_outcome = true);
        for raw in &series {
            let Some(key) = whose(raw) else { continue };
            add(&mut rates.entry(key).or_default().failed, raw);
        }
    }
    let mut taken: BTreeMap<Key, (Sums, Sums)> = BTreeMap::new();
    if let Some((sum, count, _)) = &of.duration {
        let (more, sums) = range(rate(sum, &by_end)).await?;
        piece.join(more);
        let (more, counts) = range(rate(count, &by_end)).await?;
        piece.join(more);
        for raw in &sums {
            let Some(key) = whose(raw) else { continue };
            add(&mut taken.entry(key).or_default().0, raw);
        }
        for raw in &counts {
            let Some(key) = whose(raw) else { continue };
            add(&mut taken.entry(key).or_default().1, raw);
        }
    }
    let stem = of.count.trim_end_matches("_total").trim_end_matches("_count");
    for ((who, peer), rates) in rates {
        if let Some((other, role)) = &peer {
            let (source, target) = match role {
                PeerRole::Caller => (other.clone(), who.clone()),
                _ => (who.clone(), other.clone()),
            };
            if source != target {
                piece.links.push(Link {
                    source,
                    target,
                    relation: "calls".to_owned(),
                    effects: EffectDirection::TargetToSource,
                });
            }
        }
        let series = |name: &str, signal, unit: &str, points| Measured {
            who: who.clone(),
            peer: peer.clone(),
            metric: format!("{stem} {name}"),
            signal,
            unit: unit.to_owned(),
            points,
        };
        if rates.has_outcome {
            let share = rates.all.iter().filter(|(_, all)| **all > 0.0);
            let share = share.map(|(at, all)| {
                (*at, (rates.failed.get(at).copied().unwrap_or_default() / all).min(1.0))
            });
            let share = series("error rate", Signal::Errors, "ratio", share.collect());
            piece.series.push(share);
        }
        if let (Some((sums, counts)), Some((_, _, unit))) =
            (taken.get(&(who.clone(), peer.clone())), &of.duration)
        {
            let mean = counts.iter().filter(|(_, count)| **count > 0.0);
            let mean = mean.filter_map(|(at, count)| Some((*at, sums.get(at)? / count * unit)));
            piece.series.push(series("mean duration", Signal::Latency, "ms", mean.collect()));
        }
        let all = rates.all.into_iter().collect();
        piece.series.push(series("requests", Signal::Traffic, "1/s", all));
    }
    piece.series.retain(|series| !series.points.is_empty());
    Ok(piece)
}

/// The entity that a series is about, and its peer.
fn key(source: &Prometheus<'_>, ends: Ends, raw: &Raw, asking: &Asking) -> Option<Key> {
    match ends {
        Ends::Served => Some((source.naming.service(raw)?, None)),
        Ends::Asked => {
            let who = source.naming.service(raw)?;
            let server = asking.inventory.server(raw)?;
            Some((who, Some((server, PeerRole::Callee))))
        }
        Ends::Both { caller, callee } => {
            let named = |label: &str| {
                let name = raw.label(label);
                (!name.is_empty() && name != "unknown").then(|| Who::service(name))
            };
            let (callee, caller) = (named(callee)?, named(caller));
            Some((callee, caller.map(|caller| (caller, PeerRole::Caller))))
        }
    }
}

fn add(sum: &mut BTreeMap<Millis, f64>, raw: &Raw) {
    for (at, value) in &raw.points {
        *sum.entry(*at).or_default() += value;
    }
}
