//! Faults strike the calls they are meant for, in the plain loop and on the engine.

mod common;

use std::time::Duration;

use eog::contract::FailureKind;
use eog::machine::QuestionKind;
use eog::{Config, Engine, Failure, Label, Limits};
use eog_testkit::{
    Call, Faulty, MemoryContext, PlainError, Recorder, ask, assert_that, entity, healthy, packet,
    policy_fn, run, seeded, topology, try_run,
};

fn down() -> Failure {
    Failure::context("down")
}

/// The error for a question whose answer is not there at once.
fn not_ready(about: &str, kind: QuestionKind) -> PlainError {
    PlainError::NotReady { about: entity(about), kind }
}

#[test]
fn faults_count_calls_over_all_and_per_entity() {
    let policy = Faulty::new(policy_fn(healthy))
        .fail(Call::nth_of("b", 2), Failure::policy("second of b"))
        .fail(Call::nth(4), Failure::policy("fourth"))
        .fail(Call::of("c"), Failure::policy("c"));
    let said: Vec<String> = ["a", "b", "b", "a", "c", "c", "b", "a"]
        .into_iter()
        .map(|name| match ask(&policy, &packet(name).build()) {
            Ok(_) => "ok".to_owned(),
            Err(failure) => failure.message,
        })
        .collect();
    assert_eq!(said, ["ok", "ok", "second of b", "fourth", "c", "c", "ok", "ok"]);
}

#[test]
fn a_failed_context_defers_its_entity_and_wakes_no_entity() {
    let contract =
        Recorder::new(Faulty::new(common::evidence()).fail(Call::nth_of("S4", 1), down()));
    let config = Config { widening: None, ..Config::default() };
    let run = run(config, common::flash_sale(), &contract, &common::policy());
    assert_that(&run)
        .failed_with("S4", FailureKind::ContextFailed, "down")
        .ends_with_label("S4", Label::Defer)
        .is_intact();
    assert_eq!(contract.fetched().first().map(String::as_str), Some("S2"));
    let visits: Vec<u32> = contract
        .requests()
        .into_iter()
        .filter(|request| request.entity == entity("S4"))
        .map(|request| request.visit)
        .collect();
    assert_eq!(visits, [1], "nothing wakes S4, since S3 receives nothing from it");
}

#[test]
fn failures_of_the_wrong_kind_are_put_right() {
    let policy = Faulty::new(policy_fn(healthy)).fail(Call::any(), down());
    let case = seeded(topology("a"), ["a"]);
    let run = run(Config::default(), case, &MemoryContext::default(), &policy);
    assert_that(&run).failed_with("a", FailureKind::PolicyFailed, "down");
}

#[test]
fn a_plain_loop_says_whose_call_is_not_ready() {
    let case = || seeded(topology("a"), ["a"]);
    let (contract, policy) = (MemoryContext::default(), policy_fn(healthy));
    let hanging = Faulty::new(&policy).hang(Call::any());
    let error = try_run(Config::default(), case(), &contract, &hanging).err();
    assert_eq!(error, Some(not_ready("a", QuestionKind::Policy)));
    let late = Faulty::new(&contract).delay(Call::any(), Duration::from_secs(1));
    let error = try_run(Config::default(), case(), &late, &policy).err();
    assert_eq!(error, Some(not_ready("a", QuestionKind::Context)));
}

#[test]
#[should_panic(expected = "the decision on a is not ready at once; test a policy that waits")]
fn asking_a_policy_that_waits_panics() {
    let policy = Faulty::new(policy_fn(healthy)).hang(Call::any());
    let _ = ask(&policy, &packet("a").build());
}

#[test]
#[should_panic(expected = "as planned")]
fn panics_reach_the_test() {
    let policy = Faulty::new(policy_fn(healthy)).panic(Call::any(), "as planned");
    let case = seeded(topology("a"), ["a"]);
    run(Config::default(), case, &MemoryContext::default(), &policy);
}

/// The clock is paused, so it moves on only when everything waits.
#[tokio::test(start_paused = true)]
async fn the_engine_bears_late_hanging_and_panicking_calls() {
    let policy = Faulty::new(policy_fn(healthy))
        .delay(Call::of("late"), Duration::from_secs(9))
        .hang(Call::of("hanging"))
        .panic(Call::of("panicking"), "as planned");
    let names = ["late", "hanging", "panicking"];
    let limits = Limits { policy_timeout: Some(Duration::from_secs(10)), ..Limits::default() };
    let ended = Engine::new(MemoryContext::default(), policy)
        .with_limits(limits)
        .investigate(Config::default(), seeded(topology(""), names))
        .await;
    assert_that(&ended)
        .evaluated(names)
        .ends_with_label("late", Label::Healthy)
        .failed_with("hanging", FailureKind::PolicyTimedOut, "10 s")
        .failed_with("panicking", FailureKind::PolicyFailed, "panicked")
        .converged();
}

#[tokio::test]
async fn the_plain_loop_and_the_engine_write_the_same_ledger() {
    let plain =
        run(Config::default(), common::flash_sale(), &common::evidence(), &common::policy());
    let engine = Engine::new(common::evidence(), common::policy());
    let ended = engine.investigate(Config::default(), common::flash_sale()).await;
    assert_eq!(plain.ledger().to_json_lines(), ended.ledger().to_json_lines());
}
