//! A controller restored from any part of its ledger goes on as if nothing had happened.

use std::sync::Arc;

use eog_core::controller::EntryBody;
use eog_core::ledger::{ForkChanges, ForkError, Forked, RecordedAnswer, RestoreError};
use eog_core::{Budget, Case, Config, Controller, Digest, Entry, Ledger};
use proptest::prelude::*;

use super::cases;
use super::determinism::{configs, course_of, observations};
use super::drive::{Course, go_on, run, run_on};
use eog_testkit::prop::worlds;

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
    fn a_fork_shares_what_was_and_then_goes_its_own_way(
        world in worlds(true),
        config in configs(),
        at in any::<prop::sample::Index>(),
        hops in 0..12u64,
        another_policy in any::<bool>(),
    ) {
        let (parent, _) = run(&config, &world.case, &mut &world, LIMIT);
        let parent = parent.ledger();
        let at = at.index(parent.entries().len()) as u64;
        let budget = Budget::hops(hops);
        let changed = Config { budget, decision_memory: true, ..config.clone() };
        let changes = ForkChanges {
            policy: another_policy.then(|| "another".to_owned()),
            config: Some(changed),
            case_file: another_policy.then(Arc::default),
        };
        let fork = Controller::fork(parent, at, changes.clone()).expect("it follows");
        let (fork, stop) = go_on(fork, &mut &world, LIMIT, &Course::default());
        let entries = fork.ledger().entries();
        prop_assert_eq!(&entries[..=at as usize], &parent.entries()[..=at as usize]);
        let forked = EntryBody::Forked(Box::new(Forked { parent: parent.head(), changes }));
        prop_assert_eq!(&entries[at as usize + 1].body, &forked);
        for later in entries.iter().skip(at as usize + 1).filter_map(|entry| entry.evaluation()) {
            if let RecordedAnswer::Remembered { entry } = later.answer {
                prop_assert!(!another_policy || entry > at, "another policy's decision is taken");
            }
        }
        let made = fork.ledger().evaluations().filter(|e| {
            !matches!(e.answer, RecordedAnswer::Remembered { .. })
        }).count() as u64;
        let copied = parent.before(at + 1).evaluations().filter(|e| {
            !matches!(e.answer, RecordedAnswer::Remembered { .. })
        }).count() as u64;
        prop_assert!(made <= copied.max(hops), "{made} calls with {hops} hops");

        let restored = Controller::restore(fork.ledger()).expect("it follows");
        let (restored, again) = go_on(restored, &mut &world, LIMIT, &Course::default());
        prop_assert_eq!(restored.ledger(), fork.ledger());
        prop_assert_eq!(again, stop);
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
        let error = Controller::restore(&forged).expect_err("no entity flipped");
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
fn nothing_is_forked_where_nothing_is() {
    let changes = ForkChanges::default();
    let nothing = Controller::fork(&Ledger::default(), 0, changes.clone()).err();
    assert_eq!(nothing, Some(ForkError::Restore(RestoreError::NotOpened)));
    let window = "2026-01-01T10:00:00Z"
        .parse()
        .and_then(|start| Ok((start, "2026-01-01T11:00:00Z".parse::<eog_core::Timestamp>()?)));
    let (start, end) = window.expect("two times");
    let window = eog_core::Window::new(start, end).expect("a window");
    let case = Case::from_anomalies(eog_core::Topology::default(), window, Vec::new());
    let parent = Controller::new(Config::default(), case);
    let beyond = Controller::fork(parent.ledger(), 3, changes).err();
    assert_eq!(beyond, Some(ForkError::NoSuchEntry { at: 3, last: 0 }));
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
            eog_core::Output::Ask { ticket, question: eog_core::machine::Inquiry::Context(_) } => {
                eog_core::Input::context(ticket, eog_core::LocalContext::default())
            }
            eog_core::Output::Ask { ticket, question: eog_core::machine::Inquiry::Decision(_) } => {
                eog_core::Input::decision(ticket, decision.clone(), eog_core::Usage::default())
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

#[test]
fn an_exhausted_budget_is_why_a_resumed_run_stops() {
    let window = eog_core::Window::new(
        "2026-01-01T10:00:00Z".parse().expect("a time"),
        "2026-01-01T11:00:00Z".parse().expect("a time"),
    );
    let mut case =
        Case::from_anomalies(eog_core::Topology::default(), window.expect("a window"), Vec::new());
    let entity = eog_core::EntityId::new("a").expect("a name");
    case.seeds.push(eog_core::Seed { entity, reason: "a hunch".to_owned() });
    let budget = Budget { tokens: Some(10), ..Budget::default() };
    let mut controller = Controller::new(Config { budget, ..Config::default() }, case);
    let usage = eog_core::Usage { tokens_in: 10, ..eog_core::Usage::default() };
    for input in [eog_core::Input::Cancel, eog_core::Input::Spent(usage), eog_core::Input::Resume] {
        controller.handle(input).expect("it fits");
    }
    let eog_core::Output::Append(entry) = controller.poll() else { panic!("entry 0 is due") };
    controller.handle(eog_core::Input::Appended(entry.seq)).expect("it was handed out");
    let which = eog_core::BudgetKind::Tokens;
    let stop = eog_core::StopReason::BudgetExhausted { which };
    assert_eq!(controller.poll(), eog_core::Output::Done(stop));
}
