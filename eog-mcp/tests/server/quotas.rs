//! Clients that ask and do not read: what they can hold is bounded, and nobody else is shut out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use eog_mcp::server::HttpSettings;
use eog_mcp::server::axum::Router;
use eog_mcp::server::axum::routing::get;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::http::{post, read_until, send, serve_with};
use crate::support::{Held, Place, serve};

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"}}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_holds_a_few_streams_and_calls_go_on() {
    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let mut settings = HttpSettings::default();
    settings.max_streams = 2;
    let (address, _stop, _serving) = serve_with(&server, settings).await;
    let mut begun = post(address, "", &hello()).await;
    let answer = read_until(&mut begun, "serverInfo").await;
    let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let session = format!("Mcp-Session-Id: {}\r\n", session.expect("a session").trim());
    let listen = format!(
        "GET /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\n{session}\r\n"
    );
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut stream = send(address, &listen).await;
        read_until(&mut stream, "200 OK").await;
        open.push(stream);
    }
    let mut refused = send(address, &listen).await;
    read_until(&mut refused, "429 Too Many Requests").await;
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let mut listed = post(address, &session, &list).await;
    read_until(&mut listed, "list_investigations").await;
    // One that is closed makes room.
    open.pop();
    loop {
        let mut again = send(address, &listen).await;
        if read_until(&mut again, "\r\n").await.contains("200 OK") {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_nobody_reads_gives_its_connection_up() {
    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let mut settings = HttpSettings::default();
    settings.max_connections = 1;
    settings.write_time = Duration::from_millis(200);
    settings.routes = Router::new()
        .route("/large", get(async || "x".repeat(64 << 20)))
        .route("/small", get(async || "small"));
    let (address, _stop, _serving) = serve_with(&server, settings).await;
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let _unread = send(address, &ask("/large")).await;
    // There is room for one alone.
    let mut next = send(address, &ask("/small")).await;
    read_until(&mut next, "small").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_a_pipe_that_nobody_reads_wait_outside() {
    const ALL: usize = 10_000;
    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let (client, _serving) = serve(&server);
    let (read, mut write) = tokio::io::split(client);
    let mut lines = BufReader::new(read).lines();
    write.write_all(format!("{}\n", hello()).as_bytes()).await.unwrap();
    assert!(lines.next_line().await.unwrap().unwrap().contains("serverInfo"));
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    write.write_all(format!("{told}\n").as_bytes()).await.unwrap();
    let written = Arc::new(AtomicUsize::new(0));
    let writing = tokio::spawn({
        let written = written.clone();
        async move {
            for id in 0..ALL {
                let ask = json!({"jsonrpc": "2.0", "id": 10 + id, "method": "ping"});
                write.write_all(format!("{ask}\n").as_bytes()).await.unwrap();
                written.fetch_add(1, Ordering::Relaxed);
            }
            write
        }
    });
    let mut last = usize::MAX;
    while last != written.load(Ordering::Relaxed) {
        last = written.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(last < ALL, "all were taken in");
    for _ in 0..ALL {
        assert!(lines.next_line().await.unwrap().unwrap().contains("result"));
    }
    drop(writing.await.unwrap());
}
