//! Findings from metric files: gauges, counters, and histograms, each in its own way.

use std::collections::BTreeMap;

use eog_core::evidence::{EvidenceTime, Peer, PeerRole, Quantity, Signal};
use eog_core::incident::Onset;
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp};
use eog_evidence::{
    Chart, Periods, Series, counted_share_onset, rates_differ, shares_differ, shift_finding,
    shorten, words,
};

use super::fullness::{fullness, is_whole};
use super::latency::{Buckets, growth};
use super::replicas::replica_findings;
use super::{Compare, Draft, MAX_EXCERPT, magnitude, rounded, selector, since, trend};
use serde_json::Value;

use crate::graph::{NameIndex, egress_cluster};
use crate::names;
use crate::read::{MetricSeries, Subject};

/// Most findings of one entity.
const MAX_FINDINGS: usize = 12;

/// Fewest requests in each period for a percentile or an error ratio.
const MIN_REQUESTS: f64 = 20.0;

/// Series by entity.
#[derive(Debug, Default)]
pub(crate) struct MetricIndex {
    by_entity: BTreeMap<EntityId, Vec<usize>>,
}

impl MetricIndex {
    pub(crate) fn new(series: &[MetricSeries], names: &NameIndex) -> Self {
        let mut index = Self::default();
        for (at, one) in series.iter().enumerate() {
            let entity = match one.subject {
                Subject::Pod => names::entity(&one.namespace, "Pod", &one.name),
                Subject::Service => names.service(&one.namespace, &one.name),
            };
            if let Some(entity) = entity {
                index.by_entity.entry(entity).or_default().push(at);
            }
        }
        index
    }

    /// Whether there are no series of anybody.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_entity.is_empty()
    }

    /// How many series there are of an entity.
    pub(crate) fn count(&self, entity: &EntityId) -> usize {
        self.by_entity.get(entity).map_or(0, Vec::len)
    }

    fn of<'a>(
        &self,
        series: &'a [MetricSeries],
        entity: &EntityId,
    ) -> impl Iterator<Item = &'a MetricSeries> {
        self.by_entity.get(entity).into_iter().flatten().filter_map(|at| series.get(*at))
    }

    /// What shifted on an entity between the two periods, strongest first. `object` is its latest state,
    /// if it has one.
    pub(crate) fn findings(
        &self,
        series: &[MetricSeries],
        (entity, object): (&EntityId, Option<&Value>),
        names: &NameIndex,
        compare: &Compare,
    ) -> Vec<Finding> {
        let own: Vec<&MetricSeries> = self.of(series, entity).collect();
        let mut findings = requests(&own, entity, names, compare);
        let full = fullness(&own, entity, object);
        let filled = full.iter().filter_map(|one| one.finding(&periods(compare)));
        findings.extend(filled);
        let mut levels: BTreeMap<&str, Finding> = BTreeMap::new();
        // What is told as a share of a whole is not told again by itself.
        let is_told = |one: &&&MetricSeries| full.iter().any(|full| full.tells(one));
        for one in own.iter().filter(|one| is_level(one) && !is_told(one)) {
            let Some(finding) = shift(one, entity, compare) else { continue };
            let known = levels.get(one.metric.as_ref());
            if known.is_none_or(|known| magnitude(known) < magnitude(&finding)) {
                levels.insert(&one.metric, finding);
            }
        }
        findings.extend(levels.into_values());
        findings.sort_by(|a, b| magnitude(b).total_cmp(&magnitude(a)).then(a.id().cmp(b.id())));
        findings.truncate(MAX_FINDINGS);
        findings
    }

    /// The measured points behind a finding that [`MetricIndex::findings`] gives, if it is about one
    /// series.
    pub(crate) fn chart(
        &self,
        series: &[MetricSeries],
        finding: &Finding,
        object: Option<&Value>,
        compare: &Compare,
    ) -> Option<Chart> {
        let entity = &finding.entity;
        let own: Vec<&MetricSeries> = self.of(series, entity).collect();
        let full = fullness(&own, entity, object);
        if let Some(cited) = full.iter().find(|one| one.query() == finding.query) {
            return Some(Chart::of(&cited.series, &periods(compare)));
        }
        let levels = self.of(series, entity).filter(|one| is_level(one));
        let mut cited = levels.filter(|one| level_query(one, entity) == finding.query);
        Some(Chart::of(&level(cited.next()?, entity)?, &periods(compare)))
    }

    /// Pods of a workload that stand out among their siblings.
    pub(crate) fn replicas(
        &self,
        series: &[MetricSeries],
        workload: &EntityId,
        pods: &[EntityId],
        compare: &Compare,
    ) -> Vec<Finding> {
        let mut levels: BTreeMap<&str, BTreeMap<&EntityId, Vec<f64>>> = BTreeMap::new();
        let mut source = "";
        for pod in pods {
            for one in self.of(series, pod).filter(|one| is_level(one)) {
                let points = measured(one);
                let after = points.iter().filter(|(at, _)| compare.after.contains(*at));
                let values = levels.entry(&one.metric).or_default().entry(pod).or_default();
                values.extend(after.map(|(_, value)| *value));
                source = &one.file;
            }
        }
        replica_findings(workload, &levels, source, compare)
    }
}

/// Whether a series is a level or a rate that can be compared point by point.
fn is_level(series: &MetricSeries) -> bool {
    let part_of_histogram =
        ["_bucket", "_sum", "_count"].iter().any(|end| series.metric.ends_with(end));
    !part_of_histogram && !is_request_counter(series) && !is_whole(&series.metric)
}

/// Whether a series counts requests by their outcome. A sum adds up what they took, not how many
/// there were.
pub(crate) fn is_request_counter(series: &MetricSeries) -> bool {
    let counts = is_counter(&series.metric) && !series.metric.ends_with("_sum");
    counts && !series.status_code.is_empty()
}

pub(crate) fn is_counter(metric: &str) -> bool {
    ["_total", "_count", "_sum", "_failcnt"].iter().any(|end| metric.ends_with(end))
}

/// The points of a series; for a counter its growth per second.
pub(crate) fn measured(series: &MetricSeries) -> Vec<(Timestamp, f64)> {
    if !is_counter(&series.metric) {
        return series.points.iter().collect();
    }
    let rate = |[(from, old), (to, new)]: [(Timestamp, f64); 2]| {
        let seconds = to.duration_since(from).as_secs_f64();
        (seconds > 0.0 && new >= old).then(|| (to, (new - old) / seconds))
    };
    series.points.steps().filter_map(rate).collect()
}

fn shift(series: &MetricSeries, entity: &EntityId, compare: &Compare) -> Option<Finding> {
    let level = level(series, entity)?;
    if level.signal == Signal::Traffic && !counts_differ(series, compare) {
        return None;
    }
    shift_finding(&level, &periods(compare), &series.file, &level_query(series, entity))
}

fn periods(compare: &Compare) -> Periods {
    Periods { baseline: compare.before.into(), ..Periods::new(compare.after) }
}

/// A series as it is compared point by point, unless it says nothing of health.
fn level(series: &MetricSeries, entity: &EntityId) -> Option<Series> {
    let name = words(&series.metric);
    let has = |wanted: &[&str]| name.iter().any(|word| wanted.contains(&word.as_str()));
    let signal = match series.metric_type.as_ref() {
        "error_rate" => Signal::Errors,
        "duration_p95" => Signal::Latency,
        _ if has(&["error", "errors", "failed", "failures"]) => Signal::Errors,
        _ if has(&["throttled", "throttling", "oom", "failcnt"]) => Signal::Exhaustion,
        _ if has(&["restarts", "restart", "up", "ready", "available", "unavailable"]) => {
            Signal::Availability
        }
        _ if has(&["latency", "duration"]) => Signal::Latency,
        _ if has(&["requests", "calls", "received", "receive", "transmit", "packets"]) => {
            Signal::Traffic
        }
        _ if has(&[
            "cpu",
            "memory",
            "fs",
            "disk",
            "usage",
            "lag",
            "queue",
            "heap",
            "connections",
        ]) =>
        {
            Signal::Saturation
        }
        _ => Signal::Other,
    };
    // A configured limit or request that moves is a consequence of a change, not a measurement.
    if signal == Signal::Other || has(&["limits", "limit", "requests"]) && has(&["resource"]) {
        return None;
    }
    let unit = match signal {
        Signal::Errors if *series.metric_type == *"error_rate" => "ratio",
        _ => unit_of(&series.metric, &name),
    };
    Some(Series {
        entity: entity.clone(),
        kind: EvidenceKind::Metric,
        metric: series.metric.to_string(),
        signal,
        unit: unit.into(),
        peer: None,
        points: measured(series),
    })
}

/// The query that gives the rows of a series again.
fn level_query(series: &MetricSeries, entity: &EntityId) -> String {
    let labels: Vec<String> = series
        .labels
        .iter()
        .filter(|(key, _)| !["pod", "namespace", "service", "node"].contains(&key.as_str()))
        .map(|(key, value)| format!("{key}={value}"))
        .take(8)
        .collect();
    let (file, metric) = (&series.file, &series.metric);
    let labels = labels.join(" ");
    let query = format!("{file} metric_name={metric} {} {labels}", selector(entity));
    shorten(&query, MAX_EXCERPT).trim().to_owned()
}

/// Whether what a counter counts in the two periods differs by more than the chance of counting;
/// always for what is no counter.
fn counts_differ(series: &MetricSeries, compare: &Compare) -> bool {
    if !is_counter(&series.metric) {
        return true;
    }
    let (before, after) =
        (growth(&series.points, compare.before), growth(&series.points, compare.after));
    before.zip(after).is_none_or(|(before, after)| rates_differ(before, after))
}

/// The unit of what [`measured`] gives, by the words of a metric's name.
pub(crate) fn unit_of(metric: &str, name: &[String]) -> &'static str {
    let has = |wanted: &[&str]| name.iter().any(|word| wanted.contains(&word.as_str()));
    match is_counter(metric) {
        // By convention a share of a whole; other ratios may be of anything.
        false if has(&["ratio"]) && has(&["utilization", "utilisation", "usage", "used"]) => {
            "ratio"
        }
        true if has(&["bytes"]) => "bytes/s",
        false if has(&["bytes"]) => "bytes",
        _ if has(&["milliseconds", "ms"]) => "ms",
        true => "1/s",
        false => "value",
    }
}

/// Errors, latency and traffic from span metrics: of what the entity serves, and of what it asks
/// of others through a proxy.
fn requests(
    own: &[&MetricSeries],
    entity: &EntityId,
    names: &NameIndex,
    compare: &Compare,
) -> Vec<Finding> {
    // Metrics have their own units and labels, and are never summed up with each other.
    let mut groups: BTreeMap<(Option<EntityId>, &str, &str), Requests<'_>> = BTreeMap::new();
    for one in own.iter().filter(|one| one.bucket.is_some() || is_request_counter(one)) {
        let label = |name: &str| one.labels.get(name).map(String::as_str).unwrap_or_default();
        let kind = label("span_kind").to_ascii_lowercase();
        let cluster = egress_cluster(label("span_name"));
        let peer = match (kind.rsplit('_').next().unwrap_or_default(), cluster) {
            ("client", Some(cluster)) => names.service(&one.namespace, cluster),
            ("client" | "internal" | "producer", _) => continue,
            _ => None,
        };
        groups.entry((peer, &one.metric, &one.metric_type)).or_default().add(one, compare);
    }
    let mut findings = Vec::new();
    for ((peer, metric, _), requests) in groups {
        let peer = peer.map(|entity| Peer { entity, role: PeerRole::Callee });
        findings.extend(requests.findings(entity, peer.as_ref(), metric, compare));
    }
    findings
}

/// Sums over the two periods, before and after.
#[derive(Default)]
struct Requests<'a> {
    all: [f64; 2],
    failed: [f64; 2],
    durations: [Buckets; 2],
    /// In how many seconds they came.
    seconds: [f64; 2],
    series: Vec<&'a MetricSeries>,
    file: String,
}

impl<'a> Requests<'a> {
    fn add(&mut self, series: &'a MetricSeries, compare: &Compare) {
        series.file.as_ref().clone_into(&mut self.file);
        self.series.push(series);
        let periods = [compare.before, compare.after];
        for (part, window) in periods.into_iter().enumerate() {
            let (grown, seconds) = growth(&series.points, window).unwrap_or_default();
            if let Some(known) = self.seconds.get_mut(part) {
                *known = known.max(seconds);
            }
            match series.bucket {
                Some(bound) => {
                    if let Some(buckets) = self.durations.get_mut(part) {
                        buckets.add(bound, grown);
                    }
                }
                None => {
                    let failed = is_failure(&series.status_code);
                    for (sum, counts) in [(&mut self.all, true), (&mut self.failed, failed)] {
                        if let Some(sum) = sum.get_mut(part).filter(|_| counts) {
                            *sum += grown;
                        }
                    }
                }
            }
        }
    }

    /// When requests began to fail, by how many did between two readings.
    fn error_onset(&self, compare: &Compare) -> Option<Onset> {
        let counters = self.series.iter().filter(|one| one.bucket.is_none());
        onset(counters.map(|one| (*one, is_failure(&one.status_code))), compare)
    }

    /// When requests began to take longer than usual, by the bucket that ends nearest above it.
    fn slow_onset(&self, usual: f64, compare: &Compare) -> Option<Onset> {
        let bounds = self.series.iter().filter_map(|one| one.bucket);
        let bound = bounds.filter(|bound| *bound >= usual).min_by(f64::total_cmp)?;
        let buckets = self.series.iter().filter_map(|one| Some((*one, one.bucket?)));
        // Buckets are cumulative: the last one counts all, this one those that are not slow.
        let total = buckets.clone().filter(|(_, end)| end.is_infinite());
        let usual = buckets.filter(|(_, end)| *end == bound && end.is_finite());
        let mut counts = counts(total.map(|(one, _)| (one, true)), compare);
        for (one, _) in usual {
            for (at, grown) in steps(one, compare) {
                if let Some((slow, _)) = counts.get_mut(&at) {
                    *slow = (*slow - grown).max(0.0);
                }
            }
        }
        onset_of(counts)
    }

    fn findings(
        &self,
        entity: &EntityId,
        peer: Option<&Peer>,
        metric: &str,
        compare: &Compare,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let target = peer.map_or_else(
            || "served requests".to_owned(),
            |peer| format!("requests to {}", peer.entity),
        );
        let mut add = |signal, (before, after): (f64, f64), unit: &str, onset| {
            let name = match signal {
                Signal::Errors => "error ratio",
                Signal::Latency => "95th percentile of the duration",
                _ => "requests a second",
            };
            let draft = Draft {
                entity,
                kind: EvidenceKind::Metric,
                signal,
                trend: trend(before, after),
                time: EvidenceTime::During(compare.after),
                quantity: Some(Quantity {
                    observed: after,
                    baseline: Some(before),
                    unit: unit.into(),
                }),
                peer: peer.cloned(),
                source: &self.file,
                query: format!(
                    "{} metric_name={metric} {} before={} after={}",
                    self.file,
                    selector(entity),
                    compare.before,
                    compare.after
                ),
                excerpt: format!(
                    "{name} of {target} from {} to {} {unit} {}",
                    rounded(before),
                    rounded(after),
                    since(onset)
                ),
                onset,
            };
            findings.push(draft.finding());
        };
        let ([old, new], [old_failed, new_failed]) = (self.all, self.failed);
        if old >= MIN_REQUESTS && new >= MIN_REQUESTS {
            let (before, after) = (old_failed / old, new_failed / new);
            let rose = after - before >= 0.01 && new_failed >= 3.0;
            if rose && shares_differ((old_failed, old), (new_failed, new)) {
                let onset = self.error_onset(compare);
                add(Signal::Errors, (before, after), "ratio", onset);
            }
            // Where a counter was not read, nothing is known of its rate.
            let [old_seconds, new_seconds] = self.seconds;
            let seconds = (old_seconds, new_seconds);
            let (before, after) = (old / seconds.0, new / seconds.1);
            if before.max(after) >= 1.5 * before.min(after)
                && rates_differ((old, seconds.0), (new, seconds.1))
            {
                add(Signal::Traffic, (before, after), "1/s", None);
            }
        }
        let [before, after] = &self.durations;
        if before.total() >= MIN_REQUESTS
            && after.total() >= MIN_REQUESTS
            && let (Some(old), Some(new)) = (before.quantile(0.95), after.quantile(0.95))
        {
            let scale = if metric.ends_with("_seconds_bucket") { 1000.0 } else { 1.0 };
            let (old, new) = (old * scale, new * scale);
            if new >= 1.5 * old && new - old >= 10.0 {
                let onset = self.slow_onset(old / scale, compare);
                add(Signal::Latency, (old, new), "ms", onset);
            }
        }
        findings
    }
}

/// How much a counter grew between readings until the end of what is compared. A fall is a restart.
fn steps<'a>(
    series: &'a MetricSeries,
    compare: &'a Compare,
) -> impl Iterator<Item = (Timestamp, f64)> + 'a {
    let grown = |[(_, old), (at, new)]: [(Timestamp, f64); 2]| {
        (at, if new >= old { new - old } else { new })
    };
    series.points.steps().map(grown).filter(|(at, _)| *at < compare.after.end())
}

/// Bad requests and all of them between readings, from counters that each count bad ones or good.
fn counts<'a>(
    counters: impl Iterator<Item = (&'a MetricSeries, bool)>,
    compare: &Compare,
) -> BTreeMap<Timestamp, (f64, f64)> {
    let mut counts: BTreeMap<Timestamp, (f64, f64)> = BTreeMap::new();
    for (series, is_bad) in counters {
        for (at, grown) in steps(series, compare) {
            let (bad, all) = counts.entry(at).or_default();
            *bad += if is_bad { grown } else { 0.0 };
            *all += grown;
        }
    }
    counts
}

fn onset<'a>(
    counters: impl Iterator<Item = (&'a MetricSeries, bool)>,
    compare: &Compare,
) -> Option<Onset> {
    onset_of(counts(counters, compare))
}

fn onset_of(counts: BTreeMap<Timestamp, (f64, f64)>) -> Option<Onset> {
    let counts: Vec<(Timestamp, f64, f64)> =
        counts.into_iter().map(|(at, (bad, all))| (at, bad, all)).collect();
    counted_share_onset(&counts)
}

/// Whether a status code means failure: of a span, of gRPC, or of HTTP (the server's fault).
pub(crate) fn is_failure(code: &str) -> bool {
    let code = code.trim().to_ascii_lowercase();
    code.ends_with("error") || (code.len() == 3 && code.starts_with('5'))
}
