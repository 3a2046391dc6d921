//! Paths in the topology along which effects or demand travel.

use std::collections::{BTreeMap, VecDeque};

use eog_core::incident::{Direction, Neighbour};
use eog_core::{EntityId, Topology};

/// Longest path that is searched for, in edges.
pub const MAX_PATH_HOPS: usize = 10;

/// The relations on which demand travels from source to target: from a caller to its callee.
pub const DEMAND_RELATIONS: [&str; 2] = ["calls", "sends_load"];

/// The shortest path on which *effects* (failures, slowness) travel from a cause to an affected
/// entity, both inclusive; at most [`MAX_PATH_HOPS`] edges.
///
/// The first by name of several shortest paths is taken, so that equal input gives an
/// equal path. An entity reaches itself by a path of one.
///
/// ```
/// use eog_core::{EntityId, Topology};
/// use eog_core::incident::EffectDirection;
/// use eog_evidence::{demand_path, effect_path};
/// let (cart, db) = (EntityId::new("cart")?, EntityId::new("db")?);
/// let mut topology = Topology::default();
/// topology.connect(&cart, "calls", &db, EffectDirection::TargetToSource);
/// assert_eq!(effect_path(&topology, &db, &cart), Some(vec![db.clone(), cart.clone()]));
/// assert_eq!(effect_path(&topology, &cart, &db), None);
/// assert_eq!(demand_path(&topology, &cart, &db), Some(vec![cart, db]));
/// # Ok::<(), eog_core::InvalidId>(())
/// ```
pub fn effect_path(
    topology: &Topology,
    cause: &EntityId,
    affected: &EntityId,
) -> Option<Vec<EntityId>> {
    Reach::search(topology, cause, Travel::Effects, Some(affected)).path_to(affected)
}

/// The shortest path on which *demand* travels from a cause to an affected entity: along
/// [`DEMAND_RELATIONS`], from source to target. Otherwise as [`effect_path`].
pub fn demand_path(
    topology: &Topology,
    cause: &EntityId,
    affected: &EntityId,
) -> Option<Vec<EntityId>> {
    Reach::search(topology, cause, Travel::Demand, Some(affected)).path_to(affected)
}

/// What travels on an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Travel {
    Effects,
    Demand,
}

impl Travel {
    fn leads_to(self, neighbour: &Neighbour) -> bool {
        match self {
            Self::Effects => {
                matches!(neighbour.direction, Direction::Downstream | Direction::Both)
            }
            Self::Demand => {
                neighbour.outgoing && DEMAND_RELATIONS.contains(&neighbour.relation.as_str())
            }
        }
    }
}

/// Everything that one entity reaches, as a tree of shortest paths.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    start: EntityId,
    /// For each reached entity the one before it and the distance from the start.
    steps: BTreeMap<EntityId, (EntityId, usize)>,
}

impl Reach {
    /// Breadth first, neighbours by name, until `target` is found if there is one.
    fn search(
        topology: &Topology,
        start: &EntityId,
        travel: Travel,
        target: Option<&EntityId>,
    ) -> Self {
        let mut reach = Self { start: start.clone(), steps: BTreeMap::new() };
        let mut queue = VecDeque::from([(start.clone(), 0)]);
        while let Some((entity, hops)) = queue.pop_front() {
            if target == Some(&entity) || hops == MAX_PATH_HOPS {
                break;
            }
            for neighbour in topology.neighbours(&entity) {
                let next = &neighbour.entity;
                if !travel.leads_to(&neighbour) || reach.hops_to(next).is_some() {
                    continue;
                }
                reach.steps.insert(next.clone(), (entity.clone(), hops + 1));
                queue.push_back((next.clone(), hops + 1));
            }
        }
        reach
    }

    /// How many edges away an entity is.
    pub(crate) fn hops_to(&self, entity: &EntityId) -> Option<usize> {
        if *entity == self.start {
            return Some(0);
        }
        self.steps.get(entity).map(|(_, hops)| *hops)
    }

    /// The path from the start to an entity, both inclusive.
    pub(crate) fn path_to(&self, entity: &EntityId) -> Option<Vec<EntityId>> {
        self.hops_to(entity)?;
        let mut path = vec![entity.clone()];
        let mut at = entity;
        while let Some((before, _)) = self.steps.get(at) {
            path.push(before.clone());
            at = before;
        }
        path.reverse();
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eog_core::incident::EffectDirection::{self, Both, SourceToTarget, TargetToSource};

    fn id(name: &str) -> EntityId {
        EntityId::new(name).unwrap()
    }

    fn topology(edges: &[(&str, &str, &str, EffectDirection)]) -> Topology {
        let mut topology = Topology::default();
        for (source, relation, target, effects) in edges {
            topology.connect(&id(source), relation, &id(target), *effects);
        }
        topology
    }

    fn written(path: Option<Vec<EntityId>>) -> String {
        path.map_or_else(|| "none".into(), |path| crate::text::arrows(&path))
    }

    #[test]
    fn effects_and_demand_take_their_own_ways() {
        let shop = topology(&[
            ("web", "calls", "cart", TargetToSource),
            ("cart", "calls", "db", TargetToSource),
            ("web", "calls", "auth", TargetToSource),
            ("auth", "calls", "db", TargetToSource),
            ("host", "runs", "db", SourceToTarget),
            ("queue", "mirrors", "db", Both),
            ("db", "reads", "db", Both),
        ]);
        let cases = [
            ("db", "web", "db > auth > web", "none"),
            ("web", "db", "none", "web > auth > db"),
            ("host", "cart", "host > db > cart", "none"),
            ("queue", "db", "queue > db", "none"),
            ("db", "queue", "db > queue", "none"),
            ("web", "web", "web", "web"),
            ("nowhere", "web", "none", "none"),
            ("nowhere", "nowhere", "nowhere", "nowhere"),
        ];
        for (from, to, effects, demand) in cases {
            let (from, to) = (id(from), id(to));
            assert_eq!(written(effect_path(&shop, &from, &to)), effects, "{from} {to}");
            assert_eq!(written(demand_path(&shop, &from, &to)), demand, "{from} {to}");
        }
    }

    #[test]
    fn a_path_is_never_longer_than_the_limit() {
        let mut chain = Topology::default();
        for at in 0..=MAX_PATH_HOPS {
            let (from, to) = (id(&format!("e{at}")), id(&format!("e{}", at + 1)));
            chain.connect(&from, "feeds", &to, SourceToTarget);
        }
        let path = |to: usize| effect_path(&chain, &id("e0"), &id(&format!("e{to}")));
        assert_eq!(path(MAX_PATH_HOPS).map(|path| path.len()), Some(MAX_PATH_HOPS + 1));
        assert_eq!(path(MAX_PATH_HOPS + 1), None);
    }
}
