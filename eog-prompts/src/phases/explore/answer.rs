//! What a model answers. The documentation of the fields is shown to it.

use eog_core::Label;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The judgement of one entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExploreAnswer {
    /// one or two sentences for others: what was seen, and why it means the label
    pub because: String,
    /// may be empty
    pub claims: Vec<ExploreClaim>,
    /// of all proposals
    pub direction: Step,
    /// for the label
    pub evidence: Vec<u32>,
    /// as defined above
    pub label: Label,
    /// true: show the next page of the evidence, and judge again; only where some is said to be left
    pub next_page: bool,
    /// best first, may be empty
    pub proposals: Vec<ExploreProposal>,
}

/// One explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExploreClaim {
    /// entity
    pub cause: String,
    /// what state of the cause travels on
    pub condition: String,
    /// entity
    pub effect: String,
    /// numbers
    pub evidence: Vec<u32>,
    /// how it shows on the effect
    pub observed: String,
}

/// An entity worth looking at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExploreProposal {
    /// its name
    pub entity: String,
    /// what could be found there
    pub reason: String,
}

/// Where proposals stand: one direction for each judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Where effects come from.
    Upstream,
    /// Where effects go.
    Downstream,
    /// What owns, controls or configures the entity.
    Ownership,
    /// What it runs on or is fed by.
    Infrastructure,
    /// Nothing is proposed.
    None,
}
