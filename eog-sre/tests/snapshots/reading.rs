//! Snapshots in every layout, whole and broken.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::support::{LOG_HEADER, Recording, at, config, id, table};
use eog_sre::{CacheAt, Progress, ReadOptions, Snapshot, SnapshotError};
use serde_json::json;

const ALERT: &str = r#"{"labels": {"alertname": "ErrorRate", "service_name": "web",
    "namespace": "shop", "severity": "warning"}, "annotations": {"description": "d"},
    "state": "firing", "activeAt": "2026-01-01T10:00:00.5Z", "value": "1e-1"}"#;

#[test]
fn both_forms_of_alerts_are_merged_by_name_and_entity() {
    let recording = Recording::new();
    recording.file("alerts/alerts_at_2026-01-01T10-01-00.1.json", format!("[{ALERT}]"));
    let later = ALERT.replace("10:00:00.5Z", "10:30:00Z");
    let wrapped = format!(
        r#"{{"data": {{"alerts": [{later}]}}, "status": "success",
        "timestamp": "2026-01-01T10:31:00Z"}}"#
    );
    recording.file("alerts_in_alerting_state_2026-01-01T103100.0Z.json", wrapped);
    recording.file("alerts/notes.json", r#"{"a": 1}"#);
    recording.file("alerts/cut.json", "[{");
    let snapshot = recording.open();
    let incident = snapshot.incident(&snapshot.graph());
    let [anomaly] = &incident.anomalies[..] else { panic!("{:?}", incident.anomalies) };
    assert_eq!(anomaly.entity, id("shop/Service/web"));
    assert_eq!(anomaly.onset, at("10:00:00.5"));
    assert_eq!(anomaly.renewed, [at("10:30:00")]);
    assert_eq!(anomaly.last_seen, Some(at("10:31:00")));
    let warnings = snapshot.warnings().join("\n");
    assert!(
        warnings.contains("alerts/notes.json: expected a JSON body of Alertmanager"),
        "{warnings}"
    );
    assert!(warnings.contains("alerts/cut.json: not valid JSON"), "{warnings}");
}

#[test]
fn alerts_that_do_not_count_are_listed_with_their_reason() {
    let mut recording = Recording::new();
    let cases = [
        (json!({"alertname": "Watchdog"}), "Watchdog: an alert of the platform"),
        (
            json!({"alertname": "Odd", "severity": "none", "pod": "p", "namespace": "n"}),
            "Odd on n/Pod/p: its severity",
        ),
        (
            json!({"alertname": "HighSuccessRate", "service": "web", "namespace": "shop"}),
            "things go well",
        ),
        (json!({"alertname": "Nothing"}), "Nothing: no label names"),
    ];
    for (labels, _) in &cases {
        recording.alert("10:00:00", labels.clone(), "2026-01-01T09:00:00Z");
    }
    let pending = ALERT.replace("firing", "pending").replace("ErrorRate", "Slow");
    recording.file("alerts/alerts_at_2026-01-01T10-01-00.9.json", format!("[{pending}]"));
    let snapshot = recording.open();
    let incident = snapshot.incident(&snapshot.graph());
    assert!(incident.anomalies.is_empty(), "{:?}", incident.anomalies);
    let ignored = incident.ignored.join("\n");
    for (_, reason) in cases {
        assert!(ignored.contains(reason), "{reason}: {ignored}");
    }
    assert!(ignored.contains("Slow on shop/Service/web: never fired"), "{ignored}");
}

#[test]
fn alerts_about_what_is_as_it_should_be_need_no_cause() {
    let workload = |name: &str, replicas: u32| {
        json!({"kind": "Deployment", "metadata": {"name": name, "namespace": "shop"},
            "spec": {"replicas": replicas}})
    };
    let mut recording = Recording::new();
    for (clock, before) in [("10:00:00", 1), ("10:05:00", 0)] {
        recording.object(clock, workload("old", 0));
        recording.object(clock, workload("stopped", before));
    }
    let done = json!({"kind": "Job", "metadata": {"name": "report", "namespace": "shop"},
        "status": {"conditions": [{"type": "Complete", "status": "True"}]}});
    recording.object("10:00:00", done);
    let planned = json!({"kind": "CronJob", "metadata": {"name": "nightly", "namespace": "shop"},
        "status": {"lastScheduleTime": "2026-01-01T03:00:00Z",
            "lastSuccessfulTime": "2026-01-01T03:04:00Z"}});
    recording.object("10:00:00", planned);
    for (label, name) in [
        ("deployment", "old"),
        ("deployment", "stopped"),
        ("job_name", "report"),
        ("cronjob", "nightly"),
    ] {
        let labels = json!({"alertname": "WorkloadDown", "namespace": "shop", label: name});
        recording.alert("10:06:00", labels, "2026-01-01T10:05:30Z");
    }
    let snapshot = recording.open();
    let incident = snapshot.incident(&snapshot.graph());
    let left: Vec<&str> = incident.anomalies.iter().map(|one| one.entity.as_str()).collect();
    assert_eq!(left, ["shop/Deployment/stopped"], "it was switched off meanwhile");
    let ignored = incident.ignored.join("\n");
    for reason in ["it is scaled to 0", "its job is complete", "it ran as planned"] {
        assert!(ignored.contains(reason), "{reason}: {ignored}");
    }
}

#[test]
fn newer_layouts_are_found_and_copies_are_read_once() {
    for base in ["raw/", "lite/", ""] {
        let recording = Recording::new();
        let row = |value: &str| {
            vec![
                "cpu_usage".into(),
                "2026-01-01 10:00:00".into(),
                value.into(),
                "p".into(),
                "shop".into(),
            ]
        };
        let header = ["metric_name", "timestamp", "value", "pod_name", "namespace"];
        let metric = table(&header, [row("1"), row("1")].into_iter());
        recording.file(&format!("{base}metrics_pod/p.tsv"), &metric);
        recording.file(
            &format!("{base}alerts/alerts_at_2026-01-01T10-01-00.json"),
            format!("[{ALERT}]"),
        );
        let logs = table(&LOG_HEADER, std::iter::empty());
        recording.file(&format!("{base}otel_logs_raw.tsv"), &logs);
        let snapshot = recording.open();
        assert_eq!(snapshot.files().len(), 3, "{base}: {:?}", snapshot.files());
        assert!(snapshot.graph().topology().contains(&id("shop/Pod/p")), "{base}");
    }
    let recording = Recording::new();
    let logs = table(&LOG_HEADER, std::iter::empty());
    recording.file("raw/otel_logs_raw.tsv", &logs);
    recording.file("lite/otel_logs.tsv", &logs);
    assert_eq!(recording.open().files(), ["raw/otel_logs_raw.tsv"]);
}

#[test]
fn what_is_no_snapshot_is_one_clear_error() {
    let recording = Recording::new();
    assert!(matches!(recording.try_open(), Err(SnapshotError::NothingKnown { .. })));
    let file = recording.file("readme.txt", "hello");
    let error = Snapshot::open(&file, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("not a directory"), "{error}");
    let missing = recording.path().join("missing");
    assert!(matches!(
        Snapshot::open(missing, &ReadOptions::default()),
        Err(SnapshotError::NotADirectory { .. })
    ));
    recording.file("k8s_events_raw.tsv", "Timestamp\tText\n");
    let error = recording.try_open().unwrap_err().to_string();
    assert!(error.contains("k8s_events_raw.tsv lacks the columns Body"), "{error}");
}

#[test]
fn broken_rows_name_file_line_and_reason() {
    let recording = Recording::new();
    let row = |at: &str, body: &str| {
        let cells = ["Timestamp", "Body"].map(|name| if name == "Body" { body } else { at });
        cells.map(str::to_owned).to_vec()
    };
    let mut objects = table(
        &["Timestamp", "Body"],
        [
            row("2026-01-01 10:00:00", &config("c", "k", "line\none", "09:00:00").to_string()),
            row("2026-01-01 10:00:00", "{not json"),
            row("never", "{}"),
        ]
        .into_iter(),
    );
    objects.extend_from_slice(b"2026-01-01 10:05:00\t\"{\"\"kind\"\": \"\"Config");
    recording.file("k8s_objects_raw.tsv", objects);
    let snapshot = recording.open();
    assert!(snapshot.graph().topology().contains(&id("shop/ConfigMap/c")));
    let warnings = snapshot.warnings().join("\n");
    for expected in [
        "k8s_objects_raw.tsv line 3: the Body is not valid JSON",
        "k8s_objects_raw.tsv line 4: the Timestamp is not a time",
        "k8s_objects_raw.tsv line 5: a quoted field is never closed",
    ] {
        assert!(warnings.contains(expected), "{expected}: {warnings}");
    }
}

#[test]
fn row_limits_hold() {
    let mut recording = Recording::new();
    for minute in 0..9 {
        recording.log(&format!("10:0{minute}:00"), "web", "9", "hello");
    }
    recording.write();
    let options = ReadOptions { max_rows_per_file: 4, ..Default::default() };
    let snapshot = Snapshot::open(recording.path(), &options).unwrap();
    assert_eq!(snapshot.observed().unwrap().end(), at("10:03:01"));
    assert!(snapshot.warnings().join("\n").contains("only the first 4 rows"));
}

#[test]
fn the_reading_tells_how_far_it_has_come() {
    let mut recording = Recording::new();
    recording.log("10:00:00", "web", "9", &"x".repeat(3_000_000));
    recording.log("10:00:01", "web", "9", "short");
    recording.write();
    let updates = Arc::new(Mutex::new(Vec::new()));
    let progress = {
        let updates = updates.clone();
        Progress::new(move |reading| {
            updates.lock().unwrap().push((reading.file.to_owned(), reading.done, reading.total));
        })
    };
    let options = ReadOptions { progress: Some(progress), ..ReadOptions::default() };
    Snapshot::open(recording.path(), &options).unwrap();
    let updates = updates.lock().unwrap();
    let size = std::fs::metadata(recording.path().join("otel_logs_raw.tsv")).unwrap().len();
    assert!(updates.len() >= 2, "{updates:?}");
    assert!(updates.iter().all(|(file, _, total)| file == "otel_logs_raw.tsv" && *total == size));
    assert!(
        updates.windows(2).all(|pair| pair[0].1 < pair[1].1 && pair[1].1 <= size),
        "{updates:?}"
    );
}

/// Opens a snapshot that may use so much memory.
fn open_within(recording: &Recording, max_memory: u64) -> Result<Snapshot, SnapshotError> {
    let options = ReadOptions { max_memory: Some(max_memory), ..ReadOptions::default() };
    Snapshot::open(recording.path(), &options)
}

#[test]
fn a_snapshot_that_may_not_fit_is_refused_unless_allowed() {
    let mut recording = Recording::new();
    for second in 0..60 {
        recording.log(&format!("10:00:{second:02}"), "web", "9", &format!("line {second}"));
    }
    recording.write();
    let refused = open_within(&recording, 1).unwrap_err();
    let SnapshotError::TooLarge { needed, allowed: 1, .. } = refused else { panic!("{refused}") };
    assert!(refused.to_string().contains("max_memory"), "{refused}");
    let refused = open_within(&recording, needed - 1).unwrap_err();
    assert!(matches!(refused, SnapshotError::TooLarge { .. }), "{refused}");
    assert!(open_within(&recording, needed).is_ok());
    // Only so many rows of a file are kept, and only so much of each.
    let few = ReadOptions {
        max_memory: Some(needed / 2),
        max_rows_per_file: 2,
        ..ReadOptions::default()
    };
    assert!(Snapshot::open(recording.path(), &few).is_ok());
}

#[test]
fn a_snapshot_three_times_as_large_as_the_memory_is_read_when_its_records_fit() {
    let recording = Recording::new();
    let header = ["Timestamp", "TraceId", "SpanId", "ParentSpanId", "SpanName", "ServiceName"];
    let header: Vec<&str> = header.into_iter().chain(["ResourceAttributes", "Duration"]).collect();
    let attributes = format!("{{'k8s.namespace.name': 'shop', 'pad': '{}'}}", "p".repeat(2_000));
    let rows = (0..2_000).map(|at| {
        let time = format!("2026-01-01 10:{:02}:{:02}", at / 60, at % 60);
        let id = format!("{at:016x}");
        let row = [&time, &id, &id, "", "GET /", "web", &attributes, "1000"];
        row.map(str::to_owned).to_vec()
    });
    recording.file("otel_traces_raw.tsv", table(&header, rows));
    let size = std::fs::metadata(recording.path().join("otel_traces_raw.tsv")).unwrap().len();
    let snapshot = open_within(&recording, size / 3).unwrap();
    assert!(snapshot.warnings().iter().all(|line| line.contains("has no")));
    let refused = open_within(&recording, size / 10).unwrap_err();
    assert!(matches!(refused, SnapshotError::TooLarge { .. }), "{refused}");
}

#[test]
fn reading_stops_when_the_records_need_more_than_the_files_let_expect() {
    let recording = Recording::new();
    let header = ["metric_name", "timestamp", "value", "pod_name", "namespace", "tags"];
    // Usually many rows are points of one series. Here each is a series of its own.
    let rows = (0..2_000).map(|at| {
        let tags = format!("{{'a': '{at}'}}");
        ["up", "2026-01-01 10:00:00", "1", "p", "shop", &tags].map(str::to_owned).to_vec()
    });
    recording.file("metrics/pod_p_raw.tsv", table(&header, rows));
    let refused = open_within(&recording, 1).unwrap_err();
    let SnapshotError::TooLarge { needed, .. } = refused else { panic!("{refused}") };
    let stopped = open_within(&recording, needed).unwrap_err();
    assert!(matches!(stopped, SnapshotError::OutOfMemory { .. }), "{stopped}");
    assert!(stopped.to_string().contains("max_memory"), "{stopped}");
    assert!(open_within(&recording, 100 * needed).is_ok());
}

/// So many ConfigMaps of 12 entries that all change between two dumps.
fn changed(configs: usize) -> Recording {
    let mut recording = Recording::new();
    for (clock, state) in [("10:00:00", "old"), ("10:10:00", "new")] {
        for config in 0..configs {
            let data: BTreeMap<String, String> =
                (0..12).map(|key| (format!("key{key}"), format!("{state} {config}"))).collect();
            let metadata = json!({"name": format!("config-{config}"), "namespace": "shop"});
            let object = json!({"kind": "ConfigMap", "metadata": metadata, "data": data});
            recording.object(clock, object);
        }
    }
    recording.write();
    recording
}

#[test]
fn what_an_investigation_makes_of_a_snapshot_is_charged_too() {
    let megabytes = |recording: &Recording| {
        let fits = |megabytes: &u64| open_within(recording, megabytes * 1_000_000).is_ok();
        (1..).find(fits).unwrap()
    };
    // 300 objects in two states each, and 3,600 findings.
    let (small, large) = (changed(300), changed(900));
    let few = megabytes(&small);
    assert!((6..12).contains(&few), "{few} MB");
    let many = megabytes(&large);
    assert!((3 * few - 3..=3 * few + 3).contains(&many), "{few} MB, {many} MB");
    let stopped = open_within(&small, 3_000_000).unwrap_err();
    assert!(matches!(stopped, SnapshotError::OutOfMemory { .. }), "{stopped}");
    // Nor does it fit when the records come from the cache.
    let cache = tempfile::tempdir().unwrap();
    let options = |max_memory| ReadOptions {
        max_memory: Some(max_memory),
        cache: Some(CacheAt::Folder(cache.path().to_owned())),
        ..ReadOptions::default()
    };
    let open = |max_memory| Snapshot::open(small.path(), &options(max_memory));
    assert!(!open(1_000_000 * few).unwrap().is_from_cache());
    assert!(open(1_000_000 * few).unwrap().is_from_cache());
    assert!(matches!(open(3_000_000).unwrap_err(), SnapshotError::OutOfMemory { .. }));
}

#[test]
fn files_and_warnings_come_in_order_however_many_threads_read() {
    let mut recording = Recording::new();
    recording.log("10:00:00", "web", "9", "line");
    recording.event("10:00:00", json!({"object": {}}));
    recording.file("alerts/alerts_at_2026-01-01T10-00-00.json", "{}");
    let header = ["metric_name", "timestamp", "value", "pod_name", "namespace", "tags"];
    for (pod, second) in [("a", "20"), ("b", "10"), ("c", "30")] {
        // Each file goes on with one series and has a broken row.
        let at = format!("2026-01-01 10:00:{second}");
        let good = ["up", &at, "1", "p", "shop", "{}"].map(str::to_owned).to_vec();
        let bad = ["up", "never", "1", "p", "shop", "{}"].map(str::to_owned).to_vec();
        let rows = vec![good, bad].into_iter();
        recording.file(&format!("metrics/pod_{pod}_raw.tsv"), table(&header, rows));
    }
    for _ in 0..20 {
        let snapshot = recording.open();
        let metrics = ["a", "b", "c"].map(|pod| format!("metrics/pod_{pod}_raw.tsv"));
        let [a, b, c] = metrics.each_ref().map(String::as_str);
        let alerts = "alerts/alerts_at_2026-01-01T10-00-00.json";
        let (events, logs) = ("k8s_events_raw.tsv", "otel_logs_raw.tsv");
        assert_eq!(snapshot.files(), [alerts, events, logs, a, b, c]);
        let about = snapshot.warnings().iter().filter(|line| !line.starts_with("the snapshot has"));
        let about: Vec<&str> =
            about.map(|line| line.split([' ', ':']).next().unwrap_or_default()).collect();
        assert_eq!(about, [alerts, events, a, b, c]);
        let stored = format!("{snapshot:?}");
        let nanoseconds = [10, 20, 30].map(|second| (1_767_261_600 + second) * 1_000_000_000_i64);
        assert!(stored.contains(&format!("at: Times({nanoseconds:?})")), "{stored}");
        assert_eq!(stored.matches("MetricSeries").count(), 1);
    }
}
