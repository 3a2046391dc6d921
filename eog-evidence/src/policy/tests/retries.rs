//! Calls that are tried again, told from demand.

use eog_core::incident::Onset;

use super::*;
use crate::policy::retries::{may_be_tried_again, uses_less};

/// From 100 requests to so many.
fn requests(to: f64) -> FindingContent {
    let mut content = traffic(Trend::Rising, 5, to);
    content.quantity =
        Some(Quantity { observed: to, baseline: Some(100.0), unit: "requests".into() });
    content
}

/// From no failures to so many of a unit.
fn failures(to: f64, unit: &str) -> FindingContent {
    let mut content = errors(5);
    content.quantity = Some(Quantity { observed: to, baseline: Some(0.0), unit: unit.into() });
    content
}

fn may(surge: FindingContent, failed: FindingContent) -> bool {
    may_be_tried_again(&Finding::new(surge), &[&Finding::new(failed)], false)
}

#[test]
fn no_more_calls_are_tried_again_than_failed() {
    assert!(may(requests(180.0), failures(80.0, "requests")));
    assert!(!may(requests(180.0), failures(79.0, "requests")));
    // A share of all that came.
    assert!(may(requests(180.0), failures(0.45, "ratio")));
    assert!(!may(requests(180.0), failures(40.0, "percent")));
    assert!(may(requests(180.0), failures(45.0, "percent")));
    // Numbers of something else say nothing.
    assert!(!may(requests(180.0), failures(500.0, "1/s")));
}

#[test]
fn a_call_is_not_made_more_than_three_times() {
    assert!(may(requests(300.0), failures(300.0, "requests")));
    assert!(!may(requests(311.0), failures(311.0, "requests")), "a tenth is no shift");
    assert!(may(requests(309.0), failures(309.0, "requests")));
}

#[test]
fn callers_of_callers_try_again_where_less_is_in_use() {
    let by = |failed| {
        let (surge, failed) = (requests(900.0), failures(failed, "requests"));
        may_be_tried_again(&Finding::new(surge), &[&Finding::new(failed)], true)
    };
    assert!(by(850.0));
    assert!(!by(700.0), "more came than failed");
    let resource = |trend| finding(EvidenceKind::Metric, Signal::Saturation, trend, 5);
    assert!(uses_less(&Finding::new(resource(Trend::Falling))));
    assert!(!uses_less(&Finding::new(resource(Trend::Rising))));
    let of_callee = with_peer(resource(Trend::Falling), "callee", PeerRole::Callee);
    assert!(!uses_less(&Finding::new(of_callee)));
}

#[test]
fn what_comes_before_the_failures_is_demand() {
    let dated = |mut content: FindingContent, minute: i64| {
        content.onset = Some(Onset::at(at(minute)));
        content
    };
    let case = |surge, failed| {
        may(dated(requests(180.0), surge), dated(failures(90.0, "requests"), failed))
    };
    assert!(case(5, 5) && case(6, 5));
    assert!(!case(4, 5));
}

#[test]
fn failures_of_callees_bring_no_calls_here() {
    let called = with_peer(failures(90.0, "requests"), "callee", PeerRole::Callee);
    assert!(!may(requests(180.0), called));
}

#[test]
fn demand_does_not_enter_where_no_caller_knows_of_more() {
    // More comes than fails here.
    let findings = || vec![failures(50.0, "requests"), requests(280.0), alert(6)];
    let told = |label| vec![says("caller", label, &["me > caller"], &[EvidenceKind::Metric])];
    check(vec![
        ("nobody was asked", findings(), vec![], "defer, demand enters here ?caller"),
        ("it does not know", findings(), told(Label::Defer), "defer, demand enters here ?caller"),
        ("it would know", findings(), told(Label::Symptom), "symptom, cause not found ?callee"),
    ]);
}
