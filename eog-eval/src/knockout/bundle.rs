//! A bundle without the changes and events of its causes.

use std::path::Path;

use eog::{EntityId, Timestamp};
use eog_simulate::files::{list_folder, read_json};
use serde_json::Value;

use crate::error::EvalError;
use crate::suite::Truth;

/// Copies a bundle to a new folder without what is on record of its causes while they acted: their
/// changes, and the events of and about them. Returns how many entries and rows were left out.
pub(crate) fn without_cause(dir: &Path, truth: &Truth, out: &Path) -> Result<usize, EvalError> {
    std::fs::create_dir(out).map_err(|error| EvalError::file(out, error))?;
    let mut removed = 0;
    for path in list_folder(dir)?.into_iter().filter(|path| path.is_file()) {
        let name = path.file_name().unwrap_or_default();
        let to = out.join(name);
        match name.to_str() {
            Some("changes.json") => removed += changes(&path, truth, &to)?,
            Some("events.csv") => removed += events(&path, truth, &to)?,
            _ => {
                std::fs::copy(&path, &to).map_err(|error| EvalError::file(&path, error))?;
            }
        }
    }
    Ok(removed)
}

/// Whether an entry speaks of a cause while it acted. What cannot be read is left to the reader.
fn is_of_cause(truth: &Truth, time: Option<&str>, entities: [Option<&str>; 2]) -> bool {
    let named = |name: &str| EntityId::new(name).is_ok_and(|one| truth.causes.contains(&one));
    let at = time.and_then(|time| time.parse::<Timestamp>().ok());
    entities.into_iter().flatten().any(named) && at.is_none_or(|at| truth.acts_at(at))
}

fn changes(path: &Path, truth: &Truth, to: &Path) -> Result<usize, EvalError> {
    let mut list: Vec<Value> = read_json(path)?;
    let before = list.len();
    list.retain(|change| {
        let text = |field: &str| change.get(field).and_then(Value::as_str);
        !is_of_cause(truth, text("time"), [text("entity"), None])
    });
    let text = serde_json::to_string_pretty(&list).map_err(|e| EvalError::file(to, e))?;
    std::fs::write(to, text + "\n").map_err(|error| EvalError::file(to, error))?;
    Ok(before - list.len())
}

fn events(path: &Path, truth: &Truth, to: &Path) -> Result<usize, EvalError> {
    let wrong = |error: csv::Error| EvalError::file(path, error);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(path).map_err(wrong)?;
    let mut writer = csv::WriterBuilder::new().flexible(true).from_path(to).map_err(wrong)?;
    let header = reader.headers().map_err(wrong)?.clone();
    let column = |name: &str| header.iter().position(|field| field.trim() == name);
    let [time, entity, peer] = ["time", "entity", "peer"].map(column);
    writer.write_record(&header).map_err(wrong)?;
    let mut removed = 0;
    for row in reader.records() {
        let row = row.map_err(wrong)?;
        let cell = |at: Option<usize>| at.and_then(|at| row.get(at));
        if is_of_cause(truth, cell(time), [cell(entity), cell(peer)]) {
            removed += 1;
        } else {
            writer.write_record(&row).map_err(wrong)?;
        }
    }
    writer.flush().map_err(|error| EvalError::file(to, error))?;
    Ok(removed)
}
