//! A service on call: alerts that are sent to it, messages that it sends, and what it stores and shows.

use serde_json::{Value, json};

use crate::on_call_lab::{Receiver, Service, alert, folder, wait_for};
use crate::planted::{Planted, Written, planted};

fn notification(all: &[Planted]) -> String {
    let mut body: Value = serde_json::from_str(&alert("g", "f", "A", "web", None)).unwrap();
    let one = body["alerts"][0].clone();
    let alerts = all.iter().enumerate().map(|(place, planted)| {
        let mut one = one.clone();
        one["fingerprint"] = json!(place.to_string());
        one["labels"]["told"] = json!(planted.text);
        one["labels"]["alertname"] = json!(planted.text);
        one["annotations"] = json!({"summary": planted.text, "description": planted.text});
        one
    });
    body["alerts"] = alerts.collect();
    body["groupLabels"] = json!({"job": "web", "told": all[0].text});
    body["groupKey"] = json!(format!("{{}}:{{told=\"{}\"}}", all[0].text));
    body.to_string()
}

#[test]
fn no_secret_of_an_alert_is_sent_on_stored_or_shown() {
    let all = planted();
    let receiver = Receiver::start();
    let hooks: String = ["json", "slack", "markdown"]
        .iter()
        .map(|form| {
            let url = format!("http://127.0.0.1:{}/{form}", receiver.port);
            format!("[[webhook]]\nname = '{form}'\nurl = '{url}'\nformat = '{form}'\n")
        })
        .collect();
    let place = folder("[pace]\nsettle = '0s'\n", &hooks);
    let mut service = Service::start(place.path());
    let (status, told) = service.post("/alerts", &notification(&all)).unwrap();
    assert_eq!(status, 200, "{told}");
    let mut written = Written::default();
    for form in ["json", "slack", "markdown"] {
        let told = wait_for(|| receiver.of(form).first().cloned());
        written.text(form, &told.body);
    }
    let incidents = service.json("/incidents");
    written.text("incidents", &incidents.to_string());
    for path in ["/", "/metrics", "/readyz"] {
        written.text(path, &service.get(path).unwrap().1);
    }
    if let Some(investigation) = incidents["incidents"][0]["investigation"].as_str() {
        written.text("page", &service.get(&format!("/i/{investigation}")).unwrap().1);
    }
    service.kill();
    written.folder(&place.path().join("state"));
    written.check(&all, 5);
}
