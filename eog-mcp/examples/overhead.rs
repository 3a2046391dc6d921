//! What a call over MCP takes beside the same call in the process: over standard input and output,
//! and over HTTP; and what a hundred investigations at once take.
//!
//! ```text
//! cargo build --release -p eog-cli
//! cargo run --release -p eog-mcp --example overhead -- target/release/eog SNAPSHOT [ARCHITECTURE]
//! ```

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use eog_sre::tools::Toolbox;
use eog_sre::{ReadOptions, Snapshot};
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ClientConfig};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Map, Value, json};

/// Calls of each kind, after a first that does not count.
const CALLS: usize = 200;

/// Investigations at once.
const AT_ONCE: usize = 100;

type Client = RunningService<RoleClient, ClientConfig>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [eog, snapshot, rest @ ..] = &given[..] else {
        return Err("give the eog program and the folder of a snapshot".into());
    };
    let snapshot = snapshot.canonicalize()?;
    let architecture = rest.first();
    let state = tempfile::tempdir()?;
    let command = || serve(eog, &snapshot, architecture.map(PathBuf::as_path), state.path());

    let options = ReadOptions { architecture: architecture.cloned(), ..ReadOptions::default() };
    let toolbox = Toolbox::new(Arc::new(Snapshot::open(&snapshot, &options)?));
    let entity = toolbox.snapshot().incident(toolbox.graph()).anomalies[0].entity.to_string();

    let stdio = TokioChildProcess::new(tokio::process::Command::from(command()))?;
    let stdio: Client = ClientConfig::default().serve(stdio).await?;
    let (server, url) = over_http(command())?;
    // A build with eog-llm has TLS without a provider of its own; the client asks for one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = StreamableHttpClientTransport::from_uri(url.clone());
    let http: Client = ClientConfig::default().serve(http).await?;

    println!("| call | bytes | in the process | stdio | HTTP |");
    println!("|---|---:|---:|---:|---:|");
    let calls = [
        ("list_investigations", json!({})),
        ("alert_summary", json!({"limit": 5})),
        ("get_context_contract", json!({"entity": entity})),
        ("event_analysis", json!({"limit": 1000})),
    ];
    for (tool, arguments) in calls {
        let is_own = tool == "list_investigations";
        let mut here = Vec::new();
        let mut bytes = 0;
        for _ in 0..=CALLS {
            let begin = Instant::now();
            if !is_own {
                bytes = toolbox.call_text(tool, arguments.clone())?.len();
            }
            here.push(begin.elapsed());
        }
        let (piped, _) = time(&stdio, tool, &arguments).await?;
        let (sent, _) = time(&http, tool, &arguments).await?;
        let here = if is_own { "-".to_owned() } else { shown(&mut here) };
        println!("| `{tool}` | {bytes} | {here} | {piped} | {sent} |");
    }

    at_once(&url).await?;
    if let Some(peak) = peak_memory(server.0.id()) {
        println!("peak memory of the HTTP server: {} MB", peak / 1000);
    }
    stdio.cancel().await?;
    http.cancel().await?;
    Ok(())
}

/// A server that ends with this program.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(eog: &Path, snapshot: &Path, architecture: Option<&Path>, state: &Path) -> Command {
    let mut command = Command::new(eog);
    command
        .args(["mcp", "serve", "--toolset", "full", "--root"])
        .arg(snapshot)
        .arg("--state")
        .arg(state);
    if let Some(architecture) = architecture {
        command.arg("--architecture").arg(architecture);
    }
    command
}

fn over_http(mut command: Command) -> Result<(Serving, String), Box<dyn Error>> {
    command.args(["--http", "127.0.0.1:0"]).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let errors = child.stderr.take().ok_or("no standard error")?;
    let line = BufReader::new(errors).lines().next().ok_or("the server said nothing")??;
    let url = line.split(' ').next_back().unwrap_or_default().to_owned();
    Ok((Serving(child), url))
}

/// Median and 95th percentile of calls over a client, and the size of the answer.
async fn time(
    client: &Client,
    tool: &'static str,
    arguments: &Value,
) -> Result<(String, usize), Box<dyn Error>> {
    let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
    let mut times = Vec::new();
    let mut bytes = 0;
    for _ in 0..=CALLS {
        let request = CallToolRequestParams::new(tool).with_arguments(arguments.clone());
        let begin = Instant::now();
        let answer = client.call_tool(request).await?;
        times.push(begin.elapsed());
        if answer.is_error == Some(true) {
            return Err(format!("{tool}: {:?}", answer.content).into());
        }
        bytes = answer.structured_content.map_or(0, |content| content.to_string().len());
    }
    Ok((shown(&mut times), bytes))
}

/// Median and 95th percentile of all but the first.
fn shown(times: &mut Vec<Duration>) -> String {
    times.remove(0);
    times.sort();
    let at = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1000.0;
    format!("{:.2} ms, {:.2} ms", at(50), at(95))
}

async fn at_once(url: &str) -> Result<(), Box<dyn Error>> {
    let begin = Instant::now();
    let calls: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let transport = StreamableHttpClientTransport::from_uri(url.to_owned());
            tokio::spawn(async move {
                let client = ClientConfig::default().serve(transport).await.ok()?;
                let answer =
                    client.call_tool(CallToolRequestParams::new("investigate")).await.ok()?;
                client.cancel().await.ok()?;
                answer.structured_content
            })
        })
        .collect();
    let mut answered = 0;
    for call in calls {
        answered += usize::from(call.await?.is_some());
    }
    let took = begin.elapsed().as_secs_f64();
    println!("\n{answered} of {AT_ONCE} investigations at once answered in {took:.1} s");
    Ok(())
}

/// The most memory that a process had, in thousands of bytes, where the system reports it.
fn peak_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
