//! Texts and names that many parts share, each once.

use std::collections::HashMap;

use eog_core::{EntityId, EvidenceKind};
use eog_report::clean::clean_up_to;
use serde::Serialize;

/// Longest text, in characters.
pub(crate) const MAX_TEXT: usize = 600;

/// Texts by number; look-ups alone, the map is never iterated.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    all: Vec<String>,
    places: HashMap<String, u32>,
}

impl Texts {
    /// The number of a text, made harmless and cut.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let clean = clean_up_to(text, MAX_TEXT);
        let known = self.places.get(clean.as_str()).copied();
        let place = known.unwrap_or_else(|| u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        if known.is_none() {
            self.places.insert(clean.clone(), place);
            self.all.push(clean);
        }
        // Long texts are seldom the same, and a page is not to hold megabytes twice.
        if text.len() <= 4 * MAX_TEXT {
            self.places.insert(text.to_owned(), place);
        }
        place
    }

    pub(crate) fn name(&mut self, entity: &EntityId) -> u32 {
        self.number(entity.as_str())
    }

    pub(crate) fn names<'e>(&mut self, all: impl IntoIterator<Item = &'e EntityId>) -> Vec<u32> {
        all.into_iter().map(|entity| self.name(entity)).collect()
    }
}

impl Serialize for Texts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all.serialize(serializer)
    }
}

/// The name of a kind of evidence.
pub(crate) fn kind(kind: EvidenceKind) -> &'static str {
    match kind {
        EvidenceKind::Change => "change",
        EvidenceKind::Event => "event",
        EvidenceKind::Metric => "metric",
        EvidenceKind::Log => "log",
        EvidenceKind::Span => "trace",
        EvidenceKind::Alert => "alert",
        EvidenceKind::Note => "note",
    }
}
