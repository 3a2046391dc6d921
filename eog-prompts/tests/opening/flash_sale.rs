//! The shipped example, phase by phase.

use std::sync::Arc;

use eog_evidence::open_case;
use eog_prompts::{ChatRequest, MockModel, Reply};
use serde_json::json;

use super::*;

/// A model that reads the prompts as a person would.
fn reader() -> MockModel {
    MockModel::new("mock/reader").answering(|request| Some(Reply::from(read(request))))
}

fn read(request: &ChatRequest) -> Value {
    let alert = called(&block(request, "alerts"), "HttpErrorRate");
    match request.phase.as_str() {
        "select_investigation_window" => json!({
            "anchors": [alert], "start": "2026-03-20T11:45:00Z", "end": "2026-03-20T12:20:00Z",
            "reasoning": "checkouts begin to fail at 12:08",
        }),
        "filter_events" => keep(1..=block(request, "events").len(), 2),
        "filter_spec_changes" => {
            let sale = called(&block(request, "changes"), "campaigns.spring-sale");
            keep([number(&sale)], 1)
        }
        "bootstrap" => {
            let (changes, events) = (block(request, "changes"), block(request, "events"));
            let memory = called(&events, "OutOfMemory");
            json!({
                "candidates": [
                    { "entity": "frontend", "strength": "change_before_alert",
                      "evidence": [called(&changes, "frontend")], "explains": [alert],
                      "reason": "the sale brought load to gateway" },
                    { "entity": "gateway", "strength": "related_change",
                      "evidence": [called(&changes, "frontend")], "explains": [alert],
                      "reason": "it serves the sale" },
                ],
                "ignored": [{ "item": memory, "reason": "no way to an alert" }],
                "reasoning": "load explains the errors",
            })
        }
        other => panic!("no answer for {other}"),
    }
}

#[test]
fn every_phase_is_asked_and_shapes_the_case() {
    let model = Arc::new(reader());
    let opened = open(&flash_sale(), &model);
    let expected =
        ["select_investigation_window", "filter_events", "filter_spec_changes", "bootstrap"];
    assert_eq!(phases(&model), expected);
    assert_eq!(opened.fallbacks, []);
    assert_eq!(opened.usage.model_calls, 4);

    let case = &opened.case;
    assert_eq!(case.window.start(), at("2026-03-20T11:45:00Z"));
    assert_eq!(case.window.end(), at("2026-03-20T12:20:00Z"));
    let reason = &case.bootstrap.window_reason;
    assert!(
        reason.starts_with("chosen by mock/reader around HttpErrorRate on gateway"),
        "{reason}"
    );
    assert_eq!(seeds(&opened), ["frontend", "gateway"]);
    let reason = &case.seeds[0].reason;
    assert!(reason.starts_with("changed before the alert, may explain HttpErrorRate"), "{reason}");
    assert_eq!(case.bootstrap.evidence.len(), 1);
    assert_eq!(case.bootstrap.evidence[0].entity.as_str(), "frontend");
    let set_aside = case.bootstrap.ignored.last().unwrap();
    assert!(set_aside.contains("on database: no way to an alert"), "{set_aside}");
}

#[test]
fn prompts_show_what_the_choice_needs() {
    let model = Arc::new(reader());
    open(&flash_sale(), &model);
    let requests = model.requests();
    let [window, events, changes, bootstrap] = requests.as_slice() else { panic!("{requests:?}") };
    assert!(question(window).contains("from 2026-03-20T11:12:00Z to "), "{}", question(window));
    assert!(
        block(window, "alerts")[0].starts_with("A1* 12:08:00, last seen 12:30:00: gateway errors")
    );
    assert!(block(events, "events")[0].contains("no known way to an alert"));
    assert!(question(events).contains("Keep at most "));
    // The demand that was changed comes before the nightly restart.
    let lines = block(changes, "changes");
    let sale = "[1] 12:00:00 frontend demand \"the spring flash sale went live (campaigns.";
    assert!(lines[0].starts_with(sale), "{lines:?}");
    assert!(lines[0].ends_with("| 8m 0s before A1; reaches A1"), "{lines:?}");
    assert!(lines[1].contains("mailer restart"), "{lines:?}");
    assert_eq!(block(bootstrap, "changes").len(), 1);
    assert!(block(bootstrap, "changes")[0].starts_with("C1 12:00:00 frontend"));
}

#[test]
fn the_same_incident_asks_the_same() {
    let (first, second) = (Arc::new(reader()), Arc::new(reader()));
    let opened = open(&flash_sale(), &first);
    assert_eq!(open(&flash_sale(), &second), opened);
    assert_eq!(first.requests(), second.requests());

    // Resumed from a recording: nothing is asked that was not asked before.
    let answers: Vec<_> = first
        .requests()
        .into_iter()
        .map(|request| {
            let answer = first.answer(&request).unwrap();
            (request, answer)
        })
        .collect();
    let recording = Arc::new(MockModel::recorded("mock/reader", answers));
    assert_eq!(open(&flash_sale(), &recording), opened);
}

#[test]
fn what_has_only_one_answer_is_not_asked() {
    // One alert, two events and two changes: one incident, and nothing to pick from.
    let model = Arc::new(reader());
    let opened = open_with(&flash_sale(), &model, OpeningLimits::default());
    assert_eq!(phases(&model), ["bootstrap"]);
    assert_eq!(opened.usage.model_calls, 1);
    let by_rule = open_case(&flash_sale(), None).unwrap();
    assert_eq!(opened.case.window, by_rule.window);
    assert_eq!(opened.case.bootstrap.window_reason, by_rule.bootstrap.window_reason);
    assert_eq!(seeds(&opened), ["frontend", "gateway"]);
    // All that was recorded is shown, and nothing is said to be left out.
    assert_eq!(block(&model.requests()[0], "changes").len(), 2);
    assert_eq!(opened.left_out, [] as [String; 0]);
}

#[test]
fn alerts_of_more_than_one_incident_ask_for_a_window() {
    let mut incident = flash_sale();
    let mut later = incident.anomalies[0].clone();
    later.onset = at("2026-03-20T13:07:59Z");
    later.last_seen = None;
    incident.anomalies.push(later);
    let asked = |incident: &Incident| {
        let model = Arc::new(reader());
        open_with(incident, &model, OpeningLimits::default());
        phases(&model)
    };
    assert_eq!(asked(&incident)[0], "bootstrap");
    incident.anomalies[1].onset = at("2026-03-20T13:08:00Z");
    assert_eq!(asked(&incident)[0], "select_investigation_window");
    // What fires anew begins again.
    incident.anomalies.pop();
    incident.anomalies[0].renewed = vec![at("2026-03-20T13:08:00Z")];
    assert_eq!(asked(&incident)[0], "select_investigation_window");
    // Alerts of weaker signals do not count.
    incident.anomalies[0].renewed = vec![];
    let mut weak = incident.anomalies[0].clone();
    weak.signal = eog_core::evidence::Signal::Saturation;
    weak.onset = at("2026-03-20T16:00:00Z");
    incident.anomalies.push(weak);
    assert_eq!(asked(&incident)[0], "bootstrap");
}

#[test]
fn a_given_window_is_not_asked_for() {
    let model = Arc::new(reader());
    let prompter = Prompter::new(Arc::new(Pack::sre()), vec![Arc::<MockModel>::clone(&model)]);
    let opening = Opening::new(Arc::new(prompter)).with_limits(OpeningLimits::asking_always());
    let window = eog_core::Window::new(at("2026-03-20T11:50:00Z"), at("2026-03-20T12:10:00Z"));
    let opened = block_on(opening.open(&flash_sale(), window.ok())).unwrap();
    assert_eq!(phases(&model)[0], "filter_events");
    assert_eq!(opened.case.bootstrap.window_reason, "given by the caller");
}

#[test]
fn without_an_alert_in_the_window_nothing_is_asked() {
    let model = Arc::new(MockModel::new("mock/never"));
    let incident = Incident { anomalies: vec![], ..flash_sale() };
    let window = eog_core::Window::new(at("2026-03-20T11:50:00Z"), at("2026-03-20T12:10:00Z")).ok();
    let prompter = Prompter::new(Arc::new(Pack::sre()), vec![Arc::<MockModel>::clone(&model)]);
    let opened = block_on(Opening::new(Arc::new(prompter)).open(&incident, window)).unwrap();
    assert_eq!(opened.case, open_case(&incident, window).unwrap());
    assert!(model.requests().is_empty());
}

/// The prompts as a model sees them, so that a change of wording is seen in review.
#[test]
fn prompts_of_all_phases() {
    let model = Arc::new(reader());
    open(&flash_sale(), &model);
    for request in model.requests() {
        let texts = request.messages.iter().map(|message| message.text.as_str());
        let shown = texts.collect::<Vec<_>>().join("\n=== user ===\n");
        insta::assert_snapshot!(request.phase.as_str(), shown);
    }
}
