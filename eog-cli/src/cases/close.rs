//! `eog close`: an investigation becomes a case.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use eog::Timestamp;
use eog_cases::close::{CloseError, Incident, ToClose, change_of};
use eog_cases::{CaseFolder, Closing, Grade, Truth};
use eog_session::source::{FolderHandle, Kind, OpenError, Opened, ReadOptions, open_from};

use super::clean_line_by_line;
use crate::args::Close;
use crate::error::{CliError, Exit};
use crate::runtime::runtime;
use crate::source::finished_capture;
use crate::{files, travel};

/// `eog close`.
pub(crate) fn close(arguments: &Close) -> Result<Exit, CliError> {
    let read = travel::read(&arguments.run)?;
    let architecture = arguments.architecture.as_deref();
    let path = kept_at(arguments.path.as_deref(), &read.path)?;
    let opened = path.map(|path| open(&path, architecture)).transpose()?;
    let incident =
        opened.as_ref().map(|(opened, folder)| Incident { opened, folder, architecture });
    let to_close = ToClose { read: &read, incident, most: arguments.max_incident };
    let diagnosis = to_close.diagnosis()?;
    let change = |id: &String| change_of(&diagnosis, id);
    let truth = Truth {
        causes: arguments.cause.iter().cloned().collect(),
        changes: arguments.change.iter().map(change).collect::<Result<BTreeSet<_>, _>>()?,
        not_in_topology: arguments.not_in_topology.iter().cloned().collect(),
        nothing_wrong: arguments.nothing_wrong,
        path_wrong: arguments.path_wrong,
    };
    let by = arguments.by.clone().unwrap_or_else(user);
    let closing = Closing { at: Timestamp::now(), by, note: arguments.note.clone() };
    let new = runtime()?.block_on(to_close.close(&diagnosis, truth, closing));
    let new = new.map_err(|error| match (error, &opened) {
        (CloseError::Run(error), Some((opened, _))) => {
            CliError::run(error, opened, Some(&read.path), || None)
        }
        (error, _) => error.into(),
    })?;
    let writer = CaseFolder::write(arguments.of.folder())?;
    let case = new.store(&writer, arguments.replace)?;
    let mut text = format!(
        "{}: {}\n  concluded: {}\n  true:      {}\n",
        case.name,
        case.grade,
        case.concluded.in_words(),
        case.truth.in_words()
    );
    text += match (case.folder.is_some(), case.reproduced) {
        (false, _) => {
            "  kept: the ledger alone; with PATH, `eog cases check` could investigate it again\n"
        }
        (true, Some(true)) => {
            "  kept: ledger and incident; investigated again it gives the same ledger\n"
        }
        (true, None) => "  kept: ledger and incident; `eog cases check` answers from the ledger\n",
        (true, Some(false)) => {
            "  kept: ledger and incident; investigated again it gives another ledger, since the ledger is \
             of another version or other settings, or masking secrets changed evidence\n"
        }
    };
    if case.grade == Grade::PathWrong && !case.truth.path_wrong {
        text += "  the entity is right, the change that was named is another\n";
    }
    files::print(&clean_line_by_line(&text))?;
    Ok(Exit::Diagnosed)
}

/// Who runs this process, as far as the environment says.
fn user() -> String {
    let names = ["USER", "LOGNAME", "USERNAME"];
    let named = names.iter().find_map(|name| std::env::var(name).ok().filter(|it| !it.is_empty()));
    named.unwrap_or_else(|| "unknown".to_owned())
}

/// The folder that is kept: the one that is named, or else what was captured of live sources for the journal.
fn kept_at(named: Option<&Path>, journal: &Path) -> Result<Option<PathBuf>, CliError> {
    let Some(path) = named else { return Ok(finished_capture(journal)) };
    match Kind::of(path)? {
        Kind::Bundle | Kind::Snapshot => Ok(Some(path.to_owned())),
        Kind::Servers => Err(OpenError::NotAFolder { path: path.to_owned() }.into()),
        Kind::Live => match finished_capture(journal) {
            Some(capture) => Ok(Some(capture)),
            None => Err(CliError::Input {
                path: path.to_owned(),
                reason: format!(
                    "these live sources say something else by now, and there is no finished capture beside {}: \
                     give the journal of the run, or the folder of its capture, or omit {} to keep the ledger alone",
                    journal.display(),
                    path.display()
                ),
            }),
        },
    }
}

/// A bundle or a snapshot that is to be kept.
fn open(path: &Path, architecture: Option<&Path>) -> Result<(Opened, FolderHandle), CliError> {
    let unreadable = |source| OpenError::Unreadable { path: path.to_owned(), source };
    let folder = FolderHandle::open(path).map_err(unreadable)?;
    let architecture = architecture.map(Path::to_owned);
    let options = ReadOptions { architecture, ..ReadOptions::default() };
    Ok((open_from(&folder, &options)?, folder))
}
