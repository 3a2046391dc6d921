//! Log lines, each with the pattern that it is an instance of.

use std::sync::Arc;

use eog_core::Timestamp;
use eog_evidence::{shorten, template};

use super::resource::{Resource, Resources};
use super::tsv::Table;
use super::{Folder, MAX_TEXT, SnapshotError};
use crate::mask::mask_text;
use crate::time;
use crate::warnings::Warnings;

/// One log line.
#[derive(Clone, Debug)]
pub(crate) struct LogRecord {
    pub(crate) at: Timestamp,
    pub(crate) sender: Arc<Resource>,
    /// OpenTelemetry's severity number: 9 information, 13 warning, 17 error; 0 unknown.
    pub(crate) severity: u8,
    pub(crate) text: Arc<str>,
    pub(crate) pattern: Arc<str>,
    pub(crate) file: Arc<str>,
}

/// Reads log tables; the result is in time order, equal times in the order of the files.
///
/// # Errors
/// [`SnapshotError`] when a table lacks a column or cannot be read.
pub(crate) fn read_logs(
    folder: &mut Folder,
    files: &[String],
    max_rows: usize,
    warnings: &mut Warnings,
) -> Result<Vec<LogRecord>, SnapshotError> {
    let mut shared = Resources::default();
    let mut records = Vec::new();
    for file in files {
        let Some(source) = folder.open(file, warnings) else { continue };
        let Some(mut table) = Table::open(file, source, &["Timestamp", "Body"], max_rows)? else {
            warnings.note(format!("{file}: is empty"));
            continue;
        };
        let [at, body, service, attributes, number, name] = [
            "Timestamp",
            "Body",
            "ServiceName",
            "ResourceAttributes",
            "SeverityNumber",
            "SeverityText",
        ]
        .map(|column| table.column(column));
        let file: Arc<str> = table.file().into();
        while table.next_row(warnings) {
            let Some(at) = time::parse(table.cell(at)) else {
                table.reject("the Timestamp is not a time", warnings);
                continue;
            };
            let text = shorten(&mask_text(&shorten(table.cell(body), 4 * MAX_TEXT)), MAX_TEXT);
            let pattern = shared.text(&template(&text));
            records.push(LogRecord {
                at,
                sender: shared.resource(table.cell(service), table.cell(attributes)),
                severity: severity(table.cell(number), table.cell(name)),
                text: shared.text(&text),
                pattern,
                file: file.clone(),
            });
        }
    }
    records.sort_by_key(|one| one.at);
    records.shrink_to_fit();
    Ok(records)
}

fn severity(number: &str, name: &str) -> u8 {
    let number = number.trim().parse().unwrap_or(0);
    if number > 0 {
        return number;
    }
    match name.trim().to_ascii_lowercase().as_str() {
        "fatal" | "critical" | "panic" => 21,
        "error" | "err" => 17,
        "warn" | "warning" => 13,
        "info" | "information" => 9,
        _ => 0,
    }
}
