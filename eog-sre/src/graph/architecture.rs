//! Components and dependencies of the declared architecture, placed in namespaces.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::EntityId;
use eog_core::incident::EffectDirection::TargetToSource;

use super::builder::Builder;
use super::{Match, relation};
use crate::snapshot::Snapshot;

/// Component names and the entities they stand for.
pub(super) type Components = BTreeMap<String, EntityId>;

impl Builder {
    /// Finds the entity of every component, and notes names that nothing else uses.
    ///
    /// A component belongs to the namespace in which its name is known; one that is known nowhere
    /// belongs to the namespace of most others. An infrastructure component may be the beginning
    /// of exactly one name in use (`cache` for `cache-main`), unless that is another component.
    pub(super) fn place_components(&mut self, snapshot: &Snapshot) -> Components {
        let Some(architecture) = &snapshot.architecture else { return Components::new() };
        let declared = architecture.components.iter();
        let mut infrastructure: BTreeMap<&str, bool> = declared
            .map(|component| (component.name.as_str(), component.is_infrastructure))
            .collect();
        for (source, target) in &architecture.dependencies {
            infrastructure.entry(source).or_insert(false);
            infrastructure.entry(target).or_insert(false);
        }
        let names: Vec<String> = infrastructure.keys().map(|name| (*name).to_owned()).collect();
        let home = self.home_of(&names);
        let mut placed: BTreeMap<String, (String, String)> = BTreeMap::new();
        for name in &names {
            let space = self.index.namespace_of(name);
            let space = match self.index.find(&space, name) {
                Match::Unknown => home.clone(),
                Match::Known(_) | Match::Ambiguous(_) => space,
            };
            placed.insert(name.clone(), (space, name.clone()));
        }
        let taken: BTreeSet<Option<EntityId>> =
            placed.values().map(|(space, name)| self.index.service(space, name)).collect();
        for (name, (space, stands_for)) in &mut placed {
            let is_infrastructure = infrastructure.get(name.as_str()) == Some(&true);
            if !is_infrastructure || self.index.find(space, name) != Match::Unknown {
                continue;
            }
            if let [one] = self.index.extensions(space, name).as_slice()
                && !taken.contains(&self.index.service(space, one))
            {
                one.clone_into(stands_for);
            }
        }
        let mut components = Components::new();
        for (name, (space, stands_for)) in placed {
            if self.index.find(&space, &stands_for) == Match::Unknown {
                self.index.add_telemetry(&space, &stands_for);
            }
            if let Some(service) = self.service(&space, &stands_for) {
                components.insert(name, service);
            }
        }
        components
    }

    /// The namespace in which most of the names are known.
    fn home_of(&self, names: &[String]) -> String {
        let mut votes: BTreeMap<String, usize> = BTreeMap::new();
        for name in names {
            let space = self.index.namespace_of(name);
            let known = self.index.find(&space, name) != Match::Unknown;
            *votes.entry(space).or_default() += usize::from(known);
        }
        let most = votes.into_iter().rev().max_by_key(|(_, count)| *count);
        most.map_or_else(|| super::DEFAULT_NAMESPACE.to_owned(), |(space, _)| space)
    }

    /// Declared dependencies. What only watches the application gets no edges.
    pub(super) fn add_dependencies(&mut self, snapshot: &Snapshot, components: &Components) {
        let Some(architecture) = &snapshot.architecture else { return };
        for (source, target) in &architecture.dependencies {
            if architecture.observes(source) || architecture.observes(target) {
                continue;
            }
            let (from, to) = (components.get(source).cloned(), components.get(target).cloned());
            self.connect(from, relation::CALLS, to, TargetToSource);
        }
    }
}
