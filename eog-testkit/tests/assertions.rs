//! Assertions hold where they should, and fail with the lines that matter where they should not.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use eog::belief::ClaimEdge;
use eog::contract::FailureKind;
use eog::ledger::{Refusal, Warning};
use eog::{
    Budget, BudgetKind, Confidence, Config, Decision, Failure, Finished, Label, Ledger, StopReason,
};
use eog_testkit::{
    MemoryContext, TablePolicy, assert_that, claim, entity, finding, on, render, run, seeded,
    topology,
};

fn flash_sale() -> Finished {
    run(Config::default(), common::flash_sale(), &common::evidence(), &common::policy())
}

/// Every kind of refusal, warning and failure that the assertions speak of.
fn troubled() -> Finished {
    let own = finding("a").build();
    let on_itself = claim("a", "a", [&own]);
    let policy = TablePolicy::new([
        on("a").says(Decision::new(Label::Origin, "sure").claiming(on_itself)),
        on("b").fails("the model is away"),
        on("c").says(Decision::new(Label::Symptom, "line one\nline two")),
    ]);
    let contract = MemoryContext::default().with(own).fail("d", Failure::context("store is down"));
    let case = seeded(topology("a; b; c; d; e"), ["a", "b", "c", "d", "e"]);
    run(Config { budget: Budget::hops(4), ..Config::default() }, case, &contract, &policy)
}

#[test]
fn the_flash_sale_is_traced_to_the_sale() {
    assert_that(&flash_sale())
        .evaluated(["S2", "S3", "S4", "S3", "S2", "S4", "S1", "S2", "S1"])
        .evaluated_times("S4", 2)
        .not_evaluated("S5")
        .revised("S4", Label::Origin, Label::Symptom)
        .ends_with_label("S4", Label::Symptom)
        .ends_with_label("S1", Label::Origin)
        .discovered("S2", "S3")
        .discovered("S3", "S2")
        .claims("S1", "S2")
        .claims("S3", "S4")
        .does_not_claim("S4", "S3")
        .frontier(["S1"])
        // When the harm began was not measured.
        .confidence(Confidence::Likely)
        .converged()
        .stopped(StopReason::Converged { refused_wakes: 0 })
        .is_intact();
}

#[test]
fn without_messages_the_database_is_named() {
    let config = Config { broadcast: false, late_messages: false, ..Config::default() };
    let run_alone = run(config, common::flash_sale(), &common::evidence(), &common::policy());
    assert_that(&run_alone).evaluated(["S2", "S3", "S4", "S4"]).frontier(["S4"]);
}

#[test]
fn trouble_is_seen() {
    let self_claim = ClaimEdge { cause: entity("a"), effect: entity("a") };
    let run = troubled();
    assert_that(&run)
        .refused("a", &Refusal::ClaimOnItself(self_claim))
        .refused("a", &Refusal::OriginWithoutLocalEvidence)
        .failed("b")
        .failed_with("b", FailureKind::PolicyFailed, "away")
        .failed_with("d", FailureKind::ContextFailed, "down")
        .warned("c", &Warning::SymptomWithoutCause)
        .warned("c", &Warning::Uncited)
        .stopped(StopReason::BudgetExhausted { which: BudgetKind::Hops })
        .frontier([]);
    // Ledgers alone and controllers can be asserted on, too.
    assert_that(run.ledger()).failed("b").is_intact();
    assert_that(&run.machine).failed("d").confidence(Confidence::Inconclusive);
}

/// One failing assertion, and what its message must hold and must not hold.
type Failing = (&'static str, fn(&Finished), &'static [&'static str], &'static [&'static str]);

const ALL_OF_S4: &str = "#3 S4 visit 1 (Claim #2): origin";

#[rustfmt::skip]
const FAILING: &[Failing] = &[
    ("evaluated", |run| _ = assert_that(run).evaluated(["S2", "S4"]),
        &["evaluations should be S2 S4, but are S2 S3 S4 S3", ALL_OF_S4, "#0 opened:", "#9 S1"], &[]),
    ("not_evaluated", |run| _ = assert_that(run).not_evaluated("S1"),
        &["S1 should be evaluated 0 times, but was 2 times", "#9 S1"], &["#1 S2"]),
    ("evaluated_times", |run| _ = assert_that(run).evaluated_times("S5", 1),
        &["S5 should be evaluated 1 times, but was 0 times", "#0 opened"], &[]),
    ("ends_with_label", |run| _ = assert_that(run).ends_with_label("S4", Label::Origin),
        &["S4 should end as origin, but is symptom", ALL_OF_S4, "#6 S4 visit 2"], &["#1 S2"]),
    ("ends_with_label of none", |run| _ = assert_that(run).ends_with_label("S5", Label::Origin),
        &["S5 should end as origin, but was never evaluated"], &[]),
    ("revised", |run| _ = assert_that(run).revised("S4", Label::Symptom, Label::Origin),
        &["S4 should be revised from symptom to origin, but its labels are [origin, symptom]"], &["#1 S2"]),
    ("claims", |run| _ = assert_that(run).claims("S4", "S3"),
        &["S4 → S3 should be live, but the live claims are [S1 → S2, S2 → S3, S3 → S4]", ALL_OF_S4], &["#9 S1"]),
    ("does_not_claim", |run| _ = assert_that(run).does_not_claim("S1", "S2"),
        &["S1 → S2 should not be live", "#9 S1", "#8 S2"], &[ALL_OF_S4]),
    ("discovered what is declared", |run| _ = assert_that(run).discovered("S3", "S4"),
        &["S3 and S4 should be discovered as joined, but a declared edge joins them already"], &[]),
    ("discovered what no entity claims", |run| _ = assert_that(run).discovered("S1", "S4"),
        &["but no claim joins them"], &[]),
    ("refused", |run| _ = assert_that(run).refused("S4", &Refusal::OriginWithoutLocalEvidence),
        &["on S4, OriginWithoutLocalEvidence should be refused, but are []", ALL_OF_S4], &[]),
    ("warned", |run| _ = assert_that(run).warned("S4", &Warning::Uncited),
        &["S4 should have the warning Uncited, but has []"], &[]),
    ("failed", |run| _ = assert_that(run).failed("S4"),
        &["an evaluation of S4 should fail, but none did", ALL_OF_S4], &[]),
    ("failed_with", |run| _ = assert_that(run).failed_with("S4", FailureKind::PolicyFailed, "x"),
        &["should fail with PolicyFailed and \"x\", but the failures are []"], &[]),
    ("frontier", |run| _ = assert_that(run).frontier(["S4", "S1"]),
        &["the frontier should be [S1, S4], but is [S1]", "#0 opened"], &[]),
    ("confidence", |run| _ = assert_that(run).confidence(Confidence::Confirmed),
        &["the confidence should be confirmed, but is likely (doubts: ["], &[]),
    ("stopped", |run| _ = assert_that(run).stopped(StopReason::Cancelled),
        &["the run should end with Cancelled, but ended with Converged"], &[]),
];

#[test]
fn assertions_fail_with_the_lines_they_are_about() {
    let run = flash_sale();
    for (name, assertion, present, absent) in FAILING {
        let message = failure_of(|| assertion(&run)).unwrap_or_else(|| panic!("{name} held"));
        for fragment in *present {
            assert!(message.contains(fragment), "{name} should say {fragment:?}:\n{message}");
        }
        for fragment in *absent {
            assert!(!message.contains(fragment), "{name} should not say {fragment:?}:\n{message}");
        }
    }
}

#[test]
fn a_run_that_did_not_converge_and_a_wrong_failure_are_reported() {
    let run = troubled();
    let message = failure_of(|| _ = assert_that(&run).converged()).expect("it ran out of hops");
    assert!(message.contains("the run should converge, but ended with BudgetExhausted"));
    let wrong = || _ = assert_that(&run).failed_with("b", FailureKind::PolicyTimedOut, "away");
    let message = failure_of(wrong).expect("it failed otherwise");
    assert!(message.contains("[(PolicyFailed, \"the model is away\")]"), "{message}");
}

#[test]
fn an_empty_ledger_is_not_intact() {
    let message = failure_of(|| _ = assert_that(&Ledger::default()).is_intact());
    assert!(message.is_some_and(|message| message.contains("should begin with its input")));
}

#[test]
fn ledgers_read_as_one_line_per_entry() {
    let expected = "\
#0 opened: 5 entities, 0 edges, 0 alerts, starts at a, b, c, d, e
#1 a visit 1 (Seed #0): defer \"sure\" | changed: first | refused ClaimOnItself(ClaimEdge { cause: \"a\", effect: \"a\" }), OriginWithoutLocalEvidence | warned Uncited
#2 b visit 1 (Seed #0): defer \"not evaluated: no decision could be had\" | failed: \"no decision: the model is away\"
#3 c visit 1 (Seed #0): symptom \"line one\\nline two\" | changed: first | warned Uncited, SymptomWithoutCause
#4 d visit 1 (Seed #0): defer \"not evaluated: no context could be had\" | failed: \"no context: store is down\"
";
    assert_eq!(render(troubled().ledger()), expected);
}

/// What a failing assertion says.
fn failure_of(assertion: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(assertion)).err()?;
    panic.downcast_ref::<String>().cloned()
}
