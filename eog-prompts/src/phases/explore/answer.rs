//! What a model answers. The descriptions of the fields are shown to it.

use eog_core::{EvidenceKind, Label};
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
    /// Numbers of evidence.
    #[schemars(description = " ")]
    pub evidence: Vec<u32>,
    /// What the entity is.
    #[schemars(description = " ")]
    pub label: Label,
    /// Whether the next page of evidence is wanted.
    #[schemars(description = " ")]
    pub next_page: bool,
    /// Other explanations of the harm that the evidence leaves open, the likeliest first; may be empty.
    #[schemars(description = " ")]
    pub other_causes: Vec<ExploreAlternative>,
    /// Where to look next, best first; may be empty.
    #[schemars(description = " ")]
    pub proposals: Vec<ExploreProposal>,
    /// What to search for before judging; may be empty.
    #[schemars(description = " ")]
    pub search: Vec<ExploreSearch>,
}

/// A search in records that are not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExploreSearch {
    /// entity
    pub entity: String,
    /// What kind of evidence to search.
    #[schemars(description = " ")]
    pub kind: SearchedKind,
    /// what lines must hold; empty finds all
    pub text: String,
}

/// A kind of evidence that can be searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "they are the kinds of evidence")]
pub enum SearchedKind {
    Change,
    Event,
    Log,
    Metric,
    Note,
    Span,
}

impl From<SearchedKind> for EvidenceKind {
    fn from(kind: SearchedKind) -> Self {
        match kind {
            SearchedKind::Change => Self::Change,
            SearchedKind::Event => Self::Event,
            SearchedKind::Log => Self::Log,
            SearchedKind::Metric => Self::Metric,
            SearchedKind::Note => Self::Note,
            SearchedKind::Span => Self::Span,
        }
    }
}

/// Another explanation of the harm at the entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExploreAlternative {
    /// entity, or an outside system
    pub cause: String,
    /// how it would bring about the harm
    pub mechanism: String,
    /// what speaks against it
    pub objection: String,
}

/// One explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExploreClaim {
    /// entity, or an outside system
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
