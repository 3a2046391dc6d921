//! Who is found elsewhere to fail by itself, however far, and what that changes here.

use eog_core::contract::{FormerBelief, NamedOrigin, Notice, NoticeReason};

use super::*;

/// A notice that tells of an origin that explains no alert, found by a rule, since a second.
fn unlinked(reason: NoticeReason, by: &str, second: i64) -> Notice {
    let (rule, since) = (Some(by.to_owned()), Some(Onset::at(second_of(second))));
    let unlinked =
        vec![NamedOrigin { entity: id("store"), rule, since, until: None, log_odds: None }];
    Notice { unlinked, ..second_look(reason, 1) }
}

/// What the entity held before, by a rule and with a cause.
fn formerly(by: &str, cause: &str) -> FormerBelief {
    let belief = says("me", Symptom, &[&format!("{cause} > me")], &[Log]).belief;
    FormerBelief { belief: Belief { rule: Some(by.to_owned()), ..belief }, heard: vec![] }
}

#[test]
fn where_the_search_ends_who_fails_by_itself_is_named_however_far() {
    let harm = || vec![dated(errors(0), 3_600, 30), alert(62)];
    let at_the_end = |findings: Vec<FindingContent>, by: &str, second| {
        let decision = judged(findings, vec![], |packet| {
            packet.anomalies = vec![anomaly("Errors", Signal::Errors, 62)];
            packet.notice = Some(unlinked(NoticeReason::DeadEnd, by, second));
        });
        in_short(&decision)
    };
    let named = "symptom, far upstream store>me";
    assert_eq!(at_the_end(harm(), "a person's word", 3_500), "origin, first in trouble");
    assert_eq!(at_the_end(vec![alert(62)], "a person's word", 3_500), named);
    for by in ["own failure", "no longer available", "crowds out", "source of demand"] {
        assert_eq!(at_the_end(harm(), by, 3_500), named, "{by}");
    }
    // Whose work hangs, and where requests begin to fail, is named where nothing was measured here.
    let ends_here = "origin, first in trouble";
    for by in ["gets nothing done", "errors begin here", "its answers end requests"] {
        assert_eq!(at_the_end(vec![alert(62)], by, 3_500), named, "{by}");
        assert_eq!(at_the_end(harm(), by, 3_500), ends_here, "{by}");
    }
    // Not who only does worse, nor who failed afterwards.
    let unknown = "symptom, cause not found ?callee";
    for by in ["accounted for by nobody", "holds up callers", "own change"] {
        assert_eq!(at_the_end(vec![alert(62)], by, 3_500), unknown, "{by}");
    }
    assert_eq!(at_the_end(harm(), "own failure", 3_700), ends_here);
}

#[test]
fn a_failure_is_joined_with_what_began_soon_and_while_it_lasted() {
    let at_the_end = |since: Option<i64>, until: Option<i64>, findings: Vec<FindingContent>| {
        let decision = judged(findings, vec![], |packet| {
            packet.anomalies = vec![anomaly("Errors", Signal::Errors, 62)];
            let mut notice = unlinked(NoticeReason::DeadEnd, "no longer available", 0);
            notice.unlinked[0].since = since.map(|since| Onset::at(second_of(since)));
            notice.unlinked[0].until = until.map(second_of);
            packet.notice = Some(notice);
        });
        rule(&decision).to_owned()
    };
    let measured = || vec![dated(errors(0), 3_600, 30), alert(62)];
    let (named, ends_here) = ("symptom, far upstream", "origin, first in trouble");
    assert_eq!(at_the_end(Some(3_500), Some(3_700), measured()), named);
    assert_eq!(at_the_end(Some(3_500), None, measured()), named, "nothing tells until when");
    assert_eq!(at_the_end(Some(3_250), Some(3_300), measured()), named, "within five minutes");
    assert_eq!(at_the_end(Some(3_250), Some(3_299), measured()), ends_here, "over before");
    assert_eq!(at_the_end(Some(2_000), Some(3_700), measured()), ends_here, "long before");
    assert_eq!(at_the_end(None, Some(3_700), measured()), ends_here, "as ever");
    // Where nothing is measured, the alert counts.
    let unknown = "symptom, cause not found";
    assert_eq!(at_the_end(Some(3_400), Some(3_420), vec![alert(62)]), named);
    assert_eq!(at_the_end(Some(3_400), Some(3_419), vec![alert(62)]), unknown, "over before");
}

#[test]
fn who_does_worse_and_names_nobody_is_named_where_the_search_ends() {
    let at = |label, claims: &[&str], reason| {
        let mut note = finding(EvidenceKind::Note, Signal::Latency, Trend::Rising, 9);
        note.excerpt = "store is slow".to_owned();
        let note = with_peer(note, "store", PeerRole::NextUpstream);
        let store = says("store", label, claims, &[Metric]);
        let decision = judged(vec![alert(62), note], vec![store], |packet| {
            packet.anomalies = vec![anomaly("Errors", Signal::Errors, 62)];
            packet.notice = Some(second_look(reason, 1));
        });
        in_short(&decision)
    };
    let named = "symptom, far upstream store>me";
    assert_eq!(at(Symptom, &[], NoticeReason::DeadEnd), named);
    assert_eq!(at(Origin, &[], NoticeReason::SecondOpinion), named);
    let unknown = "symptom, cause not found ?store ?callee";
    assert_eq!(at(Symptom, &[], NoticeReason::SecondOpinion), unknown);
    assert_eq!(at(Symptom, &["disk > store"], NoticeReason::DeadEnd), unknown);
    assert_eq!(at(Healthy, &[], NoticeReason::DeadEnd), "symptom, cause not found ?callee");
}

#[test]
fn who_was_named_far_upstream_is_kept_while_it_is_an_origin() {
    let later = |label, began: i64| {
        let mut store = says("store", label, &[], &[Event]);
        store.belief.since = Some(Onset::at(second_of(began)));
        let findings = vec![dated(calling("callee", 0), 3_600, 30), alert(62)];
        let decision = judged(findings, vec![store], |packet| {
            packet.anomalies = vec![anomaly("Errors", Signal::Errors, 62)];
            packet.former = Some(formerly("far upstream", "store"));
        });
        in_short(&decision)
    };
    assert_eq!(later(Origin, 3_500), "symptom, far upstream store>me");
    assert_eq!(later(Symptom, 3_500), "symptom, failing callee callee>me");
    // It says itself that it began after the harm here.
    assert_eq!(later(Origin, 3_700), "symptom, failing callee callee>me");
}

#[test]
fn who_was_never_asked_was_not_tried() {
    let note = |other: &str| {
        let note = finding(EvidenceKind::Note, Signal::Output, Trend::Rising, 9);
        let mut note = with_peer(note, other, PeerRole::NextUpstream);
        note.excerpt = format!("{other} leaves calls out");
        note
    };
    // At the first dead end `store` was named; it has begun after the harm here, and `queue` was not asked.
    let mut store = says("store", Origin, &[], &[Event]);
    store.belief.since = Some(Onset::at(second_of(3_900)));
    let callee = says("callee", Symptom, &[], &[Log]);
    let findings = vec![
        dated(calling("callee", 0), 3_600, 30),
        alert(62),
        note("store"),
        note("queue"),
        note("topic"),
    ];
    let decision = judged(findings, vec![store, callee], |packet| {
        packet.anomalies = vec![anomaly("Errors", Signal::Errors, 62)];
        packet.notice = Some(second_look(NoticeReason::DeadEnd, 2));
    });
    assert_eq!(in_short(&decision), "symptom, far upstream queue>me");
}

#[test]
fn at_a_second_opinion_what_nobody_else_accounts_for_gives_way_to_who_fails() {
    let again = |by: &'static str, second| {
        let slow = finding(Metric, Signal::Latency, Trend::Rising, 5);
        let findings = vec![dated(slow, 3_600, 30), rest(Signal::Latency, 100)];
        judged(findings, vec![], |packet| {
            packet.notice = Some(unlinked(NoticeReason::SecondOpinion, by, second));
        })
    };
    let gives_way = again("own failure", 3_500);
    assert_eq!(rule(&gives_way), "symptom, cause not found");
    let lost = "store failed, or takes what others need, and can be the cause";
    assert!(gives_way.alternatives.iter().any(|one| one.lost == lost));
    let stays = "origin, accounted for by nobody";
    assert_eq!(rule(&again("own failure", 3_700)), stays, "it failed afterwards");
    assert_eq!(rule(&again("gets nothing done", 3_500)), stays, "what hangs may wait for this");
    assert_eq!(rule(&again("first in trouble", 3_500)), stays);
}

#[test]
fn an_own_change_gives_way_to_who_fails_and_says_that_it_is_the_cause() {
    let told = |by: &str, second| {
        let mut part = says("part", Origin, &["part > me"], &[Event]);
        part.belief.rule = Some(by.to_owned());
        part.belief.since = Some(Onset::at(second_of(second)));
        judged(vec![deploy(3_590), dated(errors(0), 3_600, 30)], vec![part], |_| {})
    };
    assert_eq!(rule(&told("own failure", 3_500)), "symptom, cause not found");
    assert_eq!(rule(&told("own failure", 3_700)), "origin, own change", "afterwards");
    assert_eq!(rule(&told("first in trouble", 3_500)), "origin, own change");
    // What effects of the entity can reach may fail by the change, unless it did so before.
    let below = |second| {
        let mut pod = says("pod", Origin, &["pod > me"], &[Event]);
        pod.belief.rule = Some("own failure".to_owned());
        pod.belief.since = Some(Onset::at(second_of(second)));
        let findings = vec![deploy(3_590), dated(errors(0), 3_600, 30)];
        let decision = judged(findings, vec![pod], |packet| {
            let (relation, direction) = ("owns".to_owned(), Direction::Downstream);
            packet.neighbours =
                vec![Neighbour { entity: id("pod"), relation, outgoing: true, direction }];
        });
        rule(&decision)
    };
    assert_eq!(below(3_595), "origin, own change");
    assert_eq!(below(3_500), "symptom, cause not found");
}

#[test]
fn who_was_named_before_comes_before_others_that_fail() {
    let store = says("store", Origin, &[], &[Event]);
    let decision = judged(vec![alert(62)], vec![store], |packet| {
        packet.anomalies = vec![anomaly("Errors", Signal::Errors, 62)];
        packet.former = Some(formerly("far upstream", "store"));
        let mut notice = unlinked(NoticeReason::DeadEnd, "own failure", 3_500);
        notice.unlinked[0].entity = id("another");
        packet.notice = Some(notice);
    });
    assert_eq!(in_short(&decision), "symptom, far upstream store>me");
}

#[test]
fn what_a_person_names_does_not_give_way() {
    let slow = finding(Metric, Signal::Latency, Trend::Rising, 5);
    let said = FindingContent {
        source: "person".into(),
        ..finding(EvidenceKind::Note, Signal::Other, Trend::Rising, 0)
    };
    let findings = vec![dated(slow, 3_600, 30), rest(Signal::Latency, 100), said];
    let decision = judged(findings, vec![], |packet| {
        packet.notice = Some(unlinked(NoticeReason::SecondOpinion, "own failure", 3_500));
    });
    assert_eq!(rule(&decision), "origin, accounted for by nobody");
}

#[test]
fn a_whole_is_no_origin_while_most_of_its_parts_name_another_cause() {
    let whole = |parts: Vec<Message>, relation: &str, outgoing| {
        let findings = vec![errors(9), rest(Signal::Errors, 100)];
        let direction = if outgoing { Direction::Both } else { Direction::Upstream };
        let decision = judged(findings, parts, |packet| {
            packet.neighbours = ["one", "two", "three"]
                .map(|part| Neighbour {
                    entity: id(part),
                    relation: relation.to_owned(),
                    outgoing,
                    direction,
                })
                .to_vec();
        });
        rule(&decision)
    };
    let names =
        |part: &str, cause: &str| says(part, Symptom, &[&format!("{cause} > {part}")], &[Log]);
    let by_parts = "symptom, degraded upstream";
    let by_itself = "origin, accounted for by nobody";
    let most = || vec![names("one", "store"), names("two", "store"), names("three", "me")];
    assert_eq!(whole(most(), "runs_as", true), by_parts);
    let apart = vec![names("one", "store"), names("two", "queue")];
    assert_eq!(whole(apart, "runs_as", true), by_itself, "not the same");
    let one = vec![names("one", "store")];
    assert_eq!(whole(one, "runs_as", true), by_itself, "the others have not spoken");
    let here = vec![names("one", "me"), names("two", "me")];
    assert_eq!(whole(here, "runs_as", true), by_itself);
    // Those that serve a service are its parts; whom it calls is none.
    assert_eq!(whole(most(), "backs", false), by_parts);
    assert_eq!(whole(most(), "calls", true), by_itself);
    assert_eq!(whole(most(), "consumes", true), by_itself);
}

#[test]
fn who_runs_out_by_itself_is_not_held_up_by_whom_it_calls() {
    let held_up = |by: &str| {
        let note = finding(EvidenceKind::Note, Signal::Saturation, Trend::Rising, 9);
        let mut note = with_peer(note, "caller", PeerRole::Caller);
        let unit = "times".to_owned();
        note.quantity = Some(Quantity { observed: 9.0, baseline: Some(1.0), unit });
        let mut caller = says("caller", Origin, &[], &[Metric]);
        caller.belief.rule = Some(by.to_owned());
        rule(&judged(vec![note, errors(9)], vec![caller], |_| {}))
    };
    assert_eq!(held_up("first in trouble"), "origin, holds up callers");
    for by in ["crowds out", "own failure", "source of demand"] {
        assert_eq!(held_up(by), "symptom, cause not found", "{by}");
    }
}

#[test]
fn a_whole_is_told_that_errors_begin_at_its_part() {
    let told = |relation: &str, outgoing| {
        let unit = "requests".to_owned();
        let mut begun = finding(Log, Signal::Errors, Trend::Rising, 9);
        begun.quantity = Some(Quantity { observed: 70.0, baseline: Some(0.0), unit });
        let whole = says("whole", Symptom, &[], &[Metric]);
        let decision = judged(vec![alert(9), begun], vec![whole], |packet| {
            let (relation, direction) = (relation.to_owned(), Direction::Downstream);
            packet.neighbours =
                vec![Neighbour { entity: id("whole"), relation, outgoing, direction }];
        });
        in_short(&decision)
    };
    assert_eq!(told("backs", true), "origin, errors begin here me>whole");
    // A caller measures its calls itself.
    assert_eq!(told("calls", false), "origin, errors begin here");
}

#[test]
fn demand_is_passed_on_from_when_it_came() {
    // Who passes it on did worse after it had.
    let mut sender = says("caller", Symptom, &[], &[Metric]);
    sender.belief.since = Some(Onset::at(second_of(4_000)));
    let findings = vec![dated(demand("caller", 3_500), 3_500, 9), dated(errors(0), 3_600, 30)];
    let decision = judged(findings, vec![sender], |_| {});
    assert_eq!(in_short(&decision), "symptom, demand from outside caller>me");
    assert_eq!(
        decision.claims[0].cause_since,
        Some(Onset::between(second_of(3_500), second_of(3_509)))
    );
}
