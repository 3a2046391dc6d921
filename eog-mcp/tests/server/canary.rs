//! A secret in every text of an incident, searched for in all that a client receives and all that is stored.

use std::fs;
use std::path::Path;

use rmcp::model::ReadResourceRequestParams;
use serde_json::{Value, json};

use crate::support::{Held, Place, call, client, connect};

/// Of a secret whose end names the text that it stands in.
const CANARY: &str = "Qz7Kw2Vn9Xt4Lp8R";

/// A text with a canary of its own, and a word that is no secret.
fn planted(place: &str) -> String {
    format!("seen-{place} postgres://app:{CANARY}{place}@db:5432/x")
}

fn row(value: &Value) -> String {
    format!("2026-01-01 10:00:00\t\"{}\"\n", value.to_string().replace('"', "\"\""))
}

fn write_bundle(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let write = |file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
    let manifest = json!({"format": "eog-bundle", "version": 1, "name": "canaries",
        "topology": {"entities": ["web"], "edges": []}});
    let alerts = json!([{"name": "ErrorRate", "entity": "web", "signal": "errors",
        "onset": "2026-01-01T10:00:00Z", "description": planted("alert")}]);
    let changes = json!([{"time": "2026-01-01T09:58:00Z", "entity": "web", "path": "settings.text",
        "old": planted("old"), "new": planted("new"), "description": planted("change")}]);
    write("bundle.json", &manifest.to_string());
    write("alerts.json", &alerts.to_string());
    write("changes.json", &changes.to_string());
    let logs: String = (0..12)
        .map(|second| format!("2026-01-01T10:00:{second:02}Z,web,error,{}\n", planted("log")))
        .collect();
    write("logs.csv", &format!("time,entity,level,message\n{logs}"));
    let event = planted("event");
    write(
        "events.csv",
        &format!(
            "time,entity,reason,signal,message\n\
             2026-01-01T10:00:00Z,web,OutOfMemory,exhaustion,{event}\n"
        ),
    );
}

fn write_snapshot(folder: &Path) {
    fs::create_dir_all(folder.join("alerts")).unwrap();
    fs::create_dir_all(folder.join("metrics")).unwrap();
    let write = |file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
    let alert = json!([{"labels": {"alertname": "HighErrorRate", "service_name": "web",
        "namespace": "shop", "memo": planted("label")}, "annotations": {"summary": planted("annotation")},
        "state": "firing", "activeAt": "2026-01-01T10:00:00Z"}]);
    write("alerts/alerts_at_2026-01-01T10-01-00.json", &alert.to_string());
    let event = json!({"object": {"apiVersion": "v1", "metadata": {"uid": "web-1"},
        "involvedObject": {"kind": "Pod", "name": "web-1", "namespace": "shop"},
        "reason": "Unhealthy", "type": "Warning", "message": planted("kubeevent"), "count": 2,
        "lastTimestamp": "2026-01-01T10:00:00Z"}});
    write("k8s_events_raw.tsv", &format!("Timestamp\tBody\n{}", row(&event)));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1",
        "namespace": "shop", "uid": "web-1", "annotations": {"memo": planted("object")}},
        "spec": {"containers": [{"name": "web", "args": [planted("argument")],
            "env": [{"name": "MEMO", "value": planted("variable")}]}]},
        "status": {"phase": "Running"}});
    write("k8s_objects_raw.tsv", &format!("Timestamp\tBody\n{}", row(&pod)));
    let tags = json!({"memo": planted("tag")}).to_string().replace('"', "\"\"");
    let points = format!(
        "metric_name\ttimestamp\tvalue\tpod_name\tnamespace\ttags\n\
         cpu\t2026-01-01 09:59:00\t1.0\tweb-1\tshop\t\"{tags}\"\n\
         cpu\t2026-01-01 10:00:00\t2.0\tweb-1\tshop\t\"{tags}\"\n"
    );
    write("metrics/pod_web-1_raw.tsv", &points);
}

/// All files below a folder, by their paths.
fn files(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => {
                let bytes = fs::read(&path).unwrap();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                found.push((path.display().to_string(), text));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_reaches_a_client_or_is_stored() {
    let (place, held) = (Place::new(), Held::free());
    let settings = place.settings();
    write_bundle(&settings.roots[0].join("bundle"));
    write_snapshot(&settings.roots[0].join("snap"));
    let server = place.server(&held);
    let (client, _serving) = connect(&server, client()).await;

    let window = |path: &str, entity: &str| {
        json!({"path": path, "entity_id": entity, "start_time": "2026-01-01T09:30:00Z",
            "end_time": "2026-01-01T10:30:00Z"})
    };
    let calls = [
        ("investigate", json!({"path": "bundle"})),
        ("investigate", json!({"path": "snap"})),
        ("explain", json!({"investigation": "inv-000001", "entity": "web"})),
        ("diff", json!({"first": "inv-000001", "second": "inv-000002"})),
        ("list_investigations", json!({})),
        ("get_context", window("bundle", "web")),
        ("get_context", window("snap", "shop/Pod/web-1")),
        ("event_analysis", json!({"path": "snap"})),
        ("alert_summary", json!({"path": "snap"})),
        ("alert_analysis", json!({"path": "snap"})),
        ("build_topology", json!({"path": "snap"})),
        ("get_context_contract", json!({"path": "snap", "entity": "shop/Pod/web-1"})),
        ("get_trace_error_tree", json!({"path": "snap"})),
        ("event_analysis", json!({"path": "bundle"})),
        ("alert_summary", json!({"path": "bundle"})),
        ("log_analysis", json!({"path": "bundle"})),
        ("k8s_spec_change_analysis", json!({"path": "bundle"})),
        ("get_context_contract", json!({"path": "bundle", "entity": "web"})),
    ];
    let mut written = Vec::new();
    for (tool, arguments) in calls {
        let reply = client.call_tool(call(tool, arguments)).await.unwrap();
        assert_ne!(reply.is_error, Some(true), "{tool}: {reply:?}");
        written.push((tool.to_owned(), serde_json::to_string(&reply).unwrap()));
    }
    for resource in client.list_all_resources().await.unwrap() {
        let wanted = ReadResourceRequestParams::new(resource.uri.clone());
        let read = client.read_resource(wanted).await.unwrap();
        written.push((resource.uri.clone(), serde_json::to_string(&read).unwrap()));
    }
    let before = written.len();
    files(&settings.state, &mut written);
    assert!(before > 18 && written.len() > before, "{before} of {}", written.len());

    for place in ["alert", "old", "new", "log", "event", "kubeevent"] {
        let word = format!("seen-{place} ");
        assert!(
            written.iter().any(|(_, text)| text.contains(&word)),
            "{place} is not shown at all"
        );
    }
    let leaks: Vec<_> = written.iter().filter(|(_, text)| text.contains(CANARY)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}

/// What is recorded of an incident is readable by its owner alone.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_can_be_read_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    fn check(path: &Path) -> usize {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", path.display());
        if !path.is_dir() {
            return 1;
        }
        fs::read_dir(path).unwrap().map(|entry| check(&entry.unwrap().path())).sum()
    }

    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let (client, _serving) = connect(&server, client()).await;
    client.call_tool(call("investigate", json!({"path": "incident"}))).await.unwrap();
    assert!(check(&place.settings().state) >= 2, "the ledger and the journal are there");
}
