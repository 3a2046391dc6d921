//! `eog close`: an investigation becomes a case.

use std::collections::BTreeSet;

use eog::Timestamp;
use eog_cases::close::{ToClose, change_of};
use eog_cases::{CaseFolder, Closing, Grade, Truth};
use eog_session::source::{Kind, OpenError, ReadOptions, open_folder};

use crate::args::Close;
use crate::error::{CliError, Exit};
use crate::runtime::runtime;
use crate::shown::clean_line;
use crate::{files, travel};

/// `eog close`.
pub(crate) fn close(arguments: &Close) -> Result<Exit, CliError> {
    let read = travel::read(&arguments.run)?;
    let called = match &arguments.path {
        None => read.name(),
        Some(path) => {
            if !matches!(Kind::of(path)?, Kind::Bundle | Kind::Snapshot) {
                return Err(OpenError::NotAFolder { path: path.clone() }.into());
            }
            let options = ReadOptions {
                architecture: arguments.architecture.clone(),
                ..ReadOptions::default()
            };
            let opened = open_folder(path, &options)?;
            if let Err(error) = eog_session::run::same_source(&opened, &read.ledger) {
                return Err(CliError::run(error, &opened, Some(&read.path), || None));
            }
            opened.incident().name.clone()
        }
    };
    let to_close = ToClose {
        read: &read,
        incident: arguments.path.as_deref(),
        architecture: arguments.architecture.as_deref(),
        called: &called,
        most: arguments.max_incident,
    };
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
    let mut new = runtime()?.block_on(to_close.close(&diagnosis, truth, closing))?;
    let writer = CaseFolder::write(arguments.of.folder())?;
    if let Some(known) = writer.of_ledger(&new.case)? {
        new.case.name = known;
    }
    let case = &new.case;
    writer.add(case, &new.files, arguments.replace)?;
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

/// What comes from incidents holds no control characters.
pub(super) fn clean_line_by_line(text: &str) -> String {
    text.lines().map(|line| clean_line(line) + "\n").collect()
}
