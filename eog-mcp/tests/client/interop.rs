//! Servers of third parties. `.ci/interop` installs them; without them the tests skip, and say so.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use eog_core::evidence::{EvidenceTime, Signal};
use eog_core::{ContextContract, EvidenceKind, LocalContext};

use crate::support::{ask, open, quoted, repository, until};

/// A file below what `.ci/interop` installs, or nothing with a message.
fn installed(path: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    let file = target.join("interop").join(path);
    if file.exists() {
        return Some(file);
    }
    eprintln!("skipped: {} is missing; .ci/interop installs it", file.display());
    None
}

fn everything() -> Option<PathBuf> {
    installed("servers/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
}

fn python() -> Option<PathBuf> {
    installed("venv/bin/python")
}

fn python_server() -> String {
    quoted(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client/interop/serve.py"))
}

/// A server over HTTP that ends with the test.
struct Http {
    child: Child,
    port: u16,
}

impl Http {
    async fn start(mut command: Command, port: u16) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        until("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
        Self { child, port }
    }

    async fn everything(script: &Path, port: u16) -> Self {
        let mut command = Command::new("node");
        command.arg(script).arg("streamableHttp").env("PORT", port.to_string());
        Self::start(command, port).await
    }

    fn server(&self, name: &str) -> String {
        format!("[servers.{name}]\nurl = 'http://127.0.0.1:{}/mcp'\n", self.port)
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

const OF_EVERYTHING: &str = r#"
[[evidence]]
name = "echo"
call = { server = "every", tool = "echo", arguments = { message = "at {start:unix}: {entity|text}" } }
rows.regex = "Echo: at (?<at>[0-9]+): (?<what>.*)"
finding = { kind = "event", signal = "errors", time = { field = "at", format = "unix" }, excerpt = "{what}" }
[[evidence]]
name = "weather"
call = { server = "every", tool = "get-structured-content", arguments = { location = "Chicago" } }
rows.json = {}
finding = { kind = "metric", signal = "other", quantity = { observed = "humidity", unit = "%" }, excerpt = "{conditions}" }
[[evidence]]
name = "long"
call = { server = "every", tool = "trigger-long-running-operation", arguments = { duration = 4, steps = 8 } }
rows.regex = "(?<text>Long running operation completed)"
finding = { kind = "note", signal = "other", excerpt = "{text}" }
"#;

/// With progress twice a second, the four seconds of the operation are allowed for.
const PATIENT: &str = "call_seconds = 2\n";

async fn drive_everything(contract: &dyn ContextContract) {
    let context = ask(contract, "cart \"one\"").await.unwrap();
    assert_eq!(context.omitted, [""; 0]);
    let [echo, weather, long] = &context.findings[..] else { panic!("{context:?}") };
    assert_eq!(echo.excerpt, "cart \\\"one\\\"");
    assert_eq!(echo.time, EvidenceTime::At("2026-01-01T10:00:00Z".parse().unwrap()));
    assert_eq!(weather.excerpt, "Light rain / drizzle");
    assert_eq!(weather.quantity.as_ref().unwrap().observed, 82.0);
    assert_eq!(long.kind, EvidenceKind::Note);
}

#[tokio::test]
async fn the_reference_server_over_stdio() {
    let Some(script) = everything() else { return };
    let text = format!(
        "{OF_EVERYTHING}[servers.every]\ncommand = 'node'\nargs = [{}, 'stdio']\n{PATIENT}",
        quoted(script)
    );
    drive_everything(&open(&text).await.unwrap().1).await;
}

#[tokio::test]
async fn the_reference_server_over_http_even_when_its_session_expired() {
    let Some(script) = everything() else { return };
    let server = Http::everything(&script, free_port()).await;
    let text = format!("{OF_EVERYTHING}{}{PATIENT}", server.server("every"));
    let (_, contract) = open(&text).await.unwrap();
    drive_everything(&contract).await;

    // A new process knows nothing of the session.
    let port = server.port;
    drop(server);
    assert!(ask(&contract, "cart").await.is_err(), "no server is there");
    let server = Http::everything(&script, port).await;
    drive_everything(&contract).await;

    drop(server);
    let _server = Http::everything(&script, port).await;
    drive_everything(&contract).await;
}

const OF_PYTHON: &str = r#"
entity = "^(?<namespace>[^/]+)/(?<name>.+)$"
[[evidence]]
name = "rollouts"
call = { server = "py", tool = "rollouts", arguments = { namespace = "{namespace}", name = "{name}", since = "{start:unix}" } }
rows.json = { at = "/result" }
[evidence.finding]
kind = "change"
signal = "configuration"
time = { field = "at" }
change = { path = "{field}", old = "old", new = "new" }
excerpt = "{field} is now {new}"
[[evidence]]
name = "pods"
call = { server = "py", tool = "pods", arguments = { namespace = "{namespace}" } }
rows.table = { delimiter = "spaces" }
finding = { kind = "event", signal = "other", signal_by = { field = "STATUS", values = { CrashLoopBackOff = "availability" } }, excerpt = "{NAME} is {STATUS}" }
"#;

async fn drive_python(text: &str) {
    let (_, contract) = open(text).await.unwrap();
    let context = ask(&contract, "shop/cart").await.unwrap();
    let [rollout, pod] = &context.findings[..] else { panic!("{context:?}") };
    assert_eq!(rollout.change.as_ref().unwrap().path, "shop.image");
    assert_eq!(rollout.change.as_ref().unwrap().old, None);
    assert_eq!(
        (pod.signal, pod.excerpt.as_str()),
        (Signal::Availability, "cart-1 is CrashLoopBackOff")
    );
    // Nothing is asked about an entity whose name has no such parts.
    assert_eq!(ask(&contract, "cart").await.unwrap(), LocalContext::default());
}

#[tokio::test]
async fn a_python_server_over_stdio_in_both_generations() {
    let Some(python) = python() else { return };
    for protocol in ["handshake", "stateless", "either"] {
        let server = format!(
            "[servers.py]\ncommand = {}\nargs = [{}, 'stdio']\nprotocol = '{protocol}'\n",
            quoted(&python),
            python_server()
        );
        drive_python(&format!("{OF_PYTHON}{server}")).await;
    }
}

#[tokio::test]
async fn a_python_server_over_http_in_both_generations() {
    let Some(python) = python() else { return };
    let port = free_port();
    let start = || {
        let mut command = Command::new(&python);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client/interop/serve.py"));
        command.args(["http", &port.to_string()]);
        Http::start(command, port)
    };
    let server = start().await;
    for protocol in ["handshake", "stateless", "either"] {
        let text = format!("{OF_PYTHON}{}protocol = '{protocol}'\n", server.server("py"));
        drive_python(&text).await;
    }

    // A new process answers the old session with HTTP 404.
    let text = format!("{OF_PYTHON}{}protocol = 'handshake'\n", server.server("py"));
    let (_, contract) = open(&text).await.unwrap();
    assert_eq!(ask(&contract, "shop/cart").await.unwrap().findings.len(), 2);
    drop(server);
    let _server = start().await;
    assert_eq!(ask(&contract, "shop/cart").await.unwrap().findings.len(), 2);
}

/// The example `examples/mcp-sqlite`, with the server as it comes from its makers.
#[tokio::test]
async fn a_public_sql_server_answers_about_an_incident() {
    let Some(server) = installed("sqlite/bin/mcp-server-sqlite") else { return };
    let example = repository().join("examples/mcp-sqlite");
    let folder = tempfile::tempdir().unwrap();
    let script = std::fs::read_to_string(example.join("incident.sql")).unwrap();
    let fill = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])";
    let database = folder.path().join("incident.db");
    let python = server.with_file_name("python");
    let filled = Command::new(python).args(["-c", fill]).arg(&database).arg(script).status();
    assert!(filled.unwrap().success());

    let text = std::fs::read_to_string(example.join("source.toml")).unwrap();
    let program = format!("command = {}", quoted(server));
    let text = text.replace("command = \"mcp-server-sqlite\"", &program);
    let config =
        eog_mcp::client::McpConfig::parse(&text, &folder.path().join("source.toml")).unwrap();
    let (incident, contract) = eog_mcp::client::McpSource::open(config).await.unwrap();
    assert_eq!(incident.topology.edges().len(), 4);
    assert_eq!((incident.anomalies.len(), incident.changes.len()), (2, 2));
    assert_eq!(incident.warnings, [""; 0]);

    let finished = crate::whole::investigate(&incident, contract).await;
    let conclusion = finished.conclusion();
    let origins: Vec<&str> =
        conclusion.frontier[0].origins.iter().map(eog_core::EntityId::as_str).collect();
    assert_eq!(origins, ["payment"]);
    assert!(conclusion.unexplained.is_empty());
    // The text with the apostrophe, which Python quotes in another way, is evidence, too.
    let ledger = serde_json::to_string(finished.ledger().entries()).unwrap();
    assert!(ledger.contains("QueueFull: work queue can't take more"));
}
