//! Why a snapshot cannot be read.

use eog_evidence::bytes_in_words;

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
    /// The directory contains none of the files of a snapshot.
    #[error(
        "{path:?} contains no snapshot files; expected alerts/, metrics/, k8s_events_raw.tsv, \
         k8s_objects_raw.tsv, otel_logs_raw.tsv or otel_traces_raw.tsv, directly or in raw/ or lite/"
    )]
    NothingKnown {
        /// The directory.
        path: String,
    },
    /// A table lacks columns.
    #[error("{path} lacks the columns {missing}; required: {wanted}; found: {found}")]
    MissingColumns {
        /// The file.
        path: String,
        /// The missing columns.
        missing: String,
        /// All required columns.
        wanted: String,
        /// The columns that were found.
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
        "{path:?} may need about {} of memory, estimated from its rows, but only {} may be used or \
         are free; remove parts of it, free memory, or raise the limit, max_memory, \
         if you know that it fits",
        bytes_in_words(*needed),
        bytes_in_words(*allowed)
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
        "{path:?} needs more than the {} of memory that may be used or are free; reading stopped \
         before they were used up; remove parts of it, free memory, or raise the limit, \
         max_memory",
        bytes_in_words(*allowed)
    )]
    OutOfMemory {
        /// The directory.
        path: String,
        /// What may be used, in bytes.
        allowed: u64,
    },
    /// Reading was cancelled ([`Stop`](crate::Stop)).
    #[error("reading the snapshot was cancelled")]
    Cancelled,
    /// The architecture file cannot be used.
    #[error("cannot use the architecture file {path:?}: {reason}")]
    Architecture {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
    },
}
