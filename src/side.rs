//! The side file: what an investigation took and cost, and calls outside its loop, beside the
//! journal.

mod error;
mod read;
mod record;
mod recorder;

use std::path::{Path, PathBuf};

pub use error::SideError;
pub use read::{SideCut, SideRecords};
pub use record::{CallFigures, RunStart, SideRecord};
pub use recorder::{CallRecorder, RecordError};

use crate::journal::file::{DiskFile, FileError, Refusal};
use crate::journal::{Medium, with_ending};

/// The version of the format that this program writes and reads.
const FORMAT: u32 = 1;

/// The longest line that a side file takes, in bytes with its line feed: 16 MiB.
///
/// Readers set aside no more than this for one line.
pub const MAX_SIDE_LINE_BYTES: u64 = 16 << 20;

/// When appended records outlive a crash. They outlive one of the process in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A crash of the machine may lose them. For figures.
    Lazy,
    /// They are on disk when the call returns.
    Synced,
}

/// An open side file, locked for writing until it is dropped: JSON Lines beside a journal, with
/// what is no part of the ledger's chain. `docs/embedding.md` describes it.
///
/// ```
/// use eog::Usage;
/// use eog::side::{Durability, SideFile, SideRecord};
/// # let folder = tempfile::tempdir()?;
/// let journal = folder.path().join("run.journal");
/// let (mut side, _) = SideFile::beside(&journal)?;
/// let usage = Usage { model_calls: 2, ..Usage::default() };
/// side.append(&[SideRecord::Wasted { calls: 2, usage }], Durability::Lazy)?;
/// drop(side);
///
/// let records = SideFile::read(SideFile::path_beside(&journal))?;
/// assert_eq!(records.usage_so_far(), usage);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SideFile {
    medium: Box<dyn Medium>,
    /// Acknowledged bytes.
    length: u64,
    poisoned: bool,
}

impl SideFile {
    /// Where the side file of a journal is: its path with `.side.jsonl` appended.
    pub fn path_beside(journal: impl AsRef<Path>) -> PathBuf {
        with_ending(journal.as_ref(), ".side.jsonl")
    }

    /// Opens the side file of a journal, or creates it where there is none, and reads it through.
    /// The remains of an interrupted write are cut off the file.
    ///
    /// # Errors
    /// [`SideError::Locked`] while another process writes; [`SideError::Damaged`] names the first
    /// line that cannot be read. The file is unchanged then.
    pub fn beside(journal: impl AsRef<Path>) -> Result<(Self, SideRecords), SideError> {
        let path = Self::path_beside(journal);
        match DiskFile::create(&path) {
            Err(FileError { why: Refusal::Exists, .. }) => Self::on(DiskFile::open(&path)?),
            created => Self::on(created?),
        }
    }

    /// Opens the side file on a medium of one's own. An empty medium becomes an empty side file.
    ///
    /// No other process may write to the medium meanwhile.
    ///
    /// # Errors
    /// Those of [`SideFile::beside`], but for [`SideError::Locked`].
    pub fn on(medium: impl Medium + 'static) -> Result<(Self, SideRecords), SideError> {
        let mut side = Self { medium: Box::new(medium), length: 0, poisoned: false };
        let found = read::scan(&*side.medium)?;
        side.length = found.kept;
        side.settle(found.records.cut.is_some())?;
        Ok((side, found.records))
    }

    /// Reads a side file and changes nothing. Another process may be writing.
    ///
    /// # Errors
    /// Those of [`SideFile::beside`], but for [`SideError::Locked`]; [`SideError::Unusable`] also
    /// where there is none.
    pub fn read(path: impl AsRef<Path>) -> Result<SideRecords, SideError> {
        Self::read_on(&DiskFile::read(path.as_ref())?)
    }

    /// Reads the side file on a medium of one's own, as [`SideFile::read`] does that in a file.
    ///
    /// # Errors
    /// Those of [`SideFile::read`].
    pub fn read_on(medium: &dyn Medium) -> Result<SideRecords, SideError> {
        Ok(read::scan(medium)?.records)
    }

    /// Adds records, in one write. Answers of outside calls are always synced.
    ///
    /// # Errors
    /// [`SideError::TooLong`] refuses the whole group before anything is written; the file goes on.
    /// After [`SideError::NotWritten`] and [`SideError::Vanished`] nothing of the group counts, the
    /// file is cut back to what was, if that is possible, and every later call is
    /// [`SideError::Poisoned`].
    pub fn append(
        &mut self,
        records: &[SideRecord],
        durability: Durability,
    ) -> Result<(), SideError> {
        self.ready()?;
        if records.is_empty() {
            return Ok(());
        }
        let lines = self.lines(records)?;
        let outside = records.iter().any(|record| matches!(record, SideRecord::Outside { .. }));
        if let Err(error) = self.store(&lines, outside || durability == Durability::Synced) {
            self.poisoned = true;
            // The error at hand says more than that of a cut that fails, too.
            let _ = self.medium.set_len(self.length).and_then(|()| self.medium.sync_data());
            return Err(error);
        }
        self.length += lines.len() as u64;
        Ok(())
    }

    /// Where the side file is: an absolute path, or what its medium is called.
    pub fn path(&self) -> &Path {
        self.medium.path()
    }

    /// Whether records can be added: an error after a failed write.
    fn ready(&self) -> Result<(), SideError> {
        if self.poisoned {
            return Err(SideError::Poisoned { path: self.path().to_owned() });
        }
        Ok(())
    }

    /// Writes the header into an empty file, cuts a tail off, and stores what stays: who wrote it
    /// may have died before that.
    fn settle(&mut self, cut: bool) -> Result<(), SideError> {
        let trimmed = if cut { self.medium.set_len(self.length) } else { Ok(()) };
        let begun = trimmed.and_then(|()| {
            if self.length == 0 {
                let header = record::header();
                self.medium.write_at(0, &header)?;
                self.length = header.len() as u64;
            }
            self.medium.sync_all()
        });
        begun.map_err(|source| SideError::unusable(self.path(), "prepare", source))
    }

    fn lines(&self, records: &[SideRecord]) -> Result<Vec<u8>, SideError> {
        let mut lines = Vec::new();
        for record in records {
            let failed =
                |error: serde_json::Error| SideError::unusable(self.path(), "write", error.into());
            let line = serde_json::to_vec(record).map_err(failed)?;
            if matches!(record, SideRecord::Outside { .. }) {
                // What is nested too deeply can be written, but not read again.
                serde_json::from_slice::<SideRecord>(&line).map_err(failed)?;
            }
            let bytes = line.len() as u64 + 1;
            if bytes > MAX_SIDE_LINE_BYTES {
                return Err(SideError::TooLong { path: self.path().to_owned(), bytes });
            }
            lines.extend(line);
            lines.push(b'\n');
        }
        Ok(lines)
    }

    fn store(&mut self, lines: &[u8], sync: bool) -> Result<(), SideError> {
        let written = self.medium.write_at(self.length, lines);
        written
            .and_then(|()| if sync { self.medium.sync_data() } else { Ok(()) })
            .map_err(|source| SideError::NotWritten { path: self.path().to_owned(), source })?;
        match self.medium.is_still_there() {
            true => Ok(()),
            false => Err(SideError::Vanished { path: self.path().to_owned() }),
        }
    }
}
