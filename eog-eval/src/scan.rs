//! A scan of telemetry without any graph: who is saturated, else works longer, else has more errors in its logs.
//!
//! What an engineer may write in an hour. It checks each entity alone: nothing shows who passes on the
//! trouble of others.

use std::collections::BTreeMap;

use eog::evidence::{PeerRole, Signal, Trend};
use eog::{EntityId, EvidenceKind, Finding, Timestamp};
use eog_evidence::{Bundle, Series, SpanRecord};
use jiff::SignedDuration;

use crate::ranking::Ranking;

/// Trouble begins up to so long before the alert: a step of a minute, and one more.
const BEFORE_ALERT: SignedDuration = SignedDuration::from_mins(2);

/// From this share of a processor on it is saturated.
const SATURATED: f64 = 0.8;

/// A mean that differs by less than so many standard errors is left to chance.
const BEYOND_CHANCE: f64 = 4.0;

/// The means of something before and since.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    before: Sums,
    since: Sums,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: f64,
    sum: f64,
    squares: f64,
}

/// What a bundle holds, scanned.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scan {
    saturated: BTreeMap<EntityId, f64>,
    works_longer: BTreeMap<EntityId, f64>,
}

impl Scan {
    /// Scans the metrics and spans of a bundle.
    pub(crate) fn of(bundle: &Bundle) -> Self {
        let alerts = bundle.incident().anomalies;
        let Some(alert) = alerts.iter().map(|alert| alert.onset).min() else {
            return Self::default();
        };
        let split = alert.checked_sub(BEFORE_ALERT).unwrap_or(alert);
        Self { saturated: saturated(bundle, split), works_longer: self_time(bundle, split) }
    }

    /// Ranks entities: those whose processor is saturated and was not, by how many times as much of it they use;
    /// then those that work longer by themselves for each request, by the time that is lost; then those with
    /// more error lines than usual, by how many. `findings` are those of each entity.
    pub(crate) fn ranking(self, findings: &[(EntityId, Vec<Finding>)]) -> Ranking {
        let steps = [self.saturated, self.works_longer, more_errors(findings)];
        let ranked = steps
            .into_iter()
            .map(|step| Ranking::by_score(step.into_iter().filter(|(_, score)| *score > 0.0)));
        Ranking::new(ranked.flat_map(|ranking| ranking.tiers().to_vec()).collect::<Vec<_>>())
    }
}

/// How many more error lines than usual each entity wrote.
fn more_errors(findings: &[(EntityId, Vec<Finding>)]) -> BTreeMap<EntityId, f64> {
    let errors = findings.iter().map(|(entity, findings)| {
        let rising = findings.iter().filter(|one| {
            (one.kind, one.signal, one.trend) == (EvidenceKind::Log, Signal::Errors, Trend::Rising)
        });
        let more = |one: &Finding| {
            let quantity = one.quantity.as_ref();
            quantity.map_or(0.0, |it| it.observed - it.baseline.unwrap_or(0.0))
        };
        (entity.clone(), rising.map(more).sum())
    });
    errors.collect()
}

/// How many times as much of its processor each entity uses, where it is saturated now.
fn saturated(bundle: &Bundle, split: Timestamp) -> BTreeMap<EntityId, f64> {
    let is_processor =
        |series: &&Series| series.signal == Signal::Saturation && series.metric.contains("cpu");
    let mut all = BTreeMap::new();
    for series in bundle.series().filter(is_processor) {
        let whole = if series.unit == "ratio" { 1.0 } else { 100.0 };
        let mut used = Compared::default();
        for (at, value) in &series.points {
            used.add(*at, *value, split);
        }
        let Some((before, since)) = used.means() else { continue };
        if since >= SATURATED * whole && before < SATURATED * whole {
            all.insert(series.entity.clone(), since / before.max(0.01 * whole));
        }
    }
    all
}

/// The time that each entity's own work takes longer, over all its requests, beyond chance.
fn self_time(bundle: &Bundle, split: Timestamp) -> BTreeMap<EntityId, f64> {
    let is_call =
        |span: &SpanRecord| span.peer.as_ref().is_some_and(|peer| peer.role == PeerRole::Callee);
    // Calls by the request that made them; without ids, by their caller.
    let mut waited: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    let mut calls: BTreeMap<&EntityId, Compared> = BTreeMap::new();
    for span in bundle.spans().filter(|span| is_call(span)) {
        let parent = span.ids.as_ref().and_then(|ids| Some((&*ids.trace, ids.parent.as_deref()?)));
        match parent {
            Some(parent) => *waited.entry(parent).or_default() += span.duration_ms,
            None => calls.entry(&span.entity).or_default().add(span.time, span.duration_ms, split),
        }
    }
    let mut works: BTreeMap<&EntityId, Compared> = BTreeMap::new();
    for span in bundle.spans().filter(|span| !is_call(span)) {
        let own = span.ids.as_ref().and_then(|ids| waited.get(&(&*ids.trace, &*ids.span)));
        let own = span.duration_ms - own.copied().unwrap_or(0.0);
        works.entry(&span.entity).or_default().add(span.time, own.max(0.0), split);
    }
    let lost = works.into_iter().filter_map(|(entity, work)| {
        let (before, since) = work.means()?;
        let called = calls.get(entity).copied().unwrap_or_default();
        let wait = |calls: Sums, work: Sums| calls.sum / work.count;
        let more = wait(called.since, work.since) - wait(called.before, work.before);
        let each = since - before - more;
        let stands_out = each > BEYOND_CHANCE * work.standard_error();
        stands_out.then(|| (entity.clone(), each * work.since.count))
    });
    lost.collect()
}

impl Compared {
    fn add(&mut self, at: Timestamp, value: f64, split: Timestamp) {
        let sums = if at < split { &mut self.before } else { &mut self.since };
        sums.count += 1.0;
        sums.sum += value;
        sums.squares += value * value;
    }

    /// The means before and since; nothing where there is nothing to compare.
    fn means(&self) -> Option<(f64, f64)> {
        let is_known = self.before.count > 0.0 && self.since.count > 0.0;
        is_known.then(|| (self.before.mean(), self.since.mean()))
    }

    /// Of the difference of the means.
    fn standard_error(&self) -> f64 {
        (self.before.variance_of_mean() + self.since.variance_of_mean()).sqrt()
    }
}

impl Sums {
    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    fn variance_of_mean(&self) -> f64 {
        let variance = self.squares / self.count - self.mean() * self.mean();
        variance.max(0.0) / self.count
    }
}

#[cfg(test)]
mod tests {
    use eog::Anomaly;
    use eog::evidence::Peer;
    use eog_evidence::{BundleWriter, Manifest};

    use super::*;

    fn id(name: &str) -> EntityId {
        EntityId::new(name).unwrap()
    }

    fn second(at: i64) -> Timestamp {
        Timestamp::from_second(at).unwrap()
    }

    /// Requests of `web` that wait for `api`, ten minutes before an alert and two since trouble began.
    fn bundle(is_full: bool) -> Bundle {
        let mut bundle = BundleWriter::new(Manifest::new("slow"));
        bundle.alerts.push(Anomaly::new("slow", id("web"), Signal::Latency, second(720)));
        for at in 0..84 {
            let works = if at < 60 { 20.0 } else { 80.0 } + (at % 3) as f64;
            let span = |entity: &str, duration_ms: f64, peer: Option<&str>| SpanRecord {
                time: second(10 * at),
                entity: id(entity),
                duration_ms,
                failed: None,
                peer: peer.map(|peer| Peer { entity: id(peer), role: PeerRole::Callee }),
                operation: None,
                ids: None,
            };
            bundle.spans.push(span("web", 15.0 + works, None));
            bundle.spans.push(span("web", works, Some("api")));
            bundle.spans.push(span("api", works, None));
        }
        let cpu = |at: i64| if at >= 600 && is_full { 0.97 } else { 0.2 };
        bundle.metrics.push(Series {
            entity: id("disk"),
            kind: EvidenceKind::Metric,
            metric: "cpu".into(),
            signal: Signal::Saturation,
            unit: "ratio".into(),
            peer: None,
            points: (0..14).map(|n| (second(60 * n), cpu(60 * n))).collect(),
        });
        bundle.to_bundle()
    }

    fn ranked(bundle: &Bundle, findings: &[(EntityId, Vec<Finding>)]) -> Vec<String> {
        let ranking = Scan::of(bundle).ranking(findings);
        ranking.entities().map(ToString::to_string).collect()
    }

    #[test]
    fn the_full_come_first_then_who_works_longer_not_who_waits() {
        assert_eq!(ranked(&bundle(true), &[]), ["disk", "api"]);
        assert_eq!(ranked(&bundle(false), &[]), ["api"]);
    }
}
