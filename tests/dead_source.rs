//! A dead source is reported as such: in the stop reason and in the conclusion.

use eog::{Config, Failure, LinearConfig, Machine, StopReason, Unreachable};
use eog_testkit::{
    MemoryContext, alert, case, drive, finding, healthy, policy_fn, render, run, seeded, topology,
};

/// The source refuses these entities.
fn refusing(names: &[&str]) -> MemoryContext {
    let all = MemoryContext::default().with_all(["a", "b", "c", "d"].map(finding));
    names.iter().fold(all, |contract, name| contract.fail(name, Failure::context("refused")))
}

#[test]
fn a_source_that_gives_nothing_at_all_is_dead() {
    let case = case(topology("a calls b"), [alert("a", "HttpErrors", "10:05")]);
    let run = run(Config::default(), case, &refusing(&["a", "b"]), &policy_fn(healthy));
    let evaluations = run.spent().evaluations;
    assert_eq!(run.stop, StopReason::SourceUnreachable { failed: evaluations, looks: evaluations });
    let words =
        format!("the source is out of reach: no context in any of {evaluations} evaluations");
    assert_eq!(run.stop.to_string(), words);
    let conclusion = run.conclusion();
    assert_eq!(
        conclusion.unreachable,
        Some(Unreachable { failed: evaluations, looks: evaluations })
    );
    assert!(conclusion.to_string().ends_with(&words), "{conclusion}");
    assert_eq!(run.diagnosis().conclusion, conclusion);
}

#[test]
fn a_source_that_dies_on_the_way_is_dead_after_three_entities() {
    let start = || seeded(topology("a; b; c; d"), ["a", "b", "c", "d"]);
    let dies = run(Config::default(), start(), &refusing(&["b", "c", "d"]), &policy_fn(healthy));
    assert_eq!(
        dies.stop,
        StopReason::SourceUnreachable { failed: 3, looks: 4 },
        "{}",
        render(dies.ledger())
    );
    // Two are an accident, and so are three before one that is answered.
    for refused in [&["c", "d"][..], &["a", "b", "c"]] {
        let run = run(Config::default(), start(), &refusing(refused), &policy_fn(healthy));
        assert_eq!(run.stop, StopReason::Converged { refused_wakes: 0 });
        assert_eq!(run.conclusion().unreachable, None);
    }
}

#[test]
fn a_source_that_comes_back_is_not_dead() {
    let case = seeded(topology("a"), ["a"]);
    let mut run = run(Config::default(), case, &refusing(&["a"]), &policy_fn(healthy));
    assert_eq!(run.stop, StopReason::SourceUnreachable { failed: 1, looks: 1 });
    let news = eog::ledger::Observation::NewEvidence(eog_testkit::entity("a"));
    run.machine.handle(eog::Input::Observe(news)).expect("it fits");
    let stop = drive(&mut run.machine, &refusing(&[]), &policy_fn(healthy)).expect("it is ready");
    assert_eq!(stop, StopReason::Converged { refused_wakes: 0 });
    assert_eq!(run.conclusion().unreachable, None);
}

#[test]
fn the_baseline_tells_it_as_well() {
    let case = seeded(topology("a; b"), ["a", "b"]);
    let world =
        eog::ContextAndPolicy { contract: refusing(&["a", "b"]), policy: policy_fn(healthy) };
    let mut linear = eog::Linear::open(LinearConfig::default(), case);
    let stop = eog::machine::drive(&mut linear, &world).expect("it is ready");
    assert!(matches!(stop, StopReason::SourceUnreachable { .. }), "{stop:?}");
    assert!(linear.diagnosis().conclusion.unreachable.is_some());
}
