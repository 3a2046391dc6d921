//! Drawn investigations: a case, what the context contract shows, and a policy that takes its decision
//! from a small table by what it sees. Equal packets get equal decisions.

use std::collections::BTreeSet;

use eog::contract::{EvidenceQuery, Route};
use eog::incident::{ChangeRecord, Direction, Onset, RecordedChange};
use eog::{
    AbductivePolicy, Answer, BoxFuture, Case, Claim, ContextContract, ContextPacket,
    ContextRequest, Decision, EntityId, EvidenceId, EvidenceKind, Failure, Finding, Label,
    LocalContext,
};
use proptest::prelude::*;

use super::parts::{
    anomaly, at, edges, finding, finding_about, ghost, hash, labels, name, topology, window,
};

/// A drawn investigation: its case, the evidence that there is on each entity, and a policy.
///
/// It is the [`ContextContract`] that shows the evidence, by page, visit and new messages, and an
/// [`AbductivePolicy`] whose decisions follow from packets alone, right or wrong: use both, or put your
/// own in the place of one. See [`worlds`].
#[derive(Clone)]
pub struct World {
    /// What is investigated.
    pub case: Case,
    /// Declared entities, then hidden ones that evidence or claims may name, then an unknown one.
    pub everyone: Vec<EntityId>,
    pub(super) shown: Vec<Shown>,
    pub(super) table: Vec<Row>,
    pub(super) salt: u64,
    /// Of 16 questions, how many fail.
    pub(super) failing: u64,
}

/// A finding and when the contract shows it.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) finding: Finding,
    /// On which page it stands.
    pub(super) page: u32,
    /// The hops before its entity, if it has a route.
    pub(super) route: Vec<EntityId>,
    pub(super) from_visit: u32,
    pub(super) when_new: Option<EntityId>,
}

/// A decision that still has to be filled in with what a packet offers.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) label: Label,
    pub(super) words: u8,
    pub(super) cites: Cites,
    pub(super) claims: Vec<(u8, usize, Cites)>,
    pub(super) proposals: Vec<usize>,
    pub(super) next_page: bool,
    /// Whose records to search, and for which kind.
    pub(super) query: Option<(usize, EvidenceKind)>,
}

/// What is cited: a mask over own findings, a message's evidence, an unknown id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cites {
    pub(super) own: u8,
    pub(super) inbox: bool,
    pub(super) ghost: bool,
}

impl World {
    /// What it shows as a contract. Depends on the request alone.
    ///
    /// # Errors
    /// In worlds that fail, some requests by chance.
    pub fn context(&self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        let question = (self.salt, &request.entity, request.visit, "context");
        if hash(&question) % 16 < self.failing {
            return Err(Failure::context("out of reach"));
        }
        if let Some(query) = &request.query {
            let of = self.shown.iter().filter(|shown| shown.finding.entity == query.entity);
            return Ok(query.answer(of.map(|shown| shown.finding.clone()), None));
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

    /// What it decides as a policy. Depends on the packet alone.
    ///
    /// # Errors
    /// In worlds that fail, some packets by chance.
    pub fn decide(&self, packet: &ContextPacket) -> Result<Decision, Failure> {
        let seen: BTreeSet<&EvidenceId> = packet.context.findings.iter().map(Finding::id).collect();
        let beliefs: Vec<_> = packet
            .inbox
            .iter()
            .map(|message| {
                let signature = message.belief.signature();
                (&message.sender, signature.label, signature.claims)
            })
            .collect();
        let key = hash(&(self.salt, &packet.entity, seen, beliefs, &packet.notice));
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
        decision.query = row.query.map(|(of, kind)| {
            Box::new(EvidenceQuery { entity: self.name(of), kind, text: String::new() })
        });
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
            let claim = Claim::new(&cause, &effect, condition, observed).citing_ids(&evidence);
            decision.claims.push(claim);
        }
        for other in &row.proposals {
            decision = decision.proposing(self.name(*other), Direction::Upstream, "a hunch");
        }
        decision
    }

    pub(super) fn name(&self, position: usize) -> EntityId {
        self.everyone[position % self.everyone.len()].clone()
    }
}

impl ContextContract for World {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(async move { self.context(request) })
    }
}

impl AbductivePolicy for World {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move { Self::decide(self, packet).map(Answer::from) })
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

fn made(entity: EntityId, minute: u8) -> RecordedChange {
    let made = Onset::at(at(minute));
    // Equal words would be the same change in several places.
    let what = format!("something of {entity}");
    RecordedChange { entity, made, what, finding: None }
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
    let query = prop::option::weighted(0.2, (0..size, (0..7u8).prop_map(kinds)));
    (labels(), 0..3u8, cites(), claims, proposals, next_page, query).prop_map(
        |(label, words, cites, claims, proposals, next_page, query)| Row {
            label,
            words,
            cites,
            claims,
            proposals,
            next_page,
            query,
        },
    )
}

/// Drawn investigations of up to seven entities, with cycles and self-loops, alerts, a record of changes,
/// evidence on several pages and behind visits and messages, and decisions right or wrong. With
/// `failing`, some contexts and decisions cannot be had.
///
/// A failure shrinks to few entities and findings, and prints as text.
///
/// ```
/// use eog::Config;
/// use eog_testkit::{assert_bounds, healthy, policy_fn, prop, run};
/// use proptest::prelude::*;
///
/// proptest! {
/// ///     // With #[test] on it, in a test.
///     fn my_policy_keeps_the_bounds(world in prop::worlds(true)) {
///         let policy = policy_fn(healthy);
///         assert_bounds(&run(Config::default(), world.case.clone(), &world, &policy));
///     }
/// }
/// my_policy_keeps_the_bounds();
/// ```
pub fn worlds(failing: bool) -> impl Strategy<Value = World> {
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
                        .map(|e| eog::Seed { entity: name(e), reason: reason() })
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
