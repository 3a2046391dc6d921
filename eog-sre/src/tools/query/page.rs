//! Pages of rows.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::Cell;

/// Rows of a page unless a limit is given.
pub const DEFAULT_LIMIT: usize = 50;

/// Most rows of a page.
pub const MAX_LIMIT: usize = 1000;

/// One row: values by column name, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    columns: Arc<[String]>,
    cells: Vec<Cell<'static>>,
}

impl Row {
    pub(crate) fn new(columns: Arc<[String]>, cells: Vec<Cell<'static>>) -> Self {
        Self { columns, cells }
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The value in a column, if the row has it.
    pub fn get(&self, column: &str) -> Option<&Cell<'static>> {
        self.cells.get(self.columns.iter().position(|name| name == column)?)
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.cells.len()))?;
        for (name, cell) in self.columns.iter().zip(&self.cells) {
            map.serialize_entry(name, cell)?;
        }
        map.end()
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Row {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Row".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "description": "One row: values by column name.",
            "additionalProperties": { "type": ["null", "boolean", "number", "string"] }
        })
    }
}

/// One page of rows, and what it leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Page<R = Row> {
    /// The rows.
    pub rows: Vec<R>,
    /// Number of rows on all pages.
    pub total: usize,
    /// Number of rows before this page.
    pub offset: usize,
    /// Maximum number of rows on the page.
    pub limit: usize,
    /// What is on further pages and how to get it; absent when there is nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

impl<R> Page<R> {
    /// Cuts one page out of rows. A limit of 0 is the largest one.
    pub(crate) fn cut<T>(
        rows: impl ExactSizeIterator<Item = T>,
        offset: usize,
        limit: Option<usize>,
        row: impl FnMut(T) -> R,
    ) -> Self {
        let limit = match limit {
            None => DEFAULT_LIMIT,
            Some(0) => MAX_LIMIT,
            Some(limit) => limit.min(MAX_LIMIT),
        };
        let total = rows.len();
        let rows: Vec<R> = rows.skip(offset).take(limit).map(row).collect();
        let next = offset.saturating_add(rows.len());
        let left_out = match (rows.is_empty(), total.saturating_sub(next)) {
            (true, _) if offset > 0 && total > 0 => {
                Some(format!("the offset is beyond the last of {total} rows"))
            }
            (_, 0) | (true, _) => None,
            (false, 1) => Some(format!("1 more row; continue with offset {next}")),
            (false, more) => Some(format!("{more} more rows; continue with offset {next}")),
        };
        Self { rows, total, offset, limit, left_out }
    }
}
