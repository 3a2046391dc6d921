//! Rows of named fields.

use std::collections::BTreeMap;

/// Most rows that are taken from one answer.
pub(crate) const MAX_ROWS: usize = 10_000;

/// Longest text kept of one field, in bytes.
pub(super) const MAX_FIELD: usize = 16 << 10;

/// Named fields, each a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row(pub(super) BTreeMap<String, String>);

impl Row {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        let end = (0..=value.len().min(MAX_FIELD)).rev().find(|at| value.is_char_boundary(*at));
        let value = value.get(..end.unwrap_or(0)).unwrap_or_default();
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// How long its texts are together.
    pub(super) fn bytes(&self) -> usize {
        self.0.values().map(String::len).sum()
    }
}

/// Rows, and how many were too many.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) rows: Vec<Row>,
    pub(crate) left_out: usize,
}
