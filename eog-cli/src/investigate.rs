//! `eog investigate`: open the input, run the engine, write the result.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use eog::{
    AbductivePolicy, Budget, CallRecorder, Case, Concurrency, Config, ContextAndPolicy,
    ContextContract, Engine, EntryBody, Finished, Journal, Ledger, RecordError, StopReason, Usage,
    Window,
};
use eog_prompts::{Finalizer, Opening};
use eog_report::clean::{clean, clean_line};
use eog_report::{Narrative, Report, narrate};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::args::{Format, Investigate, Reading, Resume, Running, Start};
use crate::beside::{self, Beside};
use crate::dry_run;
use crate::error::{CliError, Exit};
use crate::files;
use crate::input;
use crate::interrupt::{EndsAtOnce, interrupted};
use crate::judge::{Judge, Models};
use crate::memory::Memory;
use crate::onward::{self, CutShort, Onward};
use crate::progress::Progress;
use crate::source::{self, Source};

/// `eog investigate`.
pub(crate) fn run(arguments: &Investigate) -> Result<Exit, CliError> {
    let (running, start) = (&arguments.running, &arguments.start);
    // What is shown and never sent needs no key, and no place to write to.
    if arguments.dry_run {
        let judge = Judge::outline(&running.judging)?;
        let progress = Progress::start(running.quiet);
        let (source, by_rule) = begin(&progress, start)?;
        drop(progress);
        return dry_run::run(&judge, &source, &by_rule, start);
    }
    let judge = Judge::choose(&running.judging)?;
    let progress = prepare(running)?;
    let (source, by_rule) = begin(&progress, start)?;
    let began = Began {
        config: Config {
            policy: Some(judge.name()),
            concurrency: Concurrency::Window(arguments.width),
            ..config(start)
        },
        window: start.window,
    };
    let onward = Onward {
        journal: arguments.journal.as_deref(),
        path: &start.path,
        architecture: start.architecture.as_deref(),
    };
    let beside = Beside::begin(arguments.journal.as_deref(), !arguments.no_fsync)?;
    if let Some(journal) = &arguments.journal {
        keep_input(&beside, journal, &start.path, running)?;
    }
    let work = Work { running, judge: &judge, progress, onward, since: Instant::now() };
    work.begin(source, by_rule, beside, began)
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
    let judge = Judge::choose(&running.judging)?;
    let progress = prepare(running)?;
    let architecture = arguments.architecture.as_deref();
    let source = read(&progress, &arguments.path, architecture, &arguments.reading)?;
    let (journal, recovered) = Journal::open(&arguments.journal)?;
    beside::say_cut(&arguments.journal, recovered.cut);
    let ledger = recovered.ledger;
    let onward = Onward { journal: Some(&arguments.journal), path: &arguments.path, architecture };
    let work = Work { running, judge: &judge, progress, onward, since: Instant::now() };
    if ledger.entries().is_empty() {
        let beside = Beside::go_on(journal, &arguments.journal, !arguments.no_fsync)?;
        keep_input(&beside, &arguments.journal, &arguments.path, running)?;
        let began = Began::recall(&beside.recorder, &arguments.journal)?;
        work.must_judge(began.config.policy.as_deref())?;
        let by_rule = source.case(&arguments.path, began.window)?;
        return work.begin(source, by_rule, beside, began);
    }
    same_case(&source, &arguments.path, &arguments.journal, &ledger)?;
    judge.must_be_that_of(&ledger, u64::MAX)?;
    let beside = Beside::go_on(journal, &arguments.journal, !arguments.no_fsync)?;
    keep_input(&beside, &arguments.journal, &arguments.path, running)?;
    let case = case_of(&ledger, &arguments.journal)?;
    work.drive(source, case, beside, async |engine| {
        engine.resume(&ledger).await.map_err(|error| CliError::Input {
            path: arguments.journal.clone(),
            reason: error.to_string(),
        })
    })
}

/// Remembers what the files of the input are, or says that they are not those of the beginning.
fn keep_input(
    beside: &Beside,
    journal: &Path,
    folder: &Path,
    running: &Running,
) -> Result<(), CliError> {
    match input::Files::of(folder, journal, running.out.as_deref()) {
        Some(files) => files.keep(&beside.recorder, folder),
        None => Ok(()),
    }
}

/// What an investigation was begun with, before its first entry could be written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Began {
    config: Config,
    window: Option<Window>,
}

impl Began {
    /// What it is called beside the journal.
    const NAME: &'static str = "begin";

    /// Stores it, so that a run which is killed before its first entry can be resumed.
    async fn store(&self, recorder: &CallRecorder) -> Result<(), CliError> {
        let stored =
            recorder.call(Self::NAME, &(), async || Ok((self.clone(), Usage::default()))).await;
        stored.map(|_: Self| ()).map_err(unrecorded)
    }

    fn recall(recorder: &CallRecorder, journal: &Path) -> Result<Self, CliError> {
        let absent = async || Err(eog::Failure::context("not recorded"));
        runtime()?.block_on(recorder.call(Self::NAME, &(), absent)).map_err(|error| match error {
            RecordError::Failed { .. } => nothing_yet(journal),
            error => unrecorded(error),
        })
    }
}

fn unrecorded(error: RecordError) -> CliError {
    match error {
        RecordError::NotStored(error) => error.into(),
        error => CliError::Unrecorded(error),
    }
}

/// One investigation that is to be made, and everything around it.
pub(crate) struct Work<'a> {
    pub(crate) running: &'a Running,
    pub(crate) judge: &'a Judge,
    pub(crate) progress: Progress,
    pub(crate) onward: Onward<'a>,
    /// When the input had been read: the deadline counts from here.
    pub(crate) since: Instant,
}

impl Work<'_> {
    /// Begins with the first entry, where the model, if one is asked, and the rules choose.
    fn begin(
        self,
        source: Source,
        by_rule: Case,
        beside: Beside,
        began: Began,
    ) -> Result<Exit, CliError> {
        let models = self.judge.models(&beside.recorder, beside.spent_before, &self.progress)?;
        let opening = self.judge.opening(models.as_ref());
        let case = runtime()?.block_on(async {
            match opening {
                Some(opening) => {
                    began.store(&beside.recorder).await?;
                    self.open(&opening, &source, began.window).await
                }
                None => Ok(by_rule),
            }
        })?;
        models.as_ref().map_or(Ok(()), Models::must_be_recorded)?;
        // A start that was chosen by rule for want of a budget is good enough for a report, but whoever
        // goes on with a larger one shall have it chosen by the model.
        let beside = match models.as_ref().and_then(Models::over_budget) {
            Some(_) => beside.without_journal(),
            None => beside,
        };
        self.drive_with(source, &case.clone(), beside, models.as_ref(), async |engine| {
            Ok(engine.investigate(began.config, case).await)
        })
    }

    /// Has a model choose the window and where to start.
    async fn open(
        &self,
        opening: &Opening,
        source: &Source,
        window: Option<Window>,
    ) -> Result<Case, CliError> {
        tokio::select! {
            biased;
            () = interrupted() => Err(self.nothing_yet("interrupted", Exit::Interrupted)),
            opened = opening.open(&source.incident, window) => match opened {
                Ok(opened) => Ok(opened.case),
                Err(error) => Err(source.cannot_start(self.onward.path, error)),
            },
            () = self.time_is_up() => Err(self.nothing_yet("time was up", Exit::Failed)),
        }
    }

    async fn time_is_up(&self) {
        match self.running.deadline() {
            Some(after) => tokio::time::sleep(after.saturating_sub(self.since.elapsed())).await,
            None => std::future::pending().await,
        }
    }

    fn nothing_yet(&self, why: &'static str, exit: Exit) -> CliError {
        CliError::NotBegun { why, exit, onward: self.onward.resume(self.running, self.judge) }
    }

    fn must_judge(&self, then: Option<&str>) -> Result<(), CliError> {
        let now = self.judge.name();
        match then {
            Some(then) if then != now => Err(CliError::Usage(format!(
                "this investigation began with {} as the judge, but now it would be {}; name the \
                 same",
                clean(then),
                clean(&now)
            ))),
            _ => Ok(()),
        }
    }

    /// Drives an engine to the end, has the result told, and prints it.
    pub(crate) fn drive(
        self,
        source: Source,
        case: &Case,
        beside: Beside,
        run: impl AsyncFnOnce(AnyEngine) -> Result<Finished, CliError>,
    ) -> Result<Exit, CliError> {
        let models = self.judge.models(&beside.recorder, beside.spent_before, &self.progress)?;
        self.drive_with(source, case, beside, models.as_ref(), run)
    }

    fn drive_with(
        self,
        source: Source,
        case: &Case,
        beside: Beside,
        models: Option<&Models>,
        run: impl AsyncFnOnce(AnyEngine) -> Result<Finished, CliError>,
    ) -> Result<Exit, CliError> {
        let policy = self.judge.policy(models, case);
        let (policy, memory) =
            Memory::before(policy, self.running.memory.as_deref(), || self.judge.identity(case))?;
        let recorder = beside.recorder.clone();
        let engine = beside.of_engine(Engine::new(source.contract, policy));
        let finished = drive(&self, engine, run)?;
        models.map_or(Ok(()), Models::must_be_recorded)?;
        // Who interrupts wants nobody to be asked any more.
        let finalizer =
            self.judge.finalizer(models).filter(|_| finished.stop != StopReason::Cancelled);
        let told =
            finalizer.map(|finalizer| self.tell_by_model(&finalizer, &finished)).transpose()?;
        models.map_or(Ok(()), Models::must_be_recorded)?;
        let (narrative, interrupted) = told.unzip();
        let over_budget = models.and_then(Models::over_budget).map(CutShort::OverBudget);
        let cut_short = match interrupted {
            Some(true) => Some(CutShort::Interrupted),
            _ => over_budget,
        };
        let told = Told { narrative, spent_after: recorder.take_usage(), cut_short };
        drop(self.progress);
        memory.tell(self.running.quiet);
        tell(self.running, self.judge, source.incident.name, finished, told, self.onward)
    }

    /// Has a model tell the result. Whoever does not want to wait for it gets that of the rules. Says
    /// whether that was so.
    fn tell_by_model(
        &self,
        finalizer: &Finalizer,
        finished: &Finished,
    ) -> Result<(Narrative, bool), CliError> {
        let diagnosis = finished.diagnosis();
        Ok(runtime()?.block_on(async {
            tokio::select! {
                biased;
                () = interrupted() => (narrate(&diagnosis), true),
                finalized = finalizer.finalize(&diagnosis) => (finalized.narrative, false),
            }
        }))
    }
}

/// What was told of a result beyond what follows from it, and what that took.
pub(crate) struct Told {
    narrative: Option<Narrative>,
    spent_after: Usage,
    cut_short: Option<CutShort>,
}

fn nothing_yet(journal: &Path) -> CliError {
    CliError::Input {
        path: journal.to_owned(),
        reason: "it holds no entry yet, so there is nothing to go on with; remove it and \
                 investigate anew"
            .to_owned(),
    }
}

/// What a ledger began with.
pub(crate) fn case_of<'l>(ledger: &'l Ledger, path: &Path) -> Result<&'l Case, CliError> {
    match ledger.entries().first().map(|entry| &entry.body) {
        Some(EntryBody::Opened(opened)) => Ok(&opened.case),
        _ => Err(nothing_yet(path)),
    }
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
    let began = case_of(ledger, ledger_path)?;
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

/// Makes sure of what the command line names before anything is spent.
pub(crate) fn prepare(running: &Running) -> Result<Progress, CliError> {
    if let Some(folder) = &running.out {
        files::prepare(folder)?;
    }
    if let Some(folder) = &running.memory {
        Memory::try_out(folder)?;
    }
    Ok(Progress::start(running.quiet))
}

/// Reads a folder, and says so.
pub(crate) fn read(
    progress: &Progress,
    path: &Path,
    architecture: Option<&Path>,
    reading: &Reading,
) -> Result<Source, CliError> {
    progress.say(&format!("reading {}", path.display()));
    // Files are read in one go; whoever asks MCP servers listens meanwhile.
    let _ends = path.is_dir().then(|| EndsAtOnce::with(progress.bar()));
    source::open(path, architecture, reading, Some(progress.of_reading()))
}

/// Prints the result, writes the files, and says how to go on where something is left to do.
pub(crate) fn tell(
    running: &Running,
    judge: &Judge,
    name: String,
    mut finished: Finished,
    told: Told,
    onward: Onward<'_>,
) -> Result<Exit, CliError> {
    let mut report = crate::told::report_of_run(name, &finished);
    report.diagnosis.spent.usage += told.spent_after;
    if let Some(narrative) = told.narrative {
        report.narrative = narrative;
    }
    let journal_error = finished.journal_error.take();
    let next = match &journal_error {
        Some(_) => onward.resume(running, judge),
        None => onward.after(&finished, told.cut_short, running, judge),
    };
    let journal = journal_error.map_or(Ok(()), |error| {
        Err(CliError::JournalStopped { error: Box::new(error), onward: next.clone() })
    });
    let is_stored = journal.is_ok();
    let mut outputs = vec![journal, files::print(&render(&report, running.format))];
    if let Some(folder) = &running.out {
        let ledger = finished.ledger().to_json_lines();
        outputs.push(files::write(folder, "ledger.jsonl", &ledger));
        outputs.push(files::write(folder, "agent_output.json", &eog_report::agent_output(&report)));
        outputs.push(files::write(folder, "graph.dot", &eog_report::dot(&report)));
        outputs.push(files::write(folder, "report.md", &eog_report::markdown(&report)));
    }
    let outputs = files::all(outputs);
    if let Some(error) = &finished.side_error {
        let line = format!("eog: figures of this run are missing beside the journal: {error}");
        eprintln!("{}", clean_line(&line));
    }
    if let (true, false, Some(command)) = (is_stored, running.quiet, next) {
        onward::say(&command);
    }
    outputs?;
    Ok(match finished.stop {
        StopReason::Cancelled => Exit::Interrupted,
        _ if told.cut_short == Some(CutShort::Interrupted) => Exit::Interrupted,
        _ if report.nothing_was_decided() => Exit::Failed,
        _ if report.diagnosis.is_diagnosed() => Exit::Diagnosed,
        _ => Exit::Inconclusive,
    })
}

/// The report in one of the formats.
pub(crate) fn render(report: &Report, format: Format) -> String {
    match format {
        Format::Text => eog_report::text(report, files::terminal_width()),
        Format::Json => eog_report::json(report),
        Format::Dot => eog_report::dot(report),
        Format::Mermaid => eog_report::mermaid(report),
    }
}

static RUNTIME: Mutex<Option<Arc<Runtime>>> = Mutex::new(None);

/// The runtime of this process: connections that are opened on it live as long as what uses them.
pub(crate) fn runtime() -> Result<Arc<Runtime>, CliError> {
    let mut shared = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = shared.as_ref() {
        return Ok(Arc::clone(runtime));
    }
    let made = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let made = Arc::new(made.map_err(CliError::Runtime)?);
    *shared = Some(Arc::clone(&made));
    Ok(made)
}

/// Ends what was left running on the runtime, such as MCP servers that do not end by themselves.
pub(crate) fn end_runtime() {
    drop(RUNTIME.lock().unwrap_or_else(PoisonError::into_inner).take());
}

pub(crate) type AnyEngine =
    Engine<ContextAndPolicy<Box<dyn ContextContract>, Box<dyn AbductivePolicy>>>;

/// Drives the engine; Ctrl-C cancels it, and what was found so far is still reported.
fn drive(
    work: &Work<'_>,
    engine: AnyEngine,
    run: impl AsyncFnOnce(AnyEngine) -> Result<Finished, CliError>,
) -> Result<Finished, CliError> {
    let (events, mut stream) = eog::events();
    let (handle, controls) = eog::handle();
    let Work { running, progress, .. } = work;
    // Choosing where to start has taken its part.
    let left = running.deadline().map(|after| after.saturating_sub(work.since.elapsed()));
    let engine =
        engine.with_limits(running.limits(left)).with_events(events).with_controls(controls);
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
