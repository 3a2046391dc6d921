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
            let reason = format!("there is no entity {text:?}");
            Err(ToolError::argument("entity", reason, near(text, names, "entities")))
        }
        several => {
            let several = listed(several.iter().map(|entity| entity.as_str()));
            let reason = format!("{text:?} is ambiguous: {several}");
            Err(ToolError::argument("entity", reason, "give one of these names in full"))
        }
    }
}

/// The entities that an argument chooses; all of them without one.
pub(crate) struct Chosen(Option<Pattern>);

impl Chosen {
    /// One entity as in [`one`], or all that fit a pattern with `*`.
    ///
    /// # Errors
    /// As for [`one`]; a pattern that fits nothing chooses nothing.
    pub(crate) fn new<'e>(
        known: impl FnOnce() -> BTreeSet<&'e EntityId>,
        text: Option<&str>,
    ) -> Result<Self, ToolError> {
        let Some(text) = text else { return Ok(Self(None)) };
        let pattern = match text.contains(['*', '?']) {
            true => text.trim(),
            false => one(&known(), text)?.as_str(),
        };
        let pattern = Pattern::new(pattern);
        Ok(Self(Some(pattern.map_err(|reason| ToolError::argument("entity", reason, ""))?)))
    }

    pub(crate) fn fits(&self, entity: &EntityId) -> bool {
        self.0.as_ref().is_none_or(|pattern| pattern.fits(entity.as_str()))
    }

    /// Whether a record is chosen that is about an entity, or about none.
    pub(crate) fn has(&self, entity: Option<&EntityId>) -> bool {
        entity.map_or(self.0.is_none(), |entity| self.fits(entity))
    }
}
