//! Clients over HTTP, and those who are no clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use rmcp::ServiceExt;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::json;

use super::support::{HttpServer, Place, call, client, content};

const TOKEN: &str = "a-token-for-tests-only";

/// Sends a request as it stands and gives status and body.
fn raw(server: &HttpServer, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    // A refusal may come before everything is sent.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    let status = answer.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {answer:?}"));
    (status.parse().unwrap(), answer)
}

/// A `tools/list` with these headers and this body.
fn post(server: &HttpServer, headers: &str, body: &str) -> (u16, String) {
    let length = body.len();
    raw(
        server,
        &format!(
            "POST /mcp HTTP/1.1\r\nConnection: close\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        ),
    )
}

fn hello() -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"}}})
    .to_string()
}

#[tokio::test]
async fn a_client_with_the_token_investigates() {
    let place = Place::new();
    let server = place.http(&[], Some(TOKEN));
    // A build with eog-llm has TLS without a provider of its own; the client asks for one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config =
        StreamableHttpClientTransportConfig::with_uri(server.url.clone()).auth_header(TOKEN);
    let client = client().serve(StreamableHttpClientTransport::from_config(config)).await.unwrap();
    let answer =
        content(client.call_tool(call("investigate", json!({"path": "flash-sale"}))).await);
    assert_eq!(answer["investigation"], "inv-000001");
    client.cancel().await.unwrap();

    let without = StreamableHttpClientTransport::from_uri(server.url.clone());
    assert!(self::client().serve(without).await.is_err(), "nobody else gets in");
}

/// What a browser sends before it lets a page call, and what it looks for in the answers.
#[test]
fn a_page_from_an_allowed_origin_can_call() {
    let place = Place::new();
    let server = place.http(&["--allow-origin", "https://Pages.example.org/"], Some(TOKEN));
    let host = format!("Host: {}\r\n", server.address());
    let ask = |origin: &str| {
        let head = format!(
            "OPTIONS /mcp HTTP/1.1\r\n{host}Origin: {origin}\r\nConnection: close\r\n\
             Access-Control-Request-Method: POST\r\n\
             Access-Control-Request-Headers: authorization,content-type,mcp-session-id\r\n\r\n"
        );
        let (status, answer) = raw(&server, &head);
        (status, answer.to_lowercase())
    };
    let (status, answer) = ask("https://pages.example.org");
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("access-control-allow-origin: https://pages.example.org"), "{answer}");
    assert!(answer.contains("mcp-session-id") && answer.contains("authorization"), "{answer}");
    let (_, answer) = ask("https://evil.example.org");
    assert!(!answer.contains("access-control-allow-origin"), "{answer}");

    let call = |origin: &str, host: &str| {
        let token = format!("Authorization: Bearer {TOKEN}\r\n");
        let headers = format!("{host}{token}Origin: {origin}\r\n");
        let (status, answer) = post(&server, &headers, &hello());
        (status, answer.to_lowercase())
    };
    let (status, answer) = call("https://pages.example.org", &host);
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("access-control-allow-origin: https://pages.example.org"), "{answer}");
    assert!(answer.contains("access-control-expose-headers: "), "{answer}");
    let (status, answer) = call("https://evil.example.org", &host);
    assert!(status == 403 && !answer.contains("access-control-allow-origin"), "{answer}");
    let user = format!("Host: evil@{}\r\n", server.address());
    assert_eq!(call("https://pages.example.org", &user).0, 403);
}

#[test]
fn strangers_are_refused_with_what_to_do() {
    let place = Place::new();
    let server = place.http(&["--max-body", "2000"], Some(TOKEN));
    let host = format!("Host: {}\r\n", server.address());
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    let hello = hello();

    let (status, answer) = post(&server, &format!("{host}{token}"), &hello);
    assert_eq!(status, 200, "{answer}");
    let refused = |headers: &str, body: &str, status: u16, says: &str| {
        let (found, answer) = post(&server, headers, body);
        assert_eq!(found, status, "{answer}");
        assert!(answer.contains(says), "{says} is not in {answer}");
    };
    refused(&host, &hello, 401, "Authorization: Bearer TOKEN");
    refused(
        &format!("{host}Authorization: Bearer wrong-token-wrong\r\n"),
        &hello,
        401,
        "the token is wrong",
    );
    refused(
        &format!("Host: evil.example.org\r\n{token}"),
        &hello,
        403,
        "have the server allow this host",
    );
    refused(
        &format!("{host}{token}Origin: https://evil.example.org\r\n"),
        &hello,
        403,
        "unless the server allows their origin",
    );
    refused(&format!("{host}{token}"), &"x".repeat(5000), 413, "longer than 2000 bytes");
    refused(&format!("{host}{token}"), "this is no JSON", 400, "send one JSON-RPC object");
    let (status, answer) =
        raw(&server, &format!("GET /nowhere HTTP/1.1\r\n{host}Connection: close\r\n\r\n"));
    assert!(
        status == 404 && answer.contains("the MCP endpoint of this server is /mcp"),
        "{answer}"
    );

    let (status, _) = raw(&server, &format!("GET / HTTP/1.1\r\n{host}Connection: close\r\n\r\n"));
    assert_eq!(status, 401, "the pages, too, are for those who have the token");

    // A body that does not say how long it is.
    let chunk = format!("{:x}\r\n{}\r\n", 5000, "x".repeat(5000));
    let (status, answer) = raw(
        &server,
        &format!(
            "POST /mcp HTTP/1.1\r\n{host}{token}Connection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n"
        ),
    );
    assert_eq!(status, 413, "{answer}");
}

#[test]
fn an_open_address_needs_a_token_and_a_name() {
    let place = Place::new();
    let refused = |options: &[&str], token: Option<&str>| {
        let mut command = place.command();
        command.args(["--http", "0.0.0.0:0"]).args(options).stderr(Stdio::piped());
        if let Some(token) = token {
            command.env("EOG_MCP_TOKEN", token);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let both = refused(&[], None);
    assert!(both.contains("set a token") && both.contains("--allow-host"), "{both}");
    let one = refused(&[], Some(TOKEN));
    assert!(one.contains("--allow-host") && !one.contains("set a token"), "{one}");
    let one = refused(&["--allow-host", "x"], None);
    assert!(one.contains("at least 16 characters") && !one.contains("--allow-host"), "{one}");
    assert!(refused(&["--allow-host", "x"], Some("short")).contains("fewer than 16 characters"));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server() {
    let place = Place::new();
    let mut server = place.http(&[], None);
    let host = format!("Host: {}\r\n", server.address());
    assert_eq!(post(&server, &host, &hello()).0, 200);
    let kill = std::process::Command::new("kill")
        .args(["-TERM", &server.child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}
