//! The simulator can fail: it finds defects that are planted in supersession, commit order and
//! durability, by its ordinary run alone.

use eog::planted::{PlantedFault, plant};
use eog_testkit::sim::{Violation, mute_drawn_panics, simulate};

/// A defect must be found within so many seeds. Without it, all of these are clean.
const SEEDS: u64 = 40;

/// After how many seeds the defect is found, and how.
fn found(fault: PlantedFault) -> (u64, Violation) {
    mute_drawn_panics();
    let _planted = plant(fault);
    let mut tried = 0;
    let violation = (0..SEEDS).find_map(|seed| {
        tried += 1;
        simulate(seed).err()
    });
    let violation = violation.unwrap_or_else(|| panic!("{fault:?} is not found in {SEEDS} seeds"));
    println!("{fault:?} is found after {tried} seeds:\n{violation}");
    (tried, *violation)
}

#[test]
fn without_a_planted_defect_these_seeds_are_clean() {
    mute_drawn_panics();
    for seed in 0..SEEDS {
        simulate(seed).unwrap_or_else(|violation| panic!("{violation}"));
    }
}

#[test]
fn claims_that_are_not_superseded_are_found() {
    let (_, violation) = found(PlantedFault::KeepsClaims);
    assert_eq!(violation.invariant, "claims_follow_the_ledger");
}

#[test]
fn an_evaluation_that_overtakes_another_is_found() {
    let (_, violation) = found(PlantedFault::Overtakes);
    assert_eq!(violation.invariant, "commits_in_dispatch_order");
}

#[test]
fn entries_that_are_stored_late_are_found() {
    let (_, violation) = found(PlantedFault::StoresLate);
    assert_eq!(violation.invariant, "nothing_acknowledged_is_lost");
}
