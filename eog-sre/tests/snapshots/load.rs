//! Findings about calls that were not accepted, about steady traffic, and about the sources of load.

use std::collections::BTreeSet;

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::{ContextRequest, Finding};
use eog_evidence::demand_path;
use serde_json::json;

use crate::contract::ask;
use crate::support::{Recording, Span, id, lines, service, window, workload};

/// Minutes of requests from `crowd` to `web` and from there to `db`; `rate` a minute.
fn requests(recording: &mut Recording, minutes: std::ops::Range<u32>, rate: u32, db_lives: bool) {
    for minute in minutes {
        for at in 0..rate {
            let clock = format!("10:{minute:02}:{:02}", at * 60 / rate);
            let ids = ["a", "b", "c", "d"].map(|part| format!("{part}{minute:02}{at:02}"));
            let [root, page, call, query] = ids;
            let mut span = |id: &str, parent: &str, kind, service, attributes, failed| {
                recording.span(Span {
                    at: clock.clone(),
                    ids: ("t", id.to_owned(), parent.to_owned()),
                    name: "op",
                    kind,
                    service,
                    ms: 5,
                    failed,
                    attributes,
                });
            };
            span(&root, "", "Client", "crowd", "{}", false);
            span(&page, &root, "Server", "web", "{}", !db_lives);
            span(&call, &page, "Client", "web", "{'server.address': 'db'}", !db_lives);
            if db_lives {
                span(&query, &call, "Server", "db", "{}", false);
            }
        }
    }
}

fn recording() -> Recording {
    let mut recording = Recording::new();
    let labels = json!({"alertname": "ErrorRate", "service_name": "web", "namespace": "shop"});
    recording.alert("10:15:00", labels, "2026-01-01T10:10:30Z");
    for name in ["web", "db"] {
        recording.object("10:00:00", service(name, name));
    }
    recording
}

fn with_peer(findings: &[Finding], signal: Signal, role: PeerRole) -> Vec<(String, Trend)> {
    let found = findings.iter().filter(|finding| finding.signal == signal);
    found
        .filter_map(|finding| {
            let peer = finding.peer.as_ref().filter(|peer| peer.role == role)?;
            Some((peer.entity.to_string(), finding.trend))
        })
        .collect()
}

#[test]
fn calls_that_were_not_accepted_are_reported_by_the_caller_for_both_sides() {
    let mut recording = recording();
    requests(&mut recording, 0..10, 6, true);
    requests(&mut recording, 11..20, 6, false);
    let context = recording.context();
    let window = window("10:00:00", "10:20:00");
    let web = context.page(&id("shop/Service/web"), window, 1);
    let db = context.page(&id("shop/Service/db"), window, 1);
    let cases =
        [(&web, PeerRole::Callee, "shop/Service/db"), (&db, PeerRole::Caller, "shop/Service/web")];
    for (page, role, peer) in cases {
        let found = with_peer(&page.findings, Signal::Errors, role);
        assert_eq!(found, [(peer.to_owned(), Trend::Rising)], "{:#?}", lines(page));
    }
    assert!(with_peer(&web.findings, Signal::Errors, PeerRole::Caller).is_empty());
}

#[test]
fn traffic_that_did_not_shift_is_steady() {
    // By little; by half, but not more than by chance; by half, and many.
    steady_or_not(10, 11, Trend::Steady);
    steady_or_not(3, 5, Trend::Steady);
    steady_or_not(20, 32, Trend::Rising);
}

/// What is said of requests at so many a minute, before and after.
fn steady_or_not(before: u32, after: u32, expected: Trend) {
    let mut recording = recording();
    requests(&mut recording, 0..10, before, true);
    requests(&mut recording, 10..20, after, true);
    let context = recording.context();
    let request = ContextRequest {
        entity: id("shop/Service/web"),
        window: window("10:00:00", "10:20:00"),
        page: 1,
        visit: 2,
        changed_neighbours: BTreeSet::from([id("shop/Service/crowd"), id("shop/Service/db")]),
        query: None,
    };
    let page = ask(&context, &request);
    for (role, peer) in
        [(PeerRole::Caller, "shop/Service/crowd"), (PeerRole::Callee, "shop/Service/db")]
    {
        let found = with_peer(&page.findings, Signal::Traffic, role);
        assert_eq!(found, [(peer.to_owned(), expected)], "{:#?}", lines(&page));
    }
}

#[test]
fn a_change_of_what_only_sends_is_one_of_demand_when_more_is_sent() {
    let users = |count: &str| {
        let container = json!({"name": "c", "env": [{"name": "USERS", "value": count}]});
        workload("Deployment", "crowd", container, json!([]))
    };
    for (late_rate, expected) in [(30, Signal::Demand), (6, Signal::Configuration)] {
        let mut recording = recording();
        recording.object("10:05:00", users("1"));
        recording.object("10:10:00", users("9"));
        requests(&mut recording, 0..10, 6, true);
        requests(&mut recording, 10..20, late_rate, true);
        let snapshot = recording.open();
        let graph = snapshot.graph();
        let incident = snapshot.incident(&graph);
        let [change] = &incident.changes[..] else { panic!("{:#?}", incident.changes) };
        assert_eq!(change.signal, expected, "{late_rate}");
        let crowd = id("shop/Deployment/crowd");
        let path = demand_path(graph.topology(), &crowd, &id("shop/Service/db")).unwrap();
        assert_eq!(path.len(), 4, "{path:?}");
        let context = eog_sre::SnapshotContext::new(snapshot, graph);
        let page = context.page(&crowd, window("10:00:00", "10:20:00"), 1);
        let surges = |f: &&Finding| f.signal == Signal::Traffic && f.trend == Trend::Rising;
        let rises = page.findings.iter().filter(surges).count();
        assert_eq!(rises > 0, expected == Signal::Demand, "{:#?}", lines(&page));
    }
}
