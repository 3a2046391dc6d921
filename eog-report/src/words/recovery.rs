//! What should end when a named cause ends.

use eog_core::diagnosis::{Prediction, Returning};
use eog_core::evidence::ChangeDetail;
use eog_core::{Anomaly, Diagnosis, EntityId};

use crate::clean::clean_to;

/// What alerts are called that are not named.
const ALERTS: (&str, &str) = ("other alert", "other alerts");
/// Alerts, or places of a change, that one sentence names.
const MAX_NAMED: usize = 3;
/// Characters shown of a field or a value that was changed.
const MAX_VALUE: usize = 60;

/// How to verify a named cause: what should return, by when, and what should not change, in one sentence.
pub fn prediction(diagnosis: &Diagnosis, prediction: &Prediction) -> String {
    let mut causes = diagnosis.causes();
    let is_shared = causes.any(|it| it.shared_change.is_some() && it.origins == prediction.origins);
    let origins = prediction.origins.iter().map(EntityId::to_string);
    let origins = match is_shared {
        true => named(origins.collect(), ("other", "others")),
        false => and(origins),
    };
    let alert = |at: &usize| diagnosis.anomalies.get(*at).map(on);
    let returning = prediction.returns.iter().filter_map(|one| match &one.what {
        Returning::Alert(at) => alert(at),
        Returning::Series(_) => None,
    });
    let by = prediction.within().as_secs() / 60;
    let ends = named(returning.collect(), ALERTS);
    let is_many = prediction.origins.len() > 1;
    let is_cause = match (is_shared, is_many) {
        (true, _) => "share the cause",
        (false, true) => "are the causes",
        (false, false) => "is the cause",
    };
    let repair = repair(diagnosis, prediction, &origins);
    let stays = named(prediction.unaffected.iter().filter_map(alert).collect(), ALERTS);
    let stays = match stays.as_str() {
        "" => String::new(),
        stays => format!("; {stays} should not change"),
    };
    format!("If {origins} {is_cause}, {repair} should end {ends} within {by} min{stays}.")
}

/// The repair of the cause.
fn repair(diagnosis: &Diagnosis, prediction: &Prediction, origins: &str) -> String {
    let finding = prediction.change.as_ref().and_then(|id| diagnosis.findings.get(id));
    if prediction.origins.iter().any(|origin| diagnosis.outside.contains(origin)) {
        return "its recovery".to_owned();
    }
    let Some(finding) = finding else { return format!("restarting or repairing {origins}") };
    let cut = |text: &str| clean_to(text, MAX_VALUE);
    match &finding.change {
        Some(ChangeDetail { path, old: Some(old), .. }) => {
            format!("setting {} back to {}", cut(path), cut(old))
        }
        Some(ChangeDetail { path, .. }) => format!("undoing the change of {}", cut(path)),
        None => format!("undoing the change of {} ({})", finding.entity, cut(&finding.excerpt)),
    }
}

/// An alert with its entity.
fn on(alert: &Anomaly) -> String {
    format!("{} on {}", clean_to(&alert.name, MAX_VALUE), alert.entity)
}

/// The first by name, and how many more there are: of one, of several.
fn named(mut all: Vec<String>, (one, several): (&str, &str)) -> String {
    let more = all.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        all.truncate(MAX_NAMED);
        all.push(super::count(more, one, several));
    }
    and(all)
}

/// `a`, `a and b`, `a, b and c`.
fn and(words: impl IntoIterator<Item = String>) -> String {
    let mut words: Vec<String> = words.into_iter().collect();
    match words.pop() {
        Some(last) if !words.is_empty() => format!("{} and {last}", words.join(", ")),
        last => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_ends_with_a_count() {
        let alerts = |count: usize| (0..count).map(|number| format!("a{number}")).collect();
        assert_eq!(named(alerts(0), ALERTS), "");
        assert_eq!(named(alerts(1), ALERTS), "a0");
        assert_eq!(named(alerts(3), ALERTS), "a0, a1 and a2");
        assert_eq!(named(alerts(4), ALERTS), "a0, a1, a2 and 1 other alert");
    }
}
