//! `close_incident`: an agent closes what a person has settled.

use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::support::{Place, call, client, serve, text};
use crate::common::run;

#[tokio::test]
async fn an_agent_closes_an_incident_and_the_command_finds_the_case() {
    let place = Place::new();
    let agent = serve(place.plain(), client()).await;
    let ask = async |tool: &'static str, arguments: Value| -> CallToolResult {
        agent.call_tool(call(tool, arguments)).await.unwrap()
    };
    ask("investigate", json!({"path": "flash-sale"})).await;
    let close = |more: Value| {
        let mut arguments = json!({"investigation": "inv-000001", "by": "ada"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ask("close_incident", arguments)
    };
    for (wrong, reason) in [
        (json!({}), "give `causes`, `not_in_topology` or"),
        (json!({"causes": ["fronted"]}), "did you mean frontend?"),
        (json!({"causes": ["frontend"], "nothing_wrong": true}), "contradict each other"),
        (json!({"causes": ["frontend"], "changes": ["chg-00"]}), "it has chg-"),
    ] {
        let refused = close(wrong).await;
        assert_eq!(refused.is_error, Some(true), "{}", text(&refused));
        assert!(text(&refused).contains(reason), "{}", text(&refused));
    }
    let closed = close(json!({"causes": ["frontend"], "note": "the sale"})).await;
    assert!(text(&closed).contains("exact"), "{}", text(&closed));
    let again = text(&close(json!({"nothing_wrong": true})).await);
    assert!(
        again.contains("is there already") && again.contains("`replace` replaces it"),
        "{again}"
    );
    agent.cancel().await.unwrap();

    let cases = place.state().join("cases");
    run!("cases", "list", "--cases", cases).exits(0).prints(&["flash-sale-", "exact", "ada"]);
    run!("cases", "check", "--cases", cases).exits(0).prints(&["1 identical"]);
}
