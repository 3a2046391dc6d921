//! The toolset: questions to a snapshot, each from typed arguments to a typed answer, and all of
//! them by name from JSON to JSON.
//!
//! - [`Toolbox`] keeps a snapshot with its graph and answers questions. A server needs nothing more
//!   than [`tools`] and [`Toolbox::call`].
//! - Each [`Tool`] is a struct of arguments, which [`Toolbox::ask`] answers.
//! - Tools over tables of records are one: [`TableQuery`], with conditions, groups, aggregates,
//!   sorting and pages.
//!
//! No tool opens a file: all that can be asked is what [`Snapshot::open`] read, with its bounds
//! and with secrets masked. The same call on the same snapshot gives the same bytes.
//!
//! [`Snapshot::open`]: crate::Snapshot::open

mod build_topology;
mod catalogue;
mod entities;
mod error;
mod get_context_contract;
mod get_k8_spec;
mod get_metric_anomalies;
mod get_trace_error_tree;
mod log_analysis;
mod metric_analysis;
pub(crate) mod query;
mod records;
mod series;
mod signals;
mod tool;
mod toolbox;
mod topology_analysis;

pub use build_topology::{BuildTopology, NamedCount, TopologyEdge, TopologyNode, TopologyPage};
pub use catalogue::tools;
pub use error::ToolError;
pub use get_context_contract::GetContextContract;
pub use get_k8_spec::{GetK8Spec, SpecHistory, SpecObservation};
pub use get_metric_anomalies::{GetMetricAnomalies, MeasureKind, MetricAnomalies};
pub use get_trace_error_tree::{
    CallRequests, CriticalPath, GetTraceErrorTree, Requests, SampleError, ServiceRequests,
    ShiftKind, TraceCounts, TraceErrorTree, TracePath, TraceSummary,
};
pub use log_analysis::{LogAnalysis, LogPatternPage};
pub use metric_analysis::{Derived, MAX_EXPRESSION_BYTES, MAX_EXPRESSION_DEPTH, MetricAnalysis};
pub use query::{
    Cell, DEFAULT_LIMIT, Filter, Filters, Length, MAX_LIMIT, Names, Operator, Page, Query, Row,
    TimeRange,
};
pub use records::{
    AlertAnalysis, AlertSummary, EventAnalysis, SpecChangeAnalysis, TableQuery, TimeBasis,
};
pub use signals::{Pivot, PivotBasis};
pub use tool::{Described, Tool, ToolInfo};
pub use toolbox::Toolbox;
pub use topology_analysis::{EffectSide, Reached, TopologyAnalysis, TopologyMode, TopologyView};
