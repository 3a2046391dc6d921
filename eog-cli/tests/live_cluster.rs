//! The API of Kubernetes from the command line. The server is simulated: it gives recorded answers in the form of
//! the API, and alerts in that of Alertmanager.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::common::{Asked as Request, Run, answering, command};

const ANSWERS: &str = include_str!("../../eog-sources/tests/cluster/answers.json");

/// The window around the rollout of the database.
const WINDOW: &str = "2026-01-01T10:40:00Z/2026-01-01T11:00:00Z";

/// What a server was asked: method, address, credentials.
type Asked = Arc<Mutex<Vec<String>>>;

/// A server that answers as the API does; what is in `refused` is forbidden.
fn cluster(refused: &'static [&'static str]) -> (u16, Asked) {
    let asked = Asked::default();
    let seen = asked.clone();
    let port = answering(move |request| {
        seen.lock().unwrap().push(request.line.clone());
        let (status, body) = answer(request, refused);
        (status, body.to_string())
    });
    (port, asked)
}

fn answer(request: &Request, refused: &[&str]) -> (u16, Value) {
    let (path, query) = request.address();
    let token = request.header("authorization").eq_ignore_ascii_case("bearer test-token");
    let plural = path.rsplit('/').next().unwrap();
    let all: Value = serde_json::from_str(ANSWERS).unwrap();
    let of = |name: &str| query.split('&').find_map(|it| it.strip_prefix(&format!("{name}=")));
    if path == "/api/v2/alerts" {
        let alert = json!({
            "labels": {"alertname": "HighErrorRate", "namespace": "shop", "service": "web", "severity": "page"},
            "annotations": {"description": "requests fail"}, "fingerprint": "1",
            "startsAt": "2026-01-01T10:47:00Z", "endsAt": "2026-01-01T12:00:00Z", "status": {"state": "active"},
        });
        (200, json!([alert]))
    } else if path.starts_with("/api/v2/") {
        (200, json!([]))
    } else if !token {
        (401, json!({"message": "Unauthorized"}))
    } else if path == "/version" {
        (200, json!({"gitVersion": "v1.34.1"}))
    } else if refused.contains(&plural) {
        (403, json!({"message": format!("{plural} is forbidden")}))
    } else if let Some(items) = all[plural].as_array() {
        let limit: usize = of("limit").unwrap().parse().unwrap();
        let at: usize = of("continue").map_or(0, |it| it.parse().unwrap());
        let page: Vec<&Value> = items.iter().skip(at).take(limit).collect();
        let next = at + page.len();
        let more = if next < items.len() { next.to_string() } else { String::new() };
        (200, json!({"metadata": {"continue": more}, "items": page}))
    } else {
        (404, json!({"message": "not found"}))
    }
}

fn run(folder: &Path, arguments: &[&str]) -> Run {
    let mut command = command!(arguments);
    // Nothing of the machine's own is used.
    command.env_remove("KUBECONFIG").env("HOME", folder);
    Run::of(command.current_dir(folder))
}

fn capture(folder: &Path, more: &[&str]) -> Run {
    run(
        folder,
        &[&["capture", "--from", "source.toml", "--window", WINDOW, "--out"], more].concat(),
    )
}

/// A kubeconfig and a `source.toml` for a server.
fn write(folder: &Path, port: u16, more: &str) {
    let server = format!("http://127.0.0.1:{port}");
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: none\n\
         clusters:\n- name: c\n  cluster: {{server: '{server}'}}\n\
         users:\n- name: u\n  user: {{token: test-token}}\n\
         contexts:\n- name: test\n  context: {{cluster: c, user: u}}\n"
    );
    std::fs::write(folder.join("kubeconfig"), kubeconfig).unwrap();
    let text = format!(
        "name = 'shop'\nhistory = '40m'\n[alertmanager]\nurl = '{server}'\n\
         [kubernetes]\nkubeconfig = 'kubeconfig'\ncontext = 'test'\n{more}\n\
         [[topology.edges]]\nsource = 'shop/web'\ntarget = 'shop/db'\nrelation = 'calls'\neffects = 'target_to_source'\n"
    );
    std::fs::write(folder.join("source.toml"), text).unwrap();
}

#[test]
fn a_rollout_is_found_and_live_equals_the_capture() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (port, asked) = cluster(&[]);
    write(at, port, "page = 1\nnamespaces = ['shop']");
    let captured = capture(at, &["shop"]).exits(0).prints(&["kubernetes at http://127.0.0.1:"]);
    assert!(!captured.out.contains("missing"), "{captured:?}");
    for file in at.join("shop").read_dir().unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("hunter2") && !text.contains("test-token"), "{text}");
    }
    for line in asked.lock().unwrap().iter() {
        assert!(line.starts_with("GET "), "only reads: {line}");
        let is_inside = line.contains("/namespaces/shop/") || line.contains("/nodes?");
        assert!(is_inside || line.contains("/api/v2/"), "the namespace alone: {line}");
        assert!(!line.contains("/secrets"), "{line}");
    }
    // The rollout is the stronger cause; the node that ran out of memory is the next suspect.
    let investigated = run(at, &["investigate", "shop", "--out", "of-capture"]).exits(0);
    investigated.prints(&["  shop/db\n", "1. Host/node-a"]);
    run(at, &["investigate", "source.toml", "--window", WINDOW, "--out", "of-live"]).exits(0);
    let read = |name: &str| std::fs::read(at.join(name).join("ledger.jsonl")).unwrap();
    assert!(read("of-capture") == read("of-live"), "byte for byte");
}

#[test]
fn what_may_be_listed_and_what_not_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (port, _) = cluster(&["nodes", "networkpolicies"]);
    write(at, port, "");
    run(at, &["check", "source.toml"]).exits(0).prints(&[
        "version v1.34.1",
        "lists deployments, replicasets",
        "cannot list nodes (HTTP 403",
    ]);
    let expected = "missing: kubernetes: nodes: HTTP 403: nodes is forbidden";
    capture(at, &["a", "--strict"]).exits(4).prints(&[expected]);
    write(at, port, "max_objects = 4");
    capture(at, &["b"]).prints(&["max_objects"]);
}

#[test]
fn mistakes_are_reported_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let check = ["check", "source.toml", "--offline"];
    let capture = ["capture", "--from", "source.toml", "--out", "out"];
    for (text, command, expected) in [
        (
            "[kubernetes]\nnamespaces = ['a/b']\n",
            &check[..],
            "[kubernetes] namespaces: \"a/b\" is no name",
        ),
        (
            "[kubernetes]\npage = 0\n",
            &check,
            "[kubernetes]: page and max_objects must be at least 1",
        ),
        ("[kubernetes]\nkubeconf = 'x'\n", &check, "unknown field `kubeconf`"),
        ("[kubernetes]\n", &capture, "neither a kubeconfig nor a service account"),
        ("[kubernetes]\nkubeconfig = 'none'\n", &capture, "kubeconfig"),
        ("[kubernetes]\nkubeconfig = 'none'\n", &capture, "none"),
    ] {
        std::fs::write(at.join("source.toml"), text).unwrap();
        run(at, command).exits(4).says(&[expected]);
    }
}
