//! A controller restored from any part of its ledger goes on as if nothing had happened.

use eog_core::{
    Case, Config, Controller, Digest, Entry, EntryBody, Ledger, RecordedAnswer, RestoreError,
};
use proptest::prelude::*;

use super::cases;
use super::determinism::{configs, course_of, observations};
use super::drive::{Course, go_on, run, run_on};
use super::world::worlds;

const LIMIT: u64 = 2_000;

/// The first entries of a ledger, read back from their lines.
fn first(ledger: &Ledger, entries: usize) -> Ledger {
    let lines: Vec<String> =
        ledger.to_json_lines().lines().take(entries).map(|line| format!("{line}\n")).collect();
    Ledger::from_json_lines(&lines.concat()).expect("a part of a ledger is a ledger")
}

/// A ledger with another body in one place, chained anew from there on.
fn rewritten(ledger: &Ledger, place: usize, change: impl Fn(&mut EntryBody)) -> Ledger {
    let mut previous = Digest::ZERO;
    let mut lines = String::new();
    for (number, entry) in ledger.entries().iter().enumerate() {
        let mut entry = Entry::clone(entry);
        if number == place {
            change(&mut entry.body);
        }
        entry.previous = previous;
        entry.hash = Digest::of(&(entry.seq, previous, &entry.body));
        previous = entry.hash;
        lines += &(serde_json::to_string(&entry).expect("entries are JSON") + "\n");
    }
    Ledger::from_json_lines(&lines).expect("the chain is whole")
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn any_part_and_the_rest_are_the_whole(
        world in worlds(true),
        config in configs(),
        part in any::<prop::sample::Index>(),
        observed in prop::collection::vec((1..12u64, observations()), 0..3),
    ) {
        let course = Course { shuffle: Vec::new(), observed };
        let (whole, stop) = run_on(&config, &world.case, &mut &world, LIMIT, &course);
        let ledger = whole.ledger();
        let part = part.index(ledger.entries().len()) + 1;

        let restored = Controller::restore(&first(ledger, part)).expect("it follows");
        prop_assert_eq!(restored.ledger(), &first(ledger, part));
        let mut rest = course_of(ledger);
        rest.observed.retain(|(at, _)| *at >= part as u64);
        // What was observed at the very end of the part comes before anything else.
        let mut restored = restored;
        while rest.observed.first().is_some_and(|(at, _)| *at <= restored.ledger().next_seq()) {
            let (_, observation) = rest.observed.remove(0);
            restored.handle(eog_core::Input::Observe(observation)).expect("it was recorded");
        }
        let (resumed, resumed_stop) = go_on(restored, &mut &world, LIMIT, &rest);
        prop_assert_eq!(resumed.ledger(), ledger);
        prop_assert_eq!(resumed_stop, stop);
        prop_assert_eq!(resumed.conclusion(), whole.conclusion());
        prop_assert_eq!(resumed.spent(), whole.spent());
    }

    #[test]
    fn what_does_not_follow_is_named(
        world in worlds(true),
        place in any::<prop::sample::Index>(),
    ) {
        let (controller, _) = run(&Config::default(), &world.case, &mut &world, LIMIT);
        let ledger = controller.ledger();
        prop_assume!(ledger.entries().len() > 1);
        let place = place.index(ledger.entries().len() - 1) + 1;
        let forged = rewritten(ledger, place, |body| {
            if let EntryBody::Evaluated(evaluation) = body {
                evaluation.outcome.flips += 1;
            }
        });
        let error = Controller::restore(&forged).expect_err("nobody flipped");
        prop_assert!(
            matches!(&error, RestoreError::Differs { seq, .. } if *seq == place as u64),
            "{}", error
        );
    }
}

#[test]
fn a_ledger_of_another_run_is_no_ledger() {
    assert_eq!(Controller::restore(&Ledger::default()).err(), Some(RestoreError::NotOpened));
}

#[test]
fn a_forged_answer_from_memory_is_found() {
    let window = eog_core::Window::new(
        "2026-01-01T10:00:00Z".parse().expect("a time"),
        "2026-01-01T11:00:00Z".parse().expect("a time"),
    );
    let mut case =
        Case::from_anomalies(eog_core::Topology::default(), window.expect("a window"), Vec::new());
    let entity = eog_core::EntityId::new("a").expect("a name");
    case.seeds.push(eog_core::Seed { entity, reason: "a hunch".to_owned() });
    let decision = eog_core::Decision::new(eog_core::Label::Healthy, "fine");
    let mut controller = Controller::new(Config::default(), case);
    loop {
        let input = match controller.poll() {
            eog_core::Output::Append(entry) => eog_core::Input::Appended(entry.seq),
            eog_core::Output::Fetch { ticket, .. } => {
                eog_core::Input::Context(ticket, eog_core::LocalContext::default())
            }
            eog_core::Output::Decide { ticket, .. } => {
                eog_core::Input::Decision(ticket, decision.clone(), eog_core::Usage::default())
            }
            _ => break,
        };
        controller.handle(input).expect("it was asked");
    }
    let forged = rewritten(controller.ledger(), 1, |body| {
        if let EntryBody::Evaluated(evaluation) = body {
            evaluation.answer = RecordedAnswer::Remembered { entry: 0 };
        }
    });
    let error = Controller::restore(&forged).expect_err("nothing is remembered yet").to_string();
    assert!(error.contains("entry 1") && error.contains("answer from memory"), "{error}");
}
