//! Planted secrets never come out again.

use serde_json::json;

use crate::support::{Recording, Span, config, window, workload};

const SECRETS: [&str; 6] = [
    "hunter2plain",
    "c2VjcmV0LW9uZQ",
    "c2VjcmV0LXR3bw",
    "kB9x7Qp2LmZ4vT8w",
    "s3ss10nT0k",
    "f1leS3cret",
];

#[test]
fn no_planted_secret_is_stored_or_shown() {
    let mut recording = Recording::new();
    let secret = |data: &str| {
        json!({"kind": "Secret", "metadata": {"name": "login", "namespace": "shop"},
            "data": {"anything": data}})
    };
    recording.object("10:00:00", secret("c2VjcmV0LW9uZQ"));
    recording.object("10:05:00", secret("c2VjcmV0LXR3bw"));
    let container = |key: &str| {
        json!({"name": "c", "args": ["--password", "hunter2plain"], "env": [
            {"name": "SECRET_KEY_BASE", "value": key},
            {"name": "DATABASE_URL", "value": "postgres://u:hunter2plain@db:5432/x"}]})
    };
    recording.object(
        "10:00:00",
        workload("Deployment", "web", container("kB9x7Qp2LmZ4vT8w"), json!([])),
    );
    recording.object("10:05:00", workload("Deployment", "web", container("f1leS3cret"), json!([])));
    let file = |value: &str| format!("[db]\nuser = bob\npassword = {value}\n");
    recording.object("10:00:00", config("app", "app.ini", &file("hunter2plain"), "09:00:00"));
    recording.object("10:05:00", config("app", "app.ini", &file("f1leS3cret"), "10:01:00"));
    recording.event(
        "10:03:00",
        json!({"object": {"reason": "Failed", "type": "Warning",
        "message": "bad password=hunter2plain", "lastTimestamp": "2026-01-01T10:03:00Z",
        "involvedObject": {"kind": "Deployment", "name": "web", "namespace": "shop"}}}),
    );
    for _ in 0..5 {
        recording.log("10:03:00", "web", "17", "error: Authorization: Bearer s3ss10nT0k");
    }
    for at in 0..5 {
        recording.span(Span {
            at: "10:03:00".into(),
            ids: ("t", format!("{at}"), String::new()),
            name: "GET /?token=s3ss10nT0k",
            kind: "Server",
            service: "web",
            ms: 1,
            failed: true,
            attributes: "{}",
        });
    }
    let labels = json!({"alertname": "ErrorRate", "service_name": "web", "namespace": "shop",
        "password": "hunter2plain"});
    recording.alert("10:05:00", labels, "2026-01-01T10:02:00Z");

    let snapshot = recording.open();
    let stored = format!("{snapshot:?}");
    let incident = snapshot.incident(&snapshot.graph());
    let described = format!("{incident:?}");
    let context = recording.context();
    let entities: Vec<_> = incident.topology.entities().cloned().collect();
    let pages: String = entities
        .iter()
        .map(|entity| format!("{:?}", context.page(entity, window("09:00:00", "11:00:00"), 1)))
        .collect();
    for secret in SECRETS {
        assert!(!stored.contains(secret), "stored: {secret}");
        assert!(!described.contains(secret) && !pages.contains(secret), "described: {secret}");
    }
    let changed: Vec<_> = incident
        .changes
        .iter()
        .map(|change| {
            let detail = change.change.clone().unwrap();
            (change.entity.to_string(), detail.path, detail.old, detail.new)
        })
        .collect();
    let masked = |number| Some(format!("[masked {number}]"));
    for (entity, path) in [
        ("shop/Secret/login", "data/anything"),
        ("shop/ConfigMap/app", "data/app.ini#db.password"),
        ("shop/Deployment/web", "spec/template/spec/containers[c]/env[SECRET_KEY_BASE]/value"),
    ] {
        let expected = (entity.to_owned(), path.to_owned(), masked(1), masked(2));
        assert!(changed.contains(&expected), "{entity}: {changed:#?}");
    }
    assert!(stored.contains("Bearer [masked]"), "{stored}");
}
