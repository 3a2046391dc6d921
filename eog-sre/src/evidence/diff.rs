//! What differs between two states of an object, leaf by leaf.

use std::collections::{BTreeMap, BTreeSet};

use eog_evidence::shorten;
use serde_json::{Map, Value};

use crate::unfold::UNFOLDED;

/// Longest value that is shown, in characters.
const MAX_VALUE: usize = 200;

/// Fields that distinguish the items of a list, best first.
pub(crate) const ITEM_KEYS: [&str; 5] = ["name", "type", "key", "mountPath", "containerPort"];

/// Metadata that changes with every write or by the cluster itself.
const METADATA_KEPT: [&str; 3] = ["annotations", "deletionTimestamp", "labels"];

/// Annotations that controllers keep for themselves.
const NOISE_ANNOTATIONS: [&str; 8] = [
    "deployment.kubernetes.io/",
    "control-plane.alpha.kubernetes.io/leader",
    "endpoints.kubernetes.io/last-change-trigger-time",
    "autoscaling.alpha.kubernetes.io/",
    "pv.kubernetes.io/",
    "batch.kubernetes.io/",
    "volumes.kubernetes.io/",
    "volume.",
];

/// One changed leaf of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Where it stands: `spec/containers[web]/image`.
    pub path: String,
    /// Its value before, if there was one.
    pub old: Option<String>,
    /// Its value after, if there is one.
    pub new: Option<String>,
}

/// Every leaf in which two states of an object differ, sorted by path. Status and bookkeeping metadata do
/// not count.
pub fn changed_leaves(old: &Value, new: &Value) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    let (old, new) = (substance(old), substance(new));
    compare(&Path::default(), Some(&old), Some(&new), &mut leaves);
    leaves.sort_by(|a, b| a.path.cmp(&b.path));
    leaves
}

/// The object without status and bookkeeping.
fn substance(object: &Value) -> Value {
    let Some(object) = object.as_object() else { return object.clone() };
    let mut kept = Map::new();
    for (field, value) in object {
        match field.as_str() {
            "status" | "apiVersion" | "kind" => {}
            "metadata" => {
                let mut metadata = Map::new();
                for name in METADATA_KEPT {
                    if let Some(value) = value.get(name) {
                        metadata.insert(name.to_owned(), value.clone());
                    }
                }
                if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
                    annotations
                        .retain(|key, _| !NOISE_ANNOTATIONS.iter().any(|n| key.starts_with(n)));
                }
                metadata.retain(|_, value| value.as_object().is_none_or(|map| !map.is_empty()));
                kept.insert(field.clone(), Value::Object(metadata));
            }
            _ => {
                kept.insert(field.clone(), value.clone());
            }
        }
    }
    Value::Object(kept)
}

/// Where a leaf stands: `spec/containers[web]/image`, `data/app.json#flags.x`.
#[derive(Clone, Default)]
struct Path {
    text: String,
    in_text: bool,
}

impl Path {
    fn field(&self, name: &str) -> Self {
        if name == UNFOLDED && !self.in_text {
            return Self { text: format!("{}#", self.text), in_text: true };
        }
        let separator = match (self.text.as_str(), self.in_text) {
            ("", _) => "",
            (text, true) if text.ends_with('#') => "",
            (_, true) => ".",
            (_, false) => "/",
        };
        Self { text: format!("{}{separator}{name}", self.text), in_text: self.in_text }
    }

    fn item(&self, key: &str) -> Self {
        Self { text: format!("{}[{key}]", self.text), in_text: self.in_text }
    }
}

fn compare(path: &Path, old: Option<&Value>, new: Option<&Value>, leaves: &mut Vec<Leaf>) {
    if old == new {
        return;
    }
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            for key in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
                compare(&path.field(key), old.get(key), new.get(key), leaves);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => compare_lists(path, old, new, leaves),
        _ => {
            let (mut before, mut after) = (old.map(shown), new.map(shown));
            if let (Some(Value::String(old)), Some(Value::String(new))) = (old, new)
                && (old.contains('\n') || new.contains('\n'))
            {
                let (old, new) = changed_lines(old, new);
                (before, after) = (Some(old), Some(new));
            }
            leaves.push(Leaf { path: shorten(&path.text, 300), old: before, new: after });
        }
    }
}

fn compare_lists(path: &Path, old: &[Value], new: &[Value], leaves: &mut Vec<Leaf>) {
    let keyed = ITEM_KEYS.iter().find_map(|key| Some((by_key(old, key)?, by_key(new, key)?)));
    if let Some((old, new)) = keyed {
        for key in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
            compare(&path.item(key), old.get(key).copied(), new.get(key).copied(), leaves);
        }
        return;
    }
    let structured = |list: &[Value]| list.iter().any(|item| item.is_object() || item.is_array());
    if structured(old) && structured(new) {
        for at in 0..old.len().max(new.len()) {
            compare(&path.item(&at.to_string()), old.get(at), new.get(at), leaves);
        }
        return;
    }
    let text = |list: &[Value]| shown(&Value::Array(list.to_vec()));
    leaves.push(Leaf {
        path: shorten(&path.text, 300),
        old: Some(text(old)),
        new: Some(text(new)),
    });
}

/// The items of a list by one of their fields, if all have it and no two are equal in it.
fn by_key<'a>(list: &'a [Value], key: &str) -> Option<BTreeMap<String, &'a Value>> {
    let mut map = BTreeMap::new();
    for item in list {
        let name = match item.get(key)? {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        if map.insert(name, item).is_some() {
            return None;
        }
    }
    Some(map)
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => shorten(text, MAX_VALUE),
        other => shorten(&other.to_string(), MAX_VALUE),
    }
}

/// The lines in which two texts differ, without what they share at both ends.
fn changed_lines(old: &str, new: &str) -> (String, String) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let ahead = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = |lines: &[&str]| lines.len() - ahead;
    let behind = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let behind = behind.min(rest(&old)).min(rest(&new));
    let middle = |lines: &[&str]| {
        let lines = lines.get(ahead..lines.len() - behind).unwrap_or_default();
        shorten(&lines.join("\n"), MAX_VALUE)
    };
    (middle(&old), middle(&new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unfold::unfold;
    use serde_json::json;

    fn written(old: &Value, new: &Value) -> Vec<String> {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
        let leaves = changed_leaves(old, new);
        leaves.iter().map(|l| format!("{}: {} > {}", l.path, text(&l.old), text(&l.new))).collect()
    }

    fn config(text: &str) -> Value {
        let mut value = json!(text);
        unfold(&mut value);
        json!({"data": {"app": value}})
    }

    #[test]
    fn only_changed_leaves_are_shown() {
        let spec = |image: &str, order: bool| {
            let mut env =
                vec![json!({"name": "A", "value": "1"}), json!({"name": "B", "value": "2"})];
            if order {
                env.reverse();
            }
            json!({"spec": {"containers": [{"name": "web", "image": image, "env": env}]}})
        };
        assert_eq!(written(&spec("a", false), &spec("a", true)), [""; 0]);
        assert_eq!(
            written(&spec("a:1", false), &spec("a:2", true)),
            ["spec/containers[web]/image: a:1 > a:2"]
        );
    }

    #[test]
    fn text_that_is_only_written_differently_has_not_changed() {
        let old = config("{\n  \"flags\": {\"x\": \"off\",\n \"y\": 1}\n}\n");
        assert_eq!(written(&old, &config("{\"flags\":{\"y\":1,\"x\":\"off\"}}")), [""; 0]);
        assert_eq!(
            written(&old, &config("{\"flags\":{\"y\":1,\"x\":\"on\"}}")),
            ["data/app#flags.x: off > on"]
        );
        assert_eq!(
            written(&config("a: 1\nb: 2\n"), &config("a: 1\nb: 3\nc: 4\n")),
            ["data/app#b: 2 > 3", "data/app#c: - > 4"]
        );
        assert_eq!(
            written(&config("first\nsame"), &config("other\nsame")),
            ["data/app: first > other"]
        );
    }

    #[test]
    fn bookkeeping_is_no_change() {
        let object = |version: &str, revision: &str| {
            json!({
                "metadata": {
                    "resourceVersion": version,
                    "generation": version,
                    "annotations": {"deployment.kubernetes.io/revision": revision},
                    "managedFields": [{"time": version}]
                },
                "status": {"replicas": version}
            })
        };
        assert_eq!(written(&object("1", "1"), &object("2", "2")), [""; 0]);
    }
}
