//! What agents pay for: the list of tools, and typical answers, in tokens of `o200k_base`.

use eog_prompts::TokenCounter;
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::support::{Place, call, client, serve, text};
use crate::common::command;

/// For the list of tools, as it is sent.
const MAX_LIST: u64 = 6_000;
/// For a typical answer, as it is sent.
const MAX_ANSWER: u64 = 800;

fn tokens(value: &impl serde::Serialize) -> u64 {
    let counter = TokenCounter::new("o200k_base");
    assert!(counter.encoding().is_some(), "the vocabulary is there");
    counter.text(&serde_json::to_string(value).unwrap())
}

#[tokio::test]
async fn the_tools_and_their_answers_cost_an_agent_little() {
    let place = Place::new();
    let agent = serve(place.plain(), client()).await;
    let tools = agent.list_all_tools().await.unwrap();
    let listed = tokens(&tools);
    eprintln!("tools/list: {} tools, {listed} tokens", tools.len());
    assert!(listed <= MAX_LIST, "{listed}");

    let ask = async |tool: &'static str, arguments: Value| -> CallToolResult {
        let answer = agent.call_tool(call(tool, arguments)).await.unwrap();
        assert_ne!(answer.is_error, Some(true), "{tool}: {}", text(&answer));
        // Nothing is said twice.
        assert_eq!(answer.structured_content, None, "{tool}");
        let cost = tokens(&answer);
        eprintln!("{tool}: {cost} tokens");
        assert!(cost <= MAX_ANSWER, "{tool}: {cost} tokens: {}", text(&answer));
        answer
    };
    let found = ask("investigate", json!({"path": "flash-sale"})).await;
    assert!(text(&found).contains("Investigation inv-000001"), "{}", text(&found));
    let links: Vec<&str> = found
        .content
        .iter()
        .filter_map(|part| part.as_resource_link())
        .map(|link| link.uri.as_str())
        .collect();
    assert_eq!(links, ["eog://investigations/inv-000001/report"]);
    let about = |entity: &str| json!({"investigation": "inv-000001", "entity": entity});
    for entity in ["frontend", "gateway", "database"] {
        ask("explain", about(entity)).await;
    }
    let fork = json!({"investigation": "inv-000001", "at": 3, "messages": false});
    let forked = ask("fork", fork).await;
    assert!(text(&forked).contains("Investigation inv-000002"), "{}", text(&forked));
    ask("diff", json!({"first": "inv-000001", "second": "inv-000002"})).await;
    let ruled = ask("rule_out", about("frontend")).await;
    assert!(!text(&ruled).contains("ROOT CAUSE (confirmed)\n  frontend"), "{}", text(&ruled));
    let listed = ask("list_investigations", json!({})).await;
    assert!(text(&listed).starts_with("2 investigations; 0 run, 0 wait"), "{}", text(&listed));
    ask("query", json!({"table": "event_analysis", "path": "snap"})).await;
    let few = json!({"table": "event_analysis", "path": "flash-sale", "arguments": {"limit": 5}});
    ask("query", few).await;

    // A whole context is JSON, which another eog reads as it is.
    let window = json!({"path": "flash-sale", "entity_id": "gateway",
        "start_time": "2026-03-20T11:38:00Z", "end_time": "2026-03-20T12:30:00Z"});
    let context = ask("get_context", window).await;
    let read: eog::LocalContext = serde_json::from_str(&text(&context)).unwrap();
    assert!(!read.findings.is_empty(), "{}", text(&context));
    let unknown = json!({"path": "flash-sale", "entity_id": "databse",
        "start_time": "2026-03-20T11:38:00Z", "end_time": "2026-03-20T12:30:00Z"});
    let said = text(&agent.call_tool(call("get_context", unknown)).await.unwrap());
    assert!(said.contains("no entity databse; similar: database"), "{said}");
    agent.cancel().await.unwrap();
}

#[tokio::test]
async fn tools_that_a_bundle_refuses_are_not_listed() {
    let place = Place::new();
    let bundle = place.roots().join("flash-sale");
    let refused = ["alert_analysis", "get_k8_spec", "get_trace_error_tree"];
    for (toolset, listed) in [("compact", 10), ("full", 18)] {
        let serves = ["mcp", "serve", "--toolset", toolset, "--root"];
        let agent = serve(command!(serves, bundle, "--state", place.state()), client()).await;
        let tools = agent.list_all_tools().await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names.len(), listed, "{toolset}: {names:?}");
        // Nor is what it refuses of the others.
        let shown = serde_json::to_string(&tools).unwrap();
        for name in refused.into_iter().chain(["min_duration"]) {
            assert!(!shown.contains(name), "{toolset}: {name}");
        }
        // Nor is a folder to be named: there is one.
        let found = agent.call_tool(call("investigate", json!({}))).await.unwrap();
        assert!(text(&found).contains("frontend") || found.structured_content.is_some());
        let asked = match toolset {
            "compact" => call("query", json!({"table": "alert_summary"})),
            _ => call("alert_summary", json!({})),
        };
        let alerts = agent.call_tool(asked).await.unwrap();
        assert_ne!(alerts.is_error, Some(true), "{}", text(&alerts));
        let shown = serde_json::to_string(&alerts).unwrap();
        assert!(shown.contains("HttpErrorRate"), "{shown}");
        // The answer to a call of one by name says why not.
        let arguments = json!({"entity": "database"});
        let shown = text(&agent.call_tool(call("get_k8_spec", arguments)).await.unwrap());
        assert!(
            shown.contains("get_k8_spec goes with a snapshot, and this is a bundle"),
            "{shown}"
        );
        agent.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn what_cannot_be_forked_is_reported_and_leaves_nothing_behind() {
    let place = Place::new();
    let agent = serve(place.plain(), client()).await;
    let run = |arguments: Value| agent.call_tool(call("fork", arguments));
    agent.call_tool(call("investigate", json!({"path": "flash-sale"}))).await.unwrap();
    let lats = json!({"path": "flash-sale", "controller": "lats"});
    agent.call_tool(call("investigate", lats)).await.unwrap();
    for (arguments, reason) in [
        (json!({"investigation": "inv-000001", "at": 999}), "at: "),
        (json!({"investigation": "inv-000009", "at": 1}), "there is no investigation"),
        (
            json!({"investigation": "inv-000002", "at": 1, "messages": true}),
            "messages: has no effect with the controller lats",
        ),
    ] {
        let refused = run(arguments).await.unwrap();
        assert_eq!(refused.is_error, Some(true));
        assert!(text(&refused).contains(reason), "{reason}: {}", text(&refused));
    }
    let other = agent.call_tool(call("investigate", json!({"snapshot": "flash-sale"}))).await;
    let other = other.unwrap();
    assert!(text(&other).contains("snapshot: there is no such argument; did you mean path?"));
    assert_eq!(crate::on_call_lab::stored(&place.state()), 2);
    agent.cancel().await.unwrap();
}
