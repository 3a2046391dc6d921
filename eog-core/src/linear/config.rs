//! The choices of the linear loop.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::Budget;
use crate::controller::config::Checks;
use crate::ids::EntityId;
use crate::ledger::body::Settings;

/// Every choice of the [`Linear`](crate::Linear) loop.
///
/// ```
/// use eog_core::LinearConfig;
/// // Remembers eight answers, and goes on after the first origin.
/// let config = LinearConfig { memory: Some(8), commits: false, ..LinearConfig::default() };
/// assert!(LinearConfig::default().commits);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearConfig {
    /// The name of the policy, for later readers. Decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// How many answers it remembers; all of them if absent. With an older one it forgets the
    /// evaluation, what it saw, and the leads from it: it may evaluate the entity again, and only a
    /// budget ends this. Without this limit there are at most as many steps as entities.
    pub memory: Option<u32>,
    /// Whether it stops at the first origin.
    pub commits: bool,
    /// The steps, counted from 0, that repeat the one before and learn nothing: a handicap for
    /// comparisons.
    pub repeats: BTreeSet<u64>,
    /// Which of the entities that it could evaluate is next.
    pub order: LeadOrder,
    /// How strictly decisions are checked.
    pub checks: Checks,
    /// When to stop early. Repeated steps count as policy calls.
    pub budget: Budget,
    /// Whether packets show which anomalies effects of the entity can reach. Off in older ledgers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reach: bool,
    /// Whether packets show the anomalies of the entity. Off in older ledgers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alerts: bool,
}

/// Which of the entities that a linear loop could evaluate is next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeadOrder {
    /// The leads of the newest answer first, then older ones, then the starts.
    Newest,
    /// A permutation of those that there are, another for each step.
    Permuted {
        /// Derives every permutation.
        seed: u64,
    },
    /// Those of the smallest rank first, then as `Newest`; entities that are not named come last.
    Ranked(BTreeMap<EntityId, u64>),
}

/// It forgets nothing, repeats nothing, and answers with the first origin.
impl Default for LinearConfig {
    fn default() -> Self {
        Self {
            policy: None,
            memory: None,
            commits: true,
            repeats: BTreeSet::new(),
            order: LeadOrder::Newest,
            checks: Checks::Full,
            budget: Budget::default(),
            reach: true,
            alerts: true,
        }
    }
}

impl Settings for LinearConfig {
    fn policy(&self) -> Option<&str> {
        self.policy.as_deref()
    }

    fn to_json(&self) -> Value {
        let rules = Self { policy: None, ..self.clone() };
        serde_json::to_value(rules).unwrap_or_default()
    }
}
