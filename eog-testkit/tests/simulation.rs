//! A sample of the fault simulator. `just simulate` runs more.

use eog_testkit::sim::{mute_drawn_panics, simulate};

/// Seeds that the tests of planted defects do not use.
const SAMPLE: std::ops::Range<u64> = 100..140;

#[test]
fn all_invariants_hold_in_a_sample() {
    mute_drawn_panics();
    let mut interrupted = 0;
    let mut cuts = 0;
    for seed in SAMPLE {
        let summary = simulate(seed).unwrap_or_else(|violation| panic!("{violation}"));
        interrupted += summary.figures.interrupted;
        cuts += summary.figures.cuts;
    }
    assert!(interrupted > 100, "only {interrupted} processes were interrupted");
    assert!(cuts > 400, "only {cuts} journals were cut");
}

#[test]
fn equal_seeds_give_equal_simulations() {
    mute_drawn_panics();
    for seed in [7, 8] {
        let (one, again) = (simulate(seed), simulate(seed));
        assert!(one.is_ok() && one == again);
    }
}
