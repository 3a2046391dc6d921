//! Which series of metrics a question is about.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::EntityId;

use super::ToolError;
use super::entities::Chosen;
use super::query::{Cell, Condition, Filters, Kind, Names, Pattern, near};
use crate::graph::OperationalGraph;
use crate::names;
use crate::read::{MetricSeries, Subject};
use crate::snapshot::Snapshot;

/// Labels that say again what the entity says.
const ENTITY_LABELS: [&str; 5] = ["namespace", "pod", "pod_name", "service", "service_name"];

/// What every series has, besides its labels.
const BUILT_IN: [&str; 8] =
    ["entity", "namespace", "kind", "name", "workload", "metric", "le", "metric_type"];

/// A series, and what it was measured on.
#[derive(Clone, Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) series: &'a MetricSeries,
    pub(crate) entity: EntityId,
    pub(crate) workload: Option<EntityId>,
}

impl Measured<'_> {
    /// What the series says under a name: one of the built-in columns, else a label.
    pub(crate) fn cell(&self, column: &str) -> Cell<'_> {
        match column {
            "entity" => Cell::text(self.entity.as_str()),
            "namespace" => Cell::text(&self.series.namespace),
            "kind" => Cell::text(names::kind_of(&self.entity)),
            "name" => Cell::text(names::bare(&self.entity)),
            "workload" => match &self.workload {
                Some(workload) => Cell::text(workload.as_str()),
                None => Cell::Nothing,
            },
            "metric" => Cell::text(&self.series.metric),
            "le" => self.series.bucket.map_or(Cell::Nothing, |le| Cell::Text(bound(le).into())),
            "metric_type" => Cell::text(&self.series.metric_type),
            "status_code" => Cell::text(&self.series.status_code),
            label => self.series.labels.get(label).map_or(Cell::Nothing, |text| Cell::text(text)),
        }
    }

    /// `label=value` of all labels that distinguish the series from others of its entity and metric.
    pub(crate) fn labels(&self, without: &[&str]) -> String {
        let own = self.series.labels.iter();
        let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
        let has = |name: &str| self.series.labels.contains_key(name);
        let more = [
            ("metric_type", self.series.metric_type.as_ref()),
            ("status_code", self.series.status_code.as_ref()),
        ];
        let more = more.into_iter().filter(|(name, value)| !value.is_empty() && !has(name));
        let mut all: Vec<(&str, &str)> = own.chain(more).collect();
        all.retain(|(name, _)| !ENTITY_LABELS.contains(name) && !without.contains(name));
        all.sort_unstable();
        let texts: Vec<String> =
            all.iter().map(|(name, value)| format!("{name}={value}")).collect();
        texts.join(" ")
    }
}

/// The upper bound of a histogram's bucket as metrics write it.
fn bound(le: f64) -> String {
    if le == f64::INFINITY { "+Inf".to_owned() } else { le.to_string() }
}

/// The series of some entities and metrics that fulfil every condition, in a fixed order.
///
/// # Errors
/// [`ToolError::Argument`] for unknown entities, metrics and labels, with near names.
pub(crate) fn choose<'a>(
    snapshot: &'a Snapshot,
    graph: &OperationalGraph,
    entity: Option<&str>,
    metrics: &Names,
    filters: &Filters,
) -> Result<Vec<Measured<'a>>, ToolError> {
    let all = &snapshot.metrics;
    let wanted = metric_patterns(all, "metrics", metrics.iter())?;
    let mut conditions = Vec::new();
    for filter in filters.iter() {
        check_column(all, "filters", &filter.column)?;
        conditions.push((filter.column.as_str(), Condition::new(filter, Kind::Text)?));
    }
    let mut known: BTreeMap<(Subject, &str, &str), Option<Owner>> = BTreeMap::new();
    let mut chosen = Vec::new();
    for series in all {
        let owner = known.entry((series.subject, &series.namespace, &series.name));
        let owner = owner.or_insert_with(|| owner_of(series, graph));
        let Some((entity, workload)) = owner.clone() else { continue };
        let fits = wanted.is_empty() || wanted.iter().any(|one| one.fits(&series.metric));
        if fits {
            chosen.push(Measured { series, entity, workload });
        }
    }
    let owners = known.values().flatten();
    let entities = || owners.flat_map(|(entity, workload)| [Some(entity), workload.as_ref()]);
    let entities = || entities().flatten().collect();
    let entities = Chosen::new(entities, entity.map(widened).as_deref())?;
    let fits = |entity: &EntityId| entities.fits(entity);
    chosen.retain(|one| fits(&one.entity) || one.workload.as_ref().is_some_and(fits));
    chosen.retain(|one| {
        conditions.iter().all(|(column, condition)| condition.holds(&one.cell(column)))
    });
    chosen.sort_by_cached_key(|one| {
        // Bounds of zero and above sort as their bits do.
        let bucket = one.series.bucket.map(|le| le.max(0.0).to_bits());
        (one.series.metric.clone(), one.entity.clone(), one.labels(&[]), bucket)
    });
    Ok(chosen)
}

/// Patterns of metric names. One without `*` must be the name of a metric.
///
/// # Errors
/// [`ToolError::Argument`] with near names.
pub(crate) fn metric_patterns<'n>(
    all: &[MetricSeries],
    argument: &str,
    names: impl Iterator<Item = &'n str>,
) -> Result<Vec<Pattern>, ToolError> {
    name_patterns(|| all.iter().map(|one| one.metric.as_ref()).collect(), argument, names)
}

/// The same of metrics that are known by these names.
///
/// # Errors
/// [`ToolError::Argument`] with near names.
pub(crate) fn name_patterns<'k, 'n>(
    metrics: impl Fn() -> BTreeSet<&'k str>,
    argument: &str,
    names: impl Iterator<Item = &'n str>,
) -> Result<Vec<Pattern>, ToolError> {
    let mut known: Option<BTreeSet<&str>> = None;
    let each = names.map(|name| {
        if !name.contains(['*', '?']) {
            let known = known.get_or_insert_with(&metrics);
            if !known.contains(name) {
                let reason = format!("there is no metric {name:?}");
                let hint = near(name, known.iter().copied(), "metrics");
                return Err(ToolError::argument(argument, reason, hint));
            }
        }
        Pattern::new(name).map_err(|reason| ToolError::argument(argument, reason, ""))
    });
    each.collect()
}

/// # Errors
/// [`ToolError::Argument`] with near names, unless some series has the column.
pub(crate) fn check_column(
    all: &[MetricSeries],
    argument: &str,
    column: &str,
) -> Result<(), ToolError> {
    let is_label = || all.iter().any(|series| series.labels.contains_key(column));
    if BUILT_IN.contains(&column) || column == "status_code" || is_label() {
        return Ok(());
    }
    let labels = all.iter().flat_map(|series| series.labels.keys());
    let mut columns: BTreeSet<&str> = labels.map(String::as_str).collect();
    columns.extend(BUILT_IN);
    let reason = format!("there is no column or label {column:?}");
    Err(ToolError::argument(argument, reason, near(column, columns.iter().copied(), "columns")))
}

/// What a series was measured on, and the workload that it belongs to.
type Owner = (EntityId, Option<EntityId>);

fn owner_of(series: &MetricSeries, graph: &OperationalGraph) -> Option<Owner> {
    let entity = match series.subject {
        Subject::Pod => names::entity(&series.namespace, "Pod", &series.name),
        Subject::Service => graph.index.service(&series.namespace, &series.name),
    }?;
    let workload = graph.workload_of(&entity).cloned();
    Some((entity, workload))
}

/// A pattern for full names from a short one: `cart*` for any kind, `pod/cart*` for one.
fn widened(text: &str) -> String {
    let text = text.trim();
    let kinds = ["Pod", "Service", "Deployment", "StatefulSet", "DaemonSet"];
    let is_pattern = text.contains(['*', '?']);
    match text.split('/').collect::<Vec<_>>().as_slice() {
        ["*"] => text.to_owned(),
        [name] if is_pattern => format!("*/{name}"),
        [kind, name] => {
            let known = kinds.iter().find(|known| known.eq_ignore_ascii_case(kind));
            let kind = known.copied().unwrap_or(kind);
            if is_pattern { format!("*{kind}/{name}") } else { format!("{kind}/{name}") }
        }
        _ => text.to_owned(),
    }
}
