//! Entities as arguments: by full name, by bare name, or by pattern.

use std::collections::BTreeSet;

use eog_core::EntityId;

use super::ToolError;
use super::query::{Pattern, listed, near};
use crate::graph::OperationalGraph;
use crate::snapshot::Snapshot;

/// Every entity that the snapshot speaks of.
pub(crate) fn known<'s>(
    snapshot: &'s Snapshot,
    graph: &'s OperationalGraph,
) -> BTreeSet<&'s EntityId> {
    let events = snapshot.events.iter().map(|event| &event.entity);
    graph.topology().entities().chain(snapshot.objects.histories.keys()).chain(events).collect()
}

/// The entity that an argument names: `namespace/Kind/name`, or an end of it that only one
/// entity has.
///
/// # Errors
/// [`ToolError::Argument`] with near names when there is none, or with all when there are several.
pub(crate) fn one<'s>(
    known: &BTreeSet<&'s EntityId>,
    argument: &str,
    text: &str,
) -> Result<&'s EntityId, ToolError> {
    let text = text.trim();
    if let Some(exact) = known.iter().find(|entity| entity.as_str() == text) {
        return Ok(exact);
    }
    let ends = |entity: &&&'s EntityId| {
        let rest = entity.as_str().strip_suffix(text);
        !text.is_empty() && rest.is_some_and(|rest| rest.ends_with('/'))
    };
    let found: Vec<&EntityId> = known.iter().filter(ends).copied().collect();
    let names = known.iter().map(|entity| entity.as_str());
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let reason = format!("the snapshot knows no entity {text:?}");
            Err(ToolError::argument(argument, reason, near(text, names, "entities")))
        }
        several => {
            let several = listed(several.iter().map(|entity| entity.as_str()));
            let reason = format!("{text:?} may be any of {several}");
            Err(ToolError::argument(argument, reason, "give one of them in full"))
        }
    }
}

/// The entities that an argument chooses: one as in [`one`], or all that fit a pattern with `*`.
///
/// # Errors
/// As for [`one`]; a pattern that fits nothing chooses nothing.
pub(crate) fn chosen(
    known: &BTreeSet<&EntityId>,
    argument: &str,
    text: &str,
) -> Result<Pattern, ToolError> {
    let pattern = match text.contains(['*', '?']) {
        true => text.trim(),
        false => one(known, argument, text)?.as_str(),
    };
    Pattern::new(pattern).map_err(|reason| ToolError::argument(argument, reason, ""))
}
