//! The journal: a ledger on disk, stored entry by entry before anything follows from it.

mod error;
mod file;
mod frame;

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eog_core::{Digest, Entry, Ledger};

pub use error::JournalError;
pub(crate) use file::sync_folder;
pub use frame::MAX_ENTRY_BYTES;

/// An open journal, locked for writing until it is dropped.
///
/// What [`Journal::append`] acknowledged survives a crash of the process, of the machine, and a full
/// disk. `docs/journal.md` describes the file byte by byte.
///
/// ```
/// use eog::{Case, Config, Controller, Journal, Seed, Topology, Window};
/// # use eog::EntityId;
/// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// # let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
/// # case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "alert".into() });
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("run.journal");
/// let controller = Controller::new(Config::default(), case);
/// let mut journal = Journal::create(&path)?;
/// journal.append(controller.ledger().entries())?;
/// drop(journal);
///
/// let (journal, recovered) = Journal::open(&path)?;
/// assert_eq!(journal.entries(), 1);
/// assert_eq!(recovered.cut, None);
/// let restored = Controller::restore(&recovered.ledger)?;
/// # assert_eq!(restored.ledger(), controller.ledger());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Acknowledged entries, the hash of the last, and the bytes they end at.
    entries: u64,
    head: Digest,
    length: u64,
    fsync: bool,
    poisoned: bool,
}

/// What a journal held.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    /// Every whole entry, checked.
    pub ledger: Ledger,
    /// What was left out at the end, if anything.
    pub cut: Option<CutTail>,
}

/// The remains of an interrupted write at the end of a journal. They were never acknowledged,
/// unless the last entry was changed afterwards: the two cannot be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutTail {
    /// How many entries stand before them.
    pub after: u64,
    /// How long they are.
    pub bytes: u64,
}

impl fmt::Display for CutTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { after, bytes } = self;
        write!(
            f,
            "the journal ended in an interrupted write, so its last {bytes} bytes were left out; \
             the {after} entries before are whole"
        )
    }
}

impl Journal {
    /// Whether a file begins the way a journal does. False when it cannot be read.
    pub fn is_journal(path: impl AsRef<Path>) -> bool {
        let mut begin = [0; frame::MAGIC.len()];
        File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok()
            && begin == frame::MAGIC
    }

    /// Creates an empty journal. File and folder entry are on disk when this returns.
    ///
    /// # Errors
    /// [`JournalError::Exists`] if there is something already; [`JournalError::Unusable`] if the
    /// folder is missing, read-only or full.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let path = file::absolute(path.as_ref())?;
        let file = file::create(&path)?;
        file::lock(&file, &path)?;
        let mut journal = Self::at_start(path, file);
        if let Err(error) = journal.begin() {
            // An empty file would be in the way of the next attempt. Nothing is lost with it.
            let _ = std::fs::remove_file(&journal.path);
            return Err(error);
        }
        Ok(journal)
    }

    /// Opens a journal to go on with it. The remains of an interrupted write are cut off the file.
    ///
    /// # Errors
    /// [`JournalError::Locked`] while somebody else writes; [`JournalError::Damaged`] names the
    /// first entry that was changed. The file is unchanged then.
    pub fn open(path: impl AsRef<Path>) -> Result<(Self, Recovered), JournalError> {
        let path = file::absolute(path.as_ref())?;
        let file = file::open(&path, true)?;
        file::lock(&file, &path)?;
        let mut journal = Self::at_start(path, file);
        let found = file::scan(&journal.file, &journal.path)?;
        journal.entries = found.ledger.next_seq();
        journal.head = found.ledger.head();
        journal.length = found.kept;
        if found.kept < frame::HEADER_BYTES {
            journal.begin()?;
        } else {
            journal.mend(found.cut.is_some())?;
        }
        Ok((journal, Recovered { ledger: found.ledger, cut: found.cut }))
    }

    /// Reads a journal and changes nothing. Somebody else may be writing; what they are just adding
    /// counts as an interrupted write.
    ///
    /// # Errors
    /// Those of [`Journal::open`], but for [`JournalError::Locked`].
    pub fn read(path: impl AsRef<Path>) -> Result<Recovered, JournalError> {
        let path = file::absolute(path.as_ref())?;
        let found = file::scan(&file::open(&path, false)?, &path)?;
        Ok(Recovered { ledger: found.ledger, cut: found.cut })
    }

    /// Stores the next entries, in one write. When this returns they are on disk.
    ///
    /// # Errors
    /// [`JournalError::NotNext`] and [`JournalError::TooLarge`] refuse the whole group before
    /// anything is written; the journal goes on. After [`JournalError::NotWritten`] and
    /// [`JournalError::Vanished`] nothing of the group is acknowledged, the file is cut back to what
    /// was, if that is possible, and every later call is [`JournalError::Poisoned`].
    pub fn append(&mut self, entries: &[Arc<Entry>]) -> Result<(), JournalError> {
        let Self { path, entries: acknowledged, .. } = &*self;
        if self.poisoned {
            return Err(JournalError::Poisoned { path: path.clone(), entries: *acknowledged });
        }
        let Some(last) = entries.last() else { return Ok(()) };
        let frames = self.frames(entries)?;
        if let Err(error) = self.store(&frames) {
            self.poisoned = true;
            // The error at hand says more than that of a cut that fails, too.
            let _ = self.file.set_len(self.length).and_then(|()| self.sync());
            return Err(error);
        }
        self.entries += entries.len() as u64;
        self.head = last.hash;
        self.length += frames.len() as u64;
        Ok(())
    }

    /// Acknowledges entries before they are on disk, for tests that need no durability: what was
    /// acknowledged still survives the process, but not the machine.
    #[must_use]
    pub fn without_fsync(mut self) -> Self {
        self.fsync = false;
        self
    }

    /// Where the journal is: an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many entries are acknowledged.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    fn at_start(path: PathBuf, file: File) -> Self {
        let (entries, head, length) = (0, Digest::ZERO, 0);
        Self { path, file, entries, head, length, fsync: true, poisoned: false }
    }

    /// Writes the header into what is no journal yet.
    fn begin(&mut self) -> Result<(), JournalError> {
        let header = frame::header();
        let file = &mut self.file;
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(&header))
            .and_then(|()| file.sync_all())
            .and_then(|()| file::sync_folder(&self.path))
            .map_err(|source| self.unusable("create", source))?;
        self.length = header.len() as u64;
        Ok(())
    }

    /// Cuts the tail off. The folder is written, too: who created the journal may have died first.
    fn mend(&self, cut: bool) -> Result<(), JournalError> {
        let trimmed = if cut {
            self.file.set_len(self.length).and_then(|()| self.file.sync_all())
        } else {
            Ok(())
        };
        trimmed
            .and_then(|()| file::sync_folder(&self.path))
            .map_err(|source| self.unusable("repair", source))
    }

    /// The frames of entries that continue this journal.
    fn frames(&self, entries: &[Arc<Entry>]) -> Result<Vec<u8>, JournalError> {
        let mut frames = Vec::new();
        let mut head = self.head;
        for (seq, entry) in (self.entries..).zip(entries) {
            entry
                .follows(seq, head)
                .map_err(|source| JournalError::NotNext { path: self.path.clone(), source })?;
            head = entry.hash;
            let payload =
                serde_json::to_vec(entry).map_err(|error| self.unusable("write", error.into()))?;
            let length = u32::try_from(payload.len()).ok().filter(|n| *n <= MAX_ENTRY_BYTES);
            let too_large = || JournalError::TooLarge {
                path: self.path.clone(),
                entry: seq,
                bytes: payload.len() as u64,
            };
            frame::encode(&payload, length.ok_or_else(too_large)?, &mut frames);
        }
        Ok(frames)
    }

    fn store(&mut self, frames: &[u8]) -> Result<(), JournalError> {
        self.write(frames).map_err(|source| JournalError::NotWritten {
            path: self.path.clone(),
            entries: self.entries,
            source,
        })?;
        // A file without a name takes writes, and loses them when it is closed.
        match file::is_at(&self.file, &self.path) {
            true => Ok(()),
            false => Err(JournalError::Vanished { path: self.path.clone() }),
        }
    }

    fn write(&mut self, frames: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.length))?;
        self.file.write_all(frames)?;
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        if self.fsync { self.file.sync_data() } else { Ok(()) }
    }

    fn unusable(&self, operation: &'static str, source: io::Error) -> JournalError {
        JournalError::Unusable { path: self.path.clone(), operation, source }
    }
}

impl Drop for Journal {
    /// Closing the file is not enough: a process that is just being started by another thread
    /// holds the file, and so the lock, for a moment longer.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}
