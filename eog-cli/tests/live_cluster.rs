//! The API of Kubernetes from the command line. The server is simulated: it gives recorded answers in the form of
//! the API, and alerts in that of Alertmanager.

use crate::common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use common::eog;
use serde_json::{Value, json};

const ANSWERS: &str = include_str!("../../eog-sources/tests/cluster/answers.json");

/// The window around the rollout of the database.
const WINDOW: &str = "2026-01-01T10:40:00Z/2026-01-01T11:00:00Z";

/// What a server was asked: method, address, credentials.
type Asked = Arc<Mutex<Vec<String>>>;

/// A server that answers as the API does; what is in `refused` is forbidden.
fn cluster(refused: &'static [&'static str]) -> (u16, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Asked::default();
    let heard = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let heard = heard.clone();
            std::thread::spawn(move || while answer(&stream, refused, &heard).is_some() {});
        }
    });
    (port, asked)
}

fn answer(mut stream: &TcpStream, refused: &[&str], heard: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut line, mut header, mut token) = (String::new(), String::new(), false);
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    while reader.read_line(&mut header).ok()? > 2 {
        token |= header.to_lowercase().trim() == "authorization: bearer test-token";
        header.clear();
    }
    heard.lock().unwrap().push(line.trim().to_owned());
    let address = line.split(' ').nth(1)?;
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let plural = path.rsplit('/').next()?;
    let all: Value = serde_json::from_str(ANSWERS).unwrap();
    let of = |name: &str| query.split('&').find_map(|it| it.strip_prefix(&format!("{name}=")));
    let (status, body) = if path == "/api/v2/alerts" {
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
        let limit: usize = of("limit")?.parse().ok()?;
        let at: usize = of("continue").map_or(0, |it| it.parse().unwrap());
        let page: Vec<&Value> = items.iter().skip(at).take(limit).collect();
        let next = at + page.len();
        let more = if next < items.len() { next.to_string() } else { String::new() };
        (200, json!({"metadata": {"continue": more}, "items": page}))
    } else {
        (404, json!({"message": "not found"}))
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json");
    stream
        .write_all(format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
        .ok()
}

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = eog();
    // Nothing of the machine's own is used.
    command.env_remove("KUBECONFIG").env("HOME", folder);
    let output = command.current_dir(folder).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
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
    let (code, told, errors) =
        run(at, &["capture", "--from", "source.toml", "--window", WINDOW, "--out", "shop"]);
    assert_eq!(code, 0, "{told}{errors}");
    assert!(!told.contains("missing"), "{told}");
    assert!(told.contains("kubernetes at http://127.0.0.1:"), "{told}");
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
    let (code, told, errors) = run(at, &["investigate", "shop", "--out", "of-capture"]);
    assert_eq!(code, 0, "{told}{errors}");
    // The rollout is the stronger cause; the node that ran out of memory is the next suspect.
    assert!(told.contains("  shop/db\n") && told.contains("1. Host/node-a"), "{told}");
    let live = ["investigate", "source.toml", "--window", WINDOW, "--out", "of-live"];
    let (code, _, errors) = run(at, &live);
    assert_eq!(code, 0, "{errors}");
    let read = |name: &str| std::fs::read(at.join(name).join("ledger.jsonl")).unwrap();
    assert!(read("of-capture") == read("of-live"), "byte for byte");
}

#[test]
fn what_may_be_listed_and_what_not_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (port, _) = cluster(&["nodes", "networkpolicies"]);
    write(at, port, "");
    let (code, told, errors) = run(at, &["check", "source.toml"]);
    assert_eq!(code, 0, "{told}{errors}");
    for expected in
        ["version v1.34.1", "lists deployments, replicasets", "cannot list nodes (HTTP 403"]
    {
        assert!(told.contains(expected), "{expected}\n{told}");
    }
    let (code, told, errors) = run(
        at,
        &["capture", "--from", "source.toml", "--window", WINDOW, "--out", "a", "--strict"],
    );
    assert_eq!(code, 4, "{errors}");
    assert!(told.contains("missing: kubernetes: nodes: HTTP 403: nodes is forbidden"), "{told}");
    write(at, port, "max_objects = 4");
    let (_, told, _) =
        run(at, &["capture", "--from", "source.toml", "--window", WINDOW, "--out", "b"]);
    assert!(told.contains("max_objects"), "{told}");
}

#[test]
fn mistakes_are_told_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let cases = [
        ("[kubernetes]\nnamespaces = ['a/b']\n", "[kubernetes] namespaces: \"a/b\" is no name"),
        ("[kubernetes]\npage = 0\n", "[kubernetes]: page and max_objects must be at least 1"),
        ("[kubernetes]\nkubeconf = 'x'\n", "unknown field `kubeconf`"),
    ];
    for (text, expected) in cases {
        std::fs::write(at.join("source.toml"), text).unwrap();
        let (code, _, errors) = run(at, &["check", "source.toml", "--offline"]);
        assert_eq!(code, 4, "{errors}");
        assert!(errors.contains(expected), "{expected}: {errors}");
    }
    std::fs::write(at.join("source.toml"), "[kubernetes]\n").unwrap();
    let (code, _, errors) = run(at, &["capture", "--from", "source.toml", "--out", "out"]);
    assert_eq!(code, 4);
    assert!(errors.contains("neither a kubeconfig nor a service account"), "{errors}");
    std::fs::write(at.join("source.toml"), "[kubernetes]\nkubeconfig = 'none'\n").unwrap();
    let (code, _, errors) = run(at, &["capture", "--from", "source.toml", "--out", "out"]);
    assert_eq!(code, 4);
    assert!(errors.contains("kubeconfig") && errors.contains("none"), "{errors}");
}
