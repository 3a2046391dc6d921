//! JSON Schemas of the bundle's JSON files.

use eog_core::Anomaly;
use schemars::{Schema, schema_for};

use super::manifest::{ChangeRecord, Manifest};

/// The JSON Schemas of `bundle.json`, `alerts.json` and `changes.json`, each with the name of the
/// file under which it is published in `docs/schema/`.
///
/// ```
/// let names: Vec<&str> = eog_evidence::bundle_schemas().iter().map(|(name, _)| *name).collect();
/// assert_eq!(names[0], "bundle-manifest.schema.json");
/// ```
pub fn bundle_schemas() -> [(&'static str, Schema); 3] {
    [
        ("bundle-manifest.schema.json", schema_for!(Manifest)),
        ("bundle-alerts.schema.json", schema_for!(Vec<Anomaly>)),
        ("bundle-changes.schema.json", schema_for!(Vec<ChangeRecord>)),
    ]
}
