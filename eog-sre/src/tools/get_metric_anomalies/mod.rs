//! `get_metric_anomalies`: which series left their usual range, and when.

mod measures;

use eog_core::evidence::Trend;
use eog_core::{Timestamp, Window};
use eog_evidence::{Periods, Shift, find_shift};
use serde::{Deserialize, Serialize};

use super::query::{Cell, Cells, Filters, Kind, Names, Page, Query, Table, TimeRange};
use super::series::choose;
use super::signals::{Pivot, readable, short};
use super::tool::Tool;
use super::{ToolError, Toolbox};
use crate::evidence::{Compare, factor};
use crate::read::MetricSeries;

pub use measures::MeasureKind;

use measures::{Measure, measures};

/// Series that shifted against their own baseline, by median and median absolute deviation, with
/// the rules of [`find_shift`] that findings follow. Each series is judged by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GetMetricAnomalies {
    /// Measured on which entity: a pod, a service or a workload (its pods) such as
    /// `shop/Deployment/cart`, the end of a name if that is unique, or a pattern such as
    /// `pod/cart-*`. By default everything.
    pub entity: Option<String>,
    /// Names of metrics, or patterns such as `container_memory_*`. By default all.
    pub metrics: Names,
    /// Conditions on entity, namespace, kind, name, workload, metric, le, metric_type, or a label.
    pub filters: Filters,
    /// When the usual behaviour ends and the incident may begin, RFC 3339. Default: the strongest
    /// change that precedes an alert it can have caused, else the earliest alert, else the middle.
    pub pivot: Option<Timestamp>,
    /// Only points in this window, and in the 30 minutes before the pivot.
    pub window: Option<TimeRange>,
    /// Columns to show.
    pub columns: Names,
    /// Columns to sort by; a leading minus sorts in descending order. By default the largest
    /// `factor` comes first; sort by `onset` to see what came first.
    pub sort: Names,
    /// Maximum number of rows: 50 by default, at most 1000; 0 means 1000.
    pub limit: Option<usize>,
    /// Number of rows to skip.
    pub offset: usize,
}

/// The answer to [`GetMetricAnomalies`], with one row for each series that shifted: `entity`,
/// `metric`, `measure` (level, rate, error_ratio, p95) and `labels`, or of a bundle `signal`, `peer`
/// and `peer_role`; `trend`, `onset`, `last`, `baseline` and `observed` (medians) with `unit`,
/// `factor`, `sigmas` (distance in robust deviations; null when the baseline has none), `points` of
/// the shift, and all `deviating` points.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricAnomalies {
    /// When the usual behaviour ends, and why then; absent for bundles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pivot: Option<Pivot>,
    /// The periods that count as usual: the one before the pivot, or those that a bundle declares.
    /// Absent when nothing was measured before the pivot, or a bundle declares none; then each
    /// series is compared with what it has before `after`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Window>,
    /// The period that is compared with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Window>,
    /// Number of series that were compared.
    pub compared: usize,
    /// Number of series with too few points before the pivot, or none after it.
    pub too_short: usize,
    /// The series that shifted.
    #[serde(flatten)]
    pub page: Page,
}

fn bad_window(reason: &str) -> ToolError {
    ToolError::argument("window", reason, "give a window within the recording")
}

/// From the first to just after the last point.
fn extent(metrics: &[MetricSeries]) -> Option<Window> {
    let extents = || metrics.iter().filter_map(|series| series.points.at.extent());
    let end = extents()
        .map(|(_, last)| last)
        .max()?
        .checked_add(jiff::SignedDuration::from_secs(1))
        .ok()?;
    Window::new(extents().map(|(first, _)| first).min()?, end).ok()
}

/// Whether there are points enough for a baseline, and any to compare with it.
fn can_compare(measure: &Measure, compare: &Compare) -> bool {
    let within = |window: Window| measure.points.iter().filter(move |at| window.contains(at.0));
    within(compare.before).count() >= eog_evidence::MIN_BASELINE
        && within(compare.after).next().is_some()
}

/// Series that were compared with their own past.
#[derive(Default)]
pub(in crate::tools) struct Compared<'t> {
    compared: usize,
    too_short: usize,
    shifted: Vec<(f64, Cells<'t>)>,
}

/// The columns of every shift.
const SHIFT: [(&str, Kind); 10] = [
    ("trend", Kind::Text),
    ("onset", Kind::Time),
    ("last", Kind::Time),
    ("baseline", Kind::Number),
    ("observed", Kind::Number),
    ("unit", Kind::Text),
    ("factor", Kind::Number),
    ("sigmas", Kind::Number),
    ("points", Kind::Number),
    ("deviating", Kind::Number),
];

impl<'t> Compared<'t> {
    /// One that has too few points to be compared.
    pub(in crate::tools) fn too_short(&mut self) {
        self.too_short += 1;
    }

    /// One that stayed as usual.
    pub(in crate::tools) fn steady(&mut self) {
        self.compared += 1;
    }

    /// One that shifted, with what distinguishes it.
    pub(in crate::tools) fn shifted(&mut self, names: Cells<'t>, shift: &Shift, unit: &str) {
        self.compared += 1;
        let factor = factor(shift.observed, shift.baseline, unit);
        let number = |number: f64| Cell::Number(readable(number));
        let sigmas = (shift.observed - shift.baseline).abs() / shift.spread;
        let rising = shift.trend() == Trend::Rising;
        let mut cells = names;
        cells.extend([
            Cell::text(if rising { "rising" } else { "falling" }),
            Cell::Time(shift.onset()),
            Cell::Time(shift.last()),
            number(shift.baseline),
            number(shift.observed),
            Cell::text(unit).into_owned(),
            Cell::Number(short(factor)),
            if sigmas.is_finite() { Cell::Number(short(sigmas)) } else { Cell::Nothing },
            Cell::count(shift.run.len()),
            Cell::count(shift.deviating),
        ]);
        self.shifted.push((factor, cells));
    }
}

impl GetMetricAnomalies {
    /// The answer: those that shifted, the largest factor first, by what distinguishes them.
    ///
    /// # Errors
    /// [`ToolError::Argument`] for unknown columns.
    pub(in crate::tools) fn answer(
        &self,
        compared: Compared<'_>,
        names: &'static [&'static str],
    ) -> Result<MetricAnomalies, ToolError> {
        let Compared { compared, too_short, mut shifted } = compared;
        shifted.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let rows = shifted.into_iter().map(|(_, cells)| cells).collect();
        let columns = names.iter().map(|name| (*name, Kind::Text)).chain(SHIFT);
        let shown = Query::of_all(&self.columns, &self.sort, self.limit, self.offset);
        let page = shown.run(&Table::worked_out(columns, rows))?;
        Ok(MetricAnomalies {
            pivot: None,
            before: Vec::new(),
            after: None,
            compared,
            too_short,
            page,
        })
    }
}

/// What distinguishes the series of a snapshot.
const NAMES: [&str; 4] = ["entity", "metric", "measure", "labels"];

fn names(measure: &Measure) -> Cells<'static> {
    let Measure { entity, metric, kind, labels, .. } = measure;
    let names = [entity.as_str(), metric, kind.name(), labels];
    names.into_iter().map(|name| Cell::text(name).into_owned()).collect()
}

impl Tool for GetMetricAnomalies {
    const NAME: &'static str = "get_metric_anomalies";
    const SUMMARY: &'static str = "Metrics that left their usual range, with the time of onset";
    const DESCRIPTION: &'static str = "\
Compares each metric series with its own past before the pivot (by default the likely start of the
incident), using the median and the median absolute deviation, and returns those that shifted,
with onset, usual and observed value. Counters are compared by their rate, request counters also
by the share that failed, histograms by their 95th percentile. Sort by onset to see what came
first.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"entity": "shop/Deployment/cart"}"#,
        r#"{"metrics": "container_*", "pivot": "2026-01-01T10:00:00Z", "sort": "onset"}"#,
    ];
    type Answer = MetricAnomalies;

    fn run(&self, toolbox: &Toolbox) -> Result<MetricAnomalies, ToolError> {
        let (snapshot, graph) = (toolbox.snapshot(), toolbox.graph());
        let entity = self.entity.as_deref();
        let chosen = choose(snapshot, graph, entity, &self.metrics, &self.filters)?;
        let given = self.window.unwrap_or_default();
        let epoch = || Window::new(Timestamp::UNIX_EPOCH, Timestamp::MAX).ok();
        let extent = extent(&snapshot.metrics);
        let measured = extent.or_else(epoch).ok_or_else(|| bad_window("there is no time"))?;
        let start = given.start.unwrap_or(measured.start());
        let end = given.end.unwrap_or(measured.end());
        let window = Window::new(start, end).map_err(|error| bad_window(&error.to_string()))?;
        let pivot = toolbox.signals().pivot(snapshot, graph, self.pivot, window);
        let compare = Compare::at(pivot.at, window, extent);

        let mut all = Compared::default();
        for measure in measures(&chosen) {
            let Some(compare) = compare.filter(|compare| can_compare(&measure, compare)) else {
                all.too_short();
                continue;
            };
            let periods =
                Periods { baseline: compare.before.into(), ..Periods::new(compare.after) };
            match find_shift(&measure.points, measure.unit, &periods) {
                Some(shift) => all.shifted(names(&measure), &shift, measure.unit),
                None => all.steady(),
            }
        }
        let (before, after) = (compare.map(|one| one.before), compare.map(|one| one.after));
        let before = before.into_iter().collect();
        let pivot = Some(pivot);
        Ok(MetricAnomalies { pivot, before, after, ..self.answer(all, &NAMES)? })
    }
}
