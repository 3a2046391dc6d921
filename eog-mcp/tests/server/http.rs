//! Clients over HTTP that vanish, that are slow, or that are too many.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use eog_mcp::server::axum::routing::{any, get};
use eog_mcp::server::axum::{self, Router};
use eog_mcp::server::{HttpSettings, ServeError, Server, Token};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::support::{Held, PATIENCE, Place, until};

/// As long as a client may be slow in these tests.
const MOMENT: Duration = Duration::from_millis(100);

async fn serve(server: &Server) -> SocketAddr {
    let mut settings = HttpSettings::default();
    settings.grace = MOMENT;
    serve_with(server, settings).await.0
}

/// Gives its address, what stops it, and its end.
pub(crate) async fn serve_with(
    server: &Server,
    settings: HttpSettings,
) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<Result<(), ServeError>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = server.clone();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async move {
        if stopped.await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let serving = tokio::spawn(async move { server.http(listener, settings, stopped).await });
    (address, stop, serving)
}

/// Sends one message and gives the connection, from which nothing was read yet.
pub(crate) async fn post(address: SocketAddr, headers: &str, message: &Value) -> TcpStream {
    let body = message.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    send(address, &request).await
}

/// Sends a whole request.
pub(crate) async fn send(address: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads until a text has come.
pub(crate) async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
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

/// What a client says first.
pub(crate) fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"}}})
}

/// A list of the tools, as a client asks for it.
pub(crate) fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
}

/// Begins a session and gives the header that names it.
pub(crate) async fn begin(address: SocketAddr) -> String {
    let answer = read_until(&mut post(address, "", &hello()).await, "serverInfo").await;
    let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    format!("Mcp-Session-Id: {}\r\n", session.expect("a session").trim())
}

/// The same, and says that the client is ready.
pub(crate) async fn begin_whole(address: SocketAddr) -> String {
    let session = begin(address).await;
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    read_until(&mut post(address, &session, &ready).await, "202").await;
    session
}

/// The request for the news of a session.
pub(crate) fn listen(address: SocketAddr, session: &str) -> String {
    format!("GET /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\n{session}\r\n")
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
    let session = begin_whole(address).await;
    let headers = format!("{session}MCP-Protocol-Version: 2025-11-25\r\n");
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

/// Sends something and gives all that comes before the connection is closed, and when that was.
async fn until_closed(address: SocketAddr, sent: &str) -> (String, Duration) {
    let begin = Instant::now();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut all = String::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut all)).await;
    read.expect("it is closed").unwrap();
    (all, begin.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_are_not_waited_for() {
    let (place, held) = (Place::new(), Held::free());
    let mut settings = HttpSettings::default();
    settings.head_time = MOMENT;
    settings.body_time = MOMENT;
    let (address, _stop, _serving) = serve_with(&place.server(&held), settings).await;

    for head in ["", "POST /mcp HTTP/1.1\r\nHo"] {
        let (_, took) = until_closed(address, head).await;
        assert!(took >= MOMENT, "{head:?}: {took:?}");
    }
    // One that stays silent after its answer, too.
    let request = format!("GET /elsewhere HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let (answer, took) = until_closed(address, &request).await;
    assert!(answer.starts_with("HTTP/1.1 404") && took >= MOMENT, "{took:?}: {answer}");

    let request = format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Length: 100\r\n\r\n{{");
    let (answer, took) = until_closed(address, &request).await;
    assert!(answer.starts_with("HTTP/1.1 408") && took >= MOMENT, "{took:?}: {answer}");
    assert!(answer.contains("the request body did not arrive in time"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_too_many_closes_the_one_that_is_missed_least() {
    let (place, held) = (Place::new(), Held::free());
    let mut settings = HttpSettings::default();
    settings.max_sessions = 2;
    let (address, _stop, _serving) = serve_with(&place.server(&held), settings).await;
    let ask = async |session: &str, expected: &str| {
        read_until(&mut post(address, session, &list()).await, expected).await;
    };
    let used = begin_whole(address).await;
    // Sessions that only begin displace each other.
    let mut last = begin(address).await;
    for _ in 0..5 {
        let next = begin(address).await;
        ask(&last, "404").await;
        last = next;
    }
    ask(&used, "list_investigations").await;
    // One with something open is never closed, and there is no other.
    let (mut one, mut two) = (
        send(address, &listen(address, &used)).await,
        send(address, &listen(address, &last)).await,
    );
    read_until(&mut one, "200 OK").await;
    read_until(&mut two, "200 OK").await;
    let refused = read_until(&mut post(address, "", &hello()).await, "try again later").await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_stopped_closes_what_is_open() {
    let (place, held) = (Place::new(), Held::free());
    let (address, stop, serving) = serve_with(&place.server(&held), HttpSettings::default()).await;
    let request = format!("GET /elsewhere HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let mut idle = TcpStream::connect(address).await.unwrap();
    idle.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut idle, "404").await;
    // Its body will never come, though the server waits for it.
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
    );
    let mut half = TcpStream::connect(address).await.unwrap();
    half.write_all(head.as_bytes()).await.unwrap();
    read_until(&mut half, "100 Continue").await;
    let begin = Instant::now();
    stop.send(()).unwrap();
    tokio::time::timeout(PATIENCE, serving).await.expect("it ends").unwrap().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(5 + 10), "{:?}", begin.elapsed());
    for mut stream in [idle, half] {
        // Long before the time for a body is over.
        let time = Duration::from_secs(10);
        let closed = tokio::time::timeout(time, stream.read_to_end(&mut Vec::new())).await;
        assert!(closed.is_ok(), "it is closed when the server has ended");
    }
    assert!(TcpStream::connect(address).await.is_err(), "the port is closed");
}

/// What is served beside the endpoint is as hard to reach, and its answers may be streams.
#[tokio::test(flavor = "multi_thread")]
async fn further_routes_are_served_behind_the_same_gate() {
    let (place, held) = (Place::new(), Held::free());
    let mut settings = HttpSettings::default();
    settings.token = Token::new("a-token-for-tests-only").ok();
    settings.max_body_bytes = 100;
    settings.body_time = MOMENT;
    let endless = async || {
        let news = futures_util::stream::once(async { Ok::<_, std::io::Error>("news\n") });
        axum::body::Body::from_stream(news.chain(futures_util::stream::pending()))
    };
    let echo = async |body: String| format!("got {body}");
    settings.routes = Router::new().route("/news", get(endless)).route("/echo", any(echo));
    let (address, stop, serving) = serve_with(&place.server(&held), settings).await;

    let request = |path: &str, host: &str, headers: &str, body: &str| {
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\
             Content-Length: {length}\r\n\r\n{body}"
        )
    };
    let token = "Authorization: Bearer a-token-for-tests-only\r\n";
    let (answer, _) = until_closed(address, &request("/echo", "localhost", token, "you")).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("got you"), "{answer}");
    let long = "x".repeat(101);
    let page = format!("{token}Origin: https://evil.example.org\r\n");
    for (host, headers, body, status) in [
        ("localhost", "", "you", 401),
        ("evil.example.org", token, "you", 403),
        ("localhost", &page, "you", 403),
        ("localhost", token, &long, 413),
    ] {
        let (answer, _) = until_closed(address, &request("/echo", host, headers, body)).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    let half =
        format!("POST /echo HTTP/1.1\r\nHost: localhost\r\n{token}Content-Length: 9\r\n\r\n");
    assert!(until_closed(address, &half).await.0.starts_with("HTTP/1.1 408"));

    let mut news = TcpStream::connect(address).await.unwrap();
    let ask = format!("GET /news HTTP/1.1\r\nHost: localhost\r\n{token}\r\n");
    news.write_all(ask.as_bytes()).await.unwrap();
    read_until(&mut news, "news").await;
    stop.send(()).unwrap();
    tokio::time::timeout(PATIENCE, serving).await.expect("it ends").unwrap().unwrap();
    let closed = tokio::time::timeout(PATIENCE, news.read_to_end(&mut Vec::new())).await;
    assert!(closed.is_ok(), "a stream ends with its server");
}
