//! What holds of the server whatever a client sends. The fuzz target includes this file.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use eog_mcp::server::{Evidence, Server, Settings};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Handle, Runtime};

/// Longest that a server may take until nothing works for a client any more that has said all.
const PATIENCE: Duration = Duration::from_secs(30);

/// Most lines that one server gets, unless a single client sends more: as many as it may know tasks, of which a
/// line can begin one. So no answer depends on how much other clients have said.
const MAX_LINES: usize = 1000;

static PLACE: LazyLock<Mutex<Place>> = LazyLock::new(|| Mutex::new(Place::new()));

/// A server for many clients, one after the other: opening one takes much longer than answering a client.
struct Place {
    /// An empty root, and a state folder.
    folder: TempDir,
    runtime: Runtime,
    server: Server,
    /// How many lines the server got.
    lines: usize,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("root")).expect("a folder in it");
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { server: open(&folder), folder, runtime, lines: 0 }
    }

    /// Takes another server where these lines would be too many for this one.
    fn make_room(&mut self, lines: usize) {
        if self.lines > 0 && self.lines + lines > MAX_LINES {
            self.runtime.block_on(self.server.close());
            assert_eq!(self.server.load(), (0, 0), "nothing runs");
            // There is no incident, so nothing can be left that a later client would find.
            let mut stored = std::fs::read_dir(state(&self.folder)).expect("the state folder");
            assert!(stored.next().is_none(), "something is stored");
            self.server = open(&self.folder);
            self.lines = 0;
        }
        self.lines += lines;
    }
}

fn state(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("state")
}

fn open(folder: &TempDir) -> Server {
    let settings = Settings::new(vec![folder.path().join("root")], state(folder));
    Server::open(settings, Arc::new(Evidence)).expect("the folders are there")
}

/// Resolves when nothing works for clients any more. What is left of one would count for the next.
async fn quiet() {
    while Handle::current().metrics().num_alive_tasks() > 0 {
        tokio::task::yield_now().await;
    }
}

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
/// When something goes on for the client after it has ended, an answer is no JSON-RPC message, or a request is
/// answered twice.
pub(crate) fn check(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').count() + 1;
    let place = &mut *PLACE.lock().expect("no check has failed");
    place.make_room(lines);
    let server = &place.server;
    let output = place.runtime.block_on(async {
        let (client, end) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(end);
        let (mut from_server, mut to_server) = tokio::io::split(client);
        let talk = async {
            // A server that has had enough closes.
            let _ = to_server.write_all(HELLO.as_bytes()).await;
            let _ = to_server.write_all(bytes).await;
            let _ = to_server.write_all(b"\n").await;
            let _ = to_server.shutdown().await;
        };
        let listen = async {
            let mut output = Vec::new();
            from_server.read_to_end(&mut output).await.expect("a pipe");
            output
        };
        let serve = server.session(read, write, std::future::pending());
        let all = async {
            let all = tokio::join!(serve, talk, listen);
            quiet().await;
            all
        };
        let (served, (), output) = tokio::time::timeout(PATIENCE, all).await.expect("it ends");
        assert!(served.is_ok(), "{served:?}");
        output
    });
    let output = String::from_utf8(output).expect("answers are text");
    let mut answers = 0;
    for line in output.lines() {
        let message: Value = serde_json::from_str(line).expect("answers are JSON");
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        answers += usize::from(message.get("result").or(message.get("error")).is_some());
    }
    assert!(answers <= lines, "{answers} answers to {lines} lines: {output}");
}
