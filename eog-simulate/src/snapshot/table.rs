//! Tab-separated tables as recorders write them.

use std::io::Write;

use crate::files::FileError;
use std::path::{Path, PathBuf};

/// The columns of events, objects and logs.
pub(super) const LOG_COLUMNS: [&str; 17] = [
    "Timestamp",
    "TimestampTime",
    "TraceId",
    "SpanId",
    "TraceFlags",
    "SeverityText",
    "SeverityNumber",
    "ServiceName",
    "Body",
    "ResourceSchemaUrl",
    "ResourceAttributes",
    "ScopeSchemaUrl",
    "ScopeName",
    "ScopeVersion",
    "ScopeAttributes",
    "LogAttributes",
    "EventName",
];

/// A table that is being written.
pub(super) struct TableFile {
    path: PathBuf,
    out: Box<dyn Write>,
    bytes: u64,
    line: String,
}

impl TableFile {
    /// Begins a file with its header.
    pub(super) fn create(path: &Path, columns: &[&str]) -> Result<Self, FileError> {
        let file = std::fs::File::create(path).map_err(|error| FileError::unusable(path, error))?;
        Self::begin(path, Box::new(std::io::BufWriter::new(file)), columns)
    }

    /// A table that is only measured.
    pub(super) fn nowhere(columns: &[&str]) -> Result<Self, FileError> {
        Self::begin(Path::new("a measure of the size"), Box::new(std::io::sink()), columns)
    }

    fn begin(path: &Path, out: Box<dyn Write>, columns: &[&str]) -> Result<Self, FileError> {
        let mut table = Self { path: path.to_owned(), out, bytes: 0, line: String::new() };
        table.row(columns)?;
        Ok(table)
    }

    /// Writes one row; cells are quoted where they must be.
    pub(super) fn row(&mut self, cells: &[&str]) -> Result<(), FileError> {
        self.line.clear();
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                self.line.push('\t');
            }
            if cell.contains(['"', '\t', '\n', '\r']) {
                self.line.push('"');
                self.line.push_str(&cell.replace('"', "\"\""));
                self.line.push('"');
            } else {
                self.line.push_str(cell);
            }
        }
        self.line.push('\n');
        self.bytes += self.line.len() as u64;
        let written = self.out.write_all(self.line.as_bytes());
        written.map_err(|error| FileError::unusable(&self.path, error))
    }

    /// How much was written, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes what is still in memory.
    pub(super) fn finish(mut self) -> Result<u64, FileError> {
        self.out.flush().map_err(|error| FileError::unusable(&self.path, error))?;
        Ok(self.bytes)
    }
}

/// A dictionary as Python prints it; keys and values are taken as they are.
pub(super) fn python(entries: &[(&str, &str)]) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let pairs: Vec<String> = entries
        .iter()
        .map(|(key, value)| format!("'{}': '{}'", quoted(key), quoted(value)))
        .collect();
    format!("{{{}}}", pairs.join(", "))
}
