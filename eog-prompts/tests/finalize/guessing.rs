//! A model where the investigation found nothing: it may guess, and the guess is called one.

use eog_core::Diagnosis;
use eog_prompts::phases::{FinalizeAnswer, StatedAlert, StatedAnswer, StatedEntity, StatedTime};

use crate::incidents::undiagnosed;
use crate::making::{factors, narrative_of, number, reason, shown};

/// A guess at an entity that was changed.
fn guess(diagnosis: &Diagnosis, name: &str, changed: &str, at: &str) -> FinalizeAnswer {
    let change = number(&shown(diagnosis), changed);
    let answer = |text: &str| StatedAnswer { answer: text.to_owned(), evidence: vec![change] };
    FinalizeAnswer {
        summary: "Probably the change.".to_owned(),
        entities: vec![StatedEntity {
            name: name.to_owned(),
            contributing_factor: true,
            what_changed: answer("it was changed"),
            when: StatedTime { time: at.to_owned(), evidence: vec![change] },
            how_it_explains: answer("nothing else changed"),
            ..StatedEntity::default()
        }],
        alerts: vec![StatedAlert {
            alert: 1,
            explanation: "the change".to_owned(),
            explained: true,
        }],
        ..FinalizeAnswer::default()
    }
}

#[test]
fn a_guess_is_marked() {
    let diagnosis = undiagnosed();
    let answer = guess(&diagnosis, "db", "pool.size", "2026-01-01T10:04:00Z");
    let narrative = narrative_of(&diagnosis, &answer);
    assert_eq!(narrative.refused, []);
    assert_eq!((factors(&narrative), narrative.best_guess), (vec!["db"], true));
    assert_eq!(narrative.summary, "Best guess, not a finding: Probably the change.");
    assert_eq!(narrative.confidence, eog::Confidence::Inconclusive);
    assert!(narrative.alerts_explained[0].explained);
    assert_eq!(narrative.deviations, []);
}

#[test]
fn a_guess_must_answer_the_questions_too() {
    let diagnosis = undiagnosed();
    let mut answer = guess(&diagnosis, "db", "pool.size", "2026-01-01T10:04:00Z");
    answer.entities[0].when.evidence.clear();
    let narrative = narrative_of(&diagnosis, &answer);
    assert_eq!((factors(&narrative), narrative.best_guess), (vec![], false));
    assert!(reason(&narrative, "db is a contributing factor").contains("when is not answered"));
    assert!(!narrative.alerts_explained[0].explained);
}

#[test]
fn a_guess_explains_no_alert_that_it_does_not_reach() {
    let diagnosis = undiagnosed();
    let answer = guess(&diagnosis, "web", "5 % of requests fail", "2026-01-01T10:05:00Z");
    let mut silent = answer.clone();
    silent.alerts[0].explained = false;
    assert!(
        narrative_of(&diagnosis, &answer).alerts_explained[0].explained,
        "it fired on the guess itself"
    );
    let narrative = narrative_of(&diagnosis, &silent);
    assert!(!narrative.alerts_explained[0].explained, "the model itself says so");
    assert_eq!(narrative.refused, []);
}
