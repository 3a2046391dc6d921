//! Same input, same bytes: twice, under any order of answers, and through the file format.

use std::num::NonZeroU32;

use eog_core::controller::{Concurrency, EntryBody, Order, Wake};
use eog_core::ledger::{LedgerError, Observation, is_harmful};
use eog_core::machine::Inquiry;
use eog_core::{Case, Config, Controller, EntityId, Input, Ledger, Output, Seed, Topology, Window};
use proptest::prelude::*;

use super::cases;
use super::drive::{Course, run, run_on};
use eog_testkit::prop::parts::{anomaly, name, topology, window};
use eog_testkit::prop::{World, worlds};

const LIMIT: u64 = 2_000;

/// Observations about the entities of small worlds.
pub(crate) fn observations() -> impl Strategy<Value = Observation> {
    (0..5u8, 0..7usize, 0..7usize).prop_map(|(kind, a, b)| {
        let edge = eog_core::incident::Edge {
            source: name(a),
            target: name(b),
            relation: "calls".to_owned(),
            effects: eog_core::incident::EffectDirection::Both,
        };
        match kind {
            0 => Observation::Anomaly(anomaly(name(a), 20)),
            1 | 2 => Observation::EdgeAdded(edge),
            3 => Observation::EdgeRemoved(edge),
            _ => Observation::NewEvidence(name(a)),
        }
    })
}

/// The course of a ledger: answers in dispatch order, observations where the ledger has them.
pub(crate) fn course_of(ledger: &Ledger) -> Course {
    let observed = ledger.entries().iter().filter_map(|entry| match &entry.body {
        EntryBody::Observed(observed) => Some((entry.seq, observed.observation.clone())),
        _ => None,
    });
    Course { shuffle: Vec::new(), observed: observed.collect() }
}

pub(crate) fn configs() -> impl Strategy<Value = Config> {
    let width = (1..4u32).prop_map(|width| NonZeroU32::new(width).expect("is not 0"));
    let orders = vec![Order::Fifo, Order::Priority, Order::Permuted { seed: 11 }];
    let order = prop::sample::select(orders);
    let profiles = prop::sample::select(vec![
        Config::default(),
        Config::default(),
        Config { wake: Wake::Visited, widening: None, ..Config::default() },
        Config::paper(),
    ]);
    (width, profiles, order, prop::option::of(0..15u64)).prop_map(
        |(width, profile, order, hops)| {
            let budget = eog_core::Budget { hops, ..profile.budget };
            Config { order, budget, concurrency: Concurrency::Window(width), ..profile }
        },
    )
}

fn ledger_of(world: &World, config: &Config, course: &Course) -> Ledger {
    let (controller, stop) = run_on(config, &world.case, &mut &*world, LIMIT, course);
    assert!(stop.is_some(), "still running after {LIMIT} evaluations");
    controller.ledger().clone()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn the_order_of_answers_leaves_no_trace(
        world in worlds(true),
        config in configs(),
        shuffle in prop::collection::vec(0..100usize, 1..20),
        observed in prop::collection::vec((1..12u64, observations()), 0..4),
    ) {
        let mut observed = observed;
        observed.sort_by_key(|(at, _)| *at);
        let shuffled = ledger_of(&world, &config, &Course { shuffle, observed });
        let in_order = ledger_of(&world, &config, &course_of(&shuffled));
        prop_assert_eq!(shuffled.to_json_lines(), in_order.to_json_lines());
    }

    #[test]
    fn a_ledger_survives_its_file(world in worlds(true), config in configs()) {
        let ledger = ledger_of(&world, &config, &Course::default());
        prop_assert_eq!(ledger.verify(), Ok(()));
        let text = ledger.to_json_lines();
        let again = Ledger::<EntryBody>::from_json_lines(&text);
        prop_assert_eq!(again.as_ref().map(Ledger::to_json_lines), Ok(text));
        prop_assert_eq!(again, Ok(ledger));
    }

    #[test]
    fn every_flipped_bit_is_found(
        world in worlds(true),
        positions in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 20),
    ) {
        let ledger = ledger_of(&world, &Config::default(), &Course::default());
        let text = ledger.to_json_lines();
        for (position, bit) in positions {
            let mut bytes = text.clone().into_bytes();
            let position = position.index(bytes.len());
            bytes[position] ^= 1 << bit;
            // Bytes that are no text any more cannot even be handed over.
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            let read = Ledger::<EntryBody>::from_json_lines(&changed);
            prop_assert!(read.is_err(), "bit {bit} of byte {position} was flipped unnoticed");
        }
    }

    /// With what was learnt so far the beliefs of a ledger follow from its entries alone.
    #[test]
    fn the_last_outcome_of_each_entity_is_its_belief(world in worlds(true), config in configs()) {
        let (controller, _) = run(&config, &world.case, &mut &world, LIMIT);
        for (entity, belief) in controller.beliefs() {
            let last = controller.ledger().evaluations().filter(|e| e.entity == *entity).last();
            prop_assert_eq!(last.map(|e| &e.outcome.belief), Some(belief));
        }
    }
}

/// What could move a cursor, turn text around or hide something stands as an escape; ledgers of before, which
/// have it as it is, are read all the same.
#[test]
fn the_bytes_of_a_ledger_are_harmless_to_show() {
    let harmful = "a\u{9b}2J\u{202e}b\u{7f}\u{e0041}\u{feff}\u{2028}c";
    let at = |text: &str| text.parse().unwrap();
    let window = Window::new(at("2026-01-01T10:00:00Z"), at("2026-01-01T11:00:00Z")).unwrap();
    let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
    case.seeds.push(Seed { entity: EntityId::new("cart").unwrap(), reason: harmful.to_owned() });
    let controller = Controller::new(Config::default(), case);
    let text = controller.ledger().to_json_lines();
    assert!(!text.contains(|c| is_harmful(c) && c != '\n'), "{text:?}");
    let raw = text
        .replace("\\u009b", "\u{9b}")
        .replace("\\u202e", "\u{202e}")
        .replace("\\u007f", "\u{7f}")
        .replace("\\udb40\\udc41", "\u{e0041}")
        .replace("\\ufeff", "\u{feff}")
        .replace("\\u2028", "\u{2028}");
    assert!(raw.contains(harmful), "{raw}");
    for text in [&text, &raw] {
        let again = Ledger::<EntryBody>::from_json_lines(text);
        assert_eq!(again.as_ref(), Ok(controller.ledger()));
    }
    assert!(Ledger::<EntryBody>::from_json_lines(&text.replace("cart", "c\\u0061rt")).is_err());
}

#[test]
fn a_changed_entry_is_named() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let tree = proptest::strategy::Strategy::new_tree(&worlds(false), &mut runner);
    let world = proptest::strategy::ValueTree::current(&tree.expect("worlds exist"));
    let text = ledger_of(&world, &Config::default(), &Course::default()).to_json_lines();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() > 2, "the world is too small");

    let renamed = text.replacen("\"visit\":1", "\"visit\":7", 1);
    let error = Ledger::<EntryBody>::from_json_lines(&renamed).expect_err("the chain is broken");
    assert!(matches!(error, LedgerError::BrokenChain { seq: 1, .. }), "{error}");

    let without_second = [&lines[..1], &lines[2..]].concat().join("\n");
    let error =
        Ledger::<EntryBody>::from_json_lines(&without_second).expect_err("an entry is missing");
    assert!(matches!(error, LedgerError::BrokenChain { seq: 1, .. }), "{error}");

    let spaced = text.replacen("\"seq\":1,", "\"seq\": 1,", 1);
    let error = Ledger::<EntryBody>::from_json_lines(&spaced).expect_err("the bytes differ");
    assert!(matches!(error, LedgerError::NotAnEntry { line: 2, .. }), "{error}");

    let of_the_future = text.replacen("\"format\":1", "\"format\":2", 1);
    let error =
        Ledger::<EntryBody>::from_json_lines(&of_the_future).expect_err("the format is unknown");
    assert_eq!(error, LedgerError::UnknownFormat { format: 2, reads: 1 });
}

/// Ledger before effect: nothing that follows from an entry leaves before the entry is stored.
#[test]
fn requests_wait_for_their_entry() {
    let mut case =
        eog_core::Case::from_anomalies(topology(1, &[]), window(), vec![anomaly(name(0), 5)]);
    case.seeds.truncate(1);
    let config = Config { widening: None, ..Config::default() };
    let mut controller = Controller::new(config, case);
    assert!(matches!(controller.poll(), Output::Append(entry) if entry.seq == 0));
    assert_eq!(controller.poll(), Output::Idle);
    controller.handle(Input::Appended(0)).expect("entry 0 was handed out");
    let Output::Ask { ticket, question: Inquiry::Context(_) } = controller.poll() else {
        panic!("a fetch is due")
    };
    controller
        .handle(Input::Failed(ticket, eog_core::Failure::context("gone")))
        .expect("the fetch is open");
    assert!(matches!(controller.poll(), Output::Append(entry) if entry.seq == 1));
    assert_eq!(controller.poll(), Output::Idle, "the end is reported once its entry is stored");
    controller.handle(Input::Appended(1)).expect("entry 1 was handed out");
    assert!(matches!(controller.poll(), Output::Done(_)));
}
