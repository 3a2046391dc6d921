//! The rules where there is no change to report.

use eog_core::{
    BoxFuture, Config, ContextContract, ContextRequest, EvidenceKind, Failure, LocalContext,
};
use eog_report::{AgentOutput, Author, NarratedEntity, Narrative, Report, agent_output, narrate};
use eog_testkit::{
    FindingBuilder, MemoryContext, alert, case, claim, finding, origin, policy_fn, run, symptom_of,
    topology,
};

use crate::incidents::{undiagnosed, unexplained_origin};

/// The names of the contributing factors.
fn factors(narrative: &Narrative) -> Vec<&str> {
    let factors = narrative.entities.iter().filter(|entity| entity.contributing_factor);
    factors.map(|entity| entity.name.as_str()).collect()
}

/// One entity of a narrative.
fn entity<'n>(narrative: &'n Narrative, name: &str) -> &'n NarratedEntity {
    narrative.entities.iter().find(|entity| entity.name.as_str() == name).unwrap()
}

#[test]
fn a_failure_of_its_own_answers_what_changed() {
    let note = finding("db").kind(EvidenceKind::Note).at("10:01").excerpt("lies on a path");
    let event = finding("db").kind(EvidenceKind::Event).at("10:03").excerpt("killed");
    let narrative = narrate(&unexplained_origin(&[note, event]));
    assert_eq!(factors(&narrative), ["db"]);
    let db = entity(&narrative, "db");
    assert_eq!(
        db.what_changed.as_deref(),
        Some("no change is cited; its earliest evidence: killed")
    );
    assert_eq!(db.when.unwrap().start().to_string(), "2026-01-01T10:03:00Z");
    assert!(db.how_it_explains.as_ref().unwrap().ends_with("its effects reach Errors on web"));
    assert!(narrative.alerts_explained[0].explained);
}

#[test]
fn an_origin_with_nothing_but_notes_is_demoted() {
    let note = finding("db").kind(EvidenceKind::Note).at("10:01").excerpt("lies on a path");
    let diagnosis = unexplained_origin(&[note]);
    assert!(diagnosis.is_diagnosed());
    let narrative = narrate(&diagnosis);
    assert_eq!(factors(&narrative), [""; 0]);
    let [deviation] = &narrative.deviations[..] else { panic!("{:?}", narrative.deviations) };
    assert_eq!((deviation.entity.as_str(), deviation.contributing_factor), ("db", false));
    assert!(!narrative.alerts_explained[0].explained);
    assert_eq!(narrative.summary, "No origin in the frontier is a contributing factor.");
}

#[test]
fn without_a_frontier_rules_do_not_guess() {
    let narrative = narrate(&undiagnosed());
    assert_eq!(narrative.author, Author::Rules);
    assert_eq!((factors(&narrative), narrative.best_guess), (vec![], false));
    assert!(
        narrative.summary.starts_with("Inconclusive: no origin was found"),
        "{}",
        narrative.summary
    );
    assert!(narrative.summary.contains("Best guess, not a finding: db"));
}

#[test]
fn the_best_guess_is_what_the_output_for_scoring_names() {
    let report = Report::new("an incident", undiagnosed());
    let output: AgentOutput = serde_json::from_str(&agent_output(&report)).unwrap();
    let named: Vec<&str> = output
        .entities
        .iter()
        .filter(|entity| entity.contributing_factor)
        .map(|entity| entity.name.as_str())
        .collect();
    assert_eq!(named, ["db"]);
    let db = &output.entities[0];
    assert!(db.reasoning.starts_with("best guess, not a finding: "), "{db:?}");
    assert_eq!(output.entities.iter().filter(|entity| entity.name == "db").count(), 1);
    assert!(output.alerts_explained.iter().all(|alert| !alert.explained));
}

#[test]
fn of_too_many_moments_those_of_causes_and_alerts_stay() {
    let series = |number: usize| {
        let kind = finding("web").kind(EvidenceKind::Metric).at("10:00");
        kind.excerpt(&format!("series {number} rose"))
    };
    let mut evidence: Vec<FindingBuilder> = (0..120).map(series).collect();
    evidence.push(finding("db").change("pool.size", "50", "5").at("10:04"));
    let narrative = narrate(&unexplained_origin(&evidence));
    assert_eq!(narrative.timeline.len(), 100);
    let what = |words: &str| narrative.timeline.iter().any(|moment| moment.what == words);
    assert!(what("pool.size changed from 50 to 5") && what("alert Errors"));
    let [left_out] = &narrative.left_out[..] else { panic!("{:?}", narrative.left_out) };
    assert!(left_out.ends_with("less important moments of the timeline"), "{left_out}");
    assert!(narrative.timeline.is_sorted_by_key(|moment| moment.time.start()));
}

/// Gives the database a change that is recorded of its configuration.
struct Inherited(MemoryContext);

impl ContextContract for Inherited {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        match request.entity.as_str() {
            "db" => Box::pin(async {
                let change = finding("db-config").change("pool.size", "50", "5").at("10:04");
                Ok(LocalContext { findings: vec![change.build()], ..LocalContext::default() })
            }),
            _ => self.0.get_context(request),
        }
    }
}

#[test]
fn what_an_entity_was_judged_with_is_its_own() {
    let case = case(topology("web calls db"), [alert("web", "Errors", "10:05")]);
    let contract = Inherited(MemoryContext::default().with(finding("web").at("10:05")));
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "db"),
        _ => origin(packet).claiming(claim("db", "web", &packet.context.findings)),
    });
    let run = run(Config::default(), case, &contract, &policy);
    let narrative = narrate(&run.diagnosis());
    assert_eq!(factors(&narrative), ["db"]);
    let what = entity(&narrative, "db").what_changed.as_deref();
    assert_eq!(what, Some("pool.size changed from 50 to 5"));
}
