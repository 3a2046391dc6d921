//! What the calls of an entity say: slow ones against its books, those that it leaves out, and where to look.

use super::*;

/// Calls to a callee that take ten times as long.
fn slow(callee: &str) -> FindingContent {
    let mut content = finding(EvidenceKind::Span, Signal::Latency, Trend::Rising, 9);
    content.quantity = Some(Quantity { observed: 100.0, baseline: Some(10.0), unit: "ms".into() });
    with_peer(content, callee, PeerRole::Callee)
}

/// The same with what they take now, where 10 ms are usual.
fn slower(now: f64) -> FindingContent {
    let mut content = slow("callee");
    content.quantity = Some(Quantity { observed: now, baseline: Some(10.0), unit: "ms".into() });
    content
}

/// A callee that is called less often for each request.
fn left_out(callee: &str) -> FindingContent {
    let content = finding(EvidenceKind::Note, Signal::Traffic, Trend::Falling, 5);
    with_peer(content, callee, PeerRole::Callee)
}

/// Somebody upstream that is hit hard.
fn hit(name: &str) -> FindingContent {
    let content = finding(EvidenceKind::Note, Signal::Latency, Trend::Rising, 5);
    with_peer(content, name, PeerRole::NextUpstream)
}

fn late() -> FindingContent {
    finding(EvidenceKind::Alert, Signal::Latency, Trend::Rising, 9)
}

#[test]
fn what_a_callee_accounts_for_says_more_than_that_it_is_slow() {
    let share = |callee, percent| accounts(Signal::Latency, callee, percent);
    check(vec![
        (
            "a slow callee, nothing on the books",
            vec![late(), slow("callee")],
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "the rest is its own: a starved caller sees all its calls late",
            vec![late(), slow("callee"), share("callee", 5), rest(Signal::Latency, 95)],
            vec![],
            "origin, accounted for by nobody ?callee",
        ),
        (
            "another accounts for it",
            vec![late(), slow("callee"), share("other", 90), share("callee", 5)],
            vec![],
            "symptom, accounted for upstream other>me",
        ),
        (
            "a third is a little slower",
            vec![
                late(),
                slow("callee"),
                with_peer(slower(14.0), "third", PeerRole::Callee),
                share("callee", 90),
            ],
            vec![],
            "symptom, accounted for upstream callee>me",
        ),
        (
            "calls that fail stay",
            vec![alert(9), calling("callee", 9), share("other", 90), share("callee", 5)],
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "books on which nothing is say nothing",
            vec![late(), slow("callee"), share("callee", 0)],
            vec![],
            "symptom, failing callee callee>me",
        ),
    ]);
}

#[test]
fn who_leaves_calls_out_stops_short() {
    let healthy = || steady(Signal::Latency);
    check(vec![
        ("calls are left out", vec![healthy(), left_out("b")], vec![], "origin, stops short"),
        (
            "calls that it makes fail",
            vec![healthy(), left_out("b"), calling("a", 9)],
            vec![],
            "symptom, failing callee a>me",
        ),
        (
            "a change upstream may explain it",
            vec![healthy(), left_out("b"), errors(9), route(5, "callee")],
            vec![],
            "symptom, changed upstream callee>me",
        ),
        (
            "called more often is no such thing",
            vec![healthy(), sent_more("b")],
            vec![],
            "healthy, nothing unusual",
        ),
    ]);
}

/// Requests that end with an answer: of this entity's with that of a callee, or of a caller's with its own.
fn ends(other: &str, role: PeerRole) -> FindingContent {
    with_peer(finding(EvidenceKind::Note, Signal::Output, Trend::Falling, 5), other, role)
}

#[test]
fn whose_answers_end_requests_is_the_cause_of_who_goes_no_further() {
    let healthy = || steady(Signal::Latency);
    let ended = || vec![late(), left_out("b"), ends("callee", PeerRole::Callee)];
    let ends_others = || ends("caller", PeerRole::Caller);
    let and = |more: FindingContent| ended().into_iter().chain([more]).collect();
    let none_of_it = || part(Signal::Latency, 0);
    check(vec![
        ("it goes no further", ended(), vec![], "symptom, ended by an answer callee>me"),
        ("its own time", and(rest(Signal::Latency, 95)), vec![], "origin, accounted for by nobody"),
        ("slow calls", and(slow("callee")), vec![], "symptom, failing callee callee>me"),
        (
            "the callee is well",
            ended(),
            vec![says("callee", Healthy, &[], &[])],
            "origin, stops short",
        ),
        (
            "others end with its answers",
            vec![healthy(), ends_others(), none_of_it()],
            vec![],
            "origin, its answers end requests",
        ),
        (
            "they end with what it passes on",
            vec![healthy(), ends_others(), ends("callee", PeerRole::Callee)],
            vec![],
            "symptom, ended by an answer callee>me",
        ),
        ("nobody's end", vec![healthy(), none_of_it()], vec![], "healthy, no part in it"),
    ]);
}

#[test]
fn who_holds_callers_up_is_their_cause_unless_others_are_behind() {
    let holds = |caller: &str| {
        let mut content = finding(EvidenceKind::Note, Signal::Saturation, Trend::Rising, 5);
        content.quantity =
            Some(Quantity { observed: 0.95, baseline: Some(0.4), unit: "ratio".into() });
        with_peer(content, caller, PeerRole::Caller)
    };
    let healthy = || steady(Signal::Latency);
    let share = |percent| accounts(Signal::Latency, "callee", percent);
    check(vec![
        (
            "it does as ever",
            vec![healthy(), holds("caller"), part(Signal::Latency, 100)],
            vec![],
            "origin, holds up callers me>caller",
        ),
        (
            "more is asked of it since: calls tried again",
            vec![holds("caller"), traffic(Trend::Rising, 6, 200.0)],
            vec![],
            "origin, holds up callers me>caller",
        ),
        (
            "another accounts for it",
            vec![late(), holds("caller"), share(80)],
            vec![],
            "symptom, accounted for upstream callee>me",
        ),
        (
            "what it rests on does worse",
            vec![late(), holds("caller")],
            vec![says("callee", Symptom, &[], &[Log])],
            "symptom, degraded upstream callee>me",
        ),
    ]);
}

#[test]
fn who_turns_several_callers_away_is_their_cause() {
    let less = |to| traffic(Trend::Falling, 5, to);
    let fails = |caller| with_peer(errors(6), caller, PeerRole::Caller);
    let seen = |to| vec![less(to), fails("caller"), fails("other")];
    let blames = |sender| says(sender, Symptom, &[&format!("me > {sender}")], &[Log]);
    let both = || vec![blames("caller"), blames("other")];
    let and = |more: FindingContent| seen(5.0).into_iter().chain([more]).collect();
    check(vec![
        ("hardly any call arrives", seen(5.0), both(), "origin, turned away me>caller me>other"),
        ("most arrive", seen(60.0), both(), "symptom, less arrives caller>me"),
        (
            "one caller may do wrong itself",
            seen(5.0),
            vec![blames("caller")],
            "symptom, less arrives caller>me",
        ),
        ("it fails itself", and(errors(6)), both(), "symptom, cause not found ?callee"),
        (
            "what it calls fails",
            seen(5.0),
            both().into_iter().chain([says("callee", Label::Origin, &[], &[])]).collect(),
            "symptom, degraded upstream callee>me",
        ),
    ]);
}

#[test]
fn whoever_is_hit_hardest_is_proposed_first() {
    let unheard = || vec![says("callee", Label::Defer, &[], &[])];
    check(vec![
        ("nothing known", vec![late()], unheard(), "symptom, cause not found ?callee"),
        (
            "hit hardest, and on the way",
            vec![late(), hit("far"), hit("near")],
            unheard(),
            "symptom, cause not found ?far ?near",
        ),
        (
            "found itself healthy",
            vec![late(), hit("callee"), hit("far")],
            vec![says("callee", Healthy, &[], &[])],
            "symptom, cause not found ?far",
        ),
    ]);
}

#[test]
fn a_full_resource_is_to_blame_where_nothing_else_is() {
    let full = |used: f64| {
        let mut content = finding(EvidenceKind::Metric, Signal::Saturation, Trend::Rising, 5);
        let (observed, baseline) = (used, Some(0.05));
        content.quantity = Some(Quantity { observed, baseline, unit: "ratio".into() });
        content.onset = Some(eog_core::incident::Onset::at(at(5)));
        content
    };
    let accused = |upstream: Label| {
        vec![says("caller", Symptom, &["me > caller"], &[Log]), says("callee", upstream, &[], &[])]
    };
    check(vec![
        ("all upstream are well", vec![full(0.9)], accused(Healthy), "origin, first in trouble"),
        ("not nearly full", vec![full(0.7)], accused(Healthy), "symptom, cause not found"),
        (
            "who rests on others may be full of what waits for them",
            vec![full(0.9)],
            accused(Symptom),
            "symptom, degraded upstream callee>me",
        ),
    ]);
}

#[test]
fn what_hardly_takes_longer_is_not_first_in_trouble() {
    let takes = |observed: f64, usual: f64, unit: &str| {
        let mut content = finding(EvidenceKind::Metric, Signal::Latency, Trend::Rising, 5);
        content.quantity = Some(Quantity { observed, baseline: Some(usual), unit: unit.into() });
        content.onset = Some(eog_core::incident::Onset::at(at(5)));
        content
    };
    let accused = || {
        let caller = says("caller", Symptom, &["me > caller"], &[Log]);
        vec![caller, says("callee", Healthy, &[], &[])]
    };
    let cases = [
        ("15 % of 5 ms", takes(5.75, 5.0, "ms"), "symptom, cause not found"),
        ("15 % of 5 ms, in seconds", takes(0.00575, 0.005, "s"), "symptom, cause not found"),
        ("a millisecond", takes(6.1, 5.0, "ms"), "origin, first in trouble"),
        ("half as long again", takes(0.8, 0.5, "ms"), "origin, first in trouble"),
        ("no unit of time", takes(5.75, 5.0, "ticks"), "origin, first in trouble"),
    ];
    for (name, slow, decided) in cases {
        check(vec![(name, vec![slow], accused(), decided)]);
    }
}

#[test]
fn what_a_log_complains_of_is_no_trouble_where_no_more_requests_fail() {
    let line = || {
        let mut content = finding(Log, Signal::Errors, Trend::Rising, 5);
        content.onset = Some(eog_core::incident::Onset::at(at(5)));
        content
    };
    let caller = || {
        let caller = says("caller", Symptom, &["me > caller"], &[Log]);
        vec![caller, says("callee", Healthy, &[], &[])]
    };
    let by_callers = with_peer(steady(Signal::Errors), "caller", PeerRole::Caller);
    check(vec![
        ("not counted", vec![line()], caller(), "origin, first in trouble"),
        (
            "as many fail as ever",
            vec![line(), steady(Signal::Errors)],
            caller(),
            "symptom, cause not found",
        ),
        ("so do the callers'", vec![line(), by_callers], caller(), "symptom, cause not found"),
        (
            "of those to a callee nothing follows",
            vec![line(), with_peer(steady(Signal::Errors), "callee", PeerRole::Callee)],
            caller(),
            "origin, first in trouble",
        ),
    ]);
}

/// Requests with error lines here and elsewhere: who has the first, if it is somebody else.
fn joined(first: Option<&str>, trend: Trend) -> FindingContent {
    let mut content = finding(Log, Signal::Errors, trend, 9);
    content.quantity =
        Some(Quantity { observed: 10.0, baseline: Some(0.0), unit: "requests".into() });
    match first {
        Some(first) => with_peer(content, first, PeerRole::Mentioned),
        None => content,
    }
}

#[test]
fn what_dates_the_harm_is_not_what_an_explanation_rests_on() {
    let slow = || dated(finding(Metric, Signal::Latency, Trend::Rising, 9), 480, 60);
    let of = |signal| {
        let all = vec![alert(9), joined(None, Trend::Rising), slow(), rest(Signal::Latency, 100)];
        judged(all, vec![], |packet| packet.anomalies = vec![anomaly("Complaints", signal, 9)])
    };
    assert_eq!(rule(&of(Signal::Errors)), "origin, errors begin here");
    let latency = vec![slow(), rest(Signal::Latency, 100), joined(None, Trend::Rising)];
    let latency = judged(latency, vec![], |packet| {
        packet.anomalies = vec![anomaly("Complaints", Signal::Latency, 9)];
    });
    // Errors do not lead to latency, even though the latency is cited for its time.
    assert_eq!(rule(&latency), "origin, accounted for by nobody");
}

#[test]
fn what_a_neighbour_merely_writes_is_not_felt_here() {
    let full = || {
        let mut full = finding(Metric, Signal::Saturation, Trend::Rising, 9);
        full.quantity = Some(Quantity { observed: 1.0, baseline: Some(0.3), unit: "ratio".into() });
        full
    };
    let none_fail = || with_peer(steady(Signal::Errors), "callee", PeerRole::Callee);
    let degraded = "symptom, degraded upstream callee>me";
    check(vec![
        (
            "lines",
            vec![full(), none_fail()],
            vec![says("callee", Symptom, &[], &[Log])],
            "symptom, cause not found ?callee",
        ),
        (
            "calls are not measured",
            vec![full()],
            vec![says("callee", Symptom, &[], &[Log])],
            degraded,
        ),
        (
            "slowness is felt, and is not measured",
            vec![full(), none_fail(), finding(Metric, Signal::Latency, Trend::Rising, 9)],
            vec![says("callee", Symptom, &[], &[Log])],
            degraded,
        ),
        (
            "measured there as well",
            vec![full(), none_fail()],
            vec![says("callee", Symptom, &[], &[Log, Metric])],
            degraded,
        ),
    ]);
}

#[test]
fn errors_begin_with_the_first_line_of_a_request() {
    let more = |first| joined(first, Trend::Rising);
    let counted = |trend| {
        let mut content = finding(Metric, Signal::Errors, trend, 9);
        let unit = "requests".to_owned();
        content.quantity = Some(Quantity { observed: 3.0, baseline: Some(3.0), unit });
        content
    };
    let row = |name, findings: Vec<FindingContent>, messages: Vec<Message>, expected| {
        (name, findings, messages, expected)
    };
    check(vec![
        row("it has the first", vec![alert(9), more(None)], vec![], "origin, errors begin here"),
        row(
            "as often as ever",
            vec![alert(9), joined(None, Trend::Steady)],
            vec![],
            "symptom, cause not found ?callee",
        ),
        row(
            "no more requests fail",
            vec![alert(9), more(None), counted(Trend::Steady)],
            vec![],
            "symptom, cause not found ?callee",
        ),
        row(
            "calls fail",
            vec![alert(9), more(None), calling("callee", 9)],
            vec![],
            "symptom, failing callee callee>me",
        ),
        row(
            "a callee has the first",
            vec![alert(9), more(Some("callee"))],
            vec![],
            "symptom, errors passed on callee>me",
        ),
        row(
            "which is well",
            vec![alert(9), more(Some("callee"))],
            vec![says("callee", Healthy, &[], &[Log])],
            "symptom, cause not found",
        ),
        row(
            "a caller gave up before",
            vec![alert(9), more(Some("caller"))],
            vec![],
            "symptom, cause not found ?callee",
        ),
    ]);
}

#[test]
fn what_is_always_said_of_failed_calls_says_nothing_where_no_more_fail() {
    let said = |usual: f64| {
        let lines = Quantity { observed: 14.0, baseline: Some(usual), unit: "lines".into() };
        FindingContent { quantity: Some(lines), ..calling("callee", 9) }
    };
    let measured = |trend| {
        let kind = EvidenceKind::Metric;
        with_peer(finding(kind, Signal::Errors, trend, 9), "callee", PeerRole::Callee)
    };
    let rest = || rest(Signal::Errors, 95);
    check(vec![
        (
            "no more calls fail, and such lines are usual",
            vec![errors(9), said(4.0), measured(Trend::Steady), rest()],
            vec![],
            "origin, accounted for by nobody",
        ),
        (
            "no more fail, but never was it said before",
            vec![errors(9), said(0.0), measured(Trend::Steady), rest()],
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "more fail",
            vec![errors(9), said(4.0), measured(Trend::Rising), rest()],
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "nobody measures",
            vec![errors(9), said(4.0), rest()],
            vec![],
            "symptom, failing callee callee>me",
        ),
    ]);
}

#[test]
fn who_ran_out_has_no_need_of_a_callee_that_fails() {
    let part = |percent| part(Signal::Errors, percent);
    check(vec![
        ("it ran out", vec![exhaustion(9), calling("callee", 9)], vec![], "origin, own failure"),
        (
            "it is away, as who waits in vain is",
            vec![crash(9), calling("callee", 9)],
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "it has next to nothing of it",
            vec![exhaustion(9), part(2)],
            vec![],
            "origin, own failure",
        ),
        ("nor does who is away", vec![crash(9), part(2)], vec![], "origin, no longer available"),
        (
            "nor whom an experiment reaches",
            vec![finding(EvidenceKind::Event, Signal::Experiment, Trend::Rising, 9), part(2)],
            vec![],
            "origin, own failure",
        ),
    ]);
}
