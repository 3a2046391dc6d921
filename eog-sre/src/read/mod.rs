//! Readers: from the files of a snapshot to bounded records in memory.

mod alerts;
mod all;
mod budget;
mod events;
mod layout;
mod logs;
mod memory;
mod metrics;
mod objects;
mod progress;
mod records;
mod resource;
mod traces;
mod tsv;
mod workers;

pub use layout::{MAX_FILES_PER_DIRECTORY, MAX_JSON_BYTES};
pub use metrics::MAX_SERIES;
pub use progress::{Progress, Reading};
pub use records::MAX_RECORD_BYTES;
pub use tsv::MAX_FIELD_BYTES;

pub(crate) use alerts::{AlertRecord, read_alerts};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use alerts::{MAX_ALERTS_PER_FILE, read_dump};
pub(crate) use all::{Records, read_all};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use events::read_event;
pub(crate) use events::{EventRecord, read_events};
pub(crate) use layout::{Folder, Layout, is_forbidden, read_json};
pub(crate) use logs::read_logs;
pub(crate) use memory::check_memory;
pub(crate) use metrics::{MetricFile, MetricSeries, Subject, join_metrics, read_metric_file};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use objects::read_body;
pub(crate) use objects::{CONSEQUENCES, ObjectHistory, Objects, Observation, read_objects};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use records::{Next, Record, Records as TableRecords};
pub(crate) use resource::{Resource, WORKLOADS};
pub(crate) use traces::read_traces;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use tsv::Table;

use crate::cache::CacheAt;

/// Most rows used of one file, unless [`ReadOptions::max_rows_per_file`] says otherwise.
pub const MAX_ROWS_PER_FILE: usize = 1_000_000;

/// Longest text kept of a log line, message or description, in characters.
pub const MAX_TEXT: usize = 400;

/// A name as telemetry gives it, cut when it is too long for a name.
fn bounded(text: String) -> String {
    if text.len() > MAX_TEXT { eog_evidence::shorten(&text, MAX_TEXT) } else { text }
}

/// How a snapshot is read.
///
/// ```
/// use eog_sre::ReadOptions;
/// let options = ReadOptions { architecture: Some("architecture.json".into()), ..Default::default() };
/// assert!(options.max_rows_per_file > 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The application's architecture, a JSON file beside the snapshot. Optional.
    pub architecture: Option<std::path::PathBuf>,
    /// Most rows used of one file; more are left out with a warning.
    pub max_rows_per_file: usize,
    /// Where to keep what was read, so that the next reading is short. Nothing is kept unless this
    /// is set.
    pub cache: Option<CacheAt>,
    /// Most memory that the snapshot may need, in bytes. Without it what the system says is free,
    /// where it says so. A snapshot that would need more by an estimate from its files is refused
    /// before it is read, and one that turns out to need more while it is read.
    pub max_memory: Option<u64>,
    /// Who wants to know how far the reading has come.
    pub progress: Option<Progress>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            architecture: None,
            max_rows_per_file: MAX_ROWS_PER_FILE,
            cache: None,
            max_memory: None,
            progress: None,
        }
    }
}

/// Why a directory cannot be read as a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The path does not lead to a directory.
    #[error("cannot read the snapshot {path:?}: {reason}; give the directory of one scenario")]
    NotADirectory {
        /// The path.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The directory holds none of the files of a snapshot.
    #[error(
        "{path:?} holds no file of a snapshot; expected alerts/, metrics/, k8s_events_raw.tsv, \
         k8s_objects_raw.tsv, otel_logs_raw.tsv or otel_traces_raw.tsv, there or in raw/ or lite/"
    )]
    NothingKnown {
        /// The directory.
        path: String,
    },
    /// A table lacks columns.
    #[error("{path} lacks the columns {missing}; wanted are {wanted}; the file has {found}")]
    MissingColumns {
        /// The file.
        path: String,
        /// The columns that are not there.
        missing: String,
        /// All columns that are needed.
        wanted: String,
        /// The columns that are there.
        found: String,
    },
    /// A file cannot be read at all.
    #[error("cannot read {path}: {reason}")]
    Read {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
    },
    /// The snapshot would not fit into memory.
    #[error(
        "{path:?} may need {} MB of memory by an estimate from its rows, and {} MB \
         are allowed or free; take parts of it away, free memory, or allow more (max_memory, \
         --max-memory) if you know that it fits",
        needed / 1_000_000,
        allowed / 1_000_000
    )]
    TooLarge {
        /// The directory.
        path: String,
        /// The estimate, in bytes.
        needed: u64,
        /// What may be used, in bytes.
        allowed: u64,
    },
    /// The snapshot turned out not to fit into memory.
    #[error(
        "{path:?} needs more than the {} MB of memory that are allowed or free; the reading was \
         stopped before they were used up; take parts of it away, free memory, or allow more \
         (max_memory, --max-memory)",
        allowed / 1_000_000
    )]
    OutOfMemory {
        /// The directory.
        path: String,
        /// What may be used, in bytes.
        allowed: u64,
    },
    /// The architecture file cannot be used.
    #[error("cannot use the architecture file {path:?}: {reason}")]
    Architecture {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
    },
}
