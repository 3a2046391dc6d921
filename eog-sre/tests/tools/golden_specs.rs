//! The reference's objects and changes of objects. The part holds every dump of four objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::golden::{open, reference};
use crate::rows;

/// Where ours differs from the reference's object on purpose is taken out of the reference's:
/// bookkeeping, and text that is JSON.
fn as_kept(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let metadata = spec["metadata"].as_object_mut().unwrap();
    metadata.remove("resourceVersion");
    if let Some(Value::Array(managers)) = metadata.get_mut("managedFields") {
        for manager in managers {
            manager.as_object_mut().unwrap().remove("fieldsV1");
        }
    }
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    if let Some(Value::Object(data)) = spec.get_mut("data") {
        for text in data.values_mut() {
            let structure = serde_json::from_str(text.as_str().unwrap());
            *text = structure.unwrap_or_else(|_| text.clone());
        }
    }
    spec
}

/// Panics at the first place where two values differ, unless ours is masked there.
fn same(ours: &Value, theirs: &Value, place: &str) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(keys(a), keys(b), "{place}");
            for (key, value) in a {
                same(value, &b[key], &format!("{place}/{key}"));
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                same(a, b, &format!("{place}/{at}"));
            }
        }
        (Value::String(text), _) if text.contains("[masked") => {}
        _ => assert_eq!(ours, theirs, "{place}"),
    }
}

/// Sorted, whatever order serde_json is built to keep.
fn keys(map: &Map<String, Value>) -> std::collections::BTreeSet<&String> {
    map.keys().collect()
}

#[test]
fn every_object_of_the_reference_is_a_state_of_ours() {
    let Some(tools) = open() else { return };
    for name in ["12", "13", "18", "20", "40", "52"] {
        let theirs = reference(&format!("{name}_get_k8_spec"));
        let entity = theirs["k8_object_name"].as_str().unwrap();
        let arguments = json!({"entity": entity, "all_observations": true});
        let ours = tools.call("get_k8_spec", arguments).unwrap();
        let states = ours["observations"]["rows"].as_array().unwrap();
        assert_eq!(ours["observations"]["total"], ours["states"]);
        let time = |text: &Value| text.as_str().unwrap().replace(' ', "T").replace("+00:00", "Z");
        assert_eq!(ours["first_seen"], time(&theirs["first_timestamp"]), "{entity}");
        assert_eq!(ours["last_seen"], time(&theirs["last_timestamp"]), "{entity}");
        for observation in theirs["observations"].as_array().unwrap() {
            let at = time(&observation["timestamp"]);
            let shows = |state: &&Value| {
                state["first_seen"].as_str() <= Some(&at)
                    && Some(&*at) <= state["last_seen"].as_str()
            };
            let state = states.iter().find(shows).unwrap_or_else(|| panic!("{entity} at {at}"));
            same(&state["spec"], &as_kept(&observation["spec"]), &format!("{entity} at {at}"));
        }
    }
}

/// Changes of the spec in a reference's output, by entity: path, old and new.
fn spec_changes(theirs: &Value) -> BTreeMap<String, Vec<Value>> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for entity in theirs["entities_with_changes"].as_array().unwrap() {
        let changes = entity["changes"].as_array().into_iter().flatten();
        let items = changes.flat_map(|change| change["changes"].as_array().unwrap());
        // A new resource version says that something was written, not what.
        let items = items.filter(|item| item["path"] != "metadata.resourceVersion");
        let name = entity["entity"].as_str().unwrap().to_owned();
        found.entry(name).or_default().extend(items.cloned());
    }
    found
}

#[test]
fn changes_agree_and_are_given_leaf_by_leaf() {
    let Some(tools) = open() else { return };
    let part = [
        "ConfigMap/flagd-config",
        "Deployment/cart",
        "Deployment/fraud-detection",
        "Deployment/flagd",
    ];
    for name in ["11", "19", "27", "53", "54"] {
        let theirs = spec_changes(&reference(&format!("{name}_k8s_spec_change_analysis")));
        for object in part {
            let entity = format!("otel-demo/{object}");
            let Some(items) = theirs.get(&entity) else { continue };
            let columns = ["path", "type", "new"];
            let ours =
                rows(&tools, "k8s_spec_change_analysis", json!({"entity": entity}), &columns);
            assert_eq!(ours.len(), items.len(), "{name} {entity}: {ours:?} {items:?}");
            match object {
                "ConfigMap/flagd-config" => {
                    // The reference gives the whole text twice; ours is its changed leaf.
                    assert_eq!(items[0]["path"], "data.demo.flagd.json");
                    let path = "data/demo.flagd.json#flags.cartFailure.defaultVariant";
                    assert_eq!(ours, [format!("{path} changed on")]);
                }
                "Deployment/cart" => {
                    let path = items[0]["path"].as_str().unwrap();
                    assert!(path.ends_with("kubectl.kubernetes.io/restartedAt"), "{path}");
                    let new = items[0]["new"].as_str().unwrap();
                    let path =
                        "spec/template/metadata/annotations/kubectl.kubernetes.io/restartedAt";
                    assert_eq!(ours, [format!("{path} restarted {new}")]);
                }
                _ => assert!(ours.is_empty()),
            }
        }
    }
}

#[test]
fn changes_have_the_time_of_the_writer_of_the_spec() {
    let Some(tools) = open() else { return };
    let columns = ["time", "entity", "manager", "seen_before", "seen_after"];
    // The reference dates the restart 17:46:23, when the status was written.
    assert_eq!(
        rows(&tools, "k8s_spec_change_analysis", json!({}), &columns),
        [
            "2025-12-15T17:46:18Z otel-demo/ConfigMap/flagd-config OpenAPI-Generator \
             2025-12-15T17:43:27Z 2025-12-15T17:48:26Z",
            "2025-12-15T17:46:20Z otel-demo/Deployment/cart kubectl-rollout \
             2025-12-15T17:43:26Z 2025-12-15T17:48:27Z",
        ]
    );
}

#[test]
fn the_topology_of_the_raw_dumps_is_not_empty() {
    let Some(tools) = open() else { return };
    let counts = tools.call("build_topology", json!({"counts_only": true})).unwrap();
    let total = |field: &str| -> u64 {
        counts[field].as_array().unwrap().iter().map(|one| one["count"].as_u64().unwrap()).sum()
    };
    assert!(total("kinds") > 20 && total("relations") > 20, "{counts}");
}
