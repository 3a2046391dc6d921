//! The page while it runs and after, its events, decision memory, and traces of eog itself.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use super::planted::{Written, planted, planted_bundle};
use super::program::judge;
use crate::common::{answering, command, http, request, signal, start};

#[test]
fn no_secret_is_served_remembered_or_traced() {
    let all = planted();
    let dir = planted_bundle(&all);
    let path = |name: &str| dir.path().join(name);
    let program = judge(dir.path(), &all);
    let traced = Arc::<Mutex<Vec<Vec<u8>>>>::default();
    let shared = traced.clone();
    let port = answering(move |asked| {
        shared.lock().unwrap().push(asked.body.clone());
        (200, String::new())
    });
    let policy = ["--policy", "command:/bin/sh", "--policy-arg"];
    let mut command = command!("investigate", path("bundle"), "--live", policy, program);
    command.arg("--memory").arg(path("memory")).arg("--out").arg(path("out"));
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{port}"));
    let mut child = start(command.env_remove("EOG_LIVE_TOKEN"));
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    errors.read_line(&mut said).unwrap();
    let url = said.trim().strip_prefix("eog: live page at http://").expect(&said);
    let address = url.strip_suffix("/i/run").expect(&said).to_owned();
    let mut written = Written::default();
    // Ends with the run.
    let mut stream = TcpStream::connect(&address).unwrap();
    let ask = format!("GET /i/run/events/0 HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(ask.as_bytes()).unwrap();
    let mut events = BufReader::new(stream);
    let mut seen = String::new();
    while errors.read_line(&mut said).unwrap() > 0 && !said.contains("press Ctrl-C to end it") {}
    for path in ["/", "/i/run"] {
        let ask = request("GET", path, &format!("Host: {address}\r\n"), "");
        let (status, answer) = http(&address, &ask).unwrap();
        assert_eq!(status, 200, "{path}: {answer}");
        written.text(path, &answer);
    }
    signal("-INT", &child);
    events.read_to_string(&mut seen).unwrap();
    errors.read_to_string(&mut said).unwrap();
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    child.wait().unwrap();
    assert!(seen.contains("event:") || seen.contains("data:"), "{seen}");
    written.text("events", &seen);
    written.text("output", &printed);
    written.text("errors", &said);
    written.folder(&path("out"));
    assert!(fs::read_dir(path("memory")).unwrap().count() > 0, "decisions are remembered");
    written.folder(&path("memory"));
    let traced = traced.lock().unwrap();
    assert!(!traced.is_empty(), "spans are exported");
    written.0.extend(traced.iter().map(|bytes| ("traces".to_owned(), bytes.clone())));
    // The page, the events, the report and the memory at least.
    written.check(&all, 4);
}
