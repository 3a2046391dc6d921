//! The narrative by rules: what a diagnosis alone shows, and its parts.
//!
//! A narrative by a model takes from here what the model leaves open.

mod summary;
mod timeline;

use std::collections::BTreeSet;

use eog_core::{Diagnosis, EntityId, EvidenceKind, Finding};

pub use self::summary::summary;
pub use self::timeline::{arrange, moment, onsets, timeline};
use crate::clean::clean;
use crate::narrative::{
    AlertExplained, Author, Citation, Deviation, NARRATIVE_VERSION, NarratedEntity, Narrative,
    Propagation,
};
use crate::words;

/// Names and steps shown of a list that can be long.
const MAX_SHOWN: usize = 5;
/// Why an origin of the frontier is no contributing factor.
pub const NOTHING_CHANGED: &str = "no evidence of its own says what changed";

/// Narrates an investigation without a model: equal ledgers give equal narratives.
///
/// Contributing factors are the origins of the frontier that explain an alert, and nothing else: an
/// inconclusive investigation has none. What changed is the earliest change that the origin cites
/// of its own, else its earliest event, else the earliest of its other findings. An origin that
/// cites nothing of the kind is no contributing factor, and the narrative says so.
///
/// ```
/// use eog_core::{Case, Config, Controller, Topology, Window};
/// use eog_report::narrate;
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// let narrative = narrate(&Controller::new(Config::default(), case).diagnosis());
/// assert_eq!(narrative.summary, "Inconclusive: no origin was found that explains an alert.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn narrate(diagnosis: &Diagnosis) -> Narrative {
    let entities: Vec<NarratedEntity> =
        diagnosis.involved().into_iter().map(|name| entity(diagnosis, name)).collect();
    let factors = factors(&entities);
    let alerts = alerts(diagnosis, &factors);
    let mut left_out = waiting(diagnosis);
    let timeline = timeline(diagnosis, &entities, &mut left_out);
    Narrative {
        version: NARRATIVE_VERSION,
        author: Author::Rules,
        confidence: diagnosis.conclusion.confidence,
        best_guess: false,
        summary: summary(diagnosis, &entities, &alerts),
        timeline,
        propagations: propagations(diagnosis),
        alerts_explained: alerts,
        refused: Vec::new(),
        deviations: deviations(diagnosis, &entities),
        left_out,
        entities,
    }
}

/// The contributing factors among some entities.
pub fn factors(entities: &[NarratedEntity]) -> BTreeSet<EntityId> {
    let factors = entities.iter().filter(|entity| entity.contributing_factor);
    factors.map(|entity| entity.name.clone()).collect()
}

/// An entity as the ledger describes it.
pub fn entity(diagnosis: &Diagnosis, name: &EntityId) -> NarratedEntity {
    let belief = diagnosis.beliefs.get(name);
    let findings = belief.map(|belief| diagnosis.cited(belief)).unwrap_or_default();
    let what = diagnosis.cause_of(name).and_then(|_| decisive(diagnosis, name));
    NarratedEntity {
        name: name.clone(),
        contributing_factor: what.is_some(),
        what_changed: what.map(what_changed),
        when: what.map(|finding| finding.time),
        how_it_explains: what.map(|_| how_it_explains(diagnosis, name)),
        reasoning: belief.map_or("not evaluated", |belief| &belief.summary).to_owned(),
        evidence: findings.into_iter().map(citation).collect(),
    }
}

/// A finding as it is cited.
pub fn citation(finding: &Finding) -> Citation {
    Citation {
        id: finding.id().clone(),
        time: finding.time,
        excerpt: words::finding(finding),
        source: finding.source.clone(),
        query: finding.query.clone(),
    }
}

/// The finding that states what changed at an entity.
fn decisive<'m>(diagnosis: &'m Diagnosis, name: &EntityId) -> Option<&'m Finding> {
    let cited = diagnosis.lookup(&diagnosis.beliefs.get(name)?.cited());
    cited.into_iter().find(|finding| is_happening(finding.kind) && diagnosis.is_own(name, finding))
}

/// Whether findings of a kind state that something happened; alerts and notes describe others.
pub fn is_happening(kind: EvidenceKind) -> bool {
    !matches!(kind, EvidenceKind::Alert | EvidenceKind::Note)
}

fn what_changed(finding: &Finding) -> String {
    let what = words::finding(finding);
    match finding.kind {
        EvidenceKind::Change => clean(&what).into_owned(),
        _ => clean(&format!("no change is cited; its earliest evidence: {what}")).into_owned(),
    }
}

/// The first steps from an origin, and the alerts at the end.
fn how_it_explains(diagnosis: &Diagnosis, name: &EntityId) -> String {
    let steps = diagnosis.causal.iter().filter(|claim| claim.cause == *name);
    let steps: Vec<String> = steps
        .map(|claim| {
            let (condition, observed) =
                (clean(claim.condition.trim()), clean(claim.observed.trim()));
            format!("it affects {} (because {condition}; seen as {observed})", claim.effect)
        })
        .collect();
    let covers = diagnosis.cause_of(name).map(|group| &group.covers);
    let reached: Vec<String> =
        covers.into_iter().flatten().map(|&position| alert(diagnosis, position)).collect();
    let mut parts = steps;
    let shown = parts.len().min(MAX_SHOWN);
    let more = parts.len() - shown;
    parts.truncate(shown);
    if more > 0 {
        parts.push(format!("it affects {}", words::count(more, "more entity", "more entities")));
    }
    parts.push(format!("its effects reach {}", some(&reached, "alert", "alerts")));
    parts.join("; ")
}

/// `Errors on web`.
fn alert(diagnosis: &Diagnosis, position: usize) -> String {
    let anomaly = &diagnosis.anomalies[position];
    format!("{} on {}", clean(&anomaly.name), anomaly.entity)
}

/// The first few of a list, and how many there are more.
fn some(list: &[String], one: &str, many: &str) -> String {
    let shown = list[..list.len().min(MAX_SHOWN)].join(", ");
    match list.len() - list.len().min(MAX_SHOWN) {
        0 => shown,
        1 => format!("{shown} and 1 more {one}"),
        more => format!("{shown} and {more} more {many}"),
    }
}

/// Every alert, explained by those of the contributing factors that reach it over live claims.
pub fn alerts(diagnosis: &Diagnosis, factors: &BTreeSet<EntityId>) -> Vec<AlertExplained> {
    let others = factors.iter().filter(|factor| diagnosis.cause_of(factor).is_none());
    let reach: Vec<(&EntityId, BTreeSet<EntityId>)> =
        others.map(|factor| (factor, diagnosis.reached_from([factor.clone()]))).collect();
    let explained = diagnosis.anomalies.iter().enumerate().map(|(position, anomaly)| {
        let groups = diagnosis.explained_by(position);
        let origins = groups.into_iter().flat_map(|group| &group.origins);
        let origins = origins.filter(|origin| factors.contains(*origin));
        let others = reach.iter().filter(|(_, reached)| reached.contains(&anomaly.entity));
        let by: Vec<&EntityId> = origins.chain(others.map(|(factor, _)| *factor)).collect();
        AlertExplained {
            alert: anomaly.name.clone(),
            entity: anomaly.entity.clone(),
            onset: anomaly.onset,
            explanation: explanation(diagnosis, position, &by),
            explained: !by.is_empty(),
        }
    });
    explained.collect()
}

fn explanation(diagnosis: &Diagnosis, position: usize, by: &[&EntityId]) -> String {
    let anomaly = &diagnosis.anomalies[position];
    if by.is_empty() {
        return format!("fired on {}; no known origin explains it", anomaly.entity);
    }
    let by = words::list(by.iter().copied());
    let mut text = format!("fired on {}, reached by the effects of {by}", anomaly.entity);
    if diagnosis.conclusion.earlier_onset.contains(&position) {
        text.push_str(&format!(
            "; its earlier onset at {} precedes the change and is not explained",
            words::instant(anomaly.onset)
        ));
    }
    text
}

/// The steps on the causal paths.
pub fn propagations(diagnosis: &Diagnosis) -> Vec<Propagation> {
    let steps = diagnosis.causal.iter().map(|claim| Propagation {
        source: claim.cause.clone(),
        target: claim.effect.clone(),
        condition: claim.condition.clone(),
        effect: claim.observed.clone(),
    });
    steps.collect()
}

/// Origins of the frontier that are no contributing factors here.
fn deviations(diagnosis: &Diagnosis, entities: &[NarratedEntity]) -> Vec<Deviation> {
    let demoted = entities
        .iter()
        .filter(|entity| !entity.contributing_factor && diagnosis.cause_of(&entity.name).is_some());
    let demoted = demoted.map(|entity| Deviation {
        entity: entity.name.clone(),
        contributing_factor: false,
        reason: NOTHING_CHANGED.to_owned(),
    });
    demoted.collect()
}

/// What exceeded the limits of the investigation.
pub fn waiting(diagnosis: &Diagnosis) -> Vec<String> {
    let waiting = words::count(diagnosis.waiting, "entity", "entities");
    let line = (diagnosis.waiting > 0)
        .then(|| format!("{waiting} still waiting to be evaluated when the investigation ended"));
    line.into_iter().collect()
}
