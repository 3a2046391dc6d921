//! JSON Schemas of the bundle's JSON files.

use eog_core::{Anomaly, json_schema};
use serde_json::Value;

use super::manifest::{ChangeRecord, Manifest};

/// The JSON Schemas of `bundle.json`, `alerts.json` and `changes.json`, each with the name of the
/// file under which it is published in `docs/schema/`.
///
/// ```
/// let names: Vec<&str> = eog_evidence::bundle_schemas().iter().map(|(name, _)| *name).collect();
/// assert_eq!(names[0], "bundle-manifest.schema.json");
/// ```
pub fn bundle_schemas() -> [(&'static str, Value); 3] {
    [
        ("bundle-manifest.schema.json", json_schema::<Manifest>()),
        ("bundle-alerts.schema.json", json_schema::<Vec<Anomaly>>()),
        ("bundle-changes.schema.json", json_schema::<Vec<ChangeRecord>>()),
    ]
}
