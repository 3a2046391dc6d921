//! The metric files of a snapshot as series: levels, rates of counters, what became of requests, and how
//! full resources are.

use std::collections::BTreeMap;
use std::sync::Arc;

use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::incident::Onset;
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp};
use eog_evidence::{
    Chart, JudgedSeries, Periods, Series, Shift, counted_share_onset, level_onset, rates_differ,
    series_findings, shift_of, shorten, strongest_first, words,
};
use serde_json::Value;

use super::fullness::{fullness, is_whole};
use super::replicas::replica_findings;
use super::requests::{Line, counts, outcomes, percentiles};
use super::{Compare, MAX_EXCERPT, selector};
use crate::graph::{NameIndex, egress_cluster};
use crate::names;
use crate::read::{MetricSeries, Subject};

/// Most findings of one entity.
const MAX_FINDINGS: usize = 12;

/// A series, and how findings cite it.
pub(crate) struct Cited {
    pub(crate) series: Series,
    source: Arc<str>,
    pub(super) query: String,
    /// Whether it is about requests, as they report themselves.
    is_of_requests: bool,
    /// The failed requests and all of them, reading by reading, of which it is the share.
    counts: Vec<(Timestamp, f64, f64)>,
}

impl Cited {
    pub(super) fn new(series: Series, source: &Arc<str>, query: String) -> Self {
        let source = Arc::clone(source);
        Self { series, source, query, is_of_requests: false, counts: Vec::new() }
    }

    /// Whether it adds up with what others report: errors of containers and packets are no requests that failed, and no
    /// calls.
    pub(crate) fn is_accountable(&self) -> bool {
        self.is_of_requests || matches!(self.series.signal, Signal::Saturation | Signal::Exhaustion)
    }

    fn judged(self, periods: &Periods) -> JudgedSeries {
        let shift = self.shift(periods);
        let Self { series, source, query, .. } = self;
        JudgedSeries { series, source, query, shift }
    }

    /// How it shifted, and when that began: by single requests where these are counted.
    fn shift(&self, periods: &Periods) -> Option<(Shift, Option<Onset>)> {
        let shift = shift_of(&self.series, periods)?;
        if self.series.signal == Signal::Traffic && !counts_differ(&self.series, periods) {
            return None;
        }
        let end = self.counts.partition_point(|(at, ..)| *at < periods.window.end());
        let onset = match self.counts.get(..end) {
            Some(counts) if !counts.is_empty() => counted_share_onset(counts),
            _ => level_onset(&self.series.points, &shift),
        };
        Some((shift, onset))
    }
}

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

    /// Whether there are no series of any entity.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_entity.is_empty()
    }

    /// The entities that something was measured of.
    pub(crate) fn entities(&self) -> impl Iterator<Item = &EntityId> {
        self.by_entity.keys()
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

    /// All that was measured of an entity and speaks of its health. `object` is its latest state, if it has
    /// one. What is given as a share of a whole is not given again by itself.
    pub(crate) fn series(
        &self,
        series: &[MetricSeries],
        (entity, object): (&EntityId, Option<&Value>),
        names: &NameIndex,
    ) -> Vec<Cited> {
        let own: Vec<&MetricSeries> = self.of(series, entity).collect();
        let full = fullness(&own, entity, object);
        let is_covered = |one: &&MetricSeries| full.iter().any(|full| full.covers(one));
        let levels = own.iter().copied().filter(|one| is_level(one) && !is_covered(one));
        let mut all = requests(&own, entity, names);
        all.extend(levels.filter_map(|one| level(one, entity)));
        all.extend(full.into_iter().map(|one| one.cited));
        all
    }

    /// What the measurements of an entity show, strongest first.
    pub(crate) fn findings(
        &self,
        series: &[MetricSeries],
        of: (&EntityId, Option<&Value>),
        names: &NameIndex,
        periods: &Periods,
    ) -> Vec<Finding> {
        // That a pod uses as much as usual does not make its workload do well.
        let mut findings = self.all_findings(series, of, names, periods, 0);
        findings.truncate(MAX_FINDINGS);
        findings
    }

    /// The same without a limit, with at most so many of those that are as usual.
    pub(crate) fn all_findings(
        &self,
        series: &[MetricSeries],
        of: (&EntityId, Option<&Value>),
        names: &NameIndex,
        periods: &Periods,
        steady: usize,
    ) -> Vec<Finding> {
        let own = self.series(series, of, names).into_iter();
        let judged: Vec<JudgedSeries> = own.map(|one| one.judged(periods)).collect();
        let mut findings = series_findings(&judged, periods, steady, &mut Vec::new());
        findings.sort_by(strongest_first);
        findings
    }

    /// The measured points behind a finding that [`MetricIndex::findings`] gives, if it is about one
    /// series.
    pub(crate) fn chart(
        &self,
        series: &[MetricSeries],
        finding: &Finding,
        object: Option<&Value>,
        names: &NameIndex,
        periods: &Periods,
    ) -> Option<Chart> {
        let own = self.series(series, (&finding.entity, object), names);
        let cited = own.iter().find(|one| one.query == finding.query)?;
        Some(Chart::of(&cited.series, periods))
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

/// Whether what comes so often a second came more or less often by more than the chance of counting.
fn counts_differ(series: &Series, periods: &Periods) -> bool {
    if series.unit != "1/s" {
        return true;
    }
    let counted = |holds: &dyn Fn(Timestamp) -> bool| {
        let steps = series.points.windows(2).filter_map(|pair| match *pair {
            [(from, _), (to, rate)] if holds(to) => {
                Some((to.duration_since(from).as_secs_f64(), rate))
            }
            _ => None,
        });
        steps.fold((0.0, 0.0), |(all, lasted), (seconds, rate)| {
            (all + rate * seconds, lasted + seconds)
        })
    };
    let before = counted(&|at| periods.baseline.contains(at));
    rates_differ(before, counted(&|at| periods.window.contains(at)))
}

/// A series as it is compared point by point, unless it says nothing of health.
fn level(series: &MetricSeries, entity: &EntityId) -> Option<Cited> {
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
    let metric = series.metric.to_string();
    let line = measured_on(entity, metric, (signal, unit), None, measured(series));
    Some(Cited::new(line, &series.file, level_query(series, entity)))
}

fn measured_on(
    entity: &EntityId,
    metric: String,
    (signal, unit): (Signal, &str),
    peer: Option<&Peer>,
    points: Line,
) -> Series {
    let (entity, unit, peer) = (entity.clone(), unit.to_owned(), peer.cloned());
    Series { entity, kind: EvidenceKind::Metric, metric, signal, unit, peer, points }
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
fn requests(own: &[&MetricSeries], entity: &EntityId, names: &NameIndex) -> Vec<Cited> {
    // Metrics have their own units and labels, and are never summed up with each other.
    type Key<'a> = (Option<EntityId>, &'a str, &'a str);
    let mut groups: BTreeMap<Key<'_>, Vec<&MetricSeries>> = BTreeMap::new();
    for one in own.iter().filter(|one| one.bucket.is_some() || is_request_counter(one)) {
        let label = |name: &str| one.labels.get(name).map(String::as_str).unwrap_or_default();
        let kind = label("span_kind").to_ascii_lowercase();
        let cluster = egress_cluster(label("span_name"));
        let peer = match (kind.rsplit('_').next().unwrap_or_default(), cluster) {
            ("client", Some(cluster)) => names.service(&one.namespace, cluster),
            ("client" | "internal" | "producer", _) => continue,
            _ => None,
        };
        groups.entry((peer, &one.metric, &one.metric_type)).or_default().push(one);
    }
    let mut all = Vec::new();
    for ((peer, metric, _), series) in groups {
        let Some(source) = series.first().map(|one| Arc::clone(&one.file)) else { continue };
        let peer = peer.map(|entity| Peer { entity, role: PeerRole::Callee });
        let to = peer.as_ref().map_or_else(String::new, |peer| format!(" callee={}", peer.entity));
        let cited = |what: &str, (signal, unit): (Signal, &str), points: Line| {
            let query = format!("{source} metric_name={metric} {}{to} ({what})", selector(entity));
            let name = format!("{what} of {metric}");
            let series = measured_on(entity, name, (signal, unit), peer.as_ref(), points);
            Cited {
                is_of_requests: true,
                ..Cited::new(series, &source, shorten(&query, MAX_EXCERPT))
            }
        };
        if series.iter().any(|one| one.bucket.is_some()) {
            let scale = if metric.ends_with("_seconds_bucket") { 1000.0 } else { 1.0 };
            let line = percentiles(&series).into_iter().map(|(at, value)| (at, value * scale));
            all.push(cited("95th percentile", (Signal::Latency, "ms"), line.collect()));
        } else {
            let (rates, ratios) = outcomes(&series);
            all.push(cited("rate", (Signal::Traffic, "1/s"), rates));
            let errors = cited("error ratio", (Signal::Errors, "ratio"), ratios);
            all.push(Cited { counts: counts(&series), ..errors });
        }
    }
    all
}

/// Whether a status code means failure: of a span, of gRPC, or of HTTP (the server's fault).
pub(crate) fn is_failure(code: &str) -> bool {
    let code = code.trim().to_ascii_lowercase();
    code.ends_with("error") || (code.len() == 3 && code.starts_with('5'))
}
