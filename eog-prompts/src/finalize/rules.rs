//! The deterministic finalizer: the narrative that the ledger alone gives.

use std::collections::BTreeSet;

use eog_core::{EntityId, EvidenceId, EvidenceKind, EvidenceTime, Finding, Timestamp};

use super::material::Material;
use super::narrative::{
    AlertExplained, Author, Citation, Deviation, Moment, NARRATIVE_VERSION, NarratedEntity,
    Narrative, Propagation,
};
use crate::words;

/// Most moments in a timeline.
const MAX_MOMENTS: usize = 100;
/// Names and steps told of a list that can be long.
const MAX_TOLD: usize = 5;
/// Why an origin of the frontier is no contributing factor.
pub(super) const NOTHING_CHANGED: &str = "it cites nothing of its own that says what changed";

/// Tells an investigation without a model: equal ledgers give equal narratives.
///
/// Contributing factors are the origins of the frontier that explain an alert, and nothing else: an
/// inconclusive investigation has none. What changed is the earliest change that the origin cites
/// of its own, else its earliest event, else the earliest of its other findings. An origin that
/// cites nothing of the kind is no contributing factor, and the narrative says so.
///
/// ```
/// use eog_core::{Case, Config, Controller, Topology, Window};
/// use eog_prompts::{Material, narrate};
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// let narrative = narrate(&Material::of(&Controller::new(Config::default(), case)));
/// assert_eq!(narrative.summary, "No origin was found that explains an alert.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn narrate(material: &Material) -> Narrative {
    let entities: Vec<NarratedEntity> =
        material.involved().into_iter().map(|name| entity(material, name)).collect();
    let factors = factors(&entities);
    let alerts = alerts(material, &factors);
    let mut left_out = waiting(material);
    let timeline = timeline(material, &entities, &mut left_out);
    Narrative {
        version: NARRATIVE_VERSION,
        author: Author::Rules,
        confidence: material.conclusion.confidence,
        best_guess: false,
        summary: summary(material, &entities, &alerts),
        timeline,
        propagations: propagations(material),
        alerts_explained: alerts,
        refused: Vec::new(),
        deviations: deviations(material, &entities),
        left_out,
        entities,
    }
}

/// The contributing factors among some entities.
pub(super) fn factors(entities: &[NarratedEntity]) -> BTreeSet<EntityId> {
    let factors = entities.iter().filter(|entity| entity.contributing_factor);
    factors.map(|entity| entity.name.clone()).collect()
}

/// An entity as the ledger tells it.
pub(super) fn entity(material: &Material, name: &EntityId) -> NarratedEntity {
    let belief = material.beliefs.get(name);
    let findings = belief.map(|belief| material.cited(belief)).unwrap_or_default();
    let what = material.cause_of(name).and_then(|_| decisive(material, name));
    NarratedEntity {
        name: name.clone(),
        contributing_factor: what.is_some(),
        what_changed: what.map(what_changed),
        when: what.map(|finding| finding.time),
        how_it_explains: what.map(|_| how_it_explains(material, name)),
        reasoning: belief.map_or("not evaluated", |belief| &belief.summary).to_owned(),
        evidence: findings.into_iter().map(citation).collect(),
    }
}

/// A finding as it is cited.
pub(super) fn citation(finding: &Finding) -> Citation {
    Citation {
        id: finding.id().clone(),
        time: finding.time,
        excerpt: words::finding(finding),
        source: finding.source.clone(),
        query: finding.query.clone(),
    }
}

/// The finding that says what changed at an entity.
fn decisive<'m>(material: &'m Material, name: &EntityId) -> Option<&'m Finding> {
    let cited = material.lookup(&material.beliefs.get(name)?.cited());
    cited.into_iter().find(|finding| is_happening(finding.kind) && material.is_own(name, finding))
}

/// Whether findings of a kind say that something happened; alerts and notes speak of others.
pub(super) fn is_happening(kind: EvidenceKind) -> bool {
    !matches!(kind, EvidenceKind::Alert | EvidenceKind::Note)
}

fn what_changed(finding: &Finding) -> String {
    let what = words::finding(finding);
    match finding.kind {
        EvidenceKind::Change => words::clean(&what).into_owned(),
        _ => words::clean(&format!("no change is cited; the first sign of its own: {what}"))
            .into_owned(),
    }
}

/// The first steps from an origin, and the alerts at the end.
fn how_it_explains(material: &Material, name: &EntityId) -> String {
    let steps = material.causal.iter().filter(|claim| claim.cause == *name);
    let steps: Vec<String> = steps
        .map(|claim| {
            let (condition, observed) =
                (words::clean(claim.condition.trim()), words::clean(claim.observed.trim()));
            format!("it affects {} (because {condition}; seen as {observed})", claim.effect)
        })
        .collect();
    let covers = material.cause_of(name).map(|group| &group.covers);
    let reached: Vec<String> =
        covers.into_iter().flatten().map(|&position| alert(material, position)).collect();
    let mut parts = steps;
    let told = parts.len().min(MAX_TOLD);
    let more = parts.len() - told;
    parts.truncate(told);
    if more > 0 {
        parts.push(format!("it affects {} more", words::count(more, "entity", "entities")));
    }
    parts.push(format!("its effects reach {}", some(&reached, "alert", "alerts")));
    parts.join("; ")
}

/// `Errors on web`.
fn alert(material: &Material, position: usize) -> String {
    let anomaly = &material.anomalies[position];
    format!("{} on {}", words::clean(&anomaly.name), anomaly.entity)
}

/// The first few of a list, and how many there are more.
fn some(list: &[String], one: &str, many: &str) -> String {
    let told = list[..list.len().min(MAX_TOLD)].join(", ");
    match list.len() - list.len().min(MAX_TOLD) {
        0 => told,
        more => format!("{told} and {} more", words::count(more, one, many)),
    }
}

/// Every alert, explained by those of the contributing factors that reach it over live claims.
pub(super) fn alerts(material: &Material, factors: &BTreeSet<EntityId>) -> Vec<AlertExplained> {
    let others = factors.iter().filter(|factor| material.cause_of(factor).is_none());
    let reach: Vec<(&EntityId, BTreeSet<EntityId>)> =
        others.map(|factor| (factor, material.reached_from([factor.clone()]))).collect();
    let explained = material.anomalies.iter().enumerate().map(|(position, anomaly)| {
        let groups = material.explained_by(position);
        let origins = groups.into_iter().flat_map(|group| &group.origins);
        let origins = origins.filter(|origin| factors.contains(*origin));
        let others = reach.iter().filter(|(_, reached)| reached.contains(&anomaly.entity));
        let by: Vec<&EntityId> = origins.chain(others.map(|(factor, _)| *factor)).collect();
        AlertExplained {
            alert: anomaly.name.clone(),
            entity: anomaly.entity.clone(),
            onset: anomaly.onset,
            explanation: explanation(material, position, &by),
            explained: !by.is_empty(),
        }
    });
    explained.collect()
}

fn explanation(material: &Material, position: usize, by: &[&EntityId]) -> String {
    let anomaly = &material.anomalies[position];
    if by.is_empty() {
        return format!("fired on {}; no origin found explains it", anomaly.entity);
    }
    let by = words::list(by.iter().copied());
    let mut text = format!("fired on {}, reached by the effects of {by}", anomaly.entity);
    if material.conclusion.earlier_onset.contains(&position) {
        text.push_str(&format!(
            "; its earlier onset at {} precedes the change and is not explained",
            words::instant(anomaly.onset)
        ));
    }
    text
}

pub(super) fn propagations(material: &Material) -> Vec<Propagation> {
    let steps = material.causal.iter().map(|claim| Propagation {
        source: claim.cause.clone(),
        target: claim.effect.clone(),
        condition: claim.condition.clone(),
        effect: claim.observed.clone(),
    });
    steps.collect()
}

/// Origins of the frontier that are no contributing factors here.
fn deviations(material: &Material, entities: &[NarratedEntity]) -> Vec<Deviation> {
    let demoted = entities
        .iter()
        .filter(|entity| !entity.contributing_factor && material.cause_of(&entity.name).is_some());
    let demoted = demoted.map(|entity| Deviation {
        entity: entity.name.clone(),
        contributing_factor: false,
        reason: NOTHING_CHANGED.to_owned(),
    });
    demoted.collect()
}

/// What the investigation itself had no room for.
pub(super) fn waiting(material: &Material) -> Vec<String> {
    let waiting = words::count(material.waiting, "entity", "entities");
    let told = (material.waiting > 0)
        .then(|| format!("{waiting} still waited to be evaluated when the investigation ended"));
    told.into_iter().collect()
}

/// All of it in a few sentences.
pub(super) fn summary(
    material: &Material,
    entities: &[NarratedEntity],
    alerts: &[AlertExplained],
) -> String {
    let mut sentences: Vec<String> = Vec::new();
    let factor = |name: &EntityId| {
        entities.iter().find(|entity| entity.name == *name && entity.contributing_factor)
    };
    let told = |entity: &NarratedEntity| {
        let what = entity.what_changed.as_deref().unwrap_or_default();
        let when = entity.when.as_ref().map(words::time).unwrap_or_default();
        format!("{}: {} ({when})", entity.name, words::clean(what))
    };
    for group in material.causes() {
        let told: Vec<String> = group.origins.iter().filter_map(factor).map(told).collect();
        if !told.is_empty() {
            let cause = words::cause(&material.conclusion, group);
            let told = some(&told, "origin", "origins");
            sentences.push(format!("{cause} ({}): {told}.", group.confidence));
        }
    }
    let others = entities
        .iter()
        .filter(|entity| entity.contributing_factor && material.cause_of(&entity.name).is_none());
    let others: Vec<String> = others.map(told).collect();
    if !others.is_empty() {
        let what = match material.is_diagnosed() {
            true => "Named by the model, not an origin of the frontier",
            false => "Best guess, not a finding",
        };
        sentences.push(format!("{what}: {}.", some(&others, "entity", "entities")));
    }
    if sentences.is_empty() && material.is_diagnosed() {
        return "No origin of the frontier is held for a contributing factor.".to_owned();
    }
    if sentences.is_empty() {
        sentences.push("No origin was found that explains an alert.".to_owned());
        let best = material.conclusion.ranking.first();
        sentences.extend(best.map(|best| {
            format!("The best candidate, not a finding: {} ({}).", best.entity, best.label)
        }));
        return sentences.join(" ");
    }
    let explained = alerts.iter().filter(|alert| alert.explained).count();
    let total = words::count(alerts.len(), "alert", "alerts");
    sentences.push(format!("That explains {explained} of {total}."));
    let of = |wanted: &dyn Fn(usize, &AlertExplained) -> bool| -> Vec<String> {
        let chosen = alerts.iter().enumerate().filter(|(position, alert)| wanted(*position, alert));
        chosen.map(|(position, _)| alert(material, position)).collect()
    };
    let unexplained = of(&|_, alert| !alert.explained);
    if !unexplained.is_empty() {
        sentences.push(format!("Not explained: {}.", some(&unexplained, "alert", "alerts")));
    }
    let early = of(&|position, alert| {
        alert.explained && material.conclusion.earlier_onset.contains(&position)
    });
    if !early.is_empty() {
        let early = some(&early, "alert", "alerts");
        sentences
            .push(format!("Not explained is the earlier onset, before the change, of {early}."));
    }
    sentences.join(" ")
}

/// When an alert first fired, and when it did again.
pub(super) fn onsets(material: &Material) -> impl Iterator<Item = Moment> + '_ {
    material.anomalies.iter().flat_map(|anomaly| {
        anomaly.onsets().enumerate().map(move |(number, at)| Moment {
            time: EvidenceTime::At(at),
            entity: anomaly.entity.clone(),
            what: match number {
                0 => format!("alert {}", words::clean(&anomaly.name)),
                _ => format!("alert {} again", words::clean(&anomaly.name)),
            },
            evidence: None,
            query: String::new(),
        })
    })
}

/// The moment of a finding.
pub(super) fn moment(finding: &Finding) -> Moment {
    Moment {
        time: finding.time,
        entity: finding.entity.clone(),
        what: words::clean(&words::finding(finding)).into_owned(),
        evidence: Some(finding.id().clone()),
        query: words::query(&finding.source, &finding.query),
    }
}

/// What happened to some entities, with the alerts.
pub(super) fn timeline(
    material: &Material,
    entities: &[NarratedEntity],
    left_out: &mut Vec<String>,
) -> Vec<Moment> {
    let cited = |of_factors: bool| -> BTreeSet<&EvidenceId> {
        let entities = entities.iter().filter(|entity| entity.contributing_factor || !of_factors);
        entities.flat_map(|entity| &entity.evidence).map(|citation| &citation.id).collect()
    };
    let of_factors = cited(true);
    let cited = material.lookup(cited(false));
    let happened = cited.into_iter().filter(|finding| is_happening(finding.kind));
    let ranked = happened.map(|finding| {
        let rank = match finding.kind {
            _ if of_factors.contains(finding.id()) => 0,
            EvidenceKind::Change => 2,
            EvidenceKind::Event => 3,
            _ => 4,
        };
        (rank, moment(finding))
    });
    arrange(onsets(material).map(|moment| (1, moment)).chain(ranked).collect(), left_out)
}

/// Puts moments into the order of time; of too many, those of the lowest ranks stay.
pub(super) fn arrange(mut ranked: Vec<(u8, Moment)>, left_out: &mut Vec<String>) -> Vec<Moment> {
    let key = |moment: &Moment| -> (Timestamp, EntityId, Option<EvidenceId>) {
        (moment.time.start(), moment.entity.clone(), moment.evidence.clone())
    };
    ranked.sort_by_cached_key(|(rank, moment)| (*rank, key(moment)));
    if ranked.len() > MAX_MOMENTS {
        let more = words::count(ranked.len() - MAX_MOMENTS, "moment", "moments");
        left_out.push(format!("{more} of the timeline that matter less"));
        ranked.truncate(MAX_MOMENTS);
    }
    let mut moments: Vec<Moment> = ranked.into_iter().map(|(_, moment)| moment).collect();
    moments.sort_by_cached_key(key);
    moments
}
