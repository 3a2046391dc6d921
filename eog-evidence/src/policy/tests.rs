//! Tests of the policy.

use eog_core::contract::{Reach, Route};
use eog_core::evidence::{EvidenceTime, FindingContent, Peer, PeerRole, Signal, Trend, Verdict};
use eog_core::incident::{Direction, Neighbour, Onset};
use eog_core::{
    Anomaly, Belief, Claim, ContextPacket, Decision, EntityId, EvidenceKind, Finding, Label,
    LocalContext, Measures, Message, Timestamp, Window,
};

use super::terms::TERMS;
use super::{ClosedCases, EvidencePolicy, Precedent, Weights};
use crate::likeness::Observations;

/// Seconds after ten o'clock.
fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + second).unwrap()
}

fn id(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

/// A packet on `cart`, one hop from the one alert, for an hour.
fn packet(findings: Vec<Finding>) -> ContextPacket {
    ContextPacket {
        entity: id("cart"),
        window: Window::new(at(0), at(3_600)).unwrap(),
        context: LocalContext { findings, ..LocalContext::default() },
        neighbours: Vec::new(),
        inbox: Vec::new(),
        anomalies: Vec::new(),
        notice: None,
        former: None,
        hints: Vec::new(),
        quoted: Vec::new(),
        reach: Some(Reach { reached: 1, alerting: 1, hops: Some(1) }),
        case_file: None,
        queries_left: 0,
    }
}

fn content(kind: EvidenceKind, signal: Signal, second: i64) -> FindingContent {
    FindingContent::new(id("cart"), kind, signal, EvidenceTime::At(at(second)))
}

/// Latency that rose from 10 ms at a time.
fn slower(observed: f64, second: i64) -> Finding {
    Finding::new(FindingContent {
        trend: Trend::Rising,
        onset: Some(Onset::at(at(second))),
        excerpt: format!("p95 {observed} ms"),
        ..content(EvidenceKind::Metric, Signal::Latency, second).with_quantity(
            observed,
            Some(10.0),
            "ms",
        )
    })
}

fn steady() -> Finding {
    content(EvidenceKind::Metric, Signal::Latency, 60).with_quantity(10.0, Some(10.0), "ms").into()
}

fn change(second: i64) -> Finding {
    Finding::new(FindingContent {
        onset: Some(Onset::at(at(second))),
        excerpt: "image v1 to v2".to_owned(),
        ..content(EvidenceKind::Change, Signal::Configuration, second)
    })
}

fn word(verdict: Verdict) -> Finding {
    let word = content(EvidenceKind::Note, Signal::Other, 0);
    Finding::new(FindingContent {
        trend: verdict.trend(),
        source: Verdict::SOURCE.to_owned(),
        ..word
    })
}

/// The same packet with an upstream neighbour `db` that says this of itself.
fn with_db(mut packet: ContextPacket, belief: Belief) -> ContextPacket {
    packet.neighbours.push(Neighbour {
        entity: id("db"),
        relation: "calls".to_owned(),
        outgoing: true,
        direction: Direction::Upstream,
    });
    packet.inbox.push(Message { sender: id("db"), belief });
    packet
}

/// A belief of `db` with numbers, in thousandths.
fn of_db(label: Label, harm: i32, origin: Option<i32>) -> Belief {
    let measures = Measures { log_odds: origin.unwrap_or(0), harm, origin, ..Measures::default() };
    Belief { measures: Some(measures), ..Belief::new(label, "disk is slow") }
}

fn alert() -> Anomaly {
    Anomaly {
        name: "Slow".to_owned(),
        entity: id("cart"),
        signal: Signal::Latency,
        onset: at(1_900),
        renewed: Vec::new(),
        last_seen: None,
        severity: String::new(),
        description: String::new(),
    }
}

fn judge(packet: &ContextPacket) -> Decision {
    EvidencePolicy::default().judge(packet)
}

fn claimed(decision: &Decision) -> Vec<&str> {
    decision.claims.iter().map(|claim: &Claim| claim.cause.as_str()).collect()
}

#[test]
fn a_table_has_one_weight_for_each_term() {
    let shipped = Weights::shipped();
    assert!(shipped.decision.dead_end < shipped.decision.origin);
    let text = Weights::shipped_toml();
    let head = text.split_once("[[term]]").unwrap().0;
    let terms: Vec<&str> = text.split("[[term]]").skip(1).collect();
    let table = |terms: &[&str]| {
        Weights::read(&terms.iter().fold(head.to_owned(), |all, term| all + "[[term]]" + term))
    };
    let mut reversed = terms.clone();
    reversed.reverse();
    assert_eq!(table(&reversed).unwrap().terms, shipped.terms, "the order does not matter");
    let doubled = [&terms[..], &terms[..1]].concat();
    let cases = [
        (table(&terms[1..]), "the term \"excess\" needs one weight"),
        (table(&doubled), "the term \"excess\" needs one weight"),
        (Weights::read(&text.replace("\"excess\"", "\"excess heat\"")), "no term \"excess heat\""),
        (Weights::read(&text.replace("version = 1", "version = 2")), "version 2 of the table"),
        (Weights::read(&text.replace("= 2000", "= 20000000")), "origin: 20000000 is beyond"),
        (
            Weights::read(&text.replace("weight = 600", "weight = \"a\"")),
            "TOML parse error at line 17",
        ),
    ];
    for (read, reason) in cases {
        let error = read.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn other_weights_judge_otherwise() {
    let packet = packet(vec![slower(400.0, 1_800), change(1_790)]);
    assert_eq!(judge(&packet).label, Label::Origin);
    let text = Weights::shipped_toml().replace("origin = 2000", "origin = 200000");
    let never = EvidencePolicy::new(Weights::read(&text).unwrap());
    assert_ne!(never.judge(&packet).label, Label::Origin);
    assert_ne!(never.weights().digest(), Weights::shipped().digest());
}

#[test]
fn closed_cases_are_one_more_term_of_bounded_weight() {
    let packet = packet(vec![slower(400.0, 1_800), change(1_790)]);
    let plain = judge(&packet);
    let plain_odds = plain.measures.as_ref().unwrap().log_odds;
    let earlier = Window::new(at(-9_000), at(-8_000)).unwrap();
    let alike = Observations::of_entity(&packet.context.findings, &plain.evidence, &plain.terms);
    let other: Observations = [("log: errors rising", 1_000)].into_iter().collect();
    let case = |name: &str, window, observed: &Observations| Precedent {
        name: name.to_owned(),
        truth: "the \"disk\"\u{7f}".to_owned(),
        window,
        observed: observed.clone(),
    };
    let judged = |weight, cases: &[Precedent]| {
        let closed = ClosedCases::new(weight, cases.to_vec());
        let weights = Weights::shipped().with_closed_cases(closed).unwrap();
        assert_eq!(Weights::read(&weights.to_toml()).unwrap(), weights);
        EvidencePolicy::new(weights).judge(&packet)
    };
    let of = |decision: &Decision| {
        let term = decision.terms.iter().find(|term| term.name == "closed cases");
        (decision.measures.as_ref().unwrap().log_odds - plain_odds, term.cloned())
    };
    // The mean of the three nearest, those that are missing with 0; never more than the weight.
    for (count, added) in [(1, 100), (2, 200), (3, 300), (5, 300)] {
        let cases: Vec<Precedent> =
            (0..count).map(|at| case(&format!("c{at}"), earlier, &alike)).collect();
        let decision = judged(300, &cases);
        let (by, term) = of(&decision);
        assert_eq!((by, term.as_ref().map(|term| term.log_odds)), (added, Some(added)), "{count}");
        assert!(term.unwrap().text.starts_with("100 % like the closed case c0: it was the"));
        assert_eq!(decision.rule, plain.rule, "what rests on the past is no reason by itself");
    }
    // What is not alike, is of the same time, or weighs nothing leaves all as it was.
    let unlike = [case("a", earlier, &other)];
    let same_time = [case("a", packet.window, &alike)];
    for (weight, cases) in [(300, &unlike), (300, &same_time), (0, &[case("a", earlier, &alike)])] {
        let decision = judged(weight, cases);
        assert_eq!((of(&decision), decision), ((0, None), plain.clone()));
    }
    let bold = Weights::shipped().with_closed_cases(ClosedCases::new(1_001, Vec::new()));
    assert!(bold.unwrap_err().to_string().contains("expected 0 to 1000"));
}

#[test]
fn log_odds_are_the_sum_of_weights_times_values() {
    let packet = with_db(
        packet(vec![slower(400.0, 1_800), change(1_790)]),
        of_db(Label::Symptom, 500, None),
    );
    let (values, shipped) = (EvidencePolicy::values(&packet), Weights::shipped());
    let weights = shipped.terms().map(|(_, weight)| f64::from(weight));
    let sum = weights.zip(values).map(|(weight, value)| (weight * value.clamp(-2.0, 2.0)).round());
    let decision = judge(&packet);
    assert_eq!(f64::from(decision.measures.unwrap().log_odds), sum.sum::<f64>());
    assert_eq!(decision.terms.len(), 5);
    assert!(decision.terms.is_sorted_by_key(|term| std::cmp::Reverse(term.log_odds.abs())));
}

#[test]
fn a_change_right_before_harm_is_an_origin_that_cites_both() {
    let findings = vec![slower(400.0, 1_800), change(1_790)];
    let decision = judge(&packet(findings.clone()));
    assert_eq!(decision.label, Label::Origin, "{decision:?}");
    for finding in &findings {
        assert!(decision.evidence.contains(finding.id()));
    }
    let of_change = decision.terms.iter().find(|term| term.name == "change").unwrap();
    assert_eq!(of_change.evidence, [findings[1].id().clone()]);
    assert_eq!(decision.since, Some(Onset::at(at(1_790))), "it holds since the change");
    // The same change an hour before its effect speaks for much less.
    let early = judge(&packet(vec![slower(400.0, 3_500), change(10)]));
    let log_odds = |decision: &Decision| decision.measures.as_ref().unwrap().log_odds;
    assert!(log_odds(&early) < log_odds(&decision) - 1_000);
}

#[test]
fn the_stronger_origin_upstream_explains_an_entity() {
    let own = vec![slower(400.0, 1_800), change(1_790)];
    let judged = |origin: i32| {
        judge(&with_db(packet(own.clone()), of_db(Label::Origin, 1_000, Some(origin))))
    };
    let (weak, strong) = (judged(100), judged(9_000));
    assert_eq!((weak.label, claimed(&weak)), (Label::Origin, vec![]));
    assert_eq!((strong.label, claimed(&strong)), (Label::Symptom, vec!["db"]));
    // Its own message carries the strength of that origin, less a hop.
    assert_eq!(strong.measures.unwrap().origin, Some(9_000 - Weights::shipped().decision.hop));
    // One that is only passed on counts as well.
    let passed = of_db(Label::Symptom, 1_000, Some(9_000));
    assert_eq!(judge(&with_db(packet(own), passed)).label, Label::Symptom);
}

#[test]
fn an_effect_does_not_precede_its_cause() {
    let judged = |since: i64| {
        let belief = of_db(Label::Origin, 1_000, Some(9_000));
        let belief = Belief { since: Some(Onset::at(at(since))), ..belief };
        judge(&with_db(packet(vec![slower(400.0, 1_800)]), belief))
    };
    assert_eq!(claimed(&judged(1_700)), ["db"]);
    // Onsets that differ by no more than a step of measuring are not distinguished.
    assert_eq!(claimed(&judged(1_860)), ["db"]);
    assert!(claimed(&judged(1_900)).is_empty());
}

#[test]
fn what_claims_an_entity_as_its_cause_does_not_explain_it() {
    let mut belief = of_db(Label::Symptom, 1_000, Some(9_000));
    belief.claims.push(Claim::new(&id("cart"), &id("db"), "", ""));
    let decision = judge(&with_db(packet(vec![slower(400.0, 1_800)]), belief));
    assert!(claimed(&decision).is_empty(), "{decision:?}");
}

#[test]
fn errors_about_a_callee_make_a_symptom_of_it_and_speak_of_the_callee() {
    let lines = |entity: &str, peer: &str, role: PeerRole| {
        let content = FindingContent::new(
            id(entity),
            EvidenceKind::Log,
            Signal::Errors,
            EvidenceTime::At(at(1_800)),
        );
        Finding::new(FindingContent {
            trend: Trend::Rising,
            onset: Some(Onset::at(at(1_800))),
            peer: Some(Peer { entity: id(peer), role }),
            ..content.with_quantity(29.0, Some(0.0), "lines")
        })
    };
    let caller = judge(&packet(vec![steady(), lines("cart", "db", PeerRole::Callee)]));
    assert_eq!((caller.label, claimed(&caller)), (Label::Symptom, vec!["db"]));
    // What its caller wrote is all there is about the callee, and counts as its own.
    let mut silent = packet(vec![lines("cart", "web", PeerRole::Caller)]);
    assert_eq!(claimed(&judge(&silent)), [""; 0]);
    silent.reach = Some(Reach { reached: 1, alerting: 1, hops: Some(2) });
    assert_eq!(judge(&silent).label, Label::Origin);
}

#[test]
fn who_is_well_at_the_end_has_failed_before() {
    let event = |second: i64, trend: Trend| {
        let content = content(EvidenceKind::Event, Signal::Availability, second);
        Finding::new(FindingContent { trend, ..content })
    };
    let failing = |findings: Vec<Finding>| {
        let values = EvidencePolicy::values(&packet(findings));
        values[TERMS.iter().position(|term| term.name == "failing at the end").unwrap()]
    };
    let (failed, well) = (event(3_590, Trend::Rising), event(3_595, Trend::Falling));
    assert!(failing(vec![failed.clone()]) > 0.8);
    assert!(failing(vec![failed.clone(), well]) < 0.1);
    let early = event(3_000, Trend::Falling);
    assert!(failing(vec![failed, early]) > 0.8, "it failed again");
}

#[test]
fn a_verdict_decides() {
    let strong = || vec![slower(400.0, 1_800), change(1_790)];
    let ruled_out = strong().into_iter().chain([word(Verdict::NotCause)]).collect();
    assert_eq!(judge(&packet(ruled_out)).label, Label::Symptom);
    assert_eq!(judge(&packet(vec![steady(), word(Verdict::Cause)])).label, Label::Origin);
}

#[test]
fn what_is_decided_is_outweighed_by_no_sum() {
    let decision = judge(&packet(vec![steady(), word(Verdict::Cause)]));
    assert!(decision.measures.unwrap().log_odds >= 20_000);
    let both = vec![steady(), word(Verdict::Cause), word(Verdict::NotCause)];
    assert_eq!(judge(&packet(both)).label, Label::Healthy, "contradictory words say nothing");
}

/// The packet of a slow `cart` with a change of `flags` at this second, whose way here leads through `db`.
fn changed_upstream(own: Vec<Finding>, second: i64) -> ContextPacket {
    let change = Finding::new(FindingContent {
        trend: Trend::Rising,
        onset: Some(Onset::at(at(second))),
        peer: Some(Peer { entity: id("db"), role: PeerRole::NextUpstream }),
        excerpt: "flags changed".to_owned(),
        ..content(EvidenceKind::Note, Signal::Route, second)
    });
    let hops = ["flags", "db", "cart"].map(id).to_vec();
    let route = Route { finding: change.id().clone(), hops };
    let mut packet = packet(own);
    packet.context.findings.push(change);
    packet.context.routes.push(route);
    packet
}

#[test]
fn a_change_upstream_is_handed_the_evidence_of_the_place_of_the_harm() {
    let slow = || vec![slower(400.0, 1_800)];
    let decision = judge(&changed_upstream(slow(), 1_790));
    assert_eq!(decision.label, Label::Symptom, "{decision:?}");
    assert_eq!(claimed(&decision), ["db", "flags"], "the next hop, and the way to it");
    let measures = decision.measures.clone().unwrap();
    assert!(measures.handed[&id("flags")] > measures.log_odds);
    // It is worth what a change of its own would be a step of measuring before.
    let own = judge(&packet(vec![slower(400.0, 1_800), change(1_730)])).measures.unwrap();
    assert_eq!(measures.handed[&id("flags")], own.log_odds);
    // A change after the harm, or further from it than a change of its own, is handed nothing.
    let handed = |decision: Decision| decision.measures.unwrap().handed;
    assert!(handed(judge(&changed_upstream(slow(), 2_200))).is_empty());
    let nearer = vec![slower(400.0, 1_800), change(1_790)];
    assert!(handed(judge(&changed_upstream(nearer, 1_500))).is_empty());
}

#[test]
fn a_way_of_a_change_repeats_no_claim() {
    let packet = changed_upstream(vec![slower(400.0, 1_800)], 1_790);
    let decision = judge(&with_db(packet, of_db(Label::Symptom, 1_000, Some(9_000))));
    let to_cart = decision.claims.iter().filter(|claim| claim.effect == id("cart"));
    assert_eq!(to_cart.count(), 1, "{decision:?}");
    assert!(claimed(&decision).contains(&"flags"));
}

#[test]
fn an_alert_without_harm_is_healthy_where_that_was_measured() {
    let alerting = |findings| ContextPacket { anomalies: vec![alert()], ..packet(findings) };
    assert_eq!(judge(&alerting(vec![steady()])).label, Label::Healthy);
    assert_eq!(judge(&alerting(Vec::new())).label, Label::Symptom, "nothing was measured");
    assert_eq!(judge(&packet(vec![steady()])).label, Label::Healthy);
    assert_eq!(judge(&packet(Vec::new())).label, Label::Defer);
}

#[test]
fn a_change_without_effect_is_no_origin() {
    let decision = judge(&packet(vec![steady(), change(1_790)]));
    assert_eq!(decision.label, Label::Defer, "{decision:?}");
}

#[test]
fn the_order_of_findings_and_messages_does_not_matter() {
    let mut packet = with_db(
        packet(vec![slower(400.0, 1_800), change(1_790), slower(90.0, 1_700), change(1_000)]),
        of_db(Label::Symptom, 700, Some(800)),
    );
    packet.inbox.push(Message { sender: id("queue"), belief: of_db(Label::Healthy, 0, None) });
    let first = judge(&packet);
    packet.context.findings.reverse();
    packet.inbox.reverse();
    let second = judge(&packet);
    assert_eq!((first.label, first.measures), (second.label, second.measures));
    assert_eq!((first.since, first.claims), (second.since, second.claims));
}
