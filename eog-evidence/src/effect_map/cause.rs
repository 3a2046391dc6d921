//! A qualifying change, and the notes on it.

use eog_core::evidence::{EvidenceTime, FindingContent, Signal};
use eog_core::incident::to_the_second;
use eog_core::{EntityId, Finding, Timestamp};

use super::roads::Road;
use crate::note::Note;
use crate::text::{arrows, change_in_words, shorten, span_between};

/// At most this many route notes, and as many impact notes, for one entity.
pub(super) const MAX_NOTES: usize = 3;

/// A change that precedes an anomaly it reaches.
#[derive(Clone, Debug)]
pub(super) struct Qualifying {
    pub(super) change: Finding,
    pub(super) at: Timestamp,
    pub(super) road: Road,
}

/// An anomaly that follows a change and is reached by it.
#[derive(Clone, Debug)]
pub(super) struct Impact {
    /// The change, by its place among the qualifying ones.
    pub(super) place: usize,
    pub(super) alert: String,
    pub(super) affected: EntityId,
    pub(super) onset: Timestamp,
    pub(super) path: Vec<EntityId>,
}

impl Qualifying {
    fn is_demand(&self) -> bool {
        self.change.signal == Signal::Demand
    }

    pub(super) fn route_note(&self, path: &[EntityId], before: &EntityId) -> Finding {
        let entity = path.last().unwrap_or(before).clone();
        let what = if self.is_demand() { "load" } else { "effects" };
        let excerpt = format!(
            "{} changed {} at {}; its {what} can reach here by {}",
            self.change.entity,
            self.in_words(),
            to_the_second(self.at),
            arrows(path)
        );
        let route = Note::Route { hop: before, is_demand: self.is_demand() };
        let content = self.note(&entity, route, self.at, excerpt);
        // A route begins with its change.
        Finding::new(FindingContent { onset: self.change.onset, ..content })
    }

    pub(super) fn impact_note(&self, impact: &Impact) -> Finding {
        let followed = Note::Impact { hop: impact.path.get(1), is_demand: self.is_demand() };
        let excerpt = format!(
            "alert {} on {} followed at {}, {} after the change; reached by {}",
            shorten(&impact.alert, 80),
            impact.affected,
            to_the_second(impact.onset),
            span_between(self.at, impact.onset),
            arrows(&impact.path)
        );
        Finding::new(self.note(&self.change.entity, followed, impact.onset, excerpt))
    }

    fn in_words(&self) -> String {
        let detail = self.change.change.as_ref();
        detail.map_or_else(|| shorten(&self.change.excerpt, 160), change_in_words)
    }

    fn note(
        &self,
        entity: &EntityId,
        note: Note<'_>,
        at: Timestamp,
        excerpt: String,
    ) -> FindingContent {
        FindingContent {
            query: format!("paths of change={} at entity={entity}", self.change.id()),
            change: self.change.change.clone(),
            source: "topology".into(),
            excerpt,
            ..note.content(entity, EvidenceTime::At(at))
        }
    }
}
