//! Slices of the normal period with an alert that has no cause: what must not be explained.

use std::collections::BTreeMap;
use std::path::Path;

use super::bundle::issue_bundle;
use super::read::{Column, PetShop, Table, Target};
use crate::error::EvalError;
use crate::suite::{SuiteCase, Truth};

/// Rows of a slice: as many as an issue has.
pub const SLICE_ROWS: usize = 5;

/// A slice begins every so many rows.
pub const SLICE_STEP: usize = 10;

/// The row of a slice at which its alert fires.
const ALERT_ROW: usize = 2;

/// Slices of the normal period after its first third, each with what lies before it as the
/// baseline, and for each kind of alert in the data set one case with that alert.
///
/// # Errors
/// [`EvalError`] when a file is missing or malformed, or there is no issue.
pub fn normal_slices(dir: &Path) -> Result<Vec<SuiteCase>, EvalError> {
    let shop = PetShop::read(dir)?;
    let mut alerts: BTreeMap<String, Target> = BTreeMap::new();
    for folder in &shop.issues {
        let target = Target::read(&folder.join("target.json"))?;
        alerts.entry(target.metric.clone()).or_insert(target);
    }
    let rows = shop.normal.times.len();
    let mut slices = Vec::new();
    for begin in (rows / 3..rows.saturating_sub(SLICE_ROWS)).step_by(SLICE_STEP) {
        let (slice, before) =
            (part(&shop.normal, begin, begin + SLICE_ROWS), part(&shop.normal, 0, begin));
        let Some(alert_at) = slice.times.get(ALERT_ROW) else { continue };
        for (metric, alert) in &alerts {
            let name = format!("normal {begin} {metric}");
            let target = Target { timestamp: alert_at.as_second(), ..alert.clone() };
            let bundle = issue_bundle(&shop, &name, &target, &slice, &before)?.to_bundle();
            let truth = Truth { group: metric.clone(), ..Truth::default() };
            slices.push(SuiteCase::new(name, bundle, truth));
        }
    }
    Ok(slices)
}

fn part(table: &Table, from: usize, to: usize) -> Table {
    let column = |column: &Column| Column {
        values: column.values.get(from..to).unwrap_or_default().to_vec(),
        ..column.clone()
    };
    Table {
        times: table.times.get(from..to).unwrap_or_default().to_vec(),
        columns: table.columns.iter().map(column).collect(),
    }
}
