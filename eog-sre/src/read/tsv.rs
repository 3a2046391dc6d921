//! Tab-separated tables: columns by name, bounded rows, nothing lost silently.

use std::cell::Cell;
use std::io::{self, Read};

use eog_evidence::mask_text;

use super::SnapshotError;
use super::records::{MAX_RECORD_BYTES, Next, Place, Record, Records};
use crate::warnings::Warnings;

/// Longest field that is kept, in bytes.
pub const MAX_FIELD_BYTES: usize = 4 * 1024 * 1024;

/// How often lines are searched once more for a quote that was never closed, in each file.
const MAX_RESUMES: usize = 16;

/// A table under way. [`Table::next_row`] gives rows until the file or the row limit ends.
pub(crate) struct Table<R> {
    file: String,
    /// Nothing when the table is at its end.
    records: Option<Records<R>>,
    record: Record,
    columns: Vec<String>,
    line: u64,
    rows: usize,
    /// How many of the rows could not be used and were counted as such.
    rejected: Cell<usize>,
    max_rows: usize,
    resumes: usize,
    /// Set while rows behind a broken one may still be the rest of it.
    resuming: bool,
}

impl<R: Read> Table<R> {
    /// Reads the header. Gives nothing for an empty file.
    ///
    /// # Errors
    /// [`SnapshotError::MissingColumns`] when a wanted column is not there,
    /// [`SnapshotError::Read`] when the file cannot be read.
    pub(crate) fn open(
        file: &str,
        source: R,
        wanted: &[&str],
        max_rows: usize,
    ) -> Result<Option<Self>, SnapshotError> {
        let failed = |reason: String| SnapshotError::Read { path: file.to_owned(), reason };
        let (mut records, mut record) = (Records::new(source), Record::default());
        match records.peek(&mut record).map_err(|error| failed(error.to_string()))? {
            Next::Record(place) => records.pass(place),
            Next::TooLong(place) => {
                let line = place.line;
                return Err(failed(format!(
                    "line {line}: the header is longer than {MAX_RECORD_BYTES} bytes"
                )));
            }
            Next::End => return Ok(None),
        }
        let columns: Vec<String> =
            record.iter().map(|cell| mask_text(String::from_utf8_lossy(cell).trim())).collect();
        if columns.iter().all(String::is_empty) {
            return Ok(None);
        }
        let missing: Vec<&str> =
            wanted.iter().copied().filter(|name| !columns.iter().any(|c| c == name)).collect();
        if !missing.is_empty() {
            let found = eog_evidence::shorten(&columns.join(", "), 400);
            let found = match other_delimiter(&columns) {
                Some(sign) => format!("{found} (one column: separate them by tabs, not {sign})"),
                None => found,
            };
            return Err(SnapshotError::MissingColumns {
                path: file.to_owned(),
                missing: missing.join(", "),
                wanted: wanted.join(", "),
                found,
            });
        }
        Ok(Some(Self {
            file: mask_text(file),
            records: Some(records),
            record,
            columns,
            line: 1,
            rows: 0,
            rejected: Cell::new(0),
            max_rows,
            resumes: 0,
            resuming: false,
        }))
    }

    /// The position of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Goes to the next whole row. Broken rows are skipped with a warning.
    pub(crate) fn next_row(&mut self, warnings: &mut Warnings) -> bool {
        let found = self.find_row(warnings);
        if !found {
            self.finish(warnings);
        }
        found
    }

    /// Leaves the rest of the table unread, and counts the rows that were used so far.
    pub(crate) fn finish(&mut self, warnings: &mut Warnings) {
        self.records = None;
        let used = self.rows - self.rejected.get();
        warnings.used(&self.file, used as u64);
        self.rejected.set(self.rows);
    }

    fn find_row(&mut self, warnings: &mut Warnings) -> bool {
        loop {
            if self.rows >= self.max_rows {
                self.records = None;
                warnings.note(format!(
                    "{}: only the first {} rows are used; the rest is not read",
                    self.file, self.max_rows
                ));
                return false;
            }
            match self.next_record(warnings) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => {
                    let line = self.line;
                    let reason = || format!("after line {line}: reading stopped: {error}");
                    warnings.unusable(&self.file, 1, reason);
                    warnings.note(format!("{}: reading stopped: {error}", self.file));
                    self.records = None;
                    return false;
                }
            }
            match self.fault() {
                None => {
                    self.rows += 1;
                    self.resuming = false;
                    return true;
                }
                Some(_) if self.resuming => {}
                Some(reason) => warnings.skipped(&self.file, self.line, &reason),
            }
        }
    }

    /// Goes to the next record of bounded size, whatever it holds.
    fn next_record(&mut self, warnings: &mut Warnings) -> io::Result<bool> {
        loop {
            let Some(records) = self.records.as_mut() else { return Ok(false) };
            match records.peek(&mut self.record)? {
                Next::Record(place) => {
                    self.line = place.line;
                    match place.open {
                        true => self.take_open(place, warnings),
                        false => records.pass(place),
                    }
                    return Ok(true);
                }
                Next::TooLong(place) => {
                    if !self.resuming {
                        let reason = format!("the record is longer than {MAX_RECORD_BYTES} bytes");
                        warnings.skipped(&self.file, place.line, &reason);
                    }
                    self.resuming = true;
                    if records.pass_line()? {
                        self.resumes += 1;
                    }
                    if self.resumes > MAX_RESUMES {
                        warnings.note(format!(
                            "{}: reading stopped at line {}: too many quotes are never closed",
                            self.file, place.line
                        ));
                        self.records = None;
                    }
                }
                Next::End => return Ok(false),
            }
        }
    }

    /// Takes a record that ends with the file, inside quotes. Where whole rows stand behind its
    /// first line the quote is one too many, and the line is taken as it is, so that the rows are
    /// not lost in a field of it. Else the file was cut off in the field.
    fn take_open(&mut self, place: Place, warnings: &mut Warnings) {
        let Some(records) = self.records.as_mut() else { return };
        let swallows = records.has_line_of(place, self.columns.len());
        let outcome = match swallows && self.resumes < MAX_RESUMES {
            true => {
                self.resumes += 1;
                records.take_line(place, &mut self.record);
                "the line is read as plain text"
            }
            false => {
                records.pass(place);
                "the file may have been cut off there"
            }
        };
        if !self.resuming {
            let (file, line) = (&self.file, place.line);
            warnings.note(format!("{file} line {line}: a quoted field is never closed; {outcome}"));
        }
    }

    /// What is wrong with the record, if anything.
    fn fault(&self) -> Option<String> {
        let (found, wanted) = (self.record.len(), self.columns.len());
        if found != wanted {
            return Some(format!("{found} fields where the header has {wanted}"));
        }
        if self.record.iter().any(|cell| cell.len() > MAX_FIELD_BYTES) {
            return Some(format!("a field is longer than {MAX_FIELD_BYTES} bytes"));
        }
        let utf8 = self.record.iter().all(|cell| std::str::from_utf8(cell).is_ok());
        (!utf8).then(|| "the text is not UTF-8".to_owned())
    }

    /// A cell of the row without its secrets; empty when there is no such column.
    pub(crate) fn cell(&self, column: Option<usize>) -> String {
        mask_text(self.unmasked(column))
    }

    /// A cell as it stands in the file, for readers of their own that mask what they find in it.
    pub(crate) fn unmasked(&self, column: Option<usize>) -> &str {
        let bytes = column.and_then(|at| self.record.get(at));
        bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// Warns that the row cannot be used.
    pub(crate) fn reject(&self, reason: &str, warnings: &mut Warnings) {
        self.rejected.set(self.rejected.get() + 1);
        warnings.skipped(&self.file, self.line, reason);
    }

    /// Warns that the row says nothing.
    pub(crate) fn pass_over(&self, reason: &str, warnings: &mut Warnings) {
        warnings.passed_over(&self.file, self.line, reason);
    }

    /// The physical line on which the row begins.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The name of the file within the snapshot.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }
}

/// What separates the columns of a header that has no tab, if it is another sign.
fn other_delimiter(columns: &[String]) -> Option<&'static str> {
    let [only] = columns else { return None };
    let signs = [(',', "commas"), (';', "semicolons"), ('|', "vertical bars")];
    signs.into_iter().find(|(sign, _)| only.contains(*sign)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::fuzzing;

    type Rows = Vec<(u64, Vec<String>)>;

    fn read(text: &[u8]) -> (Rows, Vec<String>) {
        let (mut rows, mut warnings) = (Vec::new(), Warnings::default());
        if let Ok(Some(mut table)) = Table::open("t.tsv", text, &[], 1000) {
            while table.next_row(&mut warnings) {
                let cells = (0..table.columns.len()).map(|at| table.unmasked(Some(at)).to_owned());
                rows.push((table.line, cells.collect()));
            }
        }
        (rows, warnings.into_lines())
    }

    fn cells(row: &[&str]) -> Vec<String> {
        row.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn quotes_line_ends_and_blank_lines_are_understood() {
        let text = b"\xef\xbb\xbfa\tb\n1\t\"x\ny \"\"q\"\"\tz\"\n\n2\tplain\r\n\r\n3\t";
        let (rows, warnings) = read(text);
        let expected = [
            (2, cells(&["1", "x\ny \"q\"\tz"])),
            (5, cells(&["2", "plain"])),
            (7, cells(&["3", ""])),
        ];
        assert_eq!(rows, expected);
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn broken_rows_are_named_by_their_line_and_the_rest_is_read() {
        let text = b"a\tb\n1\t2\nshort\n3\t\xff\n4\t\"open\n5\t6\n7\t8\n";
        let (rows, warnings) = read(text);
        let kept: Vec<_> = rows.iter().map(|(line, row)| (*line, row.join(" "))).collect();
        let expected = [(2, "1 2"), (5, "4 \"open"), (6, "5 6"), (7, "7 8")];
        assert_eq!(kept, expected.map(|(line, row)| (line, row.to_owned())));
        assert_eq!(
            warnings,
            [
                "t.tsv line 3: 1 fields where the header has 2; the row is skipped",
                "t.tsv line 4: the text is not UTF-8; the row is skipped",
                "t.tsv line 5: a quoted field is never closed; the line is read as plain text",
            ]
        );
    }

    #[test]
    fn quotes_within_a_field_are_text() {
        let text = b"a\tb\n5\" disk\tx\n1\t\"q\"r\"s\"\n2\tone \" alone\n3\tlast\n";
        let (rows, warnings) = read(text);
        let expected = [
            (2, cells(&["5\" disk", "x"])),
            (3, cells(&["1", "qr\"s\""])),
            (4, cells(&["2", "one \" alone"])),
            (5, cells(&["3", "last"])),
        ];
        assert_eq!(rows, expected);
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn a_file_that_was_cut_off_in_a_field_keeps_what_there_is_of_it() {
        let (rows, warnings) = read(b"a\tb\n1\t\"first\nsecond");
        assert_eq!(rows, [(2, cells(&["1", "first\nsecond"]))]);
        let expected =
            "t.tsv line 2: a quoted field is never closed; the file may have been cut off there";
        assert_eq!(warnings, [expected]);
    }

    #[test]
    fn a_record_without_end_does_not_fill_the_memory() {
        let mut text = b"a\tb\n1\t\"".to_vec();
        text.resize(usize::try_from(MAX_RECORD_BYTES).unwrap() + 100_000, b'x');
        text.extend_from_slice(b"\n2\t3\n");
        let (rows, warnings) = read(&text);
        assert_eq!(rows, [(3, cells(&["2", "3"]))]);
        assert!(warnings[0].contains("line 2: the record is longer"), "{warnings:?}");
    }

    #[test]
    fn missing_columns_are_named() {
        let open = |text: &str, wanted: &[&str]| {
            Table::open("t.tsv", text.as_bytes(), wanted, 10).map(|table| table.is_some())
        };
        assert!(matches!(open("a\tb\n", &["b"]), Ok(true)));
        assert!(matches!(open("", &["b"]), Ok(false)));
        let message = open("a\tb\n", &["b", "Body"]).unwrap_err().to_string();
        assert!(message.contains("t.tsv") && message.contains("Body"), "{message}");
    }

    #[test]
    fn only_so_many_rows_are_kept() {
        let mut warnings = Warnings::default();
        let mut table = Table::open("t.tsv", &b"a\n1\n2\n3\n"[..], &[], 2).unwrap().unwrap();
        let mut rows = 0;
        while table.next_row(&mut warnings) {
            rows += 1;
        }
        assert_eq!(rows, 2);
        assert_eq!(warnings.into_lines().len(), 1);
    }

    /// Parts of tables that mean something to a reader, well put together or not.
    fn part() -> impl Strategy<Value = Vec<u8>> {
        let marks = ["\"", "\"\"", "\t", "\n", "\r", "\r\n", "\u{feff}"];
        let texts = ["x", "é", "{'k': 'v'}", "\"{\"\"k\"\": 1}\"", "\t\"a\tb\nc\"\t", "a\tb\tc\n"];
        prop_oneof![
            12 => select(marks.to_vec()).prop_map(|mark| mark.as_bytes().to_vec()),
            8 => select(texts.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
            2 => vec(any::<u8>(), 1..4),
            1 => (select(vec!["y", "\"\"", "\n"]), 1..40_000_usize)
                .prop_map(|(text, times)| text.repeat(times).into_bytes()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_another_reader(parts in vec(part(), 0..40), header in any::<bool>()) {
            let start = if header { &b"a\tb\tc\n"[..] } else { b"" };
            fuzzing::table(&[start, &parts.concat()].concat());
        }

        #[test]
        fn agrees_with_another_reader_on_any_bytes(bytes in vec(any::<u8>(), 0..300)) {
            fuzzing::table(&bytes);
        }
    }
}
