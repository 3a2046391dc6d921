//! Findings from traces: errors, latency and traffic of an entity, and of each of its relations.

mod chart;
mod traced;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use eog_core::evidence::{EvidenceTime, FindingContent, Peer, PeerRole, Quantity, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp, Window};
use eog_evidence::{
    holes, rate_onset, rates_differ, recorded_seconds as recorded, share_onset, shares_differ,
};

use super::parts::part_finding;
use super::{Compare, Draft, rounded, selector, since, trend};
use crate::graph::{NameIndex, outside_entity, span_callee};
use crate::names;
use crate::read::Resource;
use crate::store::{SpanKind, SpanRef, Spans};
use jiff::SignedDuration;

/// An error ratio must rise by this much …
const MIN_ERROR_RISE: f64 = 0.02;

/// … and rest on this many failed requests.
pub(crate) const MIN_ERRORS: usize = 3;

/// The 95th percentile must grow by this factor …
const MIN_LATENCY_FACTOR: f64 = 1.5;

/// … and by this many milliseconds.
const MIN_LATENCY_RISE_MS: f64 = 10.0;

/// The request rate must change by this factor, up or down.
const MIN_TRAFFIC_FACTOR: f64 = 1.5;

/// Fewest requests in each period for latency and traffic to be compared.
pub(crate) const MIN_REQUESTS: usize = 20;

/// So many spans around a call are considered for the request that it belongs to.
const MAX_DEPTH: usize = 16;

/// An onset that is known less exactly than this does not end a control. Alerts are commonly
/// evaluated over as long.
const MAX_HARM_DOUBT: SignedDuration = SignedDuration::from_mins(5);

/// The rows of a snapshot's spans by entity and by relation, each list in time order.
#[derive(Debug, Default)]
pub(crate) struct SpanIndex {
    served: BTreeMap<EntityId, Vec<u32>>,
    /// For each caller its callees, and the spans that show the calls.
    calls: BTreeMap<EntityId, BTreeMap<EntityId, Vec<u32>>>,
    /// For each callee its callers.
    callers: BTreeMap<EntityId, BTreeSet<EntityId>>,
    /// The services that each pod sends spans of.
    pods: BTreeMap<EntityId, BTreeSet<EntityId>>,
    /// When no span was recorded of anything.
    holes: Vec<Window>,
}

impl SpanIndex {
    /// Says who is who by the names of a graph.
    pub(crate) fn new(spans: &Spans, names: &NameIndex) -> Self {
        let mut index = Self { holes: holes(spans.iter().map(SpanRef::at)), ..Self::default() };
        let mut sent: BTreeMap<EntityId, Vec<u32>> = BTreeMap::new();
        let mut parties = Parties::new(spans, names);
        for span in spans.iter() {
            let Some(own) = parties.sender(span) else { continue };
            if matches!(span.kind(), SpanKind::Server | SpanKind::Consumer) {
                index.served.entry(own.clone()).or_default().push(span.row());
            }
            sent.entry(own.clone()).or_default().push(span.row());
            // A call counts once: by the caller's own span where there is one, which also knows
            // of calls that were not accepted, and of time lost on the way; else by the callee's.
            let (caller, callee) = (parties.caller(span), parties.callee(span));
            if let Some(caller) = caller.filter(|caller| *caller != own) {
                index.add_call(caller, own.clone(), span.row());
            }
            if let Some(callee) = callee.filter(|callee| *callee != own) {
                index.add_call(own, callee, span.row());
            }
        }
        for (number, sender) in spans.senders.iter().enumerate() {
            let pod = names::entity(&sender.namespace, "Pod", &sender.pod);
            let service = parties.service(crate::store::number(number));
            if let Some((pod, service)) = pod.zip(service).filter(|_| !sender.pod.is_empty()) {
                index.pods.entry(pod).or_default().insert(service);
            }
        }
        // A service that serves nothing, such as a load generator, is measured by all it sends.
        for (entity, spans) in sent {
            index.served.entry(entity).or_insert(spans);
        }
        index
    }

    /// The services in spans, each with the spans of what it serves.
    pub(crate) fn services(&self) -> impl Iterator<Item = (&EntityId, &[u32])> {
        self.served.iter().map(|(entity, spans)| (entity, spans.as_slice()))
    }

    /// The calls between services: caller, callee and the spans that show them.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&EntityId, &EntityId, &[u32])> {
        self.calls.iter().flat_map(|(caller, callees)| {
            callees.iter().map(move |(callee, spans)| (caller, callee, spans.as_slice()))
        })
    }

    fn add_call(&mut self, caller: EntityId, callee: EntityId, span: u32) {
        self.callers.entry(callee.clone()).or_default().insert(caller.clone());
        self.calls.entry(caller).or_default().entry(callee).or_default().push(span);
    }

    /// Whether there are no spans of any entity.
    pub(crate) fn is_empty(&self) -> bool {
        self.served.is_empty()
    }

    /// How many spans show what an entity serves.
    pub(crate) fn count(&self, entity: &EntityId) -> usize {
        self.served.get(entity).map_or(0, Vec::len)
    }

    /// Rows cut into the two periods, of which only recorded time counts.
    fn view<'a>(&self, spans: &'a Spans, list: &'a [u32], compare: &Compare) -> Option<View<'a>> {
        let mut view = View::of(spans, list, compare)?;
        let missing = |window| Compare::seconds(window) - recorded(window, &self.holes);
        view.seconds.0 = (view.seconds.0 - missing(compare.before)).max(0.0);
        view.seconds.1 = (view.seconds.1 - missing(compare.after)).max(0.0);
        Some(view)
    }

    /// What shifted for an entity between the two periods: what it serves, what each of its
    /// callees answers, and how much each of its callers asks (and fails to get, when the entity
    /// fell silent).
    pub(crate) fn findings(
        &self,
        spans: &Spans,
        entity: &EntityId,
        compare: &Compare,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let view = |list| self.view(spans, list, compare);
        let served = self.served.get(entity).and_then(|list| view(list));
        // One that fell silent cannot say so itself: then its callers' errors are its own.
        let silent = served.as_ref().is_none_or(|view| view.after.is_empty());
        let mut fails = false;
        if let Some(view) = served {
            let errors = view.errors(entity, None, compare);
            fails = errors.is_some();
            findings.extend(errors);
            findings.extend(view.latency(entity, None, compare));
            findings.extend(view.traffic(entity, None, compare));
            let whole = (entity, "version");
            let of = (spans, &view);
            findings.extend(part_finding(whole, |sender| &sender.version, None, of, compare));
        }
        for (callee, list) in self.calls.get(entity).into_iter().flatten() {
            let peer = Peer { entity: callee.clone(), role: PeerRole::Callee };
            if let Some(view) = view(list) {
                let errors = view.errors(entity, Some(&peer), compare);
                // Where its own spans show no failures, they do not show what became of requests.
                findings.extend(match fails {
                    true => errors.map(|finding| view.unless_tolerated(finding)),
                    false => errors,
                });
                findings.extend(view.latency(entity, Some(&peer), compare));
            }
        }
        for caller in self.callers.get(entity).into_iter().flatten() {
            let list = self.calls.get(caller).and_then(|callees| callees.get(entity));
            let peer = Peer { entity: caller.clone(), role: PeerRole::Caller };
            if let Some(view) = list.and_then(|list| view(list)) {
                findings.extend(view.traffic(entity, Some(&peer), compare));
                if silent {
                    findings.extend(view.errors(entity, Some(&peer), compare));
                }
            }
        }
        findings
    }

    /// That requests fail at a pod, more than at the other pods of its service.
    pub(crate) fn pod_findings(
        &self,
        spans: &Spans,
        pod: &EntityId,
        compare: &Compare,
    ) -> Vec<Finding> {
        let services = self.pods.get(pod).into_iter().flatten();
        let lists = services.filter_map(|service| self.served.get(service));
        let found = lists.filter_map(|list| {
            let view = self.view(spans, list, compare)?;
            let name = Some(names::bare(pod));
            part_finding((pod, "pod"), |sender| &sender.pod, name, (spans, &view), compare)
        });
        found.collect()
    }

    /// The first request that can belong to harm, of what some entities serve: the one after the last
    /// that is known to be usual, where requests began earliest to fail or to be slow.
    pub(crate) fn first_harm(
        &self,
        spans: &Spans,
        entities: &BTreeSet<EntityId>,
        compare: &Compare,
    ) -> Option<Timestamp> {
        let served = self.served.iter().filter(|(entity, _)| entities.contains(*entity));
        let harms = served.filter_map(|(entity, list)| {
            let view = self.view(spans, list, compare)?;
            let found = [view.errors(entity, None, compare), view.latency(entity, None, compare)];
            // One that is hardly dated would leave nothing to compare with.
            let dated = found.into_iter().flatten().filter_map(|finding| finding.onset);
            let dated = dated
                .filter(|onset| onset.latest().duration_since(onset.earliest()) <= MAX_HARM_DOUBT);
            let usual = dated.map(|onset| onset.earliest()).min()?;
            view.all.iter().map(|row| spans.get(*row).at()).find(|at| *at > usual)
        });
        harms.min()
    }

    /// That an entity does what it did before, where its spans show that. For entities of which
    /// nothing else is known.
    pub(crate) fn steady(
        &self,
        spans: &Spans,
        entity: &EntityId,
        compare: &Compare,
    ) -> Option<Finding> {
        self.view(spans, self.served.get(entity)?, compare)?.steady(entity, compare)
    }

    /// How much each of some neighbours asked of an entity or was asked by it, shifted or not.
    pub(crate) fn relations(
        &self,
        spans: &Spans,
        entity: &EntityId,
        neighbours: impl Iterator<Item = EntityId>,
        compare: &Compare,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        for neighbour in neighbours {
            let ways =
                [(&neighbour, entity, PeerRole::Caller), (entity, &neighbour, PeerRole::Callee)];
            for (caller, callee, role) in ways {
                let list = self.calls.get(caller).and_then(|callees| callees.get(callee));
                let view = list.and_then(|list| self.view(spans, list, compare));
                let peer = Peer { entity: neighbour.clone(), role };
                findings.extend(view.and_then(|view| view.rate(entity, Some(&peer), compare)));
            }
        }
        findings
    }
}

/// The service that each sender of spans stands for, by the sender's number.
pub(crate) fn services_of(spans: &Spans, names: &NameIndex) -> Vec<Option<EntityId>> {
    let service = |sender: &Resource| find_service(names, &sender.namespace, &sender.service);
    spans.senders.iter().map(|sender| service(sender)).collect()
}

/// Which services stand at the ends of a span. Remembers what each sender and address stood for.
pub(crate) struct Parties<'a> {
    names: &'a NameIndex,
    /// By the sender's number.
    senders: Vec<Option<EntityId>>,
    /// The service that an address leads to. Look-ups alone, never iterated.
    addressed: HashMap<(u32, u32, u32), Option<EntityId>>,
}

impl<'a> Parties<'a> {
    pub(crate) fn new(spans: &Spans, names: &'a NameIndex) -> Self {
        Self { names, senders: services_of(spans, names), addressed: HashMap::new() }
    }

    /// The sender of the span.
    pub(crate) fn sender(&self, span: SpanRef<'_>) -> Option<EntityId> {
        self.service(span.sender_number())
    }

    /// The sender of the parent, unless the parent's own span describes the call.
    fn caller(&self, span: SpanRef<'_>) -> Option<EntityId> {
        let parent = span.parent().filter(|parent| parent.kind() != SpanKind::Client)?;
        self.sender(parent)
    }

    /// The callee: the sender of the span that took the call, else a known one that the span names.
    pub(crate) fn callee(&mut self, span: SpanRef<'_>) -> Option<EntityId> {
        let taken = span.callee_number().and_then(|callee| self.service(callee));
        if taken.is_some() || span.kind() != SpanKind::Client {
            return taken;
        }
        let names = self.names;
        let address = self.addressed.entry(span.address());
        address.or_insert_with(|| addressed(span, names)).clone()
    }

    fn service(&self, sender: u32) -> Option<EntityId> {
        self.senders.get(sender as usize)?.clone()
    }
}

/// The service that a span names as the one it talks to.
fn addressed(span: SpanRef<'_>, names: &NameIndex) -> Option<EntityId> {
    let known = span_callee(span).and_then(|((space, name), by_host)| {
        let space = if space.is_empty() { &span.sender().namespace } else { &space };
        let known = !by_host || names.is_host(space, &name);
        known.then(|| find_service(names, space, &name)).flatten()
    });
    // An entity outside of the cluster has the account that its callers keep of it.
    known.or_else(|| span.peer_host().and_then(|host| outside_entity(host, names)))
}

fn find_service(names: &NameIndex, namespace: &str, name: &str) -> Option<EntityId> {
    let space = match namespace {
        "" => names.namespace_of(name),
        given => given.to_owned(),
    };
    Some(name).filter(|name| !name.is_empty()).and_then(|name| names.service(&space, name))
}

/// The rows of one entity or relation, cut into the two periods.
pub(crate) struct View<'a> {
    spans: &'a Spans,
    pub(crate) before: &'a [u32],
    pub(crate) after: &'a [u32],
    /// All until the end of the second period: onsets are searched for in the whole recording.
    pub(super) all: &'a [u32],
    /// Recorded seconds of each period.
    pub(crate) seconds: (f64, f64),
}

impl<'a> View<'a> {
    /// `list` gives rows, in time order.
    pub(crate) fn of(spans: &'a Spans, list: &'a [u32], compare: &Compare) -> Option<Self> {
        let before = spans.at.among(list, compare.before);
        let after = spans.at.among(list, compare.after);
        let seconds = recorded_seconds(spans, compare);
        let until = Window::new(Timestamp::MIN, compare.after.end()).ok()?;
        let all = spans.at.among(list, until);
        let is_seen = !before.is_empty() || !after.is_empty();
        is_seen.then_some(Self { spans, before, after, all, seconds })
    }

    fn errors(&self, entity: &EntityId, peer: Option<&Peer>, compare: &Compare) -> Option<Finding> {
        let (old, new) = (failed(self.spans, self.before), failed(self.spans, self.after));
        let (before, after) = (ratio(old, self.before), ratio(new, self.after));
        if new < MIN_ERRORS || after - before < MIN_ERROR_RISE {
            return None;
        }
        let counted = |failed: usize, rows: &[u32]| (failed as f64, rows.len() as f64);
        let (usual, now) = (counted(old, self.before), counted(new, self.after));
        if !self.before.is_empty() && !shares_differ(usual, now) {
            return None;
        }
        let after_spans = self.after.iter().map(|row| self.spans.get(*row));
        let sample = after_spans
            .filter(|span| span.failed())
            .min_by_key(|span| (span.message().is_empty(), span.at()))?;
        let onset = self.share_onset(SpanRef::failed);
        let excerpt = format!(
            "error ratio of {} from {} to {} ({old} of {} usually, {new} of {} {}); {} {:?} trace {}",
            what(peer),
            rounded(before),
            rounded(after),
            self.before.len(),
            self.after.len(),
            since(onset),
            sample.name(),
            sample.message(),
            sample.trace(),
        );
        let quantity = Quantity {
            observed: after,
            baseline: (!self.before.is_empty()).then_some(before),
            unit: "ratio".into(),
        };
        self.finding(entity, Signal::Errors, peer, quantity, (excerpt, onset), compare)
    }

    /// Failed calls that do the caller no harm are as usual for it, however many they are: most of
    /// the requests that made one went well all the same.
    fn unless_tolerated(&self, errors: Finding) -> Finding {
        let calls = self.after.iter().map(|row| self.spans.get(*row)).filter(|call| call.failed());
        let requests: Vec<bool> =
            calls.filter_map(|call| Some(request_of(call)?.failed())).collect();
        let harmed = requests.iter().filter(|failed| **failed).count();
        if requests.len() < MIN_ERRORS || harmed * 2 >= requests.len() {
            return errors;
        }
        let excerpt = format!(
            "{}; harmless: {} of the {} requests with such a call went well",
            errors.excerpt,
            requests.len() - harmed,
            requests.len()
        );
        let content = errors.content().clone();
        Finding::new(FindingContent { trend: Trend::Steady, excerpt, ..content })
    }

    fn latency(
        &self,
        entity: &EntityId,
        peer: Option<&Peer>,
        compare: &Compare,
    ) -> Option<Finding> {
        if self.before.len() < MIN_REQUESTS || self.after.len() < MIN_REQUESTS {
            return None;
        }
        let (before, after) = (self.p95(self.before)?, self.p95(self.after)?);
        if after < before * MIN_LATENCY_FACTOR || after - before < MIN_LATENCY_RISE_MS {
            return None;
        }
        let onset = self.share_onset(|span| span.duration_ms() > before);
        let excerpt = format!(
            "95th percentile of the duration of {} from {} to {} ms {}",
            what(peer),
            rounded(before),
            rounded(after),
            since(onset),
        );
        let quantity = Quantity { observed: after, baseline: Some(before), unit: "ms".into() };
        self.finding(entity, Signal::Latency, peer, quantity, (excerpt, onset), compare)
    }

    /// The request rate where it shifted.
    fn traffic(
        &self,
        entity: &EntityId,
        peer: Option<&Peer>,
        compare: &Compare,
    ) -> Option<Finding> {
        let enough = self.before.len() >= MIN_REQUESTS || self.after.len() >= MIN_REQUESTS;
        let (before, after) = self.rates()?;
        if enough && self.traffic_shifted(before, after) {
            self.rate(entity, peer, compare)
        } else {
            None
        }
    }

    /// The request rate, steady where it did not shift.
    fn rate(&self, entity: &EntityId, peer: Option<&Peer>, compare: &Compare) -> Option<Finding> {
        let (before, after) = self.rates()?;
        let excerpt = format!(
            "{} requests a second {}, usually {}",
            rounded(after),
            match peer {
                Some(Peer { role: PeerRole::Caller, entity }) => format!("from {entity}"),
                Some(Peer { entity, .. }) => format!("to {entity}"),
                None => "served".to_owned(),
            },
            rounded(before),
        );
        let quantity = Quantity { observed: after, baseline: Some(before), unit: "1/s".into() };
        let onset = self.traffic_onset(before, after);
        self.finding(entity, Signal::Traffic, peer, quantity, (excerpt, onset), compare)
    }

    /// What is served at the same rate, with as many errors and as fast as before.
    fn steady(&self, entity: &EntityId, compare: &Compare) -> Option<Finding> {
        if self.before.len() < MIN_REQUESTS || self.after.len() < MIN_REQUESTS {
            return None;
        }
        let (before, after) = self.rates()?;
        if self.traffic_shifted(before, after) {
            return None;
        }
        let errors = |rows: &[u32]| ratio(failed(self.spans, rows), rows);
        let excerpt = format!(
            "nothing shifted at {}: {} requests a second served, {} before; error ratio {}, {} \
             before; 95th percentile {} ms, {} before",
            compare.after.start(),
            rounded(after),
            rounded(before),
            rounded(errors(self.after)),
            rounded(errors(self.before)),
            rounded(self.p95(self.after)?),
            rounded(self.p95(self.before)?),
        );
        let quantity = Quantity { observed: after, baseline: Some(before), unit: "1/s".into() };
        self.finding(entity, Signal::Traffic, None, quantity, (excerpt, None), compare)
    }

    /// When requests became bad, by the single ones.
    fn share_onset(&self, is_bad: impl Fn(SpanRef<'a>) -> bool) -> Option<Onset> {
        let spans = self.all.iter().map(|row| self.spans.get(*row));
        let requests: Vec<(Timestamp, bool)> =
            spans.map(|span| (span.at(), is_bad(span))).collect();
        share_onset(&requests)
    }

    /// When requests became more or fewer, where they did by more than chance.
    fn traffic_onset(&self, before: f64, after: f64) -> Option<Onset> {
        if !self.traffic_shifted(before, after) {
            return None;
        }
        let times: Vec<Timestamp> = self.all.iter().map(|row| self.spans.get(*row).at()).collect();
        let (first, last) = self.spans.at.extent()?;
        rate_onset(&times, Window::new(first, last).ok()?, trend(before, after))
    }

    fn p95(&self, rows: &[u32]) -> Option<f64> {
        duration_percentile(self.spans, rows, 95)
    }

    /// Requests a second, when both periods were recorded for a while.
    fn rates(&self) -> Option<(f64, f64)> {
        let (old, new) = self.seconds;
        let recorded = old >= 10.0 && new >= 10.0;
        recorded.then(|| (self.before.len() as f64 / old, self.after.len() as f64 / new))
    }

    /// Whether a request rate moved by more than noise and the chance of counting, up or down.
    fn traffic_shifted(&self, before: f64, after: f64) -> bool {
        let (old, new) = self.seconds;
        let counted = (self.before.len() as f64, old);
        before.max(after) >= before.min(after) * MIN_TRAFFIC_FACTOR
            && rates_differ(counted, (self.after.len() as f64, new))
    }

    fn finding(
        &self,
        entity: &EntityId,
        signal: Signal,
        peer: Option<&Peer>,
        quantity: Quantity,
        (excerpt, onset): (String, Option<Onset>),
        compare: &Compare,
    ) -> Option<Finding> {
        let source = self.spans.get(*self.after.first().or(self.before.first())?).file();
        let baseline = quantity.baseline.unwrap_or(0.0);
        let is_noise =
            signal == Signal::Traffic && !self.traffic_shifted(baseline, quantity.observed);
        let relation = match peer {
            Some(Peer { role: PeerRole::Caller, entity }) => format!(" caller={entity}"),
            Some(Peer { entity, .. }) => format!(" callee={entity}"),
            None => String::new(),
        };
        let draft = Draft {
            entity,
            kind: EvidenceKind::Span,
            signal,
            trend: if is_noise { Trend::Steady } else { trend(baseline, quantity.observed) },
            time: EvidenceTime::During(compare.after),
            quantity: Some(quantity),
            peer: peer.cloned(),
            source,
            query: format!(
                "{source} {}{relation} before={} after={}",
                selector(entity),
                compare.before,
                compare.after
            ),
            excerpt,
            onset,
        };
        Some(draft.finding())
    }
}

/// The request that a call was made for: the nearest one around it that was served.
fn request_of(call: SpanRef<'_>) -> Option<SpanRef<'_>> {
    let around = std::iter::successors(call.parent(), |span| span.parent());
    // Spans that name each other as parents must come to an end.
    let mut around = around.take(MAX_DEPTH);
    around.find(|span| matches!(span.kind(), SpanKind::Server | SpanKind::Consumer))
}

/// How many of some rows failed.
pub(crate) fn failed(spans: &Spans, rows: &[u32]) -> usize {
    rows.iter().filter(|row| spans.get(**row).failed()).count()
}

fn ratio(failed: usize, rows: &[u32]) -> f64 {
    failed as f64 / rows.len().max(1) as f64
}

/// Seconds of the two periods in which spans were recorded.
pub(crate) fn recorded_seconds(spans: &Spans, compare: &Compare) -> (f64, f64) {
    let Some((first, last)) = spans.at.extent() else { return (0.0, 0.0) };
    let seconds = |window: Window| {
        let (start, end) = (window.start().max(first), window.end().min(last));
        end.duration_since(start).as_secs_f64().max(0.0)
    };
    (seconds(compare.before), seconds(compare.after))
}

fn what(peer: Option<&Peer>) -> String {
    match peer {
        Some(Peer { role: PeerRole::Caller, entity }) => format!("requests from {entity}"),
        Some(Peer { entity, .. }) => format!("requests to {entity}"),
        None => "served requests".to_owned(),
    }
}

/// The duration in milliseconds that a share of some rows does not exceed, in whole percent.
pub(crate) fn duration_percentile(spans: &Spans, rows: &[u32], percent: usize) -> Option<f64> {
    let mut durations: Vec<f64> = rows.iter().map(|row| spans.get(*row).duration_ms()).collect();
    let rank = (durations.len() * percent).div_ceil(100).checked_sub(1)?;
    if rank >= durations.len() {
        return None;
    }
    let (_, value, _) = durations.select_nth_unstable_by(rank, f64::total_cmp);
    Some(*value)
}
