//! Every prefix of every ledger leads back to the search that wrote it.

use crate::common;

use common::{World, rows, seeds, wide};
use eog_core::ledger::{ForkChanges, fork, restore};
use eog_core::{Input, Machine, Output};
use eog_search::{End, Profile, SearchConfig, SearchController};

fn configs() -> Vec<SearchConfig> {
    let small = |profile: Profile| {
        let config = profile.config().with_rounds(6);
        // Goals and chains have no depth.
        config.clone().with_depth(4).unwrap_or(config)
    };
    let of = |width: u32| Profile::ALL.map(|profile| small(profile).with_width(wide(width)));
    let mut all = [of(1), of(4)].concat();
    all.push(SearchConfig::treeseeker().with_rounds(6).with_random(Some(3)).expect("goals"));
    all
}

#[test]
fn every_prefix_is_restored_and_goes_on_to_the_same_end() {
    for seed in 0..seeds(4) {
        for config in configs() {
            let world = World { highest: 1000, ..World::new(seed) };
            let whole = world.run(config, seed);
            let lines = whole.ledger().to_json_lines();
            for kept in 1..=whole.ledger().next_seq() {
                let prefix = whole.ledger().before(kept);
                let mut again: SearchController = restore(&prefix).expect("it follows");
                world.drive(&mut again, seed + kept);
                assert_eq!(again.ledger().to_json_lines(), lines, "seed {seed}, {kept} entries");
                assert_eq!(rows(&again), rows(&whole));
                assert_eq!(again.conclusion(), whole.conclusion());
                assert_eq!(again.spent(), whole.spent());
            }
        }
    }
}

#[test]
fn a_search_that_was_cancelled_or_out_of_time_goes_on_to_the_same_end() {
    for seed in 0..seeds(4) {
        for config in configs() {
            let world = World { highest: 1000, ..World::new(seed) };
            let whole = world.run(config.clone(), seed);
            for stop in [Input::Cancel, Input::Deadline] {
                let mut search = SearchController::open(config.clone(), world.case());
                let mut left = 0;
                while search.ledger().next_seq() < whole.ledger().next_seq() {
                    // Lets some questions be asked, and takes no answer to them.
                    for _ in 0..3 {
                        match search.poll() {
                            Output::Append(entry) => {
                                search.handle(Input::Appended(entry.seq)).expect("in order");
                            }
                            Output::Ask { .. } => left += 1,
                            _ => break,
                        }
                    }
                    search.handle(stop.clone()).expect("it always fits");
                    // A deadline waits for what is under way, and here that is never answered.
                    search.handle(Input::Cancel).expect("it always fits");
                    search.handle(Input::Resume).expect("it always fits");
                    world.drive(&mut search, seed + 1);
                }
                assert_eq!(search.ledger(), whole.ledger(), "seed {seed}");
                assert!(left > 0);
            }
        }
    }
}

#[test]
fn a_fork_with_more_rounds_goes_on_where_the_search_ended() {
    for seed in 0..seeds(20) {
        let world = World::new(seed);
        for profile in Profile::ALL {
            let short = profile.config().with_rounds(3);
            let ended = world.run(short.clone(), seed);
            if ended.end() != Some(End::Rounds) {
                continue;
            }
            let (last, longer) = (ended.ledger().next_seq() - 1, short.clone().with_rounds(9));
            let changes = ForkChanges { config: Some(longer.clone()), ..ForkChanges::default() };
            let mut forked: SearchController =
                fork(ended.ledger(), last, changes).expect("it is there");
            world.drive(&mut forked, seed);
            let whole = world.run(longer, seed);
            assert_eq!(rows(&forked), rows(&whole), "seed {seed}, {}", profile.name());
            assert!(restore(forked.ledger()).is_ok());
        }
    }
}
