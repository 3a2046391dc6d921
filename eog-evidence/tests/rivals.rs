//! Incidents in which harmless changes lie beside the cause, from dated findings to the frontier.
//!
//! Names, sizes and times differ with a seed. Every finding says when what it tells began.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod world;

use eog_core::EvidenceKind;
use eog_core::evidence::{Signal, Trend};
use world::{Ended, World};

const SEEDS: std::ops::Range<u64> = 0..12;

/// A pipeline: `web` calls `api`, which calls `db` and puts work into `queue`; workers take it from
/// there and call `db`. From the start of the trouble, `db` is slow, and what depends on it after.
fn pipeline(seed: u64) -> World {
    let mut world = World::new(seed);
    world.calls("web", "api");
    world.calls("api", "db");
    world.calls("api", "queue");
    for worker in world.workers() {
        world.calls(&worker, "db");
        world.affects(&worker, "drains", "queue");
    }
    let harm = world.harm();
    let lag = world.pick(2, 9);
    world.harmed("db", Signal::Latency, harm + lag);
    for worker in world.workers() {
        let later = world.pick(1, 20);
        world.failing_call(&worker, "db", Signal::Latency, harm + lag + later);
    }
    world.failing_call("api", "db", Signal::Latency, harm + lag + 3);
    world.failing_call("web", "api", Signal::Errors, harm + lag + 12);
    world.harmed("queue", Signal::Saturation, harm + lag + 70);
    let alert = world.pick(360, 540);
    world.alert("web", Signal::Errors, harm + alert);
    world
}

/// The frontier is one entity, and nothing harmless is cited for it.
fn names(ended: &Ended, case: &str, cause: &str, by_change: bool) {
    let [origin] = ended.frontier.as_slice() else {
        panic!("{case}: {:?}\n{:#?}", ended.frontier, ended.beliefs);
    };
    assert_eq!(origin, cause, "{case}: {:#?}", ended.beliefs);
    let belief = &ended.beliefs[cause];
    let cited = belief.evidence.iter().filter(|id| id.kind() == EvidenceKind::Change);
    let innocent = cited.clone().filter(|id| ended.innocent.contains(id)).count();
    assert_eq!(innocent, 0, "{case}: {belief:?}");
    assert_eq!(cited.count() > 0, by_change, "{case}: {belief:?}");
}

#[test]
fn a_bad_migration_is_found_beside_innocent_deploys() {
    for seed in SEEDS {
        let mut world = pipeline(seed);
        world.change("db", world.harm());
        names(&world.investigate(), &format!("alone {seed}"), "db", true);
        for innocent in
            ["queue".to_owned(), world.workers().pop().unwrap(), "api".into(), "web".into()]
        {
            let mut world = pipeline(seed);
            world.change("db", world.harm());
            let after = world.pick(120, 340);
            world.innocent(&innocent, world.harm() + after);
            let case = format!("deploy of {innocent} {after} s after, seed {seed}");
            names(&world.investigate(), &case, "db", true);
        }
    }
}

#[test]
fn without_the_migration_on_record_nothing_harmless_takes_its_place() {
    for seed in SEEDS {
        for innocent in ["queue".to_owned(), "db".into(), "api".into()] {
            for at in [-52 * 60, 200] {
                let mut world = pipeline(seed);
                world.innocent(&innocent, world.harm() + at);
                let case = format!("change of {innocent} at {at}, seed {seed}");
                let ended = world.investigate();
                names(&ended, &case, "db", false);
                let summary = &ended.beliefs["db"].summary;
                assert!(summary.contains("of db is on record"), "{case}: {summary}");
            }
        }
    }
}

/// A shop: `web` calls `cart` and `pay`; `cart` calls `store`, `pay` calls an outside service;
/// `flags` configures `pay`; the pods of `cart` run on `node`. Calls to `path` fail from the start
/// of the trouble, and a harmless deploy of `web` comes seconds before the alert.
fn shop(seed: u64, path: &str) -> World {
    let mut world = World::new(seed);
    for (caller, callee) in [("web", "cart"), ("web", "pay"), ("cart", "store"), ("pay", "outside")]
    {
        world.calls(caller, callee);
    }
    world.affects("flags", "configures", "pay");
    world.affects("node", "runs", "cart");
    let harm = world.harm();
    world.failing_call("web", path, Signal::Errors, harm + 9);
    let alert = world.pick(300, 600);
    world.alert("web", Signal::Errors, harm + alert);
    let before = world.pick(3, 40);
    world.innocent("web", harm + alert - before);
    world
}

#[test]
fn a_flag_flip_is_found_beside_a_deploy_seconds_before_the_alert() {
    for seed in SEEDS {
        let mut world = shop(seed, "pay");
        let harm = world.harm();
        world.change("flags", harm - 2);
        world.harmed("pay", Signal::Errors, harm + 4);
        let ended = world.investigate();
        names(&ended, &format!("seed {seed}"), "flags", true);
    }
}

#[test]
fn an_outside_service_that_is_away_is_found() {
    for seed in SEEDS {
        let mut world = shop(seed, "pay");
        let harm = world.harm();
        world.failing_call("pay", "outside", Signal::Errors, harm + 3);
        world.failing_for("outside", "pay", harm + 3);
        names(&world.investigate(), &format!("seed {seed}"), "outside", false);
    }
}

#[test]
fn what_ran_out_or_fell_over_is_found() {
    for seed in SEEDS {
        // A certificate, a quota.
        let mut world = shop(seed, "pay");
        let harm = world.harm();
        world.event("pay", Signal::Exhaustion, harm);
        world.harmed("pay", Signal::Errors, harm + 2);
        names(&world.investigate(), &format!("expired, seed {seed}"), "pay", false);

        let mut world = shop(seed, "cart");
        world.event("node", Signal::Availability, harm);
        world.harmed("cart", Signal::Errors, harm + 5);
        names(&world.investigate(), &format!("node, seed {seed}"), "node", false);
    }
}

#[test]
fn a_surge_is_not_laid_at_the_door_of_a_deploy() {
    for seed in SEEDS {
        let mut world = shop(seed, "cart");
        let harm = world.harm();
        world.measured("web", Signal::Traffic, Trend::Rising, harm - 30);
        world.called_more("cart", "web", harm - 28);
        world.harmed("cart", Signal::Saturation, harm);
        world.harmed("cart", Signal::Errors, harm + 3);
        let ended = world.investigate();
        let web = &ended.beliefs["web"];
        let innocent = web.evidence.iter().any(|id| ended.innocent.contains(id));
        assert!(!innocent, "seed {seed}: {web:?}");
        let cart = &ended.beliefs["cart"];
        assert_eq!(cart.rule.as_deref(), Some("traffic amplification"), "seed {seed}: {cart:?}");
    }
}
