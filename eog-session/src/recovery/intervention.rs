//! Repairs: changes on the entities of a cause after its harm.

use eog::diagnosis::Prediction;
use eog::{Diagnosis, EntityId, Finding, Timestamp};
use eog_report::words;
use serde::Serialize;

/// What was done about a cause, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Intervention {
    /// When it was made; of an interval, its end.
    pub at: Timestamp,
    /// The entity that was changed.
    pub entity: EntityId,
    /// What was done. Untrusted text.
    pub what: String,
    /// Whether it is on record, rather than given by the operator.
    pub is_recorded: bool,
}

impl Intervention {
    /// One that the operator gives.
    pub(super) fn given(prediction: &Prediction, at: Timestamp, action: Option<&str>) -> Self {
        let entity = prediction.origins.first().cloned();
        let Some(entity) = entity else { unreachable!("a cause has an origin") };
        let what = action.unwrap_or("repaired").to_owned();
        Self { at, entity, what, is_recorded: false }
    }
}

impl From<&Finding> for Intervention {
    fn from(change: &Finding) -> Self {
        let (entity, what) = (change.entity.clone(), words::finding(change));
        Self { at: made(change), entity, what, is_recorded: true }
    }
}

/// The changes of the origins after the last onset of what they explain, by time.
pub(super) fn on_record<'c>(
    run: &Diagnosis,
    prediction: &Prediction,
    changes: &'c [Finding],
) -> Vec<&'c Finding> {
    let cited = prediction.change.as_ref().and_then(|id| run.findings.get(id));
    let is_of_cause = |entity: &EntityId| {
        prediction.origins.contains(entity) || cited.is_some_and(|cited| cited.entity == *entity)
    };
    let is_repair =
        |change: &&Finding| is_of_cause(&change.entity) && made(change) > prediction.last_onset;
    let mut found: Vec<&Finding> = changes.iter().filter(is_repair).collect();
    found.sort_by_key(|change| (made(change), change.id().clone()));
    found
}

/// The position of the change that undoes the one that the cause cites, or else of the first.
pub(super) fn most_relevant(
    run: &Diagnosis,
    prediction: &Prediction,
    changes: &[&Finding],
) -> Option<usize> {
    let cited = prediction.change.as_ref().and_then(|id| run.findings.get(id));
    let cited = cited.and_then(|finding| finding.change.as_ref());
    let undoes = |change: &&Finding| {
        let made = change.change.as_ref();
        made.zip(cited).is_some_and(|(now, then)| now.path == then.path && now.new == then.old)
    };
    changes.iter().position(undoes).or_else(|| (!changes.is_empty()).then_some(0))
}

/// By when a change was made.
fn made(change: &Finding) -> Timestamp {
    change.onset.map_or(change.time.start(), |onset| onset.latest())
}
