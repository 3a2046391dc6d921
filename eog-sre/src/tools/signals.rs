//! What the tools about traces, metrics and logs keep between calls.

use std::sync::{Arc, OnceLock};

use eog_core::{Anomaly, Timestamp, Window};
use eog_evidence::EffectMap;
use serde::Serialize;

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
        let effects = EffectMap::new(graph.topology(), &facts.causes(), anomalies);
        let mut onsets: Vec<Timestamp> = anomalies.iter().flat_map(Anomaly::onsets).collect();
        onsets.sort();
        Self { causes: effects.qualifying().map(|change| change.time.start()).collect(), onsets }
    }
}

/// The boundary between before and after, and why it was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pivot {
    /// The time.
    pub at: Timestamp,
    /// Why this time was chosen.
    pub basis: PivotBasis,
}

/// Why a pivot was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PivotBasis {
    /// It was given as an argument.
    Given,
    /// The strongest change that precedes an alert it can have caused.
    Change,
    /// The earliest onset of an alert.
    Alert,
    /// The start is unknown: the middle of what was measured.
    Middle,
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
