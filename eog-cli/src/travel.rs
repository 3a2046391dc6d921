//! `eog replay`, `eog explain`, `eog diff`: what a ledger tells.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use eog::travel::Unjudged;
use eog::{
    CallRecorder, Controller, EntityId, Finished, Journal, Ledger, Limits, Output, StopReason,
    Usage,
};
use eog_report::Report;
use eog_report::page::paragraphs;

use crate::args::{Diff, Explain, Format, Replay};
use crate::error::{CliError, Exit};
use crate::judge::{Judge, Models};
use crate::progress::Progress;
use crate::{beside, files, investigate, told};

/// The most bytes of a ledger that are read.
const MAX_LEDGER_BYTES: u64 = 4 << 30;

/// Rebuilds an investigation and prints its report.
pub(crate) fn replay(arguments: &Replay) -> Result<Exit, CliError> {
    let (path, ledger) = read(&arguments.ledger)?;
    let finished = restore(&path, &ledger)?;
    let report = Report::new(name_of(&path), finished.diagnosis());
    let exit = if report.nothing_was_decided() {
        Exit::Failed
    } else if report.diagnosis.is_diagnosed() {
        Exit::Diagnosed
    } else {
        Exit::Inconclusive
    };
    if arguments.entries {
        files::print(&eog_report::entries(&ledger, files::terminal_width()))?;
        return Ok(exit);
    }
    if matches!(arguments.format, Format::Text) {
        let entries = ledger.entries().len();
        files::print(&format!("{entries} entries derived again, all as recorded\n\n"))?;
    }
    files::print(&investigate::render(&report, arguments.format))?;
    Ok(exit)
}

/// Says why an entity got its label.
pub(crate) fn explain(arguments: &Explain) -> Result<Exit, CliError> {
    let (path, ledger) = read(&arguments.ledger)?;
    let unusable = |reason: String| CliError::Input { path: path.clone(), reason };
    let entity = EntityId::new(arguments.entity.clone())
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let judge = Judge::choose(&arguments.judging)?;
    judge.must_be_that_of(&ledger, u64::MAX)?;
    let case = investigate::case_of(&ledger, &path)?;
    let recorder = CallRecorder::in_memory();
    let models = judge.models(&recorder, Usage::default(), &Progress::start(true))?;
    let policy = judge.policy(models.as_ref(), case);
    let explained = investigate::runtime()?.block_on(eog::travel::explain(
        &ledger,
        &entity,
        Some(&*policy),
        Limits::default(),
    ));
    models.as_ref().map_or(Ok(()), Models::must_be_recorded)?;
    let explanation = explained.map_err(|error| unusable(error.to_string()))?;
    let why_not = eog::travel::unjudged(&ledger, &entity).map_err(|e| unusable(e.to_string()))?;
    match why_not {
        None => {}
        Some(Unjudged::Unknown) => return Err(unusable(unevaluated(&ledger, &entity))),
        Some(why) => {
            files::print(&told::not_judged(&entity, &why, files::terminal_width()))?;
            return Ok(Exit::Diagnosed);
        }
    }
    let diagnosis = restore(&path, &ledger)?.diagnosis();
    files::print(&told::explanation(&diagnosis, &explanation, files::terminal_width()))?;
    Ok(Exit::Diagnosed)
}

/// Names the evaluated entities that are meant, perhaps.
fn unevaluated(ledger: &Ledger, entity: &EntityId) -> String {
    let mut evaluated: Vec<&EntityId> = ledger.evaluations().map(|e| &e.entity).collect();
    evaluated.sort();
    evaluated.dedup();
    let alike = |other: &&&EntityId| {
        let (a, b) = (other.as_str().to_lowercase(), entity.as_str().to_lowercase());
        a.contains(&b) || b.contains(&a)
    };
    let mut meant: Vec<&str> = evaluated.iter().filter(alike).map(|e| e.as_str()).take(5).collect();
    if meant.is_empty() {
        meant = evaluated.iter().map(|e| e.as_str()).take(5).collect();
    }
    format!("nothing is called {entity}; evaluated were, among others: {}", meant.join(", "))
}

/// Says where two runs part.
pub(crate) fn diff(arguments: &Diff) -> Result<Exit, CliError> {
    let (first_path, first) = read(&arguments.first)?;
    let (second_path, second) = read(&arguments.second)?;
    let difference = eog::travel::diff(&first, &second);
    let mut lines = told::difference(&difference, &first, &second);
    let concluded = |path: &Path, ledger: &Ledger| {
        let report = Report::new(name_of(path), restore(path, ledger)?.diagnosis());
        Ok::<_, CliError>(report.in_one_line())
    };
    let (a, b) = (concluded(&first_path, &first)?, concluded(&second_path, &second)?);
    lines.push(("first:  ", a));
    lines.push(("second: ", b));
    files::print(&paragraphs(&lines, files::terminal_width()))?;
    Ok(Exit::Diagnosed)
}

/// Reads a ledger, or the one in a folder. What a journal lacks at its end is said.
pub(crate) fn read(path: &Path) -> Result<(PathBuf, Ledger), CliError> {
    let file = if path.is_dir() { path.join("ledger.jsonl") } else { path.to_owned() };
    let unusable = |reason: String| CliError::Input { path: file.clone(), reason };
    // Opened once: a pipe gives what it holds to its first reader only.
    let open = || File::open(&file).and_then(|file| Ok((file.metadata()?, file)));
    let (about, opened) = open().map_err(|error| unusable(no_ledger(path, &error)))?;
    let too_large = || unusable(format!("more than {MAX_LEDGER_BYTES} bytes are no ledger"));
    if about.len() > MAX_LEDGER_BYTES {
        return Err(too_large());
    }
    if about.is_file() && Journal::is_journal(&file) {
        let recovered = Journal::read(&file)?;
        beside::say_cut(&file, recovered.cut);
        return Ok((file, recovered.ledger));
    }
    let mut bytes = Vec::new();
    let read = opened.take(MAX_LEDGER_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| unusable(error.to_string()))?;
    if bytes.len() as u64 > MAX_LEDGER_BYTES {
        return Err(too_large());
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        unusable("not the text of a ledger; a journal must be a regular file".to_owned())
    })?;
    let ledger = Ledger::from_json_lines(&text).map_err(|error| unusable(error.to_string()))?;
    Ok((file, ledger))
}

/// Why there is nothing to be read, and what to name.
fn no_ledger(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound if path.is_dir() => {
            "this folder holds no ledger; name one that --out wrote, or the file of --journal"
        }
        io::ErrorKind::NotFound => {
            "there is no such file; name the ledger or the folder that --out wrote, or the file of \
             --journal"
        }
        _ => return error.to_string(),
    }
    .to_owned()
}

/// The investigation that wrote a ledger, as it stood at the end.
fn restore(path: &Path, ledger: &Ledger) -> Result<Finished, CliError> {
    let mut controller = Controller::restore(ledger)
        .map_err(|error| CliError::Input { path: path.to_owned(), reason: error.to_string() })?;
    // What is still waiting was interrupted: a ledger holds what was committed, not why it ends.
    // The side file of a journal may know.
    let stop = match controller.poll() {
        Output::Done(stop) => stop,
        _ => beside::last_stop(path, ledger.next_seq()).unwrap_or(StopReason::Cancelled),
    };
    Ok(Finished::new(stop, controller))
}

/// What an investigation is called by its ledger, which does not hold its name: as the folder of
/// `--out`, or as the file.
fn name_of(path: &Path) -> String {
    let is_out = path.file_name().is_some_and(|name| name == "ledger.jsonl");
    let folder = path.parent().and_then(Path::file_name).filter(|_| is_out);
    folder.or(path.file_stem()).map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
