//! A server on the loopback interface that answers by a script, and requests to send to it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use eog_llm::{Capabilities, CapabilityChanges, GenaiModel, GenaiSettings, Secret};
use eog_prompts::{AnswerForm, ChatMessage, ChatRequest};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

pub const KEY: &str = "planted-provider-key";

/// What the server does with one request.
pub enum Reply {
    /// A whole response.
    Status(u16, Vec<(&'static str, String)>, String),
    /// A stream of events, whole.
    Events(Vec<String>),
    /// A stream that announces more than it sends.
    Broken(Vec<String>),
    /// The request is read, and nothing is said.
    Hang,
}

#[derive(Clone, Debug)]
pub struct Seen {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

pub struct Server {
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    pub hung_up: Arc<Notify>,
    pub hanging: Arc<Notify>,
}

impl Server {
    pub async fn start(script: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (hung_up, hanging) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let server =
            Self { url, seen: seen.clone(), hung_up: hung_up.clone(), hanging: hanging.clone() };
        tokio::spawn(async move {
            let mut script = script.into_iter();
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read(&mut stream).await;
                seen.lock().unwrap().push(request);
                let over = Reply::Status(418, vec![], "the script is over".to_owned());
                match script.next().unwrap_or(over) {
                    Reply::Hang => {
                        let (hung_up, hanging) = (hung_up.clone(), hanging.clone());
                        tokio::spawn(async move {
                            hanging.notify_one();
                            // Ends when the client closes its end.
                            let _ = stream.read(&mut [0; 16]).await;
                            hung_up.notify_one();
                        });
                    }
                    reply => write(&mut stream, reply).await,
                }
            }
        });
        server
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn body(&self) -> Value {
        self.seen().pop().expect("a request").body
    }
}

async fn read(stream: &mut TcpStream) -> Seen {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        assert!(stream.read_buf(&mut bytes).await.expect("a request") > 0, "ended early");
    };
    let text = String::from_utf8(bytes[..head].to_vec()).expect("text");
    let mut lines = text.lines();
    let path = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers["content-length"].parse().expect("a length");
    while bytes.len() < head + 4 + length {
        assert!(stream.read_buf(&mut bytes).await.expect("a body") > 0, "ended early");
    }
    let body = serde_json::from_slice(&bytes[head + 4..]).expect("JSON");
    Seen { path, headers, body }
}

async fn write(stream: &mut TcpStream, reply: Reply) {
    let (status, mut headers, body, missing) = match reply {
        Reply::Status(status, headers, body) => (status, headers, body, 0),
        Reply::Events(events) => (200, vec![], events.concat(), 0),
        Reply::Broken(events) => (200, vec![], events.concat(), 10),
        Reply::Hang => unreachable!("handled before"),
    };
    if status == 200 && !headers.iter().any(|(name, _)| *name == "content-type") {
        headers.push(("content-type", "text/event-stream".to_owned()));
    }
    headers.push(("content-length", (body.len() + missing).to_string()));
    headers.push(("connection", "close".to_owned()));
    let mut text = format!("HTTP/1.1 {status} Status\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    // The client may have given up already.
    let _ = stream.write_all(format!("{text}\r\n{body}").as_bytes()).await;
    let _ = stream.shutdown().await;
}

pub fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// An answer in the protocol of OpenAI.
pub fn openai(text: &str, finish: &str) -> Vec<String> {
    let (start, end) = text.split_at(text.len() / 2);
    let chunk = |delta: Value, finish: Option<&str>| {
        event(
            &json!({"model": "served-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}),
        )
    };
    vec![
        chunk(json!({"role": "assistant", "content": start}), None),
        chunk(json!({"content": end}), None),
        chunk(json!({}), Some(finish)),
        event(&json!({"model": "served-1", "choices": [], "usage": {
            "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 64},
            "completion_tokens_details": {"reasoning_tokens": 8},
        }})),
        "data: [DONE]\n\n".to_owned(),
    ]
}

pub fn anthropic(text: &str, stop: &str) -> Vec<String> {
    let named =
        |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    vec![
        named(
            json!({"type": "message_start", "message": {"model": "served-2", "role": "assistant",
            "content": [], "usage": {"input_tokens": 36, "cache_read_input_tokens": 64, "output_tokens": 1}}}),
        ),
        named(
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
        named(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        ),
        named(json!({"type": "content_block_stop", "index": 0})),
        named(
            json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 20}}),
        ),
        named(json!({"type": "message_stop"})),
    ]
}

pub fn gemini(text: &str, finish: &str) -> Vec<String> {
    vec![event(&json!({"modelVersion": "served-3", "candidates": [{
        "content": {"role": "model", "parts": [{"text": text}]}, "finishReason": finish}],
        "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 64,
            "candidatesTokenCount": 12, "thoughtsTokenCount": 8, "totalTokenCount": 120}}))]
}

pub fn request() -> ChatRequest {
    let schema = json!({"type": "object", "properties": {"label": {"type": "string"}},
        "required": ["label"], "additionalProperties": false});
    ChatRequest {
        phase: "explore".to_owned(),
        messages: vec![ChatMessage::system("Find the cause."), ChatMessage::user("What broke?")],
        answer: Some(AnswerForm { name: "finding".to_owned(), schema }),
        max_output_tokens: 500,
        drawn: None,
    }
}

pub fn settings(url: &str) -> GenaiSettings {
    let mut settings = GenaiSettings::default();
    settings.base_url = Some(url.to_owned());
    settings.key = Some(Secret::new(KEY));
    settings.seed = 7;
    settings.timeout = Duration::from_secs(20);
    settings
}

pub fn model(name: &str, settings: GenaiSettings) -> GenaiModel {
    GenaiModel::new(name, settings).expect("a model")
}

pub fn changed(name: &str, changes: &CapabilityChanges) -> Option<Capabilities> {
    Some(Capabilities::of(name).with(changes))
}
