//! What the files of an input were, so that evidence which changes under a journal is noticed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use eog::{CallRecorder, Digest, Usage};
use eog_report::clean::clean_line;
use serde::{Deserialize, Serialize};

use crate::error::CliError;
use crate::investigate::runtime;

/// How much of the beginning and of the end of a file is compared, beside its size.
const COMPARED: u64 = 256 << 10;
/// A folder with more files than these is not compared.
const MOST_FILES: usize = 10_000;
/// Most files that are named.
const NAMED: usize = 3;

/// The files of a folder by name, as far as it takes to see that one was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Files(BTreeMap<String, Seen>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    bytes: u64,
    digest: Digest,
}

impl Files {
    /// What it is called beside the journal.
    const NAME: &'static str = "input";

    /// Those of a folder, without what eog itself writes: files whose names begin like that of the
    /// journal, and the folder of `--out`. Nothing for what is no folder, or cannot be read.
    pub(crate) fn of(folder: &Path, journal: &Path, out: Option<&Path>) -> Option<Self> {
        let written = journal.file_name()?.to_str()?;
        let out = out.and_then(|out| out.canonicalize().ok());
        let mut found = BTreeMap::new();
        let mut open = vec![folder.to_owned()];
        while let Some(next) = open.pop() {
            for entry in std::fs::read_dir(&next).ok()? {
                let entry = entry.ok()?;
                let (path, kind) = (entry.path(), entry.file_type().ok()?);
                if kind.is_dir() && (out.is_none() || path.canonicalize().ok() != out) {
                    open.push(path);
                } else if kind.is_file() && !entry.file_name().to_str()?.starts_with(written) {
                    let name = path.strip_prefix(folder).ok()?.to_str()?.to_owned();
                    found.insert(name, Seen::of(&path)?);
                }
            }
            if found.len() > MOST_FILES {
                return None;
            }
        }
        Some(Self(found))
    }

    /// Stores them beside a new journal, or says what is other than it was when one was begun.
    ///
    /// # Errors
    /// When there is no runtime. What cannot be stored is said by those whose figures are missing.
    pub(crate) fn keep(self, recorder: &CallRecorder, folder: &Path) -> Result<(), CliError> {
        let now = async || Ok((self.clone(), Usage::default()));
        let Ok(then) = runtime()?.block_on(recorder.call::<Self, _>(Self::NAME, &(), now)) else {
            return Ok(());
        };
        if let Some(changed) = then.changed(&self) {
            let line = format!(
                "eog: note: {} is not as it was when the journal was begun: {changed}. What was \
                 judged stays as it was; what follows rests on the files as they are now",
                folder.display()
            );
            eprintln!("{}", clean_line(&line));
        }
        Ok(())
    }

    /// The names of files that are other than they were, and how; the first ones of many.
    fn changed(&self, now: &Self) -> Option<String> {
        let gone = self.0.keys().filter(|name| !now.0.contains_key(*name));
        let gone = gone.map(|name| format!("{name} is gone"));
        let other = now.0.iter().filter_map(|(name, seen)| match self.0.get(name) {
            None => Some(format!("{name} is new")),
            Some(then) if then != seen => Some(format!("{name} was changed")),
            Some(_) => None,
        });
        let all: Vec<String> = other.chain(gone).collect();
        let more = all.len().saturating_sub(NAMED);
        let named = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!all.is_empty()).then_some(named + &more)
    }
}

impl Seen {
    fn of(path: &Path) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let bytes = file.metadata().ok()?.len();
        let mut read = Vec::new();
        file.by_ref().take(COMPARED).read_to_end(&mut read).ok()?;
        if bytes > COMPARED {
            file.seek(SeekFrom::Start(COMPARED.max(bytes - COMPARED))).ok()?;
            file.take(COMPARED).read_to_end(&mut read).ok()?;
        }
        Some(Self { bytes, digest: Digest::of(&String::from_utf8_lossy(&read)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_named_and_what_eog_writes_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &[u8]| {
            std::fs::write(folder.path().join(name), text).expect("a file");
        };
        let (journal, out) = (folder.path().join("run.journal"), folder.path().join("out"));
        std::fs::create_dir(&out).expect("a folder");
        let files = || Files::of(folder.path(), &journal, Some(&out)).expect("they are read");
        let large = |last: u8| {
            let mut text = vec![b'x'; 3 * COMPARED as usize];
            text.push(last);
            text
        };
        write("a.csv", b"1");
        write("b.csv", b"2");
        write("large.csv", &large(1));
        let then = files();
        for name in ["run.journal", "run.journal.side.jsonl", "out/ledger.jsonl"] {
            write(name, b"x");
        }
        assert_eq!(then.changed(&files()), None);
        write("a.csv", b"3");
        write("large.csv", &large(2));
        assert_eq!(
            then.changed(&files()).as_deref(),
            Some("a.csv was changed, large.csv was changed")
        );
        std::fs::remove_file(folder.path().join("b.csv")).expect("it was there");
        write("c.csv", b"4");
        assert_eq!(
            then.changed(&files()).as_deref(),
            Some("a.csv was changed, c.csv is new, large.csv was changed and 1 more")
        );
        assert_eq!(Files::of(&folder.path().join("a.csv"), &journal, None), None);
    }
}
