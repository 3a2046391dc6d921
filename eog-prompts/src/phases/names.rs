//! The names by which an answer may speak of entities.

use std::collections::BTreeMap;

use eog_core::EntityId;
use eog_evidence::mask_text;

/// Every entity that may be named, by the name that the prompt shows. Nothing where two entities are shown
/// alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(BTreeMap<String, Option<EntityId>>);

impl Names {
    /// Lets an entity be named, by its name without secrets.
    pub(crate) fn add(&mut self, entity: &EntityId) {
        let shown = mask_text(entity.as_str());
        let named = self.0.entry(shown).or_insert_with(|| Some(entity.clone()));
        if named.as_ref() != Some(entity) {
            *named = None;
        }
    }

    /// Whether an entity is shown by this name, or several are.
    pub(crate) fn is_shown(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The entity of a name.
    ///
    /// # Errors
    /// What is wrong with the name, and which there are.
    pub(crate) fn resolve(&self, name: &str) -> Result<&EntityId, String> {
        match self.0.get(name) {
            Some(Some(entity)) => Ok(entity),
            Some(None) => Err(format!("entity {name:?} is not clear: two are shown by that name")),
            None => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        const MAX_LISTED: usize = 20;
        let listed: Vec<&str> = self.0.keys().take(MAX_LISTED).map(String::as_str).collect();
        let more = self.0.len().saturating_sub(MAX_LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let likeness = |known: &str| strsim::normalized_damerau_levenshtein(known, name);
        let nearest = self
            .0
            .keys()
            .map(|known| (known, likeness(known)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(known, likeness)| *likeness > 0.5 || known.ends_with(name));
        let nearest = nearest.map_or(String::new(), |(known, _)| format!("; nearest: {known}"));
        let name: String = name.chars().take(100).collect();
        format!("unknown entity {name:?}{nearest}; known: {}{more}", listed.join(", "))
    }
}
