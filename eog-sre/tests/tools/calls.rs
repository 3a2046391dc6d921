//! What holds for every tool: names, examples, refusals, equal bytes for equal calls.

use eog_sre::tools::tools;
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
                let lacks = ["knows no entity", "there is no metric", "no line is from"];
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
fn wrong_calls_are_told_what_would_be_right() {
    let tools = toolbox(recording().open());
    let error = refusal(&tools, "event_analisys", json!({}));
    assert_eq!(error, "there is no tool \"event_analisys\"; did you mean event_analysis?");
    for tool in eog_sre::tools::tools() {
        let error = refusal(&tools, tool.name, json!({"entitty": "x"}));
        assert!(error.starts_with(&format!("the arguments of {} do not fit", tool.name)));
        let takes_entity = error.contains("`entity`");
        assert!(!takes_entity || error.contains("did you mean entity?"), "{error}");
        assert!(refusal(&tools, tool.name, json!([1, 2])).contains("do not fit"));
        assert!(refusal(&tools, tool.name, json!({"limit": -1})).contains("do not fit"));
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
