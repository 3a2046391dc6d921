//! Folders to serve, and the server as a process.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use rmcp::transport::TokioChildProcess;
use rmcp::{ServiceExt, handler::client::ClientHandler};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{FLASH_SALE, command, copy_tree, on_small_disk};

pub(crate) const TOKEN: &str = "a-token-for-tests-only";

/// A folder with a root, in which are the bundle `flash-sale` and the snapshot `snap`, and a state
/// folder.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self(folder);
        copy_tree(FLASH_SALE, place.roots().join("flash-sale"));
        snapshot(&place.roots().join("snap"));
        place
    }

    pub(crate) fn roots(&self) -> PathBuf {
        self.0.path().join("roots")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    /// The command that serves this place.
    pub(crate) fn command(&self) -> Command {
        self.with(&["--toolset", "full"])
    }

    /// The server as a client configures it, with further options.
    pub(crate) fn with(&self, options: &[&str]) -> Command {
        let mut command = self.plain();
        command.args(options);
        command
    }

    /// The server as a client configures it.
    pub(crate) fn plain(&self) -> Command {
        let (root, state) = (self.roots(), self.state());
        let mut command = command!("mcp", "serve", "--root", root, "--state", state);
        command.env_remove("EOG_MCP_TOKEN");
        command
    }

    /// A client of a server of its own, over standard input and output.
    pub(crate) async fn connect<H: ClientHandler>(
        &self,
        handler: H,
    ) -> RunningService<RoleClient, H> {
        serve(self.command(), handler).await
    }

    /// The same with further options, and files that end after so many half kilobytes, as on a full disk.
    #[cfg(unix)]
    pub(crate) async fn connect_with<H: ClientHandler>(
        &self,
        options: &[&str],
        blocks: Option<u32>,
        handler: H,
    ) -> RunningService<RoleClient, H> {
        let limit = blocks.map_or("unlimited".to_owned(), |blocks| blocks.to_string());
        let mut server = self.command();
        let mut command = on_small_disk(server.args(options), &limit);
        command.env_remove("EOG_MCP_TOKEN");
        serve(command, handler).await
    }

    /// A server over HTTP, with further options and a token if one is given.
    pub(crate) fn http(&self, options: &[&str], token: Option<&str>) -> HttpServer {
        let mut command = self.command();
        command.args(["--http", "127.0.0.1:0"]).args(options).stderr(Stdio::piped());
        if let Some(token) = token {
            command.env("EOG_MCP_TOKEN", token);
        }
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let url = line.strip_prefix("eog: serving MCP at ").expect(&line).to_owned();
        HttpServer { child, url }
    }
}

pub(crate) async fn serve<H: ClientHandler>(
    command: impl Into<tokio::process::Command>,
    handler: H,
) -> RunningService<RoleClient, H> {
    let transport = TokioChildProcess::new(command.into());
    handler.serve(transport.unwrap()).await.unwrap()
}

/// A server that ends with the test.
pub(crate) struct HttpServer {
    pub(crate) child: Child,
    pub(crate) url: String,
}

impl HttpServer {
    pub(crate) fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a client that is written out by hand says first.
pub(crate) fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"}}})
}

/// What it says when the server has answered.
pub(crate) fn ready() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// A server over standard input and output that is spoken to by hand, and ends with the test.
pub(crate) struct Piped {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) output: Option<BufReader<ChildStdout>>,
}

impl Piped {
    /// Starts it, and begins.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        let mut server = Self { child, input, output };
        server.send(&hello());
        assert_eq!(server.next()["result"]["serverInfo"]["name"], "eog");
        server.send(&ready());
        server
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    pub(crate) fn send_line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A snapshot with one alert and one event.
fn snapshot(folder: &Path) {
    std::fs::create_dir_all(folder.join("alerts")).unwrap();
    let alert = json!([{"labels": {"alertname": "HighErrorRate", "service_name": "cart",
        "namespace": "shop"}, "state": "firing", "activeAt": "2026-01-01T10:00:00Z"}]);
    let dump = folder.join("alerts/alerts_at_2026-01-01T10-01-00.json");
    std::fs::write(dump, alert.to_string()).unwrap();
    let event = json!({"object": {"apiVersion": "v1", "metadata": {"uid": "web-1"},
        "involvedObject": {"kind": "Pod", "name": "web-1", "namespace": "shop"},
        "reason": "Unhealthy", "type": "Warning", "message": "probe failed", "count": 2,
        "lastTimestamp": "2026-01-01T10:00:00Z"}});
    let table = |name: &str, row: &Value| {
        let row = row.to_string().replace('"', "\"\"");
        let text = format!("Timestamp\tBody\n2026-01-01 10:00:00\t\"{row}\"\n");
        std::fs::write(folder.join(name), text).unwrap();
    };
    table("k8s_events_raw.tsv", &event);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1",
        "namespace": "shop", "uid": "web-1"}, "spec": {"containers": [{"name": "web"}]},
        "status": {"phase": "Running"}});
    table("k8s_objects_raw.tsv", &pod);
    std::fs::create_dir_all(folder.join("metrics")).unwrap();
    let points = "metric_name\ttimestamp\tvalue\tpod_name\tnamespace\ttags\n\
        cpu\t2026-01-01 09:59:00\t1.0\tweb-1\tshop\t{}\n\
        cpu\t2026-01-01 10:00:00\t2.0\tweb-1\tshop\t{}\n";
    std::fs::write(folder.join("metrics/pod_web-1_raw.tsv"), points).unwrap();
}

pub(crate) fn client() -> ClientConfig {
    ClientConfig::default()
}

#[expect(clippy::needless_pass_by_value, reason = "tests write the arguments where they call")]
pub(crate) fn call(tool: impl Into<String>, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool.into()).with_arguments(arguments.as_object().unwrap().clone())
}

/// The JSON in the text of an answer for agents.
pub(crate) fn parsed(result: Result<CallToolResult, ServiceError>) -> Value {
    let result = result.unwrap();
    assert_ne!(result.is_error, Some(true), "{}", text(&result));
    assert_eq!(result.structured_content, None);
    serde_json::from_str(&text(&result)).unwrap()
}

/// The structured content of a result that is none of an error.
pub(crate) fn content(result: Result<CallToolResult, ServiceError>) -> Value {
    let result = result.unwrap();
    assert_ne!(result.is_error, Some(true), "{}", text(&result));
    result.structured_content.unwrap()
}

pub(crate) fn text(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|block| block.as_text()).map(|text| &*text.text).collect()
}

/// What a call that fails says.
pub(crate) fn complaint(result: Result<CallToolResult, ServiceError>) -> String {
    let result = result.unwrap();
    assert_eq!(result.is_error, Some(true), "{result:?}");
    text(&result)
}
