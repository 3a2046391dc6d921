//! The context contract over a snapshot: bounded local evidence on one entity.

mod pages;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use eog_core::contract::{Coverage, EvidenceQuery};
use eog_core::evidence::{EvidenceTime, PeerRole, Signal, Trend};
use eog_core::incident::{Direction, Neighbour};
use eog_core::{
    Anomaly, BoxFuture, ContextContract, ContextRequest, EntityId, EvidenceKind, Failure, Finding,
    LocalContext, Timestamp, Window,
};
use eog_evidence::{
    Accounts, Chart, EffectMap, EventRecord, FoundSoFar, Measurements, Notes, Periods, Sources,
    TroubleWords, harm_of_alert, open_case, strongest_first, upstream_of,
};

use crate::evidence::{Cited, Compare, LogIndex, MetricIndex, SpanIndex, services_of};
use crate::facts::Facts;
use crate::graph::OperationalGraph;
use crate::names::{self, WORKLOAD_KINDS};
use crate::snapshot::Snapshot;

pub use pages::{ContextQuery, DEPS_PER_PAGE, MAX_FINDINGS_AT_ONCE, MAX_TOKENS, PAGE_FINDINGS};

/// Most pods of a workload whose evidence is part of the workload's context.
const MAX_PODS: usize = 20;

/// Most findings about relations whose messages are new.
const MAX_RELATIONS: usize = 6;

/// Local evidence from a snapshot.
///
/// A context contains, strongest first ([`strongest_first`]): the entity's own changes, its failure events, its
/// alerts, shifts in its measurements, logs, then other events and restarts. If there are none of these
/// but its spans show that it behaves as before, the context says so. The context of a workload
/// includes its pods, what its ReplicaSets were refused, and the load that it generates.
///
/// Page numbers start at 1. A page contains at most [`PAGE_FINDINGS`] findings, and no more than fit
/// into [`ContextQuery::max_tokens`]. The first page ends with the notes of [`EffectMap`] and
/// [`Accounts`]. After the entity's own findings, further pages contain changes and events of the entities whose effects
/// reach it. Page 0 returns all of this at once, at most [`MAX_FINDINGS_AT_ONCE`] findings.
/// `omitted` says what is left for other pages.
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
#[derive(Debug)]
pub struct SnapshotContext {
    snapshot: Arc<Snapshot>,
    graph: Arc<OperationalGraph>,
    facts: Arc<Facts>,
    /// By entity the places of its changes, events and alerts among the facts.
    recorded: BTreeMap<EntityId, Vec<usize>>,
    observed: Option<Window>,
    usual_window: OnceLock<Option<Window>>,
    onsets: Vec<Timestamp>,
    /// When harm upstream of the alerts began first, by window: it is searched for in what the window
    /// compares.
    first_harm: OfWindow<Option<Timestamp>>,
    /// Times of the changes that can have caused something, strongest first.
    causes: Vec<Timestamp>,
    effects: EffectMap,
    /// The same by when harm began, which is measured in what a window compares.
    dated_effects: OfWindow<EffectMap>,
    /// The kinds of evidence that were recorded of any entity.
    kinds: Vec<EvidenceKind>,
    /// Shared with the tools.
    spans: Arc<SpanIndex>,
    metrics: MetricIndex,
    logs: LogIndex,
    /// Which entities account for what alerts show.
    accounts: OnceLock<Accounts>,
    /// What changes say of the trouble, by window.
    change_words: OfWindow<Vec<Finding>>,
    /// Where the errors of requests begin in logs, by window.
    joined: OfWindow<BTreeMap<EntityId, Vec<Finding>>>,
}

/// Objects whose evidence is a workload's own.
#[derive(Debug, Default)]
struct Parts {
    is_workload: bool,
    pods: Vec<EntityId>,
    /// A failure to make pods is reported by the object between a workload and its pods.
    makers: Vec<EntityId>,
    /// How many pods beyond [`MAX_PODS`] there are.
    more_pods: usize,
}

/// What is worked out once for the window of an investigation. Other windows are worked out anew.
#[derive(Debug)]
struct OfWindow<T>(OnceLock<(Window, T)>);

impl<T> Default for OfWindow<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> OfWindow<T> {
    fn ask<R>(&self, window: Window, compute: impl Fn() -> T, ask: impl FnOnce(&T) -> R) -> R {
        let (of, known) = self.0.get_or_init(|| (window, compute()));
        if *of == window { ask(known) } else { ask(&compute()) }
    }
}

/// How much was recorded about one entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Spans of the requests that it serves or, if it serves none, sends.
    pub spans: usize,
    /// Log lines.
    pub log_lines: usize,
    /// Metric series.
    pub series: usize,
}

impl SnapshotContext {
    /// Prepares a snapshot for queries, in time proportional to its size.
    pub fn new(
        snapshot: impl Into<Arc<Snapshot>>,
        graph: impl Into<Arc<OperationalGraph>>,
    ) -> Self {
        let (snapshot, graph) = (snapshot.into(), graph.into());
        let spans = Arc::new(SpanIndex::new(&snapshot.spans, &graph.index));
        Self::with_spans(snapshot, graph, spans)
    }

    /// As [`SnapshotContext::new`], with the index of the spans, which was made for the tools.
    pub(crate) fn with_spans(
        snapshot: Arc<Snapshot>,
        graph: Arc<OperationalGraph>,
        spans: Arc<SpanIndex>,
    ) -> Self {
        let facts = snapshot.facts(&graph);
        let anomalies = &facts.alerts.anomalies;
        let effects = EffectMap::new(graph.topology(), &facts.causes(), anomalies);
        let mut onsets: Vec<Timestamp> = anomalies.iter().flat_map(Anomaly::onsets).collect();
        onsets.sort();
        let causes = effects.qualifying().map(|change| change.time.start()).collect();
        let mut recorded: BTreeMap<EntityId, Vec<usize>> = BTreeMap::new();
        for (place, finding) in facts.findings().enumerate() {
            recorded.entry(finding.entity.clone()).or_default().push(place);
        }
        let metrics = MetricIndex::new(&snapshot.metrics, &graph.index);
        let logs = LogIndex::new(&snapshot.logs, &graph.index);
        let observed = snapshot.observed();
        let has = |kind| facts.findings().any(|finding| finding.kind == kind);
        let kinds = [
            (EvidenceKind::Change, has(EvidenceKind::Change)),
            (EvidenceKind::Event, has(EvidenceKind::Event)),
            (EvidenceKind::Metric, !metrics.is_empty()),
            (EvidenceKind::Log, !logs.is_empty()),
            (EvidenceKind::Span, !spans.is_empty()),
        ];
        let kinds = kinds.into_iter().filter(|(_, is_recorded)| *is_recorded);
        let kinds = kinds.map(|(kind, _)| kind).collect();
        Self {
            snapshot,
            graph,
            facts,
            recorded,
            observed,
            usual_window: OnceLock::new(),
            onsets,
            first_harm: OfWindow::default(),
            causes,
            effects,
            dated_effects: OfWindow::default(),
            kinds,
            spans,
            metrics,
            logs,
            accounts: OnceLock::new(),
            change_words: OfWindow::default(),
            joined: OfWindow::default(),
        }
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The operational graph.
    pub fn graph(&self) -> &OperationalGraph {
        &self.graph
    }

    /// The window that an investigation would choose or, failing that, the whole recording; `None` if
    /// nothing was recorded.
    pub fn usual_window(&self) -> Option<Window> {
        *self.usual_window.get_or_init(|| {
            let incident = self.snapshot.incident(&self.graph);
            open_case(&incident, None).ok().map(|case| case.window).or(self.observed)
        })
    }

    /// How much was recorded about an entity itself.
    pub fn recorded(&self, entity: &EntityId) -> Recorded {
        Recorded {
            spans: self.spans.count(entity),
            log_lines: self.logs.count(entity),
            series: self.metrics.count(entity),
        }
    }

    /// One page of local evidence about an entity, with the default limits.
    pub fn page(&self, entity: &EntityId, window: Window, page: u32) -> LocalContext {
        self.read(&ContextQuery { page, ..ContextQuery::new(entity.clone(), window) })
    }

    /// The local evidence that a query asks for. The context contract and the tool
    /// `get_context_contract` both call this function.
    pub fn read(&self, query: &ContextQuery) -> LocalContext {
        let (findings, left_out) = self.collect(&query.entity, query.window);
        let dependencies = self.dependencies(&query.entity, query.window);
        let mut context = pages::page(findings, dependencies, query);
        if query.page <= 1 {
            context.omitted.extend(left_out);
            let new = self.relations(query).into_iter().filter(|relation| {
                !context.findings.iter().any(|known| known.id() == relation.id())
            });
            let new: Vec<Finding> = new.take(MAX_RELATIONS).collect();
            context.findings.extend(new);
            let notes = self.accounted(&query.entity, query.window);
            context.findings.extend(notes.findings);
            context.routes = notes.routes;
        }
        context.coverage = Some(self.coverage(&query.entity));
        context
    }

    /// What was recorded of an entity or its pods, and of others alone. Events and changes come as
    /// they like: once any are recorded, there is nothing where there are none.
    fn coverage(&self, entity: &EntityId) -> Coverage {
        let pods = self.graph.owned_by(entity).into_iter();
        let pods = pods.filter(|one| names::kind_of(one) == "Pod").take(MAX_PODS);
        let mut own = Recorded::default();
        for one in std::iter::once(entity.clone()).chain(pods) {
            let Recorded { spans, log_lines, series } = self.recorded(&one);
            own.spans += spans;
            own.log_lines += log_lines;
            own.series += series;
        }
        let is_own = |kind: &EvidenceKind| match kind {
            EvidenceKind::Span => own.spans > 0,
            EvidenceKind::Log => own.log_lines > 0,
            EvidenceKind::Metric => own.series > 0,
            _ => true,
        };
        let (own, others) = self.kinds.iter().partition(|kind| is_own(kind));
        Coverage { own, others }
    }

    /// The measured points behind a finding that such a context holds, if it is about one series.
    pub fn chart(&self, finding: &Finding, window: Window) -> Option<Chart> {
        let compare = self.compare(window)?;
        match finding.kind {
            EvidenceKind::Metric => {
                let object = self.object(&finding.entity);
                let (metrics, names) = (&self.snapshot.metrics, &self.graph.index);
                self.metrics.chart(metrics, finding, object, names, &compare.periods())
            }
            EvidenceKind::Span => self.spans.chart(&self.snapshot.spans, finding, &compare),
            _ => None,
        }
    }

    /// Which change can have caused what at an entity, by when the harm began.
    fn notes(&self, entity: &EntityId, window: Window) -> Notes {
        let compute = || self.effects_by_harm(window);
        self.dated_effects.ask(window, compute, |effects| effects.notes(entity))
    }

    fn effects_by_harm(&self, window: Window) -> EffectMap {
        let (changes, alerts) = (self.facts.causes(), &self.facts.alerts);
        let topology = self.graph.topology();
        let Some(compare) = self.compare(window) else {
            return EffectMap::new(topology, &changes, &alerts.anomalies);
        };
        let Snapshot { spans, metrics, logs, .. } = self.snapshot.as_ref();
        let alerting: BTreeSet<&EntityId> =
            alerts.anomalies.iter().map(|anomaly| &anomaly.entity).collect();
        let mut measured = Vec::new();
        for entity in alerting {
            measured.extend(self.spans.findings(spans, entity, &compare));
            let state = (entity, self.object(entity));
            let periods = compare.periods();
            measured.extend(self.metrics.findings(metrics, state, &self.graph.index, &periods));
            measured.extend(self.logs.findings(logs, entity, &periods));
        }
        let harm_of = |alert: &Anomaly| harm_of_alert(alert, &measured);
        EffectMap::dated(topology, &changes, &alerts.anomalies, harm_of)
    }

    /// Which change can have caused what at an entity, unless it is not involved, and which entities account for what the entity
    /// shows.
    fn accounted(&self, entity: &EntityId, window: Window) -> Notes {
        let Notes { findings: mut notes, mut routes } = self.notes(entity, window);
        let Some(compare) = self.compare(window) else { return Notes { findings: notes, routes } };
        let words = || self.words_of_changes(window, &compare);
        let own = |note: &&Finding| note.entity == *entity;
        self.change_words.ask(window, words, |said| notes.extend(said.iter().filter(own).cloned()));
        let accounts = self.accounts.get_or_init(|| self.draw_up());
        // What the window compares, with the whole recording before it.
        let pivot = Some(compare.after.start());
        let periods = Periods {
            first_onset: pivot,
            usual_until: pivot,
            observed: self.observed,
            ..Periods::new(window)
        };
        let calls_fail =
            |caller: &EntityId, callee: &EntityId| self.calls_fail(caller, callee, &compare);
        self.joined.ask(
            window,
            || self.join(&compare),
            |joined| {
                let found = FoundSoFar { joined, calls_fail: &calls_fail };
                routes.retain(|route| {
                    let changed = route.hops.first();
                    let is_cleared =
                        changed.is_some_and(|one| accounts.is_cleared(one, &periods, found));
                    if is_cleared {
                        notes.retain(|note| *note.id() != route.finding);
                    }
                    !is_cleared
                });
                notes.extend(accounts.findings(entity, &periods, found));
            },
        );
        Notes { findings: notes, routes }
    }

    fn words_of_changes(&self, window: Window, compare: &Compare) -> Vec<Finding> {
        let Facts { alerts, .. } = self.facts.as_ref();
        // What the window compares, with the whole recording before it.
        let periods = Periods {
            first_onset: Some(compare.after.start()),
            observed: self.observed,
            ..Periods::new(window)
        };
        let entities = self.graph.topology().entities();
        let mut words = TroubleWords::new(&alerts.anomalies, entities, &periods);
        let patterns = self.logs.severe_patterns(&self.snapshot.logs);
        patterns.iter().for_each(|pattern| words.add(pattern));
        words.notes(&self.facts.causes(), "changes")
    }

    /// What was recorded, as attribution uses it.
    fn draw_up(&self) -> Accounts {
        let Snapshot { spans, metrics, .. } = self.snapshot.as_ref();
        let mut measured: BTreeMap<EntityId, Measurements> = BTreeMap::new();
        for entity in self.metrics.entities() {
            let of = (entity, self.object(entity));
            let cited = self.metrics.series(metrics, of, &self.graph.index);
            let adds_up = cited.into_iter().filter(Cited::is_accountable);
            measured.entry(entity.clone()).or_default().series =
                adds_up.map(|one| one.series).collect();
        }
        for event in &self.facts.events {
            measured.entry(event.entity.clone()).or_default().events.push(EventRecord {
                time: event.time.start(),
                entity: event.entity.clone(),
                reason: event.excerpt.split(':').next().unwrap_or_default().to_owned(),
                signal: event.signal,
                message: event.excerpt.clone(),
                peer: event.peer.clone(),
            });
        }
        let anomalies = &self.facts.alerts.anomalies;
        let traced = self.spans.traced(spans);
        let traces = if traced.is_empty() { "" } else { spans.get(0).file() };
        let sources = Sources { metrics: "metrics", events: "k8s_events", traces };
        Accounts::new(self.graph.topology(), anomalies, measured, &traced, sources)
    }

    /// Whether the spans of one entity show that its calls to another fail more often.
    fn calls_fail(&self, caller: &EntityId, callee: &EntityId, compare: &Compare) -> bool {
        let found = self.spans.findings(&self.snapshot.spans, caller, compare);
        found.iter().any(|finding| {
            let to = finding.peer.as_ref().filter(|peer| peer.role == PeerRole::Callee);
            (finding.signal, finding.trend) == (Signal::Errors, Trend::Rising)
                && to.is_some_and(|to| to.entity == *callee)
        })
    }

    /// Where the errors of requests begin, or come from, by log lines.
    fn join(&self, compare: &Compare) -> BTreeMap<EntityId, Vec<Finding>> {
        let Snapshot { spans, logs, .. } = self.snapshot.as_ref();
        let senders = services_of(spans, &self.graph.index);
        self.logs.joined(logs, (spans, &senders), &compare.periods())
    }

    /// The same of an entity's own lines.
    fn joined(&self, entity: &EntityId, window: Window, compare: &Compare) -> Vec<Finding> {
        let own = |joined: &BTreeMap<EntityId, Vec<Finding>>| joined.get(entity).cloned();
        self.joined.ask(window, || self.join(compare), own).unwrap_or_default()
    }

    /// The traffic with each neighbour whose message is new.
    fn relations(&self, query: &ContextQuery) -> Vec<Finding> {
        let changed = &query.changed_neighbours;
        let Some(compare) = self.compare(query.window).filter(|_| !changed.is_empty()) else {
            return Vec::new();
        };
        let spans = &self.snapshot.spans;
        self.spans.relations(spans, &query.entity, changed.iter().cloned(), &compare)
    }

    /// Changes and events of the entities whose effects reach an entity, the strongest first.
    fn dependencies(&self, entity: &EntityId, window: Window) -> Vec<Vec<Finding>> {
        let neighbours = self.graph.topology().neighbours(entity);
        let reaches = |neighbour: &Neighbour| {
            matches!(neighbour.direction, Direction::Upstream | Direction::Both)
        };
        let upstream: BTreeSet<EntityId> =
            neighbours.into_iter().filter(reaches).map(|neighbour| neighbour.entity).collect();
        let recorded = upstream.iter().filter_map(|one| {
            let findings = self.recorded_of(one);
            let mut found: Vec<Finding> = findings
                .filter(|finding| finding.kind != EvidenceKind::Alert && overlaps(finding, window))
                .cloned()
                .collect();
            found.sort_by(strongest_first);
            (!found.is_empty()).then_some(found)
        });
        let mut dependencies: Vec<Vec<Finding>> = recorded.collect();
        dependencies.sort_by(|a, b| match (a.first(), b.first()) {
            (Some(a), Some(b)) => strongest_first(a, b),
            _ => Ordering::Equal,
        });
        dependencies
    }

    /// What a query finds in all that was recorded of its entity and, of a workload, of its pods and ReplicaSets; what contexts
    /// leave out as usual included.
    fn search(&self, query: &EvidenceQuery, window: Window) -> LocalContext {
        let entity = &query.entity;
        let Parts { pods, makers, .. } = self.parts(entity, &self.graph.owned_by(entity));
        let mut found: Vec<Finding> = std::iter::once(entity)
            .chain(&pods)
            .chain(&makers)
            .flat_map(|one| self.recorded_of(one))
            .cloned()
            .collect();
        found.extend(self.notes(entity, window).findings);
        if let Some(compare) = self.compare(window) {
            let Snapshot { spans, metrics, logs, .. } = self.snapshot.as_ref();
            let periods = compare.periods();
            for one in std::iter::once(entity).chain(&pods) {
                match query.kind {
                    EvidenceKind::Log => found.extend(self.logs.search(logs, one, query, &periods)),
                    EvidenceKind::Metric => {
                        let (names, state) = (&self.graph.index, (one, self.object(one)));
                        let all = usize::MAX;
                        found.extend(
                            self.metrics.all_findings(metrics, state, names, &periods, all),
                        );
                    }
                    EvidenceKind::Span => {
                        found.extend(self.spans.findings(spans, one, &compare));
                        found.extend(self.spans.pod_findings(spans, one, &compare));
                    }
                    _ => {}
                }
            }
            if query.kind == EvidenceKind::Span {
                let around = self.graph.topology().neighbours(entity).into_iter();
                let around = around.map(|neighbour| neighbour.entity);
                found.extend(self.spans.relations(spans, entity, around, &compare));
                found.extend(self.spans.steady(spans, entity, &compare));
            }
        }
        found.retain(|finding| finding.time.start() < window.end());
        found.sort_by(strongest_first);
        found.dedup_by(|a, b| a.id() == b.id());
        query.answer(found, Some(self.coverage(entity)))
    }

    /// The parts whose evidence is a workload's, of what it owns.
    fn parts(&self, entity: &EntityId, owned: &[EntityId]) -> Parts {
        if !WORKLOAD_KINDS.contains(&names::kind_of(entity)) {
            return Parts::default();
        }
        let of_kind = |kind| {
            let wanted = |one: &&EntityId| names::kind_of(one) == kind;
            owned.iter().filter(wanted).cloned().collect::<Vec<_>>()
        };
        let (mut pods, mut makers) = (of_kind("Pod"), of_kind("ReplicaSet"));
        let more_pods = pods.len().saturating_sub(MAX_PODS);
        pods.truncate(MAX_PODS);
        makers.truncate(MAX_PODS);
        Parts { is_workload: true, pods, makers, more_pods }
    }

    /// Every finding on an entity in a window, strongest first, and what is not used.
    fn collect(&self, entity: &EntityId, window: Window) -> (Vec<Finding>, Option<String>) {
        let owned = self.graph.owned_by(entity);
        let Parts { is_workload, pods, makers, more_pods } = self.parts(entity, &owned);
        let left_out =
            (more_pods > 0).then(|| format!("{more_pods} more pods than {MAX_PODS} are left out"));
        let mut findings = Vec::new();
        // A scheduled experiment ran when one that it made ran.
        let made = owned.iter().flat_map(|one| self.recorded_of(one));
        let ran = made.filter(|finding| {
            finding.kind == EvidenceKind::Event && finding.signal == Signal::Experiment
        });
        findings.extend(ran.filter(|finding| overlaps(finding, window)).cloned());
        for one in std::iter::once(entity).chain(&pods).chain(&makers) {
            let recorded = self.recorded_of(one);
            // A window may begin after the change that explains what is seen in it.
            let is_cause = |finding: &Finding| {
                finding.time.start() < window.end()
                    && self.effects.qualifying().any(|cause| cause.id() == finding.id())
            };
            let relevant = |finding: &&Finding| overlaps(finding, window) || is_cause(finding);
            findings.extend(recorded.filter(relevant).cloned());
        }
        if let Some(compare) = self.compare(window) {
            let Snapshot { spans, metrics, logs, .. } = self.snapshot.as_ref();
            let periods = compare.periods();
            findings.extend(self.spans.findings(spans, entity, &compare));
            for service in self.graph.load_of(entity) {
                let sent = self.spans.findings(spans, service, &compare).into_iter();
                findings.extend(sent.filter(|f| f.signal == Signal::Traffic && f.peer.is_none()));
            }
            for one in std::iter::once(entity).chain(&pods) {
                let index = &self.graph.index;
                let state = (one, self.object(one));
                findings.extend(self.metrics.findings(metrics, state, index, &periods));
                findings.extend(self.logs.findings(logs, one, &periods));
                findings.extend(self.joined(one, window, &compare));
                findings.extend(self.spans.pod_findings(spans, one, &compare));
            }
            if is_workload {
                findings.extend(self.metrics.replicas(metrics, entity, &pods, &compare));
            }
        }
        let is_as_usual =
            |finding: &Finding| finding.kind == EvidenceKind::Log && finding.trend == Trend::Steady;
        if findings.iter().all(is_as_usual)
            && let Some(compare) = self.compare(window)
        {
            findings.extend(self.spans.steady(&self.snapshot.spans, entity, &compare));
        }
        findings.sort_by(strongest_first);
        findings.dedup_by(|a, b| a.id() == b.id());
        (findings, left_out)
    }

    /// The latest state of an object.
    fn object(&self, entity: &EntityId) -> Option<&serde_json::Value> {
        self.snapshot.objects.histories.get(entity)?.latest()
    }

    /// Changes, events and alerts of an entity.
    fn recorded_of(&self, entity: &EntityId) -> impl Iterator<Item = &Finding> {
        let places = self.recorded.get(entity).into_iter().flatten();
        places.filter_map(|place| self.facts.finding(*place))
    }

    /// The two periods to compare in a window. They meet where [`Compare`] says, or where the first
    /// harm upstream of the alerts is known to have begun, if that is earlier.
    fn compare(&self, window: Window) -> Option<Compare> {
        let inside = |times: &[Timestamp]| {
            times.iter().copied().find(|at| window.start() < *at && *at < window.end())
        };
        let pivot = inside(&self.causes).or_else(|| inside(&self.onsets));
        let Some(pivot) = pivot else { return Compare::at(window.start(), window, self.observed) };
        let harm = self.first_harm(pivot, window).filter(|at| window.start() < *at);
        Compare::at(harm.map_or(pivot, |at| at.min(pivot)), window, self.observed)
    }

    /// When what is upstream of the alerts began first to do worse, by its own requests.
    fn first_harm(&self, pivot: Timestamp, window: Window) -> Option<Timestamp> {
        let compute = || {
            let compare = Compare::at(pivot, window, self.observed)?;
            let anomalies = &self.facts.alerts.anomalies;
            let upstream = upstream_of(self.graph.topology(), anomalies);
            self.spans.first_harm(&self.snapshot.spans, &upstream, &compare)
        };
        self.first_harm.ask(window, compute, |harm| *harm)
    }
}

impl ContextContract for SnapshotContext {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        let context = match &request.query {
            Some(query) => self.search(query, request.window),
            None => self.read(&ContextQuery {
                page: request.page,
                changed_neighbours: request.changed_neighbours.clone(),
                ..ContextQuery::new(request.entity.clone(), request.window)
            }),
        };
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
