//! The context contract: bounds, pages, order, notes.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use eog_core::{ContextContract, ContextRequest, EvidenceKind, Finding, LocalContext, Signal};
use eog_evidence::open_case;
use eog_sre::{PAGE_FINDINGS, SnapshotContext};
use serde_json::json;

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

#[test]
fn pages_are_bounded_and_together_whole() {
    let mut recording = changed();
    for at in 0..40 {
        let event = json!({"object": {"metadata": {"uid": format!("u{at}")}, "type": "Warning",
            "reason": format!("Reason{at:02}"), "message": "m",
            "involvedObject": {"kind": "ConfigMap", "name": "settings", "namespace": "shop"},
            "lastTimestamp": format!("2026-01-01T10:{at:02}:00Z")}});
        recording.event("10:50:00", event);
    }
    let context = recording.context();
    let first = ask(&context, &request("shop/ConfigMap/settings", 1));
    let second = ask(&context, &request("shop/ConfigMap/settings", 2));
    let third = ask(&context, &request("shop/ConfigMap/settings", 3));
    assert_eq!(first.findings.len(), PAGE_FINDINGS + 1, "{:#?}", lines(&first));
    assert_eq!(first.findings[0].kind, EvidenceKind::Change);
    assert_eq!(first.omitted, ["17 weaker findings are left for page 2 and later"]);
    assert_eq!((second.findings.len(), second.omitted.len()), (17, 0));
    assert!(third.findings.is_empty());
    let ids: BTreeSet<_> = first.findings.iter().chain(&second.findings).map(Finding::id).collect();
    assert_eq!(ids.len(), 42);
    assert_eq!(ask(&context, &request("shop/ConfigMap/settings", 0)), first);
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
