//! Answers that cannot be used.

use std::sync::Arc;

use eog_core::Finding;
use eog_core::evidence::{FindingContent, Signal};
use eog_evidence::open_case;
use eog_prompts::{ChatErrorKind, MockModel, Reply};
use serde_json::json;

use super::*;

fn window(anchors: &[&str]) -> Value {
    json!({
        "anchors": anchors, "start": "2026-03-20T11:45:00Z", "end": "2026-03-20T12:20:00Z",
        "reasoning": "errors begin",
    })
}

fn seeds_of(entity: &str, strength: &str, evidence: &[&str]) -> Value {
    json!({
        "candidates": [{ "entity": entity, "strength": strength, "evidence": evidence,
                         "explains": ["A1"], "reason": "it broke" }],
        "ignored": [], "reasoning": "as far as is known",
    })
}

#[test]
fn a_malformed_answer_is_corrected() {
    let model = MockModel::new("mock/slow")
        .then("The window is from 11:45 to 12:20.")
        .then(window(&["A1"]))
        .when_phase("filter_events", keep([], 0))
        .when_phase("filter_spec_changes", keep([1], 1))
        .when_phase("bootstrap", seeds_of("frontend", "change_before_alert", &["C1"]));
    let model = Arc::new(model);
    let opened = open(&flash_sale(), &model);
    assert_eq!(opened.fallbacks, []);
    assert_eq!(opened.usage.model_calls, 5);
    assert_eq!(opened.case.window.start(), at("2026-03-20T11:45:00Z"));
    let corrected = &model.requests()[1];
    assert_eq!(corrected.phase, "select_investigation_window");
    assert!(corrected.messages.last().unwrap().text.contains("not JSON"), "{corrected:?}");
}

#[test]
fn what_stays_malformed_is_chosen_by_rule_and_said() {
    let model = MockModel::new("mock/mute").answering(|_| Some(Reply::from("I would rather not.")));
    let model = Arc::new(model);
    let incident = flash_sale();
    let opened = open(&incident, &model);
    let fell_back: Vec<&str> = opened.fallbacks.iter().map(|fallback| fallback.phase).collect();
    let expected =
        ["select_investigation_window", "filter_events", "filter_spec_changes", "bootstrap"];
    assert_eq!(fell_back, expected);

    // Each phase once, with one correction: no retries without end.
    assert_eq!(model.requests().len(), 8);
    assert_eq!(opened.usage.model_calls, 8);

    let by_rule = open_case(&incident, None).unwrap();
    assert_eq!(opened.case.window, by_rule.window);
    assert_eq!(opened.case.seeds, by_rule.seeds);
    assert_eq!(opened.case.bootstrap.window_reason, by_rule.bootstrap.window_reason);
    let warnings = &opened.case.bootstrap.warnings;
    for phase in expected {
        let said = format!("{phase}: chosen by the rules, because no model could: mock/mute");
        assert!(warnings.iter().any(|warning| warning.starts_with(&said)), "{warnings:?}");
    }
}

#[test]
fn a_refusal_an_empty_and_a_cut_answer_fall_back_alone() {
    let model = MockModel::new("mock/moody")
        .when_phase("select_investigation_window", Reply::refused())
        .when_phase("filter_events", "")
        .when_phase("filter_spec_changes", keep([1], 1))
        .when_phase("bootstrap", Reply::cut("{\"candidates\": ["));
    let opened = open(&flash_sale(), &Arc::new(model));
    let reasons: Vec<&str> =
        opened.fallbacks.iter().map(|fallback| fallback.reason.as_str()).collect();
    assert_eq!(reasons.len(), 3);
    for (reason, said) in reasons.iter().zip(["refused", "empty", "cut"]) {
        assert!(reason.contains(said), "{reason}");
    }
}

#[test]
fn a_used_up_budget_ends_in_an_opening_by_rule() {
    let model = MockModel::new("mock/poor").answering(|_| {
        Some(Reply::error(
            ChatErrorKind::OverBudget(eog_core::BudgetKind::Cost),
            "no calls are left",
        ))
    });
    let model = Arc::new(model);
    let opened = open(&flash_sale(), &model);
    assert_eq!((opened.fallbacks.len(), model.requests().len()), (4, 4));
    assert_eq!(opened.case.seeds, open_case(&flash_sale(), None).unwrap().seeds);
}

/// The correction that the model gets when its seeds do not hold.
fn correction(seeds: &Value) -> String {
    let model = MockModel::new("mock/wrong")
        .when_phase("select_investigation_window", window(&["A1"]))
        .when_phase("filter_events", keep([1], 1))
        .when_phase("filter_spec_changes", keep([1, 2], 2))
        .when_phase("bootstrap", seeds.clone());
    let model = Arc::new(model);
    let opened = open(&flash_sale(), &model);
    assert_eq!(opened.fallbacks.len(), 1, "{seeds}");
    model.requests().last().unwrap().messages.last().unwrap().text.clone()
}

/// The flash sale, with changes of another signal, of something whose effects reach the gateway.
fn flash_sale_of(signal: Signal) -> Incident {
    let mut incident = flash_sale();
    let sales = incident.changes.iter_mut().filter(|it| it.signal == Signal::Demand);
    for change in sales {
        *change = Finding::new(FindingContent {
            signal,
            entity: id("catalog"),
            ..change.content().clone()
        });
    }
    incident
}

/// A fault that is injected into something is a change of that, too.
#[test]
fn an_injected_fault_is_a_change_of_whatever_it_reaches() {
    let seeds = seeds_of("gateway", "change_before_alert", &["C1", "C2"]);
    let corrected = |signal: Signal| {
        let model = MockModel::new("mock/sure")
            .when_phase("select_investigation_window", window(&["A1"]))
            .when_phase("filter_events", keep([], 0))
            .when_phase("filter_spec_changes", keep([1, 2], 2))
            .when_phase("bootstrap", seeds.clone());
        let opened = open(&flash_sale_of(signal), &Arc::new(model));
        opened.fallbacks.iter().map(|it| format!("{}: {}", it.phase, it.reason)).collect::<Vec<_>>()
    };
    assert_eq!(corrected(Signal::Experiment), Vec::<String>::new());
    assert!(corrected(Signal::Configuration)[0].contains("a cited change of its own"));
}

#[test]
fn seeds_that_do_not_hold_are_refused_with_the_reason() {
    let two = |first: &str, second: &str| {
        let first = &seeds_of(first, "alert_alone", &[])["candidates"][0];
        let second = &seeds_of(second, "change_before_alert", &["C1"])["candidates"][0];
        json!({ "candidates": [first, second], "ignored": [], "reasoning": "" })
    };
    let mut set_aside = seeds_of("frontend", "change_before_alert", &["C1"]);
    set_aside["ignored"] = json!([{ "item": "A1", "reason": "noise" }]);
    let mut unexplained = seeds_of("frontend", "change_before_alert", &["C1"]);
    unexplained["candidates"][0]["explains"] = json!([]);
    let cases = [
        (seeds_of("unknown", "alert_alone", &[]), "is no known entity"),
        (seeds_of("database", "failure_event", &["E1"]), "no effects travel from database to"),
        (seeds_of("mailer", "change_before_alert", &["C2"]), "no effects travel from mailer to"),
        (seeds_of("frontend", "change_before_alert", &["C9"]), "there is no \\\"C9\\\""),
        (seeds_of("frontend", "change_before_alert", &["C2"]), "a cited change of its own"),
        (seeds_of("gateway", "failure_event", &["E1"]), "a cited event of its own"),
        (seeds_of("gateway", "related_change", &["E1"]), "a cited change whose effects reach it"),
        (seeds_of("search", "alert_alone", &[]), "an alert of its own"),
        (two("gateway", "frontend"), "order them by strength"),
        (two("frontend", "frontend"), "is candidates[0] already"),
        (set_aside, "A1 is of a leading signal"),
        (unexplained, "explains no alert"),
        (json!({ "candidates": [], "ignored": [], "reasoning": "" }), "at least one entity"),
    ];
    for (seeds, said) in cases {
        let correction = correction(&seeds);
        assert!(correction.contains(said), "{said}: {correction}");
    }
}
