//! What the tools about traces, metrics and logs keep between calls.

use std::sync::{Arc, OnceLock};

use eog_core::{Anomaly, Timestamp, Window};
use eog_evidence::EffectMap;
use serde::Serialize;

use super::info::Tool;
use super::query::Page;
use super::{
    GetMetricAnomalies, GetTraceErrorTree, LogAnalysis, LogPatternPage, MetricAnalysis,
    MetricAnomalies, ToolError, Toolbox, TraceErrorTree,
};
use crate::evidence::SpanIndex;
use crate::graph::OperationalGraph;
use crate::snapshot::Snapshot;

/// Indexes that are made when they are first asked for.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// Shared with the context.
    spans: OnceLock<Arc<SpanIndex>>,
    beginnings: OnceLock<Beginnings>,
}

/// When things may have begun.
#[derive(Debug)]
struct Beginnings {
    /// Changes that can have caused an anomaly, strongest first.
    causes: Vec<Timestamp>,
    /// Onsets of anomalies in order.
    onsets: Vec<Timestamp>,
}

impl Signals {
    /// The spans by service and by call, as the evidence counts them.
    pub(crate) fn spans(&self, snapshot: &Snapshot, graph: &OperationalGraph) -> &Arc<SpanIndex> {
        self.spans.get_or_init(|| Arc::new(SpanIndex::new(&snapshot.spans, &graph.index)))
    }

    /// Where before and after meet, within what was measured.
    pub(crate) fn pivot(
        &self,
        snapshot: &Snapshot,
        graph: &OperationalGraph,
        given: Option<Timestamp>,
        measured: Window,
    ) -> Pivot {
        if let Some(at) = given {
            return Pivot { at, basis: PivotBasis::Given };
        }
        let beginnings = self.beginnings.get_or_init(|| Beginnings::new(snapshot, graph));
        let inside = |times: &[Timestamp]| {
            times.iter().copied().find(|at| measured.start() < *at && *at < measured.end())
        };
        let change = inside(&beginnings.causes).map(|at| (at, PivotBasis::Change));
        let found = change.or_else(|| Some((inside(&beginnings.onsets)?, PivotBasis::Alert)));
        let (at, basis) = found.unwrap_or_else(|| {
            let half = measured.end().duration_since(measured.start()) / 2;
            let middle = measured.start().checked_add(half);
            (middle.unwrap_or(measured.start()), PivotBasis::Middle)
        });
        Pivot { at, basis }
    }
}

impl Beginnings {
    fn new(snapshot: &Snapshot, graph: &OperationalGraph) -> Self {
        let facts = snapshot.facts(graph);
        let anomalies = &facts.alerts.anomalies;
        let effects = EffectMap::new(graph.topology(), &facts.changes, anomalies);
        let mut onsets: Vec<Timestamp> = anomalies.iter().flat_map(Anomaly::onsets).collect();
        onsets.sort();
        Self { causes: effects.qualifying().map(|change| change.time.start()).collect(), onsets }
    }
}

/// Where the time before and the time after meet, and why there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pivot {
    /// The instant.
    pub at: Timestamp,
    /// Why this one.
    pub basis: PivotBasis,
}

/// Why a pivot lies where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PivotBasis {
    /// The arguments name it.
    Given,
    /// The strongest change that precedes an alert which it can have caused.
    Change,
    /// The earliest onset of an alert.
    Alert,
    /// Nothing tells when it began: the middle of what was measured.
    Middle,
}

/// One page of a list.
pub(crate) fn page<T, R>(
    list: Vec<T>,
    offset: usize,
    limit: Option<usize>,
    row: impl FnMut(T) -> R,
) -> Page<R> {
    let total = list.len();
    Page::cut(list.into_iter(), total, offset, limit, row)
}

/// A number that people and models can read: three places behind the point.
pub(crate) fn short(number: f64) -> f64 {
    let rounded = (number * 1000.0).round() / 1000.0;
    if rounded.is_finite() { rounded } else { number }
}

/// A number with six digits that count, unless it is whole or large.
pub(crate) fn readable(number: f64) -> f64 {
    match number.abs() {
        _ if number.fract() == 0.0 => number,
        size if size >= 1e3 => short(number),
        _ => format!("{number:.5e}").parse().unwrap_or(number),
    }
}

impl Toolbox {
    /// Traces before and after a pivot; see
    /// [`get_trace_error_tree`](super::get_trace_error_tree()).
    ///
    /// # Errors
    /// [`ToolError::Argument`].
    pub fn get_trace_error_tree(
        &self,
        arguments: &GetTraceErrorTree,
    ) -> Result<TraceErrorTree, ToolError> {
        arguments.run(self)
    }

    /// What log lines say; see [`log_analysis`](super::log_analysis()).
    ///
    /// # Errors
    /// [`ToolError::Argument`].
    pub fn log_analysis(&self, arguments: &LogAnalysis) -> Result<LogPatternPage, ToolError> {
        arguments.run(self)
    }

    /// Statistics of metrics; see [`metric_analysis`](super::metric_analysis()).
    ///
    /// # Errors
    /// [`ToolError::Argument`].
    pub fn metric_analysis(&self, arguments: &MetricAnalysis) -> Result<Page, ToolError> {
        arguments.run(self)
    }

    /// Metrics that left their usual range; see
    /// [`get_metric_anomalies`](super::get_metric_anomalies()).
    ///
    /// # Errors
    /// [`ToolError::Argument`].
    pub fn get_metric_anomalies(
        &self,
        arguments: &GetMetricAnomalies,
    ) -> Result<MetricAnomalies, ToolError> {
        arguments.run(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::ReadOptions;

    #[test]
    fn context_and_tools_share_one_index_of_the_spans() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("alerts")).unwrap();
        std::fs::write(directory.path().join("alerts/alerts_at_1.json"), "[]").unwrap();
        let snapshot = Snapshot::open(directory.path(), &ReadOptions::default()).unwrap();
        let toolbox = Toolbox::new(Arc::new(snapshot));
        toolbox.context();
        let spans = toolbox.signals().spans(toolbox.snapshot(), toolbox.graph());
        assert_eq!(Arc::strong_count(spans), 2);
    }
}
