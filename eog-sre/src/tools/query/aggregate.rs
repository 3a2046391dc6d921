//! What a group of rows is summed up to.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Cell, Kind, Table};
use crate::tools::ToolError;

/// How the values of a group become one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    Count,
    Distinct,
    Mean,
    Sum,
    Min,
    Max,
    Quantile(f64),
}

const FUNCTIONS: [(&str, Function); 10] = [
    ("count", Function::Count),
    ("distinct", Function::Distinct),
    ("mean", Function::Mean),
    ("sum", Function::Sum),
    ("min", Function::Min),
    ("max", Function::Max),
    ("p50", Function::Quantile(0.50)),
    ("p90", Function::Quantile(0.90)),
    ("p95", Function::Quantile(0.95)),
    ("p99", Function::Quantile(0.99)),
];

const HINT: &str = "write count, or FUNCTION(COLUMN) with count, distinct, mean, sum, min, max, \
                    p50, p90, p95 or p99";

/// One value of a group: `count`, or a function of a column such as `p95(value)`.
#[derive(Debug)]
pub(super) struct Aggregate {
    name: String,
    function: Function,
    column: Option<(usize, Kind)>,
}

impl Aggregate {
    /// The number of rows.
    pub(super) fn count() -> Self {
        Self { name: "count".to_owned(), function: Function::Count, column: None }
    }

    /// # Errors
    /// [`ToolError::Argument`] for anything but a function of a column that has it.
    pub(super) fn parse<R>(text: &str, table: &Table<'_, R>) -> Result<Self, ToolError> {
        if text == "count" {
            return Ok(Self::count());
        }
        let wrong = |reason: String| ToolError::argument("aggregates", reason, HINT);
        let parts = text.strip_suffix(')').and_then(|text| text.split_once('('));
        let (function, column) =
            parts.ok_or_else(|| wrong(format!("{text:?} is not an aggregate")))?;
        let found = FUNCTIONS.iter().find(|(name, _)| *name == function.trim());
        let (_, function) = found.ok_or_else(|| wrong(format!("unknown function {function:?}")))?;
        let at = table.position("aggregates", column.trim())?;
        let kind = table.columns[at].kind;
        let fits = match function {
            Function::Count | Function::Distinct => true,
            Function::Min | Function::Max => kind != Kind::Flag,
            Function::Mean | Function::Sum | Function::Quantile(_) => kind == Kind::Number,
        };
        if !fits {
            return Err(wrong(format!(
                "{column} holds {}, so {text} cannot be computed",
                kind.name()
            )));
        }
        let name = text.split_whitespace().collect();
        Ok(Self { name, function: *function, column: Some((at, kind)) })
    }

    /// The column that it makes: its name, and what it holds.
    pub(super) fn column(&self) -> (Cow<'static, str>, Kind) {
        let kind = match (self.function, self.column) {
            (Function::Min | Function::Max, Some((_, kind))) => kind,
            _ => Kind::Number,
        };
        (self.name.clone().into(), kind)
    }

    /// Its value over some rows; nothing when none of them has one.
    pub(super) fn of<R>(&self, table: &Table<'_, R>, rows: &[usize]) -> Cell<'static> {
        let Some((column, _)) = self.column else { return Cell::count(rows.len()) };
        let cells = rows.iter().map(|row| table.cell(*row, column));
        let mut filled = cells.filter(|cell| !matches!(cell, Cell::Nothing));
        let found = match self.function {
            Function::Count => Some(Cell::count(filled.count())),
            Function::Distinct => Some(Cell::count(filled.collect::<BTreeSet<_>>().len())),
            Function::Min => filled.min(),
            Function::Max => filled.max(),
            Function::Sum | Function::Mean => {
                let (mut sum, mut count, mut whole) = (0.0, 0_u32, Some(0_u64));
                for cell in filled.by_ref() {
                    let Some(number) = cell.as_number() else { continue };
                    (sum, count) = (sum + number, count.saturating_add(1));
                    whole = match (whole, cell) {
                        (Some(whole), Cell::Count(more)) => whole.checked_add(more),
                        _ => None,
                    };
                }
                match (self.function, whole) {
                    _ if count == 0 => None,
                    (Function::Sum, Some(whole)) => Some(Cell::Count(whole)),
                    (Function::Sum, None) => Some(Cell::Number(sum)),
                    _ => Some(Cell::Number(sum / f64::from(count))),
                }
            }
            Function::Quantile(share) => {
                let mut numbers: Vec<f64> = filled.filter_map(|cell| cell.as_number()).collect();
                numbers.sort_by(f64::total_cmp);
                quantile(&numbers, share).map(Cell::Number)
            }
        };
        found.map_or(Cell::Nothing, Cell::into_owned)
    }
}

/// The quantile of sorted numbers, with straight lines between them; nothing for no numbers.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (sorted.get(at.floor() as usize)?, sorted.get(at.ceil() as usize)?);
    Some(low + (high - low) * at.fract())
}
