//! `metric_analysis`: statistics of metrics, and what can be derived from them.

mod derived;
mod expression;
mod statistic;

use std::collections::{BTreeMap, BTreeSet};

use eog_core::{Timestamp, Window};
use serde::Deserialize;

use super::query::{
    Cell, Cells, Filters, Kind, Length, Names, Page, Pattern, Query, Table, TimeRange, near,
};
use super::series::{Measured, check_column, choose, metric_patterns};
use super::signals::readable;
use super::tool::Tool;
use super::{ToolError, Toolbox};
use crate::evidence::is_counter;
use crate::snapshot::Snapshot;

pub use derived::Derived;
pub use expression::{MAX_EXPRESSION_BYTES, MAX_EXPRESSION_DEPTH};

pub(in crate::tools) use expression::{Expression, Selector};
use statistic::Points;
pub(in crate::tools) use statistic::Statistic;

/// The column with the beginning of a bucket.
const FROM: &str = "from";

/// The column with all labels of a series.
const LABELS: &str = "labels";

/// Statistics of the matching series, by series or by group, over the whole window or by time
/// bucket.
///
/// The buckets of a histogram are combined (unless `le` is a group): then `count`, `increase` and
/// `rate` say how often something was observed, and percentiles how large it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricAnalysis {
    /// Measured on which entity: a pod, a service or a workload (its pods) such as
    /// `shop/Deployment/cart`, the end of a name if that is unique, or a pattern such as
    /// `shop/Pod/*`, `pod/cart-*` or `cart*`.
    pub entity: Option<String>,
    /// Names of metrics, or patterns such as `container_memory_*`. By default all.
    pub metrics: Names,
    /// Instead of `metrics`: expressions over metrics with + - * / and parentheses, each of which
    /// becomes a column: `{"error_percent": "errors / requests * 100"}`. A metric can be
    /// restricted by labels, `calls{status_code="*ERROR"}`, and wrapped in a statistic,
    /// `rate(calls)`; without one it stands for the increase of a counter and the mean of anything
    /// else.
    pub derive: Derived,
    /// Conditions on entity, namespace, kind, name, workload, metric, le, metric_type, or a label.
    pub filters: Filters,
    /// Columns to group series by: entity, namespace, kind, name, workload, metric, le,
    /// metric_type, or a label. Different metrics are never combined. By default each series has
    /// its own row, and derived metrics have one row per entity.
    pub group_by: Names,
    /// Statistics of each group: mean, sum, min, max, count, last, p50, p90, p95, p99, and for
    /// counters increase and rate (per second). Default: count, mean, min, max, p95 and last; for
    /// histograms count, rate, p50, p95 and p99.
    pub aggregates: Names,
    /// Only points in this window.
    pub window: Option<TimeRange>,
    /// One row per time bucket of this length, such as `5m`; its start is in the column `from`.
    pub bucket: Option<Length>,
    /// Columns to show.
    pub columns: Names,
    /// Columns to sort by; a leading minus sorts in descending order.
    pub sort: Names,
    /// Maximum number of rows: 50 by default, at most 1000; 0 means 1000.
    pub limit: Option<usize>,
    /// Number of rows to skip.
    pub offset: usize,
}

/// A question that can be answered.
struct Question {
    keys: Vec<String>,
    values: Vec<Value>,
    metrics: Names,
    range: Window,
    bucket: Option<i128>,
    selectors: BTreeMap<Selector, Matcher>,
}

/// What one column contains.
enum Value {
    Statistic(Statistic),
    Derived { name: String, expression: Expression, plain: Option<Statistic> },
}

/// A selector that can be compared.
struct Matcher {
    metric: Pattern,
    labels: Vec<(String, Pattern, bool)>,
}

impl Question {
    fn new(snapshot: &Snapshot, arguments: &MetricAnalysis) -> Result<Self, ToolError> {
        let all = &snapshot.metrics;
        let derived = !arguments.derive.0.is_empty();
        arguments.names_metrics_once()?;
        let statistics = statistics(&arguments.aggregates)?;
        let mut keys: Vec<String> = arguments.group_by.iter().map(str::to_owned).collect();
        for key in &keys {
            check_column(all, "group_by", key)?;
        }
        let defaults: &[&str] = match (derived, keys.is_empty()) {
            (true, true) => &["entity"],
            (false, true) => &["entity", "metric", LABELS],
            (false, false) if !keys.iter().any(|key| key == "metric") => &["metric"],
            _ => &[],
        };
        keys.extend(defaults.iter().map(|&key| key.to_owned()));
        let mut question = Self {
            keys,
            values: Vec::new(),
            metrics: arguments.metrics.clone(),
            range: range(arguments.window)?,
            bucket: arguments.bucket.map(bucket).transpose()?,
            selectors: BTreeMap::new(),
        };
        if derived {
            for (name, text) in &arguments.derive.0 {
                question.derive(snapshot, name, text, &statistics)?;
            }
            let names: BTreeSet<&str> =
                question.selectors.keys().map(|one| one.metric.as_str()).collect();
            question.metrics = Names(names.into_iter().map(str::to_owned).collect());
        } else {
            question.values = statistics.into_iter().map(Value::Statistic).collect();
        }
        Ok(question)
    }

    fn derive(
        &mut self,
        snapshot: &Snapshot,
        name: &str,
        text: &str,
        statistics: &[Statistic],
    ) -> Result<(), ToolError> {
        let wrong = |reason: String, hint: &str| ToolError::argument("derive", reason, hint);
        let plain = plain(statistics)?;
        if name == FROM || self.columns().iter().any(|(known, _)| known == name) {
            return Err(wrong(format!("a column {name:?} already exists"), "choose another name"));
        }
        let expression = parsed(name, text)?;
        for selector in expression.selectors() {
            let mut metric =
                metric_patterns(&snapshot.metrics, "derive", std::iter::once(&*selector.metric))?;
            let labels = selector.labels.iter().map(|test| {
                check_column(&snapshot.metrics, "derive", &test.label)?;
                let pattern = Pattern::new(&test.pattern).map_err(|reason| wrong(reason, ""))?;
                Ok((test.label.clone(), pattern, test.negated))
            });
            let labels = labels.collect::<Result<Vec<_>, ToolError>>()?;
            if let Some(metric) = metric.pop() {
                self.selectors.insert(selector.clone(), Matcher { metric, labels });
            }
        }
        self.values.push(Value::Derived { name: name.to_owned(), expression, plain });
        Ok(())
    }

    fn columns(&self) -> Vec<(String, Kind)> {
        let keys = self.keys.iter().map(|key| (key.clone(), Kind::Text));
        let from = self.bucket.map(|_| (FROM.to_owned(), Kind::Time));
        let values = self.values.iter().map(|value| match value {
            Value::Statistic(statistic) => (statistic.name().to_owned(), Kind::Number),
            Value::Derived { name, .. } => (name.clone(), Kind::Number),
        });
        keys.chain(from).chain(values).collect()
    }

    fn rows(&self, chosen: &[Measured<'_>]) -> Vec<Cells<'static>> {
        let mut groups: BTreeMap<Cells<'static>, Vec<&Measured<'_>>> = BTreeMap::new();
        for one in chosen {
            let key = self.keys.iter().map(|column| match column.as_str() {
                LABELS => Cell::Text(one.labels(&[]).into()),
                column => one.cell(column).into_owned(),
            });
            groups.entry(key.collect()).or_default().push(one);
        }
        let mut rows = Vec::new();
        for (key, members) in groups {
            for window in self.windows(&members) {
                let mut row = key.clone();
                row.extend(self.bucket.map(|_| Cell::Time(window.start())));
                row.extend(self.values.iter().map(|value| {
                    match (self.value(value, &members, window), value) {
                        (None, _) => Cell::Nothing,
                        (Some(count), Value::Statistic(Statistic::Count)) => {
                            Cell::Count(count.round() as u64)
                        }
                        (Some(number), _) => Cell::Number(readable(number)),
                    }
                }));
                rows.push(row);
            }
        }
        rows
    }

    /// The windows in which some series has points.
    fn windows(&self, members: &[&Measured<'_>]) -> Vec<Window> {
        let points = members.iter().flat_map(|one| one.series.points.within(self.range));
        let mut inside = points.map(|(at, _)| at);
        let Some(length) = self.bucket else {
            return inside.next().map(|_| self.range).into_iter().collect();
        };
        let starts: BTreeSet<i128> =
            inside.map(|at| at.as_nanosecond().div_euclid(length)).collect();
        let instant = |nanoseconds: i128| Timestamp::from_nanosecond(nanoseconds).ok();
        let windows = starts.into_iter().filter_map(|at| {
            let start = instant(at.checked_mul(length)?).unwrap_or(Timestamp::MIN);
            let end = instant((at + 1).checked_mul(length)?).unwrap_or(Timestamp::MAX);
            Window::new(start.max(self.range.start()), end.min(self.range.end())).ok()
        });
        windows.collect()
    }

    fn value(&self, value: &Value, members: &[&Measured<'_>], window: Window) -> Option<f64> {
        match value {
            Value::Statistic(statistic) => {
                self.points(members.iter().copied(), window).get(*statistic)
            }
            Value::Derived { expression, plain, .. } => {
                expression.value(&mut |statistic, selector| {
                    let matcher = self.selectors.get(selector)?;
                    let statistic = statistic.or(*plain).unwrap_or_else(|| plain_of(selector));
                    let of_metric = || {
                        members
                            .iter()
                            .copied()
                            .filter(|one| matcher.metric.fits(&one.series.metric))
                    };
                    let fitting: Vec<&Measured<'_>> =
                        of_metric().filter(|one| matcher.fits(one)).collect();
                    if fitting.is_empty() && statistic.counts() {
                        return of_metric().next().map(|_| 0.0);
                    }
                    self.points(fitting.into_iter(), window).get(statistic)
                })
            }
        }
    }

    /// Whether series are the buckets of histograms and are taken together.
    fn takes_histograms<'a>(&self, mut members: impl Iterator<Item = &'a Measured<'a>>) -> bool {
        let by_bound = self.keys.iter().any(|key| key == "le");
        !by_bound && members.all(|one| one.series.bucket.is_some())
    }

    fn points<'a>(
        &self,
        members: impl Iterator<Item = &'a Measured<'a>> + Clone,
        window: Window,
    ) -> Points<'a> {
        let histogram = self.takes_histograms(members.clone());
        Points::new(members.map(|one| one.series).collect(), window, histogram)
    }
}

impl MetricAnalysis {
    /// Refuses metrics beside expressions that name them.
    pub(in crate::tools) fn names_metrics_once(&self) -> Result<(), ToolError> {
        if self.derive.0.is_empty() || self.metrics.is_empty() {
            return Ok(());
        }
        let hint = "name the metrics in the expressions instead";
        Err(ToolError::argument("metrics", "cannot be combined with derive", hint))
    }
}

/// The statistic that metrics stand for in expressions, if one is chosen.
pub(in crate::tools) fn plain(statistics: &[Statistic]) -> Result<Option<Statistic>, ToolError> {
    match statistics {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        _ => {
            let hint = "put further statistics into the expressions, such as p95(metric)";
            Err(ToolError::argument("aggregates", "only one is allowed with derive", hint))
        }
    }
}

/// An expression of a column.
pub(in crate::tools) fn parsed(name: &str, text: &str) -> Result<Expression, ToolError> {
    Expression::parse(text).map_err(|error| {
        let hint = "write an expression such as errors / requests * 100";
        ToolError::argument("derive", format!("{name}: {error}"), hint)
    })
}

/// Statistics of a row where none are chosen.
pub(in crate::tools) const DEFAULTS: &[Statistic] = &[
    Statistic::Count,
    Statistic::Mean,
    Statistic::Min,
    Statistic::Max,
    Statistic::P95,
    Statistic::Last,
];

/// The same where there are only histograms.
const HISTOGRAM_DEFAULTS: &[Statistic] =
    &[Statistic::Count, Statistic::Rate, Statistic::P50, Statistic::P95, Statistic::P99];

impl Matcher {
    fn fits(&self, one: &Measured<'_>) -> bool {
        self.labels.iter().all(|(label, pattern, negated)| {
            let fits = match one.cell(label) {
                Cell::Text(text) => pattern.fits(&text),
                _ => pattern.fits(""),
            };
            fits != *negated
        })
    }
}

/// What a metric stands for in an expression that names no statistic.
fn plain_of(selector: &Selector) -> Statistic {
    let grows = is_counter(&selector.metric) || selector.metric.ends_with("_bucket");
    if grows { Statistic::Increase } else { Statistic::Mean }
}

pub(in crate::tools) fn statistics(names: &Names) -> Result<Vec<Statistic>, ToolError> {
    let each = names.iter().map(|name| {
        Statistic::parse(name).ok_or_else(|| {
            let hint = near(name, Statistic::NAMES.into_iter(), "statistics");
            ToolError::argument("aggregates", format!("there is no statistic {name:?}"), hint)
        })
    });
    each.collect()
}

pub(in crate::tools) fn bucket(length: Length) -> Result<i128, ToolError> {
    let nanoseconds = length.duration().as_nanos();
    if nanoseconds == 0 {
        return Err(ToolError::argument(
            "bucket",
            "must not be zero",
            "give a duration such as 5m",
        ));
    }
    Ok(nanoseconds)
}

fn range(given: Option<TimeRange>) -> Result<Window, ToolError> {
    let given = given.unwrap_or_default();
    let (start, end) = (given.start.unwrap_or(Timestamp::MIN), given.end.unwrap_or(Timestamp::MAX));
    let wrong = "give a window that ends after it starts";
    Window::new(start, end).map_err(|error| ToolError::argument("window", error.to_string(), wrong))
}

impl Tool for MetricAnalysis {
    const NAME: &'static str = "metric_analysis";
    const SUMMARY: &'static str = "Statistics of metrics by series, group or time; derived metrics";
    const DESCRIPTION: &'static str = "\
Returns statistics of the metrics of pods and services: for each series, for groups of series, and
by time bucket; or of expressions over several metrics, such as the share of failed calls. Exact
duplicates of a row count once. Without arguments it lists every series.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"metrics": "container_memory_*", "entity": "pod/cart-*", "aggregates": "max,last"}"#,
        r#"{"metrics": "queue_size", "group_by": "namespace", "bucket": "5m"}"#,
        r#"{"derive": {"error_percent": "calls_total{status_code=\"*ERROR\"}/calls_total*100"}, "sort": "-error_percent"}"#,
    ];
    type Answer = Page;

    fn run(&self, toolbox: &Toolbox) -> Result<Page, ToolError> {
        let (snapshot, graph) = (toolbox.snapshot(), toolbox.graph());
        let mut question = Question::new(snapshot, self)?;
        let entity = self.entity.as_deref();
        let chosen = choose(snapshot, graph, entity, &question.metrics, &self.filters)?;
        if question.values.is_empty() {
            let histograms = !chosen.is_empty() && question.takes_histograms(chosen.iter());
            let defaults = if histograms { HISTOGRAM_DEFAULTS } else { DEFAULTS };
            question.values = defaults.iter().copied().map(Value::Statistic).collect();
        }
        let table = Table::worked_out(question.columns(), question.rows(&chosen));
        Query::of_all(&self.columns, &self.sort, self.limit, self.offset).run(&table)
    }
}
