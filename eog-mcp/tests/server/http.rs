//! Clients that vanish from a connection over HTTP.

use std::time::Duration;

use eog_mcp::server::{HttpSettings, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Held, PATIENCE, Place, until};

async fn serve(server: &Server) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = server.clone();
    let mut settings = HttpSettings::default();
    settings.grace = Duration::from_millis(100);
    tokio::spawn(async move { server.http(listener, settings, std::future::pending()).await });
    address
}

/// Sends one message and gives the connection, from which nothing was read yet.
async fn post(address: std::net::SocketAddr, headers: &str, message: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let body = message.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads until a text has come.
async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut all = Vec::new();
    let read = async {
        loop {
            let text = String::from_utf8_lossy(&all).into_owned();
            if text.contains(wanted) {
                return text;
            }
            let mut some = [0; 4096];
            let count = stream.read(&mut some).await.unwrap();
            assert!(count > 0, "it ended after {text}");
            all.extend_from_slice(&some[..count]);
        }
    };
    tokio::time::timeout(PATIENCE, read).await.expect("it comes")
}

fn investigate(meta: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "investigate", "arguments": {"path": "incident"}, "_meta": meta}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_a_session_that_vanishes_leaves_nothing_running() {
    let (place, held) = (Place::new(), Held::allowing(1));
    let server = place.server(&held);
    let address = serve(&server).await;
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"}}});
    let mut stream = post(address, "", &hello).await;
    let answer = read_until(&mut stream, "serverInfo").await;
    let session = answer
        .lines()
        .find_map(|line| line.strip_prefix("mcp-session-id: "))
        .expect("a session")
        .trim()
        .to_owned();
    let headers = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    drop(read_until(&mut post(address, &headers, &ready).await, "202").await);
    let mut call = post(address, &headers, &investigate(&json!({"progressToken": 1}))).await;
    read_until(&mut call, "entry 1: ").await;
    held.until_waiting(1).await;
    drop(call);
    until(|| server.load() == (0, 0)).await;
    held.until_waiting(0).await;
    assert!(place.stored("inv-000001").join("journal").is_file());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_session_that_vanishes_leaves_nothing_running() {
    let (place, held) = (Place::new(), Held::allowing(1));
    let server = place.server(&held);
    let address = serve(&server).await;
    let meta = json!({
        "progressToken": 1,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers =
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: investigate\r\n";
    let mut call = post(address, headers, &investigate(&meta)).await;
    read_until(&mut call, "entry 1: ").await;
    held.until_waiting(1).await;
    drop(call);
    until(|| server.load() == (0, 0)).await;
    held.until_waiting(0).await;
}
