//! What should end when a named cause ends, and by when: what an intervention puts to the test.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::conclude::OriginGroup;
use super::{Diagnosis, closure};
use crate::belief::{Belief, Claim};
use crate::evidence::{EvidenceKind, Finding, Trend};
use crate::ids::{EntityId, EvidenceId};
use crate::incident::case::Anomaly;

/// How far the rule of an alert commonly looks back: an alert ends so much later than what it measures.
const LOOK_BACK: SignedDuration = SignedDuration::from_mins(5);
/// Nothing is expected earlier: the look-back, and as long again until an alert counts as resolved.
const EARLIEST: SignedDuration = SignedDuration::from_mins(10);
/// Nothing is waited for longer. A change can take effect days after it was made; its end does not.
const LATEST: SignedDuration = SignedDuration::from_mins(60);
/// Series of one prediction.
const MAX_SERIES: usize = 24;

/// What follows from a named cause for the time after it is repaired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prediction {
    /// The origins of the cause, by name.
    pub origins: Vec<EntityId>,
    /// The finding of the change that would be undone, if the cause cites one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<EvidenceId>,
    /// Since when the cause acts: its change, or else the earliest onset that its origins cite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    /// The last onset of an alert that the cause explains. A repair is made later.
    pub last_onset: Timestamp,
    /// What should return to its usual state: alerts first, then series.
    pub returns: Vec<Return>,
    /// Alerts that the cause does not explain and that should not change, by their position in
    /// [`Diagnosis::anomalies`].
    pub unaffected: Vec<usize>,
}

/// Something that should return to its usual state after the repair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Return {
    /// What returns.
    #[serde(flatten)]
    pub what: Returning,
    /// Seconds after the repair by which it should have returned: the time from the beginning of the cause to its own onset
    /// and 5 minutes, in whole minutes, from 10 to 60 minutes; 60 where either time is unknown.
    pub within_s: u64,
}

/// What returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Returning {
    /// An alert, by its position in [`Diagnosis::anomalies`].
    Alert(usize),
    /// The measured series of a cited finding.
    Series(EvidenceId),
}

impl Prediction {
    /// How long after the repair everything should have returned.
    pub fn within(&self) -> Duration {
        let longest = self.returns.iter().map(|one| one.within_s).max();
        Duration::from_secs(longest.unwrap_or(LATEST.as_secs().unsigned_abs()))
    }
}

impl Diagnosis {
    /// What should end with each named cause, in the order of [`causes`](Self::causes). Empty where no cause is named.
    pub fn predictions(&self) -> Vec<Prediction> {
        self.causes().map(|group| self.prediction(group)).collect()
    }

    fn prediction(&self, group: &OriginGroup) -> Prediction {
        let covered = || group.covers.iter().filter_map(|at| Some((*at, self.anomalies.get(*at)?)));
        let began = self.began(group);
        let alerts = covered().map(|(at, alert)| Return {
            what: Returning::Alert(at),
            within_s: within(began, first_since(alert, began)),
        });
        let series = self.harmed_series(group).into_iter().map(|finding| Return {
            what: Returning::Series(finding.id().clone()),
            within_s: within(began, Some(dated(finding))),
        });
        let onsets = covered().flat_map(|(_, alert)| alert.onsets());
        Prediction {
            origins: group.origins.clone(),
            change: group.change.as_ref().map(|change| change.id.clone()),
            began,
            last_onset: onsets.max().unwrap_or(self.window.start()),
            returns: alerts.chain(series).collect(),
            unaffected: (0..self.anomalies.len()).filter(|at| !group.covers.contains(at)).collect(),
        }
    }

    fn began(&self, group: &OriginGroup) -> Option<Timestamp> {
        let cited = || {
            let beliefs = group.origins.iter().filter_map(|origin| self.belief(origin));
            let own = beliefs.flat_map(|belief| self.cited(belief));
            own.filter(|finding| is_harm(finding)).map(dated).min()
        };
        let harm = || group.harm.as_ref().map(|harm| harm.onset.latest());
        group.change.as_ref().map(|change| change.at).or_else(cited).or_else(harm)
    }

    /// The series that beliefs, or weights for an origin, cite as shifted, of the entities between the origins and the alerts that they explain.
    fn harmed_series(&self, group: &OriginGroup) -> Vec<&Finding> {
        let alerting = group.covers.iter().filter_map(|at| self.anomalies.get(*at));
        let alerting = alerting.map(|alert| alert.entity.clone());
        let reached = closure(group.origins.iter().cloned(), &self.causal);
        let leading = closure(alerting, &reversed(&self.causal));
        let between: BTreeSet<&EntityId> = reached.intersection(&leading).collect();
        let beliefs = between.iter().filter_map(|entity| self.belief(entity));
        let weights = between.iter().filter_map(|entity| self.terms.get(*entity)).flatten();
        let carrying = weights.filter(|term| term.log_odds > 0).flat_map(|term| &term.evidence);
        let cited: Vec<EvidenceId> =
            beliefs.flat_map(Belief::cited).chain(carrying.cloned()).collect();
        let mut seen = BTreeSet::new();
        let found = self.lookup(&cited).into_iter().filter(|finding| {
            is_harm(finding)
                && between.contains(&finding.entity)
                && seen.insert((&finding.entity, &finding.query))
        });
        found.take(MAX_SERIES).collect()
    }
}

/// Whether a finding is about a measured series that is not as usual.
fn is_harm(finding: &Finding) -> bool {
    matches!(finding.kind, EvidenceKind::Metric | EvidenceKind::Span)
        && finding.trend != Trend::Steady
        && finding.quantity.as_ref().is_some_and(|quantity| quantity.baseline.is_some())
}

/// When what a finding states had begun.
fn dated(finding: &Finding) -> Timestamp {
    finding.onset.map_or(finding.time.start(), |onset| onset.latest())
}

/// The first onset of an alert since a time, or else its first.
fn first_since(alert: &Anomaly, began: Option<Timestamp>) -> Option<Timestamp> {
    let began = began?;
    alert.onsets().find(|onset| *onset >= began).or(Some(alert.onset))
}

fn within(began: Option<Timestamp>, onset: Option<Timestamp>) -> u64 {
    let delay = began.zip(onset).map_or(LATEST, |(began, onset)| onset.duration_since(began));
    let expected = delay.min(LATEST).saturating_add(LOOK_BACK).clamp(EARLIEST, LATEST);
    60 * expected.as_secs().unsigned_abs().div_ceil(60)
}

fn reversed(claims: &[Claim]) -> Vec<Claim> {
    let turn = |claim: &Claim| Claim {
        cause: claim.effect.clone(),
        effect: claim.cause.clone(),
        ..claim.clone()
    };
    claims.iter().map(turn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_followed_later_is_expected_to_return_later() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        for (began, onset, minutes) in [
            (Some(0), Some(0), 10),
            (Some(100), Some(0), 10),
            (Some(0), Some(300), 10),
            (Some(0), Some(480), 13),
            (Some(0), Some(481), 14),
            (Some(0), Some(86_400), 60),
            (None, Some(0), 60),
            (Some(0), None, 60),
        ] {
            let found = within(began.map(at), onset.map(at));
            assert_eq!(found, 60 * minutes, "{began:?} {onset:?}");
        }
    }
}
