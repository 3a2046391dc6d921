//! Small incidents from bundle to frontier, one for each way in which a cause can be known.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use eog_core::diagnosis::Doubt;
use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::incident::EffectDirection;
use eog_core::{Anomaly, Confidence, Config, EntityId, EvidenceKind, Label, Timestamp};
use eog_evidence::{
    BundleWriter, ChangeRecord, EventRecord, LogLine, Manifest, ManifestEdge, ObjectState, Series,
    SpanIds, SpanRecord, StateRecord,
};
use support::{Ended, investigate};

fn id(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_774_000_800 + minute * 60).unwrap()
}

/// `web` calls `cart` and `pay`, both call `db`; `flags` configures `cart` and `pay`; `mail` is
/// called by `cart` alone. An alert on `web` at minute 38. Everything is measured for an hour.
fn shop() -> BundleWriter {
    let mut writer = BundleWriter::new(Manifest::new("shop"));
    let mut connect = |source, relation: &str, target, effects| {
        let (source, target) = (id(source), id(target));
        let relation = relation.to_owned();
        let edge = ManifestEdge { source, target, relation, effects };
        writer.manifest.topology.edges.push(edge);
    };
    for (caller, callee) in
        [("web", "cart"), ("web", "pay"), ("cart", "db"), ("pay", "db"), ("cart", "mail")]
    {
        connect(caller, "calls", callee, EffectDirection::TargetToSource);
    }
    for configured in ["cart", "pay"] {
        connect("flags", "configures", configured, EffectDirection::SourceToTarget);
    }
    writer.alerts = vec![Anomaly {
        last_seen: Some(at(60)),
        ..Anomaly::new("ErrorRate", id("web"), Signal::Errors, at(38))
    }];
    for entity in ["db", "mail"] {
        measure(&mut writer, entity, 0.0, 0.0);
    }
    writer
}

/// An error ratio that shifts at minute 36.
fn measure(writer: &mut BundleWriter, entity: &str, before: f64, after: f64) {
    writer.metrics.push(Series {
        entity: id(entity),
        kind: EvidenceKind::Metric,
        metric: "error_ratio".into(),
        signal: Signal::Errors,
        unit: "ratio".into(),
        peer: None,
        points: (0..=60).map(|m| (at(m), if m < 36 { before } else { after })).collect(),
    });
}

fn change(writer: &mut BundleWriter, minute: i64, entity: &str, path: &str) {
    writer.changes.push(ChangeRecord {
        time: at(minute),
        entity: id(entity),
        signal: Signal::Configuration,
        path: path.into(),
        old: Some("off".into()),
        new: Some("on".into()),
        description: String::new(),
    });
}

fn failing_calls(writer: &mut BundleWriter, caller: &str, callee: &str) {
    for minute in 36..60 {
        let line = LogLine {
            time: at(minute),
            level: "error".into(),
            message: format!("call {minute} failed"),
            signal: None,
            peer: Some(Peer { entity: id(callee), role: PeerRole::Callee }),
            trace: None,
        };
        writer.logs.push((id(caller), line));
    }
}

fn ends_with(writer: &BundleWriter, frontier: &[&str], confidence: Confidence) -> Ended {
    let ended = investigate(writer, Config::default());
    let conclusion = ended.controller.conclusion();
    let found: Vec<String> = ended.frontier().iter().map(ToString::to_string).collect();
    assert_eq!(found, frontier, "{:#?}", ended.controller.beliefs().collect::<Vec<_>>());
    assert_eq!(conclusion.confidence, confidence, "{conclusion:#?}");
    assert_eq!(conclusion.unexplained.is_empty(), confidence > Confidence::Inconclusive);
    assert!(conclusion.damped.is_empty(), "{:?}", conclusion.damped);
    assert!(ended.order().len() <= 15, "{:?}", ended.order());
    ended
}

#[test]
fn a_deployment_breaks_its_callers() {
    let mut writer = shop();
    change(&mut writer, 35, "cart", "image");
    measure(&mut writer, "cart", 0.01, 0.4);
    failing_calls(&mut writer, "web", "cart");
    let ended = ends_with(&writer, &["cart"], Confidence::Confirmed);
    assert_eq!(ended.case.seeds[0].entity, id("cart"));
}

#[test]
fn a_flag_acts_through_the_component_that_it_names() {
    let mut writer = shop();
    change(&mut writer, 35, "flags", "payFailure.variant");
    measure(&mut writer, "pay", 0.0, 0.5);
    let ended = ends_with(&writer, &["flags"], Confidence::Confirmed);
    let claims: Vec<String> = ended
        .controller
        .live_claims()
        .iter()
        .map(|c| format!("{} > {}", c.cause, c.effect))
        .collect();
    for claim in ["flags > pay", "pay > web"] {
        assert!(claims.iter().any(|made| made == claim), "{claims:?}");
    }
}

/// A package that was updated on several nodes, of which each has an alert of its own.
#[test]
fn one_change_on_many_nodes_is_one_cause() {
    let mut writer = BundleWriter::new(Manifest::new("fleet"));
    let nodes = ["node-1", "node-2", "node-3", "node-4"];
    writer.manifest.topology.entities = nodes.map(id).to_vec();
    for node in nodes {
        measure(&mut writer, node, 0.0, 0.4);
        change(&mut writer, 35, node, "kernel");
        writer.alerts.push(Anomaly::new("ErrorRate", id(node), Signal::Errors, at(38)));
    }
    let ended = investigate(&writer, Config::default());
    let conclusion = ended.controller.conclusion();
    let [group] = &conclusion.frontier[..] else { panic!("{conclusion:#?}") };
    assert_eq!(group.origins, nodes.map(id));
    let shared = group.shared_change.as_ref().unwrap();
    assert_eq!((shared.places.len(), shared.what.as_str()), (4, "kernel from \"off\" to \"on\""));
    assert_eq!(conclusion.unexplained, [0; 0]);
    assert!(!group.doubts.iter().any(|it| matches!(it, Doubt::NotAlone { .. })), "{group:?}");
    // Each a change of its own: as many causes.
    for (number, change) in writer.changes.iter_mut().enumerate() {
        change.new = Some(number.to_string());
    }
    assert_eq!(investigate(&writer, Config::default()).controller.conclusion().frontier.len(), 4);
}

#[test]
fn an_entity_without_telemetry_passes_the_effect_on() {
    let mut writer = shop();
    change(&mut writer, 35, "flags", "payFailure.variant");
    // `pay` was not seen to fail, and nothing dates the harm: a guess, if a good one.
    let ended = ends_with(&writer, &["flags"], Confidence::Likely);
    let doubts = &ended.controller.conclusion().frontier[0].doubts;
    let is_unseen = |doubt: &Doubt| {
        matches!(doubt, Doubt::PathNotSeen { callee, entity, .. }
            if [id("pay"), id("cart")].contains(callee) && *entity == id("web"))
    };
    assert!(doubts.contains(&Doubt::NoMeasuredOnset) && doubts.iter().any(is_unseen), "{doubts:?}");
    assert_eq!(ended.controller.belief(&id("pay")).unwrap().label, Label::Symptom);
}

#[test]
fn a_crash_without_a_change_is_a_likely_origin() {
    let mut writer = shop();
    failing_calls(&mut writer, "web", "cart");
    failing_calls(&mut writer, "cart", "db");
    writer.events.push(EventRecord {
        time: at(35),
        entity: id("db"),
        reason: "Crashed".into(),
        signal: Signal::Availability,
        message: "exit code 1".into(),
        peer: None,
    });
    ends_with(&writer, &["db"], Confidence::Likely);
}

#[test]
fn a_change_that_reaches_nothing_is_no_origin() {
    let mut writer = shop();
    change(&mut writer, 37, "web-cache", "ttl");
    measure(&mut writer, "cart", 0.0, 0.4);
    failing_calls(&mut writer, "web", "cart");
    // The first in trouble is named, without a change.
    let ended = ends_with(&writer, &["cart"], Confidence::Likely);
    assert!(ended.controller.conclusion().frontier[0].change.is_none());
}

#[test]
fn a_mitigation_after_the_alert_is_no_origin() {
    let mut writer = shop();
    change(&mut writer, 35, "cart", "image");
    change(&mut writer, 50, "db", "replicas");
    measure(&mut writer, "cart", 0.01, 0.4);
    failing_calls(&mut writer, "web", "cart");
    failing_calls(&mut writer, "cart", "db");
    ends_with(&writer, &["cart"], Confidence::Confirmed);
}

/// A line of level info each minute of some.
fn usual_line(writer: &mut BundleWriter, entity: &str, minutes: std::ops::Range<i64>, text: &str) {
    for minute in minutes {
        let line = LogLine {
            time: at(minute),
            level: "info".into(),
            message: format!("{text} {minute}"),
            signal: None,
            peer: None,
            trace: None,
        };
        writer.logs.push((id(entity), line));
    }
}

#[test]
fn ordinary_lines_that_stay_away_make_no_origin() {
    let mut writer = shop();
    change(&mut writer, 35, "cart", "image");
    measure(&mut writer, "cart", 0.01, 0.4);
    failing_calls(&mut writer, "web", "cart");
    usual_line(&mut writer, "cart", 0..60, "served");
    usual_line(&mut writer, "web", 0..37, "rendered");
    usual_line(&mut writer, "db", 0..36, "checkpoint");
    usual_line(&mut writer, "pay", 36..60, "cache is cold");
    ends_with(&writer, &["cart"], Confidence::Confirmed);
}

#[test]
fn ordinary_lines_alone_make_no_origin() {
    let mut writer = shop();
    failing_calls(&mut writer, "web", "cart");
    usual_line(&mut writer, "web", 0..60, "served");
    usual_line(&mut writer, "cart", 0..36, "heartbeat");
    usual_line(&mut writer, "db", 0..36, "checkpoint");
    let ended = investigate(&writer, Config::default());
    let is_origin = |entity: &str| {
        ended.controller.belief(&id(entity)).is_some_and(|belief| belief.label == Label::Origin)
    };
    assert!(!is_origin("cart") && !is_origin("db"), "{:#?}", ended.frontier());
    let cart = ended.controller.belief(&id("cart"));
    assert_eq!(cart.map(|belief| belief.label), Some(Label::Healthy));
}

#[test]
fn a_service_that_only_its_callers_lines_name_is_found_without_a_topology() {
    let mut writer = BundleWriter::new(Manifest::new("lines alone"));
    writer.alerts = shop().alerts;
    for (caller, callee) in [("web", "cart"), ("cart", "auth"), ("auth", "redis")] {
        usual_line(&mut writer, caller, 0..60, "request handled");
        failing_calls(&mut writer, caller, callee);
    }
    let ended = ends_with(&writer, &["redis"], Confidence::Likely);
    let auth = ended.controller.belief(&id("auth")).unwrap();
    assert_eq!((auth.label, auth.claims[0].cause.as_str()), (Label::Symptom, "redis"));
}

/// Errors that name the service that did not answer, in their texts alone.
#[test]
fn a_cascade_is_followed_by_the_names_in_log_lines() {
    let mut writer = BundleWriter::new(Manifest::new("texts alone"));
    writer.alerts = shop().alerts;
    let mut fails = |entity: &str, minute: i64, message: &str| {
        usual_line(&mut writer, entity, 0..60, "request handled");
        for minute in minute..60 {
            let line = LogLine {
                time: at(minute),
                level: "error".into(),
                message: message.to_owned(),
                signal: None,
                peer: None,
                trace: None,
            };
            writer.logs.push((id(entity), line));
        }
    };
    fails("web", 37, "order not checked: cart answered 503");
    fails("cart", 36, "cannot reach auth: timeout");
    fails("auth", 35, "pool exhausted");
    let ended = investigate(&writer, Config::default());
    // Without what each line costs its caller it stays open which of them it was, but it is not where the alert is.
    let frontier = ended.frontier();
    assert!(frontier.contains(&id("auth")) && !frontier.contains(&id("web")), "{frontier:?}");
    assert_ne!(ended.controller.conclusion().confidence, Confidence::Confirmed);
    let warnings = &ended.case.bootstrap.warnings;
    let said = "the topology has no edges: 2 are inferred from names in errors and warnings: cart calls auth; web calls cart";
    assert!(warnings.iter().any(|it| it == said), "{warnings:?}");

    // Where nothing names another, it is said that nothing can be followed.
    let mut writer = BundleWriter::new(Manifest::new("nothing"));
    writer.alerts = shop().alerts;
    usual_line(&mut writer, "web", 0..60, "request handled");
    usual_line(&mut writer, "cart", 0..60, "request handled");
    let warnings = investigate(&writer, Config::default()).case.bootstrap.warnings;
    assert!(warnings.iter().any(|it| it.starts_with("no edges are known: ")), "{warnings:?}");
}

#[test]
fn what_failed_before_and_is_failing_still_stands_and_what_recovered_does_not() {
    let with = |states: &[(i64, ObjectState)]| {
        let mut writer = shop();
        measure(&mut writer, "web", 0.0, 0.4);
        for entity in ["cart", "pay"] {
            writer.events.push(EventRecord {
                time: at(50),
                entity: id(entity),
                reason: "Unhealthy".into(),
                signal: Signal::Availability,
                message: "a probe failed".into(),
                peer: None,
            });
        }
        writer.states = states
            .iter()
            .map(|(minute, state)| StateRecord {
                time: at(*minute),
                entity: id("cart"),
                state: *state,
                reason: "CrashLoopBackOff".into(),
            })
            .collect();
        let ended = investigate(&writer, Config::default());
        let log_odds = |entity: &str| {
            let belief = ended.controller.belief(&id(entity)).unwrap();
            belief.measures.as_ref().unwrap().log_odds
        };
        log_odds("cart") - log_odds("pay")
    };
    assert_eq!(with(&[]), 0);
    // Three days before, and since then.
    assert!(with(&[(-4_320, ObjectState::Failing)]) > 1_000);
    assert!(with(&[(49, ObjectState::Failing), (51, ObjectState::Ready)]) <= 0);
}

/// `web` asks `shop`, which asks `db`: 900 of 1,000 ms of every request are spent there, from the first to the last.
#[test]
fn what_was_slow_from_the_beginning_is_read_from_the_critical_path() {
    let mut writer = shop();
    writer.metrics.clear();
    writer.alerts[0].signal = Signal::Latency;
    for minute in 0..60 {
        let mut span =
            |entity: &str, peer: Option<&str>, ids: (&str, Option<&str>), ms: (i64, f64)| {
                let (span, parent) = ids;
                writer.spans.push(SpanRecord {
                    time: at(minute) + jiff::SignedDuration::from_millis(ms.0),
                    entity: id(entity),
                    duration_ms: ms.1,
                    failed: Some(false),
                    operation: None,
                    peer: peer.map(|peer| Peer { entity: id(peer), role: PeerRole::Callee }),
                    ids: Some(SpanIds {
                        trace: minute.to_string(),
                        span: span.to_owned(),
                        parent: parent.map(str::to_owned),
                    }),
                });
            };
        span("web", None, ("r", None), (0, 1_000.0));
        span("web", Some("cart"), ("c", Some("r")), (10, 970.0));
        span("cart", None, ("s", Some("c")), (20, 950.0));
        span("cart", Some("db"), ("q", Some("s")), (40, 910.0));
        span("db", None, ("d", Some("q")), (45, 900.0));
    }
    let ended = investigate(&writer, Config::default());
    assert_eq!(ended.frontier(), [id("db")]);
    assert_eq!(ended.controller.conclusion().unexplained, [0; 0]);
    let said = &ended.controller.belief(&id("db")).unwrap().claims[0].condition;
    assert!(
        said.starts_with("90 % (900 ms) of the time of ")
            && said.contains(" requests to web is work of db"),
        "{said}"
    );
}

#[test]
fn of_several_changes_that_fit_the_one_whose_words_are_in_new_errors_is_cited() {
    let mut writer = shop();
    for (minute, path) in [(33, "pool.maxConnections"), (35, "banner.colour")] {
        change(&mut writer, minute, "pay", path);
    }
    change(&mut writer, 34, "mail", "banner.font");
    measure(&mut writer, "pay", 0.0, 0.4);
    for minute in 36..60 {
        let line = LogLine {
            time: at(minute),
            level: "error".into(),
            message: "no free connections in the pool".into(),
            signal: None,
            peer: None,
            trace: None,
        };
        writer.logs.push((id("pay"), line));
    }
    let ended = investigate(&writer, Config::default());
    assert_eq!(ended.frontier(), [id("pay")]);
    let cited = ended.controller.conclusion().frontier[0].change.clone().unwrap();
    assert_eq!(cited.at, at(33), "the latest change is another");
}
