//! What holds of the server whatever a client sends. The fuzz target includes this file.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use eog_mcp::server::{Evidence, Server, Settings};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Longest that a server may take to end after its client has said all.
const PATIENCE: Duration = Duration::from_secs(30);

/// An empty root, a state folder, and what runs the server.
static PLACE: LazyLock<(TempDir, tokio::runtime::Runtime)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(folder.path().join("root")).expect("a folder in it");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    (folder, runtime.expect("a runtime"))
});

/// What a client says first, so that the rest is taken for requests.
const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);

/// Sends the bytes as the lines of a client that has begun, and reads all answers.
///
/// # Panics
/// When the server does not end, an answer is no JSON-RPC message, or a request is answered twice.
pub(crate) fn check(bytes: &[u8]) {
    let (folder, runtime) = &*PLACE;
    let path = folder.path();
    let settings = Settings::new(vec![path.join("root")], path.join("state"));
    let server = Server::open(settings, Arc::new(Evidence)).expect("the folders are there");
    let told = runtime.block_on(async {
        let (client, end) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(end);
        let (mut hear, mut say) = tokio::io::split(client);
        let talk = async {
            // A server that has had enough closes.
            let _ = say.write_all(HELLO.as_bytes()).await;
            let _ = say.write_all(bytes).await;
            let _ = say.write_all(b"\n").await;
            let _ = say.shutdown().await;
        };
        let listen = async {
            let mut told = Vec::new();
            hear.read_to_end(&mut told).await.expect("a pipe");
            told
        };
        let serve = server.streams(read, write, std::future::pending());
        let all = async { tokio::join!(serve, talk, listen) };
        let (served, (), told) = tokio::time::timeout(PATIENCE, all).await.expect("it ends");
        assert!(served.is_ok(), "{served:?}");
        told
    });
    let told = String::from_utf8(told).expect("answers are text");
    let mut answers = 0;
    for line in told.lines() {
        let message: Value = serde_json::from_str(line).expect("answers are JSON");
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        answers += usize::from(message.get("result").or(message.get("error")).is_some());
    }
    let lines = bytes.split(|byte| *byte == b'\n').count() + 1;
    assert!(answers <= lines, "{answers} answers to {lines} lines: {told}");
}
