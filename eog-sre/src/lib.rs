//! The SRE domain of eog: recorded incidents of a Kubernetes application as the source of an
//! investigation.
//!
//! ```text
//! Snapshot::open ──► graph() ──► incident() ──► eog_evidence::open_case ──► the controller's case
//!                        └────► SnapshotContext ──► the controller's context contract
//! ```
//!
//! - [`Snapshot`]: alerts, events, objects, logs, traces and metrics of one directory, bounded,
//!   with secrets masked. The formats are described in `docs/sre.md`.
//! - [`OperationalGraph`]: which entities there are and which way effects travel between them.
//! - [`SnapshotContext`]: typed evidence on one entity in one window.
//! - [`tools::Toolbox`]: questions to a snapshot by name, from JSON to JSON.
//!
//! Entities are named `namespace/Kind/name`, or `Kind/name` where there is no namespace. Nothing
//! here knows an application: names come from the recording alone. Telemetry is untrusted: sizes
//! are bounded, broken input is skipped with a warning, and no file outside of the snapshot, nor
//! any whose name begins with `ground_truth`, is ever opened.

mod architecture;
mod cache;
mod context;
mod derived;
mod evidence;
mod facts;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod graph;
mod incident;
mod masker;
mod names;
mod pydict;
mod read;
mod snapshot;
mod store;
mod time;
pub mod tools;
mod unfold;
mod warnings;

pub use cache::CacheAt;
pub use context::{
    ContextQuery, DEPS_PER_PAGE, MAX_FINDINGS_AT_ONCE, MAX_TOKENS, PAGE_FINDINGS, Recorded,
    SnapshotContext,
};
pub use graph::{OperationalGraph, relation};
pub use names::EntityName;
pub use read::{
    MAX_FIELD_BYTES, MAX_FILES_PER_DIRECTORY, MAX_JSON_BYTES, MAX_RECORD_BYTES, MAX_ROWS_PER_FILE,
    MAX_SERIES, MAX_TEXT, Progress, ReadOptions, Reading, SnapshotError,
};
pub use snapshot::Snapshot;
pub use warnings::MAX_LINES_NAMED;
