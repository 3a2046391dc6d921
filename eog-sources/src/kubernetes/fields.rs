//! Managed fields: who wrote which fields of an object last, and when.

use eog_evidence::{mask_named, mask_text, shorten};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::object::time;
use crate::piece::Millis;

/// Most fields of one manager that are kept.
const MAX_FIELDS: usize = 40;

/// Most managers of one object that are kept.
const MAX_MANAGERS: usize = 30;

/// Writers that do what others have asked for.
const CONTROLLERS: [&str; 6] = [
    "cloud-controller-manager",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "service-controller",
];

/// The last write of a manager.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Written {
    pub(super) by: String,
    pub(super) at: Millis,
    /// The fields that the writer owns, with their values now where they are plain.
    pub(super) fields: Vec<(String, Option<String>)>,
}

/// The last writes of managers that are not a part of the cluster itself. Status does not count.
pub(super) fn written(object: &Value) -> Vec<Written> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let one = |entry: &Value| {
        let by = entry.get("manager")?.as_str()?;
        let is_part =
            entry.get("subresource").and_then(Value::as_str).is_some_and(|it| !it.is_empty());
        if CONTROLLERS.contains(&by) || is_part {
            return None;
        }
        let mut fields = Vec::new();
        leaves(entry.get("fieldsV1")?, &mut String::new(), &mut fields);
        fields.retain(|field: &String| is_substance(field));
        let fields: Vec<_> = fields
            .into_iter()
            .map(|field| {
                let value = plain(object, &field);
                (shorten(&mask_text(&field), 300), value)
            })
            .collect();
        let at = time(entry.get("time"))?;
        (!fields.is_empty()).then(|| Written { by: shorten(by, 100), at, fields })
    };
    entries.into_iter().flatten().filter_map(one).take(MAX_MANAGERS).collect()
}

/// Whether writing a field changes what the object does.
fn is_substance(field: &str) -> bool {
    ["spec/", "data/", "binaryData/", "stringData/"].iter().any(|begin| field.starts_with(begin))
        || matches!(field, "spec" | "data" | "immutable")
}

/// The paths of a set of fields: `f:` is a field, `k:` an item by its keys; `.` is the thing itself.
fn leaves(fields: &Value, path: &mut String, found: &mut Vec<String>) {
    let inner = fields.as_object().map(|map| map.iter().filter(|(name, _)| *name != "."));
    let inner: Vec<_> = inner.into_iter().flatten().collect();
    if inner.is_empty() {
        if !path.is_empty() && found.len() < MAX_FIELDS {
            found.push(path.clone());
        }
        return;
    }
    let length = path.len();
    for (name, value) in inner {
        // What is not substance would take the room of what is.
        if found.len() >= MAX_FIELDS
            || (length == 0 && matches!(name.as_str(), "f:metadata" | "f:status"))
        {
            continue;
        }
        match name.split_once(':') {
            Some(("f", field)) => {
                if length > 0 {
                    path.push('/');
                }
                path.push_str(field);
            }
            Some(("k", keys)) => {
                let keys: Value = serde_json::from_str(keys).unwrap_or_default();
                let keys = keys.as_object().into_iter().flatten();
                let keys: Vec<String> = keys
                    .map(|(_, value)| {
                        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
                    })
                    .collect();
                path.push_str(&format!("[{}]", keys.join(",")));
            }
            _ => continue,
        }
        leaves(value, path, found);
        path.truncate(length);
    }
}

/// The value of a field now, if its path leads to it without a list and it is plain.
fn plain(object: &Value, field: &str) -> Option<String> {
    let mut at = object;
    for part in field.split('/') {
        at = at.get(part)?;
    }
    let text = match at {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => at.to_string(),
        _ => return None,
    };
    Some(shorten(&mask_named(field, &text), 200))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn writers_are_given_with_what_they_own() {
        let object = json!({
            "metadata": {"managedFields": [
                {"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-01T10:00:00Z",
                 "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                    "f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:image": {}}}}}}}},
                {"manager": "kube-controller-manager", "time": "2026-01-01T10:00:00Z",
                 "fieldsV1": {"f:spec": {"f:replicas": {}}}},
                {"manager": "scaler", "subresource": "scale", "time": "2026-01-01T10:00:00Z",
                 "fieldsV1": {"f:spec": {"f:replicas": {}}}},
                {"manager": "labels", "time": "2026-01-01T10:00:00Z", "fieldsV1": {"f:metadata": {"f:labels": {"f:b": {}}}}},
                {"manager": "broken", "time": "yesterday", "fieldsV1": {"f:spec": {"f:x": {}}}},
                7
            ]},
            "spec": {"replicas": 3}
        });
        let found = written(&object);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!(one.by, "kubectl-edit");
        assert_eq!(
            one.fields,
            [
                ("spec/replicas".to_owned(), Some("3".to_owned())),
                ("spec/template/spec/containers[web]/image".to_owned(), None)
            ]
        );
    }
}
