//! What holds of the readers whatever they are given. Each function takes arbitrary bytes and
//! panics when something does not hold; the targets of `eog-sre/fuzz` and the tests of this crate
//! call the same ones.

use std::io::{self, Read};

use crate::read::{Next, Record, Table, TableRecords};
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
        let cells = (0..header).map(|at| table.cell(Some(at)).as_bytes().to_vec());
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
