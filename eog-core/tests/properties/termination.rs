//! Every bound on evaluations, as a number, against policies and sources that do their worst.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use eog_core::controller::{Concurrency, Reason, Wake, Widening};
use eog_core::incident::Direction;
use eog_core::{
    Budget, Case, Claim, Config, ContextPacket, ContextRequest, Controller, Decision, EntityId,
    EvidenceId, EvidenceKind, Failure, Label, LocalContext, Seed, StopReason,
};
use proptest::prelude::*;

use super::cases;
use super::drive::{Answers, run};
use super::world::{anomaly, edges, finding, hash, name, topology, window, worlds};

/// A way to keep an investigation busy.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trick {
    /// Another label and another claim each time.
    Oscillate,
    /// The same in other words each time.
    Reword,
    /// Names, claims and proposes an entity that nobody has heard of.
    Invent,
    /// A finding that was never seen before, cited each time.
    CiteNews,
    /// Claims everything it knows of, both ways.
    ClaimEverything,
    /// Fails at random.
    Fail,
    /// Asks for the next page each time, of contexts without an end.
    TurnPages,
}

const TRICKS: [Trick; 7] = [
    Trick::Oscillate,
    Trick::Reword,
    Trick::Invent,
    Trick::CiteNews,
    Trick::ClaimEverything,
    Trick::Fail,
    Trick::TurnPages,
];

/// Context and policy in one bad hand. Remembers what it did, which a policy should not.
struct Adversary {
    tricks: Vec<Trick>,
    salt: u64,
    calls: u64,
    everyone: Vec<EntityId>,
    shown: BTreeMap<EntityId, BTreeSet<EvidenceId>>,
}

impl Adversary {
    fn new(tricks: &[Trick], salt: u64, size: usize) -> Self {
        Self {
            tricks: tricks.to_vec(),
            salt,
            calls: 0,
            everyone: (0..size).map(name).collect(),
            shown: BTreeMap::new(),
        }
    }

    fn random(&mut self) -> u64 {
        self.calls += 1;
        hash(&(self.salt, self.calls))
    }

    /// One trick alone is played each time; of several each is played three times out of four.
    fn plays(&mut self, trick: Trick) -> bool {
        let always = self.tricks.len() == 1 && trick != Trick::Fail;
        self.tricks.contains(&trick) && (always || !self.random().is_multiple_of(4))
    }
}

impl Answers for Adversary {
    fn context(&mut self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        if self.plays(Trick::Fail) && self.random().is_multiple_of(3) {
            return Err(Failure::context("refused"));
        }
        let entity = &request.entity;
        let mut context = LocalContext { pages_left: 1, ..LocalContext::default() };
        context.findings.push(finding(entity, EvidenceKind::Log, 1, "usual"));
        if self.plays(Trick::CiteNews) {
            let query = format!("news {}", self.random());
            context.findings.push(finding(entity, EvidenceKind::Log, 2, &query));
        }
        if self.plays(Trick::Invent) {
            let invented = EntityId::new(format!("x{}", self.random() % 1_000));
            let invented = invented.expect("is a name");
            self.everyone.push(invented.clone());
            context.mentions.push(invented);
        }
        let shown = self.shown.entry(entity.clone()).or_default();
        shown.extend(context.findings.iter().map(|finding| finding.id().clone()));
        Ok(context)
    }

    fn decide(&mut self, packet: &ContextPacket) -> Result<Decision, Failure> {
        if self.plays(Trick::Fail) && self.random().is_multiple_of(3) {
            return Err(Failure::policy("no idea"));
        }
        let mut decision =
            Decision::new(Label::Symptom, "the usual").citing(&packet.context.findings);
        decision.next_page = self.plays(Trick::TurnPages);
        let mut edges: Vec<(EntityId, EntityId)> = Vec::new();
        let own = packet.entity.clone();
        if self.plays(Trick::Oscillate) {
            let labels = [Label::Healthy, Label::Symptom, Label::Origin, Label::Defer];
            decision.label = labels[usize::try_from(self.random() % 4).expect("is small")];
            let position = usize::try_from(self.random()).unwrap_or(0) % self.everyone.len();
            edges.push((self.everyone[position].clone(), own.clone()));
        }
        if self.plays(Trick::Reword) {
            decision.summary = format!("put differently: {}", self.random());
        }
        if self.plays(Trick::Invent) {
            for mention in &packet.context.mentions {
                edges.push((mention.clone(), own.clone()));
                decision =
                    decision.proposing(mention.clone(), Direction::Both, "never seen before");
            }
        }
        if self.plays(Trick::ClaimEverything) {
            for other in self.everyone.iter().take(12) {
                edges.push((other.clone(), own.clone()));
                edges.push((own.clone(), other.clone()));
            }
        }
        for (cause, effect) in edges {
            let (condition, observed) = (String::new(), String::new());
            let evidence = decision.evidence.clone();
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
        Ok(decision)
    }
}

fn case(size: usize, edges: &[(usize, usize, u8)], seeds: &[usize]) -> Case {
    let anomalies = vec![anomaly(name(seeds[0]), 10)];
    let mut case = Case::from_anomalies(topology(size, edges), window(), anomalies);
    let seed = |&seed: &usize| Seed { entity: name(seed), reason: String::new() };
    case.seeds = seeds.iter().map(seed).collect();
    case
}

/// `V`: every entity that was ever activated.
fn activated(controller: &Controller, case: &Case, max_entities: u32) -> BTreeSet<EntityId> {
    let mut all = BTreeSet::new();
    for seed in &case.seeds {
        if all.len() < max_entities as usize {
            all.insert(seed.entity.clone());
        }
    }
    let records = controller.ledger().evaluations().flat_map(|e| &e.activations);
    all.extend(records.filter(|r| r.refused.is_none()).map(|record| record.entity.clone()));
    all
}

/// How often each entity broadcast.
fn broadcasts(controller: &Controller) -> BTreeMap<EntityId, u64> {
    let mut counts = BTreeMap::new();
    for evaluation in controller.ledger().evaluations() {
        let changed = evaluation.outcome.change.is_some();
        *counts.entry(evaluation.entity.clone()).or_default() += u64::from(changed);
    }
    counts
}

/// How many further pages of each entity were given. The looks that asked for them go on.
fn pages(controller: &Controller) -> BTreeMap<EntityId, u64> {
    let mut counts = BTreeMap::new();
    for evaluation in controller.ledger().evaluations().filter(|it| it.turns_the_page()) {
        *counts.entry(evaluation.entity.clone()).or_default() += 1;
    }
    counts
}

/// How often each entity was looked at as a dead end, and asked for a second opinion.
fn second_looks(controller: &Controller) -> BTreeMap<EntityId, [u64; 2]> {
    let mut counts: BTreeMap<EntityId, [u64; 2]> = BTreeMap::new();
    for evaluation in controller.ledger().evaluations() {
        let looks = counts.entry(evaluation.entity.clone()).or_default();
        looks[0] += u64::from(evaluation.reason == Reason::DeadEnd);
        looks[1] += u64::from(evaluation.reason == Reason::SecondOpinion);
    }
    counts
}

fn situations() -> impl Strategy<Value = (Case, usize)> {
    (1..=6usize).prop_flat_map(|size| {
        (edges(size), prop::collection::vec(0..size, 1..4))
            .prop_map(move |(edges, seeds)| (case(size, &edges, &seeds), size))
    })
}

fn tricks() -> impl Strategy<Value = Vec<Trick>> {
    prop::sample::subsequence(TRICKS.to_vec(), 1..=TRICKS.len())
}

fn window_of(width: u32) -> Concurrency {
    Concurrency::Window(NonZeroU32::new(width).expect("is not 0"))
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn default_without_a_visit_limit_keeps_its_bound(
        (case, size) in situations(),
        tricks in tricks(),
        salt in any::<u64>(),
        flip_threshold in 0..4u32,
        max_evidence in 0..4u32,
        max_entities in 1..10u32,
        cooldown in 0..3u32,
        width in 1..4u32,
        decision_memory in any::<bool>(),
        wake in prop::sample::select(vec![Wake::Contradicted, Wake::AtOdds, Wake::Visited]),
        radius in prop::option::weighted(0.8, prop::option::of(0..3u32)),
    ) {
        let config = Config {
            wake,
            widening: radius.map(|radius| Widening { radius }),
            max_visits: None,
            flip_threshold,
            max_evidence,
            max_entities,
            cooldown,
            decision_memory,
            concurrency: window_of(width),
            ..Config::default()
        };
        // No run can pass this: all entities, each joined with all that exist, each changing as
        // often as the caps let it.
        let (entities, names) = (u64::from(max_entities), u64::from(max_entities) + size as u64);
        let changes = 1 + u64::from(flip_threshold) + 1 + u64::from(max_evidence);
        let ceiling = entities + entities * changes * names + 5 * entities + 4 * entities;
        let mut adversary = Adversary::new(&tricks, salt, size);
        let (controller, stop) = run(&config, &case, &mut adversary, ceiling);
        prop_assert!(matches!(stop, Some(StopReason::Converged { .. })), "{stop:?}");

        let all = activated(&controller, &case, max_entities);
        let broadcasts = broadcasts(&controller);
        let (mut tight, mut stated) = (all.len() as u64, all.len() as u64);
        for entity in &all {
            let degree = controller.adjacent(entity).len() as u64;
            let evidence = adversary.shown.get(entity).map_or(0, BTreeSet::len) as u64;
            let may = 1 + u64::from(flip_threshold) + 1 + evidence.min(u64::from(max_evidence));
            let did = broadcasts.get(entity).copied().unwrap_or(0);
            prop_assert!(did <= may, "{entity} broadcast {did} times, at most {may} are possible");
            tight += did * degree;
            stated += may * degree;
        }
        let looks = second_looks(&controller);
        for (entity, [dead_ends, opinions]) in &looks {
            prop_assert!(*dead_ends <= 2, "{entity} was a dead end {dead_ends} times");
            prop_assert!(*opinions <= 3, "{entity} was asked {opinions} times");
        }
        let looks: u64 = looks.values().flatten().sum();
        prop_assert!(looks <= 5 * all.len() as u64);
        let given = pages(&controller);
        prop_assert!(given.values().all(|pages| *pages <= 4), "{given:?}");
        let given: u64 = given.values().sum();
        let evaluations = controller.spent().evaluations - looks - given;
        prop_assert!(evaluations <= tight, "{evaluations} first looks and wakes, at most {tight}");
        prop_assert!(tight <= stated);
        prop_assert!(all.len() <= max_entities as usize);
    }

    #[test]
    fn a_visit_limit_bounds_every_profile(
        (case, size) in situations(),
        tricks in tricks(),
        salt in any::<u64>(),
        limit in 1..5u32,
        max_entities in 1..10u32,
        cooldown in 0..3u32,
        width in 1..4u32,
        paper in any::<bool>(),
    ) {
        let profile = if paper { Config::paper() } else { Config::default() };
        let max_visits = Some(limit);
        let concurrency = window_of(width);
        let config = Config { max_visits, max_entities, cooldown, concurrency, ..profile };
        let ceiling = u64::from(limit + 4) * u64::from(max_entities);
        let mut adversary = Adversary::new(&tricks, salt, size);
        let (controller, stop) = run(&config, &case, &mut adversary, ceiling);
        prop_assert!(matches!(stop, Some(StopReason::Converged { .. })), "{stop:?}");
        let entities = activated(&controller, &case, max_entities).len() as u64;
        let given = pages(&controller);
        prop_assert!(given.values().all(|pages| *pages <= 4), "{given:?}");
        let evaluations = controller.spent().evaluations - given.values().sum::<u64>();
        prop_assert!(evaluations <= u64::from(limit) * entities, "{evaluations}, {entities}");
        let visits = controller.ledger().evaluations().map(|e| e.visit);
        prop_assert!(visits.max().unwrap_or(0) <= limit);
    }

    #[test]
    fn hops_bound_what_is_not_remembered(
        (case, size) in situations(),
        tricks in tricks(),
        salt in any::<u64>(),
        hops in 0..30u64,
        width in 1..4u32,
        paper in any::<bool>(),
    ) {
        let profile = if paper { Config::paper() } else { Config::default() };
        let (budget, concurrency) = (Budget::hops(hops), window_of(width));
        let config = Config { max_visits: None, budget, concurrency, ..profile };
        let mut adversary = Adversary::new(&tricks, salt, size);
        let (controller, stop) = run(&config, &case, &mut adversary, 5_000);
        prop_assert!(stop.is_some(), "still running after 5000 evaluations");
        let remembered = controller.spent().remembered;
        prop_assert!(controller.spent().evaluations - remembered <= hops);
        let exhausted = matches!(stop, Some(StopReason::BudgetExhausted { .. }));
        prop_assert_eq!(exhausted, controller.active().next().is_some());
        prop_assert!(!exhausted || controller.spent().hops == hops);
    }
}

proptest! {
    #![proptest_config(cases(100))]

    /// An investigation that ends by itself with something unexplained has looked at all there is
    /// around it.
    #[test]
    fn nothing_near_what_is_unexplained_is_left_unvisited(
        world in worlds(true),
        radius in prop::option::of(0..4u32),
        max_entities in 1..10u32,
        max_visits in prop::option::of(1..6u32),
        width in 1..4u32,
        tricks in tricks(),
        salt in any::<u64>(),
        is_adverse in any::<bool>(),
    ) {
        let config = Config {
            widening: Some(Widening { radius }),
            max_entities,
            max_visits,
            concurrency: window_of(width),
            ..Config::default()
        };
        let (controller, stop) = if is_adverse {
            run(&config, &world.case, &mut Adversary::new(&tricks, salt, 6), 5_000)
        } else {
            run(&config, &world.case, &mut &world, 5_000)
        };
        prop_assert!(matches!(stop, Some(StopReason::Converged { .. })), "{stop:?}");
        let mut evaluated = BTreeSet::new();
        let mut admitted = activated(&controller, &world.case, max_entities);
        for evaluation in controller.ledger().evaluations() {
            evaluated.insert(evaluation.entity.clone());
            let claims = &evaluation.outcome.belief.claims;
            admitted.extend(claims.iter().flat_map(|c| [c.cause.clone(), c.effect.clone()]));
        }
        let is_full = admitted.len() >= max_entities as usize;
        let alerting = |at: usize| controller.anomalies()[at].entity.clone();
        let mut near: BTreeSet<EntityId> =
            controller.conclusion().unexplained.into_iter().map(alerting).collect();
        for _ in 0..radius.unwrap_or(50) {
            let next: Vec<_> = near.iter().flat_map(|e| controller.adjacent(e)).collect();
            near.extend(next);
        }
        for entity in near.difference(&evaluated) {
            prop_assert!(is_full && !admitted.contains(entity), "{entity} was left out");
        }
    }
}

/// Two entities that reword what they say: the paper's rule has no fixed point, ours has one.
#[test]
fn rewording_never_ends_by_the_papers_rule_and_ends_by_ours() {
    let case = case(2, &[(0, 1, 0)], &[0, 1]);
    let ours = Config { max_visits: None, ..Config::default() };
    let mut adversary = Adversary::new(&[Trick::Reword], 1, 2);
    // |V| + Σ c·deg + 5·|V| with c ≤ 1 + (3 + 1) + 1 finding: 2 + 2 · 6 · 1 + 5 · 2.
    let bound = 2 + 2 * 6 + 5 * 2;
    let (controller, stop) = run(&ours, &case, &mut adversary, bound);
    assert_eq!(stop, Some(StopReason::Converged { refused_wakes: 0 }));
    assert!(controller.spent().evaluations <= bound);

    let paper = Config { max_visits: None, ..Config::paper() };
    let mut adversary = Adversary::new(&[Trick::Reword], 1, 2);
    let (controller, stop) = run(&paper, &case, &mut adversary, 100 * bound);
    assert_eq!(stop, None);
    assert!(controller.spent().evaluations > 100 * bound);
}

/// With the visit limit of B.3 the paper's profile ends on the same policy.
#[test]
fn rewording_ends_by_the_papers_rule_with_its_visit_limit() {
    let case = case(2, &[(0, 1, 0)], &[0, 1]);
    let mut adversary = Adversary::new(&[Trick::Reword], 1, 2);
    let (controller, stop) = run(&Config::paper(), &case, &mut adversary, 10);
    assert!(matches!(stop, Some(StopReason::Converged { refused_wakes: 1.. })), "{stop:?}");
    assert_eq!(controller.spent().evaluations, 10);
}
