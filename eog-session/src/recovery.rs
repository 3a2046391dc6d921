//! A diagnosis verified by recovery: whether what it predicts for the end of its cause came true after a repair.

mod course;
mod intervention;
#[cfg(test)]
mod tests;
mod verdict;

use eog::diagnosis::{Prediction, Returning};
use eog::incident::to_the_second;
use eog::{Anomaly, Diagnosis, EntityId, EvidenceId, Timestamp, Window};
use serde::Serialize;

use crate::source::Source;

use course::{Clock, of_alert, of_series};
use intervention::Changes;
pub use intervention::Intervention;
pub use verdict::Verdict;

/// What is to be verified.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// When the repair was made; without it, the changes on record are searched for it.
    pub at: Option<Timestamp>,
    /// What was done, in words.
    pub action: Option<String>,
    /// An origin of the cause that was repaired; without it, the first cause with a change on record after its harm.
    pub cause: Option<EntityId>,
}

/// What became of the predictions for one cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verification {
    /// The result.
    pub verdict: Verdict,
    /// The origins of the cause.
    pub origins: Vec<EntityId>,
    /// What was done about it.
    pub intervention: Intervention,
    /// Until when something is on record.
    pub recorded_until: Option<Timestamp>,
    /// What should have returned.
    pub returns: Vec<Judged>,
    /// What should not have changed.
    pub unaffected: Vec<Judged>,
    /// Other changes of the cause after the harm, by time.
    pub other_changes: Vec<Intervention>,
}

/// One prediction, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// By when it should have returned.
    pub by: Timestamp,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What a prediction is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// An alert.
    Alert {
        /// Its name. Untrusted text.
        name: String,
        /// The entity it fired on.
        entity: EntityId,
    },
    /// A measured series.
    Series {
        /// The finding that cites it.
        finding: EvidenceId,
        /// The entity it was measured on.
        entity: EntityId,
        /// What the finding says of it. Untrusted text.
        text: String,
    },
}

/// What became of something that should return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It returned in time.
    Returned {
        /// When it was last active, or first as usual.
        at: Timestamp,
    },
    /// It returned, but later than predicted.
    Late {
        /// When it was last active, or first as usual.
        at: Timestamp,
    },
    /// It did not return.
    NotReturned,
    /// It had returned before the repair, so it says nothing about it.
    Before {
        /// When it was last active, or first as usual, if harm of it is on record.
        at: Option<Timestamp>,
    },
    /// Nothing that decides is on record after the repair.
    NotRecorded,
    /// The record ends before it had to return.
    Open,
}

/// Why nothing can be verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The run named no cause.
    #[error("the run names no cause, so there is nothing to verify")]
    NoCause,
    /// The run named other causes.
    #[error("{cause} is not a cause that the run names; it names {}", names(named))]
    NotNamed {
        /// The entity in question.
        cause: EntityId,
        /// The causes.
        named: Vec<EntityId>,
    },
    /// Several causes, and a repair that can be of any.
    #[error("the run names {}; say which of them was repaired", names(named))]
    WhichCause {
        /// The causes.
        named: Vec<EntityId>,
    },
    /// The repair would have been made before the harm.
    #[error("the repair at {} is before the cause began, at {}", to_the_second(*at), to_the_second(*began))]
    BeforeHarm {
        /// When the repair was made.
        at: Timestamp,
        /// When the cause began.
        began: Timestamp,
    },
    /// Nothing is on record of the cause.
    #[error("nothing is on record of {}; is this the same system?", names(origins))]
    OtherSystem {
        /// The origins of the cause.
        origins: Vec<EntityId>,
    },
    /// No repair is on record.
    #[error(
        "no intervention on record: no change of {}, its parts or its owners after {since}, when the last alert began",
        names(origins)
    )]
    NoIntervention {
        /// The origins of the causes.
        origins: Vec<EntityId>,
        /// Since when changes were searched.
        since: Timestamp,
    },
}

fn names(entities: &[EntityId]) -> String {
    eog_report::words::list(entities)
}

/// Judges what a run predicted by what was recorded after a repair.
///
/// Each prediction is judged against what was usual before the incident, for twice as long after the repair as it may take. What
/// had returned before the repair does not count.
///
/// # Errors
/// [`VerifyError`] when the run names no cause, or no repair of it is known.
pub fn verify(
    run: &Diagnosis,
    after: &dyn Source,
    asked: &Asked,
) -> Result<Verification, VerifyError> {
    let predictions = asked_for(run, asked)?;
    let incident = after.incident();
    let is_known = |entity: &EntityId| {
        incident.topology.contains(entity) || incident.recorded.contains(entity)
    };
    let origins = || predictions.iter().flat_map(|one| one.origins.iter().cloned()).collect();
    if !predictions.iter().any(|one| one.origins.iter().any(is_known)) {
        return Err(VerifyError::OtherSystem { origins: origins() });
    }
    let found = predictions.iter().find_map(|prediction| {
        let mut changes = Changes::on_record(run, prediction, incident);
        let made = match asked.at {
            Some(at) => Intervention::given(prediction, at, asked.action.as_deref()),
            None => changes.take_most_relevant(run, prediction)?,
        };
        Some((prediction, made, changes.others()))
    });
    let Some((prediction, intervention, other_changes)) = found else {
        let since = predictions.iter().map(|one| one.last_onset).min();
        let since = since.unwrap_or(run.window.start());
        return Err(VerifyError::NoIntervention { origins: origins(), since });
    };
    if let Some(began) = prediction.began.filter(|began| intervention.at <= *began) {
        return Err(VerifyError::BeforeHarm { at: intervention.at, began });
    }
    Ok(judge(run, after, prediction, intervention, other_changes))
}

/// The predictions for the cause in question, or for all.
fn asked_for(run: &Diagnosis, asked: &Asked) -> Result<Vec<Prediction>, VerifyError> {
    let mut predictions = run.predictions();
    let named = || run.causes().flat_map(|group| group.origins.iter().cloned()).collect();
    if predictions.is_empty() {
        return Err(VerifyError::NoCause);
    }
    if let Some(cause) = &asked.cause {
        predictions.retain(|one| one.origins.contains(cause));
        if predictions.is_empty() {
            return Err(VerifyError::NotNamed { cause: cause.clone(), named: named() });
        }
    }
    match asked.at.is_some() && predictions.len() > 1 {
        true => Err(VerifyError::WhichCause { named: named() }),
        false => Ok(predictions),
    }
}

fn judge(
    run: &Diagnosis,
    after: &dyn Source,
    prediction: &Prediction,
    intervention: Intervention,
    other_changes: Vec<Intervention>,
) -> Verification {
    let incident = after.incident();
    let until = recorded_until(after);
    let clock = |within_s| Clock::new(intervention.at, within_s, until);
    let alert = |at: usize, within_s| {
        let alert = run.anomalies.get(at)?;
        let clock = clock(within_s);
        let outcome = of_alert(alert, &incident.anomalies, &clock);
        let Anomaly { name, entity, .. } = alert;
        let subject = Subject::Alert { name: name.clone(), entity: entity.clone() };
        Some(Judged { subject, by: clock.by, outcome })
    };
    // As far as the record goes: what is drawn of some series ends with the window.
    let end = until.map_or(run.window.end(), |until| until.max(run.window.end()));
    let window = Window::new(run.window.start(), end).unwrap_or(run.window);
    let series = |id: &EvidenceId, within_s| {
        let finding = run.findings.get(id)?;
        let clock = clock(within_s);
        let chart = after.chart(finding, window);
        let outcome = of_series(chart.as_ref(), finding.trend, &clock);
        let (entity, text) = (finding.entity.clone(), finding.excerpt.clone());
        let subject = Subject::Series { finding: id.clone(), entity, text };
        Some(Judged { subject, by: clock.by, outcome })
    };
    let returns = prediction.returns.iter().filter_map(|one| match &one.what {
        Returning::Alert(at) => alert(*at, one.within_s),
        Returning::Series(id) => series(id, one.within_s),
    });
    let returns: Vec<Judged> = returns.collect();
    let longest = prediction.within().as_secs();
    let unaffected = prediction.unaffected.iter().filter_map(|at| alert(*at, longest)).collect();
    Verification {
        verdict: Verdict::of(&returns),
        origins: prediction.origins.clone(),
        intervention,
        recorded_until: until,
        returns,
        unaffected,
        other_changes,
    }
}

/// Until when something is on record: telemetry, or an alert.
fn recorded_until(after: &dyn Source) -> Option<Timestamp> {
    let incident = after.incident();
    let seen = incident.anomalies.iter().flat_map(|alert| alert.onsets().chain(alert.last_seen));
    let measured = incident.observed.or(incident.window).map(|window| window.end());
    seen.chain(measured).max()
}
