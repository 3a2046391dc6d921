//! Log lines, with the pattern of each.

use eog_evidence::{Miner, mask_text, request_id, shorten};

use super::resource::Senders;
use super::tsv::Table;
use super::{Folder, MAX_TEXT, SnapshotError};
use crate::store::{Interner, Logs, MAX_ROWS, NewLog, nanoseconds, says_error, time_order};
use crate::time;
use crate::warnings::Warnings;

/// Longest id of a trace or a request, in characters.
const MAX_ID: usize = 64;

/// Reads log tables; the result is in time order, equal times in the order of the files.
///
/// # Errors
/// [`SnapshotError`] when a table lacks a column or cannot be read.
pub(crate) fn read_logs(
    folder: &mut Folder,
    files: &[String],
    max_rows: usize,
    warnings: &mut Warnings,
) -> Result<Logs, SnapshotError> {
    let (mut senders, mut texts) = (Senders::new(), Interner::of_texts());
    let (mut logs, mut miner) = (Logs::default(), Miner::new());
    let mut account = folder.budget().account();
    for file in files {
        let Some(source) = folder.open(file, warnings) else { continue };
        let Some(mut table) = Table::open(file, source, &["Timestamp", "Body"], max_rows)? else {
            warnings.note(format!("{file}: is empty"));
            continue;
        };
        let [at, body, service, attributes, number, name, trace] = [
            "Timestamp",
            "Body",
            "ServiceName",
            "ResourceAttributes",
            "SeverityNumber",
            "SeverityText",
            "TraceId",
        ]
        .map(|column| table.column(column));
        let file = texts.text(table.file());
        while table.next_row(warnings) {
            let Some(at) = time::parse(table.unmasked(at)).and_then(nanoseconds) else {
                table.reject(
                    "the Timestamp is not a time between the years 1678 and 2261",
                    warnings,
                );
                continue;
            };
            if logs.len() >= MAX_ROWS {
                warnings.note(format!("logs: only the first {MAX_ROWS} lines are used"));
                table.finish(warnings);
                break;
            }
            let text = shorten(&mask_text(&shorten(table.unmasked(body), 4 * MAX_TEXT)), MAX_TEXT);
            let severity = severity(table.unmasked(number), table.unmasked(name));
            // Errors alone are joined.
            let request = says_error(severity, &text).then(|| request(&table.cell(trace), &text));
            let request = request.flatten().map_or(0, |request| texts.text(&request));
            logs.push(&NewLog {
                at,
                sender: senders.number(table.unmasked(service), table.unmasked(attributes)),
                severity,
                // Of the miner, until all lines are known.
                pattern: miner.add(&text),
                text: texts.text(&text),
                request,
                file,
            });
            if !account.holds(logs.len() * Logs::ROW + texts.size() + senders.size() + miner.size())
            {
                return Ok(Logs::default());
            }
        }
    }
    let patterns = miner.mine();
    for pattern in &mut logs.pattern {
        *pattern = texts.text(patterns.text(*pattern));
    }
    logs.senders = senders.into_values();
    logs.texts = texts.into_texts();
    if let Some(order) = time_order(&logs.at) {
        logs.reorder(&order);
    }
    logs.shrink_to_fit();
    Ok(logs)
}

/// The trace that a row names, else the trace or request that its text does.
fn request(trace: &str, text: &str) -> Option<String> {
    let trace = trace.trim();
    let is_given = trace.bytes().any(|byte| byte != b'0' && byte != b'-');
    let named = if is_given { Some(trace) } else { request_id(text) };
    named.map(|id| shorten(id, MAX_ID))
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
        "debug" => 5,
        "trace" | "verbose" => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_follows_the_order_of_time() {
        let directory = tempfile::tempdir().unwrap();
        let files = ["otel_logs_a.tsv", "otel_logs_b.tsv"].map(str::to_owned);
        let header = "Timestamp\tBody\tServiceName\tSeverityNumber\n";
        for (file, row) in files.iter().zip([
            "2026-01-01 10:00:01\tlate 2\tweb\t17\n",
            "2026-01-01 10:00:00\tearly 1\tdb\t9\n",
        ]) {
            std::fs::write(directory.path().join(file), format!("{header}{row}")).unwrap();
        }
        let mut folder = Folder::new(directory.path()).unwrap();
        let logs = read_logs(&mut folder, &files, 100, &mut Warnings::default()).unwrap();
        let lines: Vec<_> = logs
            .iter()
            .map(|log| {
                let service = log.sender().service.as_str();
                (
                    log.at().as_second() % 60,
                    service,
                    log.severity(),
                    log.text(),
                    log.pattern(),
                    log.file(),
                )
            })
            .collect();
        assert_eq!(
            lines,
            [
                (0, "db", 9, "early 1", "early <*>", "otel_logs_b.tsv"),
                (1, "web", 17, "late 2", "late <*>", "otel_logs_a.tsv"),
            ]
        );
    }

    #[test]
    fn the_number_counts_and_else_the_text() {
        let cases = [
            ("17", "INFO", 17),
            ("", "FATAL", 21),
            ("0", "Error", 17),
            ("0", "warn", 13),
            ("", "Information", 9),
            ("0", "DEBUG", 5),
            ("", " trace ", 1),
            ("-1", "", 0),
            ("0", "odd", 0),
        ];
        for (number, name, expected) in cases {
            assert_eq!(severity(number, name), expected, "{number:?} {name:?}");
        }
    }
}
