//! Questions to tables: conditions, groups, aggregates, sorting and pages.
//!
//! A tool describes its rows as a [`Table`]; [`Query::run`] does the rest. The order of work is
//! conditions, groups, sort, page.

mod aggregate;
mod cell;
mod filter;
mod given;
mod length;
mod names;
mod near;
mod page;
mod range;
mod table;

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
pub(crate) use table::{Cells, Kind, Table};

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eog_core::Timestamp;
use serde::Deserialize;

use super::ToolError;
use aggregate::Aggregate;

/// The arguments that every table of records has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Query {
    /// Only records about this entity: a full name such as `shop/Service/cart`, the end of a name
    /// if that is unique, or a pattern such as `shop/*`.
    pub entity: Option<String>,
    /// Only records from this period.
    pub window: Option<TimeRange>,
    /// Conditions on columns.
    pub filters: Filters,
    /// Columns to group by: one row for each combination of their values.
    pub group_by: Names,
    /// Values to compute for each group: `count` (the default), or a function of a column such as
    /// `max(time)`.
    pub aggregates: Names,
    /// Columns to show.
    pub columns: Names,
    /// Columns to sort by; a leading minus sorts in descending order. Groups are sorted by their
    /// count unless this is given.
    pub sort: Names,
    /// Maximum number of rows: 50 by default, at most 1000; 0 means 1000.
    pub limit: Option<usize>,
    /// Number of rows to skip.
    pub offset: usize,
}

impl Query {
    /// A query of all rows of a table that was worked out for it.
    pub(crate) fn of_all(
        columns: &Names,
        sort: &Names,
        limit: Option<usize>,
        offset: usize,
    ) -> Self {
        let (columns, sort) = (columns.clone(), sort.clone());
        Self { columns, sort, limit, offset, ..Self::default() }
    }

    /// One page of the rows that were asked for. Rows of other entities and times were left out
    /// when the table was made.
    ///
    /// # Errors
    /// [`ToolError::Argument`] for unknown columns and for conditions that do not fit a column.
    pub(crate) fn run<R>(&self, table: &Table<'_, R>) -> Result<Page, ToolError> {
        let chosen = self.choose(table)?;
        if self.group_by.is_empty() && self.aggregates.is_empty() {
            return self.arrange(table, chosen);
        }
        let groups = self.group(table, &chosen)?;
        self.arrange(&groups, (0..groups.rows.len()).collect())
    }

    /// Whether a time is asked for.
    pub(crate) fn covers(&self, at: Timestamp) -> bool {
        self.window.is_none_or(|window| window.contains(at))
    }

    /// The rows that fulfil every condition.
    ///
    /// # Errors
    /// As for [`Query::run`].
    pub(crate) fn choose<R>(&self, table: &Table<'_, R>) -> Result<Vec<usize>, ToolError> {
        let mut conditions = Vec::new();
        for filter in self.filters.iter() {
            let column = table.position("filters", &filter.column)?;
            conditions.push((column, Condition::new(filter, table.columns[column].kind)?));
        }
        let holds = |row: &usize| {
            conditions.iter().all(|(column, condition)| condition.holds(&table.cell(*row, *column)))
        };
        Ok((0..table.rows.len()).filter(holds).collect())
    }

    /// Rows in the order and with the columns that were asked for, as a page.
    fn arrange<R>(&self, table: &Table<'_, R>, mut chosen: Vec<usize>) -> Result<Page, ToolError> {
        let order = self.order(table)?;
        let shown = self.shown(table)?;
        if !order.is_empty() {
            chosen.sort_by(|a, b| {
                let orders = order.iter().map(|(column, falls)| {
                    table.cell(*a, *column).compare(&table.cell(*b, *column), *falls)
                });
                first_difference(orders)
            });
        }
        let names = shown.iter().map(|at| table.columns[*at].name.to_string());
        let names: Arc<[String]> = names.collect();
        let row = |at: usize| {
            let cells = shown.iter().map(|column| table.cell(at, *column).into_owned()).collect();
            Row::new(names.clone(), cells)
        };
        Ok(Page::cut(chosen.into_iter(), self.offset, self.limit, row))
    }

    /// A table with a row for each group, the largest first.
    fn group<R>(
        &self,
        table: &Table<'_, R>,
        chosen: &[usize],
    ) -> Result<Table<'static, Cells<'static>>, ToolError> {
        let keys = positions(table, "group_by", &self.group_by)?;
        let aggregates = match self.aggregates.is_empty() {
            true => vec![Aggregate::count()],
            false => {
                let each = self.aggregates.iter().map(|text| Aggregate::parse(text, table));
                let mut each = each.collect::<Result<Vec<_>, _>>()?;
                let mut names = BTreeSet::new();
                each.retain(|aggregate| names.insert(aggregate.column().0));
                each
            }
        };
        let mut groups: BTreeMap<Cells<'_>, Vec<usize>> = BTreeMap::new();
        if keys.is_empty() {
            groups.insert(Vec::new(), chosen.to_vec());
        } else {
            for row in chosen {
                let key = keys.iter().map(|column| table.cell(*row, *column)).collect();
                groups.entry(key).or_default().push(*row);
            }
        }
        let rows = groups.into_iter().map(|(key, members)| {
            let key = key.into_iter().map(Cell::into_owned);
            key.chain(aggregates.iter().map(|one| one.of(table, &members))).collect()
        });
        let rows = rows.collect();
        let keys = keys.iter().map(|at| &table.columns[*at]);
        let columns = keys.map(|column| (column.name.clone(), column.kind));
        let columns = columns.chain(aggregates.iter().map(Aggregate::column));
        let mut groups = Table::worked_out(columns, rows);
        let count = groups.columns.iter().position(|column| column.name == "count");
        groups.order.extend(count.map(|at| (at, true)));
        Ok(groups)
    }

    /// The columns to sort by, and whether each falls.
    fn order<R>(&self, table: &Table<'_, R>) -> Result<Vec<(usize, bool)>, ToolError> {
        if self.sort.is_empty() {
            return Ok(table.order.clone());
        }
        let each = self.sort.iter().map(|text| {
            let (name, falls) = match text.strip_prefix('-') {
                Some(name) => (name, true),
                None => (text.strip_prefix('+').unwrap_or(text), false),
            };
            Ok((table.position("sort", name)?, falls))
        });
        each.collect()
    }

    fn shown<R>(&self, table: &Table<'_, R>) -> Result<Vec<usize>, ToolError> {
        if self.columns.is_empty() {
            let all = table.columns.iter().enumerate();
            return Ok(all.filter(|(_, column)| column.shown).map(|(at, _)| at).collect());
        }
        positions(table, "columns", &self.columns)
    }
}

fn first_difference(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Where the columns of some names stand, each once.
fn positions<R>(
    table: &Table<'_, R>,
    argument: &str,
    names: &Names,
) -> Result<Vec<usize>, ToolError> {
    let mut found = Vec::new();
    for name in names.iter() {
        let at = table.position(argument, name)?;
        if !found.contains(&at) {
            found.push(at);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
