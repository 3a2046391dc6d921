//! Readers: from the files of a snapshot to bounded records in memory.

mod alerts;
mod all;
mod budget;
mod error;
mod events;
mod layout;
mod logs;
mod memory;
mod metrics;
mod objects;
mod options;
mod progress;
mod records;
mod resource;
mod stop;
mod text;
mod traces;
mod tsv;
mod workers;

pub use error::SnapshotError;
pub use layout::{MAX_FILES_PER_DIRECTORY, MAX_JSON_BYTES};
pub use metrics::MAX_SERIES;
pub use options::{CacheAt, MAX_ROWS_PER_FILE, ReadOptions};
pub use progress::{Progress, Reading};
pub use records::MAX_RECORD_BYTES;
pub use stop::Stop;
pub use text::MAX_TEXT;
pub use tsv::MAX_FIELD_BYTES;

pub(crate) use alerts::{AlertRecord, read_alerts};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use alerts::{MAX_ALERTS_PER_FILE, read_dump};
pub(crate) use all::{Records, read_all};
pub(crate) use budget::Budget;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use events::read_event;
pub(crate) use events::{EventRecord, read_events};
pub(crate) use layout::{Folder, Layout, read_json};
pub(crate) use logs::read_logs;
pub(crate) use memory::check_memory;
pub(crate) use metrics::{MetricFile, MetricSeries, Subject, join_metrics, read_metric_file};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use objects::read_body;
pub(crate) use objects::{CONSEQUENCES, ObjectHistory, Objects, Observation, read_objects};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use records::{Next, Record, Records as TableRecords};
pub(crate) use resource::WORKLOADS;
pub(crate) use traces::read_traces;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use tsv::Table;

pub(crate) use crate::store::Resource;

use text::bounded;
