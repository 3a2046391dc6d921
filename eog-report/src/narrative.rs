//! The narrative: what an investigation found, written once, for people and programs.

use eog_core::evidence::EvidenceTime;
use eog_core::{Confidence, EntityId, EvidenceId, Timestamp};
use serde::{Deserialize, Serialize};

/// The version of [`Narrative`].
pub const NARRATIVE_VERSION: u32 = 1;

/// What happened, what caused it, how it spread, and what each statement rests on.
///
/// Holds no suggestions. Its texts may come from telemetry or a model: data, never markup. Those of
/// a model are on one line, bounded, and without control characters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Narrative {
    /// [`NARRATIVE_VERSION`] of the writer.
    pub version: u32,
    /// Its author.
    pub author: Author,
    /// How sure the investigation is. No author changes it.
    pub confidence: Confidence,
    /// Whether the contributing factors are a guess: the investigation found no origin that
    /// explains an alert.
    pub best_guess: bool,
    /// All of it in a few sentences.
    pub summary: String,
    /// What happened, in the order of time.
    pub timeline: Vec<Moment>,
    /// Contributing factors first, then all other entities involved, by name.
    pub entities: Vec<NarratedEntity>,
    /// How it spread, by source and target.
    pub propagations: Vec<Propagation>,
    /// Every alert, in the order of the investigation.
    pub alerts_explained: Vec<AlertExplained>,
    /// Rejected statements of a model.
    pub refused: Vec<Refused>,
    /// Contributing factors that are not those of the frontier.
    pub deviations: Vec<Deviation>,
    /// Entities and steps beyond the limits of this narrative, or of the model that wrote it.
    pub left_out: Vec<String>,
}

/// The author of a narrative.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// Rules, from the ledger alone.
    Rules,
    /// A model, checked against the ledger.
    Model {
        /// Which one, `provider/model`.
        name: String,
    },
    /// Rules, since no model gave an answer that can be used.
    RulesAfterFailure {
        /// The failure of each model.
        failure: String,
    },
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// When: always that of the finding or the alert.
    pub time: EvidenceTime,
    /// The receiver.
    pub entity: EntityId,
    /// A description.
    pub what: String,
    /// The finding that says so; none for the onset of an alert.
    pub evidence: Option<EvidenceId>,
    /// The query that gives the finding again; empty for the onset of an alert.
    pub query: String,
}

/// An entity involved in the incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NarratedEntity {
    /// The entity.
    pub name: EntityId,
    /// Whether it caused the incident, rather than showed it.
    pub contributing_factor: bool,
    /// What changed there. Every contributing factor answers this and the next two.
    pub what_changed: Option<String>,
    /// When it changed: the time of the evidence.
    pub when: Option<EvidenceTime>,
    /// How that explains what was seen elsewhere.
    pub how_it_explains: Option<String>,
    /// Why it has this role.
    pub reasoning: String,
    /// Its evidence: changes first, then by time.
    pub evidence: Vec<Citation>,
}

/// A finding, as a narrative cites it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Citation {
    /// The id of the finding.
    pub id: EvidenceId,
    /// When it holds.
    pub time: EvidenceTime,
    /// Its text: of a change from what to what. Untrusted.
    pub excerpt: String,
    /// The tool or file that gave it.
    pub source: String,
    /// The exact query that gives it again.
    pub query: String,
}

/// One step of how an incident spread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Propagation {
    /// Where it came from.
    pub source: EntityId,
    /// Where it went.
    pub target: EntityId,
    /// What state of the source propagates.
    pub condition: String,
    /// How it shows on the target.
    pub effect: String,
}

/// An alert, and whether a contributing factor reaches it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AlertExplained {
    /// The name of the alert.
    pub alert: String,
    /// Where it fired.
    pub entity: EntityId,
    /// When it first fired.
    pub onset: Timestamp,
    /// How it came about, as far as that is known.
    pub explanation: String,
    /// Whether a contributing factor reaches it.
    pub explained: bool,
}

/// A rejected statement of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// What it said, or failed to say.
    pub what: String,
    /// Why it is rejected, and what replaces it.
    pub reason: String,
}

/// A contributing factor that the frontier does not have, or one of the frontier that is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// The entity.
    pub entity: EntityId,
    /// Whether this narrative has it as a contributing factor; the frontier says the opposite.
    pub contributing_factor: bool,
    /// Why.
    pub reason: String,
}
