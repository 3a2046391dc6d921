//! The SRE domain of eog: recorded incidents of a Kubernetes application as the source of an
//! investigation.
//!
//! ```text
//! Snapshot::open ──► graph() ──► incident() ──► eog_evidence::open_case ──► the controller's case
//!                        └────► SnapshotContext ──► the controller's context contract
//! ```
//!
//! - [`Snapshot`]: alerts, events, objects, logs, traces and metrics of one directory, within size
//!   limits and with secrets masked. `docs/sre.md` describes the formats.
//! - [`OperationalGraph`]: the entities, and in which direction effects travel between them.
//! - [`SnapshotContext`]: typed evidence about one entity in one window.
//! - [`tools::Toolbox`]: queries of a snapshot, typed or by name as JSON.
//!
//! Entities are named `namespace/Kind/name`, or `Kind/name` if there is no namespace. No application
//! is hard-coded: names come only from the recording. Telemetry is untrusted: sizes are limited,
//! broken input is skipped with a warning, and no file outside the snapshot, nor any whose name
//! begins with `ground_truth`, is ever opened.

mod architecture;
mod cache;
mod context;
mod derived;
mod evidence;
mod facts;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod graph;
mod incident;
mod json;
mod masker;
mod names;
mod notice;
mod object_state;
mod pydict;
mod quantity;
mod read;
mod snapshot;
mod store;
pub mod subject;
mod time;
pub mod tools;
mod unfold;
mod warnings;

pub use context::{
    ContextQuery, DEPS_PER_PAGE, MAX_FINDINGS_AT_ONCE, MAX_TOKENS, PAGE_FINDINGS, Recorded,
    SnapshotContext,
};
pub use evidence::{ChangedLeaf, alert_signal, changed_leaves, event_signal};
pub use graph::{OperationalGraph, relation};
pub use masker::Masker as ObjectMasker;
pub use names::EntityName;
pub use notice::{
    AlertForm, AlertState, Notice, Notices, PAGERDUTY_INCIDENT, read_notices, read_time,
};
pub use object_state::object_state;
pub use read::{
    CacheAt, MAX_FIELD_BYTES, MAX_FILES_PER_DIRECTORY, MAX_JSON_BYTES, MAX_RECORD_BYTES,
    MAX_ROWS_PER_FILE, MAX_SERIES, MAX_TEXT, Progress, ReadOptions, Reading, SnapshotError, Stop,
};
pub use snapshot::Snapshot;
pub use warnings::MAX_LINES_NAMED;
