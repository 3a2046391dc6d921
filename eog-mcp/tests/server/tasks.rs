//! Long calls as tasks.

use std::time::Duration;

use rmcp::model::{
    CallToolResponse, CancelTaskParams, ClientCapabilities, ClientConfig, DetailedTask,
    GetTaskParams, Implementation, TaskPayload, UpdateTaskParams,
};
use rmcp::service::{Peer, RoleClient};
use serde_json::json;

use crate::support::{Held, Place, call, connect, incident, open, until};

fn with_tasks() -> ClientConfig {
    let able = ClientCapabilities::builder().enable_tasks().enable_elicitation().build();
    ClientConfig::new(able, Implementation::new("tasks", "1"))
}

async fn begin(peer: &Peer<RoleClient>, arguments: serde_json::Value) -> String {
    match peer.call_tool_once(call("investigate", arguments)).await.unwrap() {
        CallToolResponse::Task(created) => created.task.task_id,
        other => panic!("no task: {other:?}"),
    }
}

async fn state(peer: &Peer<RoleClient>, id: &str) -> DetailedTask {
    peer.get_task(GetTaskParams::new(id)).await.unwrap().task
}

/// Asks until the task has left the state that it is in.
async fn wait(
    peer: &Peer<RoleClient>,
    id: &str,
    leaves: impl Fn(&TaskPayload) -> bool,
) -> DetailedTask {
    loop {
        let task = state(peer, id).await;
        if leaves(&task.payload) {
            return task;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_investigation_is_a_task_where_the_client_has_tasks() {
    let (place, held) = (Place::new(), Held::allowing(1));
    let (client, _serving) = connect(&place.server(&held), with_tasks()).await;
    let id = begin(client.peer(), incident()).await;
    held.until_waiting(1).await;
    // The progress of an entry is sent a moment after it.
    let message = loop {
        let working = state(client.peer(), &id).await;
        assert!(matches!(working.payload, TaskPayload::Working), "{working:?}");
        let message = working.task.status_message.unwrap();
        if !message.starts_with("entry 0: ") {
            break message;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    assert!(message.starts_with("entry 1: ") && message.contains(" was deferred"), "{message}");
    held.allow(100);
    let done = wait(client.peer(), &id, |now| !matches!(now, TaskPayload::Working)).await;
    let TaskPayload::Completed { result } = done.payload else { panic!("{done:?}") };
    assert_eq!(result["structuredContent"]["investigation"], "inv-000001");
    // Short calls are answered at once.
    let listed =
        client.peer().call_tool_once(call("list_investigations", json!({}))).await.unwrap();
    assert!(matches!(listed, CallToolResponse::Complete(_)));
    assert!(client.peer().get_task(GetTaskParams::new("made-up")).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_task_stops_and_can_be_resumed() {
    let (place, held) = (Place::new(), Held::allowing(1));
    let server = place.server(&held);
    let (client, _serving) = connect(&server, with_tasks()).await;
    let id = begin(client.peer(), incident()).await;
    held.until_waiting(1).await;
    client.peer().cancel_task(CancelTaskParams::new(&id)).await.unwrap();
    let done = wait(client.peer(), &id, |now| !matches!(now, TaskPayload::Working)).await;
    assert!(matches!(done.payload, TaskPayload::Cancelled), "{done:?}");
    until(|| server.load() == (0, 0)).await;
    assert!(place.stored("inv-000001").join("journal").is_file());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_asks_and_takes_answers() {
    let (place, held) = (Place::new(), Held::free());
    let (client, _serving) = connect(&place.server(&held), with_tasks()).await;
    let id = begin(client.peer(), json!({"path": "incident", "ask": true})).await;
    let mut answered = Vec::new();
    let done = loop {
        let now = wait(client.peer(), &id, |now| !matches!(now, TaskPayload::Working)).await;
        let TaskPayload::InputRequired { input_requests } = &now.payload else { break now };
        let (key, _) = input_requests.iter().next().unwrap();
        let answer = json!({"action": "accept", "content": {"evidence": "it was replaced"}});
        let answers = [(key.clone(), answer)].into_iter().collect();
        client.peer().update_task(UpdateTaskParams::new(&id, answers)).await.unwrap();
        answered.push(key.clone());
    };
    answered.dedup();
    assert_eq!(answered, ["one", "three", "two"]);
    let TaskPayload::Completed { result } = done.payload else { panic!("{done:?}") };
    assert_eq!(result["structuredContent"]["without_evidence"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_not_asked_for_is_cancelled() {
    let (place, held) = (Place::new(), Held::allowing(1));
    let mut settings = place.settings();
    settings.task_patience = Duration::from_secs(2);
    let server = open(settings, &held);
    let (client, _serving) = connect(&server, with_tasks()).await;
    begin(client.peer(), incident()).await;
    held.until_waiting(1).await;
    until(|| server.load() == (0, 0)).await;
    held.until_waiting(0).await;
}
