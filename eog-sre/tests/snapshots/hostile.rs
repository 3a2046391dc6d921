//! Input that means harm, or is just broken: no ground truth, no way out, no panic.

use std::fs;

use eog_evidence::open_case;
use eog_sre::{ReadOptions, Snapshot, SnapshotContext, SnapshotError};
use serde_json::json;

use crate::support::{Recording, Span, config, service, table, workload};

const ALERTS: &str = r#"[{"labels": {"alertname": "A", "service_name": "web",
    "namespace": "shop"}, "state": "firing", "activeAt": "2026-01-01T10:02:00Z", "value": "1"}]"#;

#[test]
fn ground_truth_is_never_opened() {
    let recording = Recording::new();
    recording.file("alerts/alerts_at_2026-01-01T10-00-00.json", ALERTS);
    recording.file("ground_truth.yaml", "spec: poisoned");
    recording.file("alerts/ground_truth.json", ALERTS.replace("web", "poisoned"));
    recording.file("metrics/ground_truth_raw.tsv", "metric_name\n");
    fs::create_dir(recording.path().join("ground_truth_alerts.json")).unwrap();
    let snapshot = recording.open();
    assert_eq!(snapshot.files(), ["alerts/alerts_at_2026-01-01T10-00-00.json"]);
    assert!(!format!("{snapshot:?}").contains("poisoned"));
    let options = ReadOptions {
        architecture: Some(recording.path().join("ground_truth.yaml")),
        ..Default::default()
    };
    let error = Snapshot::open(recording.path(), &options).unwrap_err();
    assert!(matches!(error, SnapshotError::Architecture { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn links_lead_neither_out_nor_to_the_ground_truth() {
    use std::os::unix::fs::symlink;
    let outside = Recording::new();
    let secret = outside.file("secret.json", ALERTS.replace("web", "outside"));
    outside.file("metrics/pod_x_raw.tsv", "metric_name\n");
    let recording = Recording::new();
    recording.file("alerts/alerts_at_2026-01-01T10-00-00.json", ALERTS);
    recording.file("ground_truth.json", ALERTS.replace("web", "poisoned"));
    symlink(secret, recording.path().join("alerts/alerts_out.json")).unwrap();
    symlink("../ground_truth.json", recording.path().join("alerts/alerts_truth.json")).unwrap();
    symlink(outside.path().join("metrics"), recording.path().join("metrics")).unwrap();
    symlink("alerts_at_2026-01-01T10-00-00.json", recording.path().join("alerts/inside.json"))
        .unwrap();
    let snapshot = recording.open();
    let stored = format!("{snapshot:?}");
    assert!(!stored.contains("\"outside\"") && !stored.contains("poisoned"));
    let expected = ["alerts/alerts_at_2026-01-01T10-00-00.json", "alerts/inside.json"];
    assert_eq!(snapshot.files(), expected);
    let warnings = snapshot.warnings().join("\n");
    for part in [
        "alerts/alerts_out.json: a link that leads outside",
        "alerts/alerts_truth.json: ground truth",
        "metrics: leads outside",
    ] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
}

/// A small whole snapshot, as files to break.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let mut recording = Recording::new();
    let volumes = json!([{"name": "v", "configMap": {"name": "c"}}]);
    let env = json!({"name": "c", "env": [{"name": "A", "value": "db:1"}]});
    recording.object("10:00:00", workload("Deployment", "web", env, volumes));
    recording.object("10:00:00", service("web", "web"));
    recording.object("10:00:00", config("c", "k", "a: 1\nb:\n - x\n", "09:00:00"));
    recording.object("10:05:00", config("c", "k", "a: 2\nb:\n - y\n", "10:01:00"));
    recording.event(
        "10:03:00",
        json!({"object": {"reason": "BackOff", "type": "Warning",
        "lastTimestamp": "2026-01-01T10:03:00Z",
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "shop"}}}),
    );
    recording.log("10:03:00", "web", "17", "multi\nline \"quoted\" 42");
    recording.span(Span {
        at: "10:03:00".into(),
        ids: ("t", "1".into(), String::new()),
        name: "router x egress",
        kind: "Client",
        service: "web",
        ms: 1,
        failed: true,
        attributes: "{'server.address': 'db'}",
    });
    recording.file("alerts/alerts_at_2026-01-01T10-05-00.json", ALERTS);
    let header = ["metric_name", "timestamp", "value", "pod_name", "namespace", "tags"];
    let row = ["m_total", "2026-01-01 10:00:00", "1e3", "p", "shop", "{'a': \"b\"}"];
    let rows = std::iter::once(row.map(str::to_owned).to_vec());
    recording.file("metrics/pod_p_raw.tsv", table(&header, rows));
    recording.write();
    let names = [
        "alerts/alerts_at_2026-01-01T10-05-00.json",
        "k8s_events_raw.tsv",
        "k8s_objects_raw.tsv",
        "metrics/pod_p_raw.tsv",
        "otel_logs_raw.tsv",
        "otel_traces_raw.tsv",
    ];
    names.into_iter().map(|name| (name, fs::read(recording.path().join(name)).unwrap())).collect()
}

/// Reads, and asks everything that can be asked. The outcome may be an error, never a panic.
fn read_all(recording: &Recording) -> bool {
    let Ok(snapshot) = Snapshot::open(recording.path(), &ReadOptions::default()) else {
        return false;
    };
    let graph = snapshot.graph();
    let incident = snapshot.incident(&graph);
    let Ok(case) = open_case(&incident, None) else { return true };
    let context = SnapshotContext::new(snapshot, graph);
    for entity in case.topology.entities() {
        let _ = context.page(entity, case.window, 1);
    }
    true
}

#[test]
fn no_prefix_of_any_file_breaks_the_reader() {
    let recording = Recording::new();
    let files = files();
    for (name, content) in &files {
        recording.file(name, content);
    }
    assert!(read_all(&recording));
    for (name, content) in &files {
        let step = content.len().div_ceil(120).max(1);
        for end in (0..content.len()).step_by(step) {
            recording.file(name, &content[..end]);
            read_all(&recording);
        }
        recording.file(name, content);
    }
}

#[test]
fn no_flipped_bytes_break_the_reader() {
    let recording = Recording::new();
    let files = files();
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let mut whole = 0;
    for _ in 0..150 {
        for (name, content) in &files {
            let mut broken = content.clone();
            for _ in 0..random(4) {
                let at = random(broken.len());
                broken[at] = b"\"\t\n{}[]:,'\\0x\xff\x00"[random(15)];
            }
            recording.file(name, broken);
        }
        whole += usize::from(read_all(&recording));
    }
    assert!(whole > 50, "only {whole} of 150 could be opened");
}

#[test]
fn equal_input_gives_equal_output() {
    let outcome = || {
        let recording = Recording::new();
        for (name, content) in files() {
            recording.file(name, content);
        }
        let snapshot = recording.open();
        let mut incident = snapshot.incident(&snapshot.graph());
        incident.name.clear();
        format!("{incident:?}")
    };
    assert_eq!(outcome(), outcome());
}
