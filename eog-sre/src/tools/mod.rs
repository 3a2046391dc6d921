//! The toolset: questions to a snapshot, each a plain function from typed arguments to a typed
//! answer, and all of them by name from JSON to JSON.
//!
//! - [`Toolbox`] keeps a snapshot with its graph and answers calls by name. A server needs nothing
//!   more than [`tools`] and [`Toolbox::call`].
//! - Each tool has a struct of arguments and a function of the same name in this module.
//! - Tools that give rows share [`Filters`], groups, aggregates, sorting and pages.
//!
//! No tool opens a file: all that can be asked is what [`Snapshot::open`] read, with its bounds
//! and with secrets masked. The same call on the same snapshot gives the same bytes.
//!
//! [`Snapshot::open`]: crate::Snapshot::open

mod alert_analysis;
mod alert_summary;
mod build_topology;
mod entities;
mod error;
mod event_analysis;
mod get_context_contract;
mod get_k8_spec;
mod get_metric_anomalies;
mod get_trace_error_tree;
mod info;
mod k8s_spec_change_analysis;
mod log_analysis;
mod metric_analysis;
pub(crate) mod query;
mod series;
mod signals;
mod toolbox;
mod topology_analysis;

pub use alert_analysis::{AlertAnalysis, alert_analysis};
pub use alert_summary::{AlertSummary, alert_summary};
pub use build_topology::{
    BuildTopology, NamedCount, TopologyEdge, TopologyNode, TopologyPage, build_topology,
};
pub use error::ToolError;
pub use event_analysis::{EventAnalysis, event_analysis};
pub use get_context_contract::{GetContextContract, get_context_contract};
pub use get_k8_spec::{GetK8Spec, SpecHistory, SpecObservation, get_k8_spec};
pub use get_metric_anomalies::{
    GetMetricAnomalies, MeasureKind, MetricAnomalies, get_metric_anomalies,
};
pub use get_trace_error_tree::{
    CallRequests, CriticalPath, GetTraceErrorTree, Requests, SampleError, ServiceRequests,
    ShiftKind, TraceCounts, TraceErrorTree, TracePath, TraceSummary, get_trace_error_tree,
};
pub use info::{ToolInfo, tools};
pub use k8s_spec_change_analysis::{SpecChangeAnalysis, TimeBasis, k8s_spec_change_analysis};
pub use log_analysis::{LogAnalysis, LogPatternPage, log_analysis};
pub use metric_analysis::{
    Derived, MAX_EXPRESSION_BYTES, MAX_EXPRESSION_DEPTH, MetricAnalysis, metric_analysis,
};
pub use query::{
    Cell, DEFAULT_LIMIT, Filter, Filters, Length, MAX_LIMIT, Names, Operator, Page, Row, TimeRange,
};
pub use signals::{Pivot, PivotBasis};
pub use toolbox::Toolbox;
pub use topology_analysis::{
    EffectSide, Reached, TopologyAnalysis, TopologyMode, TopologyView, topology_analysis,
};
