//! Explanations that compete: by time, by kind, by what people say, and at a second look. Every
//! situation is judged with several beginnings, so that no time of day decides.

use eog_core::Anomaly;
use eog_core::contract::{FormerBelief, NamedOrigin, Notice, NoticeReason};
use eog_core::incident::Onset;

use super::*;

/// The deploy at a second reaches an alert on the caller at another.
fn reaches(deployed: i64, alert: i64) -> FindingContent {
    let mut content = impact(0, 0, "caller");
    content.change = Some(at_second(deployed));
    content.time = EvidenceTime::At(second_of(alert));
    content
}

/// What a neighbour says, with the time since when.
fn since(mut message: Message, from: i64, to: i64) -> Message {
    message.belief.since = Some(Onset::between(second_of(from), second_of(to)));
    message
}

/// What a person says of `me`.
fn word(trend: Trend) -> FindingContent {
    let note = finding(EvidenceKind::Note, Signal::Other, trend, 0);
    FindingContent { source: "person".into(), ..note }
}

/// Beginnings of the harm, in seconds.
const BEGINNINGS: [i64; 4] = [2_400, 7_203, 36_011, 90_017];

#[test]
fn a_deploy_after_the_harm_began_explains_nothing() {
    for harm in BEGINNINGS {
        let findings = |deployed| {
            vec![
                deploy(deployed),
                reaches(deployed, harm + 600),
                dated(calling("callee", 0), harm, 9),
            ]
        };
        for late in [10, 120, 590] {
            let decision = judged(findings(harm + late), vec![], |_| {});
            assert_eq!(rule(&decision), "symptom, failing callee", "{late}");
            let lost = &decision.alternatives[0];
            assert_eq!(lost.rule.as_deref(), Some("own change"));
            assert_eq!(lost.lost, "the harm was there before the change was made");
            assert!(!lost.evidence.is_empty());
        }
        // Within the interval it may have come first.
        let decision = judged(findings(harm + 5), vec![], |_| {});
        assert_eq!(rule(&decision), "origin, own change");
    }
}

#[test]
fn without_measured_harm_trouble_upstream_is_the_better_explanation() {
    for harm in BEGINNINGS {
        // Nothing shows that the harm followed the change, whichever came first.
        for upstream in [harm - 30, harm + 300] {
            let deployed = harm + 100;
            let alert = dated(alert(0), harm + 600, 0);
            let findings = vec![
                deploy(deployed),
                reaches(deployed, harm + 600),
                FindingContent { onset: None, ..alert },
            ];
            let inbox = vec![since(says("callee", Symptom, &[], &[Log]), upstream, upstream + 9)];
            let alone = judged(findings.clone(), vec![], |_| {});
            assert_eq!(rule(&alone), "origin, own change");
            assert_eq!(rule(&judged(findings, inbox, |_| {})), "symptom, degraded upstream");
        }
    }
}

#[test]
fn of_several_changes_the_one_nearest_before_the_onset_is_put_forward() {
    for harm in BEGINNINGS {
        let harmed = dated(errors(0), harm, 6);
        let all = [harm - 1_900, harm - 20, harm + 60];
        let mut findings: Vec<FindingContent> = all.map(deploy).to_vec();
        findings.extend([reaches(harm + 60, harm + 300), harmed]);
        let ids: Vec<_> = findings.iter().cloned().map(Finding::new).collect();
        let decision = judged(findings, vec![], |_| {});
        assert_eq!(rule(&decision), "origin, own change");
        let cited: Vec<_> =
            decision.evidence.iter().filter(|id| id.kind() == EvidenceKind::Change).collect();
        assert_eq!(cited, [ids[1].id()], "one change is cited");
        let since = decision.since.unwrap();
        assert_eq!(since.latest(), second_of(harm - 20), "since the change was made");
    }
}

#[test]
fn two_changes_that_fit_alike_are_both_cited() {
    for harm in BEGINNINGS {
        let findings = vec![
            deploy(harm - 40),
            deploy(harm - 15),
            reaches(harm - 15, harm + 300),
            dated(errors(0), harm, 6),
        ];
        let decision = judged(findings, vec![], |_| {});
        let cited = decision.evidence.iter().filter(|id| id.kind() == EvidenceKind::Change);
        assert_eq!(cited.count(), 2);
        assert!(decision.summary.contains("another change fits as well"), "{}", decision.summary);
        assert!(decision.alternatives[0].lost.contains("fits alike"));
    }
}

#[test]
fn a_change_long_before_needs_evidence_for_the_delay() {
    for harm in BEGINNINGS {
        let tuned = harm - 52 * 60;
        let findings = vec![
            deploy(tuned),
            reaches(tuned, harm + 300),
            dated(errors(0), harm, 6),
            FindingContent { onset: None, ..dated(alert(0), harm + 300, 0) },
        ];
        let heard = || vec![says("callee", Healthy, &[], &[])];
        let decision = judged(findings.clone(), heard(), |_| {});
        assert_eq!(rule(&decision), "origin, first in trouble");
        assert!(decision.evidence.iter().all(|id| id.kind() != EvidenceKind::Change));
        assert!(decision.summary.contains("no change that fits of me is on record"));
        let refuted = &decision.alternatives[0];
        assert_eq!(refuted.rule.as_deref(), Some("own change"));
        // Better no cause than this one; where no beginning is measured, it is only doubted.
        let unheard = judged(findings.clone(), vec![], |_| {});
        assert_eq!(rule(&unheard), "symptom, cause not found");
        let undated = findings.iter().filter(|one| one.kind != Metric).cloned().collect();
        assert_eq!(rule(&judged(undated, vec![], |_| {})), "origin, own change");

        // Something that fills up from the change on takes its time; what begins to fill when the
        // harm begins does not show what took so long until then.
        let filling = |began| {
            let filling = finding(Metric, Signal::Saturation, Trend::Rising, 0);
            let leaking = findings.iter().cloned().chain([dated(filling, began, 30)]).collect();
            rule(&judged(leaking, heard(), |_| {}))
        };
        assert_eq!(filling(tuned + 60), "origin, own change");
        assert_eq!(filling(tuned + 9 * 60), "origin, own change");
        assert_eq!(filling(harm - 60), "origin, first in trouble");
    }
}

#[test]
fn where_nothing_changed_the_first_in_trouble_is_the_origin_once_all_upstream_were_heard() {
    for harm in BEGINNINGS {
        let findings = || {
            let alert = FindingContent { onset: None, ..dated(alert(0), harm + 300, 0) };
            vec![dated(errors(0), harm, 6), alert]
        };
        let callee = |from| since(says("callee", Symptom, &[], &[Log]), from, from + 5);
        assert_eq!(rule(&judged(findings(), vec![], |_| {})), "symptom, cause not found");
        for (inbox, expected) in [
            (vec![says("callee", Healthy, &[], &[])], "origin, first in trouble"),
            (vec![callee(harm - 60)], "symptom, degraded upstream"),
            // Within a step of measuring nothing tells which came first.
            (vec![callee(harm + 60)], "symptom, degraded upstream"),
            (vec![callee(harm + 70)], "origin, first in trouble"),
        ] {
            let decision = judged(findings(), inbox, |_| {});
            assert_eq!(rule(&decision), expected, "{}", decision.summary);
            assert_eq!(decision.since.map(|since| since.earliest()), Some(second_of(harm)));
        }
    }
}

#[test]
fn a_change_next_door_fits_by_the_onset_of_the_harm() {
    for harm in BEGINNINGS {
        let told = |made| vec![since(says("callee", Label::Defer, &[], &[Change]), made, made)];
        let findings = || vec![dated(errors(0), harm, 6), alert(9)];
        for (made, expected) in [
            (harm - 20, "symptom, changed next door"),
            (harm + 20, "origin, first in trouble"),
            (harm - 3_000, "origin, first in trouble"),
        ] {
            assert_eq!(rule(&judged(findings(), told(made), |_| {})), expected);
        }
    }
}

#[test]
fn who_is_called_in_vain_and_has_nothing_to_say_is_the_origin() {
    let blamed = || vec![says("caller", Symptom, &["me > caller"], &[Log])];
    let outside = |packet: &mut ContextPacket| {
        packet.neighbours.retain(|neighbour| !neighbour.outgoing);
    };
    let decision = judged(vec![], blamed(), outside);
    assert_eq!(rule(&decision), "defer, does not answer");
    let remark = FindingContent { source: "remark".into(), ..word(Trend::Steady) };
    let decision = judged(vec![remark], blamed(), outside);
    assert_eq!(rule(&decision), "origin, does not answer");
    assert_eq!(decision.evidence.len(), 1);
    // Beside an origin that fails by itself there is no need of it.
    let remark = FindingContent { source: "remark".into(), ..word(Trend::Steady) };
    let judged_beside = |by| {
        judged(vec![remark.clone()], blamed(), |packet| {
            outside(packet);
            beside(by, 0)(packet);
        })
    };
    assert_ne!(rule(&judged_beside("own failure")), "origin, does not answer");
    assert_eq!(rule(&judged_beside("first in trouble")), "origin, does not answer");
    // It has somebody behind it, who may say more.
    assert_eq!(rule(&judged(vec![], blamed(), |_| {})), "defer, no findings");
    assert_eq!(
        rule(&judged(vec![steady(Signal::Errors)], blamed(), outside)),
        "healthy, nothing unusual"
    );
}

#[test]
fn a_persons_word_counts_for_what_it_says() {
    let remark = FindingContent { source: "remark".into(), ..word(Trend::Steady) };
    let blamed = || vec![says("caller", Symptom, &["me > caller"], &[Log])];
    for (findings, expected) in [
        (vec![remark.clone()], "defer, no findings"),
        (vec![remark, errors(5)], "symptom, cause not found"),
        (vec![word(Trend::Steady)], "healthy, a person's word"),
        (vec![word(Trend::Rising)], "origin, a person's word"),
        (vec![word(Trend::Steady), exhaustion(9)], "symptom, cause not found"),
        (vec![word(Trend::Rising), change(Configuration, 5)], "origin, own change"),
        (vec![word(Trend::Rising), calling("callee", 9)], "origin, a person's word"),
        (vec![word(Trend::Steady), calling("callee", 9)], "symptom, failing callee"),
    ] {
        let decision = judged(findings, blamed(), |_| {});
        assert_eq!(rule(&decision), expected, "{}", decision.summary);
    }
    let cleared = vec![word(Trend::Steady), change(Configuration, 5)];
    let decision = judged(cleared, blamed(), |_| {});
    assert_eq!(decision.label, Healthy);
    assert_eq!(decision.alternatives[0].lost, "a person says that it is not the cause");
}

#[test]
fn a_dead_end_brings_the_next_explanation_forward() {
    let findings = || vec![calling("callee", 9), errors(9), route(5, "other")];
    let notice = |count| {
        move |packet: &mut ContextPacket| {
            let reason = NoticeReason::DeadEnd;
            packet.notice = Some(second_look(reason, count));
        }
    };
    let first = judged(findings(), vec![], |_| {});
    assert_eq!(in_short(&first), "symptom, failing callee callee>me");
    // Nobody was asked yet: it may rest on what was not known at the first look.
    let second = judged(findings(), vec![], notice(1));
    assert_eq!(in_short(&second), "symptom, failing callee callee>me");
    let asked = || vec![says("callee", Symptom, &[], &[Log])];
    let second = judged(findings(), asked(), notice(1));
    assert_eq!(in_short(&second), "symptom, changed upstream other>me");
    assert_eq!(second.alternatives[0].lost, "what it names was tried, and leads nowhere");
    assert_eq!(first.alternatives[0].lost, "failing callee is the more specific explanation");

    // Who is an origin by now is no dead end.
    let found = || vec![says("callee", Origin, &["callee > me"], &[Event])];
    assert_eq!(rule(&judged(findings(), found(), notice(1))), "symptom, failing callee");
    // Whoever was changed upstream before it failed was asked.
    let failed = || vec![exhaustion(9), route(5, "callee")];
    assert_eq!(rule(&judged(failed(), asked(), |_| {})), "symptom, changed upstream");
    assert_eq!(rule(&judged(failed(), asked(), notice(1))), "origin, own failure");
    // With nothing else known, the search ends here.
    let decision = judged(vec![errors(9), alert(12)], vec![], notice(1));
    assert_eq!(rule(&decision), "origin, first in trouble");
    let decision = judged(vec![alert(12)], vec![], notice(1));
    assert_eq!(rule(&decision), "symptom, cause not found");
}

#[test]
fn where_the_search_ends_what_names_nobody_is_passed_over() {
    let notice = |reason| {
        move |packet: &mut ContextPacket| {
            packet.notice = Some(second_look(reason, 1));
        }
    };
    // More is asked than its failures account for, and nobody is known to send it.
    let findings =
        || vec![dated(errors(0), 3_600, 30), traffic(Trend::Rising, 60, 900.0), alert(62)];
    assert_eq!(in_short(&judged(findings(), vec![], |_| {})), "defer, demand enters here ?caller");
    let dead_end = judged(findings(), vec![], notice(NoticeReason::DeadEnd));
    assert_eq!(rule(&dead_end), "origin, first in trouble");
    // Who is known to send it is no matter of retries.
    let sent = [findings(), vec![from("caller", 60, 900.0)]].concat();
    let known = judged(sent, vec![], notice(NoticeReason::DeadEnd));
    assert_eq!(in_short(&known), "symptom, traffic amplification caller>me");
    // Before it is named it is looked at again, and more is asked for: else noise would be named.
    let again = judged(findings(), vec![], notice(NoticeReason::SecondOpinion));
    assert_eq!(rule(&again), "defer, demand enters here");
}

#[test]
fn an_origin_far_upstream_is_kept_beside_callees_that_explain_less() {
    let far = |name: &str| {
        let note = finding(EvidenceKind::Note, Signal::Errors, Trend::Rising, 5);
        with_peer(note, name, PeerRole::NextUpstream)
    };
    let taken = |former: &str, store: Label, count: u32| {
        let findings = vec![alert(62), far("store"), far("other"), calling("callee", 60)];
        let inbox = vec![
            says("store", store, &[], &[Metric]),
            says("callee", Symptom, &[], &[Metric]),
            says("other", Origin, &[], &[Metric]),
        ];
        let decision = judged(findings, inbox, |packet| {
            let belief = says("me", Symptom, &["store > me"], &[Metric]).belief;
            let belief = Belief { rule: Some(former.to_owned()), ..belief };
            packet.former = Some(FormerBelief { belief, heard: vec![] });
            // Another alert here is not explained by it.
            let reason = NoticeReason::DeadEnd;
            packet.notice = (count > 0).then_some(second_look(reason, count));
        });
        in_short(&decision)
    };
    for count in 0..3 {
        let kept = taken("far upstream", Origin, count);
        assert_eq!(kept, "symptom, far upstream store>me", "{count}");
    }
    assert_eq!(taken("far upstream", Symptom, 0), "symptom, failing callee callee>me");
    assert_eq!(taken("degraded upstream", Origin, 0), "symptom, failing callee callee>me");
}

#[test]
fn a_second_opinion_keeps_what_was_found_where_the_search_ended() {
    let failing = |requests: f64| {
        let mut content = dated(errors(0), 3_600, 30);
        let unit = "requests".to_owned();
        content.quantity = Some(Quantity { observed: requests, baseline: Some(10.0), unit });
        content
    };
    let again = |findings: Vec<FindingContent>, former: Label, kind: Signal| {
        let decision = judged(findings, vec![], |packet| {
            let reason = NoticeReason::SecondOpinion;
            packet.notice = Some(second_look(reason, 1));
            let belief = says("me", former, &[], &[Log]).belief;
            packet.former = Some(FormerBelief { belief, heard: vec![] });
            packet.anomalies = vec![anomaly("Alert", kind, 62)];
        });
        rule(&decision)
    };
    let kept = |findings| again(findings, Origin, Signal::Errors);
    assert_eq!(kept(vec![failing(15.0), alert(62)]), "origin, first in trouble");
    assert_eq!(kept(vec![failing(14.0), alert(62)]), "symptom, cause not found", "a little more");
    let undated = FindingContent { onset: None, ..failing(15.0) };
    assert_eq!(kept(vec![undated, alert(62)]), "symptom, cause not found", "since when?");
    let asked_more = traffic(Trend::Rising, 62, 150.0);
    assert_eq!(
        kept(vec![failing(15.0), alert(62), asked_more]),
        "defer, demand enters here",
        "by calls that are tried again, perhaps"
    );
    let others = vec![failing(15.0), alert(62), calling("callee", 60)];
    assert_eq!(kept(others), "symptom, failing callee", "something else has come up");
    let before = || vec![failing(15.0), alert(62)];
    assert_eq!(again(before(), Symptom, Signal::Errors), "symptom, cause not found");
    assert_eq!(again(before(), Origin, Signal::Latency), "symptom, cause not found");
}

#[test]
fn a_second_opinion_keeps_a_resource_that_ran_full_where_the_search_ended() {
    let again = |used: f64, usual: f64, more: Vec<FindingContent>| {
        let mut full = dated(finding(Metric, Signal::Saturation, Trend::Rising, 60), 3_600, 30);
        full.quantity =
            Some(Quantity { observed: used, baseline: Some(usual), unit: "ratio".into() });
        let findings = [vec![full], more].concat();
        let decision = judged(
            findings,
            vec![says("caller", Symptom, &["me > caller"], &[Metric])],
            |packet| {
                let reason = NoticeReason::SecondOpinion;
                packet.notice = Some(second_look(reason, 1));
                let belief = says("me", Origin, &[], &[Metric]).belief;
                packet.former = Some(FormerBelief { belief, heard: vec![] });
            },
        );
        rule(&decision)
    };
    assert_eq!(again(0.97, 0.03, vec![]), "origin, first in trouble");
    assert_eq!(again(0.97, 0.6, vec![]), "symptom, cause not found", "it was busy before");
    assert_eq!(again(0.7, 0.03, vec![]), "symptom, cause not found", "it is not full");
    let asked_more = traffic(Trend::Rising, 62, 150.0);
    assert_eq!(again(0.97, 0.03, vec![asked_more]), "symptom, cause not found", "more is asked");
}

#[test]
fn an_alert_tells_that_harm_was_there_before_it_stood_out() {
    let since = |kind: Signal, second: i64| {
        let decision = judged(vec![dated(errors(0), 3_600, 30)], vec![], |packet| {
            let mut alert = anomaly("Alert", kind, 0);
            alert.onset = second_of(second);
            packet.anomalies = vec![alert];
        });
        decision.since.unwrap()
    };
    // Told as late as a step of measuring after it stood out.
    let span = |from: i64| Onset::between(second_of(from), second_of(3_690));
    assert_eq!(since(Signal::Errors, 3_700), span(3_600));
    assert_eq!(since(Signal::Errors, 3_550), span(3_550));
    assert_eq!(since(Signal::Errors, 1_000), span(1_000));
    assert_eq!(since(Signal::Latency, 3_550), span(3_550));
    assert_eq!(since(Signal::Latency, 1_000), span(3_600), "of something else");
}

#[test]
fn lines_of_a_log_date_trouble_where_nothing_else_does() {
    let line = |second| dated(finding(Log, Signal::Errors, Trend::Rising, 0), second, 60);
    let told = |findings| judged(findings, vec![], |_| {}).since.unwrap().earliest();
    let all = |findings: Vec<FindingContent>| [findings, vec![alert(70)]].concat();
    assert_eq!(told(all(vec![line(3_000)])), second_of(3_000));
    assert_eq!(told(all(vec![line(3_000), dated(errors(0), 3_600, 30)])), second_of(3_600));
}

#[test]
fn events_are_recorded_up_to_five_minutes_after_what_they_tell_of() {
    let told = |findings| judged(findings, vec![], |_| {}).since.unwrap();
    let event = || dated(exhaustion(0), 7_200, 0);
    // Told as late as a step of measuring after it stood out.
    let span = |from: i64, to: i64| Onset::between(second_of(from), second_of(to + 60));
    assert_eq!(told(vec![event()]), span(6_900, 7_200));
    let drop = |second| dated(traffic(Trend::Falling, 0, 10.0), second, 30);
    assert_eq!(told(vec![event(), drop(7_000)]), span(7_000, 7_030), "less arrives since then");
    assert_eq!(told(vec![event(), drop(6_000)]), span(6_900, 7_200), "that was long before");
    // What is measured is known by its measurement.
    assert_eq!(told(vec![event(), dated(errors(0), 7_100, 60)]), span(7_100, 7_160));
}

#[test]
fn at_a_second_opinion_a_rival_with_a_change_comes_first() {
    let notice = |packet: &mut ContextPacket| {
        let rivals = vec![id("callee")];
        let reason = NoticeReason::SecondOpinion;
        packet.notice = Some(Notice { rivals, ..second_look(reason, 1) });
    };
    let findings = || vec![exhaustion(9), errors(9)];
    let rival = |cites| vec![says("callee", Origin, &[], &[cites])];
    assert_eq!(rule(&judged(findings(), rival(Change), |_| {})), "origin, own failure");
    assert_eq!(rule(&judged(findings(), rival(Change), notice)), "symptom, degraded upstream");
    assert_eq!(rule(&judged(findings(), rival(Event), notice)), "origin, own failure");
}

/// A second opinion is asked, and another origin was found by a rule, in trouble since a second.
fn beside(rule: &'static str, second: i64) -> impl Fn(&mut ContextPacket) {
    move |packet: &mut ContextPacket| {
        let (rule, since) = (Some(rule.to_owned()), Some(Onset::at(second_of(second))));
        let others =
            vec![NamedOrigin { entity: id("elsewhere"), rule, since, until: None, log_odds: None }];
        let reason = NoticeReason::SecondOpinion;
        packet.notice = Some(Notice { others, ..second_look(reason, 1) });
    }
}

#[test]
fn at_a_second_opinion_an_own_change_gives_way_to_an_origin_that_fails_by_itself() {
    let findings = || vec![deploy(3_600), dated(errors(0), 3_700, 30)];
    let judged_beside = |by: &'static str, second| judged(findings(), vec![], beside(by, second));
    assert_eq!(rule(&judged(findings(), vec![], |_| {})), "origin, own change");
    let gives_way = judged_beside("own failure", 3_650);
    assert_ne!(gives_way.label, Origin);
    let lost = gives_way.alternatives.iter().find(|one| one.rule.as_deref() == Some("own change"));
    assert_eq!(lost.unwrap().lost, "elsewhere fails by itself, whatever was changed here");
    // Not to what failed after the harm here, nor to what is only found slower.
    assert_eq!(rule(&judged_beside("own failure", 3_800)), "origin, own change");
    assert_eq!(rule(&judged_beside("first in trouble", 3_650)), "origin, own change");
    // Where no harm is measured, what failed after the alerts fired is no reason.
    let unmeasured = |second| {
        let blamed = vec![says("caller", Symptom, &["me > caller"], &[Log])];
        judged(vec![deploy(3_600)], blamed, |packet| {
            packet.anomalies =
                vec![Anomaly { onset: second_of(3_700), ..anomaly("late", Signal::Errors, 0) }];
            beside("own failure", second)(packet);
        })
    };
    assert_ne!(rule(&unmeasured(3_650)), "origin, own change");
    assert_eq!(rule(&unmeasured(7_200)), "origin, own change");
    // What is seen to take effect stays.
    let demand = dated(finding(Change, Signal::Demand, Trend::Steady, 0), 3_600, 0);
    let more = dated(traffic(Trend::Rising, 0, 100.0), 3_650, 30);
    let loaded = vec![demand, more, dated(errors(0), 3_700, 30)];
    let loaded = judged(loaded, vec![], beside("own failure", 3_650));
    assert_eq!(rule(&loaded), "origin, own change");
}

#[test]
fn at_a_second_opinion_who_has_the_lesser_part_gives_way_to_other_origins() {
    let part = |percent| part(Signal::Errors, percent);
    let told = |findings: Vec<FindingContent>| {
        let others = judged(findings.clone(), vec![], beside("accounted for by nobody", 3_650));
        (rule(&judged(findings, vec![], |_| {})), rule(&others))
    };
    let own_change = |percent| vec![deploy(3_600), dated(errors(0), 3_700, 30), part(percent)];
    let same = |text: &str| (text.to_owned(), text.to_owned());
    assert_eq!(told(own_change(50)), same("origin, own change"));
    let (alone, gives_way) = told(own_change(49));
    assert_eq!(alone, "origin, own change");
    assert_ne!(gives_way, "origin, own change");
    let lost = judged(own_change(49), vec![], beside("accounted for by nobody", 3_650));
    let lost = lost.alternatives.iter().find(|one| one.rule.as_deref() == Some("own change"));
    let why =
        "less than half of what any alert shows can come from here, and other origins are found";
    assert_eq!(lost.unwrap().lost, why);
    // All replicas of one workload count together.
    let mut of_replica = part(20);
    of_replica.quantity.as_mut().unwrap().baseline = Some(0.6);
    let replica = vec![deploy(3_600), dated(errors(0), 3_700, 30), of_replica];
    assert_eq!(told(replica), same("origin, own change"));
    // What fails by itself needs no measure, nor does what a person says.
    assert_eq!(told(vec![exhaustion(9), part(20)]), same("origin, own failure"));
    let stated = own_change(20).into_iter().chain([word(Trend::Rising)]).collect();
    assert_eq!(told(stated), same("origin, a person's word"));
}

#[test]
fn an_own_change_gives_way_to_its_host_that_is_in_trouble_first() {
    let findings = || vec![deploy(3_600), dated(errors(0), 3_700, 30)];
    let beneath = |rule: &str, second, relation: &str, outgoing| {
        let mut says = says("node", Origin, &[], &[Event]);
        says.belief.rule = Some(rule.to_owned());
        says.belief.since = Some(Onset::at(second_of(second)));
        let relation = relation.to_owned();
        let (entity, direction) = (id("node"), Direction::Upstream);
        let edge = Neighbour { entity, relation, outgoing, direction };
        judged(findings(), vec![says], |packet| packet.neighbours.push(edge))
    };
    let first = "first in trouble";
    let gives_way = beneath(first, 3_650, "hosts", false);
    assert_eq!(in_short(&gives_way), "symptom, degraded upstream node>me");
    let lost = gives_way.alternatives.iter().find(|one| one.rule.as_deref() == Some("own change"));
    assert_eq!(lost.unwrap().lost, "node, on which it runs, is in trouble by itself");
    assert_eq!(rule(&beneath(first, 3_650, "runs_on", true)), "symptom, degraded upstream");
    assert_eq!(rule(&beneath(first, 3_800, "hosts", false)), "origin, own change", "later");
    assert_eq!(rule(&beneath("own change", 3_650, "hosts", false)), "origin, own change");
    assert_eq!(rule(&beneath(first, 3_650, "owns", false)), "origin, own change", "no host");
}

#[test]
fn at_a_second_opinion_an_own_change_yields_to_what_came_first() {
    let notice = |rivals: Vec<EntityId>| {
        move |packet: &mut ContextPacket| {
            let reason = NoticeReason::SecondOpinion;
            let rivals = rivals.clone();
            packet.notice = Some(Notice { rivals, ..second_look(reason, 1) });
        }
    };
    let findings = || vec![deploy(3_600), dated(errors(0), 3_700, 30)];
    // The callee explains itself by somebody else, since a time.
    let told = |second: i64| {
        let mut message = says("callee", Symptom, &["behind > callee"], &[Log]);
        message.belief.claims[0].cause_since = Some(Onset::at(second_of(second)));
        vec![message]
    };
    let rival = || vec![id("behind")];
    let first = judged(findings(), told(3_500), |_| {});
    assert_eq!(rule(&first), "origin, own change");
    let yields = judged(findings(), told(3_500), notice(rival()));
    assert_eq!(in_short(&yields), "symptom, degraded upstream callee>me");
    assert_eq!(rule(&judged(findings(), told(3_650), notice(rival()))), "origin, own change");
    assert_eq!(rule(&judged(findings(), told(3_500), notice(vec![]))), "origin, own change");

    // Of what is known to wait alone, whoever explains a neighbour comes first.
    let waits = || {
        let full = finding(EvidenceKind::Metric, Signal::Saturation, Trend::Rising, 0);
        vec![deploy(3_600), dated(full, 3_700, 30)]
    };
    let yields = judged(waits(), told(3_650), |_| {});
    assert_eq!(in_short(&yields), "symptom, degraded upstream callee>me");
    // What began after the waiting does not explain it, unless nothing else is left to ask for.
    assert_eq!(rule(&judged(waits(), told(3_800), |_| {})), "origin, own change");
    let yields = judged(waits(), told(3_800), notice(vec![]));
    assert_eq!(in_short(&yields), "symptom, degraded upstream callee>me");
}

#[test]
fn an_origin_says_which_alerts_it_explains() {
    let explained = |findings, anomalies: Vec<Anomaly>| {
        let decision = judged(findings, vec![], |packet| packet.anomalies = anomalies);
        let names = |explained: &eog_core::belief::Explained| explained.anomaly.clone();
        decision.explains.map(|all| all.iter().map(names).collect::<Vec<_>>())
    };
    let both = || vec![anomaly("Early", Signal::Errors, 3), anomaly("Late", Signal::Errors, 9)];
    let changed = || vec![dated(change(Configuration, 5), 300, 0), errors(6)];
    assert_eq!(explained(changed(), both()), Some(vec!["Late".to_owned()]));
    assert_eq!(explained(changed(), vec![anomaly("Late", Signal::Errors, 9)]), None);
    let kinds = || vec![anomaly("Errors", Signal::Errors, 9), anomaly("Slow", Signal::Latency, 9)];
    assert_eq!(explained(vec![exhaustion(6)], kinds()), None, "exhaustion leads to anything");

    // A claim of failing calls does not explain that answers are slow.
    let decision = judged(vec![calling("callee", 6)], vec![], |packet| packet.anomalies = kinds());
    let explains = decision.claims[0].explains.as_ref().unwrap();
    assert_eq!(explains.iter().map(|one| one.anomaly.as_str()).collect::<Vec<_>>(), ["Errors"]);
}

#[test]
fn claims_carry_times_and_an_effect_never_precedes_its_cause() {
    for harm in BEGINNINGS {
        let findings =
            || vec![dated(calling("a", 0), harm, 9), dated(calling("b", 0), harm + 2, 9)];
        let speaks = |name, from| since(says(name, Symptom, &[], &[Log]), from, from + 3);
        let decision =
            judged(findings(), vec![speaks("a", harm - 8), speaks("b", harm + 90)], |_| {});
        assert_eq!(in_short(&decision), "symptom, failing callee a>me");
        let claim = &decision.claims[0];
        assert_eq!(claim.cause_since.unwrap().earliest(), second_of(harm - 8));
        assert_eq!(claim.effect_since, decision.since);
        let decision =
            judged(findings(), vec![speaks("a", harm + 80), speaks("b", harm + 90)], |_| {});
        assert_eq!(rule(&decision), "symptom, cause not found");
        assert!(decision.alternatives[0].lost.contains("did worse before a did"));
    }
}
