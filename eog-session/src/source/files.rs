//! What the files of an input were, so that evidence which changes under a journal is noticed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use eog::{CallRecorder, Digest, Journal, Usage};
use serde::{Deserialize, Serialize};

/// How much of the beginning and of the end of a file is compared, beside its size.
const COMPARED: u64 = 256 << 10;
/// A folder with more files than these is not compared.
const MAX_FILES: usize = 10_000;
/// Most files that are named.
const NAMED: usize = 3;

/// The files of a folder by name, as far as it takes to see that one was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files(BTreeMap<String, Seen>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    bytes: u64,
    digest: Digest,
}

impl Files {
    /// What it is called beside the journal.
    const NAME: &'static str = "input";

    /// Those of a folder, without what eog itself writes there: the files of the journal, and the
    /// folder of results. Nothing for what is no folder, or cannot be read.
    pub fn of(folder: &Path, journal: &Path, results: Option<&Path>) -> Option<Self> {
        let real = |path: &Path| path.canonicalize().ok();
        let written: Vec<PathBuf> = match journal.parent().map(in_full).and_then(real) {
            Some(beside) => Journal::files(beside.join(journal.file_name()?)).into(),
            None => Vec::new(),
        };
        let results = results.and_then(real);
        let mut found = BTreeMap::new();
        let mut open = vec![real(folder)?];
        let root = open.first()?.clone();
        while let Some(next) = open.pop() {
            for entry in std::fs::read_dir(&next).ok()? {
                let entry = entry.ok()?;
                let (path, kind) = (entry.path(), entry.file_type().ok()?);
                if kind.is_dir() && (results.is_none() || real(&path) != results) {
                    open.push(path);
                } else if kind.is_file() && !written.contains(&path) {
                    let name = path.strip_prefix(&root).ok()?.to_str()?.to_owned();
                    found.insert(name, Seen::of(&path)?);
                }
            }
            if found.len() > MAX_FILES {
                return None;
            }
        }
        Some(Self(found))
    }

    /// Stores them beside a new journal, or says what is other than it was when that was begun.
    pub async fn keep(self, recorder: &CallRecorder) -> Option<String> {
        let now = async || Ok((self.clone(), Usage::default()));
        // What cannot be stored is said by those whose figures are missing.
        let then = recorder.call::<Self, _>(Self::NAME, &(), now).await.ok()?;
        then.changed(&self)
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

/// The folder of a file that is named without one.
fn in_full(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
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

    #[test]
    fn evidence_whose_name_begins_like_that_of_the_journal_is_compared() {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = folder.path().join("m");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("a file");
        };
        let files = || Files::of(folder.path(), &journal, None).expect("they are read");
        std::fs::create_dir(folder.path().join("sub")).expect("a folder");
        write("metrics.csv", "1");
        write("sub/m", "1");
        let then = files();
        for name in ["m", "m.side.jsonl", "m.checkpoint", "m.checkpoint.tmp"] {
            write(name, "of eog");
        }
        assert_eq!(then.changed(&files()), None);
        write("metrics.csv", "2");
        write("sub/m", "2");
        assert_eq!(
            then.changed(&files()).as_deref(),
            Some("metrics.csv was changed, sub/m was changed")
        );
    }
}
