//! The context contract over a bundle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use eog_core::contract::{Coverage, EvidenceQuery, Route};
use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{
    Anomaly, BoxFuture, ContextContract, ContextRequest, EntityId, EvidenceId, EvidenceKind,
    Failure, Finding, LocalContext, Timestamp, Window,
};

use super::Bundle;
use super::at_work::AtWork;
use super::intake::Telemetry;
use super::silent_entities::{SilentEntities, SilentSeries, as_own};
use crate::alerts::alert_findings;
use crate::attribution::{Asked, Attribution, Books, Measured, Sources};
use crate::change_words::TroubleWords;
use crate::chart::Chart;
use crate::effect_map::{EffectMap, Notes};
use crate::events::{EventRecord, event_findings};
use crate::harm::first_harm;
use crate::log_joins::{Depths, RequestError, joined_errors};
use crate::logs::LinesRecorded;
use crate::measured::{JudgedSeries, series_findings};
use crate::onsets::level_onset;
use crate::order::{Class, class, strongest_first};
use crate::recorded::holes;
use crate::self_time::Calls;
use crate::series::{Periods, Series};
use crate::shift::{Shift, shift_finding, shift_of, window_level};
use crate::spans::{requests_differ, span_onset, span_series};
use crate::text::counted;
use crate::ways::Ways;

/// How many findings one page of a context holds.
pub const FINDINGS_PER_PAGE: usize = 40;

/// How many series that did not shift are given: enough to say that an entity is as usual.
const MAX_STEADY: usize = 5;

/// Local evidence from a bundle.
///
/// A context holds, strongest first: own changes; notes on changes that reach the entity and
/// anomalies that its own changes reach ([`EffectMap`]); notes on which upstream neighbour accounts
/// for what the entity shows, and what remains; failure events; own alerts; shifts of
/// errors, latency and traffic; other shifts; logs; other events; restarts; a few series that did
/// not shift. Within a class the larger shift comes first, then the earlier, then by id. A page
/// holds [`FINDINGS_PER_PAGE`]; `omitted` says what is on other pages or left out.
///
/// *Relation metrics* (series with a peer) are given only from the second visit on: a first context
/// is cheap and local, a further one, asked for by a neighbour's message, brings the relations
/// (paper §4.4, t=4).
///
/// Of an entity without telemetry of its own, such as an outside service, a context holds what its
/// callers and callees measured of the calls between them.
///
/// Own changes after the last onset of any anomaly are left out: they explain nothing.
///
/// ```
/// use eog_core::{ContextRequest, EntityId, Window};
/// use eog_evidence::{BundleContext, BundleWriter, Manifest};
/// let context = BundleContext::new(BundleWriter::new(Manifest::new("quiet")).to_bundle());
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let entity = EntityId::new("cart")?;
/// let request =
///     ContextRequest { entity, window, page: 1, visit: 1, changed_neighbours: [].into(), query: None };
/// assert!(context.local_context(&request).findings.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BundleContext {
    bundle: Bundle,
    /// The topology by numbers.
    ways: Arc<Ways>,
    effects: EffectMap,
    /// The changes of each entity, by their places.
    changes: BTreeMap<EntityId, Vec<usize>>,
    asked: Asked,
    calls: Arc<Calls>,
    /// Shared by clones, which ask about the same bundle.
    books: Arc<Books>,
    /// When nothing was recorded.
    holes: Arc<[Window]>,
    /// From the first log line to the last, errors and warnings left out.
    lines: Option<Window>,
    /// Where the errors in logs begin, request by request.
    joined: Arc<OnceLock<BTreeMap<EntityId, Vec<Finding>>>>,
    /// What changes say of the trouble, by entity.
    change_words: Arc<OnceLock<Vec<Finding>>>,
    /// The kinds of evidence that were recorded of any entity.
    recorded: Arc<[EvidenceKind]>,
    silent: Arc<SilentEntities>,
    silent_series: Arc<OnceLock<SilentSeries>>,
    /// When harm upstream of the alerts began first, by its own observations.
    first_harm: Arc<OnceLock<Option<Timestamp>>>,
    /// What those who work in runs measured at work.
    at_work: Arc<OnceLock<AtWork>>,
}

impl BundleContext {
    /// A context contract over a bundle.
    pub fn new(bundle: Bundle) -> Self {
        let Bundle { topology, changes, anomalies, .. } = &bundle;
        let ways = Arc::new(Ways::of(topology, changes, anomalies));
        let effects = EffectMap::over(Arc::clone(&ways), changes, anomalies, |_| None);
        let mut places: BTreeMap<EntityId, Vec<usize>> = BTreeMap::new();
        for (place, change) in changes.iter().enumerate() {
            places.entry(change.entity.clone()).or_default().push(place);
        }
        let series = bundle.telemetry.values().flat_map(|telemetry| telemetry.series.values());
        let spans = bundle.telemetry.values().flat_map(|telemetry| telemetry.spans.iter());
        let calls = Arc::new(Calls::of(spans));
        let asked = Asked::new(&bundle.anomalies, series, ways.has_demand())
            .with_traced(&bundle.anomalies, &calls);
        let holes = holes_of(&bundle).into();
        let lines = lines_of(&bundle);
        let books = Arc::default();
        let silent = Arc::new(SilentEntities::of(&bundle.telemetry));
        let (first_harm, at_work, silent_series) = (Arc::default(), Arc::default(), Arc::default());
        let (joined, change_words) = (Arc::default(), Arc::default());
        let changes = places;
        let recorded = recorded_kinds(&bundle).into();
        Self {
            bundle,
            ways,
            effects,
            changes,
            asked,
            calls,
            books,
            holes,
            lines,
            joined,
            change_words,
            recorded,
            silent,
            silent_series,
            first_harm,
            at_work,
        }
    }

    /// The bundle.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Local evidence on one entity. Equal requests give equal contexts.
    pub fn local_context(&self, request: &ContextRequest) -> LocalContext {
        if let Some(query) = &request.query {
            return self.search(query, request.window);
        }
        let mut omitted = Vec::new();
        let mut findings = self.own_changes(request, &mut omitted);
        findings.extend(self.alerts(request));
        if let Some(telemetry) = self.bundle.telemetry.get(&request.entity) {
            let periods = self.periods(request.window);
            let lines = LinesRecorded { ordinary: self.lines, holes: &self.holes };
            let visit = request.visit;
            let at_work = self.at_work(request.window);
            let measured: Vec<&Series> = at_work.series(&request.entity, telemetry).collect();
            findings.extend(telemetry_findings(
                telemetry,
                &measured,
                lines,
                &periods,
                visit,
                &mut omitted,
            ));
            let joined = self.joined(&periods).get(&request.entity);
            findings.extend(joined.into_iter().flatten().cloned());
        }
        findings.extend(self.bundle.states(&request.entity).finding(request.window, "states.csv"));
        findings.extend(self.seen_by_others(request, &mut omitted));
        findings.sort_by(strongest_first);
        // Notes keep their own order: it is the same for every entity on a path.
        let Notes { findings: mut notes, mut routes } = self.effects.notes(&request.entity);
        self.attribute(request.window, |attribution| {
            let is_cleared = |route: &Route| {
                route.hops.first().is_some_and(|changed| attribution.is_cleared(changed))
            };
            let cleared: Vec<Route> = routes.extract_if(.., |route| is_cleared(route)).collect();
            notes.retain(|note| cleared.iter().all(|route| route.finding != *note.id()));
            notes.extend(attribution.findings(&request.entity));
        });
        let own = |note: &&Finding| note.entity == request.entity;
        notes.extend(self.change_words(request.window).iter().filter(own).cloned());
        let changes = findings.iter().take_while(|finding| class(finding) == Class::Change).count();
        findings.splice(changes..changes, notes);
        let mut context = page(findings, request.page, omitted);
        let shown: BTreeSet<&EvidenceId> = context.findings.iter().map(Finding::id).collect();
        let routes = routes.into_iter().filter(|route| shown.contains(&route.finding)).collect();
        context.routes = routes;
        context.coverage = Some(self.coverage(&request.entity));
        context
    }

    /// What a query finds in everything that was recorded of its entity, what contexts leave out as usual included.
    fn search(&self, query: &EvidenceQuery, window: Window) -> LocalContext {
        let request = ContextRequest::whole(query.entity.clone(), window, []);
        let periods = self.periods(window);
        let telemetry = self.bundle.telemetry.get(&query.entity);
        let mut found = match (query.kind, telemetry) {
            (EvidenceKind::Change, _) => {
                let own = self.changes.get(&query.entity).into_iter().flatten();
                own.filter_map(|place| self.bundle.changes.get(*place)).cloned().collect()
            }
            (EvidenceKind::Alert, _) => self.alerts(&request),
            (EvidenceKind::Note, _) => {
                let mut notes = self.effects.notes(&query.entity).findings;
                self.attribute(window, |attribution| {
                    notes.extend(attribution.findings(&query.entity));
                });
                notes
            }
            (EvidenceKind::Log, Some(telemetry)) => {
                let lines = LinesRecorded { ordinary: self.lines, holes: &self.holes };
                telemetry.logs.search(query, lines, &periods, "logs.csv")
            }
            (EvidenceKind::Event, telemetry) => {
                let events = telemetry.map_or(&[][..], |telemetry| &telemetry.events);
                let known = events.iter().filter(|event| event.time < window.end());
                let known: Vec<EventRecord> = known.cloned().collect();
                let state = self.bundle.states(&query.entity).finding(window, "states.csv");
                event_findings(&known, None, "events.csv").into_iter().chain(state).collect()
            }
            (EvidenceKind::Metric | EvidenceKind::Span, Some(telemetry)) => {
                let series = self.at_work(window).series(&query.entity, telemetry);
                let all: Vec<&Series> = series.collect();
                let found = measured_findings(
                    telemetry,
                    all.iter().copied(),
                    &periods,
                    usize::MAX,
                    &mut Vec::new(),
                );
                let judged: BTreeSet<String> = found.iter().map(|it| it.query.clone()).collect();
                let traced = span_series(&telemetry.spans);
                let rest = all.into_iter().chain(&traced).filter_map(|series| {
                    let is_span = series.kind == EvidenceKind::Span;
                    let source = if is_span { "spans.csv" } else { "metrics.csv" };
                    window_level(series, &periods, source, &query_of(series))
                });
                let rest: Vec<Finding> =
                    rest.filter(|level| !judged.contains(&level.query)).collect();
                found.into_iter().chain(rest).collect()
            }
            (_, None) => self.seen_by_others(&request, &mut Vec::new()),
        };
        found.retain(|finding| finding.time.start() < window.end());
        found.sort_by(strongest_first);
        query.answer(found, Some(self.coverage(&query.entity)))
    }

    /// What was recorded of an entity, and of others alone. Events and changes come as they like: once
    /// any are recorded, there is nothing where there are none.
    fn coverage(&self, entity: &EntityId) -> Coverage {
        let own =
            self.bundle.telemetry.get(entity).map(|own| measured_kinds(own)).unwrap_or_default();
        let (own, others) = self.recorded.iter().partition(|kind| {
            own.contains(kind) || matches!(kind, EvidenceKind::Event | EvidenceKind::Change)
        });
        Coverage { own, others }
    }

    /// The measured points behind a finding that such a context holds, if it is about a series.
    pub fn chart(&self, finding: &Finding, window: Window) -> Option<Chart> {
        if !matches!(finding.kind, EvidenceKind::Metric | EvidenceKind::Span) {
            return None;
        }
        let own = self.bundle.telemetry.get(&finding.entity).into_iter();
        let at_work = self.at_work(window);
        let own = own.flat_map(|own| {
            let measured = at_work.series(&finding.entity, own).cloned();
            measured.chain(span_series(&own.spans))
        });
        // An entity without telemetry is observed by its callers and callees.
        let observed = self.silent.series(&finding.entity, &self.bundle.telemetry, at_work);
        let series = own
            .chain(observed)
            .find(|series| series.kind == finding.kind && query_of(series) == finding.query)?;
        Some(Chart::of(&series, &self.periods(window)))
    }

    fn own_changes(&self, request: &ContextRequest, omitted: &mut Vec<String>) -> Vec<Finding> {
        let last_onset = self.bundle.anomalies.iter().flat_map(Anomaly::onsets).max();
        let too_late = |change: &Finding| {
            let at = change.time.start();
            at >= request.window.end() || last_onset.is_some_and(|last| at > last)
        };
        let places = self.changes.get(&request.entity).into_iter().flatten();
        let own = places.filter_map(|place| self.bundle.changes.get(*place));
        let (late, useful): (Vec<&Finding>, Vec<&Finding>) =
            own.partition(|change| too_late(change));
        if !late.is_empty() {
            omitted.push(format!(
                "{} after the last alert began: nothing follows from it",
                counted(late.len(), "change")
            ));
        }
        useful.into_iter().cloned().collect()
    }

    /// What those who call a silent entity, or are called by it, measured and wrote of these calls.
    fn seen_by_others(&self, request: &ContextRequest, omitted: &mut Vec<String>) -> Vec<Finding> {
        let series = self.silent.series(
            &request.entity,
            &self.bundle.telemetry,
            self.at_work(request.window),
        );
        let periods = self.periods(request.window);
        let lines = self.lines_about(&request.entity, &periods);
        if series.is_empty() && lines.is_empty() {
            return Vec::new();
        }
        let shift = |series: &Series| {
            let shift = shift_of(series, &periods)?;
            let onset = level_onset(&series.points, &shift);
            Some((shift, onset))
        };
        let all: Vec<JudgedSeries> =
            series.into_iter().map(|series| judged(series, shift)).collect();
        let findings = series_findings(&all, &periods, MAX_STEADY, omitted);
        findings.iter().chain(&lines).filter_map(as_own).collect()
    }

    /// Lines of others that name a silent entity.
    fn lines_about(&self, entity: &EntityId, periods: &Periods) -> Vec<Finding> {
        let recorded = LinesRecorded { ordinary: self.lines, holes: &self.holes };
        let logs = self.silent.observers(entity).filter_map(|one| self.bundle.telemetry.get(one));
        let findings = logs.flat_map(|own| {
            own.logs.findings_within(recorded, periods, "logs.csv", &mut Vec::new())
        });
        let is_named =
            |finding: &Finding| finding.peer.as_ref().is_some_and(|peer| peer.entity == *entity);
        findings.filter(is_named).collect()
    }

    fn alerts(&self, request: &ContextRequest) -> Vec<Finding> {
        let own = self.bundle.anomalies.iter().filter(|alert| alert.entity == request.entity);
        own.flat_map(|alert| alert_findings(alert, "alerts.json"))
            .filter(|finding| finding.time.start() < request.window.end())
            .collect()
    }

    fn change_words(&self, window: Window) -> &[Finding] {
        self.change_words.get_or_init(|| {
            let Bundle { anomalies, changes, topology, telemetry, .. } = &self.bundle;
            let mut words =
                TroubleWords::new(anomalies, topology.entities(), &self.periods(window));
            let patterns = telemetry.values().flat_map(|one| one.logs.severe_patterns());
            patterns.for_each(|pattern| words.add(&pattern));
            words.notes(changes, "changes.json")
        })
    }

    fn joined(&self, periods: &Periods) -> &BTreeMap<EntityId, Vec<Finding>> {
        let lines = LinesRecorded { ordinary: self.lines, holes: &self.holes };
        self.joined.get_or_init(|| joined(&self.bundle, lines, periods))
    }

    /// Asks who accounts for what entities show.
    fn attribute(&self, window: Window, ask: impl FnOnce(&Attribution<'_>)) {
        let at_work = self.at_work(window);
        let collect = || SilentSeries::of(&self.silent, &self.bundle.telemetry, at_work);
        let silent_series = self.silent_series.get_or_init(collect);
        let measured = |entity: &EntityId| {
            let Some(telemetry) = self.bundle.telemetry.get(entity) else {
                let series = silent_series.series(entity);
                let measured = Measured { series: series.iter().collect(), events: &[] };
                return (!series.is_empty()).then_some(measured);
            };
            Some(Measured {
                series: at_work.accounts(entity, telemetry).collect(),
                events: &telemetry.events,
            })
        };
        let calls_fail =
            |caller: &EntityId, callee: &EntityId| self.calls_fail(caller, callee, window);
        let periods = self.periods(window);
        let attribution = Attribution {
            calls_fail: &calls_fail,
            ways: &self.ways,
            anomalies: &self.bundle.anomalies,
            joined: self.joined(&periods),
            periods,
            asked: &self.asked,
            measured: &measured,
            books: &self.books,
            calls: Some(&self.calls),
            sources: Sources::BUNDLE,
        };
        ask(&attribution);
    }

    /// Whether lines or spans of one entity show that its calls to another fail more often.
    fn calls_fail(&self, caller: &EntityId, callee: &EntityId, window: Window) -> bool {
        let Some(telemetry) = self.bundle.telemetry.get(caller) else { return false };
        let periods = self.periods(window);
        let lines = LinesRecorded { ordinary: self.lines, holes: &self.holes };
        let logs = telemetry.logs.findings_within(lines, &periods, "logs.csv", &mut Vec::new());
        let traced = span_series(&telemetry.spans);
        let spans = traced
            .iter()
            .filter_map(|series| shift_finding(series, &periods, "spans.csv", &query_of(series)));
        logs.into_iter().chain(spans).any(|finding| {
            let to = finding.peer.as_ref().filter(|peer| peer.role == PeerRole::Callee);
            (finding.signal, finding.trend) == (Signal::Errors, Trend::Rising)
                && to.is_some_and(|to| to.entity == *callee)
        })
    }

    /// What is compared. Without a given baseline, it ends with the first measured harm upstream of
    /// the alerts, if that comes before the first alert; else with as much before that as it may be late.
    pub fn periods(&self, window: Window) -> Periods {
        let alerts = self.until_first_alert(window);
        let Some(first_alert) = alerts.first_onset.filter(|_| alerts.baseline.is_empty()) else {
            return alerts;
        };
        let late = alerts.clone().heeding_late_alerts();
        let harm = self.first_harm.get_or_init(|| {
            let at_work = self.at_work(window);
            let series = self.bundle.telemetry.iter().map(|(entity, telemetry)| {
                (entity, at_work.series(entity, telemetry).collect::<Vec<_>>())
            });
            first_harm(&self.ways, &self.bundle.anomalies, &late, series)
        });
        match harm.filter(|at| window.contains(*at) && *at < first_alert) {
            Some(first) => Periods { first_onset: Some(first), ..alerts },
            None => late,
        }
    }

    fn until_first_alert(&self, window: Window) -> Periods {
        let onsets = self.bundle.anomalies.iter().flat_map(Anomaly::onsets);
        Periods {
            baseline: self.bundle.baseline.clone(),
            window,
            first_onset: onsets.filter(|onset| window.contains(*onset)).min(),
            usual_until: None,
            observed: self.bundle.observed,
        }
    }

    fn at_work(&self, window: Window) -> &AtWork {
        self.at_work
            .get_or_init(|| AtWork::of(&self.bundle.telemetry, &self.until_first_alert(window)))
    }
}

impl ContextContract for BundleContext {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(std::future::ready(Ok(self.local_context(request))))
    }
}

/// The kinds of evidence that were recorded of any entity.
fn recorded_kinds(bundle: &Bundle) -> Vec<EvidenceKind> {
    let mut kinds: BTreeSet<EvidenceKind> =
        bundle.telemetry.values().flat_map(|own| measured_kinds(own)).collect();
    if bundle.telemetry.values().any(|one| !one.events.is_empty()) {
        kinds.insert(EvidenceKind::Event);
    }
    if !bundle.changes.is_empty() || bundle.changes_recorded.is_some() {
        kinds.insert(EvidenceKind::Change);
    }
    kinds.into_iter().collect()
}

/// The kinds of measurements that were recorded of one entity.
fn measured_kinds(telemetry: &Telemetry) -> Vec<EvidenceKind> {
    let mut kinds = Vec::new();
    if !telemetry.series.is_empty() {
        kinds.push(EvidenceKind::Metric);
    }
    if telemetry.logs.times().next().is_some() {
        kinds.push(EvidenceKind::Log);
    }
    if !telemetry.spans.is_empty() {
        kinds.push(EvidenceKind::Span);
    }
    kinds
}

/// When nothing was recorded. Events and lines come as they like: measurements alone, which come in
/// steps, can miss.
fn holes_of(bundle: &Bundle) -> Vec<Window> {
    let all = || bundle.telemetry.values();
    let samples = all().flat_map(|one| one.series.values()).flat_map(|series| &series.points);
    let spans = all().flat_map(|one| &one.spans);
    let mut times: Vec<Timestamp> =
        samples.map(|(at, _)| *at).chain(spans.map(|span| span.time)).collect();
    if times.is_empty() {
        return Vec::new();
    }
    times.extend(all().flat_map(|one| &one.events).map(|event| event.time));
    times.extend(all().flat_map(|one| one.logs.times()));
    holes(times)
}

/// Where the errors in logs begin, by the requests that they name.
fn joined(
    bundle: &Bundle,
    recorded: LinesRecorded<'_>,
    periods: &Periods,
) -> BTreeMap<EntityId, Vec<Finding>> {
    let lines = || {
        let all = bundle.telemetry.iter();
        all.flat_map(|(entity, one)| one.failed_requests.iter().map(move |line| (entity, line)))
    };
    let spans = bundle.telemetry.values().flat_map(|one| &one.spans);
    let depths = Depths::of(spans, lines().map(|(_, line)| line.request.as_str()));
    let errors = lines().map(|(entity, line)| RequestError {
        request: &line.request,
        time: line.time,
        entity,
        message: &line.message,
        callee: line.callee.as_ref(),
    });
    let compared = recorded.compared(periods, false);
    joined_errors(errors, &depths, compared.as_ref(), "logs.csv")
}

/// From the first log line of anything to the last, errors and warnings left out.
fn lines_of(bundle: &Bundle) -> Option<Window> {
    let each = bundle.telemetry.values().filter_map(|one| one.logs.ordinary_extent());
    let both = |a: Window, b: Window| {
        Window::new(a.start().min(b.start()), a.end().max(b.end())).unwrap_or(a)
    };
    each.reduce(both)
}

fn telemetry_findings(
    telemetry: &Telemetry,
    measured: &[&Series],
    lines: LinesRecorded<'_>,
    periods: &Periods,
    visit: u32,
    omitted: &mut Vec<String>,
) -> Vec<Finding> {
    let relations = telemetry.series.values().filter(|series| series.peer.is_some()).count();
    let with_relations = visit >= 2;
    if relations > 0 && !with_relations {
        omitted.push(format!(
            "{relations} series about relations, given on a second visit or to a query"
        ));
    }
    let metrics = measured.iter().copied();
    let metrics = metrics.filter(|series| with_relations || series.peer.is_none());
    let mut findings = event_findings(&telemetry.events, Some(periods.window), "events.csv");
    findings.extend(telemetry.logs.findings_within(lines, periods, "logs.csv", omitted));
    findings.extend(measured_findings(telemetry, metrics, periods, MAX_STEADY, omitted));
    findings
}

/// Findings on series and traced requests, at most so many of those that are as usual.
fn measured_findings<'a>(
    telemetry: &Telemetry,
    metrics: impl IntoIterator<Item = &'a Series>,
    periods: &Periods,
    steady: usize,
    omitted: &mut Vec<String>,
) -> Vec<Finding> {
    let shift = |series: &Series| {
        let shift = shift_of(series, periods)?;
        let spans = &telemetry.spans;
        let onset = match series.kind {
            // What single requests do not bear out is as usual.
            EvidenceKind::Span if !requests_differ(spans, series, &shift, periods) => return None,
            EvidenceKind::Span => span_onset(spans, series, &shift, periods.window.end()),
            _ => level_onset(&series.points, &shift),
        };
        Some((shift, onset))
    };
    let all = metrics.into_iter().cloned().chain(span_series(&telemetry.spans));
    let all: Vec<JudgedSeries> = all.map(|series| judged(series, shift)).collect();
    series_findings(&all, periods, steady, omitted)
}

/// A series with the query that gives its rows again.
fn judged(
    series: Series,
    shift: impl Fn(&Series) -> Option<(Shift, Option<Onset>)>,
) -> JudgedSeries {
    let source = if series.kind == EvidenceKind::Span { "spans.csv" } else { "metrics.csv" };
    let (query, shift) = (query_of(&series), shift(&series));
    JudgedSeries { source: source.into(), query, shift, series }
}

/// The query that gives the rows of a series again.
fn query_of(series: &Series) -> String {
    let peer = series.peer.as_ref();
    let peer = peer.map_or_else(String::new, |peer| format!(" peer={}", peer.entity));
    format!("entity={} metric={}{peer}", series.entity, series.metric)
}

fn page(findings: Vec<Finding>, page: u32, mut omitted: Vec<String>) -> LocalContext {
    let number = usize::try_from(page.max(1)).unwrap_or(usize::MAX);
    let before = (number - 1).saturating_mul(FINDINGS_PER_PAGE).min(findings.len());
    let total = findings.len();
    let shown: Vec<Finding> = findings.into_iter().skip(before).take(FINDINGS_PER_PAGE).collect();
    let after = total - before - shown.len();
    for (count, place) in [(before, "earlier"), (after, "later")] {
        if count > 0 {
            omitted.push(format!("{} on {place} pages", counted(count, "finding")));
        }
    }
    let pages_left = u32::try_from(after.div_ceil(FINDINGS_PER_PAGE)).unwrap_or(u32::MAX);
    LocalContext { findings: shown, omitted, pages_left, ..LocalContext::default() }
}
