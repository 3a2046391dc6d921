//! Why an entity is not named as a root cause.

use std::collections::BTreeSet;

use eog::{Diagnosis, EntityId, Label};
use eog_report::clean::clean;
use eog_report::words;

/// Most claims, changes and explanations told, each.
const MAX_TOLD: usize = 5;

/// What speaks against an entity as a root cause, one line each: what explains it instead, changes of it that were
/// ruled out, explanations that were weighed and not taken. Nothing if it is named as one.
pub fn why_not(diagnosis: &Diagnosis, entity: &EntityId) -> Vec<String> {
    if diagnosis.cause_of(entity).is_some() {
        return Vec::new();
    }
    let mut lines = of_label(diagnosis, entity);
    let changes = diagnosis.considered.iter().filter(|it| it.change.entity == *entity);
    let changes = changes.map(|it| {
        let (what, made) = (&it.change.what, &it.change.made);
        format!("its change {what} ({made}): {}", words::ruled_out(&it.reason))
    });
    lines.extend(changes.take(MAX_TOLD));
    let weighed = diagnosis.alternatives.get(entity).into_iter().flatten();
    let origins = weighed.filter(|it| it.label == Label::Origin).map(|it| {
        let rule = it.rule.as_deref().unwrap_or("an origin");
        format!("weighed as {rule} and not taken: {}", it.lost)
    });
    let origins: Vec<String> = origins.take(MAX_TOLD).collect();
    // A change that was weighed and lost says so itself.
    lines.extend(origins.into_iter().filter(|line| !diagnosis_says(diagnosis, entity, line)));
    let named: Vec<&str> =
        diagnosis.causes().flat_map(|group| &group.origins).map(EntityId::as_str).collect();
    lines.push(match named.as_slice() {
        [] => "no root cause is named".to_owned(),
        named => format!("named instead: {}", named.join(", ")),
    });
    lines.iter().map(|line| clean(line).into_owned()).collect()
}

fn diagnosis_says(diagnosis: &Diagnosis, entity: &EntityId, line: &str) -> bool {
    let changes = diagnosis.considered.iter().filter(|it| it.change.entity == *entity);
    changes.map(|it| words::ruled_out(&it.reason)).any(|told| told == line)
}

/// What its label says.
fn of_label(diagnosis: &Diagnosis, entity: &EntityId) -> Vec<String> {
    let Some(belief) = diagnosis.belief(entity) else { return Vec::new() };
    // Where nobody is named, it would be if it reached an alert.
    let is_unsettled =
        || diagnosis.causes().next().is_some() && diagnosis.conclusion.damped.contains(entity);
    match belief.label {
        Label::Origin if diagnosis.conclusion.derived_origins.contains(entity) => {
            vec!["it is an origin that another origin explains".to_owned()]
        }
        Label::Origin if is_unsettled() => {
            let told = "it is an origin, but the judgement of it changed too often to be settled, and another explains \
                        the alerts";
            vec![told.to_owned()]
        }
        Label::Origin => vec!["it is an origin, but its effects reach no alert".to_owned()],
        Label::Symptom => {
            // Both ends of a claim can make it.
            let claims = diagnosis.claims.iter().filter(|claim| claim.effect == *entity);
            let causes: BTreeSet<&EntityId> = claims.map(|claim| &claim.cause).collect();
            let causes = causes.into_iter().map(|cause| {
                let label = diagnosis.belief(cause).map(|belief| belief.label.to_string());
                let label = label.unwrap_or_else(|| "not evaluated".to_owned());
                format!("it is a symptom: {cause} ({label}) explains it")
            });
            let mut lines: Vec<String> = causes.take(MAX_TOLD).collect();
            if lines.is_empty() {
                lines.push("it is a symptom, but no claim names its cause".to_owned());
            }
            lines
        }
        Label::Healthy => vec!["it is healthy: nothing there went wrong".to_owned()],
        Label::Defer => vec!["the evidence there did not decide".to_owned()],
    }
}
