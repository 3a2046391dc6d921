//! `eog replay`, `eog explain`, `eog diff`: what a ledger tells.

use std::path::Path;

use eog::travel::Unjudged;
use eog::{EntityId, Ledger, SideError};
use eog_session::controllers::{AnyFinished, AnyLedger, Pause};
use eog_session::run::RunError;
use eog_session::travel::{self, ExplainError, Explained, Parted, Read, Recorded, What};

use crate::args::{Diff, Explain, Format, Replay};
use crate::error::{CliError, Exit, NOTHING_YET};
use crate::files;
use crate::investigate::{choose, render, say_cut};
use crate::progress::Progress;
use crate::report::{self, Report};
use crate::runtime::runtime;

/// Rebuilds an investigation and prints its report.
pub(crate) fn replay(arguments: &Replay) -> Result<Exit, CliError> {
    let read = read(&arguments.ledger)?;
    let AnyFinished::Eog(finished) = restore(&read)?;
    let report = Report::new(read.name(), &finished);
    let exit = if report.nothing_was_decided() {
        Exit::Failed
    } else if report.is_diagnosed() {
        Exit::Diagnosed
    } else {
        Exit::Inconclusive
    };
    if arguments.entries {
        files::print(&report::entries(finished.ledger(), files::terminal_width()))?;
        return Ok(exit);
    }
    if matches!(arguments.format, Format::Text) {
        let entries = read.ledger.len();
        files::print(&format!("{entries} entries derived again, all as recorded\n\n"))?;
    }
    files::print(&render(&report, arguments.format))?;
    Ok(exit)
}

/// Says why an entity got its label.
pub(crate) fn explain(arguments: &Explain) -> Result<Exit, CliError> {
    let read = read(&arguments.ledger)?;
    let unusable = |reason: String| CliError::Input { path: read.path.clone(), reason };
    let entity = EntityId::new(arguments.entity.clone())
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let chosen = choose(&arguments.judging)?;
    let limits = arguments.attempts.limits(arguments.policy_timeout);
    let chosen = chosen.with_limits(limits);
    let listener = Progress::start(true).listener();
    let explained = travel::explain(&read, &entity, &chosen, listener, unknown_stop);
    let explained = runtime()?.block_on(explained).map_err(|error| match error {
        ExplainError::Run(RunError::OtherJudge { then, now }) => CliError::other_judge(&then, &now),
        ExplainError::Run(RunError::Judge(error)) => error.into(),
        ExplainError::Run(RunError::Empty) => unusable(NOTHING_YET.to_owned()),
        error => unusable(error.to_string()),
    })?;
    let Explained { explanation, unjudged, finished, .. } = explained;
    let AnyFinished::Eog(finished) = finished;
    let text = match unjudged {
        Some(Unjudged::Unknown) => return Err(unusable(unevaluated(finished.ledger(), &entity))),
        Some(why) => report::not_judged(&entity, &why, files::terminal_width()),
        None => {
            let report = Report::new(read.name(), &finished);
            report::explanation(&report, &explanation, files::terminal_width())
        }
    };
    files::print(&text)?;
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
    let (first, second) = (read(&arguments.first)?, read(&arguments.second)?);
    let compared = travel::diff(&first.ledger, &second.ledger)
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let mut lines: Vec<(&str, String)> = Vec::new();
    for setting in &compared.settings {
        lines.push(("", format!("{}: {} | {}", setting.name, setting.first, setting.second)));
    }
    if compared.other_case {
        lines.push(("", "the cases differ: topology, window, alerts or seeds".to_owned()));
    }
    match &compared.parting {
        Parted::Never if compared.equal => {
            lines.push(("", "the ledgers are equal".to_owned()));
        }
        Parted::Never => lines.push(("", "what happened is the same".to_owned())),
        Parted::OneGoesOn { shared, first } => {
            let longer = if *first { "the first" } else { "the second" };
            lines.push(("", format!("the same for {shared} entries; {longer} goes on")));
        }
        Parted::At { seq, first, second } => {
            lines.push(("", format!("they part at entry {seq}")));
            lines.push(("  first:  ", describe(first)));
            lines.push(("  second: ", describe(second)));
        }
    }
    if let Some(seq) = compared.parting.seq() {
        lines.extend(kinship(&first.ledger, &second.ledger, seq).map(|words| ("", words)));
    }
    let concluded = |read: &Read| {
        let AnyFinished::Eog(finished) = restore(read)?;
        Ok::<_, CliError>(report::in_one_line(&Report::new(read.name(), &finished)))
    };
    let (a, b) = (concluded(&first)?, concluded(&second)?);
    lines.push(("first:  ", a));
    lines.push(("second: ", b));
    files::print(&report::paragraphs(&lines, files::terminal_width()))?;
    Ok(Exit::Diagnosed)
}

/// What each of two ledgers has to say of itself if it becomes a fork at this entry.
fn kinship(first: &AnyLedger, second: &AnyLedger, seq: u64) -> impl Iterator<Item = String> {
    let forked = |name: &str, ledger: &AnyLedger, other: &AnyLedger, others_name: &str| {
        let AnyLedger::Eog(ledger) = ledger;
        let fork = report::forks(ledger).into_iter().find(|fork| fork.at + 1 == seq)?;
        // The parent may have gone on since.
        let of =
            if other.holds(fork.parent) { format!(" of {others_name}") } else { String::new() };
        let words = report::clean(&fork.in_words()).into_owned();
        Some(format!("{name} is a fork{of} {words}"))
    };
    let a = forked("the first", first, second, "the second");
    let b = forked("the second", second, first, "the first");
    a.into_iter().chain(b)
}

fn describe(recorded: &Recorded) -> String {
    match &recorded.what {
        What::Judged { entity, label, summary, told } => {
            let entity = report::clean(entity.as_str());
            format!("{entity} is {label}, {told} told: {}", report::clean(summary))
        }
        What::Observation => "an observation".to_owned(),
        What::Pause(Pause::Stopped) => "a stop from outside".to_owned(),
        What::Pause(Pause::GoesOn) => "going on after a stop".to_owned(),
        What::Fork => "a fork".to_owned(),
        _ => "something else".to_owned(),
    }
}

/// Reads a ledger, or the one in a folder. What a journal lacks at its end is said.
pub(crate) fn read(path: &Path) -> Result<Read, CliError> {
    let read = travel::read(path)?;
    say_cut(&read.path, read.cut);
    Ok(read)
}

/// The investigation that wrote a ledger, as it stood at the end.
fn restore(read: &Read) -> Result<AnyFinished, CliError> {
    read.restore(unknown_stop)
        .map_err(|error| CliError::Input { path: read.path.clone(), reason: error.to_string() })
}

fn unknown_stop(error: &SideError) {
    let line = format!("eog: it is not known why the last run ended: {error}");
    eprintln!("{}", report::clean_line(&line));
}
