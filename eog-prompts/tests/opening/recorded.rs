//! A recorded incident, when it is at hand beside the workspace. The recording is partial.

use std::path::PathBuf;
use std::sync::Arc;

use eog_prompts::{ChatRequest, MockModel, Reply};
use eog_sre::{ReadOptions, Snapshot};
use serde_json::json;

use super::*;

fn incident() -> Option<Incident> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    if !folder.join("scenario-2-partial").is_dir() {
        eprintln!("skipped: no recordings at ../shared/data/itbench beside the workspace");
        return None;
    }
    let options =
        ReadOptions { architecture: Some(folder.join("architecture.json")), ..Default::default() };
    let snapshot = Snapshot::open(folder.join("scenario-2-partial"), &options).unwrap();
    let mut incident = snapshot.incident(&snapshot.graph());
    // The recording has no failure event; with one of our own every phase is asked.
    let alert = incident.anomalies.iter().max_by_key(|alert| alert.onset).unwrap();
    let failure = eog_testkit::finding(alert.entity.as_str())
        .kind(eog_core::EvidenceKind::Event)
        .signal(eog_core::evidence::Signal::Availability)
        .at(&alert.onset.to_string())
        .excerpt("Unhealthy, once: a probe failed");
    incident.failures.push(failure.build());
    Some(incident)
}

/// Takes of everything the first line, and of alerts the first with a star.
fn read(request: &ChatRequest, incident: &Incident) -> Value {
    let alerts = block(request, "alerts");
    let anchor = called(&alerts, "*");
    match request.phase.as_str() {
        "select_investigation_window" => {
            let by_rule = eog_evidence::open_case(incident, None).unwrap().window;
            json!({
                "anchors": [anchor], "start": by_rule.start().to_string(),
                "end": by_rule.end().to_string(), "reasoning": "errors begin",
            })
        }
        "filter_events" => keep([1], block(request, "events").len()),
        "filter_spec_changes" => keep([1], 1),
        _ => {
            let line = block(request, "changes")[0];
            let (_, follows) = line.split_once("before ").unwrap();
            let follows = follows.split(';').next().unwrap();
            json!({
                "candidates": [{
                    "entity": line.split(' ').nth(2).unwrap(), "strength": "change_before_alert",
                    "evidence": ["C1"], "explains": [follows], "reason": "changed right before",
                }],
                "ignored": [], "reasoning": "one change explains all",
            })
        }
    }
}

#[test]
fn all_phases_open_the_recording() {
    let Some(incident) = incident() else { return };
    let copy = incident.clone();
    let model = MockModel::new("mock/reader")
        .answering(move |request| Some(Reply::from(read(request, &copy))));
    let model = Arc::new(model);
    let opened = open(&incident, &model);
    assert_eq!(opened.fallbacks, []);
    let mut asked = phases(&model);
    asked.dedup();
    let expected =
        ["select_investigation_window", "filter_events", "filter_spec_changes", "bootstrap"];
    assert_eq!(asked, expected);
    let (topology, changes) = (&incident.topology, &incident.changes);
    let map = eog_evidence::EffectMap::new(topology, changes, &incident.anomalies);
    assert_eq!(opened.case.seeds[0].entity, map.qualifying().next().unwrap().entity);
    assert_eq!(opened.case.bootstrap.evidence.len(), 1);
    for anomaly in &opened.case.anomalies {
        assert!(seeds(&opened).contains(&anomaly.entity.as_str()), "{}", anomaly.entity);
    }
    let counter = eog_prompts::TokenCounter::new("o200k_base");
    for request in model.requests() {
        let tokens = counter.request(&request);
        eprintln!("{}: {tokens} tokens", request.phase);
        assert!(tokens < 20_000, "{}: {tokens} tokens", request.phase);
    }
}
