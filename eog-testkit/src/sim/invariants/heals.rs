//! With the faults off and all entities evaluated anew, the frontier is the truth.

use std::collections::BTreeSet;

use eog::EntityId;

use super::{Checked, Finding};
use crate::sim::simulation::history::History;

/// The frontier holds every true origin that explains an alert, and no entity that is none. An
/// investigation that was led astray may have evaluated true origins that no alert leads to; they
/// belong to the frontier, too. Alerts that the cap on entities shut out at the start stay out.
pub(super) fn check(history: &History) -> Checked {
    let life = &history.healed;
    let Some((controller, stop)) = life.last() else { return Ok(()) };
    let truth = &history.plan.truth;
    let visited: BTreeSet<EntityId> =
        controller.beliefs().map(|(entity, _)| entity.clone()).collect();
    let mut expected: BTreeSet<EntityId> = truth.origins();
    expected.retain(|origin| visited.contains(origin));
    if history.plan.config.max_entities as usize >= truth.entities().len() {
        expected.extend(truth.linked_origins());
    }
    let groups = controller.conclusion().frontier;
    let found: BTreeSet<EntityId> = groups.into_iter().flat_map(|group| group.origins).collect();
    if found != expected {
        let expected = format!("the frontier {expected:?}");
        return Err(Finding::of(life, expected, format!("{found:?} after {stop:?}")));
    }
    Ok(())
}
