//! The examples run, and print what they should. Tests inside an example run here, too.

use eog::Label;
use eog_testkit::assert_that;

macro_rules! examples {
    ($($path:literal $name:ident),*) => {$(
        #[path = $path]
        #[expect(dead_code, reason = "a test has no use for the main function")]
        mod $name;
    )*};
}

examples!(
    "../examples/embedding.rs" embedding,
    "../examples/custom_policy.rs" custom_policy,
    "../examples/custom_context.rs" custom_context,
    "../examples/unit_test_policy.rs" unit_test_policy
);

#[tokio::test]
async fn embedding_finds_the_smaller_pool() {
    let report = embedding::investigate().await.expect("it runs");
    let expected = "\
confidence: likely
origin: db: pool.size was changed from 50 to 5
evaluations: 4
";
    assert_eq!(report, expected);
}

#[tokio::test]
async fn a_custom_policy_revises_itself() {
    assert_that(&custom_policy::investigate().await)
        .evaluated(["web", "db", "web", "db", "web"])
        .revised("db", Label::Origin, Label::Symptom)
        .claims("web", "db")
        .frontier(["web"])
        .converged()
        .is_intact();
}

#[tokio::test]
async fn a_custom_context_bears_a_source_that_fails() {
    let report = custom_context::investigate().await.expect("it runs");
    let expected = "\
belt: symptom: belt suffers from filler
capper: symptom: capper suffers from belt
filler: origin: filler its own evidence explains the incident
scale: defer: not evaluated: no context could be had
origins: [\"filler\"]
";
    assert_eq!(report, expected);
}

#[test]
fn a_policy_can_be_asked_alone() {
    assert_eq!(unit_test_policy::show().expect("it answers"), "api: symptom (1 claims)\n");
}
