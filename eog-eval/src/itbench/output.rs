//! What was predicted.

use std::collections::BTreeMap;
use std::path::Path;

use eog::EntityId;
use eog::belief::ClaimEdge;
use eog_simulate::files::read_json;
use serde::Deserialize;
use serde_json::Value;

use super::named::{NamedEntity, text_in};
use crate::error::EvalError;

/// One entity of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// The entity.
    pub entity: NamedEntity,
    /// Whether it is named as a cause.
    pub contributing: bool,
}

/// The output of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// All entities, in order.
    pub entities: Vec<Predicted>,
    /// From cause to effect.
    pub propagations: Vec<(NamedEntity, NamedEntity)>,
    /// What it says of entities, in words: why they are causes, and the conditions of the
    /// propagations that begin there.
    pub reasons: Vec<(NamedEntity, String)>,
}

impl Output {
    /// Reads an output file: `entities[{name, contributing_factor}]` and
    /// `propagations[{source, target}]`, whose ends are names or ids of entities.
    ///
    /// # Errors
    /// [`EvalError`] names the file, the place, and what is wrong.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let file: File = read_json(path)?;
        let by_id: BTreeMap<&str, &str> = file
            .entities
            .iter()
            .filter_map(|entity| Some((entity.id.as_deref()?, entity.name.as_deref()?)))
            .collect();
        let mut entities = Vec::new();
        for (number, entity) in file.entities.iter().enumerate() {
            let Some(name) = entity.name.as_deref().or(entity.id.as_deref()) else {
                let place = format!("entities, entry {}", number + 1);
                return Err(EvalError::malformed(path, place, "it has neither name nor id"));
            };
            entities.push(Predicted {
                entity: NamedEntity::parse(name),
                contributing: entity.contributing_factor,
            });
        }
        let named = |end: &str| NamedEntity::parse(by_id.get(end).copied().unwrap_or(end));
        let propagations =
            file.propagations.iter().map(|edge| (named(&edge.source), named(&edge.target)));
        let of_entities = file.entities.iter().zip(&entities).flat_map(|(given, read)| {
            let texts = [&given.reasoning, &given.evidence].map(text_in);
            texts.into_iter().flatten().map(|text| (read.entity.clone(), text))
        });
        let of_edges = file
            .propagations
            .iter()
            .filter_map(|edge| Some((named(&edge.source), text_in(&edge.condition)?)));
        let reasons = of_entities.chain(of_edges).collect();
        Ok(Self { propagations: propagations.collect(), entities, reasons })
    }

    /// What an investigation predicts: its causes in order, and its claims. Entities are named
    /// `namespace/Kind/name`.
    pub fn of_investigation<'a>(
        causes: impl IntoIterator<Item = &'a EntityId>,
        claims: &[ClaimEdge],
    ) -> Self {
        let named = |entity: &EntityId| NamedEntity::parse(entity.as_str());
        let predicted = |entity: &EntityId| Predicted { entity: named(entity), contributing: true };
        Self {
            entities: causes.into_iter().map(predicted).collect(),
            propagations: claims.iter().map(|c| (named(&c.cause), named(&c.effect))).collect(),
            reasons: Vec::new(),
        }
    }

    /// What it says of an entity, in words.
    pub fn reasons_of<'a>(&'a self, entity: &'a NamedEntity) -> impl Iterator<Item = &'a str> {
        let own = self.reasons.iter().filter(move |(of, _)| of == entity);
        own.map(|(_, text)| text.as_str())
    }

    /// The entities named as causes, in order.
    pub fn predicted(&self) -> impl Iterator<Item = &NamedEntity> {
        self.entities.iter().filter(|entity| entity.contributing).map(|entity| &entity.entity)
    }
}

#[derive(Deserialize)]
struct File {
    entities: Vec<GivenEntity>,
    #[serde(default)]
    propagations: Vec<GivenEdge>,
}

#[derive(Deserialize)]
struct GivenEntity {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    contributing_factor: bool,
    #[serde(default)]
    reasoning: Value,
    #[serde(default)]
    evidence: Value,
}

#[derive(Deserialize)]
struct GivenEdge {
    source: String,
    target: String,
    #[serde(default)]
    condition: Value,
}
