//! A bounded load on a server of MCP: how many requests it answers in a second, and what memory it has meanwhile.
//!
//! ```text
//! load SECONDS METHOD http ADDRESS CONNECTIONS PID    sessions over HTTP on this machine
//! load SECONDS METHOD alone ADDRESS CONNECTIONS PID   the same without sessions, as of 2026-07-28
//! load SECONDS METHOD stdio PROGRAM ARGUMENT...       a program on its standard input and output
//! ```
//!
//! METHOD is `ping`, `tools/list` or any other that needs no arguments. Not a test: it measures.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest load, in seconds.
const LONGEST: u64 = 300;

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"load","version":"1"}}}"#
);
/// What a request says of its client where it stands alone.
const ALONE: &str = concat!(
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}"#
);
const BEGUN: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Answers so far, and whether it is over.
#[derive(Default)]
struct Shared {
    answers: AtomicU64,
    is_over: AtomicBool,
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = || io::Error::other("usage: load SECONDS METHOD http ADDRESS CONNECTIONS PID");
    let [seconds, method, way, rest @ ..] = arguments.as_slice() else { return Err(usage()) };
    let seconds = seconds.parse::<u64>().map_err(io::Error::other)?.min(LONGEST);
    let shared = Arc::new(Shared::default());
    match (way.as_str(), rest) {
        ("http" | "alone", [address, connections, pid]) => {
            let has_session = way == "http";
            let (connections, pid) = (connections.parse().unwrap_or(4), pid.parse().unwrap_or(0));
            let clients: Vec<_> = (0..connections)
                .map(|_| {
                    let (address, method) = (address.clone(), method.clone());
                    let shared = shared.clone();
                    std::thread::spawn(move || over_http(&address, &method, has_session, &shared))
                })
                .collect();
            watch(pid, seconds, &shared);
            for client in clients {
                if let Ok(Err(error)) = client.join() {
                    eprintln!("a client ended: {error}");
                }
            }
            Ok(())
        }
        ("stdio", [program, arguments @ ..]) => {
            let mut server = Command::new(program);
            server.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut server = server.spawn()?;
            let (input, output) = (server.stdin.take(), server.stdout.take());
            let (Some(mut input), Some(output)) = (input, output) else { return Err(usage()) };
            let reading = shared.clone();
            let reader = std::thread::spawn(move || {
                let mut lines = BufReader::with_capacity(1 << 20, output);
                let mut line = Vec::new();
                while lines.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                    reading.answers.fetch_add(1, Ordering::Relaxed);
                    line.clear();
                }
            });
            let (writing, method) = (shared.clone(), method.clone());
            let writer = std::thread::spawn(move || -> io::Result<()> {
                write!(input, "{HELLO}\n{BEGUN}\n")?;
                let mut id = 10_u64;
                while !writing.is_over.load(Ordering::Relaxed) {
                    let mut many = String::new();
                    for _ in 0..100 {
                        id += 1;
                        many += &request(id, &method);
                        many.push('\n');
                    }
                    // Waits while the server takes no more.
                    input.write_all(many.as_bytes())?;
                }
                Ok(())
            });
            watch(server.id(), seconds, &shared);
            let _ = writer.join();
            let _ = reader.join();
            server.wait().map(drop)
        }
        _ => Err(usage()),
    }
}

fn request(id: u64, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

/// Prints what was answered and what memory there is, every five seconds and in the end.
fn watch(pid: u32, seconds: u64, shared: &Shared) {
    let began = Instant::now();
    let first = memory(pid);
    println!("before: {first} KiB");
    let (mut before, mut printed) = (0, Instant::now());
    while began.elapsed() < Duration::from_secs(seconds) {
        std::thread::sleep(Duration::from_secs(5.min(seconds)));
        let answers = shared.answers.load(Ordering::Relaxed);
        let rate = (answers - before) as f64 / printed.elapsed().as_secs_f64();
        (before, printed) = (answers, Instant::now());
        println!(
            "{:5.0} s: {rate:.0} answers/s, {} KiB",
            began.elapsed().as_secs_f64(),
            memory(pid)
        );
    }
    shared.is_over.store(true, Ordering::Relaxed);
    let answers = shared.answers.load(Ordering::Relaxed);
    let rate = answers as f64 / began.elapsed().as_secs_f64();
    println!("{answers} answers, {rate:.0} a second; memory {first} to {} KiB", memory(pid));
}

/// The memory of a process in KiB; 0 where the system does not report it.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// One client that asks, reads and asks again.
fn over_http(address: &str, method: &str, has_session: bool, shared: &Shared) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut reader = BufReader::with_capacity(1 << 16, stream.try_clone()?);
    let mut post = |session: &str, body: &str| -> io::Result<String> {
        let text = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\n{session}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(text.as_bytes())?;
        answer(&mut reader)
    };
    if !has_session {
        let headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"_meta":{{{ALONE}}}}}}}"#
        );
        while !shared.is_over.load(Ordering::Relaxed) {
            let head = post(&headers, &body)?;
            if !head.starts_with("HTTP/1.1 200") {
                return Err(io::Error::other(head));
            }
            shared.answers.fetch_add(1, Ordering::Relaxed);
        }
        return Ok(());
    }
    let head = post("", HELLO)?;
    let named = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let named = named.ok_or_else(|| io::Error::other(format!("no session: {head}")))?;
    let session = format!("Mcp-Session-Id: {}\r\n", named.trim());
    post(&session, BEGUN)?;
    let mut id = 10;
    while !shared.is_over.load(Ordering::Relaxed) {
        id += 1;
        let head = post(&session, &request(id, method))?;
        if !head.starts_with("HTTP/1.1 200") {
            return Err(io::Error::other(head));
        }
        shared.answers.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// The head of an answer, which is read to its end.
fn answer(reader: &mut impl BufRead) -> io::Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let small = head.to_lowercase();
    let length = small.lines().find_map(|line| line.strip_prefix("content-length:"));
    if let Some(length) = length.and_then(|text| text.trim().parse::<u64>().ok()) {
        io::copy(&mut reader.take(length), &mut io::sink())?;
    } else if small.contains("transfer-encoding: chunked") {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let size = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            io::copy(&mut reader.take(size + 2), &mut io::sink())?;
            if size == 0 {
                break;
            }
        }
    }
    Ok(head)
}
