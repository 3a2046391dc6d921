//! The engine does exactly what the naive models do.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::belief::Signature;
use eog_core::controller::{
    AskAgain, Briefing, Damping, Evaluation, Order, Reason, Wake, Widening,
};
use eog_core::diagnosis::{Doubt, OriginGroup};
use eog_core::ledger::RecordedAnswer;
use eog_core::{
    Belief, Budget, Config, ContextPacket, ContextRequest, Controller, Decision, Digest, EntityId,
    Failure, Label, LocalContext, Measures, StopReason,
};
use proptest::prelude::*;

use super::cases;
use super::drive::{Answers, run};
use super::frontier::{
    assert_is_as_defined, by_definition, by_definition_with_unsteady, held, without_outweighed,
};
use super::reference::paper;
use super::reference::recommended::{self, How, Step};
use eog_testkit::prop::{World, worlds};

/// Far more evaluations than a limited run of these small worlds needs.
const LIMIT: u64 = 2_000;

/// A world whose decisions have numbers, for some of its entities.
struct Weighing<'w> {
    world: &'w World,
    weighs: bool,
}

impl Answers for Weighing<'_> {
    fn context(&mut self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        self.world.context(request)
    }

    /// With log-odds that depend on the packet, so that they change as messages do.
    fn decide(&mut self, packet: &ContextPacket) -> Result<Decision, Failure> {
        let mut decision = self.world.decide(packet)?;
        let drawn = Digest::of(packet).to_string().bytes().map(u32::from).sum::<u32>();
        if self.weighs && drawn % 5 > 0 {
            let log_odds = (drawn % 4) as i32 * 1_000;
            let origin = (drawn % 3 == 0).then_some(log_odds);
            let others = packet.neighbours.iter().map(|row| row.entity.clone());
            let handed = others.zip([3_500 - log_odds; 2]).filter(|_| drawn % 2 == 0).collect();
            decision.measures =
                Some(Box::new(Measures { log_odds, origin, handed, ..Measures::default() }));
        }
        Ok(decision)
    }
}

fn evaluations(controller: &Controller) -> Vec<&Evaluation> {
    controller.ledger().evaluations().collect()
}

fn briefings() -> impl Strategy<Value = Briefing> {
    let parts = (any::<[bool; 3]>(), 0..6u32, 0..4u32, 0..4u32);
    parts.prop_map(|([former, hints, reach], quotes, pages, queries)| Briefing {
        former,
        hints,
        quotes,
        pages,
        reach,
        queries,
    })
}

/// An evaluation of the engine in the words of the model.
fn as_step(evaluation: &Evaluation) -> Step {
    let activations = evaluation.activations.iter();
    Step {
        entity: evaluation.entity.clone(),
        visit: evaluation.visit,
        how: match &evaluation.answer {
            RecordedAnswer::Decided(_) => How::Decided,
            RecordedAnswer::Remembered { .. } => How::Remembered,
            RecordedAnswer::Failed(_) => How::Failed,
        },
        packet: evaluation.packet,
        belief: evaluation.outcome.belief.clone(),
        notified: evaluation.outcome.broadcast_to.clone(),
        activations: activations
            .map(|record| (record.entity.clone(), record.reason, record.refused.is_some()))
            .collect(),
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn paper_is_algorithm_1(
        world in worlds(false),
        max_visits in prop::option::weighted(0.7, 1..6u32),
        cooldown in 0..4u32,
        flip_threshold in 0..4u32,
        hops in prop::option::weighted(0.3, 0..12u64),
    ) {
        // Without a visit limit nothing bounds the run but the hops.
        let hops = hops.or(max_visits.is_none().then_some(80));
        let budget = Budget { hops, ..Budget::default() };
        let config = Config { max_visits, cooldown, flip_threshold, budget, ..Config::paper() };
        let (controller, stop) = run(&config, &world.case, &mut &world, LIMIT);
        let reference = paper::run(&config, &world.case, &mut &world);

        let found: Vec<_> = evaluations(&controller)
            .into_iter()
            .map(|e| {
                let belief = &e.outcome.belief;
                (e.entity.clone(), belief.signature(), belief.summary.clone())
            })
            .collect();
        let expected: Vec<(_, Signature, String)> = reference
            .ledger
            .iter()
            .map(|(entity, belief)| (entity.clone(), belief.signature(), belief.summary.clone()))
            .collect();
        prop_assert_eq!(found, expected);
        let claims: Vec<_> = reference.edges.iter().cloned().collect();
        prop_assert_eq!(controller.live_claims(), claims);
        let converged = stop.is_some_and(StopReason::is_at_rest);
        prop_assert_eq!(converged, reference.converged);

        let labels = reference.beliefs.iter().map(|(entity, belief)| (entity.clone(), belief.label));
        let anomalies: Vec<_> = world.case.anomalies.iter().map(|a| a.entity.clone()).collect();
        let defined = by_definition(&labels.collect(), &reference.edges, &anomalies);
        assert_is_as_defined(&controller.conclusion(), &defined);
    }

    #[test]
    fn default_is_the_recommended_algorithm(
        world in worlds(true),
        max_visits in prop::option::of(1..6u32),
        cooldown in 0..4u32,
        flip_threshold in 0..4u32,
        max_proposals in prop::option::weighted(0.8, 0..3u32),
        max_evidence in 0..6u32,
        hops in prop::option::weighted(0.2, 0..12u64),
        decision_memory in any::<bool>(),
        ask_again in prop::sample::select(vec![AskAgain::Always, AskAgain::NewEvidence]),
        late_messages in any::<bool>(),
        broadcast in prop::bool::weighted(0.9),
        damping in prop::sample::select(vec![Damping::LastWord, Damping::LastWord, Damping::Absorbing]),
        order in prop::sample::select(vec![Order::Fifo, Order::Priority, Order::Permuted { seed: 7 }]),
        wake in prop::sample::select(vec![Wake::Contradicted, Wake::Contradicted, Wake::AtOdds, Wake::Visited]),
        radius in prop::option::weighted(0.8, prop::option::weighted(0.5, 0..3u32)),
        origins_read in prop::bool::weighted(0.7),
        others_named in prop::bool::weighted(0.7),
        unlinked_named in prop::bool::weighted(0.7),
        chains_read in prop::bool::weighted(0.7),
        numbers_read in prop::bool::weighted(0.7),
        weighs in any::<bool>(),
        anomalies_in_packets in any::<bool>(),
        briefing in prop::option::weighted(0.8, briefings()),
    ) {
        let config = Config {
            max_visits,
            cooldown,
            flip_threshold,
            damping,
            max_proposals,
            max_evidence,
            decision_memory,
            ask_again,
            late_messages,
            broadcast,
            order,
            wake,
            widening: radius.map(|radius| Widening {
                radius,
                origins_read,
                others_named,
                unlinked_named,
                chains_read,
                numbers_read,
            }),
            anomalies_in_packets,
            briefing,
            budget: Budget { hops, ..Budget::default() },
            ..Config::default()
        };
        let mut answers = Weighing { world: &world, weighs };
        let (controller, stop) = run(&config, &world.case, &mut answers, LIMIT);
        prop_assert!(stop.is_some(), "still running after {} evaluations", LIMIT);
        let (expected, unread) = recommended::run(&config, &world.case, &mut answers);
        let found: Vec<Step> = evaluations(&controller).into_iter().map(as_step).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(controller.conclusion().unread, unread);

        let (labels, claims) = held(&controller);
        let anomalies: Vec<_> = world.case.anomalies.iter().map(|a| a.entity.clone()).collect();
        let conclusion = controller.conclusion();
        let unsteady: BTreeSet<_> = conclusion.damped.iter().cloned().collect();
        let defined = by_definition_with_unsteady(&labels, &unsteady, &claims, &anomalies);
        let measures = || controller.beliefs().filter_map(|(_, belief)| belief.measures.as_ref());
        let greatest = |(entity, belief): (&EntityId, &Belief)| {
            let own = belief.measures.as_ref()?.log_odds;
            let handed = measures().filter_map(|measures| measures.handed.get(entity)).copied();
            Some((entity.clone(), handed.fold(own, i32::max)))
        };
        let log_odds = controller.beliefs().filter_map(greatest).collect::<BTreeMap<_, _>>();
        // By log-odds, not by probability: each probability leaves out what explains something else.
        let strongest = |group: &OriginGroup| {
            let strongest = group.origins.iter().filter_map(|origin| log_odds.get(origin)).max();
            std::cmp::Reverse((!group.covers.is_empty(), strongest.copied()))
        };
        prop_assert!(conclusion.frontier.is_sorted_by_key(strongest));
        let defined = without_outweighed(defined, &log_odds);
        assert_is_as_defined(&conclusion, &defined);
        for group in &conclusion.frontier {
            let is_unsteady = group.origins.iter().any(|origin| unsteady.contains(origin));
            let is_stated = |doubt: &Doubt| matches!(doubt, Doubt::ChangedTooOften { .. });
            prop_assert_eq!(is_unsteady, group.doubts.iter().any(is_stated));
        }
    }
}

/// The worlds are worth something: runs revise beliefs, damp, remember and fail, and every reason to
/// be active comes about.
#[test]
fn the_worlds_are_not_dull() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let briefing = Some(Briefing { queries: 3, ..Briefing::default() });
    let evaluating_again = Config { max_visits: None, briefing, ..Config::default() };
    let plain = Config { wake: Wake::Visited, widening: None, ..evaluating_again.clone() };
    let reasons = [
        Reason::Claim,
        Reason::Wake,
        Reason::LateMessage,
        Reason::Proposal,
        Reason::Page,
        Reason::Query,
        Reason::Settle,
        Reason::Check,
        Reason::DeadEnd,
        Reason::Widen,
        Reason::SecondOpinion,
    ];
    let (mut seen, mut active) = ([0_u32; 5], [0_u32; 11]);
    for _ in 0..250 {
        let world = worlds(true).new_tree(&mut runner).expect("worlds exist").current();
        let (controller, _) = run(&plain, &world.case, &mut &world, LIMIT);
        let demoted = |e: &&Evaluation| {
            matches!(&e.answer, RecordedAnswer::Decided(decision)
                if decision.label == Label::Origin && e.outcome.belief.label == Label::Defer)
        };
        let facts = [
            controller.ledger().evaluations().any(|e| e.outcome.flips > 0),
            !controller.conclusion().damped.is_empty(),
            controller.spent().remembered > 0,
            controller.spent().failures > 0,
            evaluations(&controller).iter().any(demoted),
        ];
        for (count, fact) in seen.iter_mut().zip(facts) {
            *count += u32::from(fact);
        }
        let (controller, _) = run(&evaluating_again, &world.case, &mut &world, LIMIT);
        for (count, reason) in active.iter_mut().zip(reasons) {
            let is_one = |e: &Evaluation| e.reason == reason;
            *count += u32::from(controller.ledger().evaluations().any(is_one));
        }
    }
    assert!(seen.iter().chain(&active).all(|count| *count >= 5), "{seen:?} {active:?}");
}
