//! A graph under construction.

use std::collections::BTreeSet;

use eog_core::incident::{Edge, EffectDirection};
use eog_core::{EntityId, Topology};

use super::index::{Match, NameIndex};
use super::relation;
use crate::names::{self, EntityName, WORKLOAD_KINDS};

/// A graph under construction.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) topology: Topology,
    pub(super) index: NameIndex,
    pub(super) warnings: Vec<String>,
    /// Services that something speaks of: each should have a workload behind it.
    pub(super) spoken_of: BTreeSet<EntityId>,
}

/// Most warnings about names.
const MAX_NAME_WARNINGS: usize = 50;

impl Builder {
    pub(super) fn warn(&mut self, text: String) {
        if self.warnings.len() < MAX_NAME_WARNINGS && !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    pub(super) fn connect(
        &mut self,
        source: Option<EntityId>,
        relation: &str,
        target: Option<EntityId>,
        effects: EffectDirection,
    ) {
        if let (Some(source), Some(target)) = (source, target)
            && source != target
        {
            self.topology.connect(&source, relation, &target, effects);
        }
    }

    /// The Service entity of a name that telemetry or the architecture uses.
    pub(super) fn service(&mut self, namespace: &str, name: &str) -> Option<EntityId> {
        let namespace = match namespace {
            "" => self.index.namespace_of(name),
            given => given.to_owned(),
        };
        if let Match::Ambiguous(several) = self.index.find(&namespace, name) {
            let several = several.join(", ");
            self.warn(format!(
                "{name} in namespace {namespace} is ambiguous ({several}); it is kept as a separate service"
            ));
        }
        let service = self.index.service(&namespace, name)?;
        self.topology.add_entity(service.clone());
        self.spoken_of.insert(service.clone());
        Some(service)
    }

    /// Joins services that have no selector to the workload that carries their name.
    pub(super) fn back_services(&mut self) {
        for service in std::mem::take(&mut self.spoken_of) {
            let backs = |edge: &Edge| edge.relation == relation::BACKS && edge.target == service;
            if self.topology.edges_at(&service).any(backs) {
                continue;
            }
            let Some(EntityName { namespace: Some(namespace), name, .. }) =
                EntityName::parse(service.as_str())
            else {
                continue;
            };
            let Some(workload) = self.index.workload_of(&namespace, &name) else { continue };
            for kind in WORKLOAD_KINDS {
                let entity = names::entity(&namespace, kind, &workload);
                let known = entity.filter(|entity| self.topology.contains(entity));
                let effects = EffectDirection::SourceToTarget;
                self.connect(known, relation::BACKS, Some(service.clone()), effects);
            }
        }
    }
}
