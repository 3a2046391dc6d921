//! Random investigations: a case, what the context contract shows, and a policy that looks its
//! decision up in a small table by what it sees. Equal packets get equal decisions.

use std::collections::BTreeSet;

use eog_core::Digest;
use eog_core::contract::Route;
use eog_core::evidence::{EvidenceTime, FindingContent, Peer, PeerRole, Signal, Trend};
use eog_core::incident::{ChangeRecord, Direction, EffectDirection, Onset, RecordedChange};
use eog_core::{
    Anomaly, Case, Claim, ContextPacket, ContextRequest, Decision, EntityId, EvidenceId,
    EvidenceKind, Failure, Finding, Label, LocalContext, Timestamp, Topology, Window,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) case: Case,
    /// Declared entities, then hidden ones, then one that nobody names.
    pub(crate) everyone: Vec<EntityId>,
    shown: Vec<Shown>,
    table: Vec<Row>,
    salt: u64,
    /// Of 16 questions, how many fail.
    failing: u64,
}

/// A finding and when the contract shows it.
#[derive(Clone, Debug)]
struct Shown {
    finding: Finding,
    /// On which page it stands.
    page: u32,
    /// The hops before its entity, if it tells of a route.
    route: Vec<EntityId>,
    from_visit: u32,
    when_new: Option<EntityId>,
}

/// A decision that still has to be filled in with what a packet offers.
#[derive(Clone, Debug)]
struct Row {
    label: Label,
    words: u8,
    cites: Cites,
    claims: Vec<(u8, usize, Cites)>,
    proposals: Vec<usize>,
    next_page: bool,
}

/// What is cited: a mask over own findings, a message's evidence, an id nobody has.
#[derive(Clone, Copy, Debug)]
struct Cites {
    own: u8,
    inbox: bool,
    ghost: bool,
}

impl World {
    /// What the contract answers. Depends on the request alone.
    pub(crate) fn context(&self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        let question = (self.salt, &request.entity, request.visit, "context");
        if hash(&question) % 16 < self.failing {
            return Err(Failure::context("out of reach"));
        }
        let shown = self.shown.iter().filter(|shown| {
            shown.finding.entity == request.entity
                && shown.from_visit <= request.visit
                && shown.when_new.iter().all(|sender| request.changed_neighbours.contains(sender))
        });
        let shown: Vec<&Shown> = shown.collect();
        let pages = shown.iter().map(|shown| shown.page).max().unwrap_or(1);
        let on_page = || shown.iter().filter(|shown| shown.page == request.page.min(pages));
        let routes = on_page().filter(|shown| !shown.route.is_empty()).map(|shown| Route {
            finding: shown.finding.id().clone(),
            hops: shown.route.iter().chain([&request.entity]).cloned().collect(),
        });
        Ok(LocalContext {
            findings: on_page().map(|shown| shown.finding.clone()).collect(),
            routes: routes.collect(),
            pages_left: pages.saturating_sub(request.page),
            ..LocalContext::default()
        })
    }

    /// What the policy answers. Depends on the packet alone.
    pub(crate) fn decide(&self, packet: &ContextPacket) -> Result<Decision, Failure> {
        let seen: BTreeSet<&EvidenceId> = packet.context.findings.iter().map(Finding::id).collect();
        let heard: Vec<_> = packet
            .inbox
            .iter()
            .map(|message| {
                let signature = message.belief.signature();
                (&message.sender, signature.label, signature.claims)
            })
            .collect();
        let key = hash(&(self.salt, &packet.entity, seen, heard, &packet.notice));
        if (key >> 32) % 16 < self.failing {
            return Err(Failure::policy("lost for words"));
        }
        let row = &self.table[usize::try_from(key % self.table.len() as u64).expect("is small")];
        Ok(self.fill(row, packet))
    }

    fn fill(&self, row: &Row, packet: &ContextPacket) -> Decision {
        let mut decision = Decision::new(row.label, format!("words {}", row.words));
        decision.evidence = cited(row.cites, packet);
        decision.next_page = row.next_page;
        for (kind, other, cites) in &row.claims {
            let own = packet.entity.clone();
            let other = self.name(*other);
            let (cause, effect) = match kind {
                0..=3 => (other, own),
                4..=6 => (own, other),
                7 => (own.clone(), own),
                8 => match packet.context.routes.last() {
                    Some(route) => (route.hops[0].clone(), route.hops[1].clone()),
                    None => (own.clone(), own),
                },
                _ => (other, self.name(usize::from(*kind))),
            };
            let evidence = cited(*cites, packet);
            let (condition, observed) = ("is slow".to_owned(), "waits".to_owned());
            decision.claims.push(Claim {
                cause,
                effect,
                condition,
                observed,
                evidence,
                cause_since: None,
                effect_since: None,
                explains: None,
            });
        }
        for other in &row.proposals {
            decision = decision.proposing(self.name(*other), Direction::Upstream, "a hunch");
        }
        decision
    }

    fn name(&self, position: usize) -> EntityId {
        self.everyone[position % self.everyone.len()].clone()
    }
}

fn cited(cites: Cites, packet: &ContextPacket) -> Vec<EvidenceId> {
    let findings = packet.context.findings.iter().enumerate();
    let own = findings.filter(|(position, _)| cites.own >> (position % 8) & 1 == 1);
    let mut ids: Vec<EvidenceId> = own.map(|(_, finding)| finding.id().clone()).collect();
    if cites.inbox {
        ids.extend(packet.inbox.iter().flat_map(|message| message.belief.cited()).next());
    }
    if cites.ghost {
        ids.push(ghost());
    }
    ids
}

/// An id that no finding has.
pub(crate) fn ghost() -> EvidenceId {
    EvidenceId::try_from("nte-00000000000000000000".to_owned()).expect("is well formed")
}

/// A number that depends on nothing but the value.
pub(crate) fn hash(value: &impl serde::Serialize) -> u64 {
    let digits: String = Digest::of(value).to_string().chars().take(16).collect();
    u64::from_str_radix(&digits, 16).expect("a digest is hexadecimal")
}

pub(crate) fn name(position: usize) -> EntityId {
    EntityId::new(format!("e{position}")).expect("is a name")
}

pub(crate) fn at(minute: u8) -> Timestamp {
    format!("2026-01-01T10:{minute:02}:00Z").parse().expect("is a time")
}

pub(crate) fn window() -> Window {
    Window::new(at(0), at(59)).expect("is not empty")
}

pub(crate) fn finding(entity: &EntityId, kind: EvidenceKind, minute: u8, query: &str) -> Finding {
    finding_about(entity, kind, minute, query, None)
}

fn finding_about(
    entity: &EntityId,
    kind: EvidenceKind,
    minute: u8,
    query: &str,
    peer: Option<EntityId>,
) -> Finding {
    Finding::new(FindingContent {
        entity: entity.clone(),
        kind,
        signal: Signal::Other,
        trend: Trend::Steady,
        time: EvidenceTime::At(at(minute)),
        quantity: None,
        change: None,
        peer: peer.map(|entity| Peer { entity, role: PeerRole::Mentioned }),
        source: "world".to_owned(),
        query: query.to_owned(),
        excerpt: String::new(),
        onset: None,
    })
}

fn made(entity: EntityId, minute: u8) -> RecordedChange {
    let made = Onset::at(at(minute));
    RecordedChange { entity, made, what: "something".to_owned(), finding: None }
}

pub(crate) fn anomaly(entity: EntityId, minute: u8) -> Anomaly {
    Anomaly {
        name: format!("at {minute}"),
        entity,
        signal: Signal::Errors,
        onset: at(minute),
        renewed: Vec::new(),
        last_seen: None,
        severity: String::new(),
        description: String::new(),
    }
}

/// A topology over `e0` to `e(size - 1)` with these edges, cycles and self-loops among them.
pub(crate) fn topology(size: usize, edges: &[(usize, usize, u8)]) -> Topology {
    let mut topology = Topology::default();
    for position in 0..size {
        topology.add_entity(name(position));
    }
    for (source, target, kind) in edges {
        let effects = match kind {
            0 => EffectDirection::SourceToTarget,
            1 => EffectDirection::TargetToSource,
            _ => EffectDirection::Both,
        };
        topology.connect(&name(*source), "calls", &name(*target), effects);
    }
    topology
}

pub(crate) fn edges(size: usize) -> impl Strategy<Value = Vec<(usize, usize, u8)>> {
    prop::collection::vec((0..size, 0..size, 0..3u8), 0..2 * size)
}

pub(crate) fn labels() -> impl Strategy<Value = Label> {
    prop::sample::select(vec![
        Label::Healthy,
        Label::Symptom,
        Label::Symptom,
        Label::Origin,
        Label::Origin,
        Label::Defer,
    ])
}

fn cites() -> impl Strategy<Value = Cites> {
    let own = prop_oneof![2 => Just(u8::MAX), 2 => any::<u8>(), 1 => Just(0)];
    let parts = (own, prop::bool::weighted(0.3), prop::bool::weighted(0.1));
    parts.prop_map(|(own, inbox, ghost)| Cites { own, inbox, ghost })
}

fn rows(size: usize) -> impl Strategy<Value = Row> {
    let claims = prop::collection::vec((0..10u8, 0..size, cites()), 0..4);
    let proposals = prop::collection::vec(0..size, 0..5);
    let next_page = prop::bool::weighted(0.25);
    (labels(), 0..3u8, cites(), claims, proposals, next_page).prop_map(
        |(label, words, cites, claims, proposals, next_page)| Row {
            label,
            words,
            cites,
            claims,
            proposals,
            next_page,
        },
    )
}

/// Random worlds; with `failing`, some contexts and decisions cannot be had.
pub(crate) fn worlds(failing: bool) -> impl Strategy<Value = World> {
    (2..=5usize, 0..=2usize).prop_flat_map(move |(declared, hidden)| {
        let all = declared + hidden;
        let peer = prop::option::weighted(0.4, 0..all);
        let paged = prop::sample::select(vec![1_u32, 1, 1, 2, 3]);
        let route = prop::option::weighted(0.3, (0..all, 0..all));
        let place = (paged, route);
        let new = prop::option::weighted(0.3, 0..all);
        let shown = (0..all, 0..7u8, 1..4u32, new, peer, 1..50u8, place);
        let failing = if failing { 0..3u64 } else { 0..1u64 };
        (
            edges(declared),
            prop::collection::vec(0..declared, 1..4),
            prop::collection::vec((0..declared, 1..50u8), 0..4),
            prop::option::weighted(0.5, prop::collection::vec((0..all, 1..59u8), 0..5)),
            prop::collection::vec(shown, 0..10),
            prop::collection::vec(rows(all + 1), 2..6),
            any::<u64>(),
            failing,
        )
            .prop_map(
                move |(edges, seeds, anomalies, record, shown, table, salt, failing)| {
                    let anomalies =
                        anomalies.into_iter().map(|(e, minute)| anomaly(name(e), minute));
                    let anomalies = anomalies.collect();
                    let topology = topology(declared, &edges);
                    let mut case = Case::from_anomalies(topology, window(), anomalies);
                    case.record = record.map(|changes| ChangeRecord {
                        span: window(),
                        changes: changes
                            .into_iter()
                            .map(|(e, minute)| made(name(e), minute))
                            .collect(),
                    });
                    let reason = || "world".to_owned();
                    case.seeds = seeds
                        .into_iter()
                        .map(|e| eog_core::Seed { entity: name(e), reason: reason() })
                        .collect();
                    let always = (0..all).map(|entity| {
                        let finding = finding(&name(entity), EvidenceKind::Log, 5, "always");
                        Shown { finding, page: 1, route: Vec::new(), from_visit: 1, when_new: None }
                    });
                    let shown = shown.into_iter().enumerate().map(|(number, spec)| {
                        let (entity, kind, from_visit, when_new, peer, minute, place) = spec;
                        let (page, route) = place;
                        let (entity, query) = (name(entity), format!("query {number}"));
                        let peer = peer.map(name);
                        let finding = finding_about(&entity, kinds(kind), minute, &query, peer);
                        let hops = |(from, by)| vec![name(from), name(by)];
                        let route = route.map(hops).unwrap_or_default();
                        let when_new = when_new.map(name);
                        Shown { finding, page, route, from_visit, when_new }
                    });
                    World {
                        case,
                        everyone: (0..=all).map(name).collect(),
                        shown: always.chain(shown).collect(),
                        table,
                        salt,
                        failing,
                    }
                },
            )
    })
}

fn kinds(number: u8) -> EvidenceKind {
    match number {
        0 | 1 => EvidenceKind::Change,
        2 => EvidenceKind::Event,
        3 => EvidenceKind::Log,
        4 => EvidenceKind::Span,
        _ => EvidenceKind::Metric,
    }
}
