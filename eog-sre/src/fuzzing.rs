//! What holds of the readers whatever they are given. Each function takes arbitrary bytes and
//! panics when something does not hold; the targets of `fuzz` and the tests of this crate
//! call the same ones.

use std::io::{self, Read};

use crate::masker::Masker;
use crate::pydict;
use crate::read::{
    MAX_ALERTS_PER_FILE, Next, Record, Table, TableRecords, read_body, read_dump, read_event,
};
use crate::warnings::Warnings;

/// Fields of records, as bytes, each record with its line.
type Rows = Vec<(u64, Vec<Vec<u8>>)>;

/// A tab-separated file is read as the `csv` crate reads it, on the right lines.
///
/// # Panics
/// When it is not.
pub fn table(bytes: &[u8]) {
    let expected = by_csv(bytes);
    let mut open = false;
    for chunk in [1, 7, 64 * 1024] {
        let (rows, ends_open) = by_records(bytes, chunk);
        assert_eq!(rows, expected, "read in pieces of {chunk} bytes");
        open = ends_open;
    }
    rows_of_table(bytes, &expected, open);
}

/// Cells that hold attributes, an event or an object are read within bounds, twice alike.
///
/// # Panics
/// When they are not.
pub fn body(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let attributes = pydict::parse(&text);
    assert!(attributes.len() <= pydict::MAX_ENTRIES);
    let length: usize = attributes.iter().map(|(key, value)| key.len() + value.len()).sum();
    assert!(length <= text.len(), "more text than there was");
    let quoted = |part: &str| format!("'{}'", part.replace('\\', "\\\\").replace('\'', "\\'"));
    let pairs = attributes.iter().map(|(key, value)| format!("{}: {}", quoted(key), quoted(value)));
    let written = format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "));
    assert_eq!(pydict::parse(&written), attributes, "{written}");
    assert_eq!(read_event(&text, None, "t.tsv"), read_event(&text, None, "t.tsv"));
    let objects = || read_body(&text, &mut Masker::default());
    assert_eq!(objects(), objects());
}

/// A dump of alerts gives alerts with names, so many at most, or a warning.
///
/// # Panics
/// When it does not.
pub fn alerts(bytes: &[u8]) {
    let (mut records, mut warnings) = (Vec::new(), Warnings::default());
    read_dump("a.json", bytes, &mut records, &mut warnings);
    assert!(records.len() <= MAX_ALERTS_PER_FILE);
    assert!(records.iter().all(|alert| !alert.name.is_empty()));
    for line in warnings.into_lines() {
        assert!(line.starts_with("a.json: "), "{line}");
    }
}

/// A table gives the records that have a field for each column and are text.
fn rows_of_table(bytes: &[u8], expected: &Rows, open: bool) {
    let mut warnings = Warnings::default();
    let Ok(Some(mut table)) = Table::open("t.tsv", bytes, &[], usize::MAX) else { return };
    let (header, mut expected) = match expected.split_first() {
        Some(((_, header), rest)) => (header.len(), rest.to_vec()),
        None => return,
    };
    let mut rows = Rows::new();
    while table.next_row(&mut warnings) {
        let cells = (0..header).map(|at| table.unmasked(Some(at)).as_bytes().to_vec());
        rows.push((table.line(), cells.collect()));
    }
    if open {
        // The lines of the last record may have been taken as rows.
        expected.pop();
    }
    expected.retain(|(_, row)| {
        row.len() == header && row.iter().all(|cell| std::str::from_utf8(cell).is_ok())
    });
    if open {
        assert!(rows.len() >= expected.len(), "rows before the open quote are lost");
        rows.truncate(expected.len());
    }
    assert_eq!(rows, expected);
    for line in warnings.into_lines() {
        assert!(line.starts_with("t.tsv"), "{line}");
    }
}

fn by_records(bytes: &[u8], chunk: usize) -> (Rows, bool) {
    let mut records = TableRecords::with_chunk(Dribble(bytes), chunk);
    let (mut rows, mut open, mut record) = (Rows::new(), false, Record::default());
    while let Ok(Next::Record(place)) = records.peek(&mut record) {
        rows.push((place.line, record.iter().map(<[u8]>::to_vec).collect()));
        open = place.open;
        records.pass(place);
    }
    (rows, open)
}

fn by_csv(bytes: &[u8]) -> Rows {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(b'\t')
        .flexible(true)
        .has_headers(false)
        .from_reader(bytes);
    let mut rows = Rows::new();
    for record in reader.byte_records().filter_map(Result::ok) {
        let at = record.position().map_or(0, csv::Position::byte);
        let start = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let (before, rest) = bytes.split_at(start);
        let mark = if before.is_empty() && rest.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let ends = rest.iter().skip(mark).take_while(|byte| matches!(byte, b'\n' | b'\r'));
        let line_ends = before.iter().chain(ends).filter(|byte| **byte == b'\n').count();
        rows.push((1 + line_ends as u64, record.iter().map(<[u8]>::to_vec).collect()));
    }
    rows
}

/// Gives a few bytes at a time.
struct Dribble<'a>(&'a [u8]);

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let some = buffer.len().min(1000);
        self.0.read(buffer.get_mut(..some).unwrap_or_default())
    }
}

#[cfg(test)]
#[path = "../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    /// JSON, printed dictionaries, and what is left of them when a part is missing.
    fn text() -> impl Strategy<Value = String> {
        let parts = [
            "{",
            "}",
            "[",
            "]",
            "(",
            ":",
            ",",
            " ",
            "'",
            "\"",
            "\\",
            "\\'",
            "\\n",
            "null",
            "1e999",
            "é",
            "'a': 'x'",
            "\"kind\": \"Pod\"",
            "\"metadata\": {\"name\": \"p\"}",
            "\"object\": ",
            "\"items\": [",
            "\"kind\": \"ConfigMap\"",
            "\"data\": {\"k\": \"a: 1\\n b: 2\"}",
            "\"alerts\": [",
            "{\"labels\": {\"alertname\": \"A\"}, \"activeAt\": \"2026-01-01T10:00:00Z\", \"value\": \"1\"}",
            "\"lastTimestamp\": \"2026-01-01T10:00:00Z\"",
            "\"count\": 18446744073709551615",
            "\"involvedObject\": {\"kind\": \"Pod\", \"name\": \"p\"}",
        ];
        vec(select(parts.to_vec()), 0..24).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn bodies_are_read_within_bounds(text in text(), bytes in vec(any::<u8>(), 0..60)) {
            super::body(text.as_bytes());
            super::body(format!("{{{text}}}").as_bytes());
            super::body(&bytes);
        }

        #[test]
        fn dumps_of_alerts_are_read_within_bounds(text in text(), bytes in vec(any::<u8>(), 0..60)) {
            super::alerts(text.as_bytes());
            super::alerts(format!("[{text}]").as_bytes());
            super::alerts(&bytes);
        }
    }

    #[test]
    fn corpora_of_the_targets_are_read() {
        super::replay::replay("table", super::table);
        super::replay::replay("body", super::body);
        super::replay::replay("alerts", super::alerts);
    }
}
