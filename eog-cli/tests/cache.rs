//! Reading options of the command line: a cache that changes nothing, and a bound on memory.

use std::fs;
use std::path::Path;

use crate::common::run;

const ALERTS: &str = r#"[{"labels": {"alertname": "HighErrorRate", "service_name": "web",
    "namespace": "shop"}, "state": "firing", "activeAt": "2026-01-01T10:02:00Z", "value": "1"}]"#;

fn snapshot(folder: &Path, alerts: &str) {
    fs::create_dir_all(folder.join("alerts")).unwrap();
    fs::write(folder.join("alerts/alerts_at_2026-01-01T10-05-00.json"), alerts).unwrap();
}

#[test]
fn a_cache_changes_nothing_but_the_time() {
    let place = tempfile::tempdir().unwrap();
    let (one, cache) = (place.path().join("one"), place.path().join("cache"));
    snapshot(&one, ALERTS);
    let plain = run!("investigate", one, "--format", "json");
    assert!(plain.out.starts_with('{'), "{plain:?}");
    for _ in 0..2 {
        assert_eq!(run!("investigate", one, "--format", "json", "--cache", cache), plain);
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);
    }
}

#[test]
fn a_snapshot_that_may_not_fit_is_refused() {
    let place = tempfile::tempdir().unwrap();
    snapshot(place.path(), &ALERTS.repeat(10));
    let refused = run!("investigate", place, "--max-memory", "1K");
    refused.exits(4).says(&["memory", "--max-memory"]);
    run!("investigate", place, "--max-memory", "much").exits(2);
}
