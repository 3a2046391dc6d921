//! `eog close` and `eog cases`: incidents that are over, and what was learnt of them.

mod check;
mod close;
mod junit;
mod list;

use std::path::Path;
use std::sync::Arc;

use eog::Diagnosis;
use eog_cases::similar::{cases_like, with_prior};
use eog_cases::{CaseError, CaseFolder};
use eog_evidence::Weights;
use eog_report::SimilarCase;
use eog_session::controllers::AnyLedger;
use eog_session::judge::read_weights;
use serde::Serialize;

use crate::args::{Cases, CasesFormat, History, OfCases, OnCases};
use crate::error::{CliError, Exit};
use crate::shown::clean_line;
use crate::{files, travel};

pub(crate) use close::close;

/// `eog cases`.
pub(crate) fn run(arguments: &Cases) -> Result<Exit, CliError> {
    match &arguments.what {
        OnCases::List { format, of } => list::list(&open(of)?, *format),
        OnCases::Show { name, format, of } => list::show(&open(of)?, name, *format),
        OnCases::Stats { format, of } => list::stats(&open(of)?, *format),
        OnCases::Similar { run, most, format, of } => {
            let read = travel::read(run)?;
            let diagnosis = travel::restore(&read)?.diagnosis();
            list::similar(&open(of)?, &read, &diagnosis, *most, *format)
        }
        OnCases::Prior { file, weight, weights, of } => {
            let table = weights.as_deref().map(read_weights).transpose()?;
            let table = table.map_or_else(Weights::shipped, Arc::new);
            let table = with_prior(&open(of)?, &table, *weight)?;
            files::write_file(file, &table.to_toml())?;
            let count = table.closed_cases();
            files::print(&format!("{} written to {}\n", counted(count), file.display()))?;
            Ok(Exit::Diagnosed)
        }
        OnCases::Check(arguments) => check::run(arguments),
        OnCases::Export { file, names, of } => export(&open(of)?, file, names),
        OnCases::Import { file, replace, of } => {
            let writer = CaseFolder::write(of.folder())?;
            let imported = eog_cases::archive::import(&writer, file, *replace)?;
            say_added(imported.added.len(), imported.same.len())
        }
        #[cfg(feature = "nats")]
        OnCases::Push { names, replace, of, nats } => {
            let folder = open(of)?;
            let (added, same) =
                crate::nats::push(&folder, &named(&folder, names)?, *replace, nats)?;
            say_added(added, same)
        }
        #[cfg(feature = "nats")]
        OnCases::Pull { names, replace, of, nats } => {
            let (added, same) = crate::nats::pull(&of.folder(), names, *replace, nats)?;
            say_added(added, same)
        }
        OnCases::Forget { names, before, keep, of } => {
            let writer = CaseFolder::write(open(of)?.path())?;
            let mut rows = writer.list()?.rows;
            rows.sort_by_key(|row| std::cmp::Reverse(row.at));
            let kept = keep.unwrap_or(0);
            let old = rows.into_iter().skip(kept).filter(|row| before.is_none_or(|it| row.at < it));
            let names = match names.is_empty() {
                true => old.map(|row| row.name).collect(),
                false => names.clone(),
            };
            writer.forget(&names)?;
            files::print(&format!("{} removed\n", counted(names.len())))?;
            Ok(Exit::Diagnosed)
        }
    }
}

/// The cases that are named, or all.
fn named(folder: &CaseFolder, names: &[String]) -> Result<Vec<String>, CaseError> {
    if names.is_empty() { folder.names() } else { Ok(names.to_vec()) }
}

fn say_added(added: usize, same: usize) -> Result<Exit, CliError> {
    files::print(&format!("{} added, {same} there already\n", counted(added)))?;
    Ok(Exit::Diagnosed)
}

fn export(folder: &CaseFolder, file: &Path, names: &[String]) -> Result<Exit, CliError> {
    files::refuse_taken(file, "give another name")?;
    let names = named(folder, names)?;
    eog_cases::archive::export(folder, &names, file)?;
    files::print(&format!("{} written to {}\n", counted(names.len()), file.display()))?;
    Ok(Exit::Diagnosed)
}

/// Most similar incidents that a report lists.
const MAX_SIMILAR: usize = 3;

/// Makes sure that there is the history that is named.
pub(crate) fn check_history(history: &History) -> Result<(), CliError> {
    history.folder().map(CaseFolder::open).transpose()?;
    Ok(())
}

/// Closed incidents like an investigation, where there is a history.
pub(crate) fn like(
    history: &History,
    ledger: &AnyLedger,
    diagnosis: &Diagnosis,
) -> Result<Vec<SimilarCase>, CliError> {
    let Some(folder) = history.folder() else { return Ok(Vec::new()) };
    let folder = CaseFolder::open(folder)?;
    Ok(cases_like(&folder, ledger, diagnosis, MAX_SIMILAR)?)
}

fn open(of: &OfCases) -> Result<CaseFolder, CaseError> {
    CaseFolder::open(of.folder())
}

fn counted(cases: usize) -> String {
    eog_report::words::count(cases as u64, "case", "cases")
}

/// What comes from incidents holds no control characters.
fn clean_line_by_line(text: &str) -> String {
    text.lines().map(|line| clean_line(line) + "\n").collect()
}

/// Prints something as JSON, or its text.
fn print(
    format: CasesFormat,
    json: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<(), CliError> {
    match format {
        CasesFormat::Text => files::print(&text()),
        CasesFormat::Json => {
            let text = serde_json::to_string_pretty(json)
                .map_err(|error| CliError::Usage(error.to_string()))?;
            files::print(&format!("{}\n", eog_report::clean::escape_json(&text)))
        }
    }
}
