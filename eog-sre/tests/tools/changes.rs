//! `k8s_spec_change_analysis`.

use serde_json::{Value, json};

use crate::support::{Recording, config, workload};
use crate::{rows, toolbox};

const COLUMNS: [&str; 7] = ["time", "entity", "type", "path", "old", "new", "consequence"];

/// A dump of everything, so that a missing object is missed.
fn dump(recording: &mut Recording, clock: &str, objects: &[Value]) {
    for object in objects {
        recording.object(clock, object.clone());
    }
}

fn recording() -> Recording {
    let mut recording = Recording::new();
    let web = |image: &str| {
        workload("Deployment", "web", json!({"name": "c", "image": image}), json!([]))
    };
    let endpoints = |ip: &str| {
        json!({"kind": "Endpoints", "metadata": {"name": "web", "namespace": "shop"},
            "subsets": [{"addresses": [{"ip": ip}]}]})
    };
    let other = config("other", "k", "v", "09:00:00");
    let old = config(
        "settings",
        "app.json",
        "{\"a\": {\"b\": \"off\", \"password\": \"Zq8rT1xW\"}}",
        "09:00:00",
    );
    let new = config(
        "settings",
        "app.json",
        "{\"a\": {\"b\": \"on\", \"password\": \"Kp3vN7yL\"}, \"c\": \"\"}",
        "10:03:20",
    );
    let mut late = config("late", "k", "v", "10:04:00");
    late["metadata"]["creationTimestamp"] = json!("2026-01-01T10:04:00Z");
    dump(&mut recording, "10:00:00", &[web("i:1"), endpoints("10.0.0.1"), old, other]);
    dump(
        &mut recording,
        "10:05:00",
        &[web("i:2"), endpoints("10.0.0.2"), new.clone(), late.clone()],
    );
    dump(&mut recording, "10:10:00", &[web("i:2"), endpoints("10.0.0.2"), new, late]);
    recording
}

#[test]
fn changes_come_leaf_by_leaf_with_the_time_at_which_they_were_written() {
    let tools = toolbox(recording().open());
    assert_eq!(
        rows(&tools, "k8s_spec_change_analysis", json!({}), &COLUMNS),
        [
            "2026-01-01T10:03:20Z shop/ConfigMap/settings changed data/app.json#a.b off on false",
            "2026-01-01T10:03:20Z shop/ConfigMap/settings changed data/app.json#a.password \
             [masked 1] [masked 2] false",
            "2026-01-01T10:03:20Z shop/ConfigMap/settings added data/app.json#c -  false",
            "2026-01-01T10:04:00Z shop/ConfigMap/late created object - created false",
            "2026-01-01T10:05:00Z shop/ConfigMap/other deleted object existed - false",
            "2026-01-01T10:05:00Z shop/Deployment/web changed spec/template/spec/containers[c]/image \
             i:1 i:2 false",
            "2026-01-01T10:05:00Z shop/Endpoints/web changed subsets[0]/addresses[0]/ip \
             10.0.0.1 10.0.0.2 true",
        ]
    );
}

#[test]
fn the_time_basis_decides_what_a_window_holds() {
    let tools = toolbox(recording().open());
    let window = "2026-01-01T10:03:00Z/2026-01-01T10:05:00Z";
    let total = |arguments: Value| {
        tools.call("k8s_spec_change_analysis", arguments).unwrap()["total"].clone()
    };
    assert_eq!(total(json!({"window": window})), 4);
    assert_eq!(total(json!({"window": window, "time_basis": "dump"})), 0);
    let dump = json!({"time_basis": "dump", "filters": {"path": "*#a.b"}});
    let columns = ["time", "seen_before", "basis"];
    assert_eq!(
        rows(&tools, "k8s_spec_change_analysis", dump, &columns),
        ["2026-01-01T10:05:00Z 2026-01-01T10:00:00Z first dump that shows it"]
    );
}

#[test]
fn changes_are_grouped_and_consequences_left_out() {
    let tools = toolbox(recording().open());
    let arguments = json!({"entity": "shop/*", "filters": {"consequence": false},
        "group_by": "kind", "aggregates": "count, distinct(entity)"});
    assert_eq!(
        rows(&tools, "k8s_spec_change_analysis", arguments, &["kind", "count", "distinct(entity)"]),
        ["ConfigMap 5 3", "Deployment 1 1"]
    );
}
