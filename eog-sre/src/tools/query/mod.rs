//! What all tools that give rows share: filters, groups, aggregates, sorting and pages.
//!
//! A tool describes its rows as a [`Table`]; [`Query::run`] does the rest. The order of work is
//! window, filters, groups, sort, page.

mod aggregate;
mod cell;
mod filter;
mod given;
mod length;
mod names;
mod near;
mod page;
mod range;

pub use cell::Cell;
pub use filter::{Filter, Filters, Operator};
pub use length::Length;
pub use names::Names;
pub use page::{DEFAULT_LIMIT, MAX_LIMIT, Page, Row};
pub use range::TimeRange;

pub(crate) use aggregate::quantile;
pub(crate) use filter::{Condition, Pattern};
pub(crate) use given::{described, texts, unexpected};
pub(crate) use near::{listed, near};

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ToolError;
use aggregate::Aggregate;

/// What a column holds; decides which conditions and aggregates fit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Time,
    Flag,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "a number",
            Self::Time => "a time",
            Self::Flag => "true or false",
        }
    }
}

/// One column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: Kind,
    /// Whether it is part of a row that nobody chose the columns of.
    pub(crate) shown: bool,
}

impl Column {
    pub(crate) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name: Cow::Borrowed(name), kind, shown: true }
    }

    /// A column for conditions and groups, that is shown when it is asked for.
    pub(crate) const fn hidden(name: &'static str, kind: Kind) -> Self {
        Self { name: Cow::Borrowed(name), kind, shown: false }
    }
}

/// Rows in their natural order.
pub(crate) trait Table {
    fn columns(&self) -> &[Column];
    fn rows(&self) -> usize;
    /// The value of a row in a column, both counted from 0 and within bounds.
    fn cell(&self, row: usize, column: usize) -> Cell<'_>;
    /// The column that a window limits.
    fn time_column(&self) -> Option<usize>;
}

/// A table whose rows are worked out before they are asked for. It is not limited by a window: what
/// lies outside was left out when they were.
pub(crate) struct Worked<'t> {
    pub(crate) columns: &'t [Column],
    pub(crate) rows: Vec<Vec<Cell<'t>>>,
}

impl Table for Worked<'_> {
    fn columns(&self) -> &[Column] {
        self.columns
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        self.rows[row][column].clone()
    }

    fn time_column(&self) -> Option<usize> {
        None
    }
}

/// What is asked of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'q> {
    pub(crate) window: Option<&'q TimeRange>,
    pub(crate) filters: &'q Filters,
    pub(crate) group_by: &'q Names,
    pub(crate) aggregates: &'q Names,
    pub(crate) columns: &'q Names,
    pub(crate) sort: &'q Names,
    pub(crate) limit: Option<usize>,
    pub(crate) offset: usize,
}

impl Query<'_> {
    /// One page of the rows that were asked for.
    ///
    /// # Errors
    /// [`ToolError::Argument`] for unknown columns and for conditions that do not fit a column.
    pub(crate) fn run(&self, table: &impl Table) -> Result<Page, ToolError> {
        let chosen = self.choose(table)?;
        if self.group_by.is_empty() && self.aggregates.is_empty() {
            self.plain(table, chosen)
        } else {
            self.grouped(table, &chosen)
        }
    }

    /// The rows in the window that fulfil every condition.
    fn choose(&self, table: &impl Table) -> Result<Vec<usize>, ToolError> {
        let columns = table.columns();
        let mut conditions = Vec::new();
        for filter in self.filters.iter() {
            let column = position(columns, "filters", &filter.column)?;
            conditions.push((column, Condition::new(filter, columns[column].kind)?));
        }
        let window = self.window.zip(table.time_column());
        let inside = |row: usize| {
            window.is_none_or(|(range, column)| match table.cell(row, column) {
                Cell::Time(at) => range.contains(at),
                _ => false,
            })
        };
        let holds = |row: usize| {
            conditions.iter().all(|(column, condition)| condition.holds(&table.cell(row, *column)))
        };
        Ok((0..table.rows()).filter(|row| inside(*row) && holds(*row)).collect())
    }

    fn plain(&self, table: &impl Table, mut chosen: Vec<usize>) -> Result<Page, ToolError> {
        let columns = table.columns();
        let order = self.order(columns)?;
        let shown = self.shown(columns)?;
        if !order.is_empty() {
            chosen.sort_by(|a, b| {
                let orders = order.iter().map(|(column, falls)| {
                    table.cell(*a, *column).compare(&table.cell(*b, *column), *falls)
                });
                first_difference(orders)
            });
        }
        let total = chosen.len();
        let names: Arc<[String]> = shown.iter().map(|at| columns[*at].name.to_string()).collect();
        let row = |at: usize| {
            let cells = shown.iter().map(|column| table.cell(at, *column).into_owned()).collect();
            Row::new(names.clone(), cells)
        };
        Ok(Page::cut(chosen.into_iter(), total, self.offset, self.limit, row))
    }

    fn grouped(&self, table: &impl Table, chosen: &[usize]) -> Result<Page, ToolError> {
        let columns = table.columns();
        let keys = positions(columns, "group_by", self.group_by)?;
        let aggregates = match self.aggregates.is_empty() {
            true => vec![Aggregate::count()],
            false => {
                let each = self.aggregates.iter().map(|text| Aggregate::parse(text, columns));
                let mut each = each.collect::<Result<Vec<_>, _>>()?;
                let mut names = BTreeSet::new();
                each.retain(|aggregate| names.insert(aggregate.column().name));
                each
            }
        };
        let mut groups: BTreeMap<Vec<Cell<'_>>, Vec<usize>> = BTreeMap::new();
        if keys.is_empty() {
            groups.insert(Vec::new(), chosen.to_vec());
        } else {
            for row in chosen {
                let key = keys.iter().map(|column| table.cell(*row, *column)).collect();
                groups.entry(key).or_default().push(*row);
            }
        }
        let mut out: Vec<Column> = keys.iter().map(|at| columns[*at].clone()).collect();
        out.extend(aggregates.iter().map(Aggregate::column));
        let mut rows: Vec<Vec<Cell<'static>>> = Vec::with_capacity(groups.len());
        for (key, members) in groups {
            let mut cells: Vec<Cell<'static>> = key.into_iter().map(Cell::into_owned).collect();
            cells.extend(aggregates.iter().map(|aggregate| aggregate.of(table, &members)));
            rows.push(cells);
        }
        let mut order = self.order(&out)?;
        if order.is_empty() {
            // The largest groups first.
            order.extend(out.iter().position(|column| column.name == "count").map(|at| (at, true)));
        }
        rows.sort_by(|a, b| {
            first_difference(order.iter().map(|(at, falls)| a[*at].compare(&b[*at], *falls)))
        });
        let shown = self.shown(&out)?;
        let names: Arc<[String]> = shown.iter().map(|at| out[*at].name.to_string()).collect();
        let total = rows.len();
        let row = |cells: Vec<Cell<'static>>| {
            let cells = shown.iter().map(|at| cells[*at].clone()).collect();
            Row::new(names.clone(), cells)
        };
        Ok(Page::cut(rows.into_iter(), total, self.offset, self.limit, row))
    }

    /// The columns to sort by, and whether each falls.
    fn order(&self, columns: &[Column]) -> Result<Vec<(usize, bool)>, ToolError> {
        let each = self.sort.iter().map(|text| {
            let (name, falls) = match text.strip_prefix('-') {
                Some(name) => (name, true),
                None => (text.strip_prefix('+').unwrap_or(text), false),
            };
            Ok((position(columns, "sort", name)?, falls))
        });
        each.collect()
    }

    fn shown(&self, columns: &[Column]) -> Result<Vec<usize>, ToolError> {
        if self.columns.is_empty() {
            let grouped = !self.group_by.is_empty();
            let shown = columns.iter().enumerate().filter(|(_, column)| column.shown || grouped);
            return Ok(shown.map(|(at, _)| at).collect());
        }
        positions(columns, "columns", self.columns)
    }
}

fn first_difference(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Where the columns of some names stand, each once.
fn positions(columns: &[Column], argument: &str, names: &Names) -> Result<Vec<usize>, ToolError> {
    let mut found = Vec::new();
    for name in names.iter() {
        let at = position(columns, argument, name)?;
        if !found.contains(&at) {
            found.push(at);
        }
    }
    Ok(found)
}

/// Where a column of a name stands.
pub(crate) fn position(columns: &[Column], argument: &str, name: &str) -> Result<usize, ToolError> {
    let found = columns.iter().position(|column| column.name == name);
    found.ok_or_else(|| {
        let names = columns.iter().map(|column| column.name.as_ref());
        let reason = format!("there is no column {name:?}");
        ToolError::argument(argument, reason, near(name, names.clone(), "columns"))
    })
}

#[cfg(test)]
mod tests;
