//! Demand from outside, and whom it reaches.

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

/// What is told of demand that reaches an entity.
fn demand(world: &World, entity: &str) -> Option<String> {
    let findings = world.findings(entity);
    let is_demand = |finding: &&Finding| {
        (finding.kind, finding.signal) == (EvidenceKind::Note, Signal::Traffic)
            && finding.peer.as_ref().is_some_and(|peer| peer.role == PeerRole::Caller)
    };
    findings.iter().find(is_demand).map(|finding| finding.excerpt.clone())
}

#[test]
fn what_users_send_more_is_told_to_whom_it_reaches() {
    let world = shop(300.0, 0.95);
    let at_web = "users sends 3 times as many requests as usual";
    assert_eq!(demand(&world, "web").as_deref(), Some(at_web));
    let at_db = "users sends 3 times as many requests as usual; by web that reaches db, which is asked 3 times as often";
    assert_eq!(demand(&world, "db").as_deref(), Some(at_db));
    assert_eq!(demand(&world, "users"), None);
}

#[test]
fn a_little_more_and_what_is_borne_easily_explain_nothing() {
    assert_eq!(demand(&shop(140.0, 0.95), "web"), None, "less than half more");
    assert_eq!(demand(&shop(300.0, 0.5), "web"), None, "nothing is nearly full");
    // Where nobody measures how full anything is, it may be.
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
    assert!(demand(&failing(400.0, 400.0), "web").is_some(), "nobody tries four times");
}
