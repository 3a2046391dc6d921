//! A narrative in the output schema of the paper's appendix A.3.

use serde::{Deserialize, Serialize};

use crate::json::pretty;
use crate::narrative::{Citation, NarratedEntity, Narrative};
use crate::report::Report;
use crate::words;

/// The narrative of a report in the schema of A.3, as indented JSON. Where an inconclusive investigation has no
/// contributing factor, its best guess is marked as one, and the reasoning says that it is a guess.
pub fn agent_output(report: &Report) -> String {
    let mut output = report.narrative.agent_output();
    let diagnosis = &report.diagnosis;
    if !diagnosis.is_diagnosed()
        && output.entities.iter().all(|entity| !entity.contributing_factor)
        && let Some(guess) = diagnosis.choice().first()
    {
        output.entities.retain(|entity| entity.name != guess.as_str());
        let guessed = AgentEntity::of(&NarratedEntity {
            contributing_factor: true,
            ..crate::rules::entity(diagnosis, guess)
        });
        let reasoning = format!("best guess, not a finding: {}", guessed.reasoning);
        output.entities.insert(0, AgentEntity { reasoning, ..guessed });
    }
    pretty(&output)
}

/// The input of scoring: `agent_output.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentOutput {
    /// Entities, contributing factors first.
    pub entities: Vec<AgentEntity>,
    /// How it spread.
    pub propagations: Vec<AgentPropagation>,
    /// The alerts.
    pub alerts_explained: Vec<AgentAlert>,
}

/// An entity of an [`AgentOutput`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentEntity {
    /// Its name.
    pub name: String,
    /// Whether it caused the incident.
    pub contributing_factor: bool,
    /// Why it has this role.
    pub reasoning: String,
    /// Its evidence, in one text.
    pub evidence: String,
}

impl AgentEntity {
    fn of(entity: &NarratedEntity) -> Self {
        Self {
            name: entity.name.to_string(),
            contributing_factor: entity.contributing_factor,
            reasoning: entity.reasoning.clone(),
            evidence: entity.evidence.iter().map(in_words).collect::<Vec<_>>().join("; "),
        }
    }
}

/// A step of an [`AgentOutput`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentPropagation {
    /// Where it came from.
    pub source: String,
    /// Where it went.
    pub target: String,
    /// What propagates.
    pub condition: String,
    /// How it shows.
    pub effect: String,
}

/// An alert of an [`AgentOutput`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentAlert {
    /// Its name.
    pub alert: String,
    /// How it came about.
    pub explanation: String,
    /// Whether a contributing factor reaches it.
    pub explained: bool,
}

impl Narrative {
    /// The part of it that is in the schema of A.3.
    pub fn agent_output(&self) -> AgentOutput {
        let entities = self.entities.iter().map(AgentEntity::of);
        let propagations = self.propagations.iter().map(|step| AgentPropagation {
            source: step.source.to_string(),
            target: step.target.to_string(),
            condition: step.condition.clone(),
            effect: step.effect.clone(),
        });
        let alerts = self.alerts_explained.iter().map(|alert| AgentAlert {
            alert: alert.alert.clone(),
            explanation: alert.explanation.clone(),
            explained: alert.explained,
        });
        AgentOutput {
            entities: entities.collect(),
            propagations: propagations.collect(),
            alerts_explained: alerts.collect(),
        }
    }
}

fn in_words(citation: &Citation) -> String {
    let query = words::query(&citation.source, &citation.query);
    format!("{}: {} [{} {query}]", words::time(&citation.time), citation.excerpt, citation.id)
}
