//! A qualifying change, and what is told of it.

use eog_core::evidence::{EvidenceTime, FindingContent, Peer, PeerRole, Signal, Trend};
use eog_core::incident::to_the_second;
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp};

use super::roads::Road;
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

    pub(super) fn route_note(&self, path: &[EntityId], before: EntityId) -> Finding {
        let entity = path.last().unwrap_or(&before).clone();
        let what = if self.is_demand() { "load" } else { "effects" };
        let excerpt = format!(
            "{} changed {} at {}; its {what} can reach here by {}",
            self.change.entity,
            self.in_words(),
            to_the_second(self.at),
            arrows(path)
        );
        let peer = Some(Peer { entity: before, role: PeerRole::NextUpstream });
        let content = self.note(entity, Signal::Route, self.at, peer, excerpt);
        // A route begins with its change.
        Finding::new(FindingContent { onset: self.change.onset, ..content })
    }

    pub(super) fn impact_note(&self, impact: &Impact) -> Finding {
        let entity = self.change.entity.clone();
        let next = impact.path.get(1).cloned();
        let peer = next.map(|entity| Peer { entity, role: PeerRole::NextDownstream });
        let excerpt = format!(
            "alert {} on {} followed at {}, {} after the change; reached by {}",
            shorten(&impact.alert, 80),
            impact.affected,
            to_the_second(impact.onset),
            span_between(self.at, impact.onset),
            arrows(&impact.path)
        );
        Finding::new(self.note(entity, Signal::Impact, impact.onset, peer, excerpt))
    }

    fn in_words(&self) -> String {
        let detail = self.change.change.as_ref();
        detail.map_or_else(|| shorten(&self.change.excerpt, 160), change_in_words)
    }

    fn note(
        &self,
        entity: EntityId,
        signal: Signal,
        at: Timestamp,
        peer: Option<Peer>,
        excerpt: String,
    ) -> FindingContent {
        let trend = if self.is_demand() { Trend::Rising } else { Trend::Steady };
        FindingContent {
            query: format!("paths of change={} at entity={entity}", self.change.id()),
            entity,
            kind: EvidenceKind::Note,
            signal,
            trend,
            time: EvidenceTime::At(at),
            quantity: None,
            change: self.change.change.clone(),
            peer,
            source: "topology".into(),
            excerpt,
            onset: None,
        }
    }
}
