//! Pages and MCP of a process that runs nothing itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::lab::{Lab, Running, flash_sale, until};
use crate::said::Model;

/// `eog serve`, and where it is.
pub(crate) struct Served {
    _process: Running,
    pub(crate) address: String,
}

impl Served {
    pub(crate) fn start(lab: &Lab, arguments: &[&str]) -> Self {
        let fixed = ["serve", "--nats", &lab.url, "--http", "127.0.0.1:0"];
        let mut command = lab.eog(&[&fixed, arguments].concat());
        let mut process = Running::start(command.stderr(Stdio::piped()));
        let mut errors = BufReader::new(process.0.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(errors.read_line(&mut line).unwrap() > 0, "it does not serve");
            if let Some((_, at)) = line.trim().split_once("investigations at http://") {
                break at.trim_end_matches('/').to_owned();
            }
        };
        // What it says later must not block it.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Self { _process: process, address }
    }

    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    pub(crate) fn get(&self, path: &str) -> String {
        let host = &self.address;
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    }

    pub(crate) fn post(&self, path: &str, headers: &str, body: &str) -> String {
        let (host, length) = (&self.address, body.len());
        self.ask(&format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// The events of an investigation, until one of them says this.
    fn events(&self, id: &str, until: &str) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        write!(stream, "GET /i/{id}/events/0 HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut lines = BufReader::new(stream);
        loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the stream ended before {until}");
            if line.starts_with("data: ") && line.contains(until) {
                return;
            }
        }
    }

    /// Calls a tool, in a session of its own.
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let accept = "Accept: application/json, text/event-stream\r\n";
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"}}});
        let answer = self.post("/mcp", accept, &hello.to_string());
        let session = answer.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.to_owned())
        });
        let session = session.unwrap_or_else(|| panic!("no session: {answer}"));
        let headers = format!("{accept}Mcp-Session-Id: {session}\r\n");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.post("/mcp", &headers, &ready.to_string());
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        let answer = self.post("/mcp", &headers, &call.to_string());
        let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
        let mut found = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
        let found = found.find(|message| message["id"] == 2);
        found.unwrap_or_else(|| panic!("no answer: {answer}"))["result"].take()
    }
}

#[test]
fn a_process_that_runs_nothing_shows_what_runs_elsewhere() {
    let Some(lab) = Lab::new() else { return };
    let model = Model::waiting_at(2);
    std::fs::write(lab.path("eog.toml"), model.settings()).unwrap();
    lab.submit("run", &[]);
    let one = Served::start(&lab, &[]);
    let other = Served::start(&lab, &[]);
    assert!(one.get("/i/run").contains("Waiting for a worker"));
    let worker = Running::start(lab.eog(&["worker"]).env("OPENAI_API_KEY", "k"));
    model.server.wait(|seen| seen.len() > 2);
    for served in [&one, &other] {
        assert!(served.get("/").contains("flash sale"));
        let page = until(|| Some(served.get("/i/run")).filter(|page| page.contains("gateway")));
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        served.events("run", "gateway");
    }
    // A word and the end, from a page, reach the worker.
    let word = json!({"entity": "database", "verdict": "not_cause", "text": "checked"}).to_string();
    let said = one.post("/i/run/words", "", &word);
    assert!(said.starts_with("HTTP/1.1 2"), "{said}");
    let wrong = json!({"entity": "unknown", "verdict": "cause", "text": ""}).to_string();
    assert!(one.post("/i/run/words", "", &wrong).contains("no such entity"));
    let stopped = other.post("/i/run/stop", "", "{}");
    assert!(stopped.starts_with("HTTP/1.1 2"), "{stopped}");
    lab.wait("run", "cancelled");
    one.events("run", "ended");
    // It goes on, to the end.
    model.may_answer.store(true, Ordering::SeqCst);
    let gone_on = one.post("/i/run/go-on", "", "{}");
    assert!(gone_on.starts_with("HTTP/1.1 2"), "{gone_on}");
    lab.wait("run", "finished");
    assert!(other.get("/i/run").contains("frontend"));
    assert_eq!(worker.interrupt(), Some(0));
}

#[test]
fn agents_submit_and_read() {
    let Some(lab) = Lab::new() else { return };
    let root = flash_sale();
    let root = root.parent().unwrap().to_str().unwrap();
    let served = Served::start(&lab, &["--root", root]);
    let submit = |arguments| served.call("submit", &arguments)["content"][0]["text"].take();
    let submitted = submit(json!({"path": "flash-sale", "budget": 40}));
    let submitted: Value = serde_json::from_str(submitted.as_str().unwrap()).unwrap();
    let id = submitted["id"].as_str().unwrap();
    let again = submit(json!({"path": "flash-sale", "budget": 40}));
    assert!(again.as_str().unwrap().contains(id), "it is there once: {again}");
    assert!(submit(json!({"path": "../../etc"})).as_str().unwrap().contains("outside"));
    assert!(
        submit(json!({"path": "flash-sale", "controller": "x"})).as_str().unwrap().contains('x')
    );
    lab.done(&["worker", "--until-empty"]);
    let all = served.call("investigations", &json!({}));
    assert!(all["content"][0]["text"].as_str().unwrap().contains("finished"), "{all}");
    let report = served.call("report", &json!({"id": id}));
    assert!(report["content"][0]["text"].as_str().unwrap().contains("frontend"), "{report}");
    let nothing = served.call("tell", &json!({"id": id, "entity": "database"}));
    assert_eq!(nothing["isError"], true, "{nothing}");
    let unknown = served.call("cancel", &json!({"id": "unknown"}));
    assert_eq!(unknown["isError"], true, "{unknown}");
}
