//! Entities that the topology does not have, which are often misspelt.

use eog_core::{Anomaly, EntityId, Topology};

use super::intake::Intake;
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

/// What is said where no alert is on anything that is known.
pub const NO_PLACE_TO_START: &str = "no place to start from: none of the alerts is on anything that the topology or the \
    telemetry knows, so what is behind them cannot be found; correct what they name";

/// That no alert is on anything that is known, neither by the topology nor by telemetry: then there is no place to start from,
/// and what an investigation says of them rests on nothing.
pub(super) fn no_place(topology: &Topology, alerts: &[Anomaly], intake: &Intake) -> Option<String> {
    let is_known = |entity: &EntityId| topology.contains(entity) || intake.has(entity);
    let has_place = alerts.iter().any(|alert| is_known(&alert.entity));
    if alerts.is_empty() || has_place || topology.entities().len() == 0 {
        return None;
    }
    Some(NO_PLACE_TO_START.to_owned())
}
