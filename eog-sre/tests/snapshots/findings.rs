//! Findings from objects and events.

use eog_core::evidence::Signal;
use eog_core::{EvidenceKind, Finding};
use serde_json::{Value, json};

use crate::support::{Recording, at, config, id, line, lines, window, workload};

fn changes(recording: &Recording) -> Vec<Finding> {
    let snapshot = recording.open();
    snapshot.incident(&snapshot.graph()).changes
}

/// The only change between two states of one object, dumped at 10:00 and 10:05.
fn change_between(old: Value, new: Value) -> Vec<Finding> {
    let mut recording = Recording::new();
    recording.object("10:00:00", old);
    recording.object("10:05:00", new);
    changes(&recording)
}

#[test]
fn a_changed_leaf_of_an_embedded_file_has_the_time_of_its_writer() {
    let text = |state: &str| {
        format!("{{\n \"flags\": {{\"slow\": {{\"state\": \"{state}\"}}, \"x\": 1}}\n}}")
    };
    let compact = r#"{"flags":{"x":1,"slow":{"state":"on"}}}"#;
    let found = change_between(
        config("flags", "f.json", &text("off"), "09:00:00"),
        config("flags", "f.json", compact, "10:03:07"),
    );
    let [change] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(change.time.start(), at("10:03:07"));
    assert_eq!(change.change.as_ref().unwrap().path, "data/f.json#flags.slow.state");
    assert_eq!(
        change.query,
        "k8s_objects_raw.tsv kind=ConfigMap namespace=shop name=flags \
         field=data/f.json#flags.slow.state"
    );
}

#[test]
fn a_writer_outside_of_the_two_dumps_does_not_date_the_change() {
    let found = change_between(
        config("flags", "f", "a", "09:00:00"),
        config("flags", "f", "b", "09:30:00"),
    );
    assert_eq!(found[0].time.start(), at("10:05:00"));
    assert!(found[0].excerpt.contains("first seen in this dump"), "{}", found[0].excerpt);
}

#[test]
fn changes_are_distinguished_from_restarts_and_from_noise() {
    let with = |pointer: &str, value: Value| {
        let container = json!({"name": "c", "image": "i:1", "env": [{"name": "A", "value": "1"}]});
        let mut object = workload("Deployment", "web", container, json!([]));
        *object.pointer_mut("/metadata").unwrap() =
            json!({"name": "web", "namespace": "shop", "annotations": {}, "generation": 1});
        object.pointer_mut("/spec/template/metadata").unwrap()["annotations"] = json!({});
        object["status"] = json!({"replicas": 1});
        *object.pointer_mut(pointer).unwrap() = value;
        object
    };
    let base = || with("/metadata/generation", json!(1));
    let at_pod = "/spec/template/metadata/annotations";
    let at_container = "/spec/template/spec/containers/0";
    let cases = [
        ("/metadata/generation", json!(2), vec![]),
        ("/metadata/annotations", json!({"deployment.kubernetes.io/revision": "2"}), vec![]),
        ("/status/replicas", json!(1.0), vec![]),
        (at_pod, json!({"kubectl.kubernetes.io/restartedAt": "now"}), vec![Signal::Restart]),
        ("/spec/replicas", json!(3), vec![Signal::Configuration]),
        (
            at_container,
            json!({"name": "c", "image": "i:2", "env": [{"name": "A", "value": "2"}]}),
            vec![Signal::Configuration; 2],
        ),
    ];
    for (pointer, value, expected) in cases {
        let found = change_between(base(), with(pointer, value.clone()));
        let signals: Vec<Signal> = found.iter().map(|change| change.signal).collect();
        assert_eq!(signals, expected, "{pointer} {value}: {found:#?}");
    }
}

#[test]
fn what_comes_and_goes_is_a_change_unless_its_owner_explains_it() {
    let mut recording = Recording::new();
    let pod = |name: &str, owned: bool| {
        let owners =
            if owned { json!([{"kind": "ReplicaSet", "name": "web-1"}]) } else { json!([]) };
        json!({"kind": "Pod", "metadata": {"name": name, "namespace": "shop",
            "creationTimestamp": "2026-01-01T10:07:00Z", "ownerReferences": owners}})
    };
    let old = |name: &str| {
        let mut pod = pod(name, false);
        pod["metadata"]["creationTimestamp"] = json!("2026-01-01T09:00:00Z");
        pod
    };
    for clock in ["10:00:00", "10:05:00", "10:10:00", "10:15:00"] {
        recording.object(clock, old("steady"));
        if clock < "10:10:00" {
            recording.object(clock, old("gone"));
        } else {
            recording.object(clock, pod("new", false));
            recording.object(clock, pod("owned", true));
        }
    }
    let found = changes(&recording);
    let changes: Vec<_> = found
        .iter()
        .map(|change| (change.entity.to_string(), change.time.start(), line(change)))
        .collect();
    assert_eq!(changes.len(), 2, "{changes:#?}");
    assert_eq!((changes[0].0.as_str(), changes[0].1), ("shop/Pod/gone", at("10:10:00")));
    assert!(changes[0].2.contains("\"deleted\""), "{changes:#?}");
    assert_eq!((changes[1].0.as_str(), changes[1].1), ("shop/Pod/new", at("10:07:00")));
}

#[test]
fn an_experiment_is_defined_and_then_runs() {
    let mut recording = Recording::new();
    let chaos = |injected: &str| {
        json!({"apiVersion": "chaos-mesh.org/v1alpha1", "kind": "PodChaos",
            "metadata": {"name": "kill", "namespace": "shop",
                "creationTimestamp": "2026-01-01T09:55:00Z"},
            "spec": {"action": "pod-failure"},
            "status": {"conditions": [{"type": "AllInjected", "status": injected}]}})
    };
    recording.object("10:00:00", chaos("False"));
    recording.object("10:05:00", chaos("True"));
    let context = recording.context();
    let page = context.page(&id("shop/PodChaos/kill"), window("09:00:00", "11:00:00"), 1);
    let lines_of_page = lines(&page);
    assert!(lines_of_page[0].starts_with("Change Experiment"), "{lines_of_page:#?}");
    assert!(lines_of_page[1].contains("the experiment ran"), "{lines_of_page:#?}");
    assert_eq!(lines_of_page.len(), 2);
    // It ran between the two dumps; nothing says more.
    let ran = page.findings.iter().find(|it| it.excerpt.contains("the experiment ran")).unwrap();
    assert_eq!(ran.time.start(), at("10:05:00"));
    assert_eq!(ran.onset.unwrap().earliest(), at("10:00:00"));
}

#[test]
fn an_experiment_ran_when_it_says_that_it_was_applied() {
    let event = |operation: &str, kind: &str, clock: &str| json!({"operation": operation, "type": kind, "timestamp": format!("2026-01-01T{clock}Z")});
    let applied = json!([
        {"id": "shop/web-1", "events": [event("Apply", "Failed", "09:55:02"),
            event("Apply", "Succeeded", "09:55:09"), event("Recover", "Succeeded", "09:56:00")]},
        {"id": "shop/web-2", "events": [event("Apply", "Succeeded", "09:55:05")]},
    ]);
    let chaos = |records: Value| {
        json!({"apiVersion": "chaos-mesh.org/v1alpha1", "kind": "PodChaos",
            "metadata": {"name": "kill", "namespace": "shop",
                "creationTimestamp": "2026-01-01T09:55:00Z"},
            "spec": {"action": "pod-failure"},
            "status": {"conditions": [{"type": "AllInjected", "status": "True"}],
                "experiment": {"containerRecords": records}}})
    };
    let ran = |records: Value| {
        let mut recording = Recording::new();
        recording.object("10:05:00", chaos(records));
        let context = recording.context();
        let page = context.page(&id("shop/PodChaos/kill"), window("09:00:00", "11:00:00"), 1);
        page.findings.into_iter().find(|it| it.excerpt.contains("the experiment ran")).unwrap()
    };
    assert_eq!(ran(applied).time.start(), at("09:55:05"));
    // Without a record of its own: between its creation and the dump that shows it.
    let dumped = ran(json!([]));
    assert_eq!(dumped.time.start(), at("10:05:00"));
    assert_eq!(dumped.onset.unwrap().earliest(), at("09:55:00"));
}

#[test]
fn a_scheduled_experiment_ran_when_what_it_made_ran() {
    let mut recording = Recording::new();
    let version = "chaos-mesh.org/v1alpha1";
    let object = |kind: &str, name: &str, owners: Value| {
        json!({"apiVersion": version, "kind": kind, "spec": {}, "metadata": {"name": name,
            "namespace": "tests", "creationTimestamp": "2026-01-01T10:03:00Z",
            "ownerReferences": owners}})
    };
    let owners = json!([{"kind": "Schedule", "name": "often"}]);
    recording.object("10:05:00", object("Schedule", "often", json!([])));
    recording.object("10:05:00", object("NetworkChaos", "often-1", owners));
    for (clock, reason) in [("10:03:01", "Started"), ("10:03:02", "Applied")] {
        recording.event(
            clock,
            json!({"metadata": {"uid": reason}, "reason": reason, "type": "Normal",
                "regarding": {"kind": "NetworkChaos", "name": "often-1", "namespace": "tests",
                    "apiVersion": version},
                "note": "m", "deprecatedLastTimestamp": format!("2026-01-01T{clock}Z")}),
        );
    }
    let context = recording.context();
    let window = window("09:00:00", "11:00:00");
    let cases = [
        ("tests/Schedule/often", ["Change Experiment", "Event Experiment"].as_slice()),
        ("tests/NetworkChaos/often-1", &["Event Experiment"]),
    ];
    for (entity, expected) in cases {
        let listed = lines(&context.page(&id(entity), window, 1));
        let matches = listed.iter().zip(expected).all(|(line, start)| line.starts_with(start));
        assert!(matches && listed.len() == expected.len(), "{entity}: {listed:#?}");
    }
}

#[test]
fn replicas_follow_a_controller_and_the_first_of_a_kind_is_new() {
    let written = |kind: &str, manager: &str, replicas: u32| {
        let time = if replicas == 1 { "09:00:00" } else { "10:03:00" };
        json!({"kind": kind, "spec": {"replicas": replicas}, "metadata": {"name": "web",
            "namespace": "shop", "creationTimestamp": "2026-01-01T10:02:00Z",
            "managedFields": [{"manager": manager, "time": format!("2026-01-01T{time}Z")}]}})
    };
    for (manager, expected) in [("kube-controller-manager", 0), ("kubectl-scale", 1)] {
        let found =
            change_between(written("Deployment", manager, 1), written("Deployment", manager, 3));
        let scaled = found.iter().filter(|c| c.change.as_ref().unwrap().path == "spec/replicas");
        assert_eq!(scaled.count(), expected, "{manager}: {found:#?}");
    }
    let mut recording = Recording::new();
    recording.object("10:00:00", config("other", "k", "v", "09:00:00"));
    recording.object("10:05:00", written("NetworkPolicy", "someone", 1));
    let found = changes(&recording);
    let new: Vec<_> = found.iter().filter(|c| c.entity == id("shop/NetworkPolicy/web")).collect();
    assert_eq!(new.len(), 1, "{found:#?}");
    assert_eq!(new[0].time.start(), at("10:02:00"));
}

#[test]
fn status_shows_restarts_lost_replicas_and_pressure() {
    let mut recording = Recording::new();
    let pod = |count: u32| {
        json!({"kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop"},
        "status": {"containerStatuses": [{"name": "c", "restartCount": count,
            "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137,
                "finishedAt": "2026-01-01T10:03:00Z"}}}]}})
    };
    let node = |pressure: &str| {
        json!({"kind": "Node", "metadata": {"name": "n"}, "status": {"conditions": [
            {"type": "MemoryPressure", "status": pressure,
                "lastTransitionTime": "2026-01-01T10:04:00Z"}]}})
    };
    let set = |ready: u32| {
        json!({"kind": "StatefulSet", "metadata": {"name": "db", "namespace": "shop"},
            "spec": {"replicas": 3}, "status": {"replicas": 3, "readyReplicas": ready}})
    };
    for (clock, count, pressure, ready) in [("10:00:00", 0, "False", 3), ("10:05:00", 1, "True", 1)]
    {
        recording.object(clock, pod(count));
        recording.object(clock, node(pressure));
        recording.object(clock, set(ready));
    }
    let snapshot = recording.open();
    let failures = snapshot.incident(&snapshot.graph()).failures;
    let listed: Vec<_> =
        failures.iter().map(|f| (f.entity.to_string(), f.signal, f.time.start())).collect();
    assert_eq!(
        listed,
        [
            ("shop/Pod/web-1".into(), Signal::Exhaustion, at("10:03:00")),
            ("Node/n".into(), Signal::Exhaustion, at("10:04:00")),
            ("shop/StatefulSet/db".into(), Signal::Availability, at("10:05:00")),
        ]
    );
}

#[test]
fn events_become_findings_by_what_they_mean() {
    let mut recording = Recording::new();
    let reasons = [
        ("BackOff", "Warning"),
        ("Killing", "Normal"),
        ("Started", "Normal"),
        ("Evicted", "Warning"),
    ];
    for (at, (reason, kind)) in reasons.iter().enumerate() {
        let event = json!({"object": {"metadata": {"uid": reason}, "reason": reason, "type": kind,
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "shop"},
            "message": "m", "lastTimestamp": format!("2026-01-01T10:0{at}:00Z"),
            "source": {"host": "n1"}}});
        recording.event("10:09:00", event);
    }
    let page = recording.context().page(&id("shop/Pod/p"), window("10:00:00", "11:00:00"), 1);
    let signals: Vec<_> = page.findings.iter().map(|finding| finding.signal).collect();
    assert_eq!(signals, [Signal::Availability, Signal::Exhaustion, Signal::Restart]);
    assert!(page.findings.iter().all(|finding| finding.kind == EvidenceKind::Event));
    assert_eq!(page.findings[0].peer.as_ref().unwrap().entity, id("Node/n1"));
}
