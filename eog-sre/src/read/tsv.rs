//! Tab-separated tables: columns by name, bounded rows, nothing lost silently.

use std::io::{Read, Seek};

use simd_csv::{ByteRecord, Reader, ReaderBuilder};

use super::tracked::Tracked;
use super::{MAX_RECORD_BYTES, SnapshotError};
use crate::warnings::Warnings;

/// Longest field that is kept, in bytes.
pub const MAX_FIELD_BYTES: usize = 4 * 1024 * 1024;

/// How often reading goes on behind a quote that was never closed, for each file.
const MAX_RESUMES: usize = 16;

/// A table under way. [`Table::next_row`] gives rows until the file or the row limit ends.
pub(crate) struct Table<R> {
    file: String,
    reader: Option<Reader<Tracked<R>>>,
    record: ByteRecord,
    columns: Vec<String>,
    /// Offset in the file of the reader's own zero.
    base: u64,
    line: u64,
    rows: usize,
    max_rows: usize,
    resumes: usize,
    /// Set while rows behind a broken one may still be the rest of it.
    resuming: bool,
}

impl<R: Read + Seek> Table<R> {
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
        let mut reader = builder().from_reader(Tracked::new(source));
        let header = reader.byte_headers().map_err(|error| SnapshotError::Read {
            path: file.to_owned(),
            reason: error.to_string(),
        })?;
        let columns: Vec<String> =
            header.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned()).collect();
        if columns.iter().all(String::is_empty) {
            return Ok(None);
        }
        let missing: Vec<&str> =
            wanted.iter().copied().filter(|name| !columns.iter().any(|c| c == name)).collect();
        if !missing.is_empty() {
            return Err(SnapshotError::MissingColumns {
                path: file.to_owned(),
                missing: missing.join(", "),
                wanted: wanted.join(", "),
                found: eog_evidence::shorten(&columns.join(", "), 400),
            });
        }
        Ok(Some(Self {
            file: file.to_owned(),
            reader: Some(reader),
            record: ByteRecord::new(),
            columns,
            base: 0,
            line: 1,
            rows: 0,
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
        loop {
            if self.rows >= self.max_rows {
                self.reader = None;
                warnings.note(format!(
                    "{}: only the first {} rows are used; the rest is not read",
                    self.file, self.max_rows
                ));
                return false;
            }
            let Some(reader) = self.reader.as_mut() else { return false };
            let start = self.base + reader.position();
            reader.get_mut().begin_record(start);
            let outcome = reader.read_byte_record(&mut self.record);
            let tracked = reader.get_mut();
            match outcome {
                Ok(false) => return false,
                Ok(true) if !tracked.ended_in_quotes() => {
                    self.line = tracked.line_of(start);
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
                Ok(true) => self.resume(start, "a quoted field is never closed", warnings),
                Err(_) if tracked.record_too_long() => {
                    let reason = format!("the record is longer than {MAX_RECORD_BYTES} bytes");
                    self.resume(start, &reason, warnings);
                }
                Err(error) => {
                    warnings.note(format!("{}: reading stopped: {error}", self.file));
                    self.reader = None;
                    return false;
                }
            }
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

    /// Reports the record at `start` as broken and reads on from its second line.
    fn resume(&mut self, start: u64, reason: &str, warnings: &mut Warnings) {
        let Some(reader) = self.reader.take() else { return };
        let mut tracked = reader.into_inner();
        let line = tracked.line_of(start);
        if !self.resuming {
            warnings.skipped(&self.file, line, reason);
        }
        self.resumes += 1;
        if self.resumes > MAX_RESUMES {
            warnings.note(format!("{}: reading stopped at line {line}: {reason}", self.file));
            return;
        }
        if let Ok(tracked) = tracked.resume_after_line_of(start) {
            self.base = tracked.base();
            self.resuming = true;
            self.reader = Some(builder().has_headers(false).from_reader(tracked));
        }
    }

    /// A cell of the row; empty when there is no such column.
    pub(crate) fn cell(&self, column: Option<usize>) -> &str {
        let bytes = column.filter(|at| *at < self.record.len()).and_then(|at| self.record.get(at));
        bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// Warns that the row cannot be used.
    pub(crate) fn reject(&self, reason: &str, warnings: &mut Warnings) {
        warnings.skipped(&self.file, self.line, reason);
    }

    /// The name of the file within the snapshot.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }
}

fn builder() -> ReaderBuilder {
    let mut builder = ReaderBuilder::with_capacity(64 * 1024);
    builder.delimiter(b'\t').flexible(true);
    builder
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    type Rows = Vec<(u64, Vec<String>)>;

    fn read(text: &[u8]) -> (Rows, Vec<String>) {
        let (mut rows, mut warnings) = (Vec::new(), Warnings::default());
        if let Ok(Some(mut table)) = Table::open("t.tsv", Cursor::new(text), &[], 1000) {
            while table.next_row(&mut warnings) {
                let cells = (0..table.columns.len()).map(|at| table.cell(Some(at)).to_owned());
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
        let kept: Vec<_> = rows.iter().map(|(line, row)| (*line, row[0].as_str())).collect();
        assert_eq!(kept, [(2, "1"), (6, "5"), (7, "7")]);
        assert_eq!(
            warnings,
            [
                "t.tsv line 3: 1 fields where the header has 2; the row is skipped",
                "t.tsv line 4: the text is not UTF-8; the row is skipped",
                "t.tsv line 5: a quoted field is never closed; the row is skipped",
            ]
        );
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
            Table::open("t.tsv", Cursor::new(text.to_owned()), wanted, 10)
                .map(|table| table.is_some())
        };
        assert!(matches!(open("a\tb\n", &["b"]), Ok(true)));
        assert!(matches!(open("", &["b"]), Ok(false)));
        let message = open("a\tb\n", &["b", "Body"]).unwrap_err().to_string();
        assert!(message.contains("t.tsv") && message.contains("Body"), "{message}");
    }

    #[test]
    fn only_so_many_rows_are_kept() {
        let mut warnings = Warnings::default();
        let mut table = Table::open("t.tsv", Cursor::new("a\n1\n2\n3\n"), &[], 2).unwrap().unwrap();
        let mut rows = 0;
        while table.next_row(&mut warnings) {
            rows += 1;
        }
        assert_eq!(rows, 2);
        assert_eq!(warnings.into_lines().len(), 1);
    }

    /// A small deterministic generator, so that a failure can be seen again.
    fn scramble(seed: &mut u64) -> u64 {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    }

    #[test]
    fn agrees_with_another_reader_on_well_formed_tables() {
        let pieces = ["a", "é", "\t", "\n", "\"", "\r\n", "{'k': 'v'}", "", "long text "];
        let mut seed = 42;
        for _ in 0..200 {
            let mut writer = csv::WriterBuilder::new().delimiter(b'\t').from_writer(Vec::new());
            writer.write_record(["h1", "h2", "h3"]).unwrap();
            for _ in 0..5 {
                let mut row = Vec::new();
                for _ in 0..3 {
                    let count = 1 + scramble(&mut seed) % 4;
                    let cell: String = (0..count)
                        .map(|_| pieces[(scramble(&mut seed) % pieces.len() as u64) as usize])
                        .collect();
                    row.push(format!("x{cell}y"));
                }
                writer.write_record(&row).unwrap();
            }
            let text = writer.into_inner().unwrap();
            let mut oracle = csv::ReaderBuilder::new().delimiter(b'\t').from_reader(&text[..]);
            let expected: Vec<Vec<String>> = oracle
                .records()
                .map(|record| record.unwrap().iter().map(str::to_owned).collect())
                .collect();
            let (rows, warnings) = read(&text);
            assert!(warnings.is_empty(), "{warnings:?}");
            assert_eq!(rows.into_iter().map(|(_, row)| row).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn no_bytes_break_the_reader() {
        let text =
            b"a\tb\tc\n1\t\"x\"\"y\nz\"\t3\n\"q\"r\"s\t\"\"\t\r\n\xff\t\t\n\"open\t\n".to_vec();
        for end in 0..text.len() {
            let _ = read(&text[..end]);
        }
        let mut seed = 7;
        for _ in 0..3000 {
            let mut mutant = text.clone();
            for _ in 0..1 + scramble(&mut seed) % 6 {
                let at = (scramble(&mut seed) % mutant.len() as u64) as usize;
                mutant[at] = b"\"\t\n\rx\xff"[(scramble(&mut seed) % 6) as usize];
            }
            let (rows, _) = read(&mutant);
            assert!(rows.len() <= mutant.len());
        }
    }
}
