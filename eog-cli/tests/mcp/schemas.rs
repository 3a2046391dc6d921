//! What the tools say of themselves, and that their answers keep to it.

use std::collections::BTreeMap;

use rmcp::model::Tool;
use serde_json::{Value, json};

use super::support::{Place, call, client, complaint, content, parsed, serve};
use crate::common::{read, recording, run};

/// The formats that Rust has for numbers.
fn without_widths(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let width = value.as_str().unwrap_or_default();
                name != "format" || !["uint", "int", "double"].iter().any(|w| width.starts_with(w))
            });
            fields.values_mut().for_each(without_widths);
        }
        Value::Array(list) => list.iter_mut().for_each(without_widths),
        _ => {}
    }
}

#[tokio::test]
async fn every_tool_describes_itself() {
    let place = Place::new();
    let client = place.connect(client()).await;
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let runs = ["investigate", "resume", "rule_out", "fork", "close_incident"];
    let asks = ["explain", "diff", "list_investigations", "get_context"];
    let own = runs.into_iter().chain(asks);
    let expected: Vec<&str> =
        own.chain(eog_sre::tools::tools().iter().map(|tool| tool.name)).collect();
    assert_eq!(names, expected);
    for tool in &tools {
        let hints = tool.annotations.as_ref().unwrap();
        let stores = runs.contains(&&*tool.name);
        assert_eq!(hints.read_only_hint, Some(!stores), "{}", tool.name);
        assert_eq!(hints.open_world_hint, Some(false), "{}", tool.name);
        assert!(tool.title.is_some() && tool.description.as_ref().unwrap().len() > 80);
        for schema in [&tool.input_schema, tool.output_schema.as_ref().unwrap()] {
            assert_eq!(schema["type"], "object", "{}", tool.name);
            jsonschema::validator_for(&Value::Object((**schema).clone())).unwrap();
            let text = Value::Object((**schema).clone()).to_string();
            assert!(
                !text.contains("\"format\":\"uint"),
                "{}: not a format of JSON Schema",
                tool.name
            );
        }
    }
    // The arguments of the SRE tools are as they are, with the folder beside them. How wide a number
    // is in Rust is left out.
    for info in eog_sre::tools::tools() {
        let tool = tools.iter().find(|tool| tool.name == info.name).unwrap();
        let mut offered = tool.input_schema["properties"].as_object().unwrap().clone();
        assert!(offered.remove("path").is_some() && offered.remove("architecture").is_some());
        let mut own = info.args_schema();
        without_widths(&mut own);
        let own = own["properties"].as_object().cloned().unwrap_or_default();
        assert_eq!(offered, own, "{}", info.name);
    }
    // What is left out of an answer when it is empty is not required.
    let tree = tools.iter().find(|tool| tool.name == "get_trace_error_tree").unwrap();
    let required = &tree.output_schema.as_ref().unwrap()["required"];
    assert!(!required.as_array().unwrap().contains(&json!("notes")), "{required}");
    client.cancel().await.unwrap();
}

/// What an agent is shown unless a person asks for more.
#[tokio::test]
async fn the_list_for_agents_is_short_and_reaches_everything() {
    let place = Place::new();
    let client = serve(place.plain(), client()).await;
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let own = [
        "investigate",
        "resume",
        "rule_out",
        "fork",
        "close_incident",
        "explain",
        "diff",
        "list_investigations",
        "get_context",
        "query",
    ];
    assert_eq!(names, own);
    assert!(tools.iter().all(|tool| tool.output_schema.is_none()));
    let listed = serde_json::to_string(&tools).unwrap();
    let tokens = eog_prompts::TokenCounter::new("o200k_base").text(&listed);
    assert!(tokens <= 6_000, "{tokens} tokens");

    // Every table answers as the tool of its name does.
    let query = tools.iter().find(|tool| tool.name == "query").unwrap();
    let tables = query.input_schema["properties"]["table"]["enum"].as_array().unwrap();
    assert_eq!(tables.len(), eog_sre::tools::tools().len() - 1);
    for table in tables {
        let description = query.description.as_ref().unwrap();
        assert!(description.contains(&format!("- {}(", table.as_str().unwrap())), "{description}");
        let described = json!({"table": table, "describe": true});
        let described = parsed(client.call_tool(call("query", described)).await);
        assert_eq!(described["arguments"]["type"], "object", "{table}");
    }
    let asked = |arguments: Value| client.call_tool(call("query", arguments));
    let by_table = asked(json!({"table": "event_analysis", "path": "snap",
        "arguments": {"limit": 1}}));
    let by_table = parsed(by_table.await);
    let by_name = json!({"path": "snap", "limit": 1});
    let by_name = parsed(client.call_tool(call("event_analysis", by_name)).await);
    assert_eq!((by_table["total"].as_u64(), &by_table), (Some(1), &by_name));

    let wrong = complaint(asked(json!({"table": "events"})).await);
    assert!(wrong.contains("event_analysis"), "{wrong}");
    let wrong = json!({"table": "event_analysis", "path": "snap", "arguments": {"limt": 1}});
    let wrong = complaint(asked(wrong).await);
    assert!(wrong.contains("did you mean limit?"), "{wrong}");
    let of_bundle = json!({"table": "alert_summary", "path": "flash-sale",
        "arguments": {"columns": "alert"}});
    let of_bundle = parsed(asked(of_bundle).await);
    assert_eq!(of_bundle["rows"], json!([{"alert": "HttpErrorRate"}]), "{of_bundle}");
    let refused = json!({"table": "alert_analysis", "path": "flash-sale"});
    let refused = complaint(asked(refused).await);
    assert!(refused.contains("alert_analysis goes with a snapshot, and this is"), "{refused}");
    let alone = "(snapshots alone)";
    let description = query.description.as_ref().unwrap();
    for line in description.lines().filter(|line| line.starts_with("- ")) {
        let name = line.trim_start_matches("- ").split('(').next().unwrap();
        let of_bundles = eog_sre::tools::BundleToolbox::arguments(name).is_some();
        assert_eq!(line.ends_with(alone), !of_bundles, "{line}");
    }
    client.cancel().await.unwrap();
}

/// Checks answers against the schemas of their tools.
struct Checker(BTreeMap<String, jsonschema::Validator>);

impl Checker {
    fn new(tools: &[Tool]) -> Self {
        let validator = |tool: &Tool| {
            let schema = Value::Object((**tool.output_schema.as_ref().unwrap()).clone());
            (tool.name.to_string(), jsonschema::validator_for(&schema).unwrap())
        };
        Self(tools.iter().map(validator).collect())
    }

    fn check(&self, tool: &str, answer: &Value) {
        let errors: Vec<String> = self.0[tool]
            .iter_errors(answer)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{tool}: {errors:?}");
    }
}

#[tokio::test]
async fn answers_keep_to_their_schemas() {
    let place = Place::new();
    let client = place.connect(client()).await;
    let tools = client.list_all_tools().await.unwrap();
    let checker = Checker::new(&tools);
    let calls = [
        ("investigate", json!({"path": "flash-sale"})),
        ("investigate", json!({"path": "snap", "profile": "paper"})),
        ("resume", json!({"investigation": "inv-000001"})),
        ("explain", json!({"investigation": "inv-000001", "entity": "database"})),
        ("diff", json!({"first": "inv-000001", "second": "inv-000002"})),
        ("list_investigations", json!({})),
        ("get_context", evidence_on("flash-sale", "frontend")),
        ("get_context", evidence_on("snap", "cart")),
        ("event_analysis", json!({"path": "snap"})),
        ("alert_summary", json!({"path": "snap"})),
        ("alert_analysis", json!({"path": "snap"})),
        ("build_topology", json!({"path": "snap"})),
        ("get_context_contract", json!({"path": "snap", "entity": "cart"})),
        ("get_trace_error_tree", json!({"path": "snap"})),
    ];
    let of_bundle = eog_sre::tools::BundleToolbox::names().map(|tool| {
        let entity = ["get_context_contract", "topology_analysis"].contains(&tool);
        let arguments = if entity { json!({"entity": "database"}) } else { json!({}) };
        (tool, arguments)
    });
    let of_bundle: Vec<_> = of_bundle.collect();
    assert_eq!(of_bundle.len(), 9);
    let of_bundle = of_bundle.into_iter().map(|(tool, mut arguments)| {
        arguments["path"] = json!("flash-sale");
        (tool, arguments)
    });
    for (tool, arguments) in calls.into_iter().chain(of_bundle) {
        let result = client.call_tool(call(tool, arguments)).await.unwrap();
        assert!(!super::support::text(&result).is_empty(), "{tool} has text beside it");
        checker.check(tool, &content(Ok(result)));
    }
    let missing =
        complaint(client.call_tool(call("explain", json!({"investigation": "inv-000001"}))).await);
    assert!(missing.contains("entity: is missing"), "{missing}");
    client.cancel().await.unwrap();
}

fn evidence_on(path: &str, entity: &str) -> Value {
    json!({"path": path, "entity_id": entity, "start_time": "2026-01-01T09:30:00Z",
        "end_time": "2026-01-01T10:30:00Z", "page": 0, "visit": 2, "changed_neighbours": ["shop/x"]})
}

/// Every tool on a real recording, and a whole investigation of it.
#[tokio::test]
async fn a_real_recording_keeps_to_the_schemas() {
    let Some((snapshot, architecture)) = recording() else { return };
    let place = Place::new();
    let root = snapshot.parent().unwrap();
    let mut command = place.command();
    command.arg("--root").arg(root).arg("--architecture").arg(&architecture);
    let client = serve(command, client()).await;
    let tools = client.list_all_tools().await.unwrap();
    let checker = Checker::new(&tools);
    let name = snapshot.file_name().unwrap().to_str().unwrap();

    let found = content(client.call_tool(call("investigate", json!({"path": name}))).await);
    checker.check("investigate", &found);
    let out = place.state().join("direct");
    run!("investigate", snapshot, "--architecture", architecture, "--out", out).exits(0);
    let ledger = |path: &str| read(place.state().join(path));
    assert_eq!(ledger("inv-000001/ledger.jsonl"), ledger("direct/ledger.jsonl"));

    let origin = found["origins"][0]["entities"][0]["entity"].as_str().unwrap();
    let calls = [
        ("explain", json!({"investigation": "inv-000001", "entity": origin})),
        ("get_context_contract", json!({"entity": origin})),
        ("alert_summary", json!({})),
        ("alert_analysis", json!({"limit": 5})),
        ("event_analysis", json!({"limit": 5})),
        ("get_trace_error_tree", json!({})),
        ("get_metric_anomalies", json!({"limit": 5})),
        ("metric_analysis", json!({"limit": 5})),
        ("log_analysis", json!({})),
        ("k8s_spec_change_analysis", json!({"limit": 5})),
        ("get_k8_spec", json!({"entity": origin})),
        ("build_topology", json!({"limit": 5})),
        ("topology_analysis", json!({"entity": origin})),
    ];
    let mut answered = 0;
    for (tool, mut arguments) in calls {
        if tool != "explain" {
            arguments["path"] = json!(name);
        }
        let result = client.call_tool(call(tool, arguments)).await.unwrap();
        if result.is_error == Some(true) {
            eprintln!("{tool}: {}", super::support::text(&result));
            continue;
        }
        checker.check(tool, &content(Ok(result)));
        answered += 1;
    }
    assert!(answered >= 11, "only {answered} tools answered");
    client.cancel().await.unwrap();
}
