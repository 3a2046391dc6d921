//! The rules where there is no change to tell of.

use eog::EvidenceKind;
use eog_prompts::{Author, narrate};
use eog_testkit::finding;

use crate::making::{entity, factors, undiagnosed, unexplained_origin};

#[test]
fn a_failure_of_its_own_answers_what_changed() {
    let note = finding("db").kind(EvidenceKind::Note).at("10:01").excerpt("lies on a path");
    let event = finding("db").kind(EvidenceKind::Event).at("10:03").excerpt("killed");
    let narrative = narrate(&unexplained_origin(&[note, event]));
    assert_eq!(factors(&narrative), ["db"]);
    let db = entity(&narrative, "db");
    assert_eq!(
        db.what_changed.as_deref(),
        Some("no change is cited; the first sign of its own: killed")
    );
    assert_eq!(db.when.unwrap().start().to_string(), "2026-01-01T10:03:00Z");
    assert!(db.how_it_explains.as_ref().unwrap().ends_with("its effects reach Errors on web"));
    assert!(narrative.alerts_explained[0].explained);
}

#[test]
fn an_origin_with_nothing_but_notes_is_demoted() {
    let note = finding("db").kind(EvidenceKind::Note).at("10:01").excerpt("lies on a path");
    let material = unexplained_origin(&[note]);
    assert!(material.is_diagnosed());
    let narrative = narrate(&material);
    assert_eq!(factors(&narrative), [""; 0]);
    let [deviation] = &narrative.deviations[..] else { panic!("{:?}", narrative.deviations) };
    assert_eq!((deviation.entity.as_str(), deviation.contributing_factor), ("db", false));
    assert!(!narrative.alerts_explained[0].explained);
    assert_eq!(narrative.summary, "No origin of the frontier is held for a contributing factor.");
}

#[test]
fn without_a_frontier_rules_do_not_guess() {
    let narrative = narrate(&undiagnosed());
    assert_eq!(narrative.author, Author::Rules);
    assert_eq!((factors(&narrative), narrative.best_guess), (vec![], false));
    assert!(narrative.summary.starts_with("No origin was found"), "{}", narrative.summary);
    assert!(narrative.summary.contains("best candidate, not a finding: db"));
}
