//! Signals: the first ends the server in an orderly way and in time, the second at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::{HttpServer, Piped, Place, hello, ready};
use crate::common::{read, runs, script, signal, until};

/// How long the server says that it takes at most to end, and what a busy machine may add.
const IN_TIME: Duration = Duration::from_secs(5 + 10);

/// A policy that puts everything off, and hangs once a file `hang` is there, with a process of its own.
struct Hanging(PathBuf);

impl Hanging {
    fn new(place: &Place) -> Self {
        let folder = place.roots().join("../policy");
        std::fs::create_dir(&folder).unwrap();
        let text = format!(
            "cd {}\ncat > /dev/null\nif [ -e hang ]; then\n  sleep 3600 &\n  \
             echo $$ $! > pids.new\n  mv pids.new pids\n  wait\nfi\n\
             echo '{{\"label\": \"defer\", \"summary\": \"nothing is known\"}}'",
            folder.display()
        );
        script(folder.join("policy.sh"), &text);
        Self(folder)
    }

    fn option(&self) -> String {
        format!("--policy=command:{}", self.0.join("policy.sh").display())
    }

    fn hang(&self) {
        std::fs::write(self.0.join("hang"), "").unwrap();
    }

    /// Waits until it hangs. Gives its processes.
    fn pids(&self) -> Vec<String> {
        let file = self.0.join("pids");
        until("the policy hangs", || file.exists());
        read(file).split_whitespace().map(str::to_owned).collect()
    }
}

/// Waits until processes of a policy have ended.
fn are_gone(pids: &[String]) {
    until("the policy is gone", || !pids.iter().any(|pid| runs(pid)));
}

impl Drop for Hanging {
    /// What a server that failed the test left behind.
    fn drop(&mut self) {
        let pids = std::fs::read_to_string(self.0.join("pids")).unwrap_or_default();
        for pid in pids.split_whitespace() {
            let _ = Command::new("kill").args(["-KILL", pid]).stderr(Stdio::null()).status();
        }
    }
}

/// Waits for the end, and checks how it ended, and that it was in time.
fn ends(child: &mut Child, code: i32, in_time: Duration) {
    let begin = Instant::now();
    let mut ended = None;
    until("the server ends", || {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().code(), Some(code));
    assert!(begin.elapsed() < in_time, "{:?}", begin.elapsed());
}

#[expect(clippy::needless_pass_by_value, reason = "tests write the arguments where they call")]
fn call(id: u64, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments}})
}

fn explain() -> Value {
    call(3, "explain", json!({"investigation": "inv-000001", "entity": "shop/Service/cart"}))
}

fn investigate() -> Value {
    call(2, "investigate", json!({"path": "snap"}))
}

/// A server, its policy that hangs while it explains, and the processes of that policy.
fn hanging_as_it_explains(place: &Place) -> (Piped, Hanging, Vec<String>) {
    let policy = Hanging::new(place);
    let mut command = place.command();
    command.arg(policy.option());
    let mut server = Piped::start(command);
    server.send(&investigate());
    assert_eq!(server.next()["result"]["structuredContent"]["investigation"], "inv-000001");
    policy.hang();
    server.send(&explain());
    let pids = policy.pids();
    (server, policy, pids)
}

#[test]
fn a_signal_ends_a_server_whose_policy_hangs_while_it_explains() {
    let place = Place::new();
    let (mut server, _policy, pids) = hanging_as_it_explains(&place);
    signal("-INT", &server.child);
    ends(&mut server.child, 0, IN_TIME);
    are_gone(&pids);
}

#[test]
fn a_signal_ends_a_server_whose_policy_hangs_while_it_investigates() {
    let place = Place::new();
    let policy = Hanging::new(&place);
    policy.hang();
    let mut command = place.command();
    command.arg(policy.option());
    let mut server = Piped::start(command);
    server.send(&investigate());
    let pids = policy.pids();
    signal("-INT", &server.child);
    ends(&mut server.child, 0, IN_TIME);
    are_gone(&pids);
    let ended = read(place.state().join("inv-000001/ended.json"));
    assert!(ended.contains("\"is_unfinished\": true"), "what was found is stored: {ended}");
}

#[test]
fn a_client_that_leaves_ends_a_server_whose_policy_hangs_while_it_explains() {
    let place = Place::new();
    let (mut server, _policy, pids) = hanging_as_it_explains(&place);
    drop(server.input.take());
    ends(&mut server.child, 0, IN_TIME);
    are_gone(&pids);
}

/// A client that gives up on an explanation stops the policy, and the server goes on.
#[test]
fn a_cancelled_explanation_asks_no_more() {
    let place = Place::new();
    let (mut server, _policy, pids) = hanging_as_it_explains(&place);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 3, "reason": "no longer needed"}}));
    are_gone(&pids);
    server.send(&call(4, "list_investigations", json!({})));
    let listed = loop {
        let next = server.next();
        if next["id"] == 4 {
            break next;
        }
    };
    assert_eq!(listed["result"]["structuredContent"]["total"], 1);
}

#[test]
fn a_signal_ends_a_server_whose_output_is_not_read() {
    let place = Place::new();
    let mut server = Piped::start(place.command());
    // More than a pipe holds, and nothing is taken out of it.
    for id in 10..40 {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
    }
    std::thread::sleep(Duration::from_millis(500));
    signal("-TERM", &server.child);
    ends(&mut server.child, 0, IN_TIME);
}

/// Over HTTP, with a stream that stays open and a call that hangs.
#[test]
fn a_signal_ends_open_streams_and_hanging_calls() {
    let place = Place::new();
    let policy = Hanging::new(&place);
    let mut server = place.http(&[&policy.option()], None);
    let post = |headers: &str, message: &Value| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let body = message.to_string();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        BufReader::new(stream)
    };
    let read_until = |stream: &mut BufReader<TcpStream>, wanted: &str| {
        let mut line = String::new();
        while !line.contains(wanted) {
            line.clear();
            assert!(stream.read_line(&mut line).unwrap() > 0, "no {wanted}");
        }
        line
    };
    let session = read_until(&mut post("", &hello()), "mcp-session-id: ");
    let headers = format!("{}\r\nMCP-Protocol-Version: 2025-11-25\r\n", session.trim_end());
    read_until(&mut post(&headers, &ready()), "202");
    read_until(&mut post(&headers, &investigate()), "inv-000001");
    let mut news = TcpStream::connect(server.address()).unwrap();
    write!(
        news,
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{headers}\r\n"
    )
    .unwrap();
    let mut news = BufReader::new(news);
    read_until(&mut news, "200");
    policy.hang();
    let call = post(&headers, &explain());
    let pids = policy.pids();
    signal("-HUP", &server.child);
    ends(&mut server.child, 0, IN_TIME);
    are_gone(&pids);
    for mut stream in [news, call] {
        // It ends, however.
        let _ = stream.read_to_string(&mut String::new());
    }
}

/// A request whose body does not come: the server waits for it as long as it waits for anything.
fn half_a_request(server: &HttpServer) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\
                Content-Length: 100\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    // It has begun to read the body.
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100");
    stream
}

#[test]
fn a_second_signal_ends_the_server_at_once() {
    let place = Place::new();
    let mut server = place.http(&[], None);
    let _half = half_a_request(&server);
    signal("-INT", &server.child);
    // It has handled the first one when it takes no connection any more.
    while TcpStream::connect(server.address()).is_ok() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(server.child.try_wait().unwrap().is_none(), "the first one waits for what is open");
    signal("-INT", &server.child);
    ends(&mut server.child, 130, Duration::from_secs(3));
}

#[test]
fn what_is_open_is_not_waited_for_longer_than_is_said() {
    let place = Place::new();
    let mut server = place.http(&[], None);
    let _half = half_a_request(&server);
    signal("-INT", &server.child);
    ends(&mut server.child, 0, IN_TIME);
}
