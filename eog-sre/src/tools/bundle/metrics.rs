//! Metrics of a bundle: statistics, and which series left their usual range.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::Timestamp;
use eog_evidence::{Series, shift_of, steady_finding};

use super::context::window;
use super::records::peer;
use super::{BundleTool, BundleToolbox, word};
use crate::tools::entities::Chosen;
use crate::tools::get_metric_anomalies::Compared;
use crate::tools::metric_analysis::{
    DEFAULTS, Selector, Statistic, bucket, parsed, plain, statistics,
};
use crate::tools::query::{Cell, Cells, Filters, Kind, Names, Page, Pattern, Query, Table, near};
use crate::tools::records::about;
use crate::tools::series::name_patterns;
use crate::tools::signals::readable;
use crate::tools::{GetMetricAnomalies, MetricAnalysis, MetricAnomalies, ToolError};

/// What distinguishes series.
static KEYS: [&str; 6] = ["entity", "metric", "signal", "peer", "peer_role", "unit"];

/// What is never put together: other metrics and other units.
const ALWAYS: [&str; 2] = ["metric", "unit"];

/// The series that are asked for.
fn chosen<'b>(
    toolbox: &BundleToolbox<'b>,
    entity: Option<&str>,
    metrics: &Names,
    filters: &Filters,
) -> Result<Vec<&'b Series>, ToolError> {
    let all: Vec<&Series> = toolbox.bundle().series().collect();
    let known = || all.iter().map(|series| series.metric.as_str()).collect::<BTreeSet<_>>();
    let wanted = name_patterns(known, "metrics", metrics.iter())?;
    let entities = Chosen::new(|| toolbox.entities(), entity)?;
    let mut some = all.clone();
    some.retain(|series| {
        let is_wanted = wanted.is_empty() || wanted.iter().any(|one| one.fits(&series.metric));
        is_wanted && entities.fits(&series.entity)
    });
    let query = Query { filters: filters.clone(), ..Query::default() };
    let kept = query.choose(&table(some.clone()))?;
    Ok(kept.into_iter().map(|at| some[at]).collect())
}

fn table(rows: Vec<&Series>) -> Table<'_, &Series> {
    let table = about(Table::new(rows), |row| Some(&row.entity), |_| "")
        .column("metric", Kind::Text, |row| Cell::text(&row.metric))
        .column("signal", Kind::Text, |row| word(&row.signal))
        .column("unit", Kind::Text, |row| Cell::text(&row.unit));
    peer(table, |row| row.peer.as_ref())
}

fn key<'s>(series: &'s Series, name: &str) -> Cell<'s> {
    match name {
        "entity" => Cell::text(series.entity.as_str()),
        "metric" => Cell::text(&series.metric),
        "signal" => word(&series.signal),
        "unit" => Cell::text(&series.unit),
        "peer" => series.peer.as_ref().map(|peer| peer.entity.as_str()).into(),
        _ => series.peer.as_ref().map_or(Cell::Nothing, |peer| word(&peer.role)),
    }
}

/// What series are grouped by.
fn keys(group_by: &Names) -> Result<Vec<&'static str>, ToolError> {
    let mut keys = named(group_by)?;
    if keys.is_empty() {
        return Ok(KEYS.into());
    }
    let missing = ALWAYS.into_iter().filter(|key| !keys.contains(key)).collect::<Vec<_>>();
    keys.extend(missing);
    Ok(keys)
}

/// A column by name.
fn column(argument: &str, name: &str) -> Result<&'static str, ToolError> {
    KEYS.into_iter().find(|key| *key == name).ok_or_else(|| {
        let hint = near(name, KEYS.into_iter(), "columns");
        ToolError::argument(argument, format!("there is no column {name:?}"), hint)
    })
}

fn named(group_by: &Names) -> Result<Vec<&'static str>, ToolError> {
    group_by.iter().map(|name| column("group_by", name)).collect()
}

/// What is worked out of each group.
fn wanted(aggregates: &Names) -> Result<Vec<Statistic>, ToolError> {
    let asked = statistics(aggregates)?;
    asked.iter().try_for_each(|one| of_gauges("aggregates", *one))?;
    Ok(if asked.is_empty() { DEFAULTS.into() } else { asked })
}

fn of_gauges(argument: &str, statistic: Statistic) -> Result<(), ToolError> {
    if matches!(statistic, Statistic::Increase | Statistic::Rate) {
        let reason = "increase and rate are of counters, which bundles do not hold";
        return Err(ToolError::argument(argument, reason, "give mean, max or p95"));
    }
    Ok(())
}

/// A statistic of points.
fn statistic(of: Statistic, mut points: Vec<(Timestamp, f64)>) -> Option<f64> {
    points.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let last = points.last().map(|(_, value)| *value);
    let mut values: Vec<f64> = points.into_iter().map(|(_, value)| value).collect();
    values.sort_by(f64::total_cmp);
    if of == Statistic::Last { last } else { of.of(&values) }
}

/// A metric of an expression, perhaps only its series with some columns.
struct Matcher {
    metric: Pattern,
    columns: Vec<(&'static str, Pattern, bool)>,
}

impl Matcher {
    fn new(toolbox: &BundleToolbox<'_>, selector: &Selector) -> Result<Self, ToolError> {
        let known = || toolbox.bundle().series().map(|one| one.metric.as_str()).collect();
        let mut names = name_patterns(known, "derive", std::iter::once(&*selector.metric))?;
        let columns = selector.labels.iter().map(|test| {
            let wrong = |reason: String| ToolError::argument("derive", reason, "");
            let pattern = Pattern::new(&test.pattern).map_err(wrong)?;
            Ok((column("derive", &test.label)?, pattern, test.negated))
        });
        let columns = columns.collect::<Result<_, ToolError>>()?;
        let missing = || ToolError::argument("derive", "a metric has no name", "");
        Ok(Self { metric: names.pop().ok_or_else(missing)?, columns })
    }

    fn fits(&self, series: &Series) -> bool {
        let holds = |(column, pattern, negated): &(&str, Pattern, bool)| {
            let text = match key(series, column) {
                Cell::Text(text) => text,
                _ => "".into(),
            };
            pattern.fits(&text) != *negated
        };
        self.metric.fits(&series.metric) && self.columns.iter().all(holds)
    }
}

/// A point, and the series that it is of.
type Point<'s> = (&'s Series, (Timestamp, f64));

/// Expressions over metrics, one row for each group and bucket.
fn derived(asked: &MetricAnalysis, toolbox: &BundleToolbox<'_>) -> Result<Page, ToolError> {
    asked.names_metrics_once()?;
    let statistics = statistics(&asked.aggregates)?;
    let usual = plain(&statistics)?.unwrap_or(Statistic::Mean);
    of_gauges("aggregates", usual)?;
    let mut keys = named(&asked.group_by)?;
    if keys.is_empty() {
        keys.push("entity");
    }
    let (mut expressions, mut matchers) = (Vec::new(), BTreeMap::new());
    for (name, text) in &asked.derive.0 {
        if keys.contains(&name.as_str()) || name == "from" {
            let reason = format!("a column {name:?} already exists");
            return Err(ToolError::argument("derive", reason, "choose another name"));
        }
        let expression = parsed(name, text)?;
        for selector in expression.selectors() {
            matchers.insert(selector.clone(), Matcher::new(toolbox, selector)?);
        }
        expressions.push((name, expression));
    }
    let length = asked.bucket.map(bucket).transpose()?;
    let mut groups: BTreeMap<Cells<'_>, Vec<Point<'_>>> = BTreeMap::new();
    let none = Names::default();
    for series in chosen(toolbox, asked.entity.as_deref(), &none, &asked.filters)? {
        if !matchers.values().any(|one: &Matcher| one.fits(series)) {
            continue;
        }
        let name: Cells<'_> = keys.iter().map(|one| key(series, one)).collect();
        let in_time = |at| asked.window.is_none_or(|window| window.contains(at));
        for (at, value) in series.points.iter().filter(|(at, it)| in_time(*at) && it.is_finite()) {
            let from = length.map(|length| Cell::Time(start_of(*at, length)));
            let group = name.iter().cloned().chain(from).collect();
            groups.entry(group).or_default().push((series, (*at, *value)));
        }
    }
    let mut rows = Vec::new();
    for (mut cells, points) in groups {
        for (_, expression) in &expressions {
            let value = expression.value(&mut |named, selector| {
                let matcher = matchers.get(selector)?;
                let fitting = points.iter().filter(|(series, _)| matcher.fits(series));
                statistic(named.unwrap_or(usual), fitting.map(|(_, point)| *point).collect())
            });
            cells.push(value.map(readable).into());
        }
        rows.push(cells);
    }
    let names = keys.iter().map(|key| ((*key).to_owned(), Kind::Text));
    let from = length.map(|_| ("from".to_owned(), Kind::Time));
    let numbers = expressions.iter().map(|(name, _)| ((*name).clone(), Kind::Number));
    let table = Table::worked_out(names.chain(from).chain(numbers), rows);
    Query::of_all(&asked.columns, &asked.sort, asked.limit, asked.offset).run(&table)
}

impl BundleTool for MetricAnalysis {
    const ARGUMENTS: &'static [&'static str] = &[
        "entity",
        "metrics",
        "derive",
        "filters",
        "group_by",
        "aggregates",
        "window",
        "bucket",
        "columns",
        "sort",
        "limit",
        "offset",
    ];

    fn of_bundle(&self, toolbox: &BundleToolbox<'_>) -> Result<Page, ToolError> {
        if !self.derive.0.is_empty() {
            return derived(self, toolbox);
        }
        let (keys, statistics) = (keys(&self.group_by)?, wanted(&self.aggregates)?);
        let bucket = self.bucket.map(bucket).transpose()?;
        let mut groups: BTreeMap<Cells<'_>, Vec<(Timestamp, f64)>> = BTreeMap::new();
        for series in chosen(toolbox, self.entity.as_deref(), &self.metrics, &self.filters)? {
            let name: Cells<'_> = keys.iter().map(|one| key(series, one)).collect();
            let in_time = |at| self.window.is_none_or(|window| window.contains(at));
            let points =
                series.points.iter().filter(|(at, value)| in_time(*at) && value.is_finite());
            for (at, value) in points {
                let from = bucket.map(|length| Cell::Time(start_of(*at, length)));
                let group = name.iter().cloned().chain(from).collect();
                groups.entry(group).or_default().push((*at, *value));
            }
        }
        let rows = groups.into_iter().map(|(mut cells, points)| {
            let cell = |one: &Statistic| statistic(*one, points.clone()).map(readable).into();
            cells.extend(statistics.iter().map(cell));
            cells
        });
        let names = keys.iter().map(|key| (*key, Kind::Text));
        let from = bucket.map(|_| ("from", Kind::Time));
        let numbers = statistics.iter().map(|one| (one.name(), Kind::Number));
        let table = Table::worked_out(names.chain(from).chain(numbers), rows.collect());
        Query::of_all(&self.columns, &self.sort, self.limit, self.offset).run(&table)
    }
}

/// The beginning of the bucket of so many nanoseconds that holds a time.
fn start_of(at: Timestamp, length: i128) -> Timestamp {
    let start = at.as_nanosecond().div_euclid(length).saturating_mul(length);
    Timestamp::from_nanosecond(start).unwrap_or(Timestamp::MIN)
}

impl BundleTool for GetMetricAnomalies {
    const ARGUMENTS: &'static [&'static str] =
        &["entity", "metrics", "filters", "window", "columns", "sort", "limit", "offset"];

    fn of_bundle(&self, toolbox: &BundleToolbox<'_>) -> Result<MetricAnomalies, ToolError> {
        // The unit is next to what was measured.
        let names = &KEYS[..5];
        let chosen = chosen(toolbox, self.entity.as_deref(), &self.metrics, &self.filters)?;
        let after = window(toolbox, self.window)?;
        let periods = toolbox.context.periods(after);
        let mut all = Compared::default();
        for series in chosen {
            match shift_of(series, &periods) {
                Some(shift) => {
                    let names = names.iter().map(|name| key(series, name)).collect();
                    all.shifted(names, &shift, &series.unit);
                }
                None if steady_finding(series, &periods, "", "").is_some() => all.steady(),
                None => all.too_short(),
            }
        }
        let before = periods.baseline.iter().collect();
        Ok(MetricAnomalies { before, after: Some(after), ..self.answer(all, names)? })
    }
}
