//! The journal of a run and the side file beside it.

use std::fmt::Display;
use std::path::Path;

use eog::{CallRecorder, Journal, SideFile, SideRecord, StopReason, Usage};
use eog_report::clean::clean_line;

use crate::error::CliError;
use crate::investigate::AnyEngine;

/// Where a run leaves its traces, and what earlier runs have left.
pub(crate) struct Beside {
    journal: Option<Journal>,
    /// Stores the answers of models before they are used.
    pub(crate) recorder: CallRecorder,
    /// What earlier runs have spent.
    pub(crate) spent_before: Usage,
}

impl Beside {
    /// Begins a new journal, if one is asked for, and its side file.
    pub(crate) fn begin(path: Option<&Path>, fsync: bool) -> Result<Self, CliError> {
        let Some(path) = path else {
            let recorder = CallRecorder::in_memory();
            return Ok(Self { journal: None, recorder, spent_before: Usage::default() });
        };
        let side = SideFile::path_beside(path);
        // Figures of another investigation would be taken for those of this one.
        if !path.exists() && side.symlink_metadata().is_ok() {
            return Err(CliError::Input {
                path: side,
                reason: format!(
                    "it is left over from a journal that is gone; remove it, or give --journal \
                     another name than {}",
                    path.display()
                ),
            });
        }
        Self::go_on(Journal::create(path)?, path, fsync)
    }

    /// Goes on with a journal and its side file.
    pub(crate) fn go_on(journal: Journal, path: &Path, fsync: bool) -> Result<Self, CliError> {
        let (recorder, records) = CallRecorder::beside(path)?;
        say_cut(path, records.cut);
        let journal = if fsync { journal } else { journal.without_fsync() };
        let spent_before = records.usage_so_far();
        Ok(Self { journal: Some(journal), recorder, spent_before })
    }

    /// The same without the journal, whose end the next run shall find as it is. What is asked is
    /// still recorded.
    pub(crate) fn without_journal(self) -> Self {
        Self { journal: None, ..self }
    }

    /// Has an engine store what it does.
    pub(crate) fn of_engine(self, engine: AnyEngine) -> AnyEngine {
        let engine = engine.with_recorder(self.recorder, self.spent_before);
        match self.journal {
            Some(journal) => engine.with_journal(journal),
            None => engine,
        }
    }
}
/// Why the last run of a journal ended, where its chain of so many entries cannot tell. Nothing if
/// that run was killed, or has left no figures.
pub(crate) fn last_stop(journal: &Path, entries: u64) -> Option<StopReason> {
    let side = SideFile::path_beside(journal);
    if !side.is_file() || !Journal::is_journal(journal) {
        return None;
    }
    let records = match SideFile::read(&side) {
        Ok(records) => records.records,
        Err(error) => {
            let line = format!("eog: it is not known why the last run ended: {error}");
            eprintln!("{}", clean_line(&line));
            return None;
        }
    };
    let runs = |record: &&SideRecord| {
        matches!(record, SideRecord::Run { .. } | SideRecord::Stopped { .. })
    };
    match records.iter().rev().find(runs)? {
        SideRecord::Stopped { entries: then, reason, .. } if *then == entries => Some(*reason),
        _ => None,
    }
}

/// Says what an interrupted write cost.
pub(crate) fn say_cut(path: &Path, cut: Option<impl Display>) {
    if let Some(cut) = cut {
        eprintln!("{}", clean_line(&format!("eog: {}: {cut}", path.display())));
    }
}
