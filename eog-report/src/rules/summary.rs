//! The summary of a narrative.

use eog_core::{Diagnosis, EntityId};

use super::{alert, some};
use crate::clean::clean;
use crate::narrative::{AlertExplained, NarratedEntity};
use crate::words;

/// All of it in a few sentences.
pub fn summary(
    diagnosis: &Diagnosis,
    entities: &[NarratedEntity],
    alerts: &[AlertExplained],
) -> String {
    let mut sentences: Vec<String> = Vec::new();
    let factor = |name: &EntityId| {
        entities.iter().find(|entity| entity.name == *name && entity.contributing_factor)
    };
    let change = |entity: &NarratedEntity| {
        let what = entity.what_changed.as_deref().unwrap_or_default();
        let when = entity.when.as_ref().map(words::time).unwrap_or_default();
        format!("{}: {} ({when})", entity.name, clean(what))
    };
    for group in diagnosis.causes() {
        let changes: Vec<String> = group.origins.iter().filter_map(factor).map(change).collect();
        if !changes.is_empty() {
            let cause = words::cause(&diagnosis.conclusion, group);
            let what = match words::shared_change(group) {
                Some(shared) => {
                    let places: Vec<String> =
                        group.origins.iter().map(ToString::to_string).collect();
                    format!("{}; on {}", clean(&shared), some(&places, "place", "places"))
                }
                None => some(&changes, "origin", "origins"),
            };
            sentences.push(format!("{cause} ({}): {what}.", group.confidence));
        }
    }
    let others = entities
        .iter()
        .filter(|entity| entity.contributing_factor && diagnosis.cause_of(&entity.name).is_none());
    let others: Vec<String> = others.map(change).collect();
    if !others.is_empty() {
        let what = match diagnosis.is_diagnosed() {
            true => "Named by the model, not an origin of the frontier",
            false => "Best guess, not a finding",
        };
        sentences.push(format!("{what}: {}.", some(&others, "entity", "entities")));
    }
    if sentences.is_empty() && diagnosis.is_diagnosed() {
        return "No origin in the frontier is a contributing factor.".to_owned();
    }
    if sentences.is_empty() {
        sentences.push(format!("Inconclusive: {}.", words::inconclusive(diagnosis)));
        let best = diagnosis.candidates().next();
        sentences.extend(best.map(|best| {
            format!("Best guess, not a finding: {} ({}).", best.entity, words::score(best))
        }));
        return sentences.join(" ");
    }
    let explained = alerts.iter().filter(|alert| alert.explained).count();
    let explained = match (explained, alerts.len()) {
        (1, 1) => "the alert".to_owned(),
        (2, 2) => "both alerts".to_owned(),
        (some, all) if some == all => format!("all {all} alerts"),
        (some, all) => format!("{some} of {}", words::count(all, "alert", "alerts")),
    };
    sentences.push(format!("That explains {explained}."));
    let of = |wanted: &dyn Fn(usize, &AlertExplained) -> bool| -> Vec<String> {
        let chosen = alerts.iter().enumerate().filter(|(position, alert)| wanted(*position, alert));
        chosen.map(|(position, _)| alert(diagnosis, position)).collect()
    };
    let unexplained = of(&|_, alert| !alert.explained);
    if !unexplained.is_empty() {
        sentences.push(format!("Not explained: {}.", some(&unexplained, "alert", "alerts")));
    }
    let early = of(&|position, alert| {
        alert.explained && diagnosis.conclusion.earlier_onset.contains(&position)
    });
    if !early.is_empty() {
        let early = some(&early, "alert", "alerts");
        sentences.push(format!(
            "Not explained, because it precedes the change: the earlier onset of {early}."
        ));
    }
    sentences.join(" ")
}
