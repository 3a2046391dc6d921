//! How often each kind of decision comes about: no kind is for show.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::contract::CandidateScore;
use eog_core::machine::drive;
use eog_core::{Decision, Digest, Label, Machine as _, policy_fn};
use eog_search::{MoveKind, SearchBody, SearchController, Try};
use eog_simulate::RandomSeed;
use eog_simulate::truth::{TruthGraph, TruthPolicy, TruthSpec};
use eog_testkit::ask;

use crate::treeseeker::common::{World, seeds};
use crate::treeseeker::{by_lot, config, done, model, steered};

/// In how many rounds there was a decision of each kind; a round has one for each active goal.
#[derive(Debug, Default)]
struct Shares {
    rounds: u32,
    kinds: BTreeMap<String, u32>,
}

impl Shares {
    fn add(&mut self, search: &SearchController) {
        for steered in steered(search) {
            self.rounds += 1;
            let moves = steered.taken.iter().map(|it| it.kind.to_string());
            let kinds: BTreeSet<String> =
                moves.chain(steered.finished.then(|| "finished".to_owned())).collect();
            kinds.into_iter().for_each(|kind| *self.kinds.entry(kind).or_default() += 1);
        }
    }

    fn each_is_in_a_twentieth(&self, finishes: bool) {
        println!("of {} rounds: {:?}", self.rounds, self.kinds);
        let kinds = MoveKind::ALL.map(|kind| kind.to_string()).into_iter();
        for kind in kinds.chain(finishes.then(|| "finished".to_owned())) {
            let times = self.kinds.get(&kind).copied().unwrap_or(0);
            assert!(times * 20 >= self.rounds, "{kind} in {times} of {}", self.rounds);
        }
    }
}

/// What is decided is drawn. In one of three worlds no path makes progress, so that paths go back; in the others there are
/// many candidates, and who moves is content with them.
#[test]
fn each_decision_is_in_a_twentieth_of_drawn_rounds() {
    for (random, sample) in [(None, 90), (Some(7), 30)] {
        let mut shares = Shares::default();
        for seed in 0..seeds(sample) {
            let barren = seed.is_multiple_of(3);
            let (finishing, origins) = if barren { (1, 1) } else { (30, 4) };
            let world = World { failing: 0, barren, finishing, origins, ..World::new(seed) };
            let search = world.run(by_lot(random), seed);
            if random.is_none() {
                assert_eq!(done(&search), model(&world, 30), "seed {seed}");
            }
            shares.add(&search);
        }
        // Lots never finish.
        shares.each_is_in_a_twentieth(random.is_none());
    }
}

/// A generated incident.
struct Incident {
    entities: usize,
    /// How often its judge errs.
    wrong: f64,
}

impl Incident {
    /// Searched by rules. How sure the judge is of origins is drawn, too: from 700 on their candidates are answer
    /// enough, from 900 on the goals are complete before a role is asked for a further move.
    fn searched(&self, seed: u64) -> SearchController {
        let seed = RandomSeed::from(seed).child(&format!("{} {}", self.entities, self.wrong));
        let spec = TruthSpec::drawn(self.entities, seed);
        let truth = TruthGraph::generate(&spec, seed).expect("a sound spec");
        let sure = 600 + seed.stream("certainty").position(401);
        let score = u16::try_from(sure).expect("at most 1000");
        let judge = policy_fn(|packet| {
            let mut decision = ask(&TruthPolicy, packet).expect("it always decides").decision;
            let mut draw = seed.about("errs", &Digest::of(packet), 1);
            // Each message halves the rate.
            let wrong = packet.inbox.iter().fold(self.wrong, |rate, _| rate / 2.0);
            if decision.label != Label::Defer && draw.chance(wrong) {
                let is_origin = decision.label == Label::Origin;
                let label = if is_origin { Label::Healthy } else { Label::Origin };
                decision = Decision::new(label, "it errs").citing(&packet.context.findings);
            }
            if decision.label == Label::Origin {
                decision.scores.push(CandidateScore { entity: packet.entity.clone(), score });
            }
            decision
        });
        let mut search = SearchController::open(config(), truth.case());
        drive(&mut search, &SearchController::by_policy(&truth, judge)).expect("ready at once");
        search
    }
}

/// No decision is scripted here: rules read value, uncertainty and risk off what a judge says.
#[test]
fn rules_make_each_decision_in_a_twentieth_of_the_rounds_of_generated_incidents() {
    let mut shares = Shares::default();
    for entities in [10, 30, 60, 100] {
        for wrong in [0.0, 0.2, 0.4] {
            for seed in 0..seeds(10) {
                let search = Incident { entities, wrong }.searched(seed);
                shares.add(&search);
                refuses_nothing(&search);
            }
        }
    }
    shares.each_is_in_a_twentieth(true);
}

/// What rules say is never refused.
pub(super) fn refuses_nothing(search: &SearchController) {
    for entry in search.ledger().entries() {
        match &entry.body {
            SearchBody::Progressed(it) => assert_eq!(it.refused, []),
            SearchBody::Steered(it) => {
                assert!(it.tries.iter().all(|tried| matches!(tried, Try::Applied(_))));
            }
            _ => {}
        }
    }
}
