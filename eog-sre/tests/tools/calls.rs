//! What holds for every tool: names, examples, refusals, equal bytes for equal calls.

use eog_sre::tools::{AlertSummary, Length, Names, Query, TableQuery, tools};
use serde_json::{Value, json};

use crate::support::{Recording, workload};
use crate::{refusal, toolbox};

fn recording() -> Recording {
    let mut recording = Recording::new();
    for clock in ["10:00:00", "10:05:00"] {
        let image = json!({"name": "c", "image": clock});
        recording.object(clock, workload("Deployment", "cart", image, json!([])));
        let service = json!({"kind": "Service", "metadata": {"name": "cart", "namespace": "shop"},
            "spec": {"selector": {"app": "cart"}}});
        recording.object(clock, service);
        let settings = json!({"kind": "ConfigMap", "data": {},
            "metadata": {"name": "settings", "namespace": "shop"}});
        recording.object(clock, settings);
    }
    let labels = json!({"alertname": "Errors", "namespace": "shop", "service_name": "cart"});
    recording.alert("10:05:00", labels, "2026-01-01T10:01:00Z");
    recording
}

#[test]
fn every_tool_has_examples_that_run_and_give_the_same_bytes_again() {
    let (once, again) = (toolbox(recording().open()), toolbox(recording().open()));
    for tool in tools() {
        assert!(!tool.summary.is_empty() && !tool.examples.is_empty(), "{}", tool.name);
        for example in tool.examples {
            let arguments: Value = serde_json::from_str(example).unwrap();
            let text = once.call_text(tool.name, arguments.clone());
            // An example may name an entity or metric that this snapshot lacks, and nothing else.
            let Ok(text) = text else {
                let error = text.unwrap_err().to_string();
                let lacks = ["there is no entity", "there is no metric", "no line comes from"];
                let lacking = lacks.iter().any(|part| error.contains(part));
                assert!(lacking, "{} {example}: {error}", tool.name);
                continue;
            };
            assert_eq!(text, again.call_text(tool.name, arguments.clone()).unwrap());
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value, once.call(tool.name, arguments).unwrap());
        }
    }
}

#[test]
fn wrong_calls_are_answered_with_what_would_be_right() {
    let tools = toolbox(recording().open());
    let error = refusal(&tools, "event_analisys", json!({}));
    assert_eq!(error, "there is no tool \"event_analisys\"; did you mean event_analysis?");
    for tool in eog_sre::tools::tools() {
        let error = refusal(&tools, tool.name, json!({"entitty": "x"}));
        assert!(error.starts_with(&format!("invalid arguments for {}: ", tool.name)));
        let takes_entity = error.contains("`entity`");
        assert!(!takes_entity || error.contains("did you mean entity?"), "{error}");
        assert!(refusal(&tools, tool.name, json!([1, 2])).contains("invalid arguments"));
        assert!(refusal(&tools, tool.name, json!({"limit": -1})).contains("invalid arguments"));
    }
}

#[test]
fn a_typed_question_and_a_call_by_name_answer_the_same() {
    let toolbox = toolbox(recording().open());
    let query =
        Query { sort: Names(vec!["-alert".to_owned()]), limit: Some(1), ..Query::default() };
    let alerts = AlertSummary { state: None, min_duration: Some(Length::from_secs(0)) };
    let typed = toolbox.ask(&TableQuery::of(alerts, query)).unwrap();
    let arguments = json!({"min_duration": 0, "sort": "-alert", "limit": 1});
    let named = toolbox.call("alert_summary", arguments).unwrap();
    assert_eq!((serde_json::to_value(typed).unwrap(), &named["total"]), (named.clone(), &json!(1)));
}

#[cfg(feature = "schema")]
#[test]
fn every_argument_that_is_described_is_read() {
    let toolbox = toolbox(recording().open());
    for tool in tools() {
        for name in tool.args_schema()["properties"].as_object().unwrap().keys() {
            let Err(error) = toolbox.call(tool.name, json!({name: null})) else { continue };
            assert!(!error.to_string().contains("unknown field"), "{} {name}: {error}", tool.name);
        }
    }
}

#[cfg(feature = "schema")]
#[test]
fn every_argument_is_described() {
    for tool in tools() {
        let schema = tool.args_schema();
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        for (name, argument) in schema["properties"].as_object().unwrap() {
            assert!(argument["description"].is_string(), "{} {name}: {argument}", tool.name);
        }
    }
}

#[test]
fn no_tool_shows_a_secret() {
    let secret = "Zq8rT1xWv5";
    let mut recording = recording();
    for (clock, value) in [("10:00:00", secret.to_owned()), ("10:05:00", format!("{secret}9"))] {
        let env = json!({"name": "c", "env": [{"name": "DB_PASSWORD", "value": value}]});
        recording.object(clock, workload("Deployment", "pay", env, json!([])));
        recording.object(
            clock,
            json!({"kind": "Secret", "data": {"user": value},
            "metadata": {"name": "login", "namespace": "shop"}}),
        );
        let text = format!("{{\"password\": \"{value}\"}}");
        recording.object(
            clock,
            json!({"kind": "ConfigMap", "data": {"a.json": text},
            "metadata": {"name": "conf", "namespace": "shop"}}),
        );
    }
    recording.event(
        "10:01:00",
        json!({"reason": "Failed", "type": "Warning",
        "metadata": {"uid": "1"}, "lastTimestamp": "2026-01-01T10:01:00Z",
        "message": format!("cannot log in with password={secret}"),
        "involvedObject": {"kind": "Pod", "name": "pay-1", "namespace": "shop"}}),
    );
    let labels = json!({"alertname": "Locked", "namespace": "shop", "service_name": "pay",
        "api_token": secret});
    recording.alert("10:05:00", labels, "2026-01-01T10:01:00Z");
    let toolbox = toolbox(recording.open());
    let mut calls: Vec<(&str, Value)> = vec![
        ("alert_analysis", json!({"columns": "alert,labels.api_token"})),
        ("k8s_spec_change_analysis", json!({"entity": "shop/*"})),
    ];
    for entity in ["Deployment/pay", "Secret/login", "ConfigMap/conf"] {
        calls.push(("get_k8_spec", json!({"entity": entity, "all_observations": true})));
    }
    calls.extend(
        ["alert_summary", "event_analysis", "build_topology"].map(|name| (name, json!({}))),
    );
    let mut masked = 0;
    for (name, arguments) in calls {
        let text = toolbox.call_text(name, arguments).unwrap();
        assert!(!text.contains(secret), "{name}: {text}");
        masked += usize::from(text.contains("[masked"));
    }
    assert!(masked >= 6, "{masked} answers show that something is masked");
}

#[cfg(feature = "schema")]
#[test]
fn odd_arguments_are_answered_or_refused() {
    let toolbox = toolbox(recording().open());
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let odd = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("*"),
        json!("((((("),
        json!("a=~("),
        json!("\u{0}\u{202e}é"),
        json!("x".repeat(100_000)),
        json!([]),
        json!([""]),
        json!(["count", "count"]),
        json!({}),
        json!({"": ""}),
        json!({"time": "<"}),
        json!({"start": "2026-01-01T10:00:00Z"}),
        deep,
    ];
    for tool in tools() {
        let schema = tool.args_schema();
        for name in schema["properties"].as_object().unwrap().keys() {
            for value in &odd {
                let mut arguments = json!({"entity": "Deployment/cart"});
                arguments[name] = value.clone();
                if let Err(error) = toolbox.call(tool.name, arguments) {
                    assert!(error.to_string().chars().count() < 3000, "{} {name}", tool.name);
                }
            }
        }
    }
}
