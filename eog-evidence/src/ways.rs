//! The topology by numbers: searches over it compare and copy no names.

use std::collections::HashMap;

use eog_core::incident::EffectDirection;
use eog_core::{Anomaly, EntityId, Finding, Topology};

use crate::paths::{DEMAND_RELATIONS, Travel};
use crate::steps::took;

/// An entity, by its place among all names in order: the smaller number is the earlier name.
pub(crate) type Number = u32;

/// Where effects and demand travel.
#[derive(Debug)]
pub(crate) struct Ways {
    names: Vec<EntityId>,
    effects: Lanes,
    demand: Lanes,
}

/// The edges on which one thing travels.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// Where it goes from each entity.
    pub(crate) onward: Lists,
    /// Where it comes from to each entity.
    pub(crate) back: Lists,
}

impl Ways {
    /// Numbers the entities of a topology, and those that were changed or have an anomaly.
    pub(crate) fn of(topology: &Topology, changes: &[Finding], anomalies: &[Anomaly]) -> Self {
        let changed = changes.iter().map(|change| &change.entity);
        Self::new(topology, changed.chain(anomalies.iter().map(|anomaly| &anomaly.entity)))
    }

    /// Numbers the entities of a topology, and others that it may lack: nothing leads to or from
    /// those.
    pub(crate) fn new<'a>(
        topology: &'a Topology,
        others: impl Iterator<Item = &'a EntityId>,
    ) -> Self {
        let mut names: Vec<EntityId> = topology.entities().cloned().collect();
        names.extend(others.filter(|other| !topology.contains(other)).cloned());
        names.sort_unstable();
        names.dedup();
        // Look-ups alone: its order shows nowhere.
        let numbers: HashMap<&EntityId, Number> = names.iter().zip(0..).collect();
        let (mut effects, mut demand) = (Vec::new(), Vec::new());
        for edge in topology.edges().filter(|edge| edge.source != edge.target) {
            let (Some(source), Some(target)) =
                (numbers.get(&edge.source).copied(), numbers.get(&edge.target).copied())
            else {
                continue;
            };
            if edge.effects != EffectDirection::TargetToSource {
                effects.push((source, target));
            }
            if edge.effects != EffectDirection::SourceToTarget {
                effects.push((target, source));
            }
            if DEMAND_RELATIONS.contains(&edge.relation.as_str()) {
                demand.push((source, target));
            }
        }
        let count = names.len();
        let (effects, demand) = (Lanes::new(count, effects), Lanes::new(count, demand));
        Self { names, effects, demand }
    }

    /// All names, by number.
    pub(crate) fn names(&self) -> &[EntityId] {
        &self.names
    }

    pub(crate) fn name(&self, number: Number) -> Option<&EntityId> {
        self.names.get(number as usize)
    }

    pub(crate) fn number(&self, name: &EntityId) -> Option<Number> {
        Number::try_from(self.names.binary_search(name).ok()?).ok()
    }

    /// The names on a path.
    pub(crate) fn named(&self, path: &[Number]) -> Vec<EntityId> {
        path.iter().filter_map(|number| self.name(*number)).cloned().collect()
    }

    /// Whether demand travels anywhere.
    pub(crate) fn has_demand(&self) -> bool {
        !self.demand.onward.listed.is_empty()
    }

    pub(crate) fn lanes(&self, travel: Travel) -> &Lanes {
        match travel {
            Travel::Effects => &self.effects,
            Travel::Demand => &self.demand,
        }
    }
}

impl Lanes {
    fn new(count: usize, mut pairs: Vec<(Number, Number)>) -> Self {
        let onward = Lists::new(count, &mut pairs);
        for (from, to) in &mut pairs {
            std::mem::swap(from, to);
        }
        Self { onward, back: Lists::new(count, &mut pairs) }
    }
}

/// For each entity a list of entities in order, all in one piece of memory.
#[derive(Debug)]
pub(crate) struct Lists {
    /// Where the list of each entity ends; it starts where the one before ends.
    ends: Vec<usize>,
    listed: Vec<Number>,
}

impl Lists {
    fn new(count: usize, pairs: &mut Vec<(Number, Number)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        let mut ends = vec![0; count];
        for (end, (of, _)) in pairs.iter().enumerate() {
            if let Some(slot) = ends.get_mut(*of as usize) {
                *slot = end + 1;
            }
        }
        let mut before = 0;
        for end in &mut ends {
            before = before.max(*end);
            *end = before;
        }
        Self { ends, listed: pairs.iter().map(|(_, listed)| *listed).collect() }
    }

    /// Of how many entities there are lists.
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    /// The list of an entity, smallest number first.
    pub(crate) fn of(&self, entity: Number) -> impl Iterator<Item = Number> {
        took(1);
        self.slice(entity).iter().copied().inspect(|_| took(1))
    }

    fn slice(&self, entity: Number) -> &[Number] {
        let at = entity as usize;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(at).copied().unwrap_or(0);
        self.listed.get(start.unwrap_or(0)..end).unwrap_or_default()
    }

    /// Whether the list of an entity holds another.
    pub(crate) fn has(&self, entity: Number, listed: Number) -> bool {
        took(1);
        self.slice(entity).binary_search(&listed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eog_core::incident::EffectDirection::{Both, SourceToTarget, TargetToSource};

    #[test]
    fn each_kind_of_edge_leads_where_it_should() {
        let id = |name: &str| EntityId::new(name).unwrap();
        let mut topology = Topology::default();
        for (source, relation, target, effects) in [
            ("c", "calls", "a", TargetToSource),
            ("c", "mounts", "b", TargetToSource),
            ("c", "calls", "b", TargetToSource),
            ("d", "runs", "c", SourceToTarget),
            ("d", "sends_load", "e", Both),
            ("d", "calls", "d", Both),
        ] {
            topology.connect(&id(source), relation, &id(target), effects);
        }
        let alone = id("aa");
        let ways = Ways::new(&topology, [&alone, &id("c"), &alone].into_iter());
        let names: Vec<&str> = ways.names().iter().map(EntityId::as_str).collect();
        assert_eq!(names, ["a", "aa", "b", "c", "d", "e"]);
        let lists = |lists: &Lists| {
            let all = (0..ways.names().len() as Number).map(|of| {
                let listed: Vec<Number> = lists.of(of).collect();
                let listed = ways.named(&listed);
                listed.iter().map(EntityId::as_str).collect::<String>()
            });
            all.collect::<Vec<String>>()
        };
        let (effects, demand) = (ways.lanes(Travel::Effects), ways.lanes(Travel::Demand));
        assert_eq!(lists(&effects.onward), ["c", "", "c", "", "ce", "d"]);
        assert_eq!(lists(&effects.back), ["", "", "", "abd", "e", "d"]);
        assert_eq!(lists(&demand.onward), ["", "", "", "ab", "e", ""]);
        assert_eq!(lists(&demand.back), ["c", "", "c", "", "", "d"]);
        assert_eq!(ways.number(&alone), Some(1));
        assert_eq!(ways.number(&id("nowhere")), None);
    }
}
