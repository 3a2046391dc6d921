//! Each rule, and each way it must not apply, as a table: a packet and what is decided.

use eog_core::evidence::{EvidenceTime, FindingContent, PeerRole, Quantity, Signal, Trend};
use eog_core::incident::{Direction, Neighbour, Onset};
use eog_core::{Belief, ContextPacket, EntityId, EvidenceKind, Finding, Label, Message, Timestamp};

mod as_usual;
mod calls;
mod elsewhere;
mod felt;
mod fit;
mod packets;
mod resources;
mod retries;
mod rivals;

use super::EvidencePolicy;
use packets::*;

use EvidenceKind::{Change, Event, Log, Metric};
use Label::{Healthy, Origin, Symptom};
use Signal::{Configuration, Demand, Experiment, Restart};

#[test]
fn own_change() {
    let blamed = || vec![says("caller", Symptom, &["me > caller"], &[Log])];
    check(vec![
        (
            "reaches an alert",
            vec![change(Configuration, 5), impact(5, 9, "caller")],
            vec![],
            "origin, own change me>caller",
        ),
        ("is blamed", vec![change(Configuration, 5)], blamed(), "origin, own change me>caller"),
        (
            "is harmed later",
            vec![change(Configuration, 5), errors(6)],
            vec![],
            "origin, own change",
        ),
        (
            "was harmed before",
            vec![change(Configuration, 5), errors(5)],
            vec![],
            "symptom, cause not found ?callee",
        ),
        ("explains nothing", vec![change(Configuration, 5)], vec![], "defer, unexplaining change"),
        (
            "impact of another change",
            vec![change(Configuration, 7), impact(5, 9, "caller")],
            vec![],
            "defer, unexplaining change",
        ),
        (
            "restart",
            vec![change(Restart, 5), alert(9)],
            blamed(),
            "symptom, cause not found ?callee",
        ),
        (
            "restart of a healthy entity",
            vec![change(Restart, 5)],
            vec![],
            "healthy, nothing unusual",
        ),
        (
            "demand with traffic",
            vec![change(Demand, 5), traffic(Trend::Rising, 5, 120.0)],
            blamed(),
            "origin, own change me>caller",
        ),
        (
            "demand after the traffic",
            vec![change(Demand, 5), traffic(Trend::Rising, 4, 120.0)],
            vec![],
            "defer, unexplaining change",
        ),
        (
            "demand without traffic",
            vec![change(Demand, 5), impact(5, 9, "callee")],
            vec![],
            "defer, unexplaining change",
        ),
        (
            "experiment only defined",
            vec![change(Experiment, 5), alert(9)],
            vec![],
            "symptom, cause not found ?callee",
        ),
        (
            "experiment ran",
            vec![change(Experiment, 5), finding(Event, Experiment, Trend::Rising, 6), alert(9)],
            vec![],
            "origin, own change",
        ),
    ]);
    let (packet, decision) = decide(vec![change(Configuration, 5), impact(5, 9, "caller")], vec![]);
    assert_eq!(decision.evidence.first(), Some(packet.context.findings[0].id()));
    assert_eq!(decision.evidence[0].kind(), Change);
}

#[test]
fn demand_from_outside() {
    let since = |minute: i64| {
        let onset = Some(Onset::at(at(minute)));
        FindingContent { onset, ..errors(minute) }
    };
    check(vec![
        (
            "what fails under it",
            vec![calling("callee", 9), demand("caller", 480)],
            vec![says("callee", Origin, &[], &[Event])],
            "symptom, demand from outside caller>me",
        ),
        (
            "nothing fails",
            vec![steady(Signal::Errors), demand("caller", 480)],
            vec![],
            "healthy, nothing unusual",
        ),
        (
            "a change nearby makes no users come",
            vec![change(Configuration, 8), since(9), demand("caller", 500)],
            vec![],
            "symptom, demand from outside caller>me",
        ),
        (
            "it failed before",
            vec![since(5), demand("caller", 480)],
            vec![],
            "symptom, cause not found ?callee",
        ),
    ]);
    let sent = with_peer(traffic(Trend::Rising, 8, 300.0), "web", PeerRole::Callee);
    let onset = Some(Onset::at(at(8)));
    let sent = FindingContent { onset, ..sent };
    let slow = with_peer(since(9), "web", PeerRole::Callee);
    let accused = || says("web", Symptom, &["me > web"], &[Metric]);
    let (mut packet, _) = decide(vec![sent, slow], vec![accused()]);
    packet.neighbours.clear();
    let decision = EvidencePolicy::default().judge(&packet);
    assert_eq!(decision.rule.as_deref(), Some("source of demand"), "though its calls fail");
    assert_eq!(decision.since, onset, "it began when more was sent");
}

#[test]
fn traffic_amplification() {
    let exhausted = || says("callee", Origin, &[], &[Event]);
    let found = |rule: &str| {
        let mut message = exhausted();
        message.belief.rule = Some(rule.to_owned());
        message
    };
    for (rule, told) in [
        ("own failure", "symptom, traffic amplification caller>me me>callee"),
        ("no longer available", "symptom, traffic amplification caller>me me>callee"),
        ("crowds out", "symptom, failing callee callee>me"),
    ] {
        let load = vec![calling("callee", 9), from("caller", 5, 130.0)];
        check(vec![(rule, load, vec![found(rule)], told)]);
    }
    check(vec![
        (
            "exhausted by a caller",
            vec![exhaustion(9), from("caller", 5, 130.0)],
            vec![],
            "symptom, traffic amplification caller>me",
        ),
        (
            "saturated by a caller",
            vec![finding(Metric, Signal::Saturation, Trend::Rising, 9), from("caller", 5, 130.0)],
            vec![],
            "symptom, traffic amplification caller>me",
        ),
        (
            "slow by a caller",
            vec![alert(9), from("caller", 5, 130.0)],
            vec![],
            "symptom, traffic amplification caller>me",
        ),
        (
            "retries after the failure",
            vec![exhaustion(5), from("caller", 9, 130.0)],
            vec![],
            "origin, own failure",
        ),
        (
            "all senders of much",
            vec![exhaustion(9), from("a", 5, 120.0), from("b", 5, 150.0), from("c", 5, 130.0)],
            vec![],
            "symptom, traffic amplification b>me c>me",
        ),
        (
            "healthy with more traffic",
            vec![from("caller", 5, 130.0)],
            vec![],
            "defer, more traffic",
        ),
        (
            "a callee is exhausted",
            vec![calling("callee", 9), from("caller", 5, 130.0)],
            vec![exhausted()],
            "symptom, traffic amplification caller>me me>callee",
        ),
        (
            "a callee blames its load",
            vec![calling("callee", 9), from("caller", 5, 130.0)],
            vec![says("callee", Symptom, &["me > callee"], &[Metric])],
            "symptom, traffic amplification caller>me me>callee",
        ),
        (
            "a callee changed",
            vec![calling("callee", 9), from("caller", 5, 130.0)],
            vec![says("callee", Origin, &[], &[Change])],
            "symptom, failing callee callee>me",
        ),
        (
            "a callee stands by its failure",
            vec![calling("callee", 9), from("caller", 5, 130.0)],
            vec![says("callee", Origin, &["callee > me"], &[Event])],
            "symptom, failing callee callee>me",
        ),
        (
            "no traffic is known",
            vec![calling("callee", 9)],
            vec![exhausted()],
            "symptom, failing callee callee>me",
        ),
        (
            "a caller blames its failure",
            vec![from("caller", 5, 130.0)],
            vec![says("caller", Symptom, &["me > caller"], &[Log])],
            "defer, more traffic",
        ),
        (
            "sender known by a change of demand",
            vec![exhaustion(9), traffic(Trend::Rising, 5, 130.0), demand_route(4, "caller")],
            vec![],
            "symptom, traffic amplification caller>me",
        ),
        (
            "traffic rose before that change",
            vec![exhaustion(9), traffic(Trend::Rising, 5, 130.0), demand_route(6, "caller")],
            vec![],
            "defer, demand enters here ?caller",
        ),
        (
            "caller's word for it",
            vec![exhaustion(9)],
            vec![says("caller", Symptom, &["caller > me"], &[Metric])],
            "symptom, traffic amplification caller>me",
        ),
        (
            "caller's word, measured otherwise",
            vec![exhaustion(9), from("caller", 5, 100.0)],
            vec![says("caller", Symptom, &["caller > me"], &[Metric])],
            "origin, own failure me>caller",
        ),
        (
            "caller's word without a measurement",
            vec![exhaustion(9)],
            vec![says("caller", Symptom, &["caller > me"], &[Log])],
            "origin, own failure me>caller",
        ),
    ]);
}

#[test]
fn failing_callee() {
    check(vec![
        ("one", vec![calling("callee", 9), alert(10)], vec![], "symptom, failing callee callee>me"),
        (
            "not in the topology",
            vec![calling("hidden", 9)],
            vec![],
            "symptom, failing callee hidden>me",
        ),
        (
            "origins first",
            vec![calling("a", 9), calling("b", 9), calling("c", 9)],
            vec![says("c", Origin, &[], &[Change])],
            "symptom, failing callee c>me a>me",
        ),
        (
            "healthy ones are passed over",
            vec![calling("callee", 9)],
            vec![says("callee", Healthy, &[], &[])],
            "symptom, cause not found",
        ),
        (
            "one that blames me",
            vec![calling("callee", 9)],
            vec![says("callee", Symptom, &["me > callee"], &[Log])],
            "symptom, cause not found ?callee",
        ),
    ]);
}

#[test]
fn own_failure() {
    let upstream = || vec![says("callee", Symptom, &[], &[Log])];
    check(vec![
        ("exhausted", vec![exhaustion(9)], vec![], "origin, own failure"),
        ("crashed", vec![crash(9)], vec![], "origin, no longer available"),
        (
            "a crash upstream explains",
            vec![crash(9)],
            upstream(),
            "symptom, degraded upstream callee>me",
        ),
        ("exhaustion is its own", vec![exhaustion(9)], upstream(), "origin, own failure"),
        (
            "after a change upstream",
            vec![exhaustion(9), route(5, "callee")],
            vec![],
            "symptom, changed upstream callee>me",
        ),
        (
            "before a change upstream",
            vec![exhaustion(5), route(9, "callee")],
            vec![],
            "origin, own failure",
        ),
        (
            "restarted after it",
            vec![exhaustion(9), change(Restart, 10)],
            vec![],
            "origin, own failure",
        ),
        (
            "an experiment ran",
            vec![finding(Event, Experiment, Trend::Rising, 9)],
            vec![],
            "origin, own failure",
        ),
    ]);
    let (_, decision) = decide(vec![exhaustion(9), change(Restart, 10)], vec![]);
    assert!(decision.evidence.iter().all(|id| id.kind() != Change), "never confirmed");
}

#[test]
fn demand_enters_here() {
    let more = || traffic(Trend::Rising, 5, 120.0);
    let overloads = || says("callee", Symptom, &["me > callee"], &[Metric]);
    check(vec![
        (
            "blamed for load",
            vec![more()],
            vec![overloads()],
            "defer, demand enters here me>callee ?caller",
        ),
        (
            "exhausted, sender unknown",
            vec![exhaustion(9), more()],
            vec![],
            "defer, demand enters here ?caller",
        ),
        (
            "a change upstream explains",
            vec![alert(9), more(), route(5, "callee")],
            vec![],
            "symptom, changed upstream callee>me",
        ),
        ("nobody asks", vec![more()], vec![], "defer, more traffic"),
    ]);
}

#[test]
fn changed_upstream() {
    check(vec![
        (
            "follows it",
            vec![alert(9), route(5, "callee")],
            vec![],
            "symptom, changed upstream callee>me",
        ),
        (
            "the strongest of those it follows",
            vec![alert(9), route(10, "late"), route(5, "a"), route(6, "b")],
            vec![],
            "symptom, changed upstream a>me",
        ),
        (
            "still active after it",
            vec![ended_alert(3, 20), route(5, "callee")],
            vec![],
            "symptom, changed upstream callee>me",
        ),
        (
            "active since, end unknown",
            vec![alert(3), route(5, "callee")],
            vec![],
            "symptom, changed upstream callee>me",
        ),
        (
            "over before it",
            vec![ended_alert(3, 4), route(5, "callee")],
            vec![],
            "symptom, cause not found ?callee",
        ),
        (
            "active again after it",
            vec![ended_alert(3, 4), alert(9), route(5, "callee")],
            vec![],
            "symptom, changed upstream callee>me",
        ),
        (
            "demand alone",
            vec![alert(9), demand_route(5, "caller")],
            vec![],
            "symptom, cause not found ?callee",
        ),
    ]);
    for (from, unexplained) in [(3, true), (9, false)] {
        let (_, decision) = decide(vec![ended_alert(from, 20), route(5, "callee")], vec![]);
        let condition = &decision.claims[0].condition;
        assert_eq!(
            condition.contains("earlier onset is not explained"),
            unexplained,
            "{condition}"
        );
    }
}

#[test]
fn degraded_upstream() {
    check(vec![
        (
            "symptom",
            vec![alert(9)],
            vec![says("callee", Symptom, &[], &[Log])],
            "symptom, degraded upstream callee>me",
        ),
        (
            "origin",
            vec![alert(9)],
            vec![says("callee", Origin, &[], &[Change])],
            "symptom, degraded upstream callee>me",
        ),
        (
            "a source of requests that sees them fail",
            vec![alert(9)],
            vec![says("users", Symptom, &[], &[Log])],
            "symptom, cause not found ?callee ?users",
        ),
        (
            "a source of requests that is an origin",
            vec![alert(9)],
            vec![says("users", Origin, &[], &[Log])],
            "symptom, degraded upstream users>me",
        ),
        (
            "healthy",
            vec![alert(9)],
            vec![says("callee", Healthy, &[], &[])],
            "symptom, cause not found",
        ),
        (
            "downstream",
            vec![alert(9)],
            vec![says("caller", Origin, &[], &[Change])],
            "symptom, cause not found ?callee",
        ),
        (
            "blames me",
            vec![alert(9)],
            vec![says("callee", Symptom, &["me > callee"], &[Log])],
            "symptom, cause not found ?callee",
        ),
        (
            "answers as fast and as well as ever",
            vec![
                alert(9),
                with_peer(steady(Signal::Latency), "callee", PeerRole::Callee),
                with_peer(steady(Signal::Errors), "callee", PeerRole::Callee),
            ],
            vec![says("callee", Symptom, &[], &[Log])],
            "symptom, cause not found ?callee",
        ),
        (
            "answers as fast as ever, and nobody counts its failures",
            vec![alert(9), with_peer(steady(Signal::Latency), "callee", PeerRole::Callee)],
            vec![says("callee", Symptom, &[], &[Log])],
            "symptom, degraded upstream callee>me",
        ),
    ]);
}

#[test]
fn accounting() {
    use Signal::{Availability, Errors, Latency, Other};
    let slow = || finding(Metric, Latency, Trend::Rising, 5);
    let down = || finding(EvidenceKind::Alert, Availability, Trend::Rising, 5);
    check(vec![
        (
            "most of it",
            vec![slow(), accounts(Latency, "callee", 80), accounts(Latency, "other", 40)],
            vec![],
            "symptom, accounted for upstream callee>me",
        ),
        (
            "two together",
            vec![slow(), accounts(Latency, "callee", 40), accounts(Latency, "other", 30)],
            vec![],
            "symptom, accounted for upstream callee>me other>me",
        ),
        (
            "the rest is its own",
            vec![slow(), accounts(Latency, "callee", 40), rest(Latency, 60)],
            vec![],
            "origin, accounted for by nobody ?callee",
        ),
        (
            "all is its own",
            vec![slow(), rest(Latency, 100)],
            vec![],
            "origin, accounted for by nobody",
        ),
        // What is not measured may hold the rest.
        (
            "a part, and the rest is not known",
            vec![slow(), accounts(Latency, "other", 40)],
            vec![],
            "symptom, cause not found ?callee",
        ),
        (
            "the better account",
            vec![slow(), accounts(Errors, "other", 60), accounts(Latency, "callee", 90)],
            vec![],
            "symptom, accounted for upstream callee>me",
        ),
        (
            "by whom it explains",
            vec![slow(), accounts(Latency, "callee", 80), rest(Latency, 20)],
            vec![says("callee", Symptom, &["me > callee"], &[Metric])],
            "origin, accounted for by nobody",
        ),
        (
            "by who is healthy",
            vec![slow(), accounts(Latency, "callee", 80), rest(Latency, 20)],
            vec![says("callee", Healthy, &[], &[])],
            "origin, accounted for by nobody",
        ),
        (
            "degraded, and accounts for nothing",
            vec![slow(), accounts(Latency, "callee", 0)],
            vec![says("callee", Origin, &[], &[Metric])],
            "symptom, cause not found ?callee",
        ),
        (
            "a change of its own, and most comes from upstream",
            vec![change(Configuration, 3), slow(), accounts(Latency, "callee", 80)],
            vec![],
            "symptom, accounted for upstream callee>me",
        ),
        (
            "a change of its own, and most is its own",
            vec![change(Configuration, 3), slow(), accounts(Latency, "callee", 40)],
            vec![],
            "origin, own change",
        ),
        (
            "a change that calls the callee more often",
            vec![
                change(Configuration, 3),
                slow(),
                accounts(Latency, "callee", 80),
                sent_more("callee"),
            ],
            vec![],
            "origin, own change",
        ),
        (
            "no part of what alerts show",
            vec![change(Configuration, 3), slow(), part(Latency, 4)],
            vec![],
            "healthy, no part in it",
        ),
        (
            "a small part of what alerts show",
            vec![change(Configuration, 3), slow(), part(Latency, 20)],
            vec![],
            "origin, own change",
        ),
        (
            "no part, and an alert of its own",
            vec![alert(9), part(Latency, 4), slow()],
            vec![],
            "symptom, cause not found ?callee",
        ),
        (
            "ran out itself",
            vec![exhaustion(5), slow(), accounts(Latency, "callee", 80)],
            vec![],
            "origin, own failure",
        ),
        (
            "an alert of being down is no failure of its own",
            vec![down(), accounts(Errors, "callee", 80)],
            vec![],
            "symptom, accounted for upstream callee>me",
        ),
        (
            "an alert that the measurement contradicts",
            vec![down(), steady(Availability)],
            vec![],
            "symptom, cause not found ?callee",
        ),
        // Where nothing adds up, all who deviated before are claimed.
        (
            "earlier",
            vec![accounts(Other, "callee", 100), accounts(Other, "other", 100)],
            vec![],
            "symptom, accounted for upstream callee>me other>me",
        ),
        (
            "first",
            vec![finding(Event, Other, Trend::Rising, 5), rest(Other, 100)],
            vec![],
            "origin, accounted for by nobody",
        ),
    ]);
}

#[test]
fn on_the_path_and_the_rest() {
    let blamed = || vec![says("caller", Symptom, &["me > caller"], &[Log])];
    let odd = finding(Metric, Signal::Other, Trend::Rising, 5);
    check(vec![
        ("no telemetry", vec![route(5, "callee")], blamed(), "defer, on the path callee>me"),
        (
            "nothing unusual",
            vec![steady(Signal::Errors), route(5, "callee")],
            blamed(),
            "defer, on the path callee>me",
        ),
        (
            "not blamed",
            vec![steady(Signal::Errors), route(5, "callee")],
            vec![],
            "healthy, nothing unusual",
        ),
        ("blamed, no route", vec![steady(Signal::Errors)], blamed(), "healthy, nothing unusual"),
        (
            "fewer errors",
            vec![finding(Metric, Signal::Errors, Trend::Falling, 5)],
            vec![],
            "healthy, nothing unusual",
        ),
        (
            "less is asked",
            vec![traffic(Trend::Falling, 5, 50.0)],
            vec![],
            "symptom, cause not found ?caller",
        ),
        ("not understood", vec![odd], vec![], "defer, not understood"),
        (
            "share of availability falls",
            vec![share(Trend::Falling)],
            vec![],
            "origin, no longer available",
        ),
        (
            "share of availability rises",
            vec![share(Trend::Rising)],
            vec![],
            "healthy, nothing unusual",
        ),
    ]);
    let (_, decision) = decide(vec![], vec![]);
    assert_eq!(in_short(&decision), "defer, no findings");
}
