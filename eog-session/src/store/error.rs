//! Why something is not stored, or not found.

use std::path::PathBuf;

/// Why something is not stored, or not found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder cannot be used.
    #[error("cannot store investigations in {}: {source}; name a writable folder", path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The folder lies below one that others can read.
    #[error("the state folder {} is inside {}, where others could read it", state.display(),
            root.display())]
    InRoot {
        /// The folder.
        state: PathBuf,
        /// The one that others can read.
        root: PathBuf,
    },
    /// There is no such investigation.
    #[error("there is no investigation {id:?}")]
    Unknown {
        /// What was asked for.
        id: String,
        /// The latest that there are.
        nearest: Vec<String>,
    },
    /// A file of an investigation cannot be read or written.
    #[error("{0}")]
    File(String),
}
