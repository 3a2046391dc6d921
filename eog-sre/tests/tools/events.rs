//! `event_analysis`.

use serde_json::{Value, json};

use crate::support::{Recording, workload};
use crate::{refusal, rows, toolbox};

/// One event as both API versions report it.
fn twins(uid: &str, pod: &str, reason: &str, kind: &str, count: u64, last: &str) -> [Value; 2] {
    let time = format!("2026-01-01T{last}Z");
    let object = json!({"kind": "Pod", "name": pod, "namespace": "shop"});
    [
        json!({"type": "ADDED", "object": {"apiVersion": "v1", "kind": "Event",
            "metadata": {"uid": uid}, "involvedObject": object, "reason": reason, "type": kind,
            "message": "m", "count": count, "firstTimestamp": "2026-01-01T09:00:00Z",
            "lastTimestamp": time, "source": {"component": "kubelet", "host": "n1"}}}),
        json!({"type": "ADDED", "object": {"apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"uid": uid}, "regarding": object, "reason": reason, "type": kind,
            "note": "m", "deprecatedCount": count, "deprecatedLastTimestamp": time,
            "deprecatedFirstTimestamp": "2026-01-01T09:00:00Z", "reportingController": "kubelet",
            "deprecatedSource": {"component": "kubelet", "host": "n1"}}}),
    ]
}

fn recording() -> Recording {
    let mut recording = Recording::new();
    recording.object("10:00:00", workload("Deployment", "cart", json!({"name": "c"}), json!([])));
    let owned = |kind: &str, name: &str, owner: (&str, &str)| {
        json!({"kind": kind, "metadata": {"name": name, "namespace": "shop",
            "ownerReferences": [{"kind": owner.0, "name": owner.1}]}})
    };
    recording.object("10:00:00", owned("ReplicaSet", "cart-1", ("Deployment", "cart")));
    recording.object("10:00:00", owned("Pod", "cart-1-a", ("ReplicaSet", "cart-1")));
    let events = [
        twins("1", "cart-1-a", "Unhealthy", "Warning", 1, "10:01:00"),
        twins("1", "cart-1-a", "Unhealthy", "Warning", 2, "10:02:00"),
        twins("2", "cart-1-a", "Killing", "Normal", 1, "10:03:00"),
        twins("3", "web-1", "Unhealthy", "Warning", 5, "10:04:00"),
    ];
    for (minute, twins) in events.into_iter().enumerate() {
        // The second twin arrives later than the first, as it does in recordings.
        for (second, event) in twins.into_iter().enumerate() {
            recording.event(&format!("10:1{minute}:0{second}"), event);
        }
    }
    // The cluster reports an event once more when it forgets it.
    recording
        .event("10:30:00", twins("2", "cart-1-a", "Killing", "Normal", 1, "10:03:00")[0].clone());
    recording
}

#[test]
fn every_event_counts_once() {
    let tools = toolbox(recording().open());
    let columns = ["time", "entity", "reason", "type", "times", "component"];
    assert_eq!(
        rows(&tools, "event_analysis", json!({}), &columns),
        [
            "2026-01-01T10:01:00Z shop/Pod/cart-1-a Unhealthy Warning 1 kubelet",
            "2026-01-01T10:02:00Z shop/Pod/cart-1-a Unhealthy Warning 2 kubelet",
            "2026-01-01T10:03:00Z shop/Pod/cart-1-a Killing Normal 1 kubelet",
            "2026-01-01T10:04:00Z shop/Pod/web-1 Unhealthy Warning 5 kubelet",
        ]
    );
    assert_eq!(
        rows(&tools, "event_analysis", json!({"group_by": "reason"}), &["reason", "count"]),
        ["Unhealthy 3", "Killing 1"]
    );
}

#[test]
fn events_are_chosen_by_workload_window_and_several_reasons() {
    let tools = toolbox(recording().open());
    let cases = [
        (json!({"filters": {"workload": "*/cart"}}), 3),
        (json!({"filters": {"reason": "Unhealthy,FailedScheduling,Killing"}}), 4),
        (json!({"entity": "web-1"}), 1),
        (json!({"entity": "shop/Pod/*"}), 4),
        (json!({"window": "2026-01-01T10:02:00Z/2026-01-01T10:04:00Z"}), 2),
        (json!({"filters": {"times": ">=2", "node": "n1"}}), 2),
        (json!({"filters": {"first_time": "<2026-01-01T09:30:00Z", "type": "Normal"}}), 1),
    ];
    for (arguments, expected) in cases {
        let page = tools.call("event_analysis", arguments.clone()).unwrap();
        assert_eq!(page["total"], expected, "{arguments}");
    }
    let error = refusal(&tools, "event_analysis", json!({"entity": "shop/Pod/cart-1"}));
    assert!(error.contains("or shop/Pod/cart-1-a or"), "{error}");
}
