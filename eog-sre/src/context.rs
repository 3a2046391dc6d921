//! The context contract over a snapshot: bounded local evidence on one entity.

use std::collections::BTreeMap;

use eog_core::{
    Anomaly, BoxFuture, ContextContract, ContextRequest, EntityId, EvidenceKind, EvidenceTime,
    Failure, Finding, LocalContext, Signal, Timestamp, Window,
};
use eog_evidence::EffectMap;

use crate::evidence::{Compare, LogIndex, MetricIndex, SpanIndex, magnitude};
use crate::graph::{OperationalGraph, WORKLOAD_KINDS};
use crate::incident::Records;
use crate::names;
use crate::snapshot::Snapshot;

/// Most findings on one page; the notes about effects come on top of the first page.
pub const PAGE_FINDINGS: usize = 24;

/// Most pods of a workload whose evidence is part of the workload's context.
const MAX_PODS: usize = 20;

/// Most findings about relations whose messages are new.
const MAX_RELATIONS: usize = 6;

/// Local evidence from a snapshot.
///
/// A context holds, strongest first: the entity's own changes, its failure events, its alerts,
/// shifts in what is measured (by how far they went), then restarts and other events. The context
/// of a workload includes its pods, what its ReplicaSets were refused, and the load that it makes.
/// The first page ends with the notes of [`EffectMap`]; further pages hold the findings that did
/// not fit, and `omitted` says how many they are.
///
/// ```
/// use eog_core::{ContextContract, ContextRequest, EntityId, Window};
/// use eog_sre::{ReadOptions, Snapshot, SnapshotContext};
/// # let directory = tempfile::tempdir()?;
/// # std::fs::create_dir(directory.path().join("alerts"))?;
/// # std::fs::write(directory.path().join("alerts/alerts_at_1.json"), "[]")?;
/// let snapshot = Snapshot::open(directory.path(), &ReadOptions::default())?;
/// let graph = snapshot.graph();
/// let context = SnapshotContext::new(snapshot, graph);
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// assert!(context.page(&EntityId::new("shop/Service/cart")?, window, 1).findings.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SnapshotContext {
    snapshot: Snapshot,
    graph: OperationalGraph,
    /// Changes, events and alerts by entity.
    recorded: BTreeMap<EntityId, Vec<Finding>>,
    observed: Option<Window>,
    onsets: Vec<Timestamp>,
    /// Times of the changes that can have caused something, strongest first.
    causes: Vec<Timestamp>,
    effects: EffectMap,
    spans: SpanIndex,
    metrics: MetricIndex,
    logs: LogIndex,
}

/// How much a snapshot holds of one entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Spans that show what it serves, or sends if it serves nothing.
    pub spans: usize,
    /// Log lines.
    pub log_lines: usize,
    /// Series of metrics.
    pub series: usize,
}

impl SnapshotContext {
    /// Prepares a snapshot for questions. Work in proportion to the snapshot's size.
    pub fn new(snapshot: Snapshot, graph: OperationalGraph) -> Self {
        let records = Records::new(&snapshot, &graph);
        let anomalies = &records.alerts.anomalies;
        let effects = EffectMap::new(graph.topology(), &records.changes, anomalies);
        let mut onsets: Vec<Timestamp> = anomalies.iter().flat_map(Anomaly::onsets).collect();
        onsets.sort();
        let causes = effects.qualifying().map(|change| change.time.start()).collect();
        let mut recorded: BTreeMap<EntityId, Vec<Finding>> = BTreeMap::new();
        for finding in
            records.changes.into_iter().chain(records.events).chain(records.alerts.findings)
        {
            recorded.entry(finding.entity.clone()).or_default().push(finding);
        }
        let spans = SpanIndex::new(&snapshot.spans, &graph.index);
        let metrics = MetricIndex::new(&snapshot.metrics, &graph.index);
        let logs = LogIndex::new(&snapshot.logs, &graph.index);
        let observed = snapshot.observed();
        Self { snapshot, graph, recorded, observed, onsets, causes, effects, spans, metrics, logs }
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The operational graph.
    pub fn graph(&self) -> &OperationalGraph {
        &self.graph
    }

    /// How much was recorded of an entity itself.
    pub fn recorded(&self, entity: &EntityId) -> Recorded {
        Recorded {
            spans: self.spans.count(entity),
            log_lines: self.logs.count(entity),
            series: self.metrics.count(entity),
        }
    }

    /// One page of the local evidence on an entity, pages counted from 1.
    pub fn page(&self, entity: &EntityId, window: Window, page: u32) -> LocalContext {
        self.assemble(entity, window, page, &[])
    }

    fn assemble(
        &self,
        entity: &EntityId,
        window: Window,
        page: u32,
        changed: &[EntityId],
    ) -> LocalContext {
        let page = page.max(1) as usize;
        let mut findings = self.collect(entity, window);
        let total = findings.len();
        let from = (page - 1).saturating_mul(PAGE_FINDINGS).min(total);
        let to = (from + PAGE_FINDINGS).min(total);
        let mut context = LocalContext {
            findings: findings.drain(from..to).collect(),
            ..LocalContext::default()
        };
        if to < total {
            context.omitted.push(format!(
                "{} weaker findings are left for page {} and later",
                total - to,
                page + 1
            ));
        }
        if page == 1 {
            if let Some(compare) = self.compare(window).filter(|_| !changed.is_empty()) {
                let spans = &self.snapshot.spans;
                let neighbours = changed.iter().cloned();
                let relations = self.spans.relations(spans, entity, neighbours, &compare);
                let new = relations.into_iter().filter(|relation| {
                    !context.findings.iter().any(|known| known.id() == relation.id())
                });
                let new: Vec<Finding> = new.take(MAX_RELATIONS).collect();
                context.findings.extend(new);
            }
            context.findings.extend(self.effects.notes(entity));
        }
        context
    }

    /// Every finding on an entity in a window, strongest first.
    fn collect(&self, entity: &EntityId, window: Window) -> Vec<Finding> {
        let is_workload = WORKLOAD_KINDS.contains(&names::kind_of(entity));
        let owned = self.graph.owned_by(entity);
        let of_kind = |kinds: &'static [&str]| {
            let wanted = |one: &&EntityId| kinds.contains(&names::kind_of(one));
            owned.iter().filter(wanted).cloned().collect::<Vec<_>>()
        };
        let mut pods = if is_workload { of_kind(&["Pod"]) } else { Vec::new() };
        pods.truncate(MAX_PODS);
        // What fails to make pods is told by the object between a workload and its pods.
        let mut makers = if is_workload { of_kind(&["ReplicaSet"]) } else { Vec::new() };
        makers.truncate(MAX_PODS);
        let mut findings = Vec::new();
        // A scheduled experiment ran when one that it made ran.
        let made = owned.iter().filter_map(|one| self.recorded.get(one)).flatten();
        let ran = made.filter(|finding| {
            finding.kind == EvidenceKind::Event && finding.signal == Signal::Experiment
        });
        findings.extend(ran.filter(|finding| overlaps(finding, window)).cloned());
        for one in std::iter::once(entity).chain(&pods).chain(&makers) {
            let recorded = self.recorded.get(one).into_iter().flatten();
            // A window may begin after the change that explains what is seen in it.
            let is_cause = |finding: &Finding| {
                finding.time.start() < window.end()
                    && self.effects.qualifying().any(|cause| cause.id() == finding.id())
            };
            let relevant = |finding: &&Finding| overlaps(finding, window) || is_cause(finding);
            findings.extend(recorded.filter(relevant).cloned());
        }
        if let Some(compare) = self.compare(window) {
            let Snapshot { spans, metrics, logs, .. } = &self.snapshot;
            findings.extend(self.spans.findings(spans, entity, &compare));
            for service in self.graph.load_of(entity) {
                let sent = self.spans.findings(spans, service, &compare).into_iter();
                findings.extend(sent.filter(|f| f.signal == Signal::Traffic && f.peer.is_none()));
            }
            for one in std::iter::once(entity).chain(&pods) {
                let index = &self.graph.index;
                findings.extend(self.metrics.findings(metrics, one, index, &compare));
                findings.extend(self.logs.findings(logs, one, &compare));
            }
            if is_workload {
                findings.extend(self.metrics.replicas(metrics, entity, &pods, &compare));
            }
        }
        findings.sort_by(|a, b| {
            let ranks = rank(a).cmp(&rank(b));
            let measured = magnitude(b).total_cmp(&magnitude(a));
            ranks.then(measured).then(a.time.start().cmp(&b.time.start())).then(a.id().cmp(b.id()))
        });
        findings.dedup_by(|a, b| a.id() == b.id());
        findings
    }

    /// The two periods to compare in a window.
    fn compare(&self, window: Window) -> Option<Compare> {
        let inside = |times: &[Timestamp]| {
            times.iter().copied().find(|at| window.start() < *at && *at < window.end())
        };
        let pivot = inside(&self.causes).or_else(|| inside(&self.onsets));
        Compare::at(pivot.unwrap_or(window.start()), window, self.observed)
    }
}

impl ContextContract for SnapshotContext {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        let changed: Vec<EntityId> = request.changed_neighbours.iter().cloned().collect();
        let context = self.assemble(&request.entity, request.window, request.page, &changed);
        Box::pin(async move { Ok(context) })
    }
}

fn overlaps(finding: &Finding, window: Window) -> bool {
    match finding.time {
        EvidenceTime::At(at) => window.contains(at),
        EvidenceTime::During(during) => {
            during.start() < window.end() && window.start() < during.end()
        }
    }
}

/// What comes first in a context: smaller is stronger.
fn rank(finding: &Finding) -> u8 {
    match (finding.kind, finding.signal) {
        (EvidenceKind::Change, Signal::Restart) => 4,
        (EvidenceKind::Change, _) => 0,
        (EvidenceKind::Event, Signal::Availability | Signal::Exhaustion | Signal::Experiment) => 1,
        (EvidenceKind::Alert, _) => 2,
        (EvidenceKind::Event, _) => 5,
        (EvidenceKind::Note, _) => 6,
        _ => 3,
    }
}
