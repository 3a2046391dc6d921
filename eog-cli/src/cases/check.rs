//! `eog cases check`: every case is investigated again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use eog_cases::CaseFolder;
use eog_cases::check::{Checked, Judges, Outcome, check};
use eog_session::judge::{By, Chosen, Options, Policies as _, PolicyChoice, split_prompts};
use serde::Serialize;

use super::{clean_line_by_line, counted, junit, open, print};
use crate::args::CheckCases;
use crate::error::{CliError, Exit};
use crate::files;
use crate::interrupt::is_interrupted;
use crate::progress::Progress;
use crate::runtime::runtime;

/// Most cases that are investigated at a time: each is in memory.
const MAX_AT_ONCE: usize = 64;

/// A check of all cases.
#[derive(Serialize)]
struct Report<'c> {
    judged_by: &'c str,
    outcomes: &'c BTreeMap<Outcome, usize>,
    cases: &'c [Checked],
    not_checked: usize,
}

pub(super) fn run(arguments: &CheckCases) -> Result<Exit, CliError> {
    let folder = open(&arguments.of)?;
    let is_given = arguments.judging.policy.is_some() || arguments.judging.model.is_some();
    let chosen = chosen(arguments, is_given)?;
    let names = names(&folder, arguments)?;
    let prompts = prompts(arguments);
    let judges = Judges {
        evidence: &chosen,
        prompts: prompts.as_deref(),
        all: if is_given { Some(&chosen) } else { None },
    };
    let cases = check_all(&folder, &names, judges, arguments.concurrency)?;
    let mut outcomes = BTreeMap::new();
    for checked in &cases {
        *outcomes.entry(checked.outcome).or_insert(0) += 1;
    }
    let by = if is_given { format!("by {}", chosen.name()) } else { "as before".to_owned() };
    let not_checked = names.len() - cases.len();
    let report = Report { judged_by: &by, outcomes: &outcomes, cases: &cases, not_checked };
    print(arguments.format, &report, || clean_line_by_line(&in_words(&report, arguments.verbose)))?;
    if let Some(file) = &arguments.junit {
        files::write_file(file, &junit::report(&cases))?;
    }
    Ok(match cases.iter().any(|checked| checked.outcome.is_failure()) {
        _ if not_checked > 0 => Exit::Interrupted,
        true => Exit::Failed,
        false => Exit::Diagnosed,
    })
}

/// Checks cases, so many at a time, until interrupted. The result is in the order of names.
fn check_all(
    folder: &CaseFolder,
    names: &[String],
    judges: Judges<'_>,
    at_once: Option<u8>,
) -> Result<Vec<Checked>, CliError> {
    let at_once = at_once.map_or_else(cores, usize::from).clamp(1, MAX_AT_ONCE);
    let (progress, runtime) = (Progress::start(false), runtime()?);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        while !is_interrupted() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(name) = names.get(at) else { break };
            let count = counted(names.len());
            progress.say(&format!("{at} of {count} begun; checking {name}"));
            let checked = runtime.block_on(check(folder, name, judges));
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(at, checked);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..at_once.min(names.len()) {
            scope.spawn(work);
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(done.into_values().collect())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// The policy that the command line names. Settings that name another are for investigations: checking the history asks no
/// model unless that is asked for, and never to write reports.
fn chosen(arguments: &CheckCases, is_given: bool) -> Result<Chosen, CliError> {
    let mut options = arguments.judging.options();
    options.finalize = Some(By::Rules);
    if !is_given {
        options.policy = Some(PolicyChoice::Evidence);
        options.bootstrap = Some(By::Rules);
        options.roles = Some(By::Rules);
        // Compared with those of the cases alone.
        options.prompts = None;
    }
    Ok(Chosen::choose(&options)?)
}

/// The beginning of the digest of the prompts that a model would be asked with.
fn prompts(arguments: &CheckCases) -> Option<String> {
    let options = Options {
        policy: Some(PolicyChoice::Llm),
        weights: None,
        model: Some("openai/none".to_owned()),
        ..arguments.judging.options()
    };
    let name = Chosen::outline(&options).ok()?.name();
    split_prompts(&name).1.map(str::to_owned)
}

fn names(folder: &CaseFolder, arguments: &CheckCases) -> Result<Vec<String>, CliError> {
    let mut names = arguments.names.clone();
    for name in &names {
        folder.case(name)?;
    }
    if names.is_empty() {
        names = folder.names()?;
    }
    if let Some(since) = arguments.since {
        let rows = folder.list()?.rows.into_iter();
        let closed: BTreeMap<String, _> = rows.map(|row| (row.name, row.at)).collect();
        // A case that cannot be read is checked: that is what it is found by.
        names.retain(|name| closed.get(name).is_none_or(|at| *at >= since));
    }
    Ok(names)
}

fn in_words(report: &Report<'_>, verbose: bool) -> String {
    let mut text = String::new();
    let is_shown =
        |it: &&Checked| verbose || !matches!(it.outcome, Outcome::Identical | Outcome::LedgerOnly);
    for checked in report.cases.iter().filter(is_shown) {
        let grades = match checked.grades {
            Some((before, Some(after))) if before != after => format!(" ({before} → {after})"),
            Some((before, _)) => format!(" ({before})"),
            None => String::new(),
        };
        let _ = writeln!(text, "{:<17} {}{grades}", checked.outcome.to_string(), checked.case);
        let said = checked.before.as_deref().zip(checked.after.as_deref());
        if let Some((before, after)) = said.filter(|(before, after)| before != after) {
            let _ = writeln!(text, "{:<17} {before} → {after}", "");
        }
        if let Some(note) = &checked.note {
            let _ = writeln!(text, "{:<17} {note}", "");
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let outcomes = Outcome::ALL.iter().rev().filter_map(|it| Some((it, report.outcomes.get(it)?)));
    let outcomes: Vec<String> = outcomes.map(|(it, count)| format!("{count} {it}")).collect();
    let outcomes = if outcomes.is_empty() { "none".to_owned() } else { outcomes.join(", ") };
    let _ = writeln!(
        text,
        "{} checked, judged {}: {outcomes}",
        counted(report.cases.len()),
        report.judged_by
    );
    if report.outcomes.contains_key(&Outcome::Unanswered) {
        text += "What is unanswered needs a model or a program: give --policy, and --model, to ask it.\n";
    }
    if report.not_checked > 0 {
        let _ = writeln!(text, "{} not checked", counted(report.not_checked));
    }
    text
}
