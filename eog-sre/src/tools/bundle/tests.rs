use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::{Anomaly, EntityId, EvidenceKind, Timestamp, Window};
use eog_evidence::{
    BundleContext, BundleWriter, ChangeRecord, EventRecord, LogLine, Manifest, ManifestEdge,
    ManifestTopology, Series,
};
use serde_json::{Value, json};

use super::*;

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + minute * 60).unwrap()
}

fn entity(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

fn series(name: &str, metric: &str, peer: Option<&str>, value: impl Fn(i64) -> f64) -> Series {
    Series {
        entity: entity(name),
        kind: EvidenceKind::Metric,
        metric: metric.to_owned(),
        signal: Signal::Latency,
        unit: "ms".to_owned(),
        peer: peer.map(|peer| Peer { entity: entity(peer), role: PeerRole::Callee }),
        points: (0..60).map(|minute| (at(minute), value(minute))).collect(),
    }
}

fn line(minute: i64, level: &str, message: &str) -> (EntityId, LogLine) {
    let (level, message) = (level.to_owned(), message.to_owned());
    let (signal, peer, trace) = (None, None, None);
    (entity("web"), LogLine { time: at(minute), level, message, signal, peer, trace })
}

fn writer() -> BundleWriter {
    let mut manifest = Manifest::new("night");
    manifest.window = Window::new(at(30), at(60)).ok();
    manifest.topology = ManifestTopology {
        entities: vec![entity("mailer")],
        edges: vec![ManifestEdge {
            source: entity("web"),
            target: entity("db"),
            relation: "asks".to_owned(),
            effects: eog_core::incident::EffectDirection::TargetToSource,
        }],
    };
    let mut writer = BundleWriter::new(manifest);
    writer.alerts = vec![Anomaly::new("Slow", entity("web"), Signal::Latency, at(40))];
    writer.changes = vec![ChangeRecord {
        time: at(35),
        entity: entity("db"),
        signal: Signal::Configuration,
        path: "pool.size".to_owned(),
        old: Some("8".to_owned()),
        new: Some("1".to_owned()),
        description: String::new(),
    }];
    writer.events = vec![EventRecord {
        time: at(36),
        entity: entity("db"),
        reason: "Restarted".to_owned(),
        signal: Signal::Availability,
        message: "it came back".to_owned(),
        peer: None,
    }];
    let step = |minute: i64| if minute < 36 { 10.0 } else { 90.0 };
    let noise = |minute: i64| (minute % 3) as f64;
    writer.metrics = vec![
        series("web", "p95", None, step),
        series("web", "wait", Some("db"), |minute| 100.0 + noise(minute)),
    ];
    writer.logs =
        (30..40).map(|minute| line(minute, "INFO", &format!("served {minute}"))).collect();
    writer.logs.extend((40..43).map(|minute| line(minute, "ERROR", &format!("lost {minute}"))));
    writer
}

fn asked(tool: &str, arguments: Value) -> Result<Value, ToolError> {
    let bundle = writer().to_bundle();
    let (incident, context) = (bundle.incident(), BundleContext::new(bundle));
    let text = BundleToolbox::new(&incident, &context).call_text(tool, arguments)?;
    Ok(serde_json::from_str(&text).unwrap())
}

#[test]
fn every_name_is_one_of_a_tool_over_snapshots_that_takes_the_same_arguments() {
    for known in TOOLS {
        assert!(tools().iter().any(|tool| tool.name == known.name), "{}", known.name);
        #[cfg(feature = "schema")]
        {
            let tool = tools().iter().find(|tool| tool.name == known.name).unwrap();
            let schema = tool.args_schema();
            for argument in known.arguments {
                assert!(schema["properties"][*argument].is_object(), "{} {argument}", known.name);
            }
        }
    }
}

#[test]
fn records_are_rows() {
    let rows = |tool: &str, arguments: Value| asked(tool, arguments).unwrap()["rows"].clone();
    assert_eq!(
        rows("alert_summary", json!({"columns": "alert,entity,activations"})),
        json!([{"alert": "Slow", "entity": "web", "activations": 1}])
    );
    assert_eq!(rows("alert_summary", json!({"entity": "db"})), json!([]));
    assert_eq!(
        rows(
            "event_analysis",
            json!({"columns": "entity,reason,signal", "filters": {"reason": "Re*"}})
        ),
        json!([{"entity": "db", "reason": "Restarted", "signal": "availability"}])
    );
    assert_eq!(
        rows("k8s_spec_change_analysis", json!({"columns": "type,path,old,new"})),
        json!([{"type": "changed", "path": "pool.size", "old": "8", "new": "1"}])
    );
    let later = json!({"window": {"start": at(37).to_string()}});
    assert_eq!(rows("event_analysis", later), json!([]));
}

#[test]
fn metrics_are_derived_by_entity_and_by_time() {
    let rows = |arguments: Value| asked("metric_analysis", arguments).unwrap()["rows"].clone();
    let most = json!({"derive": {"most": "max(wait) - max(p95)", "db": "max(wait{peer=\"db\"})"}});
    assert_eq!(rows(most), json!([{"entity": "web", "db": 102.0, "most": 12.0}]));
    let halves =
        rows(json!({"derive": "share = p95 / wait * 100", "bucket": "30m", "group_by": "signal"}));
    assert_eq!(halves.as_array().unwrap().len(), 2, "{halves}");
    let wrong = |arguments: Value| asked("metric_analysis", arguments).unwrap_err().to_string();
    assert!(wrong(json!({"derive": "x = p96"})).contains("p95"));
    assert!(wrong(json!({"derive": "x = p95", "metrics": "p95"})).contains("cannot be combined"));
    assert!(wrong(json!({"derive": "x = p95{pod=\"a\"}"})).contains("there is no column"));
    assert!(wrong(json!({"derive": "x = p95", "aggregates": "rate"})).contains("counters"));
}

#[test]
fn metrics_are_given_by_series_by_group_and_by_time() {
    let rows = |arguments: Value| asked("metric_analysis", arguments).unwrap()["rows"].clone();
    let each = rows(json!({"columns": "metric,peer,count,max", "sort": "metric"}));
    assert_eq!(
        each,
        json!([
            {"metric": "p95", "peer": null, "count": 60.0, "max": 90.0},
            {"metric": "wait", "peer": "db", "count": 60.0, "max": 102.0}
        ])
    );
    // Different metrics are never put together.
    let grouped = rows(json!({"group_by": "entity", "aggregates": "min"}));
    assert_eq!(grouped.as_array().unwrap().len(), 2, "{grouped}");
    let hour = rows(json!({"metrics": "p95", "bucket": "30m", "aggregates": "mean"}));
    let means: Vec<&Value> = hour.as_array().unwrap().iter().map(|row| &row["mean"]).collect();
    assert_eq!(means, [&json!(10.0), &json!(74.0)]);
}

#[test]
fn series_that_shifted_follow_the_rules_of_findings() {
    let answer = asked("get_metric_anomalies", json!({})).unwrap();
    assert_eq!((&answer["compared"], &answer["too_short"]), (&json!(2), &json!(0)));
    assert_eq!(answer["total"], 1);
    let row = &answer["rows"][0];
    assert_eq!((&row["metric"], &row["trend"]), (&json!("p95"), &json!("rising")));
    assert_eq!((&row["baseline"], &row["observed"]), (&json!(10.0), &json!(90.0)));
    assert_eq!(row["onset"], json!(at(36).to_string()));
}

#[test]
fn lines_are_grouped_by_what_they_say() {
    let answer =
        asked("log_analysis", json!({"columns": "pattern,lines,percent,severity"})).unwrap();
    assert_eq!(answer["lines"], 13);
    assert_eq!(
        answer["rows"],
        json!([
            {"pattern": "served <*>", "lines": 10, "percent": 76.923, "severity": "info"},
            {"pattern": "lost <*>", "lines": 3, "percent": 23.077, "severity": "error"}
        ])
    );
    let of = |arguments: Value| asked("log_analysis", arguments).unwrap()["lines"].clone();
    assert_eq!(of(json!({"severity": "err"})), 3);
    assert_eq!(of(json!({"text": "SERVED 30"})), 10);
    assert_eq!(of(json!({"window": {"start": at(42).to_string()}})), 1);
    assert_eq!(of(json!({"filters": {"lines": ">5"}})), 10);
}

#[test]
fn the_topology_has_relations_of_any_name() {
    let whole = asked("build_topology", json!({"relations": "asks"})).unwrap();
    assert_eq!(whole["edges"]["total"], 1);
    assert_eq!((&whole["nodes"]["total"], &whole["kinds"]), (&json!(3), &json!([])));
    let around = asked("topology_analysis", json!({"entity": "web"})).unwrap();
    assert_eq!(around["dependencies"]["rows"][0]["entity"], "db");
    assert_eq!(around["dependencies"]["rows"][0]["edge"], "web asks db");
}

#[test]
fn what_a_bundle_cannot_answer_is_refused_with_what_it_can() {
    for (tool, arguments, said) in [
        (
            "get_k8_spec",
            json!({}),
            "get_k8_spec goes with a snapshot, and this is a bundle; bundles answer get_",
        ),
        ("get_context", json!({}), "did you mean get_context_contract?"),
        (
            "alert_summary",
            json!({"state": "firing"}),
            "state goes with a snapshot; of a bundle: entity, ",
        ),
        (
            "event_analysis",
            json!({"entity": "dbb"}),
            "there is no entity \"dbb\"; did you mean db?",
        ),
        ("metric_analysis", json!({"aggregates": "rate"}), "which bundles do not hold"),
        (
            "metric_analysis",
            json!({"metrics": "p96"}),
            "there is no metric \"p96\"; the metrics are p95, wait",
        ),
        ("metric_analysis", json!({"group_by": "pod"}), "there is no column \"pod\"; "),
        ("log_analysis", json!({"severity": "loud"}), "there is no severity \"loud\"; "),
        ("get_context_contract", json!({"entity": "web", "page": 0}), "page: is not a number"),
        ("event_analysis", json!([]), "expected an object"),
    ] {
        let error = asked(tool, arguments).unwrap_err().to_string();
        assert!(error.contains(said), "{tool}: {error}");
    }
}
