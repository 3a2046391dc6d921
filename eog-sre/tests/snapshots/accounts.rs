//! Which entities account for what by traces, and errors in logs joined by traces.

use eog_core::evidence::PeerRole;
use eog_core::{EvidenceKind, Finding};
use serde_json::json;

use crate::support::{LOG_HEADER, Recording, Span, id, lines, table, window};

/// `web` calls `shop`, which calls `db`: twenty requests a minute, slow and failing from 10:10 on, the alert at 10:12.
fn recording() -> Recording {
    let mut recording = Recording::new();
    for name in ["RequestLatency", "RequestErrorRate"] {
        let labels = json!({"alertname": name, "service_name": "web", "namespace": "shop"});
        recording.alert("10:15:00", labels, "2026-01-01T10:12:00Z");
    }
    for minute in 0..20 {
        for second in 0..20 {
            let late = minute >= 10;
            let ms = if late { 400 } else { 20 + second % 3 };
            let at = format!("10:{minute:02}:{:02}", second * 3);
            let mut parent = String::new();
            let spans = [
                ("web", "Server", 30),
                ("web", "Client", 20),
                ("shop", "Server", 15),
                ("shop", "Client", 5),
                ("db", "Server", 0),
            ];
            for (number, (service, kind, more)) in spans.into_iter().enumerate() {
                let own = format!("{minute:02}{second:02}{number}a");
                recording.span(Span {
                    at: at.clone(),
                    ids: ("t", own.clone(), std::mem::replace(&mut parent, own)),
                    name: "SELECT",
                    kind,
                    service,
                    ms: ms + more,
                    failed: late && second % 2 == 0,
                    attributes: "{}",
                });
            }
        }
    }
    recording
}

fn notes(findings: &[Finding]) -> Vec<&str> {
    let notes = findings.iter().filter(|finding| finding.kind == EvidenceKind::Note);
    notes.map(|finding| finding.excerpt.as_str()).collect()
}

#[test]
fn traces_say_who_has_what_of_bad_requests() {
    let context = recording().context();
    let window = window("10:00:00", "10:20:00");
    let web = context.page(&id("shop/Service/web"), window, 1);
    let texts = notes(&web.findings);
    let has = |start: &str, end: &str| {
        texts.iter().any(|note| note.starts_with(start) && note.ends_with(end))
    };
    assert!(
        has(
            "the slow requests of shop/Service/web (200 of ",
            "ms (100 %) of that is work of shop/Service/db (SELECT) on their critical paths"
        ),
        "{texts:#?}"
    );
    assert!(
        has(
            "of the failed requests of shop/Service/web (100 of 200), 100 more",
            "have their first error at shop/Service/db (SELECT): 100 % of the excess"
        ),
        "{texts:#?}"
    );
    assert!(
        has("over 200 requests, shop/Service/shop takes 379 ms longer", "it accounts for 100 %"),
        "{texts:#?}"
    );
    let first = web
        .findings
        .iter()
        .find(|finding| finding.excerpt.starts_with("the slow requests of shop/Service/web"))
        .unwrap();
    assert_eq!(first.peer.as_ref().unwrap().role, PeerRole::NextUpstream);
    assert_eq!(first.source, "otel_traces_raw.tsv");
}

#[test]
fn errors_in_logs_are_joined_by_their_traces() {
    let recording = recording();
    recording.write();
    let mut rows = Vec::new();
    for minute in 0..20 {
        for second in 0..20 {
            let mut row = |service: &str, ms: i64, severity: &str, body: &str| {
                let cell = |name: &&str| match *name {
                    "Timestamp" => format!("2026-01-01 10:{minute:02}:{:02}.{ms:03}", second * 3),
                    "TraceId" => format!("0af7651916cd43dd8448eb211c80{minute:02}{second:02}"),
                    "SeverityNumber" => severity.to_owned(),
                    "ServiceName" => service.to_owned(),
                    "Body" => body.to_owned(),
                    "ResourceAttributes" => "{'k8s.namespace.name': 'shop'}".to_owned(),
                    _ => String::new(),
                };
                rows.push(LOG_HEADER.iter().map(cell).collect::<Vec<String>>());
            };
            row("web", 0, "9", "request");
            if minute >= 10 && second % 2 == 0 {
                row("db", 100, "17", "deadlock found");
                row("web", 300, "17", "shop answered 500");
            }
        }
    }
    recording.file("otel_logs_raw.tsv", table(&LOG_HEADER, rows.into_iter()));
    let snapshot =
        eog_sre::Snapshot::open(recording.path(), &eog_sre::ReadOptions::default()).unwrap();
    let graph = snapshot.graph();
    let context = eog_sre::SnapshotContext::new(snapshot, graph);
    let window = window("10:00:00", "10:20:00");
    let db = lines(&context.page(&id("shop/Service/db"), window, 1));
    let begins = "of 100 requests with error lines here and elsewhere, 100 have the first one here (0 usual)";
    assert!(db.iter().any(|line| line.contains(begins)), "{db:#?}");
    let web = context.page(&id("shop/Service/web"), window, 1);
    let passed = web.findings.iter().find(|finding| finding.query.ends_with("joined by request"));
    let passed = passed.unwrap_or_else(|| panic!("{:#?}", lines(&web)));
    assert_eq!(passed.peer.as_ref().unwrap().entity, id("shop/Service/db"));
}
