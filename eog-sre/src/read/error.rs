//! Why a snapshot cannot be read.

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
