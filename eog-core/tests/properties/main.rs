//! Properties of the controller, over random graphs with cycles and self-loops and over random and
//! adversarial policies. `PROPTEST_CASES` scales the number of cases.

mod checkpoints;
mod contract;
mod determinism;
mod drive;
mod frontier;
mod machine;
mod matches_reference;
mod reference;
mod restoring;
mod termination;

/// The number of cases: `share` percent of what `PROPTEST_CASES` asks for, 256 if it says nothing.
fn cases(share: u32) -> proptest::test_runner::Config {
    let config = proptest::test_runner::Config::default();
    let cases = (config.cases * share).div_ceil(100);
    proptest::test_runner::Config { cases, failure_persistence: None, ..config }
}
