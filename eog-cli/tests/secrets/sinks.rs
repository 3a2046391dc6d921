//! The page while it runs and after, its events, decision memory, and traces of eog itself.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use super::planted::{Written, planted, write_bundle};
use super::program::judge;

/// Takes whatever is sent over HTTP and answers that all is well.
fn collector() -> (u16, Arc<Mutex<Vec<Vec<u8>>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let all = taken.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let all = all.clone();
            std::thread::spawn(move || while take(&stream, &all).is_some() {});
        }
    });
    (port, taken)
}

fn take(mut stream: &TcpStream, all: &Mutex<Vec<Vec<u8>>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).ok()? > 2 {
        if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().ok()?;
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    (length > 0).then(|| all.lock().unwrap().push(body))?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok()
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let ask = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    answer
}

#[test]
fn no_secret_is_served_remembered_or_traced() {
    let all = planted();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir(path("bundle")).unwrap();
    write_bundle(path("bundle").as_ref(), &all);
    let program = judge(dir.path(), &all);
    let (port, traced) = collector();
    let mut child = Command::new(env!("CARGO_BIN_EXE_eog"))
        .args(["investigate", &path("bundle"), "--live", "--memory", &path("memory")])
        .args(["--policy", "command:/bin/sh", "--policy-arg"])
        .arg(program)
        .args(["--out", &path("out")])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{port}"))
        .env_remove("EOG_LIVE_TOKEN")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
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
    let mut told = String::new();
    while errors.read_line(&mut said).unwrap() > 0 && !said.contains("press Ctrl-C to end it") {}
    for path in ["/", "/i/run"] {
        written.text(path, &get(&address, path));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    events.read_to_string(&mut told).unwrap();
    errors.read_to_string(&mut said).unwrap();
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    child.wait().unwrap();
    assert!(told.contains("event:") || told.contains("data:"), "{told}");
    written.text("events", &told);
    written.text("output", &printed);
    written.text("errors", &said);
    written.folder(path("out").as_ref());
    assert!(fs::read_dir(path("memory")).unwrap().count() > 0, "decisions are remembered");
    written.folder(path("memory").as_ref());
    let traced = traced.lock().unwrap();
    assert!(!traced.is_empty(), "spans are exported");
    written.0.extend(traced.iter().map(|bytes| ("traces".to_owned(), bytes.clone())));
    // The page, the events, the report and the memory at least.
    written.check(&all, 4);
}
