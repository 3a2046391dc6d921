//! Why a source cannot be opened.

use std::path::PathBuf;

use eog::incident::Unusable;
use eog_evidence::BundleError;
#[cfg(feature = "mcp")]
use eog_mcp_client::SourceError;
use eog_sre::SnapshotError;
use eog_sre::tools::ToolError;

/// Why a source does not answer a tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// It has no tools, as MCP servers have none.
    #[error(
        "this source gives the evidence on entities alone; the tools read bundles, snapshots and what \
         is captured from live sources"
    )]
    NoTools,
    /// The tool was not run.
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// Why a source cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is nothing of that name.
    #[error("{}: there is no such {}", path.display(), absent(path))]
    Absent {
        /// The path.
        path: PathBuf,
    },
    /// It is there, or may be, and cannot be read.
    #[error("{}: cannot be read: {reason}; make it readable for the user who runs eog", path.display())]
    NotReadable {
        /// The path.
        path: PathBuf,
        /// Why not, in the words of the operating system.
        reason: String,
    },
    /// A file that is no configuration of MCP servers.
    #[error("{}: this is a file; `eog import incident FILE…` makes a folder of exports and logs; else give the folder of a bundle or snapshot, or a file such as \
             source.toml that says which live sources (docs/live-sources.md) or MCP servers \
             (docs/mcp.md) to ask", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// `bundle.json` is there, and no file.
    #[error("{}: bundle.json is not a file", path.display())]
    NoManifest {
        /// The folder.
        path: PathBuf,
    },
    /// A folder that cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// An architecture was named for a source that has its own topology.
    #[error("{}: an application architecture goes with a snapshot; leave it out", path.display())]
    NeedsNoArchitecture {
        /// The source.
        path: PathBuf,
        /// What it is.
        kind: super::Kind,
    },
    /// The folder holds nothing that is known.
    #[error("{}: neither a bundle (no bundle.json) nor a snapshot (no alerts, events, objects, logs, \
             traces or metrics in the ITBench layout); if it holds exports or logs, run `eog import incident {}` and \
             investigate `incident` (docs/bundle.md)",
            path.display(), eog_report::shell_word(&path.display().to_string()))]
    NothingKnown {
        /// The folder.
        path: PathBuf,
    },
    /// Records cannot be used, where all are asked for.
    #[error("{}: {}{}; mend or remove what cannot be used, or open it without asking for all (strict)",
            path.display(), eog_report::words::unusable(first), and_others(*others))]
    Unusable {
        /// The source.
        path: PathBuf,
        /// The first file of which records cannot be used.
        first: Box<Unusable>,
        /// How many further files there are.
        others: usize,
    },
    /// A bundle that cannot be used.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// A snapshot that cannot be used.
    #[error(transparent)]
    Snapshot(SnapshotError),
    /// Live sources that cannot be used.
    #[error(transparent)]
    Capture(#[from] eog_sources::CaptureError),
    /// There is no place for what live sources say.
    #[error("no temporary folder can be made: {reason}")]
    NoFolder {
        /// Why.
        reason: String,
    },
    /// Servers are named, and this build cannot ask any.
    #[cfg(not(feature = "mcp"))]
    #[error("{}: MCP servers: this eog was built without MCP; build it with --features mcp, or full",
            path.display())]
    NoMcp {
        /// The file that names them.
        path: PathBuf,
    },
    /// Servers that cannot be used.
    #[cfg(feature = "mcp")]
    #[error(transparent)]
    Servers(#[from] SourceError),
}

impl OpenError {
    pub(super) fn not_readable(path: &std::path::Path, error: &std::io::Error) -> Self {
        let reason = match error.kind() {
            std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        Self::NotReadable { path: path.to_owned(), reason }
    }

    /// Whether reading was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(
            self,
            Self::Snapshot(SnapshotError::Cancelled) | Self::Bundle(BundleError::Cancelled)
        )
    }
}

/// What is not there, by its name, and what to name instead.
fn absent(path: &std::path::Path) -> &'static str {
    match path.extension().is_some_and(|ending| ending == "toml") {
        true => "file; name one that says which live sources or MCP servers to ask",
        false => "folder; name the one with the bundle or snapshot",
    }
}

fn and_others(files: usize) -> String {
    match files {
        0 => String::new(),
        1 => "; the same goes for 1 more file".to_owned(),
        _ => format!("; the same goes for {files} more files"),
    }
}
