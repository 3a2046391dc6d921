//! `eog replay`, `eog tree`, `eog explain`, `eog diff`: what a ledger holds.

use std::path::Path;
use std::time::Instant;

use crate::shown::clean_line;
use eog::side::SideError;
use eog::travel::Unjudged;
use eog::{Diagnosis, EntityId, Topology};
use eog_evidence::near_entities;
use eog_report::page::paragraphs;
use eog_report::{Lookup, Report, words};
use eog_session::controllers::{AnyFinished, AnyLedger};
use eog_session::explanations;
use eog_session::run::{RunError, same_source};
use eog_session::source::Opened;
use eog_session::travel::{self, ExplainError, Explained, Read};

use crate::args::{Diff, Explain, Format, Reading, Replay, Tree, TreeFormat};
use crate::error::{CliError, Exit, NOTHING_YET};
use crate::progress::Progress;
use crate::reports::render;
use crate::rules::choose;
use crate::runtime::runtime;
use crate::source::Input;
use crate::{files, source};

/// Rebuilds an investigation and prints its report.
pub(crate) fn replay(arguments: &Replay) -> Result<Exit, CliError> {
    let read = read(&arguments.ledger)?;
    let report = Report::new(read.name(), restore(&read)?.diagnosis());
    let exit = if report.nothing_was_decided() {
        Exit::Failed
    } else if report.diagnosis.is_diagnosed() {
        Exit::Diagnosed
    } else {
        Exit::Inconclusive
    };
    if arguments.entries {
        files::print(&read.ledger.in_words(files::terminal_width()))?;
        return Ok(exit);
    }
    if matches!(arguments.format, Format::Text) {
        let entries = words::count(read.ledger.len(), "entry", "entries");
        files::print(&format!("{entries} verified\n\n"))?;
    }
    files::print(&render(&report, arguments.format, arguments.verbose, None))?;
    Ok(exit)
}

/// Prints the tree that a search grew.
pub(crate) fn tree(arguments: &Tree) -> Result<Exit, CliError> {
    let read = read(&arguments.ledger)?;
    let finished = restore(&read)?;
    let tree = match arguments.format {
        TreeFormat::Text => finished.tree(files::terminal_width()),
        TreeFormat::Json => finished.tree_json(),
    };
    let Some(tree) = tree else {
        let controller = finished.controller();
        let reason = format!(
            "it is a ledger of the controller {controller}, which has no search tree; `eog replay \
             --entries` lists its steps"
        );
        return Err(CliError::Input { path: read.path.clone(), reason });
    };
    files::print(&tree)?;
    Ok(Exit::Diagnosed)
}

/// Says why an entity got its label.
pub(crate) fn explain(arguments: &Explain) -> Result<Exit, CliError> {
    let read = read(&arguments.ledger)?;
    let unusable = |reason: String| CliError::Input { path: read.path.clone(), reason };
    let entity = EntityId::new(arguments.entity.clone())
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let lookup = arguments.path.as_deref().map(|path| {
        let architecture = arguments.architecture.as_deref();
        let input = Input::of(path, &arguments.reading)?;
        // Live sources are not queried for a comparison alone.
        if input.is_at_rest(&read.path) {
            open(&Progress::start(false), &read, input, architecture, &arguments.reading, None)?;
        }
        let window = read.ledger.case().map(|case| case.window);
        Ok::<_, CliError>(lookup(path, architecture).with_window(window))
    });
    let lookup = lookup.transpose()?;
    if !matches!(read.ledger, AnyLedger::Eog(_)) && !read.ledger.is_empty() {
        let finished = restore(&read)?;
        let (diagnosis, steps) = (finished.diagnosis(), finished.steps());
        let topology = read.ledger.case().map(|case| &case.topology);
        let is_known = topology.is_some_and(|topology| topology.contains(&entity));
        if !is_known && diagnosis.belief(&entity).is_none() {
            return Err(unusable(unknown(topology, &diagnosis, &entity)));
        }
        let width = files::terminal_width();
        files::print(&explanations::evaluations(
            &diagnosis,
            &steps,
            &entity,
            lookup.as_ref(),
            width,
        ))?;
        return Ok(Exit::Diagnosed);
    }
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
    let diagnosis = finished.diagnosis();
    let width = files::terminal_width();
    let text = match unjudged {
        Some(Unjudged::Unknown) => {
            let topology = read.ledger.case().map(|case| &case.topology);
            return Err(unusable(unknown(topology, &diagnosis, &entity)));
        }
        Some(why) => explanations::not_judged(&diagnosis, &entity, &why, width),
        None => explanations::explanation(&diagnosis, &explanation, lookup.as_ref(), width),
    };
    files::print(&text)?;
    Ok(Exit::Diagnosed)
}

/// Opens what a ledger is of. Another input is refused: nothing of it would fit. Of live sources, what was captured for the
/// ledger is read where it is kept.
pub(crate) fn open(
    progress: &Progress,
    read: &Read,
    input: Input<'_>,
    architecture: Option<&Path>,
    reading: &Reading,
    until: Option<Instant>,
) -> Result<Opened, CliError> {
    let journal = Some(read.path.as_path()).filter(|it| source::is_captured(it));
    let at = source::At { window: None, journal, until };
    let opened = input.open(progress, architecture, reading, at)?;
    match same_source(&opened, &read.ledger) {
        Ok(()) => Ok(opened),
        Err(error) => Err(CliError::run(error, &opened, Some(&read.path), || None)),
    }
}

/// Where the evidence is shown again.
pub(crate) fn lookup(path: &Path, architecture: Option<&Path>) -> Lookup {
    // Reports are passed on: names of files are masked in them, too.
    let named = |path: &Path| eog_evidence::mask_text(&path.display().to_string());
    Lookup::new(named(path)).with_architecture(architecture.map(named))
}

/// The same for a report, with the window where it is not the one that is chosen by rule. Live sources have
/// said something else since.
pub(crate) fn lookup_of(
    source: &Opened,
    diagnosis: &Diagnosis,
    architecture: Option<&Path>,
) -> Option<Lookup> {
    let path = source.path();
    let chosen = source.case(None).ok().map(|case| case.window);
    let window = Some(diagnosis.window).filter(|window| chosen != Some(*window));
    path.is_dir().then(|| lookup(path, architecture).with_window(window))
}

/// Names entities that are meant, perhaps: near names of the topology, else some that were evaluated.
fn unknown(topology: Option<&Topology>, diagnosis: &Diagnosis, entity: &EntityId) -> String {
    let near = topology.map(|topology| near_entities(topology, entity.as_str()));
    if let Some(near) = near.filter(|near| !near.is_empty()) {
        return format!("there is no entity {entity}; did you mean {}?", near.join(" or "));
    }
    let evaluated = diagnosis.beliefs.keys();
    let alike = |other: &&EntityId| {
        let (a, b) = (other.as_str().to_lowercase(), entity.as_str().to_lowercase());
        a.contains(&b) || b.contains(&a)
    };
    let mut meant: Vec<&str> =
        evaluated.clone().filter(alike).map(EntityId::as_str).take(5).collect();
    if meant.is_empty() {
        meant = evaluated.map(EntityId::as_str).take(5).collect();
    }
    format!("there is no entity {entity}; evaluated entities include {}", meant.join(", "))
}

/// Says where two runs part.
pub(crate) fn diff(arguments: &Diff) -> Result<Exit, CliError> {
    let (first, second) = (read(&arguments.first)?, read(&arguments.second)?);
    let compared = travel::diff(&first.ledger, &second.ledger)
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let mut lines = explanations::difference(&compared, &first.ledger, &second.ledger);
    let concluded = |read: &Read| {
        Ok::<_, CliError>(Report::new(read.name(), restore(read)?.diagnosis()).in_one_line())
    };
    let (a, b) = (concluded(&first)?, concluded(&second)?);
    lines.push(("first:  ", a));
    lines.push(("second: ", b));
    files::print(&paragraphs(&lines, files::terminal_width()))?;
    Ok(Exit::Diagnosed)
}

/// Reads a ledger, or the one in a folder. What a journal lacks at its end is said.
pub(crate) fn read(path: &Path) -> Result<Read, CliError> {
    let read = travel::read(path)?;
    say_cut(&read.path, read.cut);
    Ok(read)
}

/// The investigation that wrote a ledger, as it stood at the end.
pub(crate) fn restore(read: &Read) -> Result<AnyFinished, CliError> {
    read.restore(unknown_stop)
        .map_err(|error| CliError::Input { path: read.path.clone(), reason: error.to_string() })
}

fn unknown_stop(error: &SideError) {
    let line = format!("eog: cannot read why the last run ended: {error}");
    eprintln!("{}", clean_line(&line));
}

/// Says what an interrupted write cost.
pub(crate) fn say_cut(path: &Path, cut: Option<impl std::fmt::Display>) {
    if let Some(cut) = cut {
        eprintln!("{}", clean_line(&format!("eog: {}: {cut}", path.display())));
    }
}
