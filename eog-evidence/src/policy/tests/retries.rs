//! Calls that are tried again, told from demand.

use eog_core::incident::Onset;

use super::*;
use crate::policy::retries::may_be_tried_again;

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
    may_be_tried_again(&Finding::new(surge), &[&Finding::new(failed)])
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
    assert!(!may(requests(301.0), failures(301.0, "requests")));
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
