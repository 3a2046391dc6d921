//! Entities that the topology does not have, which are often misspelt.

use eog_core::{EntityId, Topology};

use crate::near::near_entities;
use crate::text::shorten;

/// What to say where something concerns an entity that the topology does not have. A bundle without
/// a topology declares none.
pub(super) fn hint(
    topology: &Topology,
    what: &str,
    name: &str,
    entity: &EntityId,
) -> Option<String> {
    if topology.contains(entity) || topology.entities().len() == 0 {
        return None;
    }
    let name = shorten(name, 80);
    let near = near_entities(topology, entity.as_str());
    let meant = match near.as_slice() {
        [] => "add it there, with its edges, so that what it reaches is known".to_owned(),
        names => format!("did you mean {}?", names.join(" or ")),
    };
    Some(format!("{what} {name} concerns {entity}, which is not in the topology; {meant}"))
}
