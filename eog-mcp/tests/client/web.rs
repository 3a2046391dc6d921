//! A server over HTTP that answers with whole bodies of JSON.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{ask, open};

/// Serves one tool, `echo`, whose answer is as long as the name of the entity says.
async fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer_all(stream));
        }
    });
    format!("http://{address}/mcp")
}

async fn answer_all(stream: TcpStream) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut length, mut is_post) = (0, false);
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            is_post |= line.starts_with("POST ");
            let line = line.trim().to_ascii_lowercase();
            if let Some(text) = line.strip_prefix("content-length:") {
                length = text.trim().parse().ok()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (status, body) = match answer(&asked) {
            Some(answer) => ("200 OK", answer.to_string()),
            None if is_post => ("202 Accepted", String::new()),
            None => ("405 Method Not Allowed", String::new()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.ok()?;
        stream.write_all(body.as_bytes()).await.ok()?;
    }
}

fn answer(asked: &Value) -> Option<Value> {
    let result = match asked["method"].as_str()? {
        "initialize" => json!({"protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            let letters = asked["params"]["arguments"]["e"].as_str()?.parse().ok()?;
            json!({"content": [{"type": "text", "text": "x".repeat(letters)}]})
        }
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_and_the_next_call_works() {
    let text = format!(
        "[servers.s]\nurl = '{}'\nmax_answer_bytes = 1000000\n[[evidence]]\nname = 'e'\n\
         call = {{ server = 's', tool = 'echo', arguments = {{ e = '{{entity}}' }} }}\n\
         rows.regex = '(?<x>x+)'\n\
         finding = {{ kind = 'event', signal = 'errors', excerpt = '{{x}}' }}\n",
        serve().await
    );
    let (_, contract) = open(&text).await.unwrap();
    assert_eq!(ask(&contract, "900000").await.unwrap().findings.len(), 1);
    let refused = ask(&contract, "1000000").await.unwrap_err();
    assert!(refused.message.contains("its answer is longer than 1000000 bytes"), "{refused}");
    // Beyond what the library reads.
    let refused = ask(&contract, "17000000").await.unwrap_err();
    assert!(refused.message.contains("server s, tool echo"), "{refused}");
    eprintln!("{refused}");
    assert_eq!(ask(&contract, "3").await.unwrap().findings.len(), 1);
}
