//! Callees that callers who became slow have in common, and to which no calls were measured.

use super::*;

/// `load` and `report` take so much longer; both call `db`, and each another callee.
fn jobs([load, report]: [f64; 2]) -> World {
    World::default()
        .calls("load>db, report>db, load>files, report>mail")
        .alert("report", Signal::Latency, 15)
        .latency("load", 50.0, 50.0 + load)
        .latency("report", 80.0, 80.0 + report)
        .latency("db", 5.0, 5.0)
        .latency("files", 5.0, 5.0)
        .latency("mail", 5.0, 5.0)
}

#[test]
fn who_all_slow_callers_have_in_common_is_seen_through_them() {
    assert_eq!(jobs([200.0, 220.0]).of("load"), "own, db 100, rest 0");
    assert_eq!(jobs([200.0, 220.0]).of("report"), "own, db 100, rest 0");
    assert!(jobs([200.0, 220.0]).of("db").starts_with("own, rest 100"));
    // One of them alone is slow, or far more than the other.
    assert_eq!(jobs([0.0, 220.0]).of("report"), "own, rest 100");
    assert_eq!(jobs([10.0, 220.0]).of("report"), "own, rest 100");
    // Its calls were measured to be as usual, or it takes longer itself: then that is what counts.
    let itself = jobs([200.0, 220.0]).calls("load>cache").latency("cache", 1.0, 150.0);
    assert!(itself.of("load").contains("cache"), "{}", itself.of("load"));
    assert!(!itself.of("load").contains("db 100"), "{}", itself.of("load"));
    // A third that calls it and is as usual.
    let third = jobs([200.0, 220.0]).calls("third>db").latency("third", 40.0, 40.0);
    assert_eq!(third.of("report"), "own, rest 100");
    // Two that both have in common cannot be distinguished.
    let two = jobs([200.0, 220.0]).calls("load>lock, report>lock").latency("lock", 1.0, 1.0);
    assert_eq!(two.of("report"), "own, rest 100");
}

#[test]
fn replicas_are_one_caller_and_consumers_of_different_queues_are_not() {
    let world = |second: &str| {
        let mut world = World::default()
            .calls("first>db, second>db")
            .alert("second", Signal::Latency, 15)
            .latency("first", 50.0, 250.0)
            .latency("second", 50.0, 250.0)
            .latency("db", 5.0, 5.0);
        for (consumer, queue) in [("first", "orders"), ("second", second)] {
            world.topology.connect(&id(consumer), "consumes", &id(queue), EffectDirection::Both);
        }
        world.of("db")
    };
    assert_eq!(world("orders"), "part 0");
    assert_eq!(world("refunds"), "own, rest 100, part 100");
}
