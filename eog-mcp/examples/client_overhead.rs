//! What a context over MCP takes beside the same context in the process, over standard input and output
//! and over HTTP on this machine, and what a whole investigation takes.
//!
//! ```text
//! cargo build --release -p eog-mcp --examples
//! cargo run --release -p eog-mcp --example client_overhead -- examples/flash-sale STATE
//! ```
//!
//! STATE is a folder outside of the bundle, for the servers.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use eog::{Config, ContextContract, ContextRequest, Engine};
use eog_evidence::{Bundle, BundleContext, EvidencePolicy, Incident, open_case};
use eog_mcp::client::{McpConfig, McpSource};
use serde_json::{Value, json};

/// Contexts of each kind, after a first that does not count.
const CALLS: usize = 500;

/// Investigations of each kind.
const RUNS: usize = 20;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut given = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(folder), Some(state)) = (given.next(), given.next()) else {
        return Err("give a bundle, and a folder outside of it".into());
    };
    let folder = folder.canonicalize()?;
    let server = std::env::current_exe()?.with_file_name("context-server");

    let begin = Instant::now();
    let own = json!({"command": server, "args": ["own", folder, state]});
    let (incident, over_stdio) = open(&folder, &own).await?;
    println!(
        "start of the server, greeting, list of tools: {:.1} ms",
        milliseconds(begin.elapsed())
    );
    let remote = Remote::start(&server, &folder, &state)?;
    let (_, over_http) = open(&folder, &json!({"url": remote.url})).await?;
    let here = BundleContext::new(Bundle::read(&folder)?);
    let contracts: [(&str, &dyn ContextContract); 3] =
        [("in the process", &here), ("over stdio", &over_stdio), ("over HTTP", &over_http)];

    let case = open_case(&incident, None)?;
    let request = ContextRequest {
        entity: case.anomalies.first().ok_or("no alert")?.entity.clone(),
        window: case.window,
        page: 1,
        visit: 1,
        changed_neighbours: [].into(),
        query: None,
    };
    let expected = here.get_context(&request).await?;
    let bytes = serde_json::to_vec(&expected)?.len();
    for (name, contract) in contracts {
        if contract.get_context(&request).await? != expected {
            return Err(format!("another context {name}").into());
        }
        println!("one context, {bytes} bytes, {name}: {}", time(contract, &request).await?);
    }

    let mut took = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..RUNS {
        for (took, (_, contract)) in took.iter_mut().zip(contracts) {
            let begin = Instant::now();
            let engine = Engine::new(contract, EvidencePolicy::default());
            engine.investigate(Config::default(), case.clone()).await;
            took.push(begin.elapsed());
        }
    }
    for (took, (name, _)) in took.into_iter().zip(contracts) {
        println!("whole investigation, {name}: {}", shown(took));
    }
    Ok(())
}

async fn open(
    folder: &Path,
    server: &Value,
) -> Result<(Incident, Box<dyn ContextContract>), Box<dyn Error>> {
    let text = json!({
        "bundle": folder,
        "servers": {"own": server},
        "context": {"server": "own", "tool": "get_context", "arguments": {
            "entity_id": "{entity}", "start_time": "{start}", "end_time": "{end}",
            "page": "{page}", "visit": "{visit}", "changed_neighbours": "{changed_neighbours}"}},
    });
    let config = McpConfig::parse(&text.to_string(), "overhead.json".as_ref())?;
    Ok(McpSource::open(config).await?)
}

/// A server over HTTP, as a process of its own.
struct Remote {
    child: Child,
    url: String,
}

impl Remote {
    fn start(server: &Path, folder: &Path, state: &Path) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(server);
        command.arg("http").args([folder, state]).stdout(Stdio::piped());
        let mut remote = Self { child: command.spawn()?, url: String::new() };
        let output = remote.child.stdout.take().ok_or("no output")?;
        remote.url = BufReader::new(output).lines().next().ok_or("no address")??;
        Ok(remote)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // Fails when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn time(
    contract: &dyn ContextContract,
    request: &ContextRequest,
) -> Result<String, Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..=CALLS {
        let begin = Instant::now();
        contract.get_context(request).await?;
        times.push(begin.elapsed());
    }
    times.remove(0);
    Ok(shown(times))
}

/// Median and 95th percentile.
fn shown(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: usize| milliseconds(times[(times.len() * share / 100).min(times.len() - 1)]);
    format!("{:.2} ms, {:.2} ms", at(50), at(95))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
