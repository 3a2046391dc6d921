//! Signals: the first ends the server in an orderly way and in time, the second at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::{HttpServer, Place};

/// How long the server says that it takes at most to end, and what a busy machine may add.
const IN_TIME: Duration = Duration::from_secs(5 + 10);

/// Longest time that anything else may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A policy that puts everything off, and hangs once a file `hang` is there, with a process of its own.
struct Hanging(PathBuf);

impl Hanging {
    fn new(place: &Place) -> Self {
        let folder = place.roots().join("../policy");
        std::fs::create_dir(&folder).unwrap();
        let script = format!(
            "#!/bin/sh\ncd {}\ncat > /dev/null\nif [ -e hang ]; then\n  sleep 3600 &\n  \
             echo $$ $! > pids.new\n  mv pids.new pids\n  wait\nfi\n\
             echo '{{\"label\": \"defer\", \"summary\": \"nothing is known\"}}'\n",
            folder.display()
        );
        let file = folder.join("policy.sh");
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
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
        let pids = std::fs::read_to_string(file).unwrap();
        pids.split_whitespace().map(str::to_owned).collect()
    }
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

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    match stat {
        // One that ended and that nobody has waited for yet is dead enough.
        Ok(stat) => !stat.contains(") Z "),
        Err(_) if Path::new("/proc/self/stat").exists() => false,
        Err(_) => {
            let asked = Command::new("kill").args(["-0", pid]).stderr(Stdio::null()).status();
            asked.unwrap().success()
        }
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// A process that ends with the test.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, input, output };
        server.send(&hello());
        assert_eq!(server.next()["id"], 1);
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ends(&mut self) -> (ExitStatus, Duration) {
        ends(&mut self.child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for the end. Gives how it ended, and when.
fn ends(child: &mut Child) -> (ExitStatus, Duration) {
    let begin = Instant::now();
    let mut ended = None;
    until("the server ends", || {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    (ended.unwrap(), begin.elapsed())
}

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"}}})
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

#[test]
fn a_signal_ends_a_server_whose_policy_hangs_while_it_explains() {
    let place = Place::new();
    let policy = Hanging::new(&place);
    let mut command = place.command();
    command.arg(policy.option());
    let mut server = Server::start(command);
    server.send(&investigate());
    assert_eq!(server.next()["result"]["structuredContent"]["investigation"], "inv-000001");
    policy.hang();
    server.send(&explain());
    let pids = policy.pids();
    signal(&server.child, "-INT");
    let (status, took) = server.ends();
    assert_eq!(status.code(), Some(0));
    assert!(took < IN_TIME, "{took:?}");
    until("the policy is gone", || !pids.iter().any(|pid| is_alive(pid)));
}

#[test]
fn a_signal_ends_a_server_whose_policy_hangs_while_it_investigates() {
    let place = Place::new();
    let policy = Hanging::new(&place);
    policy.hang();
    let mut command = place.command();
    command.arg(policy.option());
    let mut server = Server::start(command);
    server.send(&investigate());
    let pids = policy.pids();
    signal(&server.child, "-INT");
    let (status, took) = server.ends();
    assert_eq!(status.code(), Some(0));
    assert!(took < IN_TIME, "{took:?}");
    until("the policy is gone", || !pids.iter().any(|pid| is_alive(pid)));
    let ended = place.state().join("inv-000001/ended.json");
    let ended = std::fs::read_to_string(ended).unwrap();
    assert!(ended.contains("\"is_unfinished\": true"), "what was found is stored: {ended}");
}

#[test]
fn a_client_that_leaves_ends_a_server_whose_policy_hangs_while_it_explains() {
    let place = Place::new();
    let policy = Hanging::new(&place);
    let mut command = place.command();
    command.arg(policy.option());
    let mut server = Server::start(command);
    server.send(&investigate());
    server.next();
    policy.hang();
    server.send(&explain());
    let pids = policy.pids();
    drop(server.input.take());
    let (status, _) = server.ends();
    assert_eq!(status.code(), Some(0));
    until("the policy is gone", || !pids.iter().any(|pid| is_alive(pid)));
}

/// A client that gives up on an explanation stops the policy, and the server goes on.
#[test]
fn a_cancelled_explanation_asks_no_more() {
    let place = Place::new();
    let policy = Hanging::new(&place);
    let mut command = place.command();
    command.arg(policy.option());
    let mut server = Server::start(command);
    server.send(&investigate());
    server.next();
    policy.hang();
    server.send(&explain());
    let pids = policy.pids();
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 3, "reason": "no longer needed"}}));
    until("the policy is gone", || !pids.iter().any(|pid| is_alive(pid)));
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
fn a_signal_ends_a_server_that_nobody_reads() {
    let place = Place::new();
    let mut server = Server::start(place.command());
    // More than a pipe holds, and nobody takes it.
    for id in 10..40 {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
    }
    std::thread::sleep(Duration::from_millis(500));
    signal(&server.child, "-TERM");
    let (status, took) = server.ends();
    assert_eq!(status.code(), Some(0));
    assert!(took < IN_TIME, "{took:?}");
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
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    read_until(&mut post(&headers, &ready), "202");
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
    signal(&server.child, "-HUP");
    let (status, took) = ends(&mut server.child);
    assert_eq!(status.code(), Some(0));
    assert!(took < IN_TIME, "{took:?}");
    until("the policy is gone", || !pids.iter().any(|pid| is_alive(pid)));
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
    let mut told = [0; 12];
    stream.read_exact(&mut told).unwrap();
    assert_eq!(&told, b"HTTP/1.1 100");
    stream
}

#[test]
fn a_second_signal_ends_the_server_at_once() {
    let place = Place::new();
    let mut server = place.http(&[], None);
    let _half = half_a_request(&server);
    signal(&server.child, "-INT");
    // It has heard the first one when it takes nobody in any more.
    while TcpStream::connect(server.address()).is_ok() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(server.child.try_wait().unwrap().is_none(), "the first one waits for what is open");
    signal(&server.child, "-INT");
    let (status, took) = ends(&mut server.child);
    assert_eq!(status.code(), Some(130));
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn what_is_open_is_not_waited_for_longer_than_is_said() {
    let place = Place::new();
    let mut server = place.http(&[], None);
    let _half = half_a_request(&server);
    signal(&server.child, "-INT");
    let (status, took) = ends(&mut server.child);
    assert_eq!(status.code(), Some(0));
    assert!(took < IN_TIME, "{took:?}");
}
