//! `eog investigate`: open the input, run the engine, write the result.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use eog::{
    AbductivePolicy, Budget, Case, CommandPolicy, Concurrency, Config, ContextContract, Engine,
    EntryBody, Finished, Journal, Ledger, StopReason,
};
use eog_evidence::EvidencePolicy;

use crate::args::{Format, Investigate, PolicyChoice, Reading, Resume, Running, Start};
use crate::beside;
use crate::error::{CliError, Exit};
use crate::files;
use crate::memory::Memory;
use crate::onward::{self, Onward};
use crate::progress::Progress;
use crate::report::{self, Report};
use crate::source::{self, Source};

/// `eog investigate`.
pub(crate) fn run(arguments: &Investigate) -> Result<Exit, CliError> {
    let (running, start) = (&arguments.running, &arguments.start);
    let (policy, memory, progress) = prepare(running)?;
    let (source, case) = begin(&progress, start)?;
    let config = Config {
        policy: Some(policy_name(running.policy(), &running.policy_arg)),
        concurrency: Concurrency::Window(arguments.width),
        ..config(start)
    };
    let engine = Engine::new(source.contract, policy);
    let engine = beside::begin(engine, arguments.journal.as_deref(), !arguments.no_fsync)?;
    let finished = drive(running, &progress, engine, async |engine| {
        Ok(engine.investigate(config, case).await)
    })?;
    drop(progress);
    memory.tell(running.quiet);
    let onward = Onward {
        journal: arguments.journal.as_deref(),
        path: &start.path,
        architecture: start.architecture.as_deref(),
    };
    tell(running, source.incident.name, finished, onward)
}

/// Reads the incident that an investigation begins with.
pub(crate) fn begin(progress: &Progress, start: &Start) -> Result<(Source, Case), CliError> {
    let source = read(progress, &start.path, start.architecture.as_deref(), &start.reading)?;
    let case = source.case(&start.path, start.window)?;
    Ok((source, case))
}

/// `eog resume`.
pub(crate) fn resume(arguments: &Resume) -> Result<Exit, CliError> {
    let running = &arguments.running;
    let (policy, memory, progress) = prepare(running)?;
    let architecture = arguments.architecture.as_deref();
    let source = read(&progress, &arguments.path, architecture, &arguments.reading)?;
    let (journal, recovered) = Journal::open(&arguments.journal)?;
    beside::say_cut(&arguments.journal, recovered.cut);
    same_case(&source, &arguments.path, &arguments.journal, &recovered.ledger)?;
    same_judge(running.policy(), &running.policy_arg, &recovered.ledger, u64::MAX)?;
    let engine = Engine::new(source.contract, policy);
    let engine = beside::go_on(engine, journal, &arguments.journal, !arguments.no_fsync)?;
    let finished = drive(running, &progress, engine, async |engine| {
        engine.resume(&recovered.ledger).await.map_err(|error| CliError::Input {
            path: arguments.journal.clone(),
            reason: error.to_string(),
        })
    })?;
    drop(progress);
    memory.tell(running.quiet);
    let onward = Onward {
        journal: Some(&arguments.journal),
        path: &arguments.path,
        architecture: arguments.architecture.as_deref(),
    };
    tell(running, source.incident.name, finished, onward)
}

/// Refuses to mix two incidents: the folder must hold what the ledger began with.
pub(crate) fn same_case(
    source: &Source,
    folder: &Path,
    ledger_path: &Path,
    ledger: &Ledger,
) -> Result<(), CliError> {
    let unusable =
        |reason: &str| CliError::Input { path: ledger_path.to_owned(), reason: reason.to_owned() };
    let Some(EntryBody::Opened(opened)) = ledger.entries().first().map(|entry| &entry.body) else {
        return Err(unusable(
            "it holds no entry yet, so there is nothing to go on with; remove it and investigate anew",
        ));
    };
    let began = &opened.case;
    // A folder in which nothing can be started in that window is another input, too.
    let now = source.case(folder, Some(began.window));
    if now.is_ok_and(|now| now.topology == began.topology && now.anomalies == began.anomalies) {
        return Ok(());
    }
    Err(unusable(&format!(
        "it began with another input than {} gives now (its topology or alerts differ); name the \
         folder, and the --architecture, that it began with",
        folder.display()
    )))
}

/// Refuses to let somebody else judge than the ledger names, if it names anybody.
pub(crate) fn same_judge(
    choice: &PolicyChoice,
    arguments: &[OsString],
    ledger: &Ledger,
    at: u64,
) -> Result<(), CliError> {
    let now = policy_name(choice, arguments);
    match report::judge_at(ledger, at) {
        Some(judge) if judge != now => Err(CliError::Usage(format!(
            "in this ledger {} judges, but now {} would; name the same with --policy (and its \
             --policy-arg), or let another judge from an entry on with `eog fork`",
            report::clean(judge),
            report::clean(&now)
        ))),
        _ => Ok(()),
    }
}

/// Makes sure of what the command line names before anything is spent.
pub(crate) fn prepare(
    running: &Running,
) -> Result<(Box<dyn AbductivePolicy>, Memory, Progress), CliError> {
    if let Some(folder) = &running.out {
        files::prepare(folder)?;
    }
    let policy = policy(running.policy(), &running.policy_arg)?;
    let (policy, memory) =
        Memory::before(policy, running.memory.as_deref(), running.policy(), &running.policy_arg)?;
    Ok((policy, memory, Progress::start(running.quiet)))
}

/// Reads a folder, and says so.
pub(crate) fn read(
    progress: &Progress,
    path: &Path,
    architecture: Option<&Path>,
    reading: &Reading,
) -> Result<Source, CliError> {
    progress.say(&format!("reading {}", path.display()));
    source::open(path, architecture, reading, Some(progress.of_reading()))
}

/// Prints the result, writes the files, and says how to go on where something is left to do.
pub(crate) fn tell(
    running: &Running,
    name: String,
    mut finished: Finished,
    onward: Onward<'_>,
) -> Result<Exit, CliError> {
    let report = Report::of_run(name, &finished);
    let journal_error = finished.journal_error.take();
    let next = match &journal_error {
        Some(_) => onward.resume(running),
        None => onward.after(&finished, running),
    };
    let journal = journal_error.map_or(Ok(()), |error| {
        Err(CliError::JournalStopped { error: Box::new(error), onward: next.clone() })
    });
    let is_stored = journal.is_ok();
    let mut outputs = vec![journal, files::print(&render(&report, running.format))];
    if let Some(folder) = &running.out {
        let ledger = finished.ledger().to_json_lines();
        outputs.push(files::write(folder, "ledger.jsonl", &ledger));
        outputs.push(files::write(folder, "agent_output.json", &report::agent_output(&report)));
        outputs.push(files::write(folder, "graph.dot", &report::dot(&report)));
        outputs.push(files::write(folder, "report.md", &report::markdown(&report)));
    }
    let outputs = files::all(outputs);
    if let Some(error) = &finished.side_error {
        let line = format!("eog: figures of this run are missing beside the journal: {error}");
        eprintln!("{}", report::clean_line(&line));
    }
    if let (true, false, Some(command)) = (is_stored, running.quiet, next) {
        onward::say(&command);
    }
    outputs?;
    Ok(match finished.stop {
        StopReason::Cancelled => Exit::Interrupted,
        _ if report.nothing_was_decided() => Exit::Failed,
        _ if report.is_diagnosed() => Exit::Diagnosed,
        _ => Exit::Inconclusive,
    })
}

/// The report in one of the formats.
pub(crate) fn render(report: &Report, format: Format) -> String {
    match format {
        Format::Text => report::text(report, files::terminal_width()),
        Format::Json => report::json(report),
        Format::Dot => report::dot(report),
        Format::Mermaid => report::mermaid(report),
    }
}

/// A runtime for one command.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CliError::Runtime)
}

/// What a ledger calls the built-in rules.
const EVIDENCE: &str = "evidence";

/// What a ledger calls the policy that was chosen. Arguments may hold secrets, and a ledger is
/// passed on.
pub(crate) fn policy_name(choice: &PolicyChoice, arguments: &[OsString]) -> String {
    match (choice, arguments.len()) {
        (PolicyChoice::Evidence, _) => EVIDENCE.to_owned(),
        (PolicyChoice::Command(program), 0) => format!("command:{}", program.display()),
        (PolicyChoice::Command(program), given) => {
            let arguments = if given == 1 { "argument" } else { "arguments" };
            format!("command:{} with {given} {arguments}", program.display())
        }
    }
}

/// The policy that was chosen.
pub(crate) fn policy(
    choice: &PolicyChoice,
    arguments: &[OsString],
) -> Result<Box<dyn AbductivePolicy>, CliError> {
    Ok(match choice {
        PolicyChoice::Evidence => Box::new(EvidencePolicy::default()),
        PolicyChoice::Command(program) => {
            Box::new(arguments.iter().fold(command_policy(program)?, CommandPolicy::arg))
        }
    })
}

/// The policy that runs a program. One that is not there is a wrong command line, said at once
/// rather than once for each entity.
fn command_policy(program: &OsStr) -> Result<CommandPolicy, CliError> {
    let path = Path::new(program);
    let is_found = if path.components().count() > 1 {
        is_executable(path)
    } else {
        let search = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&search).any(|folder| is_executable(&folder.join(path)))
    };
    if is_found {
        Ok(CommandPolicy::new(program))
    } else {
        Err(CliError::Usage(format!(
            "--policy: there is no executable program {}; give its path, such as \
             command:./triage.py, and its arguments with --policy-arg",
            path.display()
        )))
    }
}

fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}

/// Resolves when the person or the system wants the program to end.
pub(crate) async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut end), Ok(mut hang_up)) =
            (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
        else {
            return std::future::pending().await;
        };
        tokio::select! {
            Ok(()) = tokio::signal::ctrl_c() => {}
            Some(()) = end.recv() => {}
            Some(()) = hang_up.recv() => {}
            else => std::future::pending().await,
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

pub(crate) type AnyEngine = Engine<Box<dyn ContextContract>, Box<dyn AbductivePolicy>>;

/// Drives the engine; Ctrl-C cancels it, and what was found so far is still reported.
pub(crate) fn drive(
    running: &Running,
    progress: &Progress,
    engine: AnyEngine,
    run: impl AsyncFnOnce(AnyEngine) -> Result<Finished, CliError>,
) -> Result<Finished, CliError> {
    let (events, mut stream) = eog::events();
    let (handle, controls) = eog::handle();
    let engine = engine.with_limits(running.limits()).with_events(events).with_controls(controls);
    let engine = match running.speculation() {
        Some(speculation) => engine.with_speculation(speculation),
        None => engine,
    };
    let interrupt = async {
        interrupted().await;
        handle.cancel();
        std::future::pending::<()>().await;
    };
    let watch = async {
        tokio::select! {
            () = progress.follow(&mut stream) => {}
            () = interrupt => {}
        }
    };
    runtime()?.block_on(async {
        let (finished, ()) = tokio::join!(run(engine), watch);
        finished
    })
}

/// The rules that were chosen.
pub(crate) fn config(start: &Start) -> Config {
    let (budget, broadcast) = (Budget::hops(start.budget), !start.no_messages);
    Config { budget, broadcast, ..start.profile.config() }
}
