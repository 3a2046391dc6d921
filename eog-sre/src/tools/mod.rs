//! The tools: queries of a snapshot, each from typed arguments to a typed answer, or by name from
//! JSON to JSON.
//!
//! - [`Toolbox`] holds a snapshot with its graph and answers queries. A server needs only [`tools`]
//!   and [`Toolbox::call`].
//! - Each [`Tool`] is a struct of arguments; [`Toolbox::ask`] answers it.
//! - [`BundleToolbox`] answers the tools that an incident bundle has records for.
//! - All tools over tables of records are a [`TableQuery`], with conditions, groups, aggregates,
//!   sorting and pages.
//!
//! No tool opens a file: tools see only what [`Snapshot::open`] read, within its limits and with
//! secrets masked. The same call on the same snapshot returns the same bytes.
//!
//! [`Snapshot::open`]: crate::Snapshot::open

mod build_topology;
mod bundle;
mod catalogue;
mod entities;
mod error;
mod families;
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
pub use bundle::BundleToolbox;
pub use catalogue::tools;
pub use error::ToolError;
pub use families::MetricFamily;
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
