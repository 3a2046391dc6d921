//! `get_k8_spec`.

use serde_json::{Value, json};

use crate::support::{Recording, config};
use crate::{refusal, toolbox};

fn recording() -> Recording {
    let mut recording = Recording::new();
    let settings = |mode: &str, written: &str| {
        config(
            "settings",
            "app.json",
            &json!({"mode": mode, "token": "Zq8rT1xW"}).to_string(),
            written,
        )
    };
    recording.object("10:00:00", settings("off", "09:00:00"));
    recording.object("10:05:00", settings("off", "09:00:00"));
    recording.object("10:10:00", settings("on", "10:07:00"));
    recording
}

#[test]
fn equal_dumps_are_one_state() {
    let tools = toolbox(recording().open());
    let ask = |arguments: Value| tools.call("get_k8_spec", arguments).unwrap();
    let path = "data/app.json#mode";
    let all = ask(json!({"entity": "settings", "all_observations": true, "field": path}));
    assert_eq!(all["entity"], "shop/ConfigMap/settings");
    assert_eq!((&all["states"], &all["first_seen"]), (&json!(2), &json!("2026-01-01T10:00:00Z")));
    assert_eq!(
        all["observations"]["rows"],
        json!([
            {"first_seen": "2026-01-01T10:00:00Z", "last_seen": "2026-01-01T10:05:00Z", "spec": "off"},
            {"first_seen": "2026-01-01T10:10:00Z", "last_seen": "2026-01-01T10:10:00Z", "spec": "on"},
        ])
    );
    let last = ask(json!({"entity": "ConfigMap/settings", "field": "data"}));
    assert_eq!(
        last["observations"]["rows"][0]["spec"],
        json!({"app.json": {"mode": "on", "token": "[masked 1]"}})
    );
    for (at, expected) in [("2026-01-01T10:09:59Z", "off"), ("2026-01-01T10:10:00Z", "on")] {
        let at = json!({"entity": "settings", "field": path, "at": at});
        assert_eq!(ask(at)["observations"]["rows"][0]["spec"], expected);
    }
}

#[test]
fn what_is_not_there_is_reported() {
    let tools = toolbox(recording().open());
    let cases = [
        (json!({}), "entity: is missing"),
        (json!({"entity": "setings"}), "did you mean shop/ConfigMap/settings?"),
        (json!({"entity": "settings", "field": "dota"}), "did you mean data?"),
        (
            json!({"entity": "settings", "at": "2026-01-01T09:00:00Z"}),
            "is from 2026-01-01T10:00:00Z",
        ),
        (json!({"entity": "settings", "at": "soon"}), "invalid arguments for get_k8_spec"),
        (
            json!({"entity": "settings", "at": "2026-01-01T10:00:00Z", "all_observations": true}),
            "leave one of them out",
        ),
    ];
    for (arguments, expected) in cases {
        let error = refusal(&tools, "get_k8_spec", arguments);
        assert!(error.contains(expected), "{error}");
    }
}
