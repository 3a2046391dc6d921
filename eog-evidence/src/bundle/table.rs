//! Bounded, streaming reading of CSV files. Bad rows are skipped and counted, never fatal.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};
use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::{EntityId, Timestamp};
use serde::de::DeserializeOwned;

use super::error::BundleError;
use super::limits::{MAX_FIELD_BYTES, MAX_LISTED, MAX_ROWS};
use crate::text::{counted, shorten};

/// The columns of a file: those that must be there and those that may be.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub(super) required: &'static [&'static str],
    pub(super) optional: &'static [&'static str],
}

impl Columns {
    pub(super) fn all(&self) -> impl Iterator<Item = &'static str> {
        self.required.iter().chain(self.optional).copied()
    }
}

/// Reads every row; `take` says why a row is of no use.
pub(super) fn read_rows(
    path: &Path,
    file: File,
    columns: Columns,
    warnings: &mut Vec<String>,
    mut take: impl FnMut(&Row<'_>) -> Result<(), String>,
) -> Result<(), BundleError> {
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(file);
    let unreadable = |error: csv::Error| BundleError::Unreadable {
        file: path.to_owned(),
        source: io::Error::other(error),
    };
    let header = reader.byte_headers().map_err(unreadable)?.clone();
    let name = path.file_name().map_or_else(String::new, |name| name.display().to_string());
    if header.iter().all(<[u8]>::is_empty) {
        warnings.push(format!("{name}: empty, not even a header"));
        return Ok(());
    }
    let places = places(path, &header, columns, warnings)?;

    let mut skipped = Skipped::default();
    let mut record = ByteRecord::new();
    let mut rows = 0;
    while reader.read_byte_record(&mut record).map_err(unreadable)? {
        rows += 1;
        if rows > MAX_ROWS {
            return Err(BundleError::TooManyRows { file: path.to_owned(), limit: MAX_ROWS });
        }
        let line = record.position().map_or(0, csv::Position::line);
        let checked = check(&record, header.len());
        if let Err(reason) = checked.and_then(|()| take(&Row { record: &record, places: &places }))
        {
            skipped.note(&format!("line {line}"), &reason);
        }
    }
    warnings.extend(skipped.warning(&name));
    Ok(())
}

/// What was skipped in one file: all counted, the first few listed.
#[derive(Default)]
pub(super) struct Skipped {
    count: usize,
    listed: Vec<String>,
}

impl Skipped {
    pub(super) fn note(&mut self, place: &str, reason: &str) {
        self.count += 1;
        if self.listed.len() < MAX_LISTED {
            self.listed.push(format!("{place}: {reason}"));
        }
    }

    pub(super) fn warning(&self, file: &str) -> Option<String> {
        let listed = self.listed.join("; ");
        let more = if self.count > self.listed.len() { "; …" } else { "" };
        (self.count > 0)
            .then(|| format!("{file}: {} skipped: {listed}{more}", counted(self.count, "row")))
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
        let field = String::from_utf8_lossy(field);
        let Some(column) = columns.all().find(|column| *column == field.trim()) else {
            let name = path.file_name().map_or_else(String::new, |name| name.display().to_string());
            warnings.push(format!("{name}: column {:?} is not known", shorten(&field, 60)));
            continue;
        };
        if places.insert(column, place).is_some() {
            return Err(wrong(format!("column {column} is there twice")));
        }
    }
    match columns.required.iter().find(|column| !places.contains_key(*column)) {
        Some(missing) => Err(wrong(format!("column {missing} is missing"))),
        None => Ok(places),
    }
}

fn check(record: &ByteRecord, width: usize) -> Result<(), String> {
    if record.len() != width {
        return Err(format!("{} fields where the header has {width}", record.len()));
    }
    let long = record.iter().map(<[u8]>::len).find(|length| *length > MAX_FIELD_BYTES);
    long.map_or(Ok(()), |length| {
        Err(format!("a field of {length} bytes, more than {MAX_FIELD_BYTES}"))
    })
}

/// One row, read by column name.
pub(super) struct Row<'a> {
    record: &'a ByteRecord,
    places: &'a BTreeMap<&'static str, usize>,
}

impl Row<'_> {
    /// The text of a column, empty when the file does not have it.
    pub(super) fn text(&self, column: &str) -> Result<&str, String> {
        let field = self.places.get(column).and_then(|place| self.record.get(*place));
        std::str::from_utf8(field.unwrap_or_default())
            .map_err(|_| format!("{column} is not UTF-8 text"))
    }

    pub(super) fn time(&self) -> Result<Timestamp, String> {
        let text = self.text("time")?.trim();
        text.parse()
            .map_err(|_| format!("time {:?} is not like 2026-01-01T10:00:00Z", shorten(text, 60)))
    }

    pub(super) fn entity(&self, column: &str) -> Result<EntityId, String> {
        EntityId::new(self.text(column)?).map_err(|error| error.to_string())
    }

    pub(super) fn number(&self, column: &str) -> Result<f64, String> {
        let text = self.text(column)?.trim();
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("{column} {:?} is not a finite number", shorten(text, 60)))
    }

    /// The signal, if the column is there and filled.
    pub(super) fn signal(&self) -> Result<Option<Signal>, String> {
        self.word("signal")
    }

    /// The peer, if there is one. Without a role it is merely mentioned.
    pub(super) fn peer(&self) -> Result<Option<Peer>, String> {
        let role: Option<PeerRole> = self.word("peer_role")?;
        if self.text("peer")?.is_empty() {
            return match role {
                Some(_) => Err("peer_role without peer".into()),
                None => Ok(None),
            };
        }
        let entity = self.entity("peer")?;
        Ok(Some(Peer { entity, role: role.unwrap_or(PeerRole::Mentioned) }))
    }

    /// One of the words of an enum, if the column is there and filled.
    fn word<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, String> {
        let text = self.text(column)?.trim();
        if text.is_empty() {
            return Ok(None);
        }
        serde_json::from_value(serde_json::Value::from(text))
            .map(Some)
            .map_err(|error| format!("{column}: {}", shorten(&error.to_string(), 200)))
    }
}
