//! Changes that were recorded in files, such as by what deploys.

use std::path::Path;

use eog_evidence::ChangeRecord;

use crate::config::SourceConfig;
use crate::period::Period;
use crate::piece::{Change, Piece, Who};

/// Longest file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Adds what lies in the period. A file that cannot be used is missing.
pub(crate) fn read(config: &SourceConfig, period: Period, all: &mut Piece) {
    for file in &config.changes {
        let path = config.path(file);
        match records(&path) {
            Ok((records, broken)) => {
                if let Some((count, first)) = broken {
                    let place = path.display();
                    let count = in_words(count);
                    all.missing.push(format!("{place}: {count} cannot be used: {first}"));
                }
                let inside = records.into_iter().map(change).filter(|it| period.contains(it.at));
                all.changes.extend(inside);
            }
            Err(reason) => all.missing.push(format!("changes of {}: {reason}", path.display())),
        }
    }
}

/// What each file holds; an error for one that cannot be used whole.
pub(crate) fn offers(config: &SourceConfig) -> Vec<(String, Result<Vec<String>, String>)> {
    let offer = |file| {
        let path = config.path(file);
        let found = match records(&path) {
            Ok((records, None)) => Ok(vec![format!("{} recorded", in_words(records.len()))]),
            Ok((_, Some((count, first)))) => {
                Err(format!("{} cannot be used: {first}", in_words(count)))
            }
            Err(reason) => Err(reason),
        };
        (path.display().to_string(), found)
    };
    config.changes.iter().map(|file| offer(file)).collect()
}

fn in_words(changes: usize) -> String {
    if changes == 1 { "1 change".to_owned() } else { format!("{changes} changes") }
}

type Broken = Option<(usize, String)>;

/// A list as `changes.json` has it, or one change a line.
fn records(path: &Path) -> Result<(Vec<ChangeRecord>, Broken), String> {
    let size = path.metadata().map_err(|error| error.to_string())?.len();
    if size > MAX_BYTES {
        return Err(format!("longer than {MAX_BYTES} bytes"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    if text.trim_start().starts_with('[') {
        let list = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        return Ok((list, None));
    }
    let (mut records, mut broken): (Vec<ChangeRecord>, Broken) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(record) => records.push(record),
            Err(error) => {
                let first = || (0, format!("line {}: {error}", number + 1));
                broken.get_or_insert_with(first).0 += 1;
            }
        }
    }
    Ok((records, broken))
}

fn change(record: ChangeRecord) -> Change {
    Change {
        at: record.time.as_millisecond(),
        who: Who::service(record.entity.as_str()),
        signal: record.signal,
        path: record.path,
        old: record.old,
        new: record.new,
        description: record.description,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_lines_are_read_and_what_is_broken_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let one = r#"{"time":"2026-01-01T10:00:00Z","entity":"cart","path":"flag","new":"on"}"#;
        let file = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            records(&folder.path().join(name))
        };
        assert_eq!(file("a.json", &format!("[{one}]")).unwrap().0.len(), 1);
        let (found, broken) = file("b.jsonl", &format!("{one}\nnonsense\n\n{one}\n")).unwrap();
        assert_eq!((found.len(), broken.as_ref().unwrap().0), (2, 1));
        assert!(broken.unwrap().1.starts_with("line 2: "));
        assert!(file("c.json", "[1").is_err());
    }
}
