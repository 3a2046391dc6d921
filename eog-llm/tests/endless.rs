//! Servers of models that never stop sending: the connection is cut, and little is kept.
#![allow(clippy::unwrap_used)]

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use eog_llm::{GenaiModel, GenaiSettings};
use eog_prompts::{ChatErrorKind, ChatModel};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Longest answer that the clients of these tests take, in bytes.
const MOST: usize = 1 << 18;

/// What the buffers of the system may take besides.
const BUFFERS: usize = 32 << 20;

/// Sends a head and then the same piece, as long as the client reads; gives the address and how many bytes
/// were taken.
async fn endless(head: &'static str, piece: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (counted, piece) = (counted.clone(), piece.clone());
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 1 << 16]).await;
                let _ = stream.write_all(head.as_bytes()).await;
                while stream.write_all(piece.as_bytes()).await.is_ok() {
                    counted.fetch_add(piece.len(), Ordering::Relaxed);
                }
            });
        }
    });
    (url, sent)
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_never_ends_is_cut() {
    let long = "x".repeat(60_000);
    let cases = [
        (
            "an error in chunks",
            "HTTP/1.1 500 Failed\r\nTransfer-Encoding: chunked\r\n\r\n",
            chunk(&long),
            ChatErrorKind::Unavailable,
            "HTTP status 500",
        ),
        (
            "an error that lasts as long as its connection",
            "HTTP/1.1 500 Failed\r\n\r\n",
            long.clone(),
            ChatErrorKind::Unavailable,
            "HTTP status 500",
        ),
        (
            "an error that announces what it sends",
            "HTTP/1.1 400 Wrong\r\nContent-Length: 9000000000\r\n\r\n",
            long.clone(),
            ChatErrorKind::NotAccepted,
            "is longer than 262144 bytes",
        ),
        (
            "a single event",
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ",
            long.clone(),
            ChatErrorKind::Unreadable,
            "is longer than 262144 bytes",
        ),
        ("a head", "HTTP/1.1 200 OK\r\n", format!("a: {long}\r\n"), ChatErrorKind::Unavailable, ""),
    ];
    for (what, head, piece, kind, said) in cases {
        let (url, sent) = endless(head, piece).await;
        let mut settings = GenaiSettings::default();
        settings.base_url = Some(url);
        settings.max_response_bytes = MOST;
        let model = GenaiModel::new("vllm/test", settings).unwrap();
        let error = model.chat(&support::request()).await.expect_err(what);
        assert_eq!(error.kind, kind, "{what}: {error}");
        assert!(error.to_string().contains(said), "{what}: {error}");
        assert!(error.to_string().len() < 1000, "{what}: {} bytes", error.to_string().len());
        let sent = sent.load(Ordering::Relaxed);
        assert!(sent < BUFFERS, "{what}: {sent} bytes were taken");
    }
}
