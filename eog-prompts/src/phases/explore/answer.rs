//! What a model answers. The descriptions of the fields are shown to it.

use eog_core::Label;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The judgement of one entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExploreAnswer {
    /// one to three sentences: the cause, the evidence that carries it, how sure, what is open
    pub because: String,
    /// What explains what; may be empty.
    #[schemars(description = " ")]
    pub claims: Vec<ExploreClaim>,
    /// Where all proposals stand.
    #[schemars(description = " ")]
    pub direction: Step,
    /// Numbers of evidence.
    #[schemars(description = " ")]
    pub evidence: Vec<u32>,
    /// What the entity is.
    #[schemars(description = " ")]
    pub label: Label,
    /// Whether the next page of evidence is wanted.
    #[schemars(description = " ")]
    pub next_page: bool,
    /// Where to look next, best first; may be empty.
    #[schemars(description = " ")]
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
    /// Numbers of evidence.
    #[schemars(description = " ")]
    pub evidence: Vec<u32>,
    /// how it shows on the effect
    pub observed: String,
}

/// An entity worth looking at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExploreProposal {
    /// entity
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
