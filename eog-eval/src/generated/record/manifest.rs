//! What depends on what.

use eog::incident::EffectDirection;
use eog_evidence::{Manifest, ManifestEdge};

use crate::generated::system::{LinkKind, Role, System};

pub(super) fn of(system: &System) -> Manifest {
    let mut manifest = Manifest::new("an incident");
    manifest.topology.entities = system.parts.iter().map(|part| part.name.clone()).collect();
    let name = |at: usize| system.parts[at].name.clone();
    let edge = |source: usize, target: usize, relation: &str, effects| ManifestEdge {
        source: name(source),
        target: name(target),
        relation: relation.into(),
        effects,
    };
    let edges = system.links.iter().map(|link| {
        let roles = (system.parts[link.from].role, system.parts[link.to].role);
        let (relation, effects) = match roles {
            _ if link.kind == LinkKind::Then && roles.0 == Role::Scheduler => {
                ("starts", EffectDirection::SourceToTarget)
            }
            (Role::Step, _) if link.kind == LinkKind::Then => {
                ("feeds", EffectDirection::SourceToTarget)
            }
            _ if link.kind == LinkKind::DeadLetters => {
                ("rejects_into", EffectDirection::SourceToTarget)
            }
            // What is done to the application befalls its instances, and their state is its own.
            (Role::Group, _) => ("runs_as", EffectDirection::Both),
            (Role::Clients, _) => ("sends_load", EffectDirection::SourceToTarget),
            // Producers fill what workers do not empty.
            (Role::Worker, Role::Queue) => ("consumes", EffectDirection::Both),
            (_, Role::Queue) => ("sends_load", EffectDirection::Both),
            _ => ("calls", EffectDirection::TargetToSource),
        };
        edge(link.from, link.to, relation, effects)
    });
    let hosts = system.parts.iter().enumerate().filter_map(|(at, part)| {
        Some(edge(part.node?, at, "hosts", EffectDirection::SourceToTarget))
    });
    manifest.topology.edges = edges.chain(hosts).collect();
    manifest
}
