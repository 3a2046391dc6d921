//! A client on standard input and output.

use std::sync::{Arc, Mutex};

use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResult, ResourceContents,
};
use rmcp::service::{NotificationContext, RoleClient};
use serde_json::{Value, json};

use super::support::{Piped, Place, call, client, complaint, content, serve, text};
use crate::common::{investigate_json, read, run};

/// A client that keeps the progress that it is sent.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<(f64, String)>>>);

impl ClientHandler for Listener {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.0.lock().unwrap().push((params.progress, params.message.unwrap()));
    }
}

#[tokio::test]
async fn an_investigation_over_mcp_is_that_of_the_command() {
    let (place, listener) = (Place::new(), Listener::default());
    let client = place.connect(listener.clone()).await;
    let folder = json!({"path": "flash-sale"});
    let result = client.call_tool(call("investigate", folder)).await.unwrap();
    assert!(text(&result).contains("Investigation inv-000001"), "{}", text(&result));
    let answer = content(Ok(result));

    let (folder, out) = (place.roots().join("flash-sale"), place.state().join("direct"));
    let (_, direct, _) = investigate_json!(folder, "--out", out);
    let origins: Vec<&Value> = answer["origins"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|group| group["entities"].as_array().unwrap())
        .map(|origin| &origin["entity"])
        .collect();
    let expected: Vec<&Value> = direct["conclusion"]["frontier"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|group| group["origins"].as_array().unwrap())
        .collect();
    assert!(!origins.is_empty());
    assert_eq!(origins, expected);
    assert_eq!(answer["confidence"], direct["conclusion"]["confidence"]);
    let ledger = |path: &str| read(place.state().join(path));
    assert_eq!(ledger("inv-000001/ledger.jsonl"), ledger("direct/ledger.jsonl"));

    // One notification for each entry, each further than the one before.
    let progress = listener.0.lock().unwrap().clone();
    let entries = ledger("direct/ledger.jsonl").lines().count();
    assert_eq!(progress.len(), entries, "{progress:?}");
    assert!(
        progress.iter().enumerate().all(|(at, (step, _))| *step == (at + 1) as f64),
        "{progress:?}"
    );
    assert!(progress[0].1.starts_with("entry 0: opened: 7 entities, 1 alert"), "{progress:?}");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn stored_investigations_are_explained_compared_and_read() {
    let place = Place::new();
    let client = place.connect(client()).await;
    let first = content(client.call_tool(call("investigate", json!({"path": "flash-sale"}))).await);
    let small = json!({"path": "flash-sale", "budget": 3});
    let second = content(client.call_tool(call("investigate", small)).await);
    assert_eq!(second["stop"], "stopped: policy-call budget exhausted, entities still waiting");

    let origin = first["origins"][0]["entities"][0]["entity"].clone();
    let about = json!({"investigation": "inv-000001", "entity": origin});
    let explained = content(client.call_tool(call("explain", about)).await);
    assert_eq!((&explained["label"], &explained["entity"]), (&json!("origin"), &origin));
    assert!(!explained["hangs_on"].as_array().unwrap().is_empty(), "{explained}");
    let about = json!({"investigation": "inv-000001", "entity": "database"});
    let explained = content(client.call_tool(call("explain", about)).await);
    let message = explained["evaluations"][1]["heard"][0].as_str().unwrap();
    assert!(message.starts_with("processor is "), "{explained}");

    // What speaks against it as the cause; against the cause, nothing.
    let against = &explained["not_a_cause"];
    assert!(against.to_string().contains("named instead: frontend"), "{explained}");
    let about = json!({"investigation": "inv-000001", "entity": origin});
    let cause = content(client.call_tool(call("explain", about)).await);
    assert_eq!(cause["not_a_cause"], json!([]));

    // Why it was not evaluated is an answer; an unknown name gets similar ones.
    let about = json!({"investigation": "inv-000002", "entity": "mailer"});
    let unjudged = content(client.call_tool(call("explain", about)).await);
    assert_eq!(unjudged["label"], "not evaluated");
    assert!(!unjudged["summary"].as_str().unwrap().is_empty(), "{unjudged}");
    assert_eq!(unjudged["evaluations"], json!([]));
    let about = json!({"investigation": "inv-000001", "entity": "frontent"});
    let said = complaint(client.call_tool(call("explain", about)).await);
    assert!(said.contains("there is no entity frontent") && said.contains("frontend"), "{said}");
    let about = json!({"path": "flash-sale", "entity_id": "databse",
        "start_time": "2026-03-20T11:38:00Z", "end_time": "2026-03-20T12:30:00Z"});
    let result = client.call_tool(call("get_context", about)).await.unwrap();
    let text: String =
        result.content.iter().filter_map(|it| it.as_text()).map(|it| &*it.text).collect();
    assert!(text.contains("no entity databse; similar: database"), "{text}");

    let both = json!({"first": "inv-000001", "second": "inv-000002"});
    let compared = content(client.call_tool(call("diff", both)).await);
    assert_eq!(
        (&compared["equal"], &compared["settings"][0]["name"]),
        (&json!(false), &json!("budget"))
    );

    let listed = content(client.call_tool(call("list_investigations", json!({"limit": 1}))).await);
    assert_eq!(
        (&listed["total"], &listed["investigations"][0]["investigation"]),
        (&json!(2), &json!("inv-000002"))
    );

    let searches = ["lats", "bfs", "beam", "hypotheses", "treeseeker", "react"];
    for controller in searches {
        let search = json!({"path": "flash-sale", "controller": controller});
        content(client.call_tool(call("investigate", search)).await);
    }
    let resources = client.list_all_resources().await.unwrap();
    // The tree is offered of tree searches alone.
    assert_eq!(resources.len(), 4 + 4 + 5 * searches.len());
    assert_eq!(client.list_all_resource_templates().await.unwrap().len(), 5);
    for (tail, begins) in [
        ("ledger", "{\"seq\":0"),
        ("report", "# "),
        ("graph.dot", "digraph"),
        ("graph.mermaid", "flowchart"),
    ] {
        let address = format!("eog://investigations/inv-000001/{tail}");
        assert!(resources.iter().any(|resource| resource.uri == address), "{address}");
        let read = client.read_resource(ReadResourceRequestParams::new(address)).await.unwrap();
        assert!(only_text(&read).starts_with(begins), "{tail}: {read:?}");
    }
    for (number, controller) in (3..).zip(searches) {
        let address = format!("eog://investigations/inv-{number:06}/tree");
        let read = client.read_resource(ReadResourceRequestParams::new(address)).await.unwrap();
        let tree = only_text(&read);
        assert!(tree.starts_with(controller) && tree.contains("\n└─ "), "{tree}");
    }
    for wrong in [
        "eog://investigations/inv-000009/ledger",
        "eog://investigations/../ledger",
        "file:///etc/passwd",
    ] {
        let error = client.read_resource(ReadResourceRequestParams::new(wrong)).await.unwrap_err();
        assert!(error.to_string().contains("there is no"), "{wrong}: {error}");
    }
    client.cancel().await.unwrap();
}

fn only_text(read: &ReadResourceResult) -> &str {
    match &read.contents[..] {
        [ResourceContents::TextResourceContents { text, .. }] => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn answers_to_wrong_calls_say_what_would_be_right() {
    let place = Place::new();
    let outside = place.roots().join("../secret");
    std::fs::create_dir(&outside).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, place.roots().join("link")).unwrap();
    let client = place.connect(client()).await;

    let unknown = client.call_tool(call("investgate", json!({}))).await.unwrap_err().to_string();
    assert!(
        unknown.contains("there is no tool \"investgate\"; the tools are investigate,"),
        "{unknown}"
    );

    let arguments = json!({"pth": "x", "budget": 0, "profile": "fast", "window": 5});
    let wrong = complaint(client.call_tool(call("investigate", arguments)).await);
    for name in ["pth: ", "did you mean path?", "budget: ", "profile: ", "window: "] {
        assert!(wrong.contains(name), "{name} is not in {wrong}");
    }
    let arguments = json!({"path": "snap", "limt": 1, "offset": "x"});
    let wrong = complaint(client.call_tool(call("event_analysis", arguments)).await);
    for name in ["limt: ", "did you mean limit?", "offset: "] {
        assert!(wrong.contains(name), "{name} is not in {wrong}");
    }
    let window = json!({"path": "flash-sale", "window": "yesterday"});
    let wrong = complaint(client.call_tool(call("investigate", window)).await);
    assert!(wrong.contains("window: ") && wrong.contains("give START/END"), "{wrong}");

    for path in ["../secret", "/etc", "link", "absent", "flash-sale/../../secret"] {
        let refused = complaint(client.call_tool(call("investigate", json!({"path": path}))).await);
        let expected = format!("{path}: nothing of that name below ");
        assert!(refused.starts_with(&expected) && refused.contains("flash-sale"), "{refused}");
        let refused = call("alert_summary", json!({"path": path}));
        assert!(complaint(client.call_tool(refused).await).starts_with(&expected));
    }
    let arguments = json!({"path": "flash-sale", "entity": "x", "start_time": "noon", "page": -1});
    let wrong = complaint(client.call_tool(call("get_context", arguments)).await);
    for name in ["entity: ", "did you mean entity_id?", "end_time: is missing", "page: "] {
        assert!(wrong.contains(name), "{name} is not in {wrong}");
    }
    let arguments = json!({"path": "flash-sale", "entity_id": "x", "start_time": "noon",
        "end_time": "2026-01-01T10:00:00Z"});
    let wrong = complaint(client.call_tool(call("get_context", arguments)).await);
    assert!(wrong.contains("start_time: ") && wrong.contains("give RFC 3339"), "{wrong}");
    for (tool, arguments, expected) in [
        (
            "get_k8_spec",
            json!({"path": "flash-sale", "entity": "database"}),
            "get_k8_spec goes with a snapshot, and this is a bundle; bundles answer get_",
        ),
        (
            "alert_summary",
            json!({"path": "flash-sale", "state": "firing"}),
            "state goes with a snapshot; of a bundle: entity, ",
        ),
        (
            "alert_summary",
            json!({"path": "flash-sale", "architecture": "flash-sale/bundle.json"}),
            "`architecture` goes with a snapshot, but this is a bundle",
        ),
        // The former name, and others that people use.
        (
            "alert_summary",
            json!({"snapshot": "snap"}),
            "snapshot: there is no such argument; did you mean path?",
        ),
        (
            "event_analysis",
            json!({"bundle": "flash-sale"}),
            "bundle: there is no such argument; did you mean path?",
        ),
    ] {
        let refused = complaint(client.call_tool(call(tool, arguments)).await);
        assert!(refused.contains(expected), "{tool}: {refused}");
    }
    let missing = json!({"investigation": "inv-000007"});
    let unknown = complaint(client.call_tool(call("resume", missing)).await);
    assert!(unknown.contains("there is no investigation \"inv-000007\""), "{unknown}");
    client.cancel().await.unwrap();
}

/// Lines that are no messages: each gets an error, and the server goes on.
#[test]
fn junk_on_standard_input_is_answered() {
    let place = Place::new();
    let mut server = Piped::start(place.command());
    server.send_line("this is no JSON");
    assert_eq!(server.next()["error"]["code"], -32700);
    server.send_line(r#"{"id":"x","method":5}"#);
    let refused = server.next();
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32600), &json!("x")));
    server.send_line(&"x".repeat(3 << 20));
    let long = server.next();
    assert!(long["error"]["message"].as_str().unwrap().contains("longer than"), "{long}");
    server.send_line(r#"{"jsonrpc":"2.0","method":"another/notification"}"#);
    server.send_line(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert_eq!(server.next()["id"], 2);

    server.send_line(r#"{"jsonrpc":"2.0","id":3,"method":"tools/lst"}"#);
    let unknown = server.next();
    assert_eq!((&unknown["error"]["code"], &unknown["id"]), (&json!(-32601), &json!(3)));
    let message = unknown["error"]["message"].as_str().unwrap();
    for part in ["no method \"tools/lst\"", "tools/list"] {
        assert!(message.contains(part), "{message}");
    }
    drop(server.input.take());
    assert!(server.child.wait().unwrap().success(), "it ends with its client");
}

#[cfg(unix)]
#[tokio::test]
async fn a_policy_that_takes_too_long_is_recorded_as_failed() {
    let place = Place::new();
    let policy = crate::common::script(place.roots().join("slow.sh"), "exec sleep 3600");
    let options = ["--toolset", "full", "--policy-timeout", "1", "--policy", &policy];
    let client = serve(place.with(&options), client()).await;
    let answer = content(client.call_tool(call("investigate", json!({"path": "snap"}))).await);
    // Once in its turn, and twice more before the end, because the alert is not explained.
    assert_eq!((&answer["failed"], &answer["evaluations"]), (&json!(3), &json!(3)), "{answer}");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn only_as_many_investigations_stay_as_are_to_be_kept() {
    let place = Place::new();
    let client = serve(place.with(&["--toolset", "full", "--keep", "2"]), client()).await;
    for _ in 0..3 {
        content(client.call_tool(call("investigate", json!({"path": "snap"}))).await);
    }
    let listed = content(client.call_tool(call("list_investigations", json!({}))).await);
    let ids: Vec<&Value> = listed["investigations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["investigation"])
        .collect();
    assert_eq!(ids, ["inv-000003", "inv-000002"]);
    let gone = json!({"investigation": "inv-000001"});
    let gone = complaint(client.call_tool(call("resume", gone)).await);
    assert!(gone.contains("there is no investigation \"inv-000001\""), "{gone}");
    client.cancel().await.unwrap();
}

#[test]
fn a_state_folder_below_a_root_is_refused() {
    let place = Place::new();
    let state = place.roots().join("flash-sale/state");
    let refused = run!("mcp", "serve", "--root", place.roots(), "--state", state).exits(2);
    refused.says(&["is inside the root", "outside every root"]);
    assert!(!state.exists(), "nothing is made");
}

/// An investigation that cannot even begin leaves nothing, and makes no room for itself.
#[cfg(unix)]
#[tokio::test]
async fn on_a_full_disk_nothing_is_left_and_nothing_is_lost() {
    let place = Place::new();
    let keep = ["--keep", "1"];
    let client = place.connect_with(&keep, None, Listener::default()).await;
    let investigate = || call("investigate", json!({"path": "flash-sale"}));
    content(client.call_tool(investigate()).await);
    client.cancel().await.unwrap();
    let stored = |place: &Place| {
        let entries = place.state().read_dir().unwrap().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.retain(|name| name.starts_with("inv-"));
        names
    };
    assert_eq!(stored(&place), ["inv-000001"]);

    // How it began fits on the disk, its first entry does not.
    let client = place.connect_with(&keep, Some(4), Listener::default()).await;
    for _ in 0..3 {
        let failed = client.call_tool(investigate()).await;
        let said = failed.map_or_else(|error| error.to_string(), |result| text(&result));
        assert!(said.contains("journal"), "{said}");
    }
    client.cancel().await.unwrap();
    assert_eq!(stored(&place), ["inv-000001"], "the good result is there, and nothing else");
}
