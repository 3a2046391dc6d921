//! The journal: a ledger on disk, stored entry by entry before anything follows from it.

mod checkpoint;
mod checkpointing;
mod error;
pub(crate) mod file;
mod frame;
mod medium;
mod scan;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eog_core::controller::EntryBody;
use eog_core::ledger::Body;
use eog_core::{Digest, Entry, Ledger};

pub use checkpoint::{CheckpointError, MAX_CHECKPOINT_BYTES, read_checkpoint, write_checkpoint};
use checkpointing::Pace;
pub use error::JournalError;
use file::DiskFile;
pub use frame::MAX_ENTRY_BYTES;
pub use medium::{Checkpoints, Medium};

/// An open journal, locked for writing until it is dropped.
///
/// What [`Journal::append`] acknowledged survives a crash of the process, of the machine, and a full
/// disk. `docs/embedding.md` describes the file byte by byte.
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
    medium: Box<dyn Medium>,
    /// Acknowledged entries, the hash of the last, and the bytes they end at.
    entries: u64,
    head: Digest,
    length: u64,
    fsync: bool,
    poisoned: bool,
    /// None on a medium that has no place beside it.
    pace: Option<Pace>,
}

/// The content of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered<B = EntryBody> {
    /// Every whole entry, checked.
    pub ledger: Ledger<B>,
    /// What was cut off at the end, if anything.
    pub cut: Option<CutTail>,
}

/// The remains of an interrupted write at the end of a journal. They were never acknowledged,
/// unless the last entry was changed afterwards: the two cannot be distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutTail {
    /// How many entries are before them.
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

    /// Every file that a journal comes with: itself, its side file, its checkpoint, and that while it is
    /// written.
    pub fn files(path: impl AsRef<Path>) -> [PathBuf; 4] {
        let path = path.as_ref();
        let checkpoint = with_ending(path, checkpoint::ENDING);
        let temporary = with_ending(&checkpoint, checkpoint::TEMPORARY);
        [path.to_owned(), crate::side::SideFile::path_beside(path), checkpoint, temporary]
    }

    /// The tag of the entry that opens a journal, by which its machine is known
    /// ([`Body::OPENING`]). `None` while it holds no whole entry. Another process may be writing.
    ///
    /// # Errors
    /// [`JournalError`] when the file cannot be read, or is no journal of this version.
    pub fn opening(path: impl AsRef<Path>) -> Result<Option<String>, JournalError> {
        Self::opening_on(&DiskFile::read(path.as_ref())?)
    }

    /// As [`Journal::opening`], of the journal on a medium of one's own.
    ///
    /// # Errors
    /// Those of [`Journal::opening`].
    pub fn opening_on(medium: &dyn Medium) -> Result<Option<String>, JournalError> {
        scan::opening(medium)
    }

    /// Creates an empty journal. File and folder entry are on disk when this returns.
    ///
    /// # Errors
    /// [`JournalError::Exists`] if there is a file already; [`JournalError::Unusable`] if the
    /// folder is missing, read-only or full.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let mut journal = Self::at_start(Box::new(DiskFile::create(path.as_ref())?));
        if let Err(error) = journal.begin() {
            // An empty file would be in the way of the next attempt. Nothing is lost with it.
            let _ = std::fs::remove_file(journal.path());
            return Err(error);
        }
        Ok(journal.with_checkpoints_beside())
    }

    /// Opens a journal of the controller `eog` to go on with it. The remains of an interrupted write are cut off the file.
    ///
    /// # Errors
    /// [`JournalError::Locked`] while another process writes; [`JournalError::Damaged`] names the
    /// first entry that was changed. The file is unchanged then.
    pub fn open(path: impl AsRef<Path>) -> Result<(Self, Recovered), JournalError> {
        Self::open_as(path)
    }

    /// [`Journal::open`] for the entries of any controller.
    ///
    /// # Errors
    /// Those of [`Journal::open`].
    pub fn open_as<B: Body>(path: impl AsRef<Path>) -> Result<(Self, Recovered<B>), JournalError> {
        Self::on_disk(DiskFile::open(path.as_ref())?)
    }

    /// Opens the journal on a medium of one's own, as [`Journal::open`] does that in a file. An
    /// empty medium becomes an empty journal.
    ///
    /// No other process may write to the medium meanwhile.
    ///
    /// # Errors
    /// Those of [`Journal::open`], but for [`JournalError::Locked`].
    pub fn on<B: Body>(
        medium: impl Medium + 'static,
    ) -> Result<(Self, Recovered<B>), JournalError> {
        let mut journal = Self::at_start(Box::new(medium));
        let found = scan::scan::<B>(&*journal.medium)?;
        journal.entries = found.ledger.next_seq();
        journal.head = found.ledger.head();
        journal.length = found.kept;
        if found.kept < frame::HEADER_BYTES {
            journal.begin()?;
        } else {
            journal.repair(found.cut.is_some())?;
        }
        Ok((journal, Recovered { ledger: found.ledger, cut: found.cut }))
    }

    /// Reads a journal of the controller `eog` and changes nothing. Another process may be writing; what it is just adding
    /// counts as an interrupted write.
    ///
    /// # Errors
    /// Those of [`Journal::open`], but for [`JournalError::Locked`].
    pub fn read(path: impl AsRef<Path>) -> Result<Recovered, JournalError> {
        Self::read_as(path)
    }

    /// [`Journal::read`] for the entries of any controller.
    ///
    /// # Errors
    /// Those of [`Journal::read`].
    pub fn read_as<B: Body>(path: impl AsRef<Path>) -> Result<Recovered<B>, JournalError> {
        Self::read_on(&DiskFile::read(path.as_ref())?)
    }

    /// Reads the journal on a medium of one's own, as [`Journal::read`] does that in a file.
    ///
    /// # Errors
    /// Those of [`Journal::read`].
    pub fn read_on<B: Body>(medium: &dyn Medium) -> Result<Recovered<B>, JournalError> {
        let found = scan::scan(medium)?;
        Ok(Recovered { ledger: found.ledger, cut: found.cut })
    }

    /// Stores the next entries, in one write. When this returns they are on disk.
    ///
    /// # Errors
    /// [`JournalError::NotNext`] and [`JournalError::TooLarge`] refuse the whole group before
    /// anything is written; the journal goes on. After [`JournalError::NotWritten`] and
    /// [`JournalError::Vanished`] nothing of the group is acknowledged, the file is cut back to what
    /// was, if that is possible, and every later call is [`JournalError::Poisoned`].
    pub fn append<B: Body>(&mut self, entries: &[Arc<Entry<B>>]) -> Result<(), JournalError> {
        if self.poisoned {
            let path = self.path().to_owned();
            return Err(JournalError::Poisoned { path, entries: self.entries });
        }
        let Some(last) = entries.last() else { return Ok(()) };
        let frames = self.frames(entries)?;
        if let Err(error) = self.store(&frames) {
            self.poisoned = true;
            // The current error says more than that of a cut that fails, too.
            let _ = self.medium.set_len(self.length).and_then(|()| self.sync());
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

    /// Where the journal is: an absolute path, or what its medium is called.
    pub fn path(&self) -> &Path {
        self.medium.path()
    }

    /// How many entries are acknowledged.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    fn at_start(medium: Box<dyn Medium>) -> Self {
        let (entries, head, length) = (0, Digest::ZERO, 0);
        Self { medium, entries, head, length, fsync: true, poisoned: false, pace: None }
    }

    /// Writes the header into what is no journal yet.
    fn begin(&mut self) -> Result<(), JournalError> {
        let header = frame::header();
        let medium = &mut self.medium;
        medium
            .set_len(0)
            .and_then(|()| medium.write_at(0, &header))
            .and_then(|()| medium.sync_all())
            .map_err(|source| JournalError::unusable(self.path(), "create", source))?;
        self.length = header.len() as u64;
        Ok(())
    }

    /// Cuts the tail off, and stores what stays: its writer may have died before that.
    fn repair(&mut self, cut: bool) -> Result<(), JournalError> {
        let trimmed = if cut { self.medium.set_len(self.length) } else { Ok(()) };
        trimmed
            .and_then(|()| self.medium.sync_all())
            .map_err(|source| JournalError::unusable(self.path(), "repair", source))
    }

    /// The frames of entries that continue this journal.
    fn frames<B: Body>(&self, entries: &[Arc<Entry<B>>]) -> Result<Vec<u8>, JournalError> {
        let mut frames = Vec::new();
        let mut head = self.head;
        for (seq, entry) in (self.entries..).zip(entries) {
            entry
                .follows(seq, head)
                .map_err(|source| JournalError::NotNext { path: self.path().to_owned(), source })?;
            head = entry.hash;
            let payload = serde_json::to_vec(entry)
                .map_err(|error| JournalError::unusable(self.path(), "write", error.into()))?;
            let length = u32::try_from(payload.len()).ok().filter(|n| *n <= MAX_ENTRY_BYTES);
            let too_large = || JournalError::TooLarge {
                path: self.path().to_owned(),
                entry: seq,
                bytes: payload.len() as u64,
            };
            frame::encode(&payload, length.ok_or_else(too_large)?, &mut frames);
        }
        Ok(frames)
    }

    fn store(&mut self, frames: &[u8]) -> Result<(), JournalError> {
        let written = self.medium.write_at(self.length, frames).and_then(|()| self.sync());
        written.map_err(|source| JournalError::NotWritten {
            path: self.path().to_owned(),
            entries: self.entries,
            source,
        })?;
        match self.medium.is_still_there() {
            true => Ok(()),
            false => Err(JournalError::Vanished { path: self.path().to_owned() }),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.fsync { self.medium.sync_data() } else { Ok(()) }
    }
}

/// A path whose file name goes on with this ending.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
