//! What becomes of alerts as they arrive: which of them are one incident, and which are not taken in.

use serde_json::{Value, json};

use crate::common::request;
use crate::on_call_lab::{Service, alert, folder};

/// A request of web that calls db, as spans of both ends.
fn calls() -> String {
    let at = eog::Timestamp::now().as_nanosecond() - 60_000_000_000;
    let span = |service: &str, id: &str, parent: &str, kind: u8, peer: &str| {
        json!({
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
            "scopeSpans": [{"spans": [{
                "traceId": "5b8efff798038103d269b633813fc60c", "spanId": id, "parentSpanId": parent,
                "name": "GET", "kind": kind,
                "startTimeUnixNano": at.to_string(), "endTimeUnixNano": (at + 5_000_000).to_string(),
                "attributes": [{"key": "peer.service", "value": {"stringValue": peer}}],
            }]}],
        })
    };
    let spans = [
        span("web", "eee19b7ec3c1b174", "", 3, "db"),
        span("db", "eee19b7ec3c1b175", "eee19b7ec3c1b174", 2, ""),
        span("mailer", "eee19b7ec3c1b176", "", 2, ""),
    ];
    json!({ "resourceSpans": spans }).to_string()
}

/// How many alerts each incident has, by the name of its first alert.
fn counts(service: &Service) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = service
        .incidents()
        .iter()
        .map(|one| (one["title"].as_str().unwrap().to_owned(), one["alerts"].as_u64().unwrap()))
        .collect();
    all.sort();
    all
}

#[test]
fn alerts_on_neighbours_by_the_latest_capture_are_one_incident() {
    for (settings, expected) in [
        ("", vec![("A and 1 more".to_owned(), 2), ("C".to_owned(), 1)]),
        (
            "[neighbours]\nhops = 0\n",
            vec![("A".to_owned(), 1), ("B".to_owned(), 1), ("C".to_owned(), 1)],
        ),
    ] {
        let folder = folder(&format!("[pace]\nsettle = '0s'\n{settings}"), "");
        std::fs::write(folder.path().join("spans.json"), calls()).unwrap();
        let mut service = Service::start(folder.path());
        service.takes(&alert("of-web", "1", "A", "web", None));
        service.incident(|one| one["investigation"].is_string());
        service.takes(&alert("of-db", "2", "B", "db", None));
        service.takes(&alert("of-mailer", "3", "C", "mailer", None));
        assert_eq!(counts(&service), expected, "{settings}");
        service.kill();
        // Also after a restart, by the captures that are kept.
        let service = Service::start(folder.path());
        service.takes(&alert("of-db", "4", "B", "db", None));
        let all: u64 = counts(&service).iter().map(|(_, alerts)| alerts).sum();
        assert_eq!((counts(&service).len(), all), (expected.len(), 4));
    }
}

#[test]
fn messages_of_sns_are_taken_in_with_a_signature_of_sns_alone() {
    let message = |certificate: &str| {
        json!({
            "Type": "Notification", "MessageId": "m", "TopicArn": "arn:aws:sns:eu-west-1:1:alarms",
            "Message": r#"{"AlarmName":"cart-5xx","NewStateValue":"ALARM","StateChangeTime":"2026-01-01T10:00:00.000+0000"}"#,
            "Timestamp": "2026-01-01T10:00:02.123Z", "SignatureVersion": "1", "Signature": "c2ln",
            "SigningCertURL": certificate,
        })
        .to_string()
    };
    // SNS sends JSON as text.
    let headers = "Host: localhost\r\nContent-Type: text/plain; charset=UTF-8\r\nx-amz-sns-message-type: Notification\r\n";
    let sent = |settings: &str| {
        let folder = folder(&format!("[pace]\nsettle = '1h'\n{settings}"), "");
        let service = Service::start(folder.path());
        let body = message("https://evil.test/SimpleNotificationService-0a.pem");
        let (status, answer) = service.raw(&request("POST", "/alerts", headers, &body)).unwrap();
        let is_open = service.incidents().iter().any(|it: &Value| it["title"] == "cart-5xx");
        (status, is_open, answer)
    };
    let (status, is_open, answer) = sent("");
    assert_eq!((status, is_open), (403, false), "{answer}");
    assert!(answer.contains("SigningCertURL is not a certificate of SNS"), "{answer}");
    let (status, is_open, answer) = sent("[sns]\nverify = false\n");
    assert_eq!((status, is_open), (200, true), "{answer}");
    let topics = "[sns]\nverify = false\ntopics = ['arn:aws:sns:eu-west-1:1:other']\n";
    let (status, is_open, answer) = sent(topics);
    assert_eq!((status, is_open), (403, false), "{answer}");
    assert!(answer.contains("alarms is not among sns.topics"), "{answer}");
}
