//! `eog investigate` and `eog resume`: open the input, run, write the result.

use std::path::Path;
use std::time::Instant;

use crate::shown::clean_line;
use eog::{DecisionMemory, EntityId, StopReason, Timestamp};
use eog_report::Report;
use eog_report::clean::clean;
use eog_session::controllers::{AnyEntry, AnyLedger, AnySettings};
use eog_session::judge::{Chosen, Policies as _};
use eog_session::run::{
    Course, CutShort, Ended, Records, RunError, Start as Begin, Steering, same_judge, same_source,
};
use eog_session::source::{Files, Opened, Words, keep_words};

use crate::args::{Investigate, Resume, Running, Start};
use crate::error::{CliError, Exit};
use crate::interrupt::cancelling;
use crate::live::{Place, Watching};
use crate::onward::{self, Onward};
use crate::progress::Progress;
use crate::reports::{page, render, report_of_run};
use crate::rules::choose;
use crate::runtime::runtime;
use crate::travel::say_cut;
use crate::{cases, dry_run, files, memory, rules, source, travel};

/// `eog investigate`.
pub(crate) fn run(arguments: &Investigate) -> Result<Exit, CliError> {
    let (running, start) = (&arguments.running, &arguments.start);
    rules::refuse_roles(start.controller, &running.judging)?;
    // What is shown and never sent needs no key, and no place to write to.
    if arguments.dry_run {
        let chosen = Chosen::outline(&running.judging.options())?;
        let progress = Progress::start(running.quiet);
        let settings = rules::settings(start, arguments.width, None)?;
        let settings = rules::prompted(settings, &start.search, chosen.planner())?;
        let (source, begin) = begin(&progress, start, settings, None, None)?;
        drop(progress);
        return dry_run::run(&chosen, &source, &begin, start);
    }
    let work = Work::prepare(running)?;
    let settings = rules::settings(start, arguments.width, Some(work.chosen.name()))?;
    let settings = rules::prompted(settings, &start.search, work.chosen.planner())?;
    let journal = arguments.journal.as_deref();
    let (source, begin) = begin(&work.progress, start, settings, journal, work.until())?;
    let onward = Onward { journal, path: &start.path, architecture: start.architecture.as_deref() };
    let records = work.records(journal, arguments.no_fsync)?;
    if let Some(journal) = journal {
        work.keep_input(&records, journal, &source)?;
    }
    work.conduct(&source, records, None, onward, async |course, _| course.begin(begin).await)
}

/// Reads the incident that an investigation begins with, and chooses where to start by rule.
pub(crate) fn begin(
    progress: &Progress,
    start: &Start,
    settings: AnySettings,
    journal: Option<&Path>,
    until: Option<Instant>,
) -> Result<(Opened, Begin), CliError> {
    let architecture = start.architecture.as_deref();
    let at = source::At { window: start.window, journal, until };
    let source = source::open(progress, &start.path, architecture, &start.reading, at)?;
    let begin = source::start(&source, settings, start.window)?;
    Ok((source, begin))
}

/// `eog resume`.
pub(crate) fn resume(arguments: &Resume) -> Result<Exit, CliError> {
    let mut work = Work::prepare(&arguments.running)?;
    let architecture = arguments.architecture.as_deref();
    let path = arguments.journal.as_path();
    let at = source::At { window: None, journal: Some(path), until: work.until() };
    let (reading, progress) = (&arguments.reading, &work.progress);
    let source = source::open(progress, &arguments.path, architecture, reading, at)?;
    let (ledger, journal, cut) = AnyLedger::open_journal(path)?;
    say_cut(path, cut);
    let onward = Onward { journal: Some(path), path: &arguments.path, architecture };
    let failed = |error| CliError::run(error, &source, Some(path), || None);
    if !ledger.is_empty() {
        same_source(&source, &ledger).map_err(failed)?;
        same_judge(&work.chosen, ledger.judge_at(u64::MAX)).map_err(failed)?;
    }
    let records = Records::go_on(journal, path)?;
    let records = if arguments.no_fsync { records.without_fsync() } else { records };
    say_cut(path, records.cut);
    work.keep_input(&records, path, &source)?;
    if !ledger.is_empty() {
        work.seen = ledger.any_entries();
        let run = async |course: Course<'_>, news| course.resume(&ledger, news).await;
        return work.conduct(&source, records, Some(path), onward, run);
    }
    let began = runtime()?.block_on(Begin::recall(&records)).map_err(failed)?;
    let (settings, window) = began.ok_or_else(|| failed(RunError::Empty))?;
    if let Err(RunError::OtherJudge { then, now }) = same_judge(&work.chosen, settings.policy()) {
        return Err(CliError::Usage(format!(
            "this investigation was started with the policy {}, not {}; give the same policy",
            clean(&then),
            clean(&now)
        )));
    }
    let begin = source::start(&source, settings, window)?;
    work.conduct(&source, records, Some(path), onward, async |course, _| course.begin(begin).await)
}

/// A run that is to be made from the command line.
pub(crate) struct Work<'a> {
    running: &'a Running,
    pub(crate) chosen: Chosen,
    pub(crate) progress: Progress,
    memory: Option<DecisionMemory>,
    place: Option<Place>,
    /// What a ledger that is resumed holds already.
    seen: Vec<AnyEntry>,
    /// When it was asked for: the deadline counts from here, before anything is read.
    began: Instant,
}

impl<'a> Work<'a> {
    /// Makes sure of what the command line names before anything is spent.
    pub(crate) fn prepare(running: &'a Running) -> Result<Self, CliError> {
        let began = Instant::now();
        let chosen = choose(&running.judging)?;
        let limits = running.limits();
        cases::check_history(&running.history)?;
        if let Some(folder) = &running.out {
            files::prepare(folder)?;
        }
        let memory = running.memory.as_deref().map(DecisionMemory::open).transpose()?;
        let place = Place::prepare(&running.live)?;
        let progress = Progress::start(running.quiet);
        let (chosen, seen) = (chosen.with_limits(limits), Vec::new());
        Ok(Self { running, chosen, progress, memory, place, seen, began })
    }

    /// When nothing more may be begun, also no reading.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.began.checked_add(self.running.deadline()?)
    }

    /// Where the run leaves its traces: a new journal, if one is asked for.
    pub(crate) fn records(
        &self,
        journal: Option<&Path>,
        no_fsync: bool,
    ) -> Result<Records, CliError> {
        let Some(path) = journal else { return Ok(Records::in_memory()) };
        let records = Records::begin(path).map_err(|error| CliError::new_journal(path, error))?;
        say_cut(path, records.cut);
        Ok(if no_fsync { records.without_fsync() } else { records })
    }

    /// Remembers what the files of the input are, or says that they are not those of the beginning.
    fn keep_input(
        &self,
        records: &Records,
        journal: &Path,
        source: &Opened,
    ) -> Result<(), CliError> {
        let folder = source.path();
        let Some(files) = Files::of(folder, journal, self.running.out.as_deref()) else {
            return Ok(());
        };
        if let Some(changed) = runtime()?.block_on(files.keep(&records.recorder)) {
            let line = format!(
                "eog: note: {} has changed since the journal was started: {changed}. Earlier \
                 decisions are kept; later ones use the current files",
                folder.display()
            );
            eprintln!("{}", clean_line(&line));
        }
        Ok(())
    }

    /// Makes the run; Ctrl-C cancels it, and what was found so far is still reported. `ledger` is what it goes on
    /// with or forks. The run gets the entities on which there is new operator input.
    pub(crate) fn conduct(
        self,
        source: &Opened,
        records: Records,
        ledger: Option<&Path>,
        onward: Onward<'_>,
        run: impl AsyncFnOnce(Course<'_>, Vec<EntityId>) -> Result<Ended, RunError>,
    ) -> Result<Exit, CliError> {
        let Self { running, chosen, progress, memory, place, seen, began } = self;
        let words = running.said.words(&source.incident().topology)?;
        let news = words.keys().cloned().collect();
        let recorder = records.recorder.clone();
        let keep = |words| {
            let kept = runtime()?.block_on(keep_words(&recorder, words));
            kept.map_err(|error| {
                CliError::run(error.into(), source, ledger, || onward.resume(running, &chosen))
            })
        };
        let mut words = keep(words)?;
        let watching = place.map(|place| Watching::begin(place, source, &recorder, &seen, &words));
        let watching = watching.transpose()?;
        let resume = || onward.resume(running, &chosen);
        let course = |progress: &Progress, since, records, words, steering| Course {
            since,
            words,
            records,
            memory: memory.clone(),
            speculation: running.speculation(),
            deadline: running.deadline(),
            steering,
            listener: match &watching {
                Some(watching) => watching.beside(progress.listener()),
                None => progress.listener(),
            },
            ..Course::new(&chosen, source.clone())
        };
        let begin = || {
            let (steering, cancel) = Steering::new();
            if let Some(watching) = &watching {
                watching.begin_run(&cancel);
            }
            (steering, cancel)
        };
        let (steering, cancel) = begin();
        let first = run(course(&progress, began, records, words, steering), news);
        let mut ended = runtime()?.block_on(cancelling(&cancel, first));
        let mut progress = progress;
        loop {
            let mut done = ended.map_err(|error| CliError::run(error, source, ledger, resume))?;
            drop(progress);
            memory::print(done.memory.as_ref(), running.quiet);
            let (so_far, mut spent) = (done.finished.ledger(), done.finished.spent().usage);
            spent += done.spent_after;
            let mut report = report_of_run(&mut done);
            report.lookup = travel::lookup_of(source, &report.diagnosis, onward.architecture);
            report.similar = cases::like(&running.history, &so_far, &report.diagnosis)?;
            if let Some(watching) = &watching {
                watching.end_run(&report, &done);
            }
            let exit = conclude(running, &chosen, &report, done, onward, source)?;
            let Some(watching) = &watching else { return Ok(exit) };
            let Some(news) = runtime()?.block_on(watching.news(running.quiet)) else {
                return Ok(exit);
            };
            progress = Progress::start(running.quiet);
            words = keep(Words::new())?;
            let journal = onward.journal.map(AnyLedger::open_journal).transpose()?;
            let journal = journal.map(|(_, journal, _)| journal);
            let records = Records::again(journal, recorder.clone(), spent);
            let (steering, cancel) = begin();
            let again =
                course(&progress, Instant::now(), records, words, steering).resume(&so_far, news);
            ended = runtime()?.block_on(cancelling(&cancel, again));
        }
    }
}

/// Prints the result, writes the files, and says how to go on where something is left to do.
fn conclude(
    running: &Running,
    chosen: &Chosen,
    report: &Report,
    mut ended: Ended,
    onward: Onward<'_>,
    source: &Opened,
) -> Result<Exit, CliError> {
    let journal_error = ended.finished.take_journal_error();
    let (finished, cut_short) = (&ended.finished, ended.cut_short);
    let next = match &journal_error {
        Some(_) => onward.resume(running, chosen),
        None => onward.after(finished, cut_short, running, chosen),
    };
    let journal = journal_error.map_or(Ok(()), |error| {
        Err(CliError::JournalStopped { error: Box::new(error), onward: next.clone() })
    });
    let is_stored = journal.is_ok();
    let said = render(report, running.format, running.verbose, running.out.as_deref());
    let mut outputs = vec![journal, files::print(&said)];
    let page = || page(report, &finished.steps(), Some(source));
    if let Some(file) = &running.html {
        outputs.push(files::write_file(file, &page()));
    }
    if let Some(folder) = &running.out {
        let ledger = finished.to_json_lines();
        outputs.push(files::write(folder, "ledger.jsonl", &ledger));
        outputs.push(files::write(folder, "agent_output.json", &eog_report::agent_output(report)));
        outputs.push(files::write(folder, "graph.dot", &eog_report::dot(report)));
        outputs.push(files::write(folder, "report.md", &eog_report::markdown(report)));
        outputs.push(files::write(folder, "report.html", &page()));
        let metrics = finished.search_metrics(Timestamp::now());
        outputs.push(match metrics {
            Some(metrics) => files::write(folder, "metrics.json", &metrics),
            // Not those of an earlier run.
            None => files::remove(folder, "metrics.json"),
        });
    }
    let outputs = files::all(outputs);
    if let Some(error) = finished.side_error() {
        let line = format!("eog: figures of this run are missing beside the journal: {error}");
        eprintln!("{}", clean_line(&line));
    }
    if let (true, false, Some(command)) = (is_stored, running.quiet, next) {
        onward::say(&command);
    }
    outputs?;
    Ok(match finished.stop() {
        StopReason::Cancelled => Exit::Interrupted,
        _ if cut_short == Some(CutShort::Interrupted) => Exit::Interrupted,
        _ if report.nothing_was_decided() => Exit::Failed,
        _ if report.diagnosis.is_diagnosed() => Exit::Diagnosed,
        _ => Exit::Inconclusive,
    })
}
