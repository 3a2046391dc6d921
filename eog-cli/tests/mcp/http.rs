//! HTTP clients, and requests that are not from clients.

use rmcp::ServiceExt;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::json;

use super::support::{HttpServer, Place, TOKEN, call, client, content, hello};
use crate::common::{self, Run, request};

/// Sends a request as it stands and gives status and body.
fn raw(server: &HttpServer, request: &str) -> (u16, String) {
    common::http(server.address(), request).unwrap()
}

const BODY: &str =
    "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n";

/// A request of MCP with these headers and this body.
fn post(server: &HttpServer, headers: &str, body: &str) -> (u16, String) {
    raw(server, &request("POST", "/mcp", &format!("{BODY}{headers}"), body))
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
    assert!(self::client().serve(without).await.is_err(), "no other client gets in");
}

/// What a browser sends before it lets a page call, and what it expects in the answers.
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
        let (status, answer) = post(&server, &headers, &hello().to_string());
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
    let hello = hello().to_string();

    let (status, answer) = post(&server, &format!("{host}{token}"), &hello);
    assert_eq!(status, 200, "{answer}");
    for (headers, body, status, says) in [
        (host.clone(), &*hello, 401, "Authorization: Bearer TOKEN"),
        (
            format!("{host}Authorization: Bearer wrong-token-wrong\r\n"),
            &hello,
            401,
            "the token is wrong",
        ),
        (
            format!("Host: evil.example.org\r\n{token}"),
            &hello,
            403,
            "have the server allow this host",
        ),
        (
            format!("{host}{token}Origin: https://evil.example.org\r\n"),
            &hello,
            403,
            "unless the server allows their origin",
        ),
        (format!("{host}{token}"), &"x".repeat(5000), 413, "longer than 2000 bytes"),
        (format!("{host}{token}"), "this is no JSON", 400, "send one JSON-RPC object"),
    ] {
        let (found, answer) = post(&server, &headers, body);
        assert_eq!(found, status, "{answer}");
        assert!(answer.contains(says), "{says} is not in {answer}");
    }
    let (status, answer) = raw(&server, &request("GET", "/nowhere", &host, ""));
    assert!(
        status == 404 && answer.contains("the MCP endpoint of this server is /mcp"),
        "{answer}"
    );

    let (status, _) = raw(&server, &request("GET", "/", &host, ""));
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
    let refused = |options: &[&str], token: Option<&str>, says: &[&str], not: &[&str]| {
        let mut command = place.with(&["--http", "0.0.0.0:0"]);
        command.args(options).envs(token.map(|token| ("EOG_MCP_TOKEN", token)));
        let refused = Run::of(&mut command).exits(2).says(says);
        assert!(!not.iter().any(|part| refused.err.contains(part)), "{refused:?}");
    };
    let host = ["--allow-host", "x"];
    refused(&[], None, &["set a token", "--allow-host"], &[]);
    refused(&[], Some(TOKEN), &["--allow-host"], &["set a token"]);
    refused(&host, None, &["at least 16 characters"], &["--allow-host"]);
    refused(&host, Some("short"), &["fewer than 16 characters"], &[]);
}
