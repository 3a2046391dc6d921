//! The cache: the same records as without, and never those of other files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use eog_sre::{CacheAt, ReadOptions, Snapshot, SnapshotError, Stop};
use serde_json::json;

use crate::support::{Recording, Span, config, service, table, workload};

/// One record of each kind at least, with what they can hold.
pub(crate) fn recording() -> Recording {
    let mut recording = Recording::new();
    let volumes = json!([{"name": "v", "configMap": {"name": "c"}}]);
    let env = json!({"name": "c", "env": [{"name": "A_TOKEN", "value": "hunter2hunter2"}]});
    recording.object("10:00:00", workload("Deployment", "web", env, volumes));
    recording.object("10:00:00", service("web", "web"));
    recording.object("10:00:00", config("c", "k", "{\"a\": 1.5e300}", "09:00:00"));
    recording.object("10:05:00", config("c", "k", "a: 2\nb:\n - y\n", "10:01:00"));
    let event = json!({"object": {"reason": "BackOff", "type": "Warning",
        "lastTimestamp": "2026-01-01T10:03:00Z",
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "shop"}}});
    recording.event("10:03:00", event);
    recording.log("10:03:00", "web", "17", "multi\nline \"quoted\" 42 é");
    recording.log("10:02:00", "web", "17", "multi\nline \"quoted\" 43 é");
    for (id, parent, service, kind) in
        [("1", "", "web", "Client"), ("2", "1", "db", "Server"), ("3", "9", "db", "Odd")]
    {
        recording.span(Span {
            at: format!("10:03:0{id}.000000001"),
            ids: ("t", id.into(), parent.into()),
            name: "router x egress",
            kind,
            service,
            ms: 1,
            failed: true,
            attributes: "{'server.address': 'db'}",
        });
    }
    let labels = json!({"alertname": "A", "service_name": "web", "namespace": "shop"});
    recording.alert("10:05:00", labels, "2026-01-01T10:02:00Z");
    let header = ["metric_name", "timestamp", "value", "pod_name", "namespace", "tags"];
    let row = |at: &str| {
        let time = format!("2026-01-01 {at}");
        ["m_total", &time, "-1e-3", "p", "shop", "{'a': \"b\"}"].map(str::to_owned).to_vec()
    };
    let mut broken = row("10:02:00");
    broken[1] = "never".into();
    let rows = vec![row("10:01:00"), row("10:00:00"), broken].into_iter();
    recording.file("metrics/pod_p_raw.tsv", table(&header, rows));
    recording.write();
    recording
}

struct Place {
    recording: Recording,
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { recording: recording(), folder: tempfile::tempdir().unwrap() }
    }

    fn options(&self) -> ReadOptions {
        let at = CacheAt::Folder(self.folder.path().join("made/on demand"));
        ReadOptions { cache: Some(at), ..Default::default() }
    }

    fn open(&self) -> Snapshot {
        Snapshot::open(self.recording.path(), &self.options()).unwrap()
    }

    fn file(&self) -> PathBuf {
        let files = fs::read_dir(self.folder.path().join("made/on demand")).unwrap();
        let files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
        let [file] = &files[..] else { panic!("{files:?}") };
        file.clone()
    }
}

/// Everything that a snapshot holds, without where it came from.
fn content(snapshot: &Snapshot) -> String {
    format!("{snapshot:?}").replace("from_cache: true", "from_cache: false")
}

#[test]
fn a_cached_snapshot_is_the_same() {
    let place = Place::new();
    let plain = place.recording.open();
    let first = place.open();
    let second = place.open();
    assert_eq!((first.is_from_cache(), second.is_from_cache()), (false, true));
    assert_eq!(content(&first), content(&plain));
    assert_eq!(content(&second), content(&plain));
    assert!(second.warnings().iter().any(|line| line.contains("pod_p_raw.tsv line 4")));
    assert!(!fs::read(place.file()).unwrap().windows(14).any(|part| part == b"hunter2hunter2"));
}

#[test]
fn a_changed_source_is_read_anew() {
    let place = Place::new();
    let logs = place.recording.path().join("otel_logs_raw.tsv");
    place.open();
    assert!(place.open().is_from_cache());
    // The same length and the same time of change, as a restored copy has.
    let before = fs::metadata(&logs).unwrap().modified().unwrap();
    let text = fs::read_to_string(&logs).unwrap().replace("line", "LINE");
    fs::write(&logs, text).unwrap();
    fs::File::options().write(true).open(&logs).unwrap().set_modified(before).unwrap();
    let anew = place.open();
    assert!(!anew.is_from_cache());
    assert!(content(&anew).contains("LINE"), "{anew:?}");
    assert!(place.open().is_from_cache());

    place.recording.file("metrics/pod_q_raw.tsv", "metric_name\n");
    assert!(!place.open().is_from_cache(), "a new file");
    fs::remove_file(place.recording.path().join("metrics/pod_q_raw.tsv")).unwrap();
    fs::remove_file(place.recording.path().join("metrics/pod_p_raw.tsv")).unwrap();
    let without = place.open();
    assert!(!without.is_from_cache(), "a file that is gone");
    assert!(without.warnings().iter().any(|line| line.contains("no metrics")));
}

#[test]
fn a_cancelled_cache_is_not_read_on() {
    let place = Place::new();
    place.open();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let stop = Stop::when(move || count.fetch_add(1, Ordering::Relaxed) > 0);
    let options = ReadOptions { stop: Some(stop), ..place.options() };
    let error = Snapshot::open(place.recording.path(), &options).unwrap_err();
    assert!(matches!(error, SnapshotError::Cancelled), "{error}");
    assert!(asked.load(Ordering::Relaxed) > 1, "it is asked while the cache is read");
}

#[test]
fn other_options_are_another_cache() {
    let place = Place::new();
    place.open();
    let fewer = ReadOptions { max_rows_per_file: 1, ..place.options() };
    let fewer = Snapshot::open(place.recording.path(), &fewer).unwrap();
    assert!(!fewer.is_from_cache());
    assert!(place.open().is_from_cache());
}

#[test]
fn a_broken_or_foreign_cache_is_ignored_and_replaced() {
    let place = Place::new();
    let plain = content(&place.open());
    let file = place.file();
    let good = fs::read(&file).unwrap();
    let check = |bytes: &[u8], what: &str| {
        fs::write(&file, bytes).unwrap();
        let snapshot = place.open();
        assert!(!snapshot.is_from_cache(), "{what}");
        assert_eq!(content(&snapshot), plain, "{what}");
        assert_eq!(fs::read(&file).unwrap(), good, "{what} was not replaced");
    };
    for end in [0, 5, 40, 71, 72, good.len() / 2, good.len() - 1] {
        check(&good[..end], &format!("cut at {end}"));
    }
    for at in [0, 9, 41, 72, good.len() / 2, good.len() - 1] {
        let mut broken = good.clone();
        broken[at] ^= 1;
        check(&broken, &format!("a bit at {at}"));
    }
    check(&[good.clone(), b"x".to_vec()].concat(), "more at the end");
    let other = Place::new();
    other.open();
    check(&fs::read(other.file()).unwrap(), "another snapshot's");
}

#[test]
fn a_place_that_cannot_be_written_is_a_warning() {
    let place = Place::new();
    let taken = place.recording.file("taken", "a file where a folder is wanted");
    let options = ReadOptions { cache: Some(CacheAt::Folder(taken)), ..ReadOptions::default() };
    let snapshot = Snapshot::open(place.recording.path(), &options).unwrap();
    let warnings = snapshot.warnings().join("\n");
    assert!(warnings.contains("cannot be written"), "{warnings}");
}

#[test]
fn the_cache_may_lie_beside_the_snapshot() {
    let parent = tempfile::tempdir().unwrap();
    let snapshot = parent.path().join("one");
    copy(recording().path(), &snapshot);
    let options = ReadOptions { cache: Some(CacheAt::BesideSnapshot), ..ReadOptions::default() };
    let first = Snapshot::open(&snapshot, &options).unwrap();
    assert!(parent.path().join("one.eog-cache").is_file());
    let second = Snapshot::open(&snapshot, &options).unwrap();
    assert!(second.is_from_cache());
    assert_eq!(content(&first), content(&second));
}

#[test]
fn processes_and_threads_do_not_disturb_each_other() {
    let place = Place::new();
    let plain = content(&place.recording.open());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(content(&place.open()), plain);
                }
            });
        }
    });
    place.file();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
