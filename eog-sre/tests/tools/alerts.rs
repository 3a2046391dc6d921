//! `alert_summary` and `alert_analysis`.

use serde_json::json;

use crate::support::Recording;
use crate::{refusal, rows, toolbox};

fn recording() -> Recording {
    let mut recording = Recording::new();
    let errors = |severity: &str| {
        json!({"alertname": "HighErrorRate", "namespace": "shop",
        "service_name": "cart", "severity": severity, "team": "a"})
    };
    recording.alert("10:05:00", errors("warning"), "2026-01-01T10:01:00Z");
    recording.alert("10:06:00", errors("warning"), "2026-01-01T10:01:00Z");
    recording.alert("10:15:30", errors("warning"), "2026-01-01T10:15:00Z");
    recording.alert("10:15:30", errors("critical"), "2026-01-01T10:15:00Z");
    recording.alert("10:05:00", json!({"alertname": "Watchdog"}), "2026-01-01T08:00:00Z");
    let pending = json!([{"labels": {"alertname": "Slow", "namespace": "shop",
        "service_name": "web"}, "state": "pending", "activeAt": "2026-01-01T10:00:00Z"}]);
    recording.file("alerts/alerts_at_2026-01-01T10-07-00.json", pending.to_string());
    recording
}

#[test]
fn an_alert_is_summed_up_over_its_dumps() {
    let tools = toolbox(recording().open());
    let columns = [
        "alert",
        "entity",
        "severity",
        "state",
        "active_since",
        "first_seen",
        "last_seen",
        "minutes",
        "occurrences",
        "activations",
    ];
    assert_eq!(
        rows(&tools, "alert_summary", json!({}), &columns),
        [
            "HighErrorRate shop/Service/cart warning firing 2026-01-01T10:01:00Z \
             2026-01-01T10:05:00.1Z 2026-01-01T10:15:30.3Z 10.5 3 2",
            "Watchdog - - firing 2026-01-01T08:00:00Z \
             2026-01-01T10:05:00.5Z 2026-01-01T10:05:00.5Z 0.0 1 1",
            "Slow shop/Service/web - pending 2026-01-01T10:00:00Z \
             2026-01-01T10:07:00Z 2026-01-01T10:07:00Z 0.0 1 1",
            "HighErrorRate shop/Service/cart critical firing 2026-01-01T10:15:00Z \
             2026-01-01T10:15:30.4Z 2026-01-01T10:15:30.4Z 0.0 1 1",
        ]
    );
}

#[test]
fn a_summary_is_narrowed_by_state_length_window_and_entity() {
    let tools = toolbox(recording().open());
    let cases = [
        (json!({"state": "pending"}), vec!["Slow 1"]),
        (json!({"min_duration": "10m"}), vec!["HighErrorRate 3"]),
        (json!({"min_duration": "11m"}), vec![]),
        (json!({"window": "/2026-01-01T10:06:00Z"}), vec!["HighErrorRate 1", "Watchdog 1"]),
        (json!({"entity": "Service/web"}), vec!["Slow 1"]),
        (json!({"entity": "*/cart"}), vec!["HighErrorRate 3", "HighErrorRate 1"]),
        (json!({"filters": {"ignored": "", "severity": "warning"}}), vec!["HighErrorRate 3"]),
        (json!({"sort": "-occurrences", "limit": 1}), vec!["HighErrorRate 3"]),
    ];
    for (arguments, expected) in cases {
        let found = rows(&tools, "alert_summary", arguments.clone(), &["alert", "occurrences"]);
        assert_eq!(found, expected, "{arguments}");
    }
    let grouped = json!({"group_by": "entity", "aggregates": "count, sum(occurrences)"});
    assert_eq!(
        rows(&tools, "alert_summary", grouped, &["entity", "count", "sum(occurrences)"]),
        ["shop/Service/cart 2 4", "shop/Service/web 1 1", "- 1 1"]
    );
    let error = refusal(&tools, "alert_summary", json!({"state": "fireing"}));
    assert_eq!(error, "state: no alert is in the state \"fireing\"; did you mean firing?");
}

#[test]
fn every_alert_of_every_dump_is_a_row_with_its_labels() {
    let tools = toolbox(recording().open());
    let arguments = json!({"entity": "shop/Service/cart", "filters": ["labels.team=a"],
        "columns": "seen_at, minutes_active, value, labels.team", "sort": "-seen_at", "limit": 2});
    assert_eq!(
        rows(
            &tools,
            "alert_analysis",
            arguments,
            &["seen_at", "minutes_active", "value", "labels.team"]
        ),
        ["2026-01-01T10:15:30.4Z 0.5 0.2 a", "2026-01-01T10:15:30.3Z 0.5 0.2 a"]
    );
    let grouped = json!({"group_by": "alert", "aggregates": "count, min(active_at)"});
    assert_eq!(
        rows(&tools, "alert_analysis", grouped, &["alert", "count", "min(active_at)"]),
        [
            "HighErrorRate 4 2026-01-01T10:01:00Z",
            "Slow 1 2026-01-01T10:00:00Z",
            "Watchdog 1 2026-01-01T08:00:00Z",
        ]
    );
    let error = refusal(&tools, "alert_analysis", json!({"filters": {"labels.teem": "a"}}));
    assert!(error.contains("did you mean labels.team"), "{error}");
}
