//! What a context over MCP takes beside the same context in the process, and what a whole
//! investigation takes.
//!
//! ```text
//! cargo build --release -p eog-mcp --examples
//! cargo run --release -p eog-mcp --example client_overhead -- examples/flash-sale
//! ```

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use eog::{Config, ContextContract, ContextRequest, Engine};
use eog_evidence::{Bundle, BundleContext, EvidencePolicy, open_case};
use eog_mcp::client::{McpConfig, McpSource};

/// Contexts of each kind, after a first that does not count.
const CALLS: usize = 500;

/// Investigations of each kind.
const RUNS: usize = 20;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("give a bundle")?;
    let folder = folder.canonicalize()?;
    let server = std::env::current_exe()?.with_file_name("context-server");
    let text = serde_json::json!({
        "bundle": folder,
        "servers": {"own": {"command": server, "args": ["context", folder]}},
        "context": {"server": "own", "tool": "get_context", "arguments": {
            "entity_id": "{entity}", "start_time": "{start}", "end_time": "{end}",
            "page": "{page}", "visit": "{visit}", "changed_neighbours": "{changed_neighbours}"}},
    });
    let config = McpConfig::parse(&text.to_string(), "overhead.json".as_ref())?;
    let begin = Instant::now();
    let (incident, over_mcp) = McpSource::open(config).await?;
    println!(
        "start of the server, greeting, list of tools: {:.1} ms",
        milliseconds(begin.elapsed())
    );
    let here = BundleContext::new(Bundle::read(&folder)?);

    let case = open_case(&incident, None)?;
    let request = ContextRequest {
        entity: case.anomalies.first().ok_or("no alert")?.entity.clone(),
        window: case.window,
        page: 1,
        visit: 1,
        changed_neighbours: [].into(),
    };
    let bytes = serde_json::to_vec(&here.get_context(&request).await?)?.len();
    println!("one context, {bytes} bytes: in the process {}", time(&here, &request).await?);
    println!("one context, {bytes} bytes: over stdio {}", time(&over_mcp, &request).await?);

    let mut took = [Vec::new(), Vec::new()];
    for _ in 0..RUNS {
        let contracts: [&dyn ContextContract; 2] = [&here, &over_mcp];
        for (took, contract) in took.iter_mut().zip(contracts) {
            let begin = Instant::now();
            let engine = Engine::new(contract, EvidencePolicy::default());
            engine.investigate(Config::default(), case.clone()).await;
            took.push(begin.elapsed());
        }
    }
    let [here, over_mcp] = took.map(shown);
    println!("whole investigation: in the process {here}; over stdio {over_mcp}");
    Ok(())
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
