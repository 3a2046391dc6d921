//! The JSON files of a bundle as types.

use std::collections::BTreeMap;

use eog_core::evidence::{ChangeDetail, EvidenceTime, FindingContent, Signal};
use eog_core::incident::{Edge, EffectDirection, Onset};
use eog_core::{Digest, EntityId, EvidenceKind, Finding, Timestamp, Topology, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sibling::SiblingName;
use crate::intervals::Intervals;
use crate::mask::{MASK, is_secret_field, mask_named, mask_text, masked_entity};
use crate::text::{change_in_words, shorten, shorten_change};

/// What the field `format` of a manifest says.
pub const BUNDLE_FORMAT: &str = "eog-bundle";

/// The version of the format that this program reads and writes.
pub const BUNDLE_VERSION: u32 = 1;

/// Longest kept path of a change, in characters.
const MAX_PATH: usize = 240;

/// Longest kept description of a change, in characters: a commit message, or a diff.
const MAX_DESCRIPTION: usize = 2_000;

/// Longest kept value of a change, in characters.
const MAX_VALUE: usize = 4_000;

/// The manifest of a bundle: the file `bundle.json`.
///
/// ```
/// use eog_evidence::Manifest;
/// let manifest: Manifest = serde_json::from_str(
///     r#"{"format": "eog-bundle", "version": 1, "name": "flash sale",
///         "topology": {"entities": ["cart"], "edges": []}}"#,
/// )?;
/// assert_eq!(manifest.name, "flash sale");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Always `eog-bundle`.
    pub format: String,
    /// The version of the format: 1.
    pub version: u32,
    /// What the incident is called.
    pub name: String,
    /// The window to investigate. Without it, it is chosen from the alerts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// A period known to be normal, or several, such as other runs. Without it, what lies before the
    /// incident is the baseline.
    #[serde(default, skip_serializing_if = "Intervals::is_empty")]
    pub baseline: Intervals,
    /// Other bundles beside this one whose telemetry is normal, each as `../NAME`. What they call
    /// their baseline, else all of it, is added to the baseline of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline_from: Vec<SiblingName>,
    /// The time over which every change was recorded, harmless ones too. It shows how rare changes
    /// are. Without it, the extent of the telemetry and the window stands for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes_recorded: Option<Window>,
    /// Names of alerts that are noise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore_alerts: Vec<String>,
    /// The declared dependency graph.
    #[serde(default)]
    pub topology: ManifestTopology,
    /// BLAKE3 digests of the other files, by their names, as they were written. A file that is another now, or gone,
    /// is refused. To change one on purpose, remove its entry.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checksums: BTreeMap<String, Digest>,
}

impl Manifest {
    /// A manifest with a name alone.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            format: BUNDLE_FORMAT.into(),
            version: BUNDLE_VERSION,
            name: name.into(),
            window: None,
            baseline: Intervals::NONE,
            baseline_from: Vec::new(),
            changes_recorded: None,
            ignore_alerts: Vec::new(),
            topology: ManifestTopology::default(),
            checksums: BTreeMap::new(),
        }
    }
}

/// The dependency graph as a manifest gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManifestTopology {
    /// Entities, also those without edges. The ends of edges need not be repeated here.
    #[serde(default)]
    pub entities: Vec<EntityId>,
    /// Edges.
    #[serde(default)]
    pub edges: Vec<ManifestEdge>,
}

/// An edge as a manifest gives it: `source` *relation* `target`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManifestEdge {
    /// Where the relation starts.
    pub source: EntityId,
    /// Where it ends.
    pub target: EntityId,
    /// The relation, such as `calls`. Demand travels on `calls` and `sends_load`.
    pub relation: String,
    /// Which way effects (failures, slowness) travel.
    pub effects: EffectDirection,
}

impl ManifestTopology {
    /// The graph that the manifest declares.
    pub fn to_topology(&self) -> Topology {
        let mut topology = Topology::default();
        for entity in &self.entities {
            topology.add_entity(entity.clone());
        }
        for edge in &self.edges {
            topology.add_edge(Edge {
                source: edge.source.clone(),
                target: edge.target.clone(),
                relation: edge.relation.clone(),
                effects: edge.effects,
            });
        }
        topology
    }
}

/// One entry of the file `changes.json`: something was changed on an entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeRecord {
    /// When it was changed.
    pub time: Timestamp,
    /// The entity that was changed.
    pub entity: EntityId,
    /// What kind of change it is: `configuration` unless it says otherwise; `demand` for load
    /// from outside, `restart` when nothing else changed, `experiment` for a defined fault
    /// experiment.
    #[serde(default = "configuration")]
    pub signal: Signal,
    /// The changed field, as a path within the entity.
    pub path: String,
    /// The value before, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The value after, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// What it is about, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

fn configuration() -> Signal {
    Signal::Configuration
}

impl ChangeRecord {
    /// The change without its secrets: values of fields whose path names one, and what looks like one in
    /// any text. A description may quote what the path makes a secret.
    pub(super) fn masked(&self) -> Self {
        let value =
            |value: &Option<String>| value.as_ref().map(|text| mask_named(&self.path, text));
        let mut description = mask_text(&self.description);
        for secret in [&self.old, &self.new].into_iter().flatten() {
            if !secret.is_empty() && is_secret_field(&self.path, secret) {
                description = description.replace(secret.as_str(), MASK);
            }
        }
        Self {
            time: self.time,
            entity: masked_entity(&self.entity),
            signal: self.signal,
            path: mask_text(&self.path),
            old: value(&self.old),
            new: value(&self.new),
            description,
        }
    }

    /// The change as a finding, without its secrets.
    pub fn to_finding(&self) -> Finding {
        let Self { time, entity, signal, path, old, new, description } = self.masked();
        let value = |value: Option<String>| value.map(|text| shorten_change(&text, MAX_VALUE));
        let path = shorten(&path, MAX_PATH);
        let detail = ChangeDetail { path, old: value(old), new: value(new) };
        let words = change_in_words(&detail);
        let excerpt = match shorten_change(&description, MAX_DESCRIPTION) {
            none if none.is_empty() => words,
            description => format!("{description} ({words})"),
        };
        Finding::new(FindingContent {
            query: format!("entity={entity} path={} time={time}", detail.path),
            change: Some(detail),
            source: "changes.json".into(),
            excerpt,
            onset: Some(Onset::at(time)),
            ..FindingContent::new(entity, EvidenceKind::Change, signal, EvidenceTime::At(time))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        let change = |path: &str| ChangeRecord {
            time: Timestamp::UNIX_EPOCH,
            entity: EntityId::new("cart").unwrap(),
            signal: Signal::Configuration,
            path: path.into(),
            old: None,
            new: Some("hunter2".into()),
            description: String::new(),
        };
        for (path, shown) in [("env.DB_PASSWORD", false), ("env.DB_HOST", true)] {
            let finding = change(path).to_finding();
            let text = format!("{:?}", finding.content());
            assert_eq!(text.contains("hunter2"), shown, "{path}");
        }
    }
}
