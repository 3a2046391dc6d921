//! How a snapshot is read.

use std::path::PathBuf;

use super::progress::Progress;

/// Most rows used of one file, unless [`ReadOptions::max_rows_per_file`] says otherwise.
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
    /// The application's architecture, a JSON file beside the snapshot. Optional.
    pub architecture: Option<PathBuf>,
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

/// Where the cache of a snapshot is kept.
///
/// ```
/// use eog_sre::{CacheAt, ReadOptions};
/// let options = ReadOptions { cache: Some(CacheAt::BesideSnapshot), ..Default::default() };
/// assert!(options.cache.is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheAt {
    /// In the directory that holds the snapshot's own, as `NAME.eog-cache`.
    BesideSnapshot,
    /// In this directory, which is made when it is not there. Any number of snapshots may share
    /// it.
    Folder(PathBuf),
}
