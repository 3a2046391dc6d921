//! What replicas have alike, and what one of them has.

use super::*;

/// `web` calls `app`, which runs as three instances that all call `db`. Each number is how long requests of an instance
/// take in the end, of 100 ms before.
fn app(instances: [f64; 3]) -> World {
    let mean = instances.iter().sum::<f64>() / 3.0;
    let mut world = World::default()
        .calls("web>app, a>db, b>db, c>db")
        .alert("app", Signal::Latency, 15)
        .latency("app", 100.0, mean)
        .requests("app", 150.0)
        .latency("db", 10.0, 10.0)
        .requests("db", 150.0);
    for (name, after) in ["a", "b", "c"].into_iter().zip(instances) {
        let both = EffectDirection::Both;
        world.topology.connect(&id("app"), "runs_as", &id(name), both);
        world = world.latency(name, 100.0, after).requests(name, 50.0);
    }
    world
}

#[test]
fn what_all_replicas_have_alike_is_none_of_theirs() {
    let alike = app([300.0, 310.0, 290.0]);
    assert_eq!(alike.of("app"), "own, rest 100");
    // The account of the whole covers all of it; no rest is left to the replica.
    assert_eq!(alike.of("a"), "own, app 100, part 33");
}

#[test]
fn what_one_replica_has_is_its_own() {
    let uneven = app([700.0, 100.0, 100.0]);
    assert_eq!(uneven.of("app"), "own, a 100, rest 0");
    assert_eq!(uneven.of("a"), "own, rest 100, app 0, part 100");
    assert_eq!(uneven.of("b"), "part 0");
    // Nor is it of what the others rest on as well, measured or not.
    let mut unmeasured = app([700.0, 100.0, 100.0]);
    unmeasured.series.remove(&id("db"));
    assert_eq!(unmeasured.of("a"), "own, rest 100, app 0, part 100");
    // It can be the cause of what all of them have, so nothing is noted.
    let mut all = app([700.0, 700.0, 700.0]);
    all.series.remove(&id("db"));
    assert_eq!(all.of("app"), "");
}

#[test]
fn replicas_without_callees_share_the_work_as_well() {
    let mut world = World::default()
        .calls("web>app")
        .alert("app", Signal::Latency, 15)
        .latency("app", 100.0, 300.0)
        .requests("app", 150.0)
        .influences("node>app");
    for (name, after) in [("a", 700.0), ("b", 100.0), ("c", 100.0)] {
        world.topology.connect(&id("app"), "runs_as", &id(name), EffectDirection::Both);
        world = world.latency(name, 100.0, after).requests(name, 50.0);
    }
    assert_eq!(world.of("a"), "own, rest 100, app 0, part 100");
    assert_eq!(world.of("b"), "part 0");
}

#[test]
fn what_bears_an_entity_that_does_well_does_not_hold_the_rest() {
    let on_a_node = || {
        World::default()
            .calls("web>app, web>other")
            .influences("node>app")
            .influences("node>other")
            .alert("app", Signal::Latency, 15)
            .latency("app", 100.0, 300.0)
            .requests("app", 150.0)
            .requests("other", 150.0)
    };
    assert_eq!(on_a_node().of("app"), "", "the node is not known");
    assert_eq!(on_a_node().latency("other", 100.0, 300.0).of("app"), "", "so is it there");
    assert_eq!(on_a_node().latency("other", 100.0, 100.0).of("app"), "own, rest 100");
    // What is measured speaks for itself.
    let full = on_a_node().latency("other", 100.0, 100.0);
    let full = full.measured("node", Signal::Saturation, 0.2, shifted(0.2, 1.0));
    assert_eq!(full.of("app"), "");
}

#[test]
fn a_change_of_one_replica_does_not_explain_what_all_have_or_others() {
    let is_cleared = |world: &World, entity: &str| world.cleared(entity);
    let alike = app([300.0, 310.0, 290.0]);
    assert!(is_cleared(&alike, "a") && is_cleared(&alike, "b"));
    assert!(!is_cleared(&alike, "app"));
    let uneven = app([700.0, 100.0, 100.0]);
    assert!(!is_cleared(&uneven, "a") && is_cleared(&uneven, "b"));
    assert!(is_cleared(&uneven, "app"), "what all have in common is not what one has");
    assert!(is_cleared(&uneven, "db"), "it is not involved");
}
