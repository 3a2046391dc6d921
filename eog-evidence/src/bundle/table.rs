//! Bounded, streaming reading of CSV files. Bad rows are skipped and counted, never fatal.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read};
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};
use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::incident::Unusable;
use eog_core::{EntityId, Timestamp};
use eog_secrets::Masker;
use serde::de::DeserializeOwned;

use super::breaks::{Breaks, MAX_RECORD};
use super::error::BundleError;
use super::limits::{MAX_FIELD_BYTES, MAX_LISTED, MAX_ROWS};
use super::time::no_time;
use crate::mask::mask_text;
use crate::text::{counted, shorten};

/// The columns of a file: those that must be there and those that may be.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub(super) required: &'static [&'static str],
    pub(super) optional: &'static [&'static str],
    /// Optional ones that are written only where a row fills them.
    pub(super) rare: &'static [&'static str],
}

impl Columns {
    pub(super) fn all(&self) -> impl Iterator<Item = &'static str> {
        self.required.iter().chain(self.optional).chain(self.rare).copied()
    }
}

/// What a reader had to say of the files of a bundle.
#[derive(Default)]
pub(super) struct Complaints {
    pub(super) warnings: Vec<String>,
    pub(super) unusable: Vec<Unusable>,
}

/// Reads every row; `take` says why a row is of no use.
pub(super) fn read_rows(
    path: &Path,
    file: impl Read,
    columns: Columns,
    complaints: &mut Complaints,
    mut take: impl FnMut(&Row<'_>) -> Result<(), Fault>,
) -> Result<(), BundleError> {
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(Breaks::new(file));
    let unreadable = |error: csv::Error| BundleError::Unreadable {
        file: path.to_owned(),
        source: io::Error::other(error),
    };
    let header = reader.byte_headers().map_err(unreadable)?.clone();
    let name = path.file_name().map_or_else(String::new, |name| name.display().to_string());
    if header.iter().all(<[u8]>::is_empty) {
        let reason =
            "empty, not even a header; write it again, or remove it if nothing was recorded";
        complaints.warnings.push(format!("{name}: {reason}"));
        // How many rows it had is unknown: the file counts as one.
        complaints.unusable.push(Unusable {
            source: name,
            records: 1,
            unusable: 1,
            reason: reason.to_owned(),
        });
        return Ok(());
    }
    let places = places(path, &header, columns, &mut complaints.warnings)?;

    let (mut tally, names) = (Tally::default(), RefCell::default());
    let mut record = ByteRecord::new();
    let mut rows = 0;
    loop {
        let next = reader.position().byte();
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) if reader.get_ref().is_endless() => {
                let line = reader.get_mut().line_at(next);
                return Err(BundleError::Endless {
                    file: path.to_owned(),
                    line,
                    limit: MAX_RECORD,
                });
            }
            Err(error) => return Err(unreadable(error)),
        }
        rows += 1;
        if rows > MAX_ROWS {
            return Err(BundleError::TooManyRows { file: path.to_owned(), limit: MAX_ROWS });
        }
        let line = reader.get_mut().line_at(record.position().map_or(0, csv::Position::byte));
        if let Err(fault) = check(&record, header.len()) {
            let taken_in = lines_within(&record);
            tally.unusable(&fault.taking_in(taken_in).at(line));
            tally.lost(taken_in);
            continue;
        }
        match take(&Row { record: &record, places: &places, names: &names }) {
            Ok(()) => tally.usable(),
            Err(fault) => tally.unusable(&fault.at(line)),
        }
    }
    tally.report(&name, complaints);
    Ok(())
}

/// How many records of one file could be used; the first few that could not are listed.
#[derive(Default)]
pub(super) struct Tally {
    records: u64,
    unusable: u64,
    /// Those of the unusable that another one took in, and whose reason covers them.
    taken_in: u64,
    listed: Vec<String>,
}

impl Tally {
    pub(super) fn usable(&mut self) {
        self.records += 1;
    }

    /// Counts a record that cannot be used, with the place and the reason.
    pub(super) fn unusable(&mut self, why: &str) {
        self.records += 1;
        self.unusable += 1;
        if self.listed.len() < MAX_LISTED {
            // It quotes what stands there.
            self.listed.push(mask_text(why));
        }
    }

    /// Counts lines that cannot be used as the records that they may have been.
    fn lost(&mut self, lines: u64) {
        self.records += lines;
        self.unusable += lines;
        self.taken_in += lines;
    }

    pub(super) fn report(self, file: &str, complaints: &mut Complaints) {
        let Self { records, unusable, taken_in, listed } = self;
        let Some(first) = listed.first().cloned() else { return };
        let count = usize::try_from(unusable).unwrap_or(usize::MAX);
        let is_all = unusable - taken_in <= listed.len() as u64;
        let more = if is_all { "" } else { "; …" };
        let (rows, listed) = (counted(count, "row"), listed.join("; "));
        complaints.warnings.push(format!("{file}: {rows} skipped: {listed}{more}"));
        complaints.unusable.push(Unusable {
            source: file.to_owned(),
            records,
            unusable,
            reason: first,
        });
    }
}

/// Why a row is of no use, and in which column.
pub(super) struct Fault {
    column: Option<&'static str>,
    reason: String,
}

impl Fault {
    /// What is wrong with a row as a whole.
    pub(super) fn of_row(reason: impl Into<String>) -> Self {
        Self { column: None, reason: reason.into() }
    }

    /// What is wrong in a column.
    pub(super) fn of_column(column: &'static str, reason: impl Into<String>) -> Self {
        Self { column: Some(column), reason: reason.into() }
    }

    /// The same of a row that takes in so many lines after its own.
    fn taking_in(self, lines: u64) -> Self {
        if lines == 0 {
            return self;
        }
        let after = counted(usize::try_from(lines).unwrap_or(usize::MAX), "line");
        let reason = format!(
            "{}; a quote that is opened there takes in {after} after it: close it, or double it where it is meant",
            self.reason
        );
        Self { reason, ..self }
    }

    /// The reason with its place.
    fn at(&self, line: u64) -> String {
        let Self { column, reason } = self;
        match column {
            Some(column) => format!("line {line}, column {column}: {reason}"),
            None => format!("line {line}: {reason}"),
        }
    }
}

/// Where each known column is.
fn places(
    path: &Path,
    header: &ByteRecord,
    columns: Columns,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<&'static str, usize>, BundleError> {
    let wrong = |reason: String| BundleError::Columns {
        file: path.to_owned(),
        reason,
        expected: columns.all().collect::<Vec<_>>().join(","),
    };
    let mut places = BTreeMap::new();
    for (place, field) in header.iter().enumerate() {
        let field = mask_text(&String::from_utf8_lossy(field));
        let Some(column) = columns.all().find(|column| *column == field.trim()) else {
            let name = path.file_name().map_or_else(String::new, |name| name.display().to_string());
            warnings.push(format!(
                "{name}: column {:?} is not known{}",
                shorten(&field, 60),
                meant(columns, field.trim())
            ));
            continue;
        };
        if places.insert(column, place).is_some() {
            return Err(wrong(format!("column {column} is there twice")));
        }
    }
    let missing: Vec<&str> =
        columns.required.iter().copied().filter(|column| !places.contains_key(column)).collect();
    match (missing.as_slice(), other_delimiter(header)) {
        ([], _) => Ok(places),
        (_, Some(found)) => Err(wrong(format!(
            "the fields are separated by {found}; separate them by commas, and quote fields that \
             contain one"
        ))),
        ([missing], None) => {
            Err(wrong(format!("column {missing} is missing{}", misspelt(header, columns, missing))))
        }
        (several, None) => {
            let meant: String =
                several.iter().map(|missing| misspelt(header, columns, missing)).collect();
            Err(wrong(format!("columns {} are missing{meant}", several.join(", "))))
        }
    }
}

/// The column of a header that was meant to be this one, perhaps.
fn misspelt(header: &ByteRecord, columns: Columns, missing: &str) -> String {
    let unknown = header.iter().map(|field| String::from_utf8_lossy(field).trim().to_owned());
    let unknown = unknown.filter(|field| !columns.all().any(|column| column == field));
    let alike = |field: &String| strsim::jaro_winkler(&field.to_lowercase(), missing);
    let best = unknown.max_by(|a, b| alike(a).total_cmp(&alike(b)));
    match best.filter(|field| alike(field) > 0.8) {
        Some(field) => {
            format!("; did you mean {missing} by {:?}?", shorten(&mask_text(&field), 60))
        }
        None => String::new(),
    }
}

/// The column that a name that is not known was meant to be, perhaps.
fn meant(columns: Columns, field: &str) -> String {
    let alike = |column: &&str| strsim::jaro_winkler(&field.to_lowercase(), column);
    let best = columns.all().max_by(|a, b| alike(a).total_cmp(&alike(b)));
    match best.filter(|column| alike(column) > 0.8) {
        Some(column) => format!("; did you mean {column}?"),
        None => String::new(),
    }
}

/// What separates the columns of a header without a single comma, if it is another sign.
fn other_delimiter(header: &ByteRecord) -> Option<&'static str> {
    let [only] = header.iter().collect::<Vec<_>>()[..] else { return None };
    let signs = [(b';', "semicolons"), (b'\t', "tabs"), (b'|', "vertical bars")];
    signs.into_iter().find(|(sign, _)| only.contains(sign)).map(|(_, name)| name)
}

/// How many lines after its first a record takes in: within quotes. The end of the last one is not the beginning of another.
fn lines_within(record: &ByteRecord) -> u64 {
    let bytes = record.as_slice().strip_suffix(b"\n").unwrap_or(record.as_slice());
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn check(record: &ByteRecord, width: usize) -> Result<(), Fault> {
    if record.len() != width {
        return Err(Fault::of_row(format!(
            "{} where the header has {width}",
            counted(record.len(), "field")
        )));
    }
    let long = record.iter().map(<[u8]>::len).find(|length| *length > MAX_FIELD_BYTES);
    long.map_or(Ok(()), |length| {
        Err(Fault::of_row(format!("a field of {length} bytes, more than {MAX_FIELD_BYTES}")))
    })
}

/// One row, read by column name. What leaves it as text is masked; faults are as they are listed.
pub(super) struct Row<'a> {
    record: &'a ByteRecord,
    places: &'a BTreeMap<&'static str, usize>,
    names: &'a RefCell<HashSet<EntityId>>,
}

impl Row<'_> {
    /// The text of a column without its secrets, empty when the file does not have it.
    pub(super) fn text(&self, column: &'static str) -> Result<Cow<'_, str>, Fault> {
        Ok(Masker::new().mask_value(column, self.unmasked(column)?))
    }

    fn unmasked(&self, column: &'static str) -> Result<&str, Fault> {
        let field = self.places.get(column).and_then(|place| self.record.get(*place));
        std::str::from_utf8(field.unwrap_or_default())
            .map_err(|_| Fault::of_column(column, "the text is not UTF-8"))
    }

    pub(super) fn time(&self) -> Result<Timestamp, Fault> {
        let text = self.unmasked("time")?.trim();
        text.parse().map_err(|_| Fault::of_column("time", no_time(text)))
    }

    /// The name in a column. Each is checked, masked and kept once.
    pub(super) fn entity(&self, column: &'static str) -> Result<EntityId, Fault> {
        let mut names = self.names.borrow_mut();
        if let Some(known) = names.get(self.unmasked(column)?) {
            return Ok(known.clone());
        }
        let name = EntityId::new(self.text(column)?.into_owned())
            .map_err(|error| Fault::of_column(column, error.to_string()))?;
        names.insert(name.clone());
        Ok(name)
    }

    pub(super) fn number(&self, column: &'static str) -> Result<f64, Fault> {
        let text = self.unmasked(column)?.trim();
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| {
            Fault::of_column(column, format!("{:?} is not a finite number", shorten(text, 60)))
        })
    }

    /// The signal, if the column is there and filled.
    pub(super) fn signal(&self) -> Result<Option<Signal>, Fault> {
        self.word("signal")
    }

    /// The peer, if there is one. Without a role it is merely mentioned.
    pub(super) fn peer(&self) -> Result<Option<Peer>, Fault> {
        let role = self.peer_role()?;
        if self.unmasked("peer")?.is_empty() {
            return match role {
                Some(_) => Err(Fault::of_row("peer_role without peer")),
                None => Ok(None),
            };
        }
        let entity = self.entity("peer")?;
        Ok(Some(Peer { entity, role: role.unwrap_or(PeerRole::Mentioned) }))
    }

    /// How the peer stands to the entity, if that is said. Roles of notes, which are worked out, are read where a
    /// bundle was written with them; errors in files written by hand list those of measurements.
    fn peer_role(&self) -> Result<Option<PeerRole>, Fault> {
        self.word("peer_role").map_err(|_| {
            let text = shorten(self.unmasked("peer_role").unwrap_or_default().trim(), 60);
            let reason =
                format!("there is no role {text:?}; the roles are caller, callee and mentioned");
            Fault::of_column("peer_role", reason)
        })
    }

    /// One of the words of an enum, if the column is there and filled.
    pub(super) fn word<T: DeserializeOwned>(
        &self,
        column: &'static str,
    ) -> Result<Option<T>, Fault> {
        let text = self.unmasked(column)?.trim();
        if text.is_empty() {
            return Ok(None);
        }
        serde_json::from_value(serde_json::Value::from(text))
            .map(Some)
            .map_err(|error| Fault::of_column(column, shorten(&error.to_string(), 200)))
    }
}
