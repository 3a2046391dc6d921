//! Input that means harm, or is just broken: no ground truth, no way out, no panic.

use std::fs;

use eog_evidence::open_case;
use eog_sre::{ReadOptions, Snapshot, SnapshotContext, SnapshotError};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::cache::recording;
use crate::support::Recording;

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

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_harm_to_a_whole_snapshot_breaks_the_reader(
        file in any::<Index>(),
        flips in vec((any::<Index>(), select(b"\"\t\n{}[]:,'\\0x\xff\x00".to_vec())), 0..4),
        cut in option::of(any::<Index>()),
    ) {
        let recording = recording();
        prop_assert!(read_all(&recording));
        let path = recording.path().join(file.get(recording.open().files()));
        let mut bytes = fs::read(&path).unwrap();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        fs::write(path, bytes).unwrap();
        read_all(&recording);
    }
}

#[test]
fn equal_input_gives_equal_output() {
    let outcome = || {
        let snapshot = recording().open();
        let mut incident = snapshot.incident(&snapshot.graph());
        incident.name.clear();
        format!("{incident:?}")
    };
    assert_eq!(outcome(), outcome());
}
