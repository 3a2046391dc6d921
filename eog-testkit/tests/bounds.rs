//! `assert_bounds` can fail: a controller that breaks a bound is found by drawn cases, and the message
//! names that bound.
//!
//! A controller that does not keep a limit is one that runs with a looser limit than its ledger says. What
//! no setting can loosen is forged in its evaluations.

#![cfg(feature = "proptest")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use eog::controller::{Briefing, ChangeRule, EntryBody, Evaluation, Reason};
use eog::{Budget, Config, Ledger};
use eog_testkit::prop::{Adversary, DrawnCase, adversaries, cases, configs, worlds};
use eog_testkit::{Bound, assert_bounds, check_bounds, run};
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRng, TestRunner};

/// A controller that breaks a bound.
struct Defect {
    breaks: Bound,
    /// What its ledger says.
    says: Config,
    /// What it does.
    does: Config,
    forges: fn(&mut Evaluation),
}

impl Defect {
    fn of(breaks: Bound) -> Self {
        let ends = Config { max_visits: Some(6), max_entities: 8, ..Config::default() };
        let (mut says, mut does) = (ends.clone(), ends);
        let mut forges: fn(&mut Evaluation) = |_| ();
        match breaks {
            Bound::Entities => says.max_entities = 2,
            Bound::Visits => says.max_visits = Some(2),
            Bound::Flips => says.flip_threshold = 1,
            Bound::Damping => forges = |evaluation| evaluation.outcome.damped = true,
            Bound::Broadcasts => {
                (says.flip_threshold, says.max_evidence) = (0, 0);
                does = Config { change: ChangeRule::Text, ..says.clone() };
            }
            Bound::DeadEnds => forges = |evaluation| evaluation.reason = Reason::DeadEnd,
            Bound::SecondOpinions => {
                forges = |evaluation| evaluation.reason = Reason::SecondOpinion;
            }
            Bound::Pages => says.briefing = Some(Briefing { pages: 0, ..Briefing::default() }),
            Bound::Proposals => {
                says.max_proposals = Some(0);
                forges = |evaluation| {
                    evaluation.activations.iter_mut().for_each(|one| one.reason = Reason::Proposal);
                };
            }
            Bound::Text => {
                forges = |evaluation| evaluation.outcome.belief.summary = "x".repeat(2_002);
            }
            Bound::Hops => says.budget = Budget::hops(3),
            Bound::Evaluations => forges = |evaluation| evaluation.outcome.change = None,
            other => panic!("there is no defect yet that breaks {other}"),
        }
        Self { breaks, says, does, forges }
    }

    /// The ledger that it writes.
    fn ledger(&self, case: &DrawnCase, adversary: &Adversary) -> Ledger {
        let finished = run(self.does.clone(), case.0.clone(), adversary, adversary);
        let mut ledger = Ledger::default();
        for entry in finished.ledger().entries() {
            let mut body = entry.body.clone();
            match &mut body {
                EntryBody::Opened(opened) => opened.config = self.says.clone(),
                EntryBody::Evaluated(evaluation) => (self.forges)(evaluation),
                _ => {}
            }
            ledger.append(body);
        }
        ledger
    }
}

/// Draws the same in each run.
fn runner() -> TestRunner {
    let config =
        ProptestConfig { failure_persistence: None, max_shrink_iters: 400, ..Default::default() };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    TestRunner::new_with_rng(config, rng)
}

#[test]
fn every_bound_is_missed_when_it_is_broken() {
    for bound in Bound::ALL {
        let defect = Defect::of(bound);
        let result = runner().run(&(cases(), adversaries()), |(case, adversary)| {
            let checked = check_bounds(&defect.ledger(&case, &adversary));
            prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
            Ok(())
        });
        let Err(TestError::Fail(reason, (case, adversary))) = result else {
            panic!("a broken bound on {bound} is not found: {result:?}")
        };
        let (reason, shown) = (reason.to_string(), format!("{case:?}\n{adversary:?}"));
        println!("{reason}\n{shown}\n");
        let named = format!("the bound on {bound} is broken");
        assert!(reason.contains(&named), "{:?}: {reason}", defect.breaks);
        // What is left is small enough to be read.
        assert!(shown.lines().count() <= 3 && shown.len() < 400, "{shown}");
    }
}

#[test]
fn the_message_of_the_assertion_shows_the_lines_of_the_entity() {
    let mut case = None;
    let defect = Defect::of(Bound::Visits);
    let found = runner().run(&(cases(), adversaries()), |(drawn, adversary)| {
        let ledger = defect.ledger(&drawn, &adversary);
        prop_assert!(check_bounds(&ledger).is_ok());
        Ok(())
    });
    if let Err(TestError::Fail(_, (drawn, adversary))) = found {
        case = Some(defect.ledger(&drawn, &adversary));
    }
    let ledger = case.expect("some case breaks the bound");
    let said = catch_unwind(AssertUnwindSafe(|| assert_bounds(&ledger)));
    let said = said.expect_err("it is broken").downcast::<String>().expect("it says why");
    let mut lines = said.lines();
    let first = lines.next().unwrap_or_default();
    assert!(first.starts_with("the bound on visits is broken: visits of e"), "{said}");
    assert!(first.contains("at most 2 possible (max_visits 2)"), "{said}");
    assert!(lines.next().is_some_and(|line| line.contains("visit 1")), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bound_is_missed_where_none_is_broken(
        case in cases(),
        world in worlds(true),
        adversary in adversaries(),
        config in configs(),
    ) {
        assert_bounds(&run(config.clone(), case.0, &adversary, &adversary));
        assert_bounds(&run(config, world.case.clone(), &world, &world));
    }
}

#[test]
fn drawn_cases_are_printed_as_tests_write_them() {
    let mut runner = runner();
    let tree = worlds(true).new_tree(&mut runner).expect("there are worlds");
    let text = format!("{:?}", proptest::strategy::ValueTree::current(&tree));
    for part in [
        "case(topology(\"e0",
        "alert(\"e",
        "  starts at e",
        "e0 shows Log \"always\" at 10:05",
        "policy (salt",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    println!("{text}");
}
