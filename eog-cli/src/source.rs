//! Opening the input: a bundle or a snapshot, told apart by content, or a file that names MCP servers.

use std::path::Path;

use eog::{Case, ContextContract, Window};
use eog_evidence::{Bundle, BundleContext, Incident, StartError, open_case};
use eog_mcp::client::{McpConfig, McpSource};
use eog_sre::{CacheAt, Progress, ReadOptions, Snapshot, SnapshotContext, SnapshotError};

use crate::args::Reading;
use crate::error::{CliError, Exit};
use crate::interrupt::interrupted;
use crate::investigate::runtime;

/// An input that is ready to be investigated.
pub(crate) struct Source {
    pub(crate) incident: Incident,
    pub(crate) contract: Box<dyn ContextContract>,
}

impl Source {
    /// Chooses where to start.
    pub(crate) fn case(&self, path: &Path, window: Option<Window>) -> Result<Case, CliError> {
        open_case(&self.incident, window).map_err(|error| self.cannot_start(path, error))
    }

    /// The error that there is nothing to start from.
    pub(crate) fn cannot_start(&self, path: &Path, source: StartError) -> CliError {
        CliError::Start { path: path.to_owned(), source, warnings: self.incident.warnings.clone() }
    }
}

/// Reads a folder.
pub(crate) fn open(
    path: &Path,
    architecture: Option<&Path>,
    reading: &Reading,
    progress: Option<Progress>,
) -> Result<Source, CliError> {
    let unusable =
        |reason: &str| CliError::Input { path: path.to_owned(), reason: reason.to_owned() };
    if !path.exists() {
        return Err(unusable("there is no such folder; name the one with the bundle or snapshot"));
    }
    if path.extension().is_some_and(|ending| ending == "toml") && path.is_file() {
        return open_servers(path, architecture, read_options(None, reading, progress));
    }
    if !path.is_dir() {
        return Err(unusable(
            "this is a file; give the folder of a bundle or snapshot, or a file such as \
             source.toml that says which MCP servers to ask (docs/mcp-client.md)",
        ));
    }
    let manifest = path.join("bundle.json");
    if manifest.exists() && !manifest.is_file() {
        return Err(unusable("bundle.json is not a file"));
    }
    if manifest.is_file() {
        if architecture.is_some() {
            return Err(CliError::Usage(format!(
                "--architecture goes with a snapshot, but {} is a bundle, which holds its own \
                 topology; leave the option out",
                path.display()
            )));
        }
        open_bundle(path)
    } else {
        Ok(open_snapshot(snapshot(path, architecture, reading, progress)?))
    }
}

/// Starts the MCP servers of a configuration, and asks them for the incident.
fn open_servers(
    path: &Path,
    architecture: Option<&Path>,
    reading: ReadOptions,
) -> Result<Source, CliError> {
    if architecture.is_some() {
        return Err(CliError::Usage(format!(
            "--architecture goes with a snapshot, but {} names MCP servers; leave the option out, and \
             name the file there (`architecture`) if it names a snapshot",
            path.display()
        )));
    }
    let config = McpConfig::read(path)?.reading(reading);
    let (incident, contract) = runtime()?.block_on(async {
        tokio::select! {
            opened = McpSource::open(config) => opened.map_err(CliError::from),
            () = interrupted() => {
                Err(CliError::NotBegun { why: "interrupted", exit: Exit::Interrupted, onward: None })
            }
        }
    })?;
    Ok(Source { incident, contract })
}

fn open_bundle(path: &Path) -> Result<Source, CliError> {
    let bundle = Bundle::read(path)?;
    let incident = bundle.incident();
    Ok(Source { incident, contract: Box::new(BundleContext::new(bundle)) })
}

fn open_snapshot(snapshot: Snapshot) -> Source {
    let graph = snapshot.graph();
    let incident = snapshot.incident(&graph);
    let contract = Box::new(SnapshotContext::new(snapshot, graph));
    Source { incident, contract }
}

fn read_options(
    architecture: Option<&Path>,
    reading: &Reading,
    progress: Option<Progress>,
) -> ReadOptions {
    ReadOptions {
        architecture: architecture.map(Path::to_owned),
        cache: reading.cache.clone().map(CacheAt::Folder),
        max_memory: reading.max_memory,
        progress,
        ..ReadOptions::default()
    }
}

/// Reads the folder of a snapshot.
pub(crate) fn snapshot(
    path: &Path,
    architecture: Option<&Path>,
    reading: &Reading,
    progress: Option<Progress>,
) -> Result<Snapshot, CliError> {
    if path.join("bundle.json").is_file() {
        return Err(CliError::Input {
            path: path.to_owned(),
            reason: "this is a bundle; the tools ask Kubernetes snapshots (docs/sre.md)".to_owned(),
        });
    }
    let options = read_options(architecture, reading, progress);
    Snapshot::open(path, &options).map_err(|error| match error {
        SnapshotError::NothingKnown { .. } => CliError::Input {
            path: path.to_owned(),
            reason: "neither a bundle (no bundle.json) nor a snapshot (no alerts, events, \
                     objects, logs, traces or metrics in the ITBench layout); see \
                     docs/bundle.md and docs/sre.md"
                .to_owned(),
        },
        other => other.into(),
    })
}
