//! Reading options of the command line: a cache that changes nothing, and a bound on memory.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const ALERTS: &str = r#"[{"labels": {"alertname": "HighErrorRate", "service_name": "web",
    "namespace": "shop"}, "state": "firing", "activeAt": "2026-01-01T10:02:00Z", "value": "1"}]"#;

fn eog(snapshot: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eog"));
    command.arg("investigate").arg(snapshot).args(["--format", "json"]).args(arguments);
    command.output().unwrap()
}

#[test]
fn a_cache_changes_nothing_but_the_time() {
    let place = tempfile::tempdir().unwrap();
    let (snapshot, cache) = (place.path().join("one"), place.path().join("cache"));
    fs::create_dir_all(snapshot.join("alerts")).unwrap();
    fs::write(snapshot.join("alerts/alerts_at_2026-01-01T10-05-00.json"), ALERTS).unwrap();
    let plain = eog(&snapshot, &[]);
    assert!(plain.stdout.starts_with(b"{"), "{plain:?}");
    let cache = cache.to_str().unwrap();
    for _ in 0..2 {
        assert_eq!(eog(&snapshot, &["--cache", cache]), plain);
        assert_eq!(fs::read_dir(cache).unwrap().count(), 1);
    }
}

#[test]
fn a_snapshot_that_may_not_fit_is_refused() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join("alerts")).unwrap();
    let file = place.path().join("alerts/alerts_at_2026-01-01T10-05-00.json");
    fs::write(file, ALERTS.repeat(10)).unwrap();
    let refused = eog(place.path(), &["--max-memory", "1K"]);
    assert_eq!(refused.status.code(), Some(4));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("memory") && said.contains("--max-memory"), "{said}");
    let wrong = eog(place.path(), &["--max-memory", "much"]);
    assert_eq!(wrong.status.code(), Some(2));
}
