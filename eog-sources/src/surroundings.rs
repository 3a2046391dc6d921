//! What is known of a system between captures: which entity an alert is about, and what is near it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use eog_core::EntityId;
use eog_evidence::{MAX_JSON_BYTES, Manifest, ManifestTopology};

use crate::alertmanager::{SentAlert, sent};
use crate::bundle::id;
use crate::config::SourceConfig;
use crate::period::Period;
use crate::piece::{Piece, Place};
use crate::place::{Known, place};

/// An entity with more neighbours than this has something to do with everything: what is beyond it is not near.
const MAX_NEIGHBOURS: usize = 20;

/// A topology with the names that alerts may use for its entities.
pub struct Surroundings {
    known: Known,
    labels: Vec<String>,
    neighbours: BTreeMap<EntityId, BTreeSet<EntityId>>,
}

impl Surroundings {
    /// The topology that a configuration declares, with that of a capture in a folder, if there is one to be read.
    pub fn of(config: &SourceConfig, capture: Option<&Path>) -> Self {
        let mut topology = config.topology.clone();
        if let Some(captured) = capture.and_then(topology_of) {
            topology.entities.extend(captured.entities);
            topology.edges.extend(captured.edges);
        }
        let mut neighbours: BTreeMap<EntityId, BTreeSet<EntityId>> = BTreeMap::new();
        for edge in &topology.edges {
            for (one, other) in [(&edge.source, &edge.target), (&edge.target, &edge.source)] {
                neighbours.entry(one.clone()).or_default().insert(other.clone());
            }
        }
        let known = Known::of(&Piece::default(), &topology);
        Self { known, labels: config.service_labels(), neighbours }
    }

    /// Whether nothing is near anything.
    pub fn is_empty(&self) -> bool {
        self.neighbours.is_empty()
    }

    /// What an alert is about, if that is known.
    pub fn entity(&self, alert: &SentAlert) -> Option<EntityId> {
        let mut piece = Piece::default();
        sent(std::slice::from_ref(alert), Period { from: 0, until: i64::MAX }, &mut piece);
        match place(piece.alerts.first()?, &self.labels, &self.known) {
            Place::Known(who) => id(&who),
            Place::Unknown(..) | Place::Nothing => None,
        }
    }

    /// An entity with all that can be reached from it over at most so many edges, in any direction. What has more than 20
    /// neighbours is reached, and not passed through.
    pub fn around(&self, entity: &EntityId, hops: u32) -> BTreeSet<EntityId> {
        let mut reached = BTreeSet::from([entity.clone()]);
        let mut ring = vec![entity];
        for _ in 0..hops {
            let mut next = Vec::new();
            for one in ring {
                let neighbours = self.neighbours.get(one);
                let is_hub = neighbours.is_some_and(|all| all.len() > MAX_NEIGHBOURS);
                for other in neighbours.into_iter().flatten().filter(|_| !is_hub || one == entity) {
                    if reached.insert(other.clone()) {
                        next.push(other);
                    }
                }
            }
            ring = next;
        }
        reached
    }
}

/// The topology of a capture.
fn topology_of(folder: &Path) -> Option<ManifestTopology> {
    let file = folder.join("bundle.json");
    let size = file.metadata().ok()?.len();
    let text = (size <= MAX_JSON_BYTES).then(|| std::fs::read(&file).ok())??;
    let manifest: Manifest = serde_json::from_slice(&text).ok()?;
    Some(manifest.topology)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_a_hub_is_not_near() {
        let mut text = "[otlp]\nfiles = ['a']\n[topology]\nedges = [\n".to_owned();
        let mut edge = |source: &str, target: &str| {
            text.push_str(&format!(
                "{{ source = '{source}', target = '{target}', relation = 'calls', effects = 'both' }},\n"
            ));
        };
        edge("web", "cart");
        edge("cart", "db");
        edge("db", "disk");
        edge("web", "dns");
        (0..20).for_each(|number| edge(&format!("svc-{number}"), "dns"));
        text.push_str("]\n");
        let config = SourceConfig::parse(&text, "source.toml".as_ref()).unwrap();
        let surroundings = Surroundings::of(&config, None);
        let around = |name: &str, hops| {
            let all = surroundings.around(&EntityId::new(name).unwrap(), hops);
            all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(around("web", 0), "web");
        assert_eq!(around("web", 1), "cart dns web");
        assert_eq!(around("web", 2), "cart db dns web");
        assert_eq!(around("svc-0", 2), "dns svc-0");
        assert_eq!(around("dns", 1).split(' ').count(), 22);
        assert_eq!(around("stranger", 2), "stranger");
    }
}
