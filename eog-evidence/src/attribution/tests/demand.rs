//! Demand from outside, and the entities it reaches.

use super::*;

/// `users` send so many requests a minute to `web`, of 100 before; `web` calls `db`, and both take 40 ms longer.
fn shop(sent: f64, full: f64) -> World {
    let mut world = World::default()
        .calls("web>db")
        .alert("web", Signal::Latency, 15)
        .latency("web", 100.0, 140.0)
        .latency("db", 10.0, 50.0)
        .measured("web", Signal::Traffic, 100.0, shifted(100.0, sent))
        .measured("db", Signal::Traffic, 200.0, shifted(200.0, 2.0 * sent))
        .measured("db", Signal::Saturation, 0.3, shifted(0.3, full));
    let source_to_target = EffectDirection::SourceToTarget;
    world.topology.connect(&id("users"), "sends_load", &id("web"), source_to_target);
    world = world.measured("web", Signal::Traffic, 100.0, shifted(100.0, sent));
    let web = world.series.get_mut(&id("web")).unwrap();
    web.last_mut().unwrap().peer = Some(Peer { entity: id("users"), role: PeerRole::Caller });
    let db = world.series.get_mut(&id("db")).unwrap();
    db.last_mut().unwrap().unit = "ratio".into();
    world
}

/// The note on demand that reaches an entity.
fn demand(world: &World, entity: &str) -> Option<String> {
    let findings = world.findings(entity);
    let is_demand = |finding: &&Finding| {
        (finding.kind, finding.signal) == (EvidenceKind::Note, Signal::Traffic)
            && finding.peer.as_ref().is_some_and(|peer| peer.role == PeerRole::Caller)
    };
    findings.iter().find(is_demand).map(|finding| finding.excerpt.clone())
}

#[test]
fn what_users_send_more_is_noted_on_the_entities_it_reaches() {
    let world = shop(300.0, 0.95);
    let at_web = "users sends 3 times its normal requests";
    assert_eq!(demand(&world, "web").as_deref(), Some(at_web));
    let at_db = "users sends 3 times its normal requests; via web this reaches db, which gets 3 \
                 times its normal requests";
    assert_eq!(demand(&world, "db").as_deref(), Some(at_db));
    assert_eq!(demand(&world, "users"), None);
}

#[test]
fn who_measures_no_requests_is_asked_by_what_its_caller_measures() {
    let calls = |more: f64| {
        let mut world = shop(300.0, 0.95)
            .calls("web>partner")
            .measured("web", Signal::Traffic, 100.0, shifted(100.0, more))
            .latency("partner", 10.0, 50.0);
        let web = world.series.get_mut(&id("web")).unwrap();
        web.last_mut().unwrap().peer = Some(Peer { entity: id("partner"), role: PeerRole::Callee });
        demand(&world, "partner")
    };
    let note = "users sends 3 times its normal requests; via web this reaches partner, which gets \
                3 times its normal requests";
    assert_eq!(calls(300.0).as_deref(), Some(note));
    assert_eq!(calls(100.0), None);
}

#[test]
fn a_little_more_and_what_is_borne_easily_explain_nothing() {
    assert_eq!(demand(&shop(140.0, 0.95), "web"), None, "less than half more");
    assert_eq!(demand(&shop(300.0, 0.5), "web"), None, "nothing is nearly full");
    // Where no resource is measured, it may be full.
    let mut world = shop(300.0, 0.5);
    world.series.get_mut(&id("db")).unwrap().retain(|one| one.signal != Signal::Saturation);
    assert!(demand(&world, "db").is_some());
}

#[test]
fn what_rises_within_alone_does_not_come_from_outside() {
    let mut world = shop(100.0, 0.95);
    world.series.get_mut(&id("db")).unwrap().retain(|one| one.signal != Signal::Traffic);
    let world = world.measured("db", Signal::Traffic, 200.0, shifted(200.0, 600.0));
    assert_eq!(demand(&world, "db"), None);
}

#[test]
fn no_more_than_fail_may_be_tried_again() {
    let failing = |failed: f64, sent: f64| {
        shop(sent, 0.95).measured("web", Signal::Errors, 0.0, shifted(0.0, failed))
    };
    assert_eq!(demand(&failing(150.0, 200.0), "web"), None);
    assert!(demand(&failing(50.0, 200.0), "web").is_some(), "more came than failed");
    assert!(demand(&failing(400.0, 400.0), "web").is_some(), "none tries four times");
}

/// A feed gives 100 items to `load` in each run of two minutes of four, and from the window on so many times as many; the next step
/// of the job gets what `load` is done with.
fn job(more: f64) -> World {
    let mut world = World::default().alert("report", Signal::Latency, 36);
    let to_target = EffectDirection::SourceToTarget;
    for (from, relation, to) in [("feed", "sends_load", "load"), ("load", "feeds", "report")] {
        world.topology.connect(&id(from), relation, &id(to), to_target);
    }
    for name in ["load", "report"] {
        world = world.measured(name, Signal::Traffic, 1.0, [0.0; 10]);
        in_runs(&mut world, name, 50.0, 50.0 * more);
    }
    world.latency("report", 10.0, 30.0)
}

/// So many a minute in each run, of the last series of an entity: before the window, and in it.
fn in_runs(world: &mut World, entity: &str, before: f64, within: f64) {
    let points = (0..40).map(|minute: i64| {
        let counted = match (minute % 4, minute < 20) {
            (1 | 2, true) => before,
            (1 | 2, false) => within,
            _ => 0.0,
        };
        (at(minute), counted)
    });
    world.series.get_mut(&id(entity)).unwrap().last_mut().unwrap().points = points.collect();
}

/// The note on demand at an entity, where the window is minutes 20 to 40.
fn noted(world: &World, entity: &str) -> Option<String> {
    let notes = world.attribute_within(20..40, |attribution| attribution.demand(&id(entity)));
    notes.map(|note| note.excerpt.clone())
}

#[test]
fn what_comes_in_runs_is_counted_by_run() {
    let at_load = "feed sends 3 times its normal requests";
    assert_eq!(noted(&job(3.0), "load").as_deref(), Some(at_load));
    let at_report = "feed sends 3 times its normal requests; via load this reaches report, which \
                     gets 3 times its normal requests";
    assert_eq!(noted(&job(3.0), "report").as_deref(), Some(at_report));
    // What the feed sends is not measured: its receivers show it.
    let at_feed = "load gets 3 times its normal requests from this source alone";
    assert_eq!(noted(&job(3.0), "feed").as_deref(), Some(at_feed));
    assert_eq!(noted(&job(1.2), "load"), None);
}

#[test]
fn runs_that_fail_are_tried_again_by_run() {
    let failing = |more: f64, failed: f64| {
        let mut world = job(more).measured("load", Signal::Errors, 0.0, [0.0; 10]);
        in_runs(&mut world, "load", 0.0, failed);
        noted(&world, "load")
    };
    assert_eq!(failing(3.0, 120.0), None, "each run of 50 is made three times");
    assert!(failing(3.0, 40.0).is_some(), "more came than failed");
    assert!(failing(3.5, 170.0).is_some(), "none tries more often");
}

#[test]
fn of_what_usually_does_not_come_nothing_says_how_much_is_more() {
    let mut world = job(1.0);
    for name in ["load", "report"] {
        in_runs(&mut world, name, 0.0, 50.0);
    }
    assert_eq!(noted(&world, "load"), None);
}
