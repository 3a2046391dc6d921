//! Requests that no longer arrive.

use super::*;

/// `left` and `right` call `db`; from the fourth step on of 50 requests of each 20 fail, and `db` counts as many as
/// given, of 100 before.
fn shop(arriving: f64) -> World {
    let failing = |world: World, entity: &str| {
        let failures = shifted(0.0, 20.0);
        world.requests(entity, 50.0).measured(entity, Signal::Errors, 0.0, failures)
    };
    let world = World::default().calls("left>db, right>db").alert("left", Signal::Errors, 15);
    let world = failing(failing(world, "left"), "right");
    world.measured("db", Signal::Traffic, 100.0, shifted(100.0, arriving)).measured(
        "db",
        Signal::Errors,
        0.0,
        [0.0; 10],
    )
}

#[test]
fn what_several_callers_send_in_vain_is_missed_where_it_should_arrive() {
    assert_eq!(shop(5.0).of("left"), "own, db 100, rest 0");
    assert_eq!(shop(5.0).of("db"), "own, rest 100");
    // Less than usual arrives where callers fail by themselves, too: it must be most of it.
    assert_eq!(shop(60.0).of("left"), "own, rest 100");
}

#[test]
fn one_caller_that_sends_less_may_fail_by_itself() {
    let mut one = shop(5.0);
    one.series.remove(&id("right"));
    one.topology = World::default().calls("left>db").topology;
    assert_eq!(one.of("left"), "own, rest 100, db only x0.1");
    // Unless its calls are recorded to fail.
    one.failing.push((id("left"), id("db")));
    assert_eq!(one.of("left"), "own, db 100, rest 0, db only x0.1");
}

#[test]
fn a_replica_that_is_asked_no_more_is_missed_by_the_others() {
    let app = |arriving: f64, others: f64| {
        let mut world = World::default()
            .calls("web>app, a>db, b>db, c>db")
            .alert("app", Signal::Errors, 15)
            .measured("app", Signal::Errors, 0.0, shifted(0.0, 45.0))
            .requests("app", 150.0);
        for (name, after) in [("a", arriving), ("b", others), ("c", others)] {
            world.topology.connect(&id("app"), "runs_as", &id(name), EffectDirection::Both);
            world = world.measured(name, Signal::Errors, 0.0, [0.0; 10]).measured(
                name,
                Signal::Traffic,
                50.0,
                shifted(50.0, after),
            );
        }
        world
    };
    assert!(app(2.0, 50.0).of("app").starts_with("own, a 100"), "{}", app(2.0, 50.0).of("app"));
    // Where all are asked less, that is not for one of them.
    assert!(!app(2.0, 2.0).of("app").contains(", a "), "{}", app(2.0, 2.0).of("app"));
}
