//! What a table is: named columns, each with a type and a way to its values, and rows.

use std::borrow::Cow;

use super::{Cell, near};
use crate::tools::ToolError;

/// What a column holds; decides which conditions and aggregates fit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Time,
    Flag,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "a number",
            Self::Time => "a time",
            Self::Flag => "true or false",
        }
    }
}

/// How the value of a column is got from a row.
type Get<'t, R> = Box<dyn for<'r> Fn(&'r R) -> Cell<'r> + 't>;

/// One column of a table of rows `R`.
pub(crate) struct Column<'t, R> {
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: Kind,
    /// Whether it is shown where no columns are chosen.
    pub(crate) shown: bool,
    get: Get<'t, R>,
}

/// Columns, and rows in their natural order.
pub(crate) struct Table<'t, R> {
    pub(crate) columns: Vec<Column<'t, R>>,
    pub(crate) rows: Vec<R>,
    /// The order of rows where none is asked for: columns, and whether each falls. Without any it is
    /// the natural one.
    pub(super) order: Vec<(usize, bool)>,
}

/// A row that was worked out before it was asked for.
pub(crate) type Cells<'t> = Vec<Cell<'t>>;

impl<'t, R> Table<'t, R> {
    pub(crate) fn new(rows: Vec<R>) -> Self {
        Self { columns: Vec::new(), rows, order: Vec::new() }
    }

    /// Adds a column.
    pub(crate) fn column(
        mut self,
        name: impl Into<Cow<'static, str>>,
        kind: Kind,
        get: impl for<'r> Fn(&'r R) -> Cell<'r> + 't,
    ) -> Self {
        self.columns.push(Column { name: name.into(), kind, shown: true, get: Box::new(get) });
        self
    }

    /// Leaves the last column to conditions, groups and those who ask for it.
    pub(crate) fn hidden(mut self) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.shown = false;
        }
        self
    }

    /// The value of a row in a column, both counted from 0 and within bounds.
    pub(super) fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        (self.columns[column].get)(&self.rows[row])
    }

    /// Where the column of a name stands.
    ///
    /// # Errors
    /// [`ToolError::Argument`] with near names when there is none.
    pub(super) fn position(&self, argument: &str, name: &str) -> Result<usize, ToolError> {
        let names = self.columns.iter().map(|column| column.name.as_ref());
        names.clone().position(|known| known == name).ok_or_else(|| {
            let reason = format!("there is no column {name:?}");
            ToolError::argument(argument, reason, near(name, names, "columns"))
        })
    }
}

impl<'t> Table<'t, Cells<'t>> {
    /// A table of rows that hold a cell for each of some columns.
    pub(crate) fn worked_out<N: Into<Cow<'static, str>>>(
        columns: impl IntoIterator<Item = (N, Kind)>,
        rows: Vec<Cells<'t>>,
    ) -> Self {
        let columns = columns.into_iter().enumerate();
        columns.fold(Self::new(rows), |table, (at, (name, kind))| {
            table.column(name, kind, move |row| row[at].clone())
        })
    }
}
