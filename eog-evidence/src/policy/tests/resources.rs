//! Resources: who hangs, who takes up what others need, and load that still fits in.

use eog_core::incident::Onset;

use super::*;
use crate::policy::bearable::{bears_a_little_more, is_a_little_more};

/// A resource of which a tenth was used, and now this share.
fn used(share: f64) -> FindingContent {
    let trend = if share > 0.1 { Trend::Rising } else { Trend::Steady };
    let mut content = finding(Metric, Signal::Saturation, trend, 9);
    content.quantity =
        Some(Quantity { observed: share, baseline: Some(0.1), unit: "ratio".into() });
    content
}

/// Of 100 requests a second so many are left.
fn fewer(to: f64) -> FindingContent {
    traffic(Trend::Falling, 9, to)
}

/// Calls to the callee that took 10 ms.
fn slower(to: f64) -> FindingContent {
    let mut content = finding(EvidenceKind::Span, Signal::Latency, Trend::Rising, 9);
    content.quantity = Some(Quantity { observed: to, baseline: Some(10.0), unit: "ms".into() });
    with_peer(content, "callee", PeerRole::Callee)
}

fn late() -> FindingContent {
    finding(EvidenceKind::Alert, Signal::Latency, Trend::Rising, 9)
}

/// One takes this part of what all that rest on another use more of it.
fn taken(peer: &str, role: PeerRole) -> FindingContent {
    let mut content = finding(EvidenceKind::Note, Signal::Saturation, Trend::Rising, 9);
    content.quantity = Some(Quantity { observed: 0.7, baseline: None, unit: "ratio".into() });
    with_peer(content, peer, role)
}

/// Somebody upstream, who need not be a neighbour, is hit hard.
fn hit(peer: &str, signal: Signal) -> FindingContent {
    let mut content = finding(EvidenceKind::Note, signal, Trend::Rising, 9);
    content.quantity = None;
    with_peer(content, peer, PeerRole::NextUpstream)
}

#[test]
fn who_is_hit_far_upstream_is_named_where_nothing_else_explains_an_alert() {
    let full = || hit("store", Signal::Saturation);
    check(vec![
        (
            "far upstream somebody is full",
            vec![late(), full()],
            vec![],
            "symptom, far upstream store>me",
        ),
        (
            "answers of somebody far upstream end requests",
            vec![late(), hit("store", Signal::Output)],
            vec![],
            "symptom, far upstream store>me",
        ),
        (
            "somebody is merely slower",
            vec![late(), hit("store", Signal::Latency)],
            vec![],
            "symptom, cause not found ?store ?callee",
        ),
        (
            "somebody whose requests fail found itself an origin",
            vec![alert(9), hit("store", Signal::Errors)],
            vec![says("store", Origin, &[], &[Metric])],
            "symptom, far upstream store>me",
        ),
        (
            "hardly more fail than by chance",
            vec![alert(9), FindingContent { trend: Trend::Steady, ..hit("store", Signal::Errors) }],
            vec![says("store", Origin, &[], &[Metric])],
            "symptom, cause not found ?store ?callee",
        ),
        (
            "who fails does not know why",
            vec![alert(9), hit("store", Signal::Errors)],
            vec![says("store", Symptom, &[], &[Metric])],
            "symptom, cause not found ?store ?callee",
        ),
        (
            "traces tell that an origin is slower",
            vec![late(), hit("store", Signal::Latency)],
            vec![says("store", Origin, &[], &[Metric])],
            "symptom, far upstream store>me",
        ),
        (
            "measurements tell that an origin is slower",
            vec![late(), FindingContent { trend: Trend::Steady, ..hit("store", Signal::Latency) }],
            vec![says("store", Origin, &[], &[Metric])],
            "symptom, cause not found ?store ?callee",
        ),
        (
            "calls are slow",
            vec![late(), full(), slower(225.0)],
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "no alert here",
            vec![errors(9), full()],
            vec![],
            "symptom, cause not found ?store ?callee",
        ),
    ]);
}

#[test]
fn who_is_full_of_what_does_not_get_done_hangs() {
    let hangs = || vec![late(), used(0.9), fewer(20.0)];
    let as_much = || traffic(Trend::Steady, 9, 100.0);
    let failing = |observed: f64, unit: &str| {
        let mut content = errors(9);
        content.quantity = Some(Quantity { observed, baseline: Some(0.0), unit: unit.into() });
        content.kind = Metric;
        content
    };
    let share = |share| failing(share, "ratio");
    let fails = |asked: f64, failed: f64| {
        let asked = traffic(if asked > 100.0 { Trend::Rising } else { Trend::Steady }, 9, asked);
        vec![late(), used(0.9), asked, failing(failed, "1/s")]
    };
    let and = |more: FindingContent| hangs().into_iter().chain([more]).collect();
    check(vec![
        ("full, and hardly anything done", hangs(), vec![], "origin, gets nothing done"),
        (
            "half as much is done",
            vec![late(), used(0.9), fewer(50.0)],
            vec![],
            "symptom, cause not found ?callee",
        ),
        (
            "not nearly full",
            vec![late(), used(0.7), fewer(20.0)],
            vec![],
            "symptom, cause not found ?callee",
        ),
        (
            "as much is done as ever",
            vec![late(), used(0.9)],
            vec![],
            "symptom, cause not found ?callee",
        ),
        (
            "as much is asked, and most of it fails",
            fails(100.0, 60.0),
            vec![],
            "origin, gets nothing done",
        ),
        (
            "more is asked again, and hardly any goes well",
            fails(150.0, 120.0),
            vec![],
            "origin, gets nothing done",
        ),
        (
            "most of it fails by its share",
            vec![late(), used(0.9), as_much(), share(0.6)],
            vec![],
            "origin, gets nothing done",
        ),
        ("half of it fails", fails(100.0, 50.0), vec![], "symptom, cause not found ?callee"),
        (
            "less comes, and nearly all of it fails",
            vec![late(), used(0.9), fewer(60.0), failing(55.0, "1/s")],
            vec![],
            "origin, gets nothing done",
        ),
        (
            "most of it fails, in percent",
            vec![late(), used(0.9), as_much(), failing(60.0, "percent")],
            vec![],
            "origin, gets nothing done",
        ),
        (
            "all of it fails, and a callee is half slower",
            fails(100.0, 100.0).into_iter().chain([slower(15.0)]).collect(),
            vec![],
            "symptom, failing callee callee>me",
        ),
        // Each piece of work is held 9 / 0.2 = 45 times as long.
        (
            "a callee became half as many times slower",
            and(slower(225.0)),
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "a callee became a little slower",
            and(slower(224.0)),
            vec![],
            "origin, gets nothing done",
        ),
        (
            "calls fail",
            and(with_peer(errors(9), "callee", PeerRole::Callee)),
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "a callee says that it is the cause",
            hangs(),
            vec![says("callee", Origin, &[], &[Event])],
            "symptom, degraded upstream callee>me",
        ),
        (
            "a callee does worse, too",
            hangs(),
            vec![says("callee", Symptom, &[], &[Log])],
            "origin, gets nothing done",
        ),
    ]);
}

#[test]
fn who_takes_up_what_others_need_is_named_however_well_it_does() {
    let part = || part(Signal::Latency, 1);
    check(vec![
        (
            "taken up by one",
            vec![used(0.9), taken("guest", PeerRole::Mentioned)],
            vec![],
            "symptom, crowded guest>me",
        ),
        (
            "another that rests on it does worse",
            vec![used(0.9), taken("guest", PeerRole::Mentioned)],
            vec![says("caller", Symptom, &[], &[Log])],
            "symptom, crowded guest>me me>caller",
        ),
        (
            "takes up another",
            vec![taken("host", PeerRole::NextDownstream)],
            vec![],
            "origin, crowds out me>host",
        ),
        (
            "takes up another, and has next to nothing of what alerts show",
            vec![part(), taken("host", PeerRole::NextDownstream)],
            vec![],
            "origin, crowds out me>host",
        ),
        (
            "has next to nothing of it, and takes nothing up",
            vec![part(), used(0.7)],
            vec![],
            "healthy, no part in it",
        ),
        (
            "nothing is left to it",
            vec![late(), rest(Signal::Latency, 9)],
            vec![],
            "symptom, cause not found ?callee",
        ),
        (
            "a share of lost time is no resource",
            vec![late(), rest(Signal::Latency, 90)],
            vec![],
            "origin, accounted for by nobody",
        ),
    ]);
}

#[test]
fn callees_that_have_none_of_the_lost_time_explain_none() {
    let failing = || with_peer(errors(9), "callee", PeerRole::Callee);
    let share = |percent| accounts(Signal::Latency, "callee", percent);
    check(vec![
        (
            "next to nothing",
            vec![late(), failing(), share(9)],
            vec![],
            "symptom, cause not found ?callee",
        ),
        (
            "a tenth",
            vec![late(), failing(), share(10)],
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "requests fail, too",
            vec![alert(9), failing(), share(9)],
            vec![],
            "symptom, failing callee callee>me",
        ),
        (
            "who has the time is not known",
            vec![late(), failing()],
            vec![],
            "symptom, failing callee callee>me",
        ),
    ]);
}

#[test]
fn a_node_that_bears_others_in_trouble_is_asked_at_once() {
    let full = || {
        let mut content = used(0.9);
        content.onset = Some(eog_core::incident::Onset::at(at(9)));
        content
    };
    let judged = |label: Label, rests_on: bool| {
        let inbox = vec![says("guest", label, &[], &[Log])];
        let (mut packet, _) = decide(vec![full()], inbox);
        let row = |name: &str, outgoing, direction| Neighbour {
            entity: id(name),
            relation: "runs".into(),
            outgoing,
            direction,
        };
        packet.neighbours = vec![row("guest", true, Direction::Downstream)];
        if rests_on {
            packet.neighbours.push(row("rack", false, Direction::Upstream));
        }
        in_short(&EvidencePolicy::default().judge(&packet))
    };
    assert_eq!(judged(Symptom, false), "origin, first in trouble me>guest");
    assert_eq!(judged(Healthy, false), "symptom, cause not found");
    assert_eq!(judged(Symptom, true), "symptom, cause not found ?rack");
}

#[test]
fn a_little_more_load_fits_in_where_there_is_room() {
    let bears = |findings: Vec<FindingContent>| {
        let (packet, _) = decide(findings, vec![]);
        let findings = &packet.context.findings;
        let harms: Vec<&Finding> =
            findings.iter().filter(|one| one.trend == Trend::Rising).collect();
        bears_a_little_more(&packet, &harms)
    };
    let steady = |share| FindingContent { trend: Trend::Steady, ..used(share) };
    assert!(bears(vec![late(), used(0.5)]));
    assert!(!bears(vec![late(), used(0.6)]), "busy");
    assert!(bears(vec![late(), used(0.5), steady(0.7)]), "used as ever");
    assert!(!bears(vec![late(), used(0.5), steady(0.8)]), "nearly full");
    assert!(!bears(vec![late()]), "not measured");
    assert!(!bears(vec![used(0.5)]), "does no worse");
    assert!(!bears(vec![slower(50.0), used(0.5)]), "a callee does worse");

    let more = |to| is_a_little_more(&Finding::new(traffic(Trend::Rising, 5, to)));
    assert!(more(149.0) && !more(150.0));
    let mut new = traffic(Trend::Rising, 5, 1.0);
    new.quantity = Some(Quantity { observed: 1.0, baseline: Some(0.0), unit: "1/s".into() });
    assert!(!is_a_little_more(&Finding::new(new)), "nothing was usual");

    let asked = |to| vec![late(), used(0.5), traffic(Trend::Rising, 5, to)];
    check(vec![
        ("fits in", asked(140.0), vec![], "symptom, cause not found ?callee"),
        ("half more", asked(150.0), vec![], "defer, demand enters here ?caller"),
    ]);
}

#[test]
fn load_that_was_borne_for_long_explains_nothing() {
    let dated = |content: FindingContent, minute: i64| {
        let (onset, time) = (Some(Onset::at(at(minute))), EvidenceTime::At(at(minute)));
        FindingContent { onset, time, ..content }
    };
    let failing = || dated(errors(30), 30);
    let more = |minute| dated(traffic(Trend::Rising, minute, 150.0), minute);
    let asked = |minute, uses: Vec<FindingContent>| {
        let uses = uses.into_iter().map(|one| dated(one, minute));
        [failing(), more(minute)].into_iter().chain(uses).collect::<Vec<_>>()
    };
    let less = FindingContent { trend: Trend::Falling, ..used(0.5) };
    check(vec![
        ("just before", asked(20, vec![]), vec![], "defer, demand enters here ?caller"),
        ("long before", asked(19, vec![]), vec![], "symptom, cause not found ?callee"),
        (
            "it fills up what takes its time",
            asked(19, vec![used(0.8)]),
            vec![],
            "defer, demand enters here ?caller",
        ),
        (
            "it uses less of another resource",
            asked(19, vec![used(0.8), less]),
            vec![],
            "symptom, cause not found ?callee",
        ),
    ]);
}
