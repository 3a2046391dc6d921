//! Calls that are given up, and clients that vanish.

use std::sync::Arc;
use std::time::Duration;

use eog::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Failure};
use eog_mcp::server::{Alone, ForRun, Judge, JudgeError, Policies, Server};
use rmcp::model::{ClientRequest, Request, ServerResult};
use rmcp::service::PeerRequestOptions;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::support::{
    EVALUATIONS, Held, PATIENCE, Place, call, client, connect, content, incident, open, serve,
    text, until,
};

/// Label and evaluations of an undisturbed run.
async fn undisturbed() -> Value {
    let (place, held) = (Place::new(), Held::free());
    let (client, _serving) = connect(&place.server(&held), client()).await;
    content(client.call_tool(call("investigate", incident())).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_leaves_what_resume_goes_on_with() {
    let (place, held) = (Place::new(), Held::allowing(1));
    let server = place.server(&held);
    let (client, _serving) = connect(&server, client()).await;
    let request = ClientRequest::CallToolRequest(Request::new(call("investigate", incident())));
    let options = PeerRequestOptions::no_options();
    let handle = client.send_cancellable_request(request, options).await.unwrap();
    held.until_waiting(1).await;
    handle.cancel(Some("no longer needed".to_owned())).await.unwrap();
    until(|| server.load() == (0, 0)).await;
    held.until_waiting(0).await;

    let listed = content(client.call_tool(call("list_investigations", json!({}))).await);
    let one = &listed["investigations"][0];
    assert_eq!(
        (&one["status"], &one["investigation"]),
        (&json!("interrupted"), &json!("inv-000001"))
    );

    held.allow(100);
    let asked = held.asked.load(std::sync::atomic::Ordering::SeqCst);
    let id = json!({"investigation": "inv-000001"});
    let mut resumed = content(client.call_tool(call("resume", id)).await);
    let asked = held.asked.load(std::sync::atomic::Ordering::SeqCst) - asked;
    assert_eq!(asked, EVALUATIONS - 1, "what the journal held was not asked again");
    let whole = undisturbed().await;
    // Calls that were cut short are not part of the result.
    resumed["policy_calls"] = whole["policy_calls"].clone();
    assert_eq!(resumed, whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_take_long_keep_no_short_one_waiting() {
    let (place, held) = (Place::new(), Held::allowing(EVALUATIONS));
    let server = place.server(&held);
    let (client, _serving) = connect(&server, client()).await;
    content(client.call_tool(call("investigate", incident())).await);
    // As many as there may be at once, and one that waits for its turn.
    let many = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).max(2);
    let asked = json!({"investigation": "inv-000001", "entity": "one"});
    let mut open = Vec::new();
    for _ in 0..=many {
        let explain = ClientRequest::CallToolRequest(Request::new(call("explain", asked.clone())));
        let options = PeerRequestOptions::no_options();
        open.push(client.send_cancellable_request(explain, options).await.unwrap());
    }
    held.until_waiting(many).await;
    let list = client.call_tool(call("list_investigations", json!({})));
    let listed = tokio::time::timeout(PATIENCE, list).await.expect("it does not wait");
    assert_eq!(content(listed)["total"], 1);
    // The waiting one is given up at once.
    let last = open.pop().unwrap();
    last.cancel(Some("no longer needed".to_owned())).await.unwrap();
    held.allow(1_000);
    for call in open {
        call.await_response().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_vanishes_leaves_nothing_running() {
    let (place, held) = (Place::new(), Held::allowing(1));
    let server = place.server(&held);
    let (theirs, serving) = serve(&server);
    let client = rmcp::ServiceExt::serve(client(), theirs).await.unwrap();
    let peer = client.peer().clone();
    let calls = tokio::spawn(async move {
        let calls = [0; 4].map(|_| peer.call_tool_once(call("investigate", incident())));
        let [a, b, c, d] = calls;
        let _ = tokio::join!(a, b, c, d);
    });
    // Two run, of which one has used what is allowed, and two wait.
    held.until_waiting(2).await;
    until(|| server.load() == (2, 2)).await;
    drop(client);
    calls.abort();
    tokio::time::timeout(PATIENCE, serving).await.expect("the connection ends").unwrap();
    assert_eq!(server.load(), (0, 0));
    held.until_waiting(0).await;
    assert!(place.stored("inv-000001").join("journal").is_file());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_stopped_ends_what_runs() {
    let (place, held) = (Place::new(), Held::allowing(0));
    let server = place.server(&held);
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(ours);
    let (stop, stopped) = oneshot::channel::<()>();
    let running = server.clone();
    let serving = tokio::spawn(async move {
        running.streams(read, write, async { stopped.await.unwrap_or_default() }).await
    });
    let client = rmcp::ServiceExt::serve(client(), theirs).await.unwrap();
    let peer = client.peer().clone();
    let call =
        tokio::spawn(async move { peer.call_tool_once(call("investigate", incident())).await });
    held.until_waiting(1).await;
    stop.send(()).unwrap();
    tokio::time::timeout(PATIENCE, serving).await.expect("it ends").unwrap().unwrap();
    assert_eq!(server.load(), (0, 0));
    held.until_waiting(0).await;
    call.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_leaves_the_server_to_the_others() {
    let (place, held) = (Place::new(), Held::allowing(0));
    let server = place.server(&held);
    let session = |ends: oneshot::Receiver<()>| {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(ours);
        let server = server.clone();
        let serving = tokio::spawn(async move {
            server.session(read, write, async { ends.await.unwrap_or_default() }).await
        });
        (theirs, serving)
    };
    let ((end, ends), (_open, never)) = (oneshot::channel(), oneshot::channel());
    let ((first, first_ends), (second, second_ends)) = (session(ends), session(never));
    let first = rmcp::ServiceExt::serve(client(), first).await.unwrap();
    let second = rmcp::ServiceExt::serve(client(), second).await.unwrap();
    let [gone, stays] = [&first, &second].map(|client| {
        let peer = client.peer().clone();
        tokio::spawn(async move { peer.call_tool_once(call("investigate", incident())).await })
    });
    held.until_waiting(2).await;
    end.send(()).unwrap();
    tokio::time::timeout(PATIENCE, first_ends).await.expect("it ends").unwrap().unwrap();
    until(|| server.load() == (1, 0)).await;
    held.until_waiting(1).await;
    gone.abort();
    // Clients that are still there are answered, and so is one that comes later.
    held.allow(100);
    assert!(stays.await.unwrap().is_ok());
    let (_open, never) = oneshot::channel();
    let later = rmcp::ServiceExt::serve(client(), session(never).0).await.unwrap();
    let listed = content(later.call_tool(call("list_investigations", json!({}))).await);
    let statuses = listed["investigations"].as_array().unwrap().iter().map(|it| &it["status"]);
    let mut statuses: Vec<_> = statuses.filter_map(Value::as_str).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, ["finished", "interrupted"]);
    server.close().await;
    tokio::time::timeout(PATIENCE, second_ends).await.expect("it ends").unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_investigation_that_runs_is_not_run_twice() {
    let (place, held) = (Place::new(), Held::allowing(0));
    let (client, _serving) = connect(&place.server(&held), client()).await;
    let peer = client.peer().clone();
    let first =
        tokio::spawn(async move { peer.call_tool_once(call("investigate", incident())).await });
    held.until_waiting(1).await;
    let id = json!({"investigation": "inv-000001"});
    let second = client.call_tool(call("resume", id)).await.unwrap();
    assert!(crate::support::text(&second).contains("inv-000001 is running"), "{second:?}");
    let listed = content(client.call_tool(call("list_investigations", json!({}))).await);
    assert_eq!(listed["investigations"][0]["status"], "running");
    held.allow(100);
    assert!(first.await.unwrap().is_ok());
}

/// The ledger as a resource, while the investigation runs.
#[tokio::test(flavor = "multi_thread")]
async fn resources_can_be_read_while_it_runs() {
    let (place, held) = (Place::new(), Held::allowing(1));
    let (client, _serving) = connect(&place.server(&held), client()).await;
    let peer = client.peer().clone();
    let run =
        tokio::spawn(async move { peer.call_tool_once(call("investigate", incident())).await });
    until(|| held.asked.load(std::sync::atomic::Ordering::SeqCst) == 2).await;
    let read = async |tail: &str| {
        let address = format!("eog://investigations/inv-000001/{tail}");
        let request = rmcp::model::ReadResourceRequestParams::new(address);
        match client.send_request(ClientRequest::ReadResourceRequest(Request::new(request))).await {
            Ok(ServerResult::ReadResourceResult(read)) => match &read.contents[0] {
                rmcp::model::ResourceContents::TextResourceContents { text, .. } => text.clone(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read("ledger").await.lines().count(), 2);
    assert!(read("report").await.contains("- Cost: 1 evaluation, 1 policy call; interrupted"));
    held.allow(100);
    run.await.unwrap().unwrap();
    let cost = format!("- Cost: {EVALUATIONS} evaluations, {EVALUATIONS} policy calls; converged");
    assert!(read("report").await.contains(&cost));
    assert_eq!(read("ledger").await.lines().count(), 1 + EVALUATIONS);
}

/// A policy that blocks its thread, so that nothing can stop it.
#[derive(Clone)]
struct Stuck(Arc<std::sync::Mutex<std::sync::mpsc::Receiver<()>>>);

impl Policies for Stuck {
    fn name(&self) -> String {
        "stuck".to_owned()
    }

    fn judge(&self, _run: ForRun<'_>) -> Result<Box<dyn Judge>, JudgeError> {
        Ok(Box::new(Alone(self.clone())))
    }
}

impl AbductivePolicy for Stuck {
    fn decide<'a>(&'a self, _packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        let _ = self.0.lock().unwrap().recv();
        Box::pin(std::future::ready(Err(Failure::policy("it was let go"))))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_stopped_is_not_waited_for_longer_than_is_said() {
    let place = Place::new();
    let (release, held) = std::sync::mpsc::channel();
    let stuck = Stuck(Arc::new(std::sync::Mutex::new(held)));
    let server = Server::open(place.settings(), Arc::new(stuck)).unwrap();
    let (theirs, serving) = serve(&server);
    let client = rmcp::ServiceExt::serve(client(), theirs).await.unwrap();
    let peer = client.peer().clone();
    let calls =
        tokio::spawn(async move { peer.call_tool_once(call("investigate", incident())).await });
    until(|| server.load() == (1, 0)).await;
    let gone = std::time::Instant::now();
    drop(client);
    calls.abort();
    tokio::time::timeout(PATIENCE, serving).await.expect("it ends").unwrap();
    // Twice: the library waits as long for answers that are under way.
    assert!(gone.elapsed() < Duration::from_secs(5 + 5 + 10), "{:?}", gone.elapsed());
    assert_eq!(server.load(), (1, 0), "it is still stuck");
    drop(release);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_run_counts_from_the_reading_of_its_folder_on() {
    let (place, held) = (Place::new(), Held::free());
    let mut settings = place.settings();
    settings.max_time = Duration::ZERO;
    let server = open(settings, &held);
    let (client, _serving) = connect(&server, client()).await;
    let refused = client.call_tool(call("investigate", incident())).await.unwrap();
    let said = text(&refused);
    assert_eq!(refused.is_error, Some(true), "{said}");
    assert!(said.contains("incident: the time limit was reached while it was read"), "{said}");
    let listed = content(client.call_tool(call("list_investigations", json!({}))).await);
    assert_eq!(listed["total"], 0, "nothing is left behind");
}
