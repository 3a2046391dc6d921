//! What a ground truth tells beyond what scoring needs: faults, words, alerts.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::error::{EvalError, entries, read_text};
use crate::itbench::{GroundTruth, parse_yaml};

/// A ground truth to simulate: what the scoring reads of it, and all the rest.
#[derive(Clone, Debug)]
pub struct SimulatedTruth {
    /// What the scoring reads.
    pub truth: GroundTruth,
    /// The scenario, by its id, else by its file.
    pub scenario: String,
    pub(super) given: Given,
    pub(super) value: Value,
}

impl SimulatedTruth {
    /// Reads one truth (YAML or JSON), a JSON list of truths, or a folder of scenarios with
    /// `ground_truth.yaml`.
    ///
    /// # Errors
    /// [`EvalError`] names the file, the place, and what is wrong.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, EvalError> {
        let mut truths = Vec::new();
        if path.is_dir() {
            for folder in entries(path)? {
                let file = folder.join("ground_truth.yaml");
                if file.is_file() {
                    truths.extend(Self::read_all(&file)?);
                }
            }
        } else {
            let value = parse_yaml(&read_text(path)?, path)?;
            let list = match value {
                Value::Array(list) => list,
                one => vec![one],
            };
            for (number, value) in list.into_iter().enumerate() {
                truths.push(Self::of(value, path, &format!("entry {}", number + 1))?);
            }
        }
        if truths.is_empty() {
            let expected = "a ground truth, a list of them, or folders with ground_truth.yaml";
            return Err(EvalError::Nothing { dir: path.to_owned(), expected });
        }
        Ok(truths)
    }

    fn of(value: Value, path: &Path, place: &str) -> Result<Self, EvalError> {
        let truth = GroundTruth::of(value.clone(), path, place)?;
        let spec = value.get("spec").filter(|spec| spec.is_object()).unwrap_or(&value);
        let given: Given = serde_json::from_value(spec.clone())
            .map_err(|error| EvalError::malformed(path, place, error))?;
        let folder = path.parent().and_then(Path::file_name);
        let scenario = match (&truth.id, folder) {
            (Some(id), _) => id.clone(),
            (None, Some(folder)) => folder.display().to_string(),
            (None, None) => place.to_owned(),
        };
        Ok(Self { truth, scenario, given, value })
    }
}

/// The parts of a truth that say what happened, all of them optional.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Given {
    #[serde(default)]
    pub(super) groups: Vec<GivenGroup>,
    #[serde(default)]
    pub(super) entities: Vec<GivenEntity>,
    #[serde(default)]
    pub(super) aliases: Vec<Vec<String>>,
    #[serde(default)]
    pub(super) propagations: Vec<GivenEdge>,
    #[serde(default)]
    pub(super) fault: Vec<Value>,
    #[serde(default)]
    pub(super) alerts: Vec<Value>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct GivenGroup {
    pub(super) id: String,
    pub(super) kind: String,
    #[serde(default)]
    pub(super) namespace: Option<String>,
    #[serde(default)]
    pub(super) filter: Vec<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) root_cause: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct GivenEntity {
    #[serde(default, rename = "apiVersion")]
    pub(super) api_version: Option<String>,
    pub(super) kind: String,
    pub(super) metadata: GivenMetadata,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct GivenMetadata {
    pub(super) name: String,
    #[serde(default)]
    pub(super) namespace: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct GivenEdge {
    pub(super) source: String,
    pub(super) target: String,
    #[serde(default)]
    pub(super) condition: String,
    #[serde(default)]
    pub(super) effect: String,
}

impl Given {
    /// Text of the faults, lowercase, without what a changed element contained.
    pub(super) fn fault_words(&self) -> String {
        let mut words = String::new();
        for fault in &self.fault {
            for field in ["category", "condition", "fault_mechanism", "mechanism"] {
                words.push_str(fault.get(field).and_then(Value::as_str).unwrap_or_default());
                words.push(' ');
            }
        }
        words.to_lowercase()
    }

    /// A changed element: its path, old text and new text.
    pub(super) fn changed(&self) -> Option<(String, String, String)> {
        self.fault.iter().find_map(|fault| {
            let changed = fault.get("changed").or_else(|| fault.pointer("/entity/changed"))?;
            let text = |field: &str| changed.get(field).map(text_of);
            Some((text("element")?, text("from")?, text("to")?))
        })
    }

    /// Alerts as pairs of name and group; the group may be missing.
    pub(super) fn alert_pairs(&self) -> Vec<(String, Option<String>)> {
        let named = self.alerts.iter().filter_map(|alert| {
            let text = |field: &str| alert.get(field).and_then(Value::as_str).map(str::to_owned);
            let name = text("id").or_else(|| alert.as_str().map(str::to_owned))?;
            Some((name, text("group_id")))
        });
        named.collect()
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
