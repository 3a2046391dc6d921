//! A checkpoint taken at any moment and the rest of the ledger lead to the controller that the whole
//! ledger leads to. A damaged one leads nowhere, or to the same.

use std::sync::Arc;

use eog_core::controller::Checkpoint;
use eog_core::ledger::{ForkChanges, Observation, RestoreError};
use eog_core::machine::Inquiry;
use eog_core::{Config, Controller, Digest, Input, Ledger, Output, Spent, Usage};
use proptest::prelude::*;

use super::cases;
use super::determinism::{configs, observations};
use super::drive::{Course, Question, go_on, run};
use eog_testkit::prop::{World, worlds};

const LIMIT: u64 = 2_000;

/// One thing that happens to a controller. Entries are stored as soon as they come.
#[derive(Clone, Debug)]
enum Step {
    /// One of the open questions is answered.
    Answer(usize),
    Observe(Observation),
    Cancel,
    Deadline,
    Resume,
    Spend(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => any::<usize>().prop_map(Step::Answer),
        3 => observations().prop_map(Step::Observe),
        1 => Just(Step::Cancel),
        1 => Just(Step::Deadline),
        3 => Just(Step::Resume),
        1 => (0..4u64).prop_map(Step::Spend),
    ];
    prop::collection::vec(step, 1..60)
}

/// As [`configs`], now and then with few tokens.
fn any_configs() -> impl Strategy<Value = Config> {
    (configs(), prop::option::weighted(0.3, 1..8u64)).prop_map(|(config, tokens)| {
        let budget = eog_core::Budget { tokens, ..config.budget };
        Config { budget, ..config }
    })
}

/// Takes every step, and a checkpoint before the first and after each, as it would be stored.
fn checkpoints(controller: &mut Controller, world: &World, steps: &[Step]) -> Vec<String> {
    let mut open: Vec<Question> = Vec::new();
    let mut taken = Vec::new();
    for step in std::iter::once(None).chain(steps.iter().map(Some)) {
        let input = match step {
            Some(Step::Answer(_)) | None if open.is_empty() => None,
            Some(Step::Answer(which)) => Some(open.remove(which % open.len()).answer(&mut &*world)),
            Some(Step::Observe(observation)) => Some(Input::Observe(observation.clone())),
            Some(Step::Cancel) => {
                open.clear();
                Some(Input::Cancel)
            }
            Some(Step::Deadline) => Some(Input::Deadline),
            Some(Step::Resume) => Some(Input::Resume),
            Some(Step::Spend(tokens_in)) => {
                Some(Input::Spent(Usage { tokens_in: *tokens_in, ..Usage::default() }))
            }
            None => None,
        };
        // Not every observation fits, and one that does not changes nothing.
        let _ = input.map(|input| controller.handle(input));
        taken.extend(controller.checkpoint().map(|taken| written(&taken)));
        loop {
            match controller.poll() {
                Output::Append(entry) => {
                    controller.handle(Input::Appended(entry.seq)).expect("it was handed out");
                }
                Output::Ask { ticket, question: Inquiry::Context(request) } => {
                    open.push(Question::Context(ticket, request));
                }
                Output::Ask { ticket, question: Inquiry::Decision(packet) } => {
                    open.push(Question::Decision(ticket, packet));
                }
                _ => break,
            }
        }
    }
    taken
}

fn written(checkpoint: &Checkpoint) -> String {
    serde_json::to_string(checkpoint).expect("a checkpoint is JSON")
}

fn read(text: &str) -> Checkpoint {
    serde_json::from_str(text).expect("it was written")
}

/// All that can be asked of a controller without changing it.
fn seen_from_outside(controller: &Controller) -> String {
    let seen_from_outside = (
        controller.checkpoint().expect("nothing is cancelled"),
        controller.conclusion(),
        controller.spent(),
        controller.ledger(),
        controller.config(),
        controller.topology(),
        controller.anomalies(),
        controller.live_claims(),
        controller.active().collect::<Vec<_>>(),
        controller.in_flight(),
    );
    format!("{seen_from_outside:?}")
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn taken_at_any_moment_they_lead_where_the_ledger_does(
        world in worlds(true),
        config in any_configs(),
        steps in steps(),
        part in any::<prop::sample::Index>(),
    ) {
        let mut live = Controller::new(config, world.case.clone());
        let taken = checkpoints(&mut live, &world, &steps);
        let whole = live.ledger();
        let restored = Controller::restore(whole).expect("it follows");
        let mut before = None;
        for text in &taken {
            let checkpoint = read(text);
            prop_assert_eq!(&written(&checkpoint), text);
            prop_assert_eq!(Some(checkpoint.head()), {
                let last = checkpoint.entries() as usize - 1;
                whole.entries().get(last).map(|last| last.hash)
            });
            let again = Controller::restore_from(&checkpoint, whole).expect("it follows");
            prop_assert_eq!(seen_from_outside(&again), seen_from_outside(&restored));
            // One that ends with the ledger, and one with an arbitrary rest.
            let rest = part.index(whole.entries().len() + 1 - checkpoint.entries() as usize);
            for end in [checkpoint.entries(), checkpoint.entries() + rest as u64] {
                let part = whole.before(end);
                if before != Some((checkpoint.entries(), end)) {
                    let fresh = Controller::restore(&part).expect("it follows");
                    let again = Controller::restore_from(&checkpoint, &part).expect("it follows");
                    prop_assert_eq!(seen_from_outside(&again), seen_from_outside(&fresh));
                }
                before = Some((checkpoint.entries(), end));
            }
        }
        let spent = Spent { usage: Usage::default(), ..live.spent() };
        prop_assert_eq!(restored.spent(), spent);
    }

    #[test]
    fn going_on_from_one_comes_to_the_same_end(
        world in worlds(true),
        config in configs(),
        steps in steps(),
        which in any::<prop::sample::Index>(),
    ) {
        // Without halts the live controller itself is what a ledger leads to.
        let steps: Vec<Step> = steps
            .into_iter()
            .filter(|step| matches!(step, Step::Answer(_) | Step::Observe(_)))
            .collect();
        let mut live = Controller::new(config, world.case.clone());
        let taken = checkpoints(&mut live, &world, &steps);
        let checkpoint = read(&taken[which.index(taken.len())]);
        let restored = Controller::restore(live.ledger()).expect("it follows");
        let (whole, stop) = go_on(restored, &mut &world, LIMIT, &Course::default());
        let again = Controller::restore_from(&checkpoint, live.ledger()).expect("it follows");
        prop_assert_eq!(seen_from_outside(&again), seen_from_outside(&live));
        let (again, again_stop) = go_on(again, &mut &world, LIMIT, &Course::default());
        prop_assert_eq!(again.ledger().to_json_lines(), whole.ledger().to_json_lines());
        prop_assert_eq!(again_stop, stop);
        prop_assert_eq!(again.spent(), whole.spent());
        prop_assert_eq!(again.conclusion(), whole.conclusion());
    }

    #[test]
    fn a_fork_has_its_own(
        world in worlds(true),
        config in any_configs(),
        other in any_configs(),
        another_policy in any::<bool>(),
        at in any::<prop::sample::Index>(),
        steps in steps(),
    ) {
        let (parent, _) = run(&config, &world.case, &mut &world, LIMIT);
        let at = at.index(parent.ledger().entries().len()) as u64;
        let policy = another_policy.then(|| "another".to_owned());
        let case_file = another_policy.then(Arc::default);
        let changes = ForkChanges { policy, config: Some(other), case_file };
        let mut fork = Controller::fork(parent.ledger(), at, changes).expect("it follows");
        let taken = checkpoints(&mut fork, &world, &steps);
        let fresh = Controller::restore(fork.ledger()).expect("it follows");
        for text in taken.iter().step_by(3) {
            let again = Controller::restore_from(&read(text), fork.ledger()).expect("it follows");
            prop_assert_eq!(seen_from_outside(&again), seen_from_outside(&fresh));
        }
        let parents = parent.checkpoint().expect("nothing is cancelled");
        match Controller::restore_from(&parents, fork.ledger()) {
            Ok(again) => {
                prop_assert_eq!(parents.entries(), at + 1, "more than they share");
                prop_assert_eq!(seen_from_outside(&again), seen_from_outside(&fresh));
            }
            Err(error) => {
                prop_assert!(matches!(error, RestoreError::OtherLedger { .. }), "{error}");
                prop_assert!(parents.entries() > at + 1);
            }
        }
    }

    #[test]
    fn flipped_bits_are_found(
        world in worlds(true),
        config in configs(),
        steps in steps(),
        positions in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 60),
    ) {
        let mut live = Controller::new(config, world.case.clone());
        let taken = checkpoints(&mut live, &world, &steps);
        let text = taken.last().expect("one is taken before the first step");
        let whole = seen_from_outside(&Controller::restore(live.ledger()).expect("it follows"));
        for (position, bit) in positions {
            let mut bytes = text.clone().into_bytes();
            let position = position.index(bytes.len());
            bytes[position] ^= 1 << bit;
            let Ok(checkpoint) = serde_json::from_slice::<Checkpoint>(&bytes) else { continue };
            if let Ok(again) = Controller::restore_from(&checkpoint, live.ledger()) {
                prop_assert_eq!(seen_from_outside(&again), whole.clone(), "bit {} of {}", bit, position);
            }
        }
    }

    /// With other numbers and a digest that fits them: it may lead elsewhere, but to no panic.
    #[test]
    fn forged_ones_do_no_harm(
        world in worlds(true),
        config in configs(),
        steps in steps(),
        which in any::<prop::sample::Index>(),
        forgeries in prop::collection::vec((any::<prop::sample::Index>(), forged_words()), 40),
    ) {
        let mut live = Controller::new(config, world.case.clone());
        let taken = checkpoints(&mut live, &world, &steps);
        let text = &taken[which.index(taken.len())];
        for (place, word) in forgeries {
            let Some(forged) = forge(text, place, &word) else { continue };
            let Ok(checkpoint) = serde_json::from_str::<Checkpoint>(&forged) else { continue };
            let end = checkpoint.entries();
            for ledger in [live.ledger().clone(), live.ledger().before(end)] {
                match Controller::restore_from(&checkpoint, &ledger) {
                    Ok(again) => {
                        let mut again = again;
                        again.handle(Input::Resume).expect("always fits");
                        let _ = go_on(again, &mut &world, 50, &Course::default());
                    }
                    Err(error) => prop_assert!(
                        matches!(
                            error,
                            RestoreError::DamagedCheckpoint { .. } | RestoreError::Differs { .. }
                        ),
                        "the digest should fit: {}", error
                    ),
                }
            }
        }
    }
}

fn forged_words() -> impl Strategy<Value = String> {
    let number = prop_oneof![0..9u64, Just(u64::from(u32::MAX)), Just(u64::MAX)];
    let words = prop::sample::select(vec!["true", "false", "null", "\"deadline\""]);
    prop_oneof![5 => number.prop_map(|number| number.to_string()), 1 => words.prop_map(str::to_owned)]
}

/// The text with one number or word of its state replaced, and a digest that fits. None where that
/// place holds neither.
fn forge(text: &str, place: prop::sample::Index, word: &str) -> Option<String> {
    let (begin, state) = text.split_once("\"state\":")?;
    let state = state.strip_suffix('}')?;
    let is_delimiter = |c: char| matches!(c, '[' | ']' | '{' | '}' | ':' | ',');
    let mut places = Vec::new();
    let mut at = 0;
    for part in state.split(is_delimiter) {
        let is_word = part.parse::<u64>().is_ok() || matches!(part, "true" | "false" | "null");
        if is_word {
            places.push(at..at + part.len());
        }
        at += part.len() + 1;
    }
    if places.is_empty() {
        return None;
    }
    let mut state = state.to_owned();
    state.replace_range(places[place.index(places.len())].clone(), word);
    let checkpoint = read(text);
    let sealed = format!("[2,{},\"{}\",{state}]", checkpoint.entries(), checkpoint.head());
    let digest = blake3::hash(sealed.as_bytes()).to_hex();
    let (before, _) = begin.split_once("\"digest\":")?;
    Some(format!("{before}\"digest\":\"{digest}\",\"state\":{state}}}"))
}

fn of_a_run() -> (String, Ledger) {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let tree = worlds(false).new_tree(&mut runner).expect("worlds exist");
    let world = proptest::strategy::ValueTree::current(&tree);
    let (controller, _) = run(&Config::default(), &world.case, &mut &world, LIMIT);
    let checkpoint = controller.checkpoint().expect("nothing is cancelled");
    assert!(controller.ledger().entries().len() > 2, "the world is too small");
    (written(&checkpoint), controller.ledger().clone())
}

#[test]
fn what_does_not_fit_is_named() {
    let (text, ledger) = of_a_run();
    let refused = |text: &str, ledger: &Ledger| {
        Controller::restore_from(&read(text), ledger).expect_err("it does not fit").to_string()
    };
    let of_the_future = refused(&text.replacen("\"format\":2", "\"format\":3", 1), &ledger);
    assert!(of_the_future.contains("format 3, but this program reads format 2"), "{of_the_future}");
    let shorter = ledger.before(ledger.next_seq() - 1);
    let longer = refused(&text, &shorter);
    assert!(longer.contains("the ledger has no entry there"), "{longer}");
    let nothing = refused(&text, &Ledger::default());
    assert!(nothing.contains("the ledger has no entry there"), "{nothing}");
    let other =
        refused(&text.replacen(&ledger.head().to_string(), &Digest::ZERO.to_string(), 1), &ledger);
    assert!(other.contains("restore from the ledger alone"), "{other}");
    let damaged = refused(&text.replacen("\"visits\":5", "\"visits\":4", 1), &ledger);
    assert!(damaged.contains("damaged: its digest is"), "{damaged}");
}

/// A forgery with a digest that fits is refused for what it says.
#[test]
fn forgeries_are_made_well() {
    let (text, ledger) = of_a_run();
    let mut reasons = std::collections::BTreeSet::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..200 {
        let tree = any::<prop::sample::Index>().new_tree(&mut runner).expect("indices exist");
        let place = proptest::strategy::ValueTree::current(&tree);
        let forged = forge(&text, place, &u32::MAX.to_string()).expect("there are numbers");
        let Ok(checkpoint) = serde_json::from_str::<Checkpoint>(&forged) else { continue };
        match Controller::restore_from(&checkpoint, &ledger) {
            Err(RestoreError::DamagedCheckpoint { reason }) => {
                assert!(!reason.contains("digest"), "{reason}");
                reasons.insert(reason);
            }
            other => panic!("it was forged: {:?}", other.err()),
        }
    }
    assert!(reasons.len() > 3, "{reasons:?}");
}
