//! Opening the input, with its progress on the terminal.

use std::path::Path;

use eog::Window;
use eog_session::controllers::AnySettings;
use eog_session::run::Start;
use eog_session::source::{self, Kind, OfSnapshot, OpenError, Opened, ReadOptions};
use eog_sre::CacheAt;

use crate::args::Reading;
use crate::error::{CliError, Exit};
use crate::interrupt::{EndsAtOnce, interrupted};
use crate::progress::Progress;
use crate::runtime::runtime;

/// Opens whatever a path leads to, and says so.
pub(crate) fn open(
    progress: &Progress,
    path: &Path,
    architecture: Option<&Path>,
    reading: &Reading,
) -> Result<Opened, CliError> {
    progress.say(&format!("reading {}", path.display()));
    let options = read_options(architecture, reading, progress);
    if path.is_dir() {
        // Files are read in one go.
        let _ends = EndsAtOnce::with(progress.bar());
        return Ok(source::open_folder(path, &options)?);
    }
    runtime()?.block_on(async {
        tokio::select! {
            opened = source::open(path, &options) => Ok(opened?),
            () = interrupted() => {
                Err(CliError::NotBegun { why: "interrupted", exit: Exit::Interrupted, onward: None })
            }
        }
    })
}

/// What an investigation of a source begins with.
pub(crate) fn start(
    source: &Opened,
    settings: AnySettings,
    window: Option<Window>,
) -> Result<Start, CliError> {
    Start::of(source, settings, window).map_err(|error| CliError::start(source, error))
}

/// Reads the folder of a snapshot, for its tools.
pub(crate) fn snapshot(
    progress: &Progress,
    path: &Path,
    architecture: Option<&Path>,
    reading: &Reading,
) -> Result<OfSnapshot, CliError> {
    progress.say(&format!("reading {}", path.display()));
    if path.join("bundle.json").is_file() {
        return Err(CliError::Input {
            path: path.to_owned(),
            reason: "this is a bundle; the tools ask Kubernetes snapshots (docs/sre.md)".to_owned(),
        });
    }
    Ok(OfSnapshot::open(path, &read_options(architecture, reading, progress))?)
}

fn read_options(
    architecture: Option<&Path>,
    reading: &Reading,
    progress: &Progress,
) -> ReadOptions {
    ReadOptions {
        architecture: architecture.map(Path::to_owned),
        cache: reading.cache.clone().map(CacheAt::Folder),
        max_memory: reading.max_memory,
        progress: Some(progress.of_reading()),
        ..ReadOptions::default()
    }
}

impl From<OpenError> for CliError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::NeedsNoArchitecture { path, kind: Kind::Servers } => Self::Usage(format!(
                "--architecture goes with a snapshot, but {} names MCP servers; leave the option \
                 out, and name the file there (`architecture`) if it names a snapshot",
                path.display()
            )),
            OpenError::NeedsNoArchitecture { path, .. } => Self::Usage(format!(
                "--architecture goes with a snapshot, but {} is a bundle, which holds its own \
                 topology; leave the option out",
                path.display()
            )),
            error => Self::Open(error),
        }
    }
}
