//! `eog mcp serve` with a model: it opens, judges and reports as for `eog investigate`, and a call that is
//! cancelled in any phase leaves what `resume` goes on with.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, ClientRequest, ReadResourceRequestParams,
    Request, ResourceContents,
};
use rmcp::service::{PeerRequestOptions, RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

use super::diagnosis::PHASES;
use super::lab::{Lab, flash_sale};
use super::reader::{SUMMARY, Start, read};
use super::server::{Reply, Server};

/// Longest time that anything may take, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

type Client = RunningService<RoleClient, ClientConfig>;

/// A client of a server whose root is the shipped example.
async fn connect(lab: &Lab, options: &[&str]) -> Client {
    let (root, state) = (flash_sale(), lab.path("state"));
    let root = ["mcp", "serve", "--toolset", "full", "--root", root.to_str().unwrap()];
    let state = ["--state", state.to_str().unwrap()];
    let mut command = lab.eog(&[&root[..], &state[..], options].concat());
    command.stdin(Stdio::piped());
    let transport = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
    ClientConfig::default().serve(transport).await.unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "tests write the arguments where they call")]
fn call(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

/// All that an answer says: its text, and its structured content.
fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| block.as_text()).map(|text| &*text.text);
    let structured = result.structured_content.as_ref().map(ToString::to_string);
    texts.chain(structured.as_deref()).collect()
}

async fn content(client: &Client, tool: &'static str, arguments: Value) -> Value {
    let result = client.call_tool(call(tool, arguments)).await.unwrap();
    assert_ne!(result.is_error, Some(true), "{}", text(&result));
    result.structured_content.unwrap()
}

fn ledger(lab: &Lab, folder: &str) -> String {
    std::fs::read_to_string(lab.path(folder).join("ledger.jsonl")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_opens_judges_and_reports_over_mcp() {
    let server = Server::start(|asked| read(asked, Start::Alerts));
    let lab = Lab::at(&server, "");
    let (run, expected) = lab.ledger(&[]);
    assert_eq!(run.code, Some(0), "{}", run.said);
    let asked = server.take().len();

    let client = connect(&lab, &[]).await;
    let found = client.call_tool(call("investigate", json!({}))).await.unwrap();
    assert!(text(&found).contains(SUMMARY), "{}", text(&found));
    assert!(ledger(&lab, "state/inv-000001") == expected, "another ledger");
    assert_eq!((server.phases(), server.seen().len()), (PHASES.to_vec(), asked));
    let report = ReadResourceRequestParams::new("eog://investigations/inv-000001/report");
    let report = client.read_resource(report).await.unwrap();
    let [ResourceContents::TextResourceContents { text, .. }] = &report.contents[..] else {
        panic!("{report:?}")
    };
    assert!(text.contains(SUMMARY), "{text}");

    // What is stored is not asked again.
    server.take();
    content(&client, "resume", json!({"investigation": "inv-000001"})).await;
    assert_eq!(server.seen().len(), 0);
    client.cancel().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_in_any_phase_goes_on() {
    let server = Server::start(|asked| read(asked, Start::Alerts));
    let (_, expected) = Lab::at(&server, "").ledger(&[]);
    let all = server.seen().len();
    for phase in ["bootstrap", "explore", "finalize"] {
        let silent = Arc::new(AtomicBool::new(true));
        let is_silent = Arc::clone(&silent);
        let server = Server::start(move |asked| {
            match asked.phase() == phase && is_silent.load(Ordering::SeqCst) {
                true => Reply::Hang,
                false => read(asked, Start::Alerts),
            }
        });
        let lab = Lab::at(&server, "");
        let client = connect(&lab, &[]).await;
        let request = ClientRequest::CallToolRequest(Request::new(call("investigate", json!({}))));
        let options = PeerRequestOptions::no_options();
        let handle = client.send_cancellable_request(request, options).await.unwrap();
        let server = tokio::task::spawn_blocking(move || {
            server.wait(|seen| seen.last().is_some_and(|asked| asked.phase() == phase));
            server
        });
        let server = server.await.unwrap();
        handle.cancel(Some("no longer needed".to_owned())).await.unwrap();
        tokio::time::timeout(PATIENCE, async {
            while content(&client, "list_investigations", json!({})).await["running"] != 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
        .expect("it ends");
        let asked = server.take();
        assert_eq!(asked.last().unwrap().phase(), phase, "no request follows");
        let listed = content(&client, "list_investigations", json!({})).await;
        // Without a model to write it, a result is whole.
        let status = if phase == "finalize" { "finished" } else { "interrupted" };
        assert_eq!(listed["investigations"][0]["status"], status, "{phase}: {listed}");

        silent.store(false, Ordering::SeqCst);
        let id = json!({"investigation": "inv-000001"});
        let resumed = client.call_tool(call("resume", id)).await.unwrap();
        assert!(text(&resumed).contains(SUMMARY), "{phase}: {}", text(&resumed));
        assert!(ledger(&lab, "state/inv-000001") == expected, "{phase}: another ledger");
        let again = server.seen().len() + asked.len();
        assert_eq!(again, all + 1, "{phase}: the interrupted request is repeated");
        client.cancel().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn time_that_is_up_before_the_start_is_reported() {
    let server = Server::start(|_| Reply::Hang);
    let lab = Lab::at(&server, "");
    let client = connect(&lab, &[]).await;
    let result = client.call_tool(call("investigate", json!({"seconds": 1}))).await.unwrap();
    let expected = "the time limit was reached before inv-000001 could choose where to start";
    assert!(text(&result).contains(expected), "{}", text(&result));
    client.cancel().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_refused_is_reported_to_the_client() {
    let server = Server::start(|_| Reply::Status(401, "x", "y"));
    let lab = Lab::at(&server, "");
    let client = connect(&lab, &[]).await;
    let result = client.call_tool(call("investigate", json!({}))).await.unwrap();
    assert_eq!(result.is_error, Some(true), "{}", text(&result));
    assert!(text(&result).contains("401"), "{}", text(&result));
    client.cancel().await.unwrap();
}
