//! A snapshot without its causes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use csv::{ByteRecord, StringRecord};
use eog_simulate::files::list_folder;
use serde_json::Value;

use super::objects::{History, Identity, Undone, comparable, identity};
use crate::error::EvalError;
use crate::itbench::{GroundTruth, NamedEntity};

const OBJECTS: &str = "k8s_objects_raw.tsv";
const EVENTS: &str = "k8s_events_raw.tsv";

/// Names shorter than this are words of any message.
const TELLING_NAME: usize = 5;

/// Copies a snapshot to a new folder without its causes. An object that is a cause is dropped when
/// it was made for the fault, else stays as it was at first; what it made is dropped, and so are the
/// events about all of these. Returns how many rows were changed or left out.
pub(crate) fn without_cause(
    dir: &Path,
    truth: &GroundTruth,
    out: &Path,
) -> Result<usize, EvalError> {
    copy(dir, out)?;
    let objects = dir.join(OBJECTS);
    if !objects.is_file() {
        return Ok(0);
    }
    let roots = truth.root_causes();
    let is_cause = |(namespace, kind, name): &Identity| {
        let given = |part: &String| (!part.is_empty()).then(|| part.clone());
        let entity =
            NamedEntity { namespace: given(namespace), kind: given(kind), name: name.clone() };
        !truth.classes_of(&entity).is_disjoint(&roots)
    };
    let table = Table::read(&objects)?;
    let (undone, mut removed) = table.undo(&is_cause, &out.join(OBJECTS))?;
    let events = dir.join(EVENTS);
    if events.is_file() {
        removed += Table::read(&events)?.forget(&undone, is_cause, &out.join(EVENTS))?;
    }
    Ok(removed)
}

/// Copies a folder; the files that are written anew are left out.
fn copy(dir: &Path, out: &Path) -> Result<(), EvalError> {
    std::fs::create_dir(out).map_err(|error| EvalError::file(out, error))?;
    for path in list_folder(dir)? {
        let to = out.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &to)?;
        } else {
            std::fs::copy(&path, &to).map_err(|error| EvalError::file(&path, error))?;
        }
    }
    Ok(())
}

/// A table of records with bodies in JSON.
struct Table {
    header: StringRecord,
    rows: Vec<ByteRecord>,
    /// The columns of time, of time to the second, and of the body.
    columns: [Option<usize>; 3],
}

impl Table {
    fn read(path: &Path) -> Result<Self, EvalError> {
        let wrong = |error: csv::Error| EvalError::file(path, error);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(b'\t')
            .flexible(true)
            .from_path(path)
            .map_err(wrong)?;
        let header = reader.headers().map_err(wrong)?.clone();
        let column = |name: &str| header.iter().position(|field| field == name);
        let columns = ["Timestamp", "TimestampTime", "Body"].map(column);
        let rows = reader.byte_records().collect::<Result<_, _>>().map_err(wrong)?;
        Ok(Self { header, rows, columns })
    }

    fn write(&self, rows: &[ByteRecord], to: &Path) -> Result<(), EvalError> {
        let wrong = |error: csv::Error| EvalError::file(to, error);
        let mut builder = csv::WriterBuilder::new();
        let builder = builder.delimiter(b'\t').flexible(true);
        let mut writer = builder.from_path(to).map_err(wrong)?;
        writer.write_record(&self.header).map_err(wrong)?;
        rows.iter().try_for_each(|row| writer.write_byte_record(row)).map_err(wrong)?;
        writer.flush().map_err(|error| EvalError::file(to, error))
    }

    fn cell<'a>(&self, row: &'a ByteRecord, column: usize) -> Option<&'a str> {
        let at = self.columns.get(column).copied().flatten()?;
        std::str::from_utf8(row.get(at)?).ok()
    }

    /// The time of a row; empty when it has none.
    fn time<'a>(&self, row: &'a ByteRecord) -> &'a str {
        self.cell(row, 0).unwrap_or_default()
    }

    /// The object of a row, which may be wrapped as in a watch.
    fn body(&self, row: &ByteRecord) -> Option<Value> {
        let mut value: Value = serde_json::from_str(self.cell(row, 2)?).ok()?;
        Some(match value.get_mut("object") {
            Some(object) => object.take(),
            None => value,
        })
    }

    /// Writes the dumps without the causes, and says what was undone, in how many rows.
    fn undo(
        &self,
        is_cause: &impl Fn(&Identity) -> bool,
        to: &Path,
    ) -> Result<(Undone, usize), EvalError> {
        let mut histories: BTreeMap<Identity, History> = BTreeMap::new();
        let mut of_row: Vec<Option<Identity>> = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let body = self.body(row);
            let one = body.as_ref().map(identity);
            if let (Some(one), Some(body)) = (&one, body) {
                let history = histories.entry(one.clone()).or_default();
                history.dumps.push((number, self.time(row).to_owned(), body));
            }
            of_row.push(one);
        }
        let began = self.rows.iter().map(|row| self.time(row)).min().unwrap_or_default();
        let undone = Undone::of(&histories, is_cause, &comparable(began).replace(' ', "T"));
        let most = histories.values().max_by_key(|history| history.dumps.len());
        // Each row of the object that is in most dumps stands for one dump.
        let dumps: BTreeSet<usize> =
            most.iter().flat_map(|history| history.dumps.iter().map(|(row, ..)| *row)).collect();
        let (mut rows, mut removed) = (Vec::new(), 0);
        for ((number, row), one) in self.rows.iter().enumerate().zip(&of_row) {
            let first = one
                .as_ref()
                .filter(|one| undone.restored.contains_key(*one))
                .and_then(|one| histories.get(one)?.dumps.first());
            match (one, first) {
                (Some(one), _) if undone.dropped.contains(one) => removed += 1,
                (_, Some((first, ..))) => {
                    let restored = self.moved(&self.rows[*first], row);
                    removed += usize::from(restored != *row);
                    rows.push(restored);
                }
                _ => rows.push(row.clone()),
            }
            if dumps.contains(&number) {
                for gone in undone.restored.keys().filter_map(|one| histories.get(one)) {
                    let (first, last) = (gone.dumps.first(), gone.dumps.last());
                    let (Some((first, ..)), Some((last, ..))) = (first, last) else { continue };
                    // What vanished is in the dumps after its last one again.
                    let is_next = dumps.range(last + 1..).next() == Some(&number)
                        && self.is_same_dump(&self.rows[*last], row);
                    if *last < number && !is_next {
                        rows.push(self.moved(&self.rows[*first], row));
                        removed += 1;
                    }
                }
            }
        }
        self.write(&rows, to)?;
        Ok((undone, removed))
    }

    /// Whether two rows are of one dump: less than half a minute apart within the hour.
    fn is_same_dump(&self, one: &ByteRecord, other: &ByteRecord) -> bool {
        let seconds = |row| -> Option<i64> {
            let time = comparable(self.time(row));
            let mut parts = time.get(11..)?.split(':').map(|part| part.parse::<i64>().ok());
            Some(parts.next()?? * 3_600 + parts.next()?? * 60 + parts.next()??)
        };
        match (seconds(one), seconds(other)) {
            (Some(one), Some(other)) => (other - one).abs() < 30,
            _ => false,
        }
    }

    /// A row at the time of another.
    fn moved(&self, row: &ByteRecord, to: &ByteRecord) -> ByteRecord {
        let times = [self.columns[0], self.columns[1]];
        let is_time = |at: usize| times.contains(&Some(at));
        let cells = row.iter().enumerate();
        cells
            .map(|(at, cell)| if is_time(at) { to.get(at).unwrap_or(cell) } else { cell })
            .collect()
    }

    /// Writes the events without those about what was undone; returns how many were left out.
    fn forget(
        &self,
        undone: &Undone,
        is_cause: impl Fn(&Identity) -> bool,
        to: &Path,
    ) -> Result<usize, EvalError> {
        let is_undone = |row: &ByteRecord| {
            let Some(body) = self.body(row) else { return false };
            let regarding = body.get("involvedObject").or_else(|| body.get("regarding"));
            let text = |field: &str| {
                let text = regarding.and_then(|one| one.get(field)).and_then(Value::as_str);
                text.unwrap_or_default().to_owned()
            };
            let about = (text("namespace"), text("kind"), text("name"));
            let said = body.get("message").or_else(|| body.get("note")).and_then(Value::as_str);
            let is_late = |since: &String| comparable(self.time(row)) > comparable(since);
            is_cause(&about)
                || undone.dropped.contains(&about)
                || undone.restored.get(&about).is_some_and(is_late)
                || said.is_some_and(|said| undone.dropped.iter().any(|one| names(said, &one.2)))
        };
        let kept: Vec<ByteRecord> =
            self.rows.iter().filter(|row| !is_undone(row)).cloned().collect();
        self.write(&kept, to)?;
        Ok(self.rows.len() - kept.len())
    }
}

/// Whether a message names an object as a word of its own.
fn names(said: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    name.len() >= TELLING_NAME
        && said.match_indices(name).any(|(at, _)| {
            let (before, after) = (&said[..at], &said[at + name.len()..]);
            !before.ends_with(is_part) && !after.starts_with(is_part)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_an_object_as_a_whole_word() {
        let said = "exceeded quota: small-memory, requested";
        assert!(names(said, "small-memory"));
        assert!(!names(said, "memory") && !names("small-memory-2", "small-memory"));
    }
}
