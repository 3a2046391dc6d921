//! How a snapshot is read.

use std::path::PathBuf;

use eog_evidence::FolderHandle;

use super::progress::Progress;
use super::stop::Stop;

/// Maximum number of rows read from one file, unless [`ReadOptions::max_rows_per_file`] is set.
pub const MAX_ROWS_PER_FILE: usize = 1_000_000;

/// How a snapshot is read.
///
/// ```
/// use eog_sre::ReadOptions;
/// let options = ReadOptions { architecture: Some("architecture.json".into()), ..Default::default() };
/// assert!(options.max_rows_per_file > 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The application's architecture, a JSON file that belongs to the snapshot. Optional.
    pub architecture: Option<PathBuf>,
    /// The folder to which the path of the architecture is relative, and which it may not leave. Without
    /// it, any file may be named.
    pub architecture_below: Option<FolderHandle>,
    /// Maximum number of rows read from one file; further rows are left out with a warning.
    pub max_rows_per_file: usize,
    /// Where to cache what was read, so that the snapshot opens faster next time. Without it nothing
    /// is cached.
    pub cache: Option<CacheAt>,
    /// Memory limit for the snapshot, in bytes. Default: the memory that the system reports as
    /// free, if it reports any. A snapshot that is estimated to exceed the limit is refused before
    /// it is read; one that turns out to exceed it, while it is read.
    pub max_memory: Option<u64>,
    /// Receives progress updates while the snapshot is read.
    pub progress: Option<Progress>,
    /// Cancels the reading.
    pub stop: Option<Stop>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            architecture: None,
            architecture_below: None,
            max_rows_per_file: MAX_ROWS_PER_FILE,
            cache: None,
            max_memory: None,
            progress: None,
            stop: None,
        }
    }
}

/// Where the cache of a snapshot is kept.
///
/// ```
/// use eog_sre::{CacheAt, ReadOptions};
/// let options = ReadOptions { cache: Some(CacheAt::BesideSnapshot), ..Default::default() };
/// assert!(options.cache.is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheAt {
    /// Beside the snapshot's directory, as `NAME.eog-cache`.
    BesideSnapshot,
    /// In this directory, which is created if needed. Any number of snapshots can share it.
    Folder(PathBuf),
}
