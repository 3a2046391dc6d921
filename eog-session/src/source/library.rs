//! Folders in memory, read once and shared by all calls.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use eog_evidence::{FilePlace, FolderHandle};
use eog_sre::Stop;

use super::{Kind, OpenError, Opened, ReadOptions, open_from};

/// Files whose size and time are checked to see whether a folder has changed; of more the rest
/// is not noticed.
const MAX_STAMPED: usize = 10_000;

/// What a folder counts for at least, in bytes: a small one takes more memory than its files have.
const LEAST: u64 = 64 << 10;

/// How deep files may lie in a folder.
const MAX_DEPTH: usize = 3;

/// What is loaded: a folder, its architecture, and the state of their files.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    folder: PathBuf,
    architecture: Option<PathBuf>,
    stamp: blake3::Hash,
}

/// Filled by the first caller; the others wait for it.
type Slot = Arc<Mutex<Option<Opened>>>;

#[derive(Debug)]
struct Shelf {
    key: Key,
    bytes: u64,
    slot: Slot,
}

/// Folders in memory, the last used ones, within a bound of bytes.
#[derive(Debug)]
pub struct Library {
    /// The architecture is that of snapshots for which none is named.
    options: ReadOptions,
    max_bytes: u64,
    /// Whether folders are refused of which records cannot be used.
    strict: bool,
    /// The last used one is last.
    shelves: Mutex<Vec<Shelf>>,
}

impl Library {
    /// An empty library that keeps about so many bytes of folders, by the size of their files, each of which counts
    /// for 64 KiB at least. The architecture of the options goes with snapshots for which no other is named.
    pub fn new(options: ReadOptions, max_bytes: u64) -> Self {
        Self { options, max_bytes, strict: false, shelves: Mutex::default() }
    }

    /// The same, refusing folders of which records cannot be used, if so wished.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// The content of a folder, read if it is not there yet or has changed since. Blocks. It is
    /// not read on when `stop` says so; another caller that waits for it then reads it anew.
    ///
    /// # Errors
    /// [`OpenError`] when the folder cannot be used. What cannot be read is not kept.
    pub fn load(
        &self,
        folder: &FolderHandle,
        architecture: Option<&FilePlace>,
        stop: Option<Stop>,
    ) -> Result<Opened, OpenError> {
        let is_snapshot = Kind::of_folder(folder)? == Kind::Snapshot;
        let usual = self.options.architecture.clone().filter(|_| is_snapshot);
        let (stamp, bytes) = stamp(folder, architecture);
        let named = architecture.map(FilePlace::full).or(usual.clone());
        let key = Key { folder: folder.path().to_owned(), architecture: named, stamp };
        let slot = self.shelf(&key, bytes);
        let mut content = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = &*content {
            return Ok(loaded.clone());
        }
        let options = ReadOptions {
            architecture: architecture.map(|place| place.path.clone()).or(usual),
            architecture_below: architecture.map(|place| place.folder.clone()),
            stop,
            ..self.options.clone()
        };
        let opened = open_from(folder, &options);
        match opened.and_then(|opened| if self.strict { opened.all_usable() } else { Ok(opened) }) {
            Ok(loaded) => Ok(content.insert(loaded).clone()),
            Err(error) => {
                // The next caller waiting for this place fills it.
                if !error.is_cancelled() {
                    self.shelves().retain(|shelf| shelf.key != key);
                }
                Err(error)
            }
        }
    }

    /// Lets go of a folder that will not be asked for again.
    pub fn forget(&self, folder: &Path) {
        self.shelves().retain(|shelf| shelf.key.folder != folder);
    }

    /// How many folders are in memory.
    pub fn loaded(&self) -> usize {
        self.shelves().len()
    }

    /// The place of a folder. What was not used for the longest time makes room.
    fn shelf(&self, key: &Key, bytes: u64) -> Slot {
        let mut shelves = self.shelves();
        let shelf = match shelves.iter().position(|shelf| shelf.key == *key) {
            Some(at) => shelves.remove(at),
            None => Shelf { key: key.clone(), bytes: bytes.max(LEAST), slot: Slot::default() },
        };
        let slot = shelf.slot.clone();
        // An older state of the same folder will not be asked for again.
        shelves.retain(|other| {
            other.key.folder != key.folder || other.key.architecture != key.architecture
        });
        shelves.push(shelf);
        let mut total: u64 = shelves.iter().map(|shelf| shelf.bytes).sum();
        while total > self.max_bytes && shelves.len() > 1 {
            total -= shelves.remove(0).bytes;
        }
        slot
    }

    fn shelves(&self) -> std::sync::MutexGuard<'_, Vec<Shelf>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names, sizes and times of the files of a folder, and how many bytes they have.
fn stamp(folder: &FolderHandle, architecture: Option<&FilePlace>) -> (blake3::Hash, u64) {
    let mut files = Vec::new();
    walk(folder, "", 0, &mut files);
    files.extend(architecture.and_then(|place| stamped(&place.folder, place.path.clone())));
    files.sort();
    let bytes = files.iter().map(|(_, bytes, _)| bytes).sum();
    let mut hasher = blake3::Hasher::new();
    for (path, bytes, changed) in &files {
        hasher.update(path.as_os_str().as_encoded_bytes());
        hasher.update(format!("\0{bytes} {changed:?}\0").as_bytes());
    }
    (hasher.finalize(), bytes)
}

type Stamped = (PathBuf, u64, Option<SystemTime>);

fn walk(root: &FolderHandle, folder: &str, depth: usize, files: &mut Vec<Stamped>) {
    for entry in root.entries(folder).into_iter().flatten() {
        if files.len() >= MAX_STAMPED {
            return;
        }
        let path = if folder.is_empty() { entry.name } else { format!("{folder}/{}", entry.name) };
        match entry.is_folder {
            true if depth < MAX_DEPTH => walk(root, &path, depth + 1, files),
            true => {}
            false => files.extend(stamped(root, path.into())),
        }
    }
}

fn stamped(folder: &FolderHandle, path: PathBuf) -> Option<Stamped> {
    let (bytes, changed) = folder.stamp(&path).ok()?;
    Some((path, bytes, changed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(folder: &Path) -> FolderHandle {
        FolderHandle::open(folder).expect("it is there")
    }

    fn snapshot(folder: &Path, alert: &str) {
        let text = format!(
            r#"[{{"labels": {{"alertname": "{alert}", "service_name": "cart", "namespace": "shop"}},
                "state": "firing", "activeAt": "2026-01-01T10:00:00Z"}}]"#
        );
        std::fs::create_dir_all(folder.join("alerts")).expect("a folder");
        std::fs::write(folder.join("alerts/alerts_at_2026-01-01T10-01-00.json"), text)
            .expect("an alert");
    }

    #[test]
    fn a_folder_is_read_once_until_it_changes() {
        let all = tempfile::tempdir().expect("a folder");
        let folder = all.path().join("one");
        snapshot(&folder, "HighErrorRate");
        let library = Library::new(ReadOptions::default(), 1 << 30);
        let first = library.load(&at(&folder), None, None).expect("reads");
        let again = library.load(&at(&folder), None, None).expect("reads");
        assert!(first.is_same(&again));
        snapshot(&folder, "HighErrorRateOnCart");
        let changed = library.load(&at(&folder), None, None).expect("reads");
        assert_eq!(changed.incident().anomalies[0].name, "HighErrorRateOnCart");
        assert_eq!(library.shelves().len(), 1, "the older state is gone");
    }

    #[test]
    fn what_was_not_used_for_longest_makes_room() {
        let all = tempfile::tempdir().expect("a folder");
        let names = ["one", "two", "three"];
        for name in names {
            snapshot(&all.path().join(name), "HighErrorRate");
        }
        let library = Library::new(ReadOptions::default(), LEAST * 2);
        let load =
            |name: &str| library.load(&at(&all.path().join(name)), None, None).expect("reads");
        let (first, _, again, _) = (load("one"), load("two"), load("one"), load("three"));
        assert!(first.is_same(&again));
        let kept: Vec<_> = library.shelves().iter().map(|s| s.key.folder.clone()).collect();
        assert_eq!(kept, [all.path().join("one"), all.path().join("three")]);
    }

    #[test]
    fn a_folder_that_is_forgotten_is_read_again() {
        let all = tempfile::tempdir().expect("a folder");
        let folder = all.path().join("one");
        snapshot(&folder, "HighErrorRate");
        let library = Library::new(ReadOptions::default(), 1 << 30);
        let first = library.load(&at(&folder), None, None).expect("reads");
        library.forget(&folder);
        assert_eq!(library.loaded(), 0);
        assert!(!first.is_same(&library.load(&at(&folder), None, None).expect("reads")));
    }

    #[test]
    fn what_cannot_be_read_is_not_kept() {
        let all = tempfile::tempdir().expect("a folder");
        let library = Library::new(ReadOptions::default(), 1 << 30);
        let Err(error) = library.load(&at(all.path()), None, None) else { panic!("it is empty") };
        assert!(matches!(error, OpenError::NothingKnown { .. }), "{error}");
        assert!(library.shelves().is_empty());
    }

    #[test]
    fn a_cancelled_read_is_done_by_the_next_caller() {
        let all = tempfile::tempdir().expect("a folder");
        let folder = all.path().join("one");
        snapshot(&folder, "HighErrorRate");
        let library = Library::new(ReadOptions::default(), 1 << 30);
        let gone = library.load(&at(&folder), None, Some(Stop::when(|| true)));
        let Err(error) = gone else { panic!("it was read") };
        assert!(error.is_cancelled(), "{error}");
        let read = library.load(&at(&folder), None, None).expect("reads");
        assert_eq!(read.incident().anomalies.len(), 1);
        assert_eq!(library.shelves().len(), 1);
    }
}
