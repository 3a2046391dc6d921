//! One change in several places, in every form of a report.

use serde_json::json;

use crate::common::{read, run};

const NODES: [&str; 4] = ["node-1", "node-2", "node-3", "node-4"];

/// Nodes without edges, on each of which a package was updated two minutes after the other, and errors followed.
fn bundle() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    let manifest = json!({ "format": "eog-bundle", "version": 1, "name": "fleet",
                           "topology": { "entities": NODES } });
    write("bundle.json", manifest.to_string());
    let at = |minute: usize| format!("2026-01-01T{:02}:{:02}:00Z", 10 + minute / 60, minute % 60);
    let changed = |place: usize| 40 + 2 * place;
    let alert = |(place, node): (usize, &&str)| json!({ "name": "ErrorRate", "entity": node, "signal": "errors", "onset": at(changed(place) + 5) });
    let change = |(place, node): (usize, &&str)| json!({ "time": at(changed(place)), "entity": node, "path": "kernel", "old": "6.1", "new": "6.2" });
    let nodes = || NODES.iter().enumerate();
    write("alerts.json", json!(nodes().map(alert).collect::<Vec<_>>()).to_string());
    write("changes.json", json!(nodes().map(change).collect::<Vec<_>>()).to_string());
    let mut metrics = "time,entity,metric,value,unit,signal\n".to_owned();
    for (place, node) in nodes() {
        for minute in 0..90 {
            let value = if minute <= changed(place) { 0.01 } else { 0.4 };
            metrics.push_str(&format!("{},{node},error_ratio,{value},ratio,errors\n", at(minute)));
        }
    }
    write("metrics.csv", metrics);
    folder
}

#[test]
fn one_change_on_many_nodes_is_one_cause_in_every_form() {
    let bundle = bundle();
    let line =
        "one change in 4 places, 2026-01-01 10:40:00Z to 10:46:00Z: kernel from \"6.1\" to \"6.2\"";
    let out = bundle.path().join("out");
    let short = run!("investigate", bundle, "--out", out).prints(&[line]).out;
    assert_eq!(short.matches("ROOT CAUSE").count(), 1, "{short}");
    assert!(NODES.iter().all(|node| short.contains(node)), "{short}");
    assert!(!short.contains("two causes at once"), "{short}");
    run!("investigate", bundle, "--verbose").prints(&[line]);
    let markdown = read(out.join("report.md"));
    assert_eq!(markdown.matches("## Root cause").count(), 1, "{markdown}");
    assert!(markdown.contains("## Root cause: one change in 4 places"), "{markdown}");
    assert!(read(out.join("report.html")).contains("one change in 4 places"));
    let json = run!("investigate", bundle, "--format", "json").json();
    let causes = json["conclusion"]["frontier"].as_array().unwrap();
    assert_eq!(causes.len(), 1, "{causes:?}");
    assert_eq!(causes[0]["origins"], json!(NODES));
    let shared = &causes[0]["shared_change"];
    assert_eq!(
        (&shared["places"], &shared["what"]),
        (&json!(NODES), &json!("kernel from \"6.1\" to \"6.2\""))
    );
}
