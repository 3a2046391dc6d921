//! Where a cause was lost that was not named.

use std::fmt;

use eog::{EntityId, Label};
use eog_evidence::effect_path;
use serde::Serialize;

use crate::investigation::Investigation;

/// How far an investigation came with one true cause: each step presupposes the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Funnel {
    /// The declared graph has no effect path from it to any alert.
    Unreachable,
    /// It was never looked at.
    NotFetched,
    /// It was looked at, and not labelled an origin.
    NotLabelled,
    /// It was labelled an origin, and reaches no alert or another origin explains it.
    NotInFrontier,
    /// It is in the frontier and explains an alert.
    Named,
}

impl fmt::Display for Funnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unreachable => "unreachable",
            Self::NotFetched => "not fetched",
            Self::NotLabelled => "not labelled",
            Self::NotInFrontier => "not in frontier",
            Self::Named => "named",
        })
    }
}

/// How far the investigation came with one true cause.
///
/// A cause that was fetched although no path was declared, because evidence named it, counts as
/// reachable.
pub fn funnel(investigation: &Investigation, cause: &EntityId) -> Funnel {
    if investigation.named().contains(cause) {
        return Funnel::Named;
    }
    match investigation.controller.belief(cause).map(|belief| belief.label) {
        Some(Label::Origin) => Funnel::NotInFrontier,
        Some(_) => Funnel::NotLabelled,
        None => {
            let case = &investigation.case;
            let reaches =
                |alert: &eog::Anomaly| effect_path(&case.topology, cause, &alert.entity).is_some();
            if case.anomalies.iter().any(reaches) {
                Funnel::NotFetched
            } else {
                Funnel::Unreachable
            }
        }
    }
}
