//! A model that lies: one statement of an honest answer changed at a time.

use eog::EvidenceKind;
use eog_prompts::phases::{
    FinalizeAnswer, StatedAnswer, StatedEntity, StatedMoment, StatedPropagation, StatedTime,
};
use eog_report::{Narrative, Refused, rules};
use eog_testkit::finding;

use crate::incidents::{flash_sale, unexplained_origin};
use crate::making::{altered_sale, entity, factors, narrative_of, number, reason, shown};

/// What the honest answer becomes.
fn honest() -> Narrative {
    altered_sale(|_, _| {})
}

#[test]
fn an_invented_entity_is_refused() {
    let narrative = altered_sale(|_, answer| {
        answer.entities.push(StatedEntity {
            name: "dns".to_owned(),
            reasoning: "it is always DNS".to_owned(),
            ..StatedEntity::default()
        });
    });
    assert_eq!(reason(&narrative, "entity dns"), "it is no entity of this investigation");
    assert_eq!(narrative.entities, honest().entities);
}

#[test]
fn a_factor_beside_the_frontier_needs_a_reason() {
    let blame = |reason: &'static str| {
        altered_sale(move |input, answer| {
            let frontend = answer.entities[1].clone();
            let killed = number(input, "OutOfMemory");
            let database = &mut answer.entities[0];
            database.contributing_factor = true;
            database.what_changed = frontend.what_changed;
            database.what_changed.evidence = vec![killed];
            database.when.time = "2026-03-20T12:06:00Z".to_owned();
            database.when.evidence = vec![killed];
            database.how_it_explains = frontend.how_it_explains;
            database.differs_because = reason.to_owned();
        })
    };
    let silent = blame("");
    assert_eq!(factors(&silent), ["frontend"]);
    assert!(reason(&silent, "database is a contributing").contains("no reason is given"));
    assert_eq!(silent.deviations, []);
    assert_eq!(entity(&silent, "database").what_changed, None);

    let reasoned = blame("its memory limit is far too low for any sale");
    assert_eq!(factors(&reasoned), ["database", "frontend"]);
    let [deviation] = &reasoned.deviations[..] else { panic!("{:?}", reasoned.deviations) };
    assert_eq!(deviation.entity.as_str(), "database");
    assert!(deviation.contributing_factor);
    assert_eq!(deviation.reason, "its memory limit is far too low for any sale");
    assert_eq!(reasoned.refused, []);
    assert!(!reasoned.best_guess);
}

#[test]
fn a_factor_beside_the_frontier_must_answer_from_its_own_evidence() {
    // Every answer but one rests on evidence of the database; that one on the frontend's change.
    for question in 0..3 {
        let narrative = altered_sale(move |input, answer| {
            let (sale, killed) = (number(input, "spring-sale"), number(input, "OutOfMemory"));
            let frontend = answer.entities[1].clone();
            let database = &mut answer.entities[0];
            database.contributing_factor = true;
            database.differs_because = "so it is".to_owned();
            database.what_changed = frontend.what_changed;
            database.what_changed.evidence = vec![if question == 0 { sale } else { killed }];
            database.when.evidence = vec![if question == 1 { sale } else { killed }];
            database.when.time = "2026-03-20T12:06:00Z".to_owned();
            database.how_it_explains = frontend.how_it_explains;
            if question == 2 {
                database.how_it_explains.evidence = vec![];
            }
        });
        assert_eq!(factors(&narrative), ["frontend"], "question {question}");
        let open = ["what changed is not", "when is not", "how it explains the alerts is not"];
        let reason = reason(&narrative, "database is a contributing factor");
        assert!(reason.starts_with("demoted: ") && reason.contains(open[question]), "{reason}");
        assert_eq!(narrative.deviations, []);
    }
}

#[test]
fn the_frontier_stands_unless_a_reason_is_given() {
    let acquit = |reason: &'static str| {
        altered_sale(move |_, answer| {
            answer.entities[1].contributing_factor = false;
            answer.entities[1].differs_because = reason.to_owned();
        })
    };
    let silent = acquit("");
    assert_eq!(factors(&silent), ["frontend"]);
    assert!(reason(&silent, "frontend is no contributing").contains("no reason is given"));

    let reasoned = acquit("the sale began as every year");
    assert_eq!(factors(&reasoned), [""; 0]);
    assert!(!reasoned.deviations[0].contributing_factor);
    assert!(!reasoned.alerts_explained[0].explained);
    assert!(reason(&reasoned, "the explanation of HttpErrorRate").contains("no contributing"));
}

#[test]
fn an_origin_that_is_not_mentioned_is_taken_from_the_ledger() {
    let narrative = altered_sale(|_, answer| {
        answer.entities.remove(1);
    });
    assert_eq!(factors(&narrative), ["frontend"]);
    assert!(reason(&narrative, "nothing about frontend").contains("from the ledger"));
    assert!(entity(&narrative, "frontend").what_changed.as_ref().unwrap().contains("spring-sale"));
}

#[test]
fn what_an_origin_does_not_answer_the_ledger_answers() {
    let narrative = altered_sale(|_, answer| {
        let frontend = &mut answer.entities[1];
        frontend.what_changed.evidence = vec![999];
        frontend.how_it_explains.answer = " ".to_owned();
    });
    assert_eq!(factors(&narrative), ["frontend"]);
    assert_eq!(reason(&narrative, "evidence 999"), "there is no evidence of that number");
    assert!(reason(&narrative, "the answers on frontend").contains("what changed"));
    let frontend = entity(&narrative, "frontend");
    let what = "campaigns.spring-sale.active changed from false to true";
    assert_eq!(frontend.what_changed.as_deref(), Some(what));
    assert!(frontend.how_it_explains.as_ref().unwrap().contains("it affects gateway"));
}

#[test]
fn a_wrong_time_gives_way_to_that_of_the_evidence() {
    for wrong in ["2026-03-20T12:07:00Z", "noon", ""] {
        let narrative = altered_sale(|_, answer| {
            answer.entities[1].when.time = wrong.to_owned();
        });
        let when = entity(&narrative, "frontend").when.unwrap();
        assert_eq!(when.start().to_string(), "2026-03-20T12:00:00Z");
        assert!(reason(&narrative, "when frontend changed").contains("2026-03-20 12:00:00Z"));
    }
    for right in ["2026-03-20T12:00:00Z", "2026-03-20 12:00:00Z", "2026-03-20T13:00:00+01:00"] {
        let narrative = altered_sale(|_, answer| {
            answer.entities[1].when.time = right.to_owned();
        });
        assert_eq!(narrative.refused, [], "{right}");
    }
    for said in ["2026-03-20T12:04:00Z", "2026-03-20T12:06:00Z"] {
        let narrative = altered_sale(|input, answer| {
            let both = ["memory_used from", "OutOfMemory"].map(|words| number(input, words));
            let frontend = answer.entities[1].clone();
            let database = &mut answer.entities[0];
            database.contributing_factor = true;
            database.differs_because = "its memory limit is far too low for any sale".to_owned();
            database.what_changed =
                StatedAnswer { evidence: both.to_vec(), ..frontend.what_changed };
            database.how_it_explains = frontend.how_it_explains;
            database.when = StatedTime { time: said.to_owned(), evidence: both.to_vec() };
        });
        let when = entity(&narrative, "database").when.unwrap();
        assert_eq!(when.start().to_string(), said, "of several, the one it says");
    }
}

#[test]
fn a_text_with_a_time_of_its_own_is_not_taken() {
    let narrative = altered_sale(|_, answer| {
        answer.summary = "At 11:47 an operator rebooted the gateway.".to_owned();
        answer.entities[0].reasoning = "It failed on 2026-03-21.".to_owned();
        answer.timeline[0].what = "the sale goes live at 12:01".to_owned();
        answer.propagations[0].effect = "errors from 9:30 on".to_owned();
        answer.alerts[0].explanation = "since 12:08:01".to_owned();
        answer.entities[1].what_changed.answer = "the sale, at 11:00".to_owned();
    });
    let honest = honest();
    assert!(narrative.summary.starts_with("Root cause (confirmed): frontend"));
    let database = rules::entity(&flash_sale(), &"database".parse().unwrap());
    assert_eq!(entity(&narrative, "database").reasoning, database.reasoning);
    assert_eq!(
        narrative.timeline[0].what,
        "campaigns.spring-sale.active changed from false to true"
    );
    assert!(!narrative.propagations.iter().any(|step| step.effect.contains("9:30")));
    assert!(narrative.alerts_explained[0].explanation.starts_with("fired on gateway"));
    for time in ["11:47", "2026-03-21", "12:01", "09:30", "12:08:01", "11:00"] {
        let states = |r: &&Refused| r.reason.contains(&format!("it states {time}"));
        assert!(
            narrative.refused.iter().find(states).is_some(),
            "{time}: {:#?}",
            narrative.refused
        );
    }
    assert_eq!(entity(&narrative, "frontend").when, entity(&honest, "frontend").when);
}

#[test]
fn steps_that_no_claim_makes_are_refused() {
    let step = |source: &str, target: &str| StatedPropagation {
        source: source.to_owned(),
        target: target.to_owned(),
        condition: "x".to_owned(),
        effect: "y".to_owned(),
    };
    let narrative = altered_sale(|_, answer| {
        answer.propagations.push(step("database", "frontend"));
        answer.propagations.push(step("dns", "frontend"));
    });
    assert!(reason(&narrative, "database affects frontend").starts_with("no claim"));
    assert!(reason(&narrative, "dns affects frontend").starts_with("an end is no entity"));
    assert_eq!(narrative.propagations, honest().propagations);
    let ends: Vec<(&str, &str)> = narrative
        .propagations
        .iter()
        .map(|step| (step.source.as_str(), step.target.as_str()))
        .collect();
    assert_eq!(ends, [("frontend", "gateway")]);
}

#[test]
fn an_alert_is_explained_by_claims_and_not_by_words() {
    let narrative = altered_sale(|_, answer| {
        answer.alerts[0].explained = false;
        answer.alerts[0].explanation = "it began before the sale".to_owned();
        answer.alerts.push(answer.alerts[0].clone());
        answer.alerts[1].alert = 7;
    });
    let alert = &narrative.alerts_explained[0];
    assert!(alert.explained);
    assert!(alert.explanation.ends_with("; the model doubts it: it began before the sale"));
    assert_eq!(reason(&narrative, "alert 7"), "there is no alert of that number");
}

#[test]
fn markup_and_escapes_are_one_harmless_line() {
    let hostile = "\u{1b}[2J<script>x</script>\n# Title\n| a | b |\u{202e}";
    let narrative = altered_sale(|_, answer| {
        answer.summary = hostile.to_owned();
        answer.entities[1].reasoning = hostile.to_owned();
        answer.entities[1].what_changed.answer = hostile.to_owned();
        answer.entities[1].how_it_explains.answer = hostile.to_owned();
        answer.timeline[0].what = hostile.to_owned();
        answer.alerts[0].explanation = hostile.to_owned();
        answer.propagations[0].condition = hostile.to_owned();
        answer.entities.push(StatedEntity { name: hostile.to_owned(), ..StatedEntity::default() });
    });
    let json = serde_json::to_string(&narrative).unwrap();
    assert!(!json.contains("\\u001b") && !json.contains("\\n") && !json.contains('\u{202e}'));
    assert_eq!(narrative.summary, "[2J<script>x</script> # Title | a | b |");
    assert_eq!(reason(&narrative, "[2J"), "it is no entity of this investigation");
}

#[test]
fn secrets_in_an_answer_are_masked() {
    let narrative = altered_sale(|_, answer| {
        answer.summary = "the login with password=hunter2 failed".to_owned();
        answer.entities[1].name = "token=abcdef0123456789".to_owned();
    });
    let json = serde_json::to_string(&narrative).unwrap();
    assert!(!json.contains("hunter2") && !json.contains("abcdef0123456789"), "{json}");
}

#[test]
fn a_flood_of_lies_is_bounded() {
    let narrative = altered_sale(|_, answer| {
        for number in 0..5_000 {
            answer.timeline.push(StatedMoment { evidence: 1_000 + number, what: "x".to_owned() });
        }
        answer.summary = "y".repeat(100_000);
    });
    assert_eq!(narrative.refused.len(), 101);
    assert_eq!(narrative.refused[100].what, "4900 further statements");
    assert_eq!(narrative.summary.chars().count(), 1_501);
}

#[test]
fn an_origin_without_answers_is_demoted() {
    let note = finding("db").kind(EvidenceKind::Note).at("10:01").excerpt("lies on a path");
    let diagnosis = unexplained_origin(&[note]);
    let answer = FinalizeAnswer {
        summary: "It was the database.".to_owned(),
        entities: vec![StatedEntity {
            name: "db".to_owned(),
            contributing_factor: true,
            evidence: vec![number(&shown(&diagnosis), "lies on a path")],
            ..StatedEntity::default()
        }],
        ..FinalizeAnswer::default()
    };
    let narrative = narrative_of(&diagnosis, &answer);
    assert_eq!(factors(&narrative), [""; 0]);
    let [deviation] = &narrative.deviations[..] else { panic!("{:?}", narrative.deviations) };
    assert_eq!((deviation.entity.as_str(), deviation.contributing_factor), ("db", false));
    assert!(deviation.reason.starts_with("demoted: what changed"), "{}", deviation.reason);
}

#[test]
fn times_within_the_evidence_may_be_repeated() {
    let event = finding("db").kind(EvidenceKind::Event).at("10:03").excerpt("last backup at 08:15");
    let diagnosis = unexplained_origin(&[event]);
    let answer = |summary: &str| FinalizeAnswer {
        summary: summary.to_owned(),
        entities: vec![StatedEntity { name: "web".to_owned(), ..StatedEntity::default() }],
        ..FinalizeAnswer::default()
    };
    let narrative = narrative_of(&diagnosis, &answer("The last backup was at 08:15."));
    assert_eq!(narrative.summary, "The last backup was at 08:15.");
    let narrative = narrative_of(&diagnosis, &answer("The last backup was at 08:16."));
    assert!(reason(&narrative, "the summary").contains("08:16"));
}
