//! An investigation whose evidence comes from servers of MCP, judged by the evidence rules.
//!
//! ```text
//! cargo run -p eog-mcp --example investigate -- examples/mcp-sqlite/source.toml
//! ```

use std::error::Error;
use std::path::PathBuf;

use eog::{Config, Engine};
use eog_evidence::{EvidencePolicy, open_case};
use eog_mcp::client::{McpConfig, McpSource};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args_os().nth(1).map(PathBuf::from).ok_or("give a configuration")?;
    let (incident, contract) = McpSource::open(McpConfig::read(&file)?).await?;
    let case = open_case(&incident, None)?;
    let engine = Engine::new(contract, EvidencePolicy::default());
    let finished = engine.investigate(Config::default(), case).await;

    for warning in &incident.warnings {
        eprintln!("warning: {warning}");
    }
    let conclusion = finished.conclusion();
    println!("confidence: {}", conclusion.confidence);
    for origin in conclusion.frontier.iter().flat_map(|group| &group.origins) {
        let why = finished.machine.belief(origin).map_or("", |belief| &belief.summary);
        println!("origin: {origin}: {why}");
    }
    println!("evaluations: {}", finished.spent().evaluations);
    Ok(())
}
