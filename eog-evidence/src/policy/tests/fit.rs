//! Which of several explanations fits: by time, by how much, by where it is seen.

use eog_core::incident::Onset;

use super::*;

fn measured(mut content: FindingContent, baseline: f64, observed: f64) -> FindingContent {
    let unit = if content.signal == Signal::Latency { "ms" } else { "ratio" };
    content.quantity = Some(Quantity { observed, baseline: Some(baseline), unit: unit.into() });
    content
}

/// Calls to a callee that fail, as a share of all.
fn failing(callee: &str, ratio: f64) -> FindingContent {
    let content = finding(EvidenceKind::Span, Signal::Errors, Trend::Rising, 9);
    with_peer(measured(content, 0.0, ratio), callee, PeerRole::Callee)
}

/// Calls to a callee that take longer, in milliseconds.
fn slow(callee: &str, to: f64) -> FindingContent {
    let content = finding(EvidenceKind::Span, Signal::Latency, Trend::Rising, 9);
    with_peer(measured(content, 100.0, to), callee, PeerRole::Callee)
}

fn late(minute: i64) -> FindingContent {
    finding(EvidenceKind::Alert, Signal::Latency, Trend::Rising, minute)
}

/// A failure of a part.
fn part(name: &str, minute: i64) -> FindingContent {
    FindingContent { entity: id(name), ..crash(minute) }
}

#[test]
fn own_changes_give_way_to_what_fits_better() {
    let blamed = || vec![says("caller", Symptom, &["me > caller"], &[Log])];
    check(vec![
        (
            "harm, and a change elsewhere much nearer before it",
            vec![change(Configuration, 5), route(20, "callee"), errors(21)],
            vec![],
            "symptom, changed upstream callee>me",
        ),
        (
            "harm, and a change elsewhere about as near",
            vec![change(Configuration, 5), route(8, "callee"), errors(21)],
            vec![],
            "origin, own change",
        ),
        (
            "changed when in trouble by a change elsewhere",
            vec![change(Configuration, 20), route(5, "callee"), errors(6), alert(21)],
            vec![],
            "symptom, changed upstream callee>me",
        ),
        (
            "blamed for what passes through",
            vec![change(Configuration, 20), route(5, "callee")],
            blamed(),
            "defer, on the path callee>me",
        ),
        (
            "an alert that it reaches follows",
            vec![change(Configuration, 5), impact(5, 9, "caller"), route(20, "callee")],
            vec![],
            "origin, own change me>caller",
        ),
        (
            "blamed, and nothing of its own is measured",
            vec![change(Configuration, 5), impact(5, 9, "caller"), route(3, "callee")],
            blamed(),
            "origin, own change me>caller",
        ),
        (
            "blamed, and what it serves is as usual",
            vec![
                change(Configuration, 5),
                impact(5, 9, "caller"),
                route(3, "callee"),
                steady(Signal::Errors),
            ],
            blamed(),
            "defer, on the path callee>me",
        ),
        (
            "an alert follows, and what it serves is as usual",
            vec![change(Configuration, 5), impact(5, 9, "caller"), steady(Signal::Errors)],
            vec![],
            "healthy, nothing unusual",
        ),
        (
            "an alert follows, and less is served",
            vec![
                change(Configuration, 5),
                impact(5, 9, "caller"),
                steady(Signal::Errors),
                traffic(Trend::Falling, 6, 10.0),
            ],
            vec![],
            "origin, own change me>caller",
        ),
        (
            "an alert follows, and calls to others are as usual, of which it makes fewer",
            vec![
                change(Configuration, 5),
                impact(5, 9, "caller"),
                steady(Signal::Errors),
                with_peer(
                    finding(EvidenceKind::Note, Signal::Traffic, Trend::Falling, 6),
                    "callee",
                    PeerRole::Callee,
                ),
            ],
            vec![],
            "origin, own change me>caller",
        ),
    ]);
}

/// A finding with a measured onset, from one minute to another.
fn begun(mut content: FindingContent, from: i64, to: i64) -> FindingContent {
    content.onset = Some(Onset::between(at(from), at(to)));
    content
}

#[test]
fn where_somebody_upstream_does_worse_a_change_is_followed_at_once_or_doubted() {
    let case = |harm: FindingContent, calls: FindingContent| {
        vec![change(Configuration, 5), impact(5, 14, "caller"), harm, calls]
    };
    let own = |from, to| begun(errors(14), from, to);
    check(vec![
        (
            "nobody does worse",
            case(own(11, 12), steady(Signal::Latency)),
            vec![],
            "origin, own change me>caller",
        ),
        (
            "at once",
            case(own(6, 7), failing("callee", 0.5)),
            vec![],
            "origin, own change me>caller",
        ),
        (
            "six minutes later",
            case(own(11, 12), failing("callee", 0.5)),
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "at once or much later: it was idle in between",
            case(own(6, 30), failing("callee", 0.5)),
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "nobody knows when",
            case(errors(14), failing("callee", 0.5)),
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "a part of it does worse, maybe by the change",
            case(errors(14), steady(Signal::Latency)),
            vec![says("pod", Symptom, &[], &[Log])],
            "origin, own change me>caller",
        ),
    ]);
}

#[test]
fn what_does_not_show_here_is_not_accounted_for_by_others() {
    let share = |signal| {
        let mut content = finding(EvidenceKind::Note, signal, Trend::Rising, 9);
        content.quantity = Some(Quantity { observed: 0.0, baseline: None, unit: "ratio".into() });
        with_peer(content, "callee", PeerRole::NextUpstream)
    };
    let worse = || vec![says("callee", Symptom, &[], &[Log])];
    check(vec![
        (
            "nothing of the failures here",
            vec![errors(9), share(Signal::Errors)],
            worse(),
            "symptom, cause not found ?callee",
        ),
        (
            "nothing of failures, where none are",
            vec![late(9), share(Signal::Errors)],
            worse(),
            "symptom, degraded upstream callee>me",
        ),
    ]);
}

/// A count of failures in a step.
fn counted(mut content: FindingContent, observed: f64) -> FindingContent {
    content.kind = EvidenceKind::Metric;
    let unit = "requests".to_owned();
    content.quantity = Some(Quantity { observed, baseline: Some(0.0), unit });
    content
}

#[test]
fn few_failed_calls_do_not_explain_many_failed_requests() {
    let calls = |callee, number| counted(failing(callee, 0.0), number);
    let log = with_peer(errors(9), "callee", PeerRole::Callee);
    check(vec![
        (
            "half as many",
            vec![calls("callee", 10.0), counted(errors(9), 20.0)],
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "far fewer",
            vec![calls("callee", 1.0), calls("other", 15.0), counted(errors(9), 20.0)],
            vec![],
            "symptom, failing callee other>me",
        ),
        (
            "far fewer, and lines tell of them, whose number is not known",
            vec![calls("callee", 1.0), log, counted(errors(9), 20.0)],
            vec![],
            "symptom, failing callee callee>me",
        ),
    ]);
}

#[test]
fn callees_count_when_they_account_for_it() {
    check(vec![
        (
            "far fewer calls fail than elsewhere",
            vec![failing("callee", 0.5), failing("other", 0.1), alert(10)],
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "about as many",
            vec![failing("callee", 0.5), failing("other", 0.3), alert(10)],
            vec![],
            "symptom, failing callee callee>me other>me",
        ),
        (
            "far fewer than here, and a change has a path here",
            vec![failing("callee", 0.1), measured(errors(9), 0.0, 0.5), route(8, "other")],
            vec![],
            "symptom, changed upstream other>me",
        ),
        (
            "far fewer than here, and nothing else is known",
            vec![failing("callee", 0.1), measured(errors(9), 0.0, 0.5)],
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "slow ones explain no errors while others fail",
            vec![slow("other", 900.0), failing("callee", 0.1), alert(10)],
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "slow ones explain errors when none fails",
            vec![slow("other", 900.0), alert(10)],
            vec![],
            "symptom, failing callee other>me",
        ),
        (
            "failing ones explain no latency while others are slow",
            vec![failing("callee", 0.1), slow("other", 900.0), late(10)],
            vec![],
            "symptom, failing callee other>me",
        ),
        (
            "hardly slower than before, beside much slower",
            vec![slow("callee", 150.0), slow("other", 900.0), late(10)],
            vec![],
            "symptom, failing callee other>me",
        ),
    ]);
}

#[test]
fn nothing_comes_through_a_neighbour_that_is_well() {
    let heard = |label| vec![says("callee", label, &[], &[])];
    check(vec![
        (
            "not heard yet",
            vec![route(5, "callee"), errors(9)],
            vec![],
            "symptom, changed upstream callee>me",
        ),
        (
            "it does not know",
            vec![route(5, "callee"), errors(9)],
            heard(Label::Defer),
            "symptom, changed upstream callee>me",
        ),
        (
            "it is well",
            vec![route(5, "callee"), errors(9)],
            heard(Healthy),
            "symptom, cause not found",
        ),
    ]);
}

#[test]
fn a_failure_is_recorded_after_less_was_served() {
    let dated = |content: FindingContent, second: i64| {
        let onset = Onset::at(Timestamp::from_second(second).unwrap());
        FindingContent { onset: Some(onset), ..content }
    };
    let expired = FindingContent { kind: EvidenceKind::Event, ..crash(20) };
    let since = |drop: i64| {
        let drop = dated(traffic(Trend::Falling, 20, 5.0), drop);
        let (_, decision) = decide(vec![dated(expired.clone(), 1_200), drop], vec![]);
        decision.since.map(|since| since.earliest().as_second())
    };
    assert_eq!(since(1_100), Some(1_100));
    assert_eq!(since(1_300), Some(1_200), "afterwards less is asked");
    assert_eq!(
        since(600),
        Some(900),
        "long before, for some other reason: in the last five minutes"
    );
}

#[test]
fn failures_are_located() {
    check(vec![
        (
            "an alert alone",
            vec![finding(EvidenceKind::Alert, Signal::Availability, Trend::Rising, 9)],
            vec![],
            "symptom, cause not found ?callee",
        ),
        (
            "an alert and an event",
            vec![finding(EvidenceKind::Alert, Signal::Availability, Trend::Rising, 9), crash(8)],
            vec![],
            "origin, no longer available",
        ),
        (
            "one part first",
            vec![part("pod", 8), crash(9)],
            vec![],
            "symptom, failure of a part pod>me",
        ),
        ("one part later", vec![part("pod", 9), crash(8)], vec![], "origin, no longer available"),
        (
            "one part ran out first",
            vec![FindingContent { entity: id("pod"), ..exhaustion(8) }, exhaustion(9)],
            vec![],
            "symptom, failure of a part pod>me",
        ),
        (
            "several parts",
            vec![part("pod", 8), part("pod2", 9), crash(10)],
            vec![],
            "origin, no longer available",
        ),
    ]);
}

#[test]
fn less_arrives() {
    let fewer = || traffic(Trend::Falling, 9, 1.0);
    let seen = || {
        let content = finding(EvidenceKind::Span, Signal::Errors, Trend::Rising, 9);
        with_peer(measured(content, 0.0, 1.0), "caller", PeerRole::Caller)
    };
    let caller = || says("caller", Symptom, &["me > caller"], &[Log]);
    check(vec![
        ("a caller does worse", vec![fewer()], vec![caller()], "symptom, less arrives caller>me"),
        (
            "callers see calls fail that do not reach it",
            vec![seen(), fewer()],
            vec![caller()],
            "symptom, less arrives caller>me",
        ),
        (
            "it fails itself",
            vec![errors(9), fewer()],
            vec![caller()],
            "symptom, cause not found ?callee",
        ),
        (
            "a change has a path here",
            vec![fewer(), route(5, "callee")],
            vec![caller()],
            "defer, on the path callee>me",
        ),
        (
            "callers are healthy",
            vec![fewer()],
            vec![says("caller", Healthy, &[], &[])],
            "symptom, cause not found",
        ),
    ]);
}

#[test]
fn traffic_that_follows_a_change_elsewhere_does_not_enter_here() {
    let more = || traffic(Trend::Rising, 9, 400.0);
    let blamed = || vec![says("caller", Symptom, &["me > caller"], &[Log])];
    check(vec![
        ("after it", vec![more(), route(9, "callee")], blamed(), "defer, on the path callee>me"),
        ("before it", vec![more(), route(10, "callee")], blamed(), "defer, more traffic"),
    ]);
}

#[test]
fn what_still_reaches_a_service_says_nothing_of_the_rest() {
    let caller = || says("caller", Symptom, &["me > caller"], &[Log]);
    let pod = |label| says("pod", label, &[], &[Event]);
    let steady = || steady(Signal::Errors);
    let rows = vec![
        (
            "its pod fails",
            vec![steady()],
            vec![caller(), pod(Origin)],
            "symptom, rests on what fails pod>me",
        ),
        (
            "its pod is well",
            vec![steady()],
            vec![caller(), pod(Healthy)],
            "healthy, nothing unusual",
        ),
        ("nobody complains", vec![steady()], vec![pod(Origin)], "healthy, nothing unusual"),
        (
            "it does worse itself",
            vec![errors(9)],
            vec![caller(), pod(Origin)],
            "symptom, degraded upstream pod>me",
        ),
        (
            "a change has a path here",
            vec![steady(), route(5, "callee")],
            vec![caller(), pod(Origin)],
            "defer, on the path callee>me",
        ),
    ];
    check(rows);
}

#[test]
fn a_median_as_ever_does_not_clear_whom_what_adds_up_accuses() {
    let usual = FindingContent { trend: Trend::Steady, ..slow("callee", 100.0) };
    let has = |share: f64| {
        let note = finding(EvidenceKind::Note, Signal::Latency, Trend::Rising, 9);
        let quantity = Some(Quantity { observed: share, baseline: None, unit: "share".into() });
        with_peer(FindingContent { quantity, ..note }, "callee", PeerRole::NextUpstream)
    };
    check(vec![
        (
            "most of what is lost is lost there",
            vec![change(Configuration, 5), late(9), usual.clone(), has(0.9)],
            vec![],
            "symptom, accounted for upstream callee>me",
        ),
        (
            "nothing is",
            vec![change(Configuration, 5), late(9), usual, has(0.0)],
            vec![],
            "origin, own change",
        ),
    ]);
}

#[test]
fn what_another_does_by_itself_is_not_owed_to_a_change_here() {
    let said = |rule: &str| {
        let mut message = says("caller", Origin, &[], &[Metric]);
        message.belief.rule = Some(rule.to_owned());
        let (_, decision) =
            decide(vec![change(Configuration, 5), impact(5, 9, "caller")], vec![message]);
        in_short(&decision)
    };
    assert_eq!(said("first in trouble"), "origin, own change me>caller");
    for rule in ["crowds out", "no longer available", "own failure"] {
        assert_eq!(said(rule), "defer, unexplaining change", "{rule}");
    }
}
