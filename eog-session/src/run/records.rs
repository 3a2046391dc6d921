//! The journal of a run and the side file beside it.

use std::path::{Path, PathBuf};

use eog::journal::JournalError;
use eog::ledger::Body;
use eog::side::{SideCut, SideError, SideFile, SideRecord, SideRecords};
use eog::{CallRecorder, Engine, Journal, StopReason, Usage};

/// Where a run leaves its traces, and what earlier runs have left.
#[derive(Debug)]
#[non_exhaustive]
pub struct Records {
    journal: Option<Journal>,
    /// Stores the answers of models before they are used.
    pub recorder: CallRecorder,
    /// What earlier runs have spent.
    pub spent_before: Usage,
    /// What was cut off the end of the side file, if anything.
    pub cut: Option<SideCut>,
}

/// Why traces cannot be left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordsError {
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The side file cannot be used.
    #[error(transparent)]
    Side(#[from] SideError),
    /// Figures of another investigation would be taken for those of this one.
    #[error("{}: it is left over from a journal that is gone; remove it, or give the \
             journal another name than {}", side.display(), journal.display())]
    LeftOver {
        /// The side file.
        side: PathBuf,
        /// The journal that is to be made.
        journal: PathBuf,
    },
}

impl Records {
    /// For a run that leaves none.
    pub fn in_memory() -> Self {
        let (recorder, spent_before) = (CallRecorder::in_memory(), Usage::default());
        Self { journal: None, recorder, spent_before, cut: None }
    }

    /// Begins a new journal and its side file. A journal that holds nothing, since its process was killed at
    /// once, is begun again.
    ///
    /// # Errors
    /// [`RecordsError`] when there is something of these names already, or they cannot be made.
    pub fn begin(path: &Path) -> Result<Self, RecordsError> {
        let side = SideFile::path_beside(path);
        if !path.exists() && side.symlink_metadata().is_ok() {
            return Err(RecordsError::LeftOver { side, journal: path.to_owned() });
        }
        let journal = match Journal::create(path) {
            Err(error @ JournalError::Exists { .. }) => unbegun(path, &side).ok_or(error)?,
            created => created?,
        };
        Self::go_on(journal, path)
    }

    /// Goes on with a journal and its side file.
    ///
    /// # Errors
    /// [`RecordsError`] when the side file cannot be used.
    pub fn go_on(journal: Journal, path: &Path) -> Result<Self, RecordsError> {
        let (recorder, records) = CallRecorder::beside(path)?;
        let spent_before = records.usage_so_far();
        Ok(Self { journal: Some(journal), recorder, spent_before, cut: records.cut })
    }

    /// Goes on with a journal and a side file that are wherever they are, such as on media of one's own.
    pub fn on(journal: Journal, side: SideFile, records: &SideRecords) -> Self {
        let recorder = CallRecorder::on(side, records);
        let spent_before = records.usage_so_far();
        Self { journal: Some(journal), recorder, spent_before, cut: records.cut }
    }

    /// For a further run of the same process: with the journal that the last one has let go of, and
    /// what was spent so far.
    pub fn again(journal: Option<Journal>, recorder: CallRecorder, spent_before: Usage) -> Self {
        Self { journal, recorder, spent_before, cut: None }
    }

    /// The same, without waiting until the disk has what the journal stores.
    #[must_use]
    pub fn without_fsync(self) -> Self {
        Self { journal: self.journal.map(Journal::without_fsync), ..self }
    }

    /// Leaves the end of the journal to the next run as it is. What is asked is still recorded.
    pub(super) fn keep_no_journal(&mut self) {
        self.journal = None;
    }

    /// Has an engine store what it does.
    pub(super) fn of_engine<R, B: Body>(self, engine: Engine<R, B>) -> Engine<R, B> {
        let engine = engine.with_recorder(self.recorder, self.spent_before);
        match self.journal {
            Some(journal) => engine.with_journal(journal),
            None => engine,
        }
    }
}

/// The journal that is there, if no process writes it and both it and its side file are empty.
fn unbegun(path: &Path, side: &Path) -> Option<Journal> {
    let is_silent = match side.symlink_metadata() {
        Ok(_) => SideFile::read(side).ok()?.records.is_empty(),
        Err(_) => true,
    };
    let is_plain = path.symlink_metadata().is_ok_and(|about| about.is_file());
    let (journal, found) = Journal::open(path).ok().filter(|_| is_silent && is_plain)?;
    found.ledger.entries().is_empty().then_some(journal)
}

/// Why the last run of a journal ended, where its chain of so many entries does not show it. Nothing if
/// that run was killed, or has left no figures.
///
/// # Errors
/// [`SideError`] when the figures cannot be read.
pub fn last_stop(journal: &Path, entries: u64) -> Result<Option<StopReason>, SideError> {
    let side = SideFile::path_beside(journal);
    if !side.is_file() || !Journal::is_journal(journal) {
        return Ok(None);
    }
    let records = SideFile::read(&side)?.records;
    let runs = |record: &&SideRecord| {
        matches!(record, SideRecord::Run { .. } | SideRecord::Stopped { .. })
    };
    Ok(match records.iter().rev().find(runs) {
        Some(SideRecord::Stopped { entries: then, reason, .. }) if *then == entries => {
            Some(*reason)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Killed after the file was made, after its header, after its side file; and while another process is about to begin.
    #[test]
    fn a_journal_that_holds_nothing_is_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.journal");
        let exists = |path: &Path| {
            let error = Records::begin(path).unwrap_err();
            assert!(matches!(error, RecordsError::Journal(JournalError::Exists { .. })), "{error}");
        };
        std::fs::write(&path, "").unwrap();
        for _ in 0..2 {
            let records = Records::begin(&path).unwrap();
            exists(&path);
            drop(records);
        }
        std::fs::write(&path, "something else").unwrap();
        exists(&path);
    }
}
