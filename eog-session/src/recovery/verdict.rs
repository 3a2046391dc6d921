//! What all predictions for a cause say together.

use std::fmt;

use serde::Serialize;

use super::{Judged, Outcome, Subject};

/// Whether a repair bore a diagnosis out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All that the cause explains returned in time, at least one alert among it.
    Verified,
    /// Some of it returned in time, not all; or it is not on record of all alerts.
    Partial,
    /// No alert returned although the cause was repaired.
    Withdrawn,
    /// The record ends before all had to return.
    TooEarly,
    /// Nothing decides: every alert had ended before the repair, or is not on record.
    Undecided,
}

impl Verdict {
    pub(super) fn of(returns: &[Judged]) -> Self {
        let outcomes = |is_alert: bool| {
            let of_kind =
                move |one: &&Judged| matches!(one.subject, Subject::Alert { .. }) == is_alert;
            returns.iter().filter(of_kind).map(|one| one.outcome)
        };
        let all = || outcomes(true).chain(outcomes(false));
        let counts = |one: &Outcome| !matches!(one, Outcome::Before { .. } | Outcome::NotRecorded);
        let in_time = |one: Outcome| matches!(one, Outcome::Returned { .. });
        let came = |one: Outcome| in_time(one) || matches!(one, Outcome::Late { .. });
        let unseen = outcomes(true).any(|one| one == Outcome::NotRecorded);
        if all().any(|one| one == Outcome::Open) {
            return Self::TooEarly;
        }
        let is_all_in_time = all().filter(counts).all(in_time);
        let alerts: Vec<Outcome> = outcomes(true).filter(counts).collect();
        match (alerts.is_empty(), alerts.into_iter().any(came)) {
            (true, _) if unseen && outcomes(false).filter(counts).any(came) => Self::Partial,
            (true, _) => Self::Undecided,
            (false, false) => Self::Withdrawn,
            (false, true) if is_all_in_time && !unseen => Self::Verified,
            (false, true) => Self::Partial,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Verified => "verified",
            Self::Partial => "partial",
            Self::Withdrawn => "withdrawn",
            Self::TooEarly => "too early",
            Self::Undecided => "undecided",
        })
    }
}
