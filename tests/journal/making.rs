//! Entries, journals and their bytes, for the other tests.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use eog::controller::{EntryBody, Observed};
use eog::journal::{JournalError, Recovered};
use eog::ledger::Observation;
use eog::{Config, Controller, Digest, Entry, Journal, Ledger};
use eog_testkit::{alert, entity, seeded, topology};
use tempfile::TempDir;

pub(crate) const HEADER: usize = 12;
pub(crate) const FRAME: usize = 12;

/// A folder in memory where there is such a thing: most tests open thousands of journals, and the
/// disk would be asked to store each.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| folder_on_disk())
}

pub(crate) fn folder_on_disk() -> TempDir {
    tempfile::tempdir().expect("there is a place for temporary files")
}

/// The first entry of an investigation that begins at this entity.
pub(crate) fn opening(name: &str) -> Arc<Entry> {
    let case = seeded(topology(name), [name]);
    Arc::clone(&Controller::new(Config::default(), case).ledger().entries()[0])
}

/// The entry after another one: word of an entity.
pub(crate) fn next(before: &Entry, body: EntryBody) -> Arc<Entry> {
    let (seq, previous) = (before.seq + 1, before.hash);
    let hash = Digest::of(&(seq, previous, &body));
    Arc::new(Entry { seq, previous, hash, body })
}

pub(crate) fn observed(observation: Observation) -> EntryBody {
    EntryBody::Observed(Box::new(Observed { observation, activations: vec![] }))
}

/// An opening and then small entries, so that every byte can be tried.
pub(crate) fn arrivals(count: u64) -> Vec<Arc<Entry>> {
    let mut entries = vec![opening("a")];
    for number in 1..count {
        let body = observed(Observation::NewEvidence(entity(&format!("e{number}"))));
        entries.push(next(&entries[entries.len() - 1], body));
    }
    entries
}

/// An opening and then one entry for each text.
pub(crate) fn tellings<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Arc<Entry>> {
    let mut entries = vec![opening("a")];
    for text in texts {
        let mut news = alert("a", "News", "10:05");
        news.description = text.to_owned();
        entries.push(next(&entries[entries.len() - 1], observed(Observation::Anomaly(news))));
    }
    entries
}

pub(crate) fn ledger_of(entries: &[Arc<Entry>]) -> Ledger {
    let mut ledger = Ledger::default();
    for entry in entries {
        ledger.push(Entry::clone(entry)).expect("the entries are a chain");
    }
    ledger
}

pub(crate) fn payload(entry: &Entry) -> Vec<u8> {
    serde_json::to_vec(entry).expect("an entry is JSON")
}

/// The file that holds these entries.
pub(crate) fn bytes_of(entries: &[Arc<Entry>]) -> Vec<u8> {
    let folder = folder();
    let path = folder.path().join("run.journal");
    Journal::create(&path).unwrap().without_fsync().append(entries).unwrap();
    fs::read(&path).unwrap()
}

/// Where the header and each entry end.
pub(crate) fn ends(entries: &[Arc<Entry>]) -> Vec<usize> {
    let mut ends = vec![HEADER];
    for entry in entries {
        ends.push(ends[ends.len() - 1] + FRAME + payload(entry).len());
    }
    ends
}

/// What a file of these bytes opens to, and its bytes afterwards. Reading must say the same.
pub(crate) fn opened_from(bytes: &[u8]) -> Result<(Recovered, Vec<u8>), JournalError> {
    let folder = folder();
    let path = folder.path().join("run.journal");
    fs::write(&path, bytes).unwrap();
    let read = Journal::read(&path);
    assert_eq!(fs::read(&path).unwrap(), bytes, "reading changed the file");
    match Journal::open(&path) {
        Ok((journal, recovered)) => {
            assert_eq!(read.expect("what opens can be read"), recovered);
            assert_eq!(journal.entries(), recovered.ledger.next_seq());
            Ok((recovered, fs::read(&path).unwrap()))
        }
        Err(error) => {
            let also = read.expect_err("what does not open cannot be read");
            assert_eq!(also.to_string(), error.to_string());
            assert_eq!(fs::read(&path).unwrap(), bytes, "a failed opening changed the file");
            Err(error)
        }
    }
}

/// Opens a file of these bytes, adds entries, and returns what it holds then.
pub(crate) fn continued(path: &Path, entries: &[Arc<Entry>]) -> Ledger {
    let (journal, _) = Journal::open(path).unwrap();
    let known = usize::try_from(journal.entries()).unwrap();
    journal.without_fsync().append(&entries[known..]).unwrap();
    let read = Journal::read(path).unwrap();
    assert_eq!(read.cut, None);
    read.ledger
}
