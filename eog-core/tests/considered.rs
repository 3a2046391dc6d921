//! What was considered and is not named: every reason that a change on record is ruled out for, and who had severe
//! evidence.

use eog_core::contract::Alternative;
use eog_core::controller::Wake;
use eog_core::diagnosis::{RuledOut, Unnamed};
use eog_core::evidence::{Signal, Trend};
use eog_core::incident::{ChangeRecord, Onset, RecordedChange};
use eog_core::{
    AbductivePolicy, Anomaly, Case, Config, ContextPacket, Decision, Diagnosis, EntityId,
    EvidenceKind, Label, Topology,
};
use eog_testkit::{
    MemoryContext, alert, at, case, entity, finding, healthy, origin, policy_fn, run, symptom_of,
    topology, window,
};

/// A change on record.
fn changed(name: &str, time: &str) -> RecordedChange {
    RecordedChange {
        entity: entity(name),
        made: Onset::at(at(time)),
        what: format!("{name} at {time}"),
        finding: None,
    }
}

fn recorded<const N: usize>(
    topology: Topology,
    alert: Anomaly,
    changes: [RecordedChange; N],
) -> Case {
    let record = ChangeRecord { span: window("09:00", "11:00"), changes: changes.into() };
    Case { record: Some(record), ..case(topology, [alert]) }
}

/// `web` calls `app`, which calls `db`, which calls `disk`; `web` fails.
fn chain<const N: usize>(changes: [RecordedChange; N]) -> Case {
    let topology = topology("web calls app; app calls db; db calls disk");
    recorded(topology, alert("web", "HttpErrors", "10:05:30"), changes)
}

fn contract() -> MemoryContext {
    MemoryContext::default().with_all(["web", "app", "db", "disk"].map(finding))
}

/// Only entities that claims lead to are checked.
fn narrow() -> Config {
    Config { widening: None, ..Config::default() }
}

/// Why each change is ruled out, by what was changed.
fn reasons(diagnosis: &Diagnosis) -> Vec<(&str, &RuledOut)> {
    diagnosis.considered.iter().map(|it| (it.change.what.as_str(), &it.reason)).collect()
}

fn named(diagnosis: &Diagnosis) -> Vec<&str> {
    diagnosis.causes().flat_map(|group| &group.origins).map(EntityId::as_str).collect()
}

/// The errors of `web` come from `db`.
fn usual(packet: &ContextPacket) -> Decision {
    match packet.entity.as_str() {
        "web" => symptom_of(packet, "app"),
        "app" => symptom_of(packet, "db"),
        "db" => origin(packet),
        _ => healthy(packet),
    }
}

fn diagnose(case: Case, contract: &MemoryContext, policy: &impl AbductivePolicy) -> Diagnosis {
    run(narrow(), case, contract, policy).diagnosis()
}

#[test]
fn a_change_after_the_harm_of_the_cause_is_no_cause_of_it() {
    let errors = finding("web").kind(EvidenceKind::Span).signal(Signal::Errors);
    let contract = MemoryContext::default()
        .with(errors.trend(Trend::Rising).at("10:05").began("10:05", "10:05:10"))
        .with(finding("app"))
        .with(finding("db").change("pool.size", "50", "5").at("10:04"));
    let case = chain([changed("app", "10:05:20"), changed("app", "10:05:40")]);
    let diagnosis = diagnose(case, &contract, &policy_fn(usual));
    assert_eq!(named(&diagnosis), ["db"]);
    let after = RuledOut::AfterHarm {
        entity: entity("web"),
        harm: Onset::between(at("10:05"), at("10:05:10")),
    };
    // The other was made when the alert was there already: not in time at all.
    assert_eq!(reasons(&diagnosis), [("app at 10:05:20", &after)]);
}

#[test]
fn of_the_changes_of_a_cause_the_one_that_is_cited_is_named_and_no_other() {
    let change = finding("db").change("pool.size", "50", "5").at("10:04");
    let cited = change.clone().build();
    let contract = contract().with(change);
    let case = chain([changed("db", "10:01"), changed("db", "10:04")]);
    let diagnosis = diagnose(case, &contract, &policy_fn(usual));
    let another = RuledOut::AnotherFits { change: cited.id().clone() };
    assert_eq!(reasons(&diagnosis), [("db at 10:01", &another)]);
}

#[test]
fn a_cause_that_cites_no_change_is_named_for_other_evidence() {
    let diagnosis = diagnose(chain([changed("db", "10:01")]), &contract(), &policy_fn(usual));
    assert_eq!(named(&diagnosis), ["db"]);
    assert_eq!(reasons(&diagnosis), [("db at 10:01", &RuledOut::Uncited)]);
}

#[test]
fn an_entity_that_no_claim_leads_to_was_not_checked() {
    let case = chain([changed("disk", "10:01"), changed("elsewhere", "10:01")]);
    let diagnosis = diagnose(case, &contract(), &policy_fn(usual));
    // No effect of `elsewhere` reaches `web`.
    assert_eq!(reasons(&diagnosis), [("disk at 10:01", &RuledOut::NeverLookedAt)]);
}

#[test]
fn a_change_that_was_weighed_and_lost_says_why() {
    let change = finding("app").change("timeout", "5s", "6s").at("10:01");
    let id = change.clone().build().id().clone();
    let contract = contract().with(change);
    let weighed = Alternative {
        label: Label::Origin,
        rule: Some("own change".to_owned()),
        cause: None,
        summary: "the timeout was raised".to_owned(),
        lost: "that delays no request".to_owned(),
        evidence: vec![id.clone()],
    };
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "app" => Decision { alternatives: vec![weighed.clone()], ..usual(packet) },
        _ => usual(packet),
    });
    let cited = RecordedChange { finding: Some(id), ..changed("app", "10:01") };
    // Of another change of the same entity nothing was weighed.
    let other = finding("app").change("colour", "red", "blue").at("10:02").build();
    let other = RecordedChange { finding: Some(other.id().clone()), ..changed("app", "10:02") };
    let diagnosis = diagnose(chain([cited, other]), &contract, &policy);
    let lost = RuledOut::Lost {
        rule: Some("own change".to_owned()),
        why: "that delays no request".to_owned(),
    };
    let judged =
        RuledOut::Judged { label: Label::Symptom, summary: "app suffers from db".to_owned() };
    assert_eq!(reasons(&diagnosis), [("app at 10:01", &lost), ("app at 10:02", &judged)]);
}

#[test]
fn an_origin_that_another_explains_is_derived() {
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "app" => Decision { claims: usual(packet).claims, ..origin(packet) },
        _ => usual(packet),
    });
    let diagnosis = diagnose(chain([changed("app", "10:01")]), &contract(), &policy);
    assert_eq!(named(&diagnosis), ["db"]);
    assert_eq!(reasons(&diagnosis), [("app at 10:01", &RuledOut::Derived)]);
}

#[test]
fn an_origin_without_a_claim_reaches_nothing() {
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "disk" => origin(packet),
        _ => usual(packet),
    });
    let case = chain([changed("disk", "10:01")]).with_seed(entity("disk"), "named by the test");
    let diagnosis = diagnose(case, &contract(), &policy);
    assert_eq!(named(&diagnosis), ["db"]);
    assert_eq!(reasons(&diagnosis), [("disk at 10:01", &RuledOut::ReachesNothing)]);
}

#[test]
fn what_is_no_origin_says_what_it_was_judged_to_be() {
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "db" => healthy(packet),
        _ => usual(packet),
    });
    let diagnosis = diagnose(chain([changed("db", "10:01")]), &contract(), &policy);
    assert_eq!(named(&diagnosis), Vec::<&str>::new());
    let judged =
        RuledOut::Judged { label: Label::Healthy, summary: "db operates normally".to_owned() };
    assert_eq!(reasons(&diagnosis), [("db at 10:01", &judged)]);
}

/// `a` and `b` find no fixed point: both are damped, and the last word of `a` is that it is an origin. `web` alerts, and calls
/// `a` and `c`; `others` judges `web` and `c`.
fn undecided(others: fn(&ContextPacket) -> Decision) -> Diagnosis {
    let policy = policy_fn(|packet| {
        let hears_origin = |name: &str| {
            packet.message_from(&entity(name)).is_some_and(|belief| belief.label == Label::Origin)
        };
        match packet.entity.as_str() {
            "a" if hears_origin("b") => healthy(packet),
            "b" if !hears_origin("a") => healthy(packet),
            "a" | "b" => origin(packet),
            _ => others(packet),
        }
    });
    let graph = topology("web calls a; web calls c; a calls b");
    let case = recorded(graph, alert("web", "HttpErrors", "10:05"), [changed("a", "10:01")]);
    let case = ["a", "b"]
        .into_iter()
        .fold(case, |case, name| case.with_seed(entity(name), "named by the test"));
    let contract = MemoryContext::default().with_all(["web", "a", "b", "c"].map(finding));
    let config = Config { wake: Wake::Visited, max_visits: None, ..narrow() };
    let diagnosis = run(config, case, &contract, &policy).diagnosis();
    assert_eq!(diagnosis.belief(&entity("a")).map(|it| it.label), Some(Label::Origin));
    assert!(diagnosis.conclusion.damped.contains(&entity("a")));
    diagnosis
}

#[test]
fn an_origin_that_changed_too_often_is_passed_over_where_another_explains_an_alert() {
    let diagnosis = undecided(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "c"),
        _ => origin(packet),
    });
    assert_eq!(named(&diagnosis), ["c"]);
    assert!(diagnosis.is_passed_over(&entity("a")));
    assert!(!diagnosis.is_passed_over(&entity("c")));
    assert_eq!(reasons(&diagnosis), [("a at 10:01", &RuledOut::ChangedTooOften)]);
}

#[test]
fn where_no_origin_is_named_an_origin_that_changed_too_often_reaches_nothing() {
    let diagnosis = undecided(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "c"),
        _ => healthy(packet),
    });
    assert_eq!(named(&diagnosis), Vec::<&str>::new());
    assert!(!diagnosis.is_passed_over(&entity("a")));
    assert_eq!(reasons(&diagnosis), [("a at 10:01", &RuledOut::ReachesNothing)]);
}

#[test]
fn where_no_other_origin_explains_an_alert_an_origin_that_changed_too_often_is_named() {
    let diagnosis = undecided(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "a"),
        _ => healthy(packet),
    });
    assert_eq!(named(&diagnosis), ["a"]);
    assert!(!diagnosis.is_passed_over(&entity("a")));
    assert_eq!(reasons(&diagnosis), [("a at 10:01", &RuledOut::Uncited)]);
}

#[test]
fn unnamed_entities_with_severe_evidence_or_weighed_as_origins_are_listed() {
    let full = |name| finding(name).kind(EvidenceKind::Metric).signal(Signal::Exhaustion);
    let contract = MemoryContext::default()
        .with(finding("web"))
        .with(full("app").trend(Trend::Rising))
        .with(full("db").trend(Trend::Rising))
        // It is over.
        .with(full("cache").trend(Trend::Falling))
        // A claim without a finding that shows it.
        .with(full("queue").kind(EvidenceKind::Note))
        .with(finding("disk"));
    let weighed = |label, lost: &str| Alternative {
        label,
        rule: Some("own failure".to_owned()),
        cause: None,
        summary: "it failed".to_owned(),
        lost: lost.to_owned(),
        evidence: Vec::new(),
    };
    let lost = weighed(Label::Origin, "it went unnoticed");
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "app" => Decision { rule: Some("failing dependency".to_owned()), ..usual(packet) },
        "disk" => Decision {
            alternatives: vec![lost.clone(), weighed(Label::Symptom, "nor did this")],
            ..healthy(packet)
        },
        _ => usual(packet),
    });
    let graph =
        topology("web calls app; app calls db; db calls disk; db calls cache; db calls queue");
    let case = case(graph, [alert("web", "HttpErrors", "10:05")]);
    let case = ["disk", "cache", "queue"]
        .into_iter()
        .fold(case, |case, name| case.with_seed(entity(name), "named by the test"));
    let diagnosis = diagnose(case, &contract, &policy);
    assert_eq!(named(&diagnosis), ["db"]);
    let app = Unnamed {
        entity: entity("app"),
        label: Label::Symptom,
        rule: Some("failing dependency".to_owned()),
        summary: "app suffers from db".to_owned(),
        lost: Vec::new(),
    };
    let disk = Unnamed {
        entity: entity("disk"),
        label: Label::Healthy,
        rule: None,
        summary: "disk operates normally".to_owned(),
        lost: vec![lost.clone()],
    };
    assert_eq!(diagnosis.unnamed, [app, disk]);
}
