//! An issue, or a slice of the normal period, as an incident bundle.

use std::collections::BTreeMap;

use eog::evidence::Signal;
use eog::incident::EffectDirection;
use eog::{Anomaly, EntityId, EvidenceKind, Timestamp, Window};
use eog_evidence::{BundleWriter, Manifest, ManifestEdge, Series};
use jiff::SignedDuration;

use super::read::{Column, PetShop, Table, Target};
use crate::error::EvalError;

/// Whether a column has no place in a bundle: percentiles do not add up along calls.
pub fn percentiles_left_out(statistic: &str) -> bool {
    !matches!(statistic, "Average" | "Sum")
}

/// The bundle of an issue: graph, alert, and the metrics of the normal period and of the issue.
///
/// # Errors
/// [`EvalError::Case`] when a table has no rows.
pub fn issue_bundle(
    shop: &PetShop,
    name: &str,
    target: &Target,
    issue: &Table,
    normal: &Table,
) -> Result<BundleWriter, EvalError> {
    let failed = |reason: &str| EvalError::Case { case: name.to_owned(), reason: reason.into() };
    let window = extent(issue).ok_or_else(|| failed("its metrics have no rows"))?;
    let baseline = extent(normal).ok_or_else(|| failed("the normal period has no rows"))?;
    let onset = Timestamp::from_second(target.timestamp)
        .map_err(|error| failed(&format!("target.timestamp: {error}")))?;

    let mut manifest = Manifest::new(name);
    manifest.window = Some(window);
    manifest.baseline = baseline.into();
    manifest.topology.entities.clone_from(&shop.services);
    manifest.topology.edges = shop
        .calls
        .iter()
        .map(|(caller, callee)| ManifestEdge {
            source: caller.clone(),
            target: callee.clone(),
            relation: "calls".into(),
            effects: EffectDirection::TargetToSource,
        })
        .collect();

    let mut writer = BundleWriter::new(manifest);
    let name = format!("{} {}", target.metric, target.agg);
    let signal = signal_of(&target.metric).0;
    writer.alerts = vec![Anomaly::new(name, target.node.clone(), signal, onset)];
    let mut series: BTreeMap<(EntityId, String), Series> = BTreeMap::new();
    for table in [normal, issue] {
        for column in &table.columns {
            if percentiles_left_out(&column.statistic) {
                continue;
            }
            let metric = format!("{} {}", column.metric, column.statistic);
            let key = (column.service.clone(), metric);
            let one = series.entry(key).or_insert_with_key(|(_, metric)| begin(column, metric));
            let measured = table.times.iter().zip(&column.values);
            one.points.extend(measured.filter_map(|(at, value)| Some((*at, (*value)?))));
        }
    }
    writer.metrics = series.into_values().filter(|series| !series.points.is_empty()).collect();
    Ok(writer)
}

fn begin(column: &Column, metric: &str) -> Series {
    let (signal, unit) = signal_of(&column.metric);
    Series {
        entity: column.service.clone(),
        kind: EvidenceKind::Metric,
        metric: metric.to_owned(),
        signal,
        unit: unit.into(),
        peer: None,
        points: Vec::new(),
    }
}

/// What a metric of the data set speaks of, and its unit.
fn signal_of(metric: &str) -> (Signal, &'static str) {
    match metric {
        "latency" => (Signal::Latency, "s"),
        "availability" => (Signal::Availability, "percent"),
        "requests" => (Signal::Traffic, "requests"),
        _ => (Signal::Other, ""),
    }
}

/// From the first row to one step after the last.
pub(super) fn extent(table: &Table) -> Option<Window> {
    let (first, last) = (*table.times.iter().min()?, *table.times.iter().max()?);
    let step = table.times.windows(2).find_map(|pair| match pair {
        [a, b] if b > a => Some(b.duration_since(*a)),
        _ => None,
    });
    let end = last.checked_add(step.unwrap_or(SignedDuration::from_secs(1))).ok()?;
    Window::new(first, end).ok()
}
