//! The context contract: bounds, pages, order, notes.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use eog_core::evidence::{Signal, Trend};
use eog_core::{ContextContract, ContextRequest, EvidenceKind, Finding, LocalContext};
use eog_evidence::open_case;
use eog_sre::tools::Toolbox;
use eog_sre::{ContextQuery, PAGE_FINDINGS, SnapshotContext};
use serde_json::{Value, json};

use crate::support::{Recording, Span, config, id, lines, service, window, workload};

/// Asks as the controller does. The contract never waits.
pub(crate) fn ask(context: &SnapshotContext, request: &ContextRequest) -> LocalContext {
    let mut future = pin!(context.get_context(request));
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer.unwrap(),
        Poll::Pending => panic!("the contract waits"),
    }
}

fn request(entity: &str, page: u32) -> ContextRequest {
    ContextRequest {
        entity: id(entity),
        window: window("10:00:00", "11:00:00"),
        page,
        visit: 1,
        changed_neighbours: BTreeSet::new(),
        query: None,
    }
}

/// A configuration whose change at 10:20 is followed by an alert on its reader at 10:22.
fn changed() -> Recording {
    let mut recording = Recording::new();
    let volumes = json!([{"name": "v", "configMap": {"name": "settings"}}]);
    recording.object("10:15:00", workload("Deployment", "web", json!({"name": "c"}), volumes));
    recording.object("10:15:00", service("web", "web"));
    recording.object("10:15:00", config("settings", "a", "1", "09:00:00"));
    recording.object("10:25:00", config("settings", "a", "2", "10:20:00"));
    let labels = json!({"alertname": "ErrorRate", "service_name": "web", "namespace": "shop"});
    recording.alert("10:30:00", labels, "2026-01-01T10:22:00Z");
    recording
}

#[test]
fn seeds_contexts_and_notes_agree_on_the_cause() {
    let recording = changed();
    let snapshot = recording.open();
    let case = open_case(&snapshot.incident(&snapshot.graph()), None).unwrap();
    let seeds: Vec<_> = case.seeds.iter().map(|seed| seed.entity.as_str()).collect();
    assert_eq!(seeds, ["shop/ConfigMap/settings", "shop/Service/web"]);

    let context = recording.context();
    let cause = ask(&context, &request("shop/ConfigMap/settings", 1));
    let signals: Vec<_> = cause.findings.iter().map(|finding| finding.signal).collect();
    assert_eq!(signals, [Signal::Configuration, Signal::Impact], "{:#?}", lines(&cause));
    let symptom = ask(&context, &request("shop/Service/web", 1));
    let last = symptom.findings.last().unwrap();
    assert_eq!((last.kind, last.signal), (EvidenceKind::Note, Signal::Route));
    assert_eq!(last.peer.as_ref().unwrap().entity, id("shop/Deployment/web"));
    assert_eq!(symptom.findings[0].kind, EvidenceKind::Alert);
}

/// A warning about a pod.
fn event(pod: &str, reason: &str, minute: usize) -> Value {
    json!({"object": {"metadata": {"uid": format!("{pod}{minute}")}, "type": "Warning",
        "reason": reason, "message": "m",
        "involvedObject": {"kind": "Pod", "name": pod, "namespace": "shop"},
        "lastTimestamp": format!("2026-01-01T10:{minute:02}:00Z")}})
}

#[test]
fn pages_are_bounded_and_together_whole() {
    let mut recording = changed();
    for at in 0..40 {
        let mut event = event("settings", &format!("Reason{at:02}"), at);
        event["object"]["involvedObject"]["kind"] = json!("ConfigMap");
        recording.event("10:50:00", event);
    }
    let context = recording.context();
    let first = ask(&context, &request("shop/ConfigMap/settings", 1));
    let second = ask(&context, &request("shop/ConfigMap/settings", 2));
    let third = ask(&context, &request("shop/ConfigMap/settings", 3));
    // The notes on effects, and on an early deviation, come beside the page.
    assert_eq!(first.findings.len(), PAGE_FINDINGS + 2, "{:#?}", lines(&first));
    assert_eq!(first.findings[0].kind, EvidenceKind::Change);
    assert_eq!(first.omitted, ["17 weaker findings are left for page 2 and later"]);
    assert_eq!((second.findings.len(), second.omitted.len()), (17, 0));
    assert!(third.findings.is_empty());
    let ids: BTreeSet<_> = first.findings.iter().chain(&second.findings).map(Finding::id).collect();
    assert_eq!(ids.len(), 43);
    let all = ask(&context, &request("shop/ConfigMap/settings", 0));
    assert_eq!((all.findings.len(), all.omitted.len()), (43, 0));
}

#[test]
fn a_cause_is_shown_though_the_window_begins_after_it() {
    let context = changed().context();
    let mut late = request("shop/ConfigMap/settings", 1);
    late.window = window("10:21:00", "10:50:00");
    let page = ask(&context, &late);
    assert_eq!(page.findings[0].kind, EvidenceKind::Change, "{:#?}", lines(&page));
}

#[test]
fn only_what_lies_in_the_window_is_shown() {
    let context = changed().context();
    let mut early = request("shop/ConfigMap/settings", 1);
    early.window = window("10:00:00", "10:20:00");
    let page = ask(&context, &early);
    assert!(page.findings.iter().all(|f| f.kind == EvidenceKind::Note), "{:#?}", lines(&page));
    assert!(ask(&context, &request("shop/Pod/unheard", 1)).findings.is_empty());
}

#[test]
fn new_messages_ask_for_more_about_their_relation() {
    let mut recording = changed();
    for minute in 10..30 {
        for (id, parent, service) in [("a", "", "edge"), ("b", "a", "web")] {
            recording.span(Span {
                at: format!("10:{minute}:00"),
                ids: ("t", format!("{id}{minute}"), format!("{parent}{minute}").replace("00", "")),
                name: "GET /",
                kind: "Server",
                service,
                ms: 5,
                failed: false,
                attributes: "{}",
            });
        }
    }
    let context = recording.context();
    let mut asked = request("shop/Service/web", 1);
    let before = ask(&context, &asked);
    asked.changed_neighbours.insert(id("shop/Service/edge"));
    let after = ask(&context, &asked);
    let more: Vec<_> =
        after.findings.iter().filter(|finding| !before.findings.contains(finding)).collect();
    let [traffic] = more[..] else { panic!("{:#?}", lines(&after)) };
    assert_eq!(traffic.signal, Signal::Traffic);
    assert_eq!(traffic.peer.as_ref().unwrap().entity, id("shop/Service/edge"));
}

/// The findings of every page until one is empty.
fn pages(context: &SnapshotContext, query: &ContextQuery) -> Vec<Vec<Finding>> {
    let page = |page| context.read(&ContextQuery { page, ..query.clone() }).findings;
    (1..).map(page).take_while(|findings| !findings.is_empty()).collect()
}

#[test]
fn a_page_keeps_to_its_budget_and_loses_nothing() {
    let mut recording = Recording::new();
    for at in 0..40 {
        recording.event("10:50:00", event("web", &format!("Reason{at:02}"), at));
    }
    let context = recording.context();
    let wide = ContextQuery::new(id("shop/Pod/web"), window("10:00:00", "11:00:00"));
    let narrow = ContextQuery { max_tokens: 600, ..wide.clone() };
    let (wide, narrow) = (pages(&context, &wide), pages(&context, &narrow));
    assert!(narrow.len() > wide.len(), "{} {}", narrow.len(), wide.len());
    for page in &narrow {
        let bytes: usize = page.iter().map(|one| serde_json::to_vec(one).unwrap().len()).sum();
        assert!(bytes <= 3 * 600, "{bytes}");
    }
    assert_eq!(wide.concat(), narrow.concat());
    let tiny = ContextQuery::new(id("shop/Pod/web"), window("10:00:00", "11:00:00"));
    let tiny = pages(&context, &ContextQuery { max_tokens: 1, ..tiny });
    assert_eq!(tiny.len(), 40);
}

#[test]
fn what_is_known_of_dependencies_comes_behind_the_own_findings() {
    let mut recording = changed();
    for (at, name) in ["b", "c"].into_iter().enumerate() {
        let volumes = json!([{"name": "v", "configMap": {"name": "settings"}}]);
        recording.object("10:15:00", workload("Deployment", name, json!({"name": "c"}), volumes));
        recording.event("10:20:00", event(name, "BackOff", at));
    }
    let context = recording.context();
    let query = ContextQuery::new(id("shop/Deployment/web"), window("10:00:00", "11:00:00"));
    let first = context.read(&query);
    assert_eq!(
        first.omitted,
        ["changes and events of shop/ConfigMap/settings are left for page 2 and later"]
    );
    let second = context.read(&ContextQuery { page: 2, ..query.clone() });
    let entities: Vec<_> = second.findings.iter().map(|one| one.entity.as_str()).collect();
    assert_eq!((entities, second.omitted.len()), (vec!["shop/ConfigMap/settings"], 0));
    let third = context.read(&ContextQuery { page: 3, ..query });
    assert!(third.findings.is_empty() && third.omitted.is_empty());
}

#[test]
fn the_tool_gives_what_the_contract_gives() {
    let recording = changed();
    let context = recording.context();
    let toolbox = Toolbox::new(Arc::new(recording.open()));
    for (name, page) in [("shop/Service/web", 1), ("shop/ConfigMap/settings", 0)] {
        let given = toolbox.call(
            "get_context_contract",
            json!({"entity": name, "page": page,
                "window": "2026-01-01T10:00:00Z/2026-01-01T11:00:00Z"}),
        );
        let expected = ask(&context, &request(name, page));
        assert!(!expected.findings.is_empty());
        assert_eq!(given.unwrap(), serde_json::to_value(expected).unwrap());
    }
    let wrong = [
        (json!({}), "entity: is missing"),
        (json!({"entity": "shop/Service/wep"}), "shop/Service/web"),
        (json!({"entity": "web", "deps_per_page": 0}), "deps_per_page"),
        (json!({"entity": "shop/Service/web", "max_tokens": 0}), "max_tokens"),
        (json!({"entity": "shop/Service/web", "window": "2027-01-01T10:00:00Z/"}), "window"),
        (json!({"entity": "shop/Service/web", "pages": 1}), "page"),
    ];
    for (arguments, part) in wrong {
        let error = toolbox.call("get_context_contract", arguments.clone()).unwrap_err();
        assert!(error.to_string().contains(part), "{arguments}: {error}");
    }
}

#[test]
fn what_did_not_shift_is_given_when_nothing_else_is_known() {
    let mut recording = Recording::new();
    let labels = json!({"alertname": "ErrorRate", "service_name": "edge", "namespace": "shop"});
    recording.alert("10:30:00", labels, "2026-01-01T10:15:00Z");
    for second in 0..1800 {
        recording.span(Span {
            at: format!("10:{:02}:{:02}", second / 60, second % 60),
            ids: ("t", format!("{second:x}"), String::new()),
            name: "GET /",
            kind: "Server",
            service: "web",
            ms: 5,
            failed: false,
            attributes: "{}",
        });
    }
    let context = recording.context();
    let page = ask(&context, &request("shop/Service/web", 1));
    let [steady] = &page.findings[..] else { panic!("{:#?}", lines(&page)) };
    assert_eq!((steady.signal, steady.trend), (Signal::Traffic, Trend::Steady));
    assert!(steady.excerpt.contains("1 requests a second served, 1 before"), "{}", steady.excerpt);
    let edge = ask(&context, &request("shop/Service/edge", 1));
    assert!(edge.findings.iter().all(|one| one.kind == EvidenceKind::Alert), "{:#?}", lines(&edge));
}
