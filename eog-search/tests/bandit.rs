//! Ten arms, one of which is better: a search by bounds that explores as it should finds it, and one that
//! explores twice as much wastes its rounds (lapisrocks/LanguageAgentTreeSearch asks for rewards in half
//! the range that its bound is made for).

use crate::common;

use common::{ENTITIES, World};
use eog_core::{Digest, Input, Machine, Output, Usage};
use eog_search::planted::{PlantedFault, plant};
use eog_search::{Action, Answer, NodeId, Role, SearchConfig, SearchController, Verdict};

const ROUNDS: u32 = 2_000;

/// The share of the rounds that go to the best arm. Arms are the children of the root.
fn share_of_the_best(seed: u64) -> f64 {
    let world = World { failing: 0, ..World::new(0) };
    // Rewards of −1 and +1 are 0 and 1000; nothing is accepted, so that all rounds are made.
    let config = SearchConfig::lats().with_rounds(ROUNDS).with_branch(10);
    let config = config.and_then(|it| it.with_depth(20)).expect("LATS has both");
    let config = SearchConfig::new(
        config.selection(),
        config.expansion(),
        config.evaluation(),
        eog_search::Backup::Mean,
        eog_search::Pruning::None,
        eog_search::Stop { accept: 1000, rounds: config.stop().rounds },
    )
    .expect("they fit");
    let mut search = SearchController::open(config, world.case());
    let mut drawn = 0_u64;
    loop {
        let input = match search.poll() {
            Output::Append(entry) => Input::Appended(entry.seq),
            Output::Ask { ticket, question } => {
                let look = |number: u64| Action::look(World::name(number), "an arm");
                let answer = match &question.role {
                    // The root has the ten arms; below them is always something left.
                    Role::Propose(ask) if ask.path.is_empty() => {
                        Answer::Actions((0..10).map(look).collect())
                    }
                    Role::Propose(ask) => {
                        let on_the_way = |action: &Action| {
                            ask.path.iter().any(|seen| seen.action.call == action.call)
                        };
                        let others = (0..ENTITIES).map(look).filter(|action| !on_the_way(action));
                        Answer::Actions(others.take(10).collect())
                    }
                    Role::Act(_) => Answer::Action(None),
                    Role::Evaluate(ask) => {
                        drawn += 1;
                        let best = ask.path[0].action.entity() == &World::name(3);
                        let digest = Digest::of(&(seed, drawn)).to_string();
                        let draw = u64::from_str_radix(&digest[..8], 16).expect("hex") % 1000;
                        let wins = draw < if best { 700 } else { 300 };
                        let score = if wins { 999 } else { 0 };
                        Answer::Verdict(Verdict::new(score, "drawn"))
                    }
                    Role::Decide(packet) => Answer::Decision(eog_testkit::healthy(packet)),
                    _ => world.answer(&question).expect("nothing fails"),
                };
                Input::Answer(ticket, answer, Usage::default())
            }
            Output::Done(_) => break,
            Output::Idle => panic!("it is answered at once"),
        };
        search.handle(input).expect("it fits");
    }
    let arms = search.tree().nodes().filter(|node| node.id.depth() == 1);
    let visits: Vec<(NodeId, u32)> = arms.map(|arm| (arm.id, arm.visits)).collect();
    let all: u32 = visits.iter().map(|(_, visits)| visits).sum();
    f64::from(visits[3].1) / f64::from(all)
}

#[test]
fn most_rounds_go_to_the_best_arm() {
    let all = common::seeds(1);
    let mean = || (0..all).map(share_of_the_best).sum::<f64>() / all as f64;
    let share = mean();
    println!("best arm: {share:.3} of {ROUNDS} rounds");
    assert!(share >= 0.8, "{share}");
    let _planted = plant(PlantedFault::ExploresTwice);
    let twice = mean();
    println!("exploration doubled: {twice:.3}");
    assert!(twice < 0.8, "{twice}");
}
