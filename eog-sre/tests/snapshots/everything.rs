//! What holds of a snapshot whatever is in its files. The fuzz target includes this file.

use std::fs;
use std::path::Path;

use eog_evidence::open_case;
use eog_sre::{ReadOptions, Snapshot, SnapshotContext, SnapshotError};

/// The files of a snapshot, one of each kind, with the columns that its reader reads.
pub(crate) const FILES: [(&str, &[&str]); 7] = [
    ("alerts/alerts_at_2026-01-01T10-05-00.json", &[]),
    ("k8s_events_raw.tsv", &["Timestamp", "Body"]),
    ("k8s_objects_raw.tsv", &["Timestamp", "Body"]),
    (
        "otel_logs_raw.tsv",
        &["Timestamp", "Body", "ServiceName", "ResourceAttributes", "SeverityNumber"],
    ),
    (
        "otel_traces_raw.tsv",
        &[
            "Timestamp",
            "TraceId",
            "SpanId",
            "ParentSpanId",
            "SpanName",
            "SpanKind",
            "ServiceName",
            "Duration",
            "ResourceAttributes",
            "SpanAttributes",
            "StatusCode",
            "StatusMessage",
        ],
    ),
    (
        "metrics/pod_p_raw.tsv",
        &["metric_name", "timestamp", "value", "pod_name", "namespace", "tags"],
    ),
    (
        "metrics/service_s_raw.tsv",
        &[
            "metric_name",
            "timestamp",
            "value",
            "service_name",
            "namespace",
            "bucket_le",
            "tags",
            "metric_type",
            "status_code",
        ],
    ),
];

/// Reads everything and asks everything that can be asked.
///
/// # Panics
/// When a warning or an error names no file.
pub(crate) fn check(folder: &Path) {
    match read(folder) {
        Ok(snapshot) => check_warnings(&snapshot),
        Err(error) => {
            let text = error.to_string();
            let named = FILES.iter().any(|(file, _)| text.contains(file));
            assert!(named || matches!(error, SnapshotError::NothingKnown { .. }), "{text}");
        }
    }
}

/// The same of files one after the other, a zero byte between.
///
/// # Panics
/// As [`check`].
pub(crate) fn check_bytes(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for inside in ["alerts", "metrics"] {
        fs::create_dir(folder.path().join(inside)).expect("a folder in it");
    }
    for ((name, _), content) in FILES.iter().zip(bytes.split(|byte| *byte == 0)) {
        fs::write(folder.path().join(name), content).expect("a file in it");
    }
    check(folder.path());
}

fn read(folder: &Path) -> Result<Snapshot, SnapshotError> {
    let snapshot = Snapshot::open(folder, &ReadOptions::default())?;
    let graph = snapshot.graph();
    let incident = snapshot.incident(&graph);
    if let Ok(case) = open_case(&incident, None) {
        let context = SnapshotContext::new(snapshot, graph);
        for entity in case.topology.entities().take(50) {
            let _ = context.page(entity, case.window, 0);
        }
    }
    Snapshot::open(folder, &ReadOptions::default())
}

/// Every warning names a file of the snapshot, or a kind of file that is missing.
pub(crate) fn check_warnings(snapshot: &Snapshot) {
    for line in snapshot.warnings() {
        let names = FILES.iter().any(|(file, _)| line.starts_with(file));
        let general = line.starts_with("the snapshot has no") || line.starts_with("metrics: only");
        assert!(names || general, "{line}");
        // Files that are quoted may say anything.
        let is_of_a_row = line.ends_with("; the row is skipped");
        assert!(!is_of_a_row || line.contains(" line "), "{line}");
    }
}
