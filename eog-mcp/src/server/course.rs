//! One run of an investigation, on a thread of its own: begin it or go on with it, and store what
//! comes of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use eog::ledger::Observation;
use eog::{EntityId, StopReason, Timestamp};
use eog_evidence::{FilePlace, FolderHandle};
use eog_report::Report;
use eog_report::page::plain;
use eog_session::Listener;
use eog_session::controllers::{AnyLedger, AnySettings, Changes};
use eog_session::run::{
    Course, Ended, MAX_OBSERVATIONS, Records, RunError, Start, Steering, can_fork, same_judge,
    same_source,
};
use eog_session::source::{Later, Opened, Word, Words};
use eog_sre::Stop;
use tokio_util::sync::CancellationToken;

use super::answers::Investigated;
use super::arguments::{Fork, Investigate, words};
use super::error::Problem;
use super::words::is_unfinished;
use super::work::{Answers, Begin, Done, Work};
use super::{Server, ask};
use eog_session::store::{Began, InvestigationId, Part};

/// Policy calls of an investigation unless the caller says otherwise.
pub(super) const BUDGET: u64 = 200;

/// Longer than any server runs.
const NEVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// What a run is made for, and how it is steered.
pub(super) struct Making {
    pub(super) id: InvestigationId,
    pub(super) began: Began,
    /// When nothing more is begun.
    pub(super) until: Instant,
    pub(super) steering: Steering,
    pub(super) listener: Arc<dyn Listener>,
}

impl Server {
    /// The run itself. Blocks this thread until it has ended.
    pub(super) fn run_here(
        &self,
        work: Work,
        steering: Steering,
        listener: Arc<dyn Listener>,
        gone: &CancellationToken,
    ) -> Result<Done, Problem> {
        let shared = &self.0;
        match work {
            Work::Begin(begin) => {
                let Begin { asked, mut said, begun } = *begin;
                let until = self.until(asked.seconds);
                said.extend(words("investigate", asked.said.as_deref())?);
                let (began, source, start) = self.begin(&asked, gone, until)?;
                let id = shared.store.create(&began)?;
                let _live = shared.runner.mark(&id);
                if let Some(begun) = begun {
                    let _ = begun.send(id.clone());
                }
                let begun = self.take_in(&id, said).and_then(|_| {
                    let records = Records::begin(&shared.store.journal(&id))?;
                    let making = Making { id: id.clone(), began, until, steering, listener };
                    self.make(making, source, records, async |course| course.begin(start).await)
                });
                self.settled(&id, begun, true)
            }
            Work::Renew { id, folder, seconds, said } => {
                let until = self.until(seconds);
                let folder = Some(folder);
                self.run_on(
                    &id,
                    folder,
                    until,
                    steering,
                    listener,
                    gone,
                    |began, ledger, source| {
                        if ledger.is_empty() || !began.config.takes_words() {
                            return Ok(Vec::new());
                        }
                        let found = self.news(&id, ledger, source)?;
                        shared.store.forget_end(&id)?;
                        let entities = self.take_in(&id, said)?.into_iter();
                        let said = entities.map(Observation::NewEvidence);
                        Ok(said.chain(found).take(MAX_OBSERVATIONS).collect())
                    },
                )
            }
            Work::Fork { from, asked } => self.fork(&from, &asked, steering, listener, gone),
            Work::GoOn { id, seconds, answers, said } => {
                let until = self.until(seconds);
                self.run_on(&id, None, until, steering, listener, gone, |began, ledger, source| {
                    let mut news = Vec::new();
                    if !ledger.is_empty() {
                        if !began.is_renewed {
                            same_source(source, ledger)
                                .map_err(|error| Problem::run(&id, &began.name, error))?;
                        }
                        let answers = self.to_open_questions(&id, ledger, answers)?;
                        news = self.note(&id, &answers)?;
                        shared.store.forget_end(&id)?;
                    }
                    news.extend(self.take_in(&id, said)?);
                    Ok(news.into_iter().map(Observation::NewEvidence).collect())
                })
            }
        }
    }

    /// Goes on with a stored investigation, in another folder if one is given, with what is new by then.
    #[expect(clippy::too_many_arguments, reason = "what a run is steered by, and what is new")]
    fn run_on(
        &self,
        id: &InvestigationId,
        folder: Option<PathBuf>,
        until: Instant,
        steering: Steering,
        listener: Arc<dyn Listener>,
        gone: &CancellationToken,
        news: impl FnOnce(&Began, &AnyLedger, &Opened) -> Result<Vec<Observation>, Problem>,
    ) -> Result<Done, Problem> {
        let shared = &self.0;
        let mut began = shared.store.began(id)?;
        // The process that holds the journal is running it.
        let journal = AnyLedger::open_journal(&shared.store.journal(id));
        let (ledger, journal, _) = journal.map_err(|error| Problem::of_journal(id, error))?;
        let _live = shared.runner.mark(id);
        let is_new = ledger.is_empty();
        if let Some(folder) = folder.filter(|folder| began.folder != *folder) {
            // What it goes on with holds what this one held.
            shared.library.forget(&std::mem::replace(&mut began.folder, folder));
            // A journal without an entry begins with this folder.
            began.is_renewed = !is_new;
            shared.store.set_began(id, &began)?;
        }
        let source = self.source(&began, gone, until)?;
        let watched = shared.board.watched(id);
        if watched.status().entries == 0 {
            watched.recall(&ledger.any_entries(), Words::new());
        }
        let then = if is_new { began.config.policy() } else { ledger.judge_at(u64::MAX) };
        same_judge(&*shared.policies, then)
            .map_err(|error| Problem::run(id, &began.name, error))?;
        let news = news(&began, &ledger, &source)?;
        let records = Records::go_on(journal, &shared.store.journal(id))?;
        let (config, window) = (began.config.clone(), began.window);
        let making = Making { id: id.clone(), began, until, steering, listener };
        self.make(making, source, records, async |course| match is_new {
            true => {
                let start = Start::of(&course.source, config, window)?;
                course.begin(start).await
            }
            false => course.observe(&ledger, news).await,
        })
    }

    /// Makes room for a new investigation that stays. What came to nothing goes, unless clients are advised to
    /// resume it: nothing makes room for that.
    fn settled(
        &self,
        id: &InvestigationId,
        made: Result<Done, Problem>,
        unbegun_stays: bool,
    ) -> Result<Done, Problem> {
        let shared = &self.0;
        let stays = match &made {
            Ok(_) | Err(Problem::Cancelled(Some(_))) => true,
            Err(Problem::NotBegun(_)) if unbegun_stays => true,
            Err(_) => !shared.store.discard(id),
        };
        if stays {
            shared.store.prune(shared.settings.keep.get(), |id| shared.runner.is_live(id));
        }
        made
    }

    /// Another course of a stored investigation, as an investigation of its own.
    fn fork(
        &self,
        from: &InvestigationId,
        asked: &Fork,
        steering: Steering,
        listener: Arc<dyn Listener>,
        gone: &CancellationToken,
    ) -> Result<Done, Problem> {
        let shared = &self.0;
        let (parent, read) = self.recorded(from)?;
        let ledger = read.ledger;
        let failed = |error| Problem::run(from, &parent.name, error);
        same_judge(&*shared.policies, ledger.judge_at(asked.at)).map_err(failed)?;
        let before = AnySettings::at(&ledger, asked.at);
        let settings = before.as_ref().map(|before| asked.settings(before)).transpose()?.flatten();
        let changes = Changes { settings: settings.clone(), ..Changes::default() };
        // What cannot be forked leaves nothing behind.
        can_fork(&ledger, asked.at, &changes).map_err(|error| Problem::Arguments {
            tool: "fork".to_owned(),
            wrong: vec![format!("at: {error}")],
        })?;
        let until = self.until(asked.seconds);
        let source = self.source(&parent, gone, until)?;
        if !parent.is_renewed {
            same_source(&source, &ledger).map_err(failed)?;
        }
        let config = settings.or(before).unwrap_or_else(|| parent.config.clone());
        let began = Began { config, at: Some(Timestamp::now()), ..parent.clone() };
        let id = shared.store.create(&began)?;
        let _live = shared.runner.mark(&id);
        let people = shared.store.people(from);
        let forked = shared.store.set_people(&id, &people).map_err(Problem::from).and_then(|()| {
            let records = Records::begin(&shared.store.journal(&id))?;
            let making = Making { id: id.clone(), began, until, steering, listener };
            let (ledger, at) = (&ledger, asked.at);
            self.make(making, source, records, async |course| {
                course.fork(ledger, at, changes).await
            })
        });
        self.settled(&id, forked, false)
    }

    /// Checks what is to be investigated, and reads it.
    fn begin(
        &self,
        arguments: &Investigate,
        gone: &CancellationToken,
        until: Instant,
    ) -> Result<(Began, Opened, Start), Problem> {
        let shared = &self.0;
        let window = arguments.window()?;
        let folder = shared.roots.folder(arguments.path.as_deref())?;
        let architecture =
            arguments.architecture.as_deref().map(|path| shared.roots.file(path)).transpose()?;
        let called = shared.roots.name(folder.path());
        let source = self.read_folder(&folder, architecture.as_ref(), gone, until)?;
        let config = arguments.settings(shared.policies.name(), BUDGET)?;
        let start = Start::of(&source, config, window)
            .map_err(|error| Problem::Input { folder: called, reason: error.to_string() })?;
        let name = source.incident().name.clone();
        let config = start.settings.clone();
        let architecture = architecture.map(|place| place.full());
        let began =
            Began { config, window, ..Began::new(name, folder.path().to_owned(), architecture) };
        Ok((began, source, start))
    }

    /// The incident of a stored investigation, if this server may read it.
    pub(super) fn source(
        &self,
        began: &Began,
        gone: &CancellationToken,
        until: Instant,
    ) -> Result<Opened, Problem> {
        let shared = &self.0;
        let folder = shared.roots.folder_at(&began.folder)?;
        let architecture =
            began.architecture.as_deref().map(|path| shared.roots.file_at(path)).transpose()?;
        let source = self.read_folder(&folder, architecture.as_ref(), gone, until)?;
        if !began.is_renewed {
            return Ok(source);
        }
        let path = source.path().to_owned();
        let called = shared.roots.name(folder.path());
        let later = Later::new(source);
        let later =
            later.map_err(|error| Problem::Input { folder: called, reason: error.to_string() })?;
        Ok(Opened::new(path, later))
    }

    /// When a run of so many seconds begins nothing more, counted from now on: reading is a part of it.
    pub(super) fn until(&self, seconds: Option<u64>) -> Instant {
        let most = self.0.settings.max_time;
        let length = seconds.map_or(most, Duration::from_secs).min(most);
        let now = Instant::now();
        // A length that no clock reaches is none.
        now.checked_add(length).unwrap_or_else(|| now + NEVER)
    }

    /// Reads a folder, until time is up or the client is gone.
    fn read_folder(
        &self,
        folder: &FolderHandle,
        architecture: Option<&FilePlace>,
        gone: &CancellationToken,
        until: Instant,
    ) -> Result<Opened, Problem> {
        let is_late = move || Instant::now() >= until;
        let is_gone = self.gone(gone);
        let stop = Stop::when({
            let is_gone = is_gone.clone();
            move || is_late() || is_gone.is_wanted()
        });
        self.0.library.load(folder, architecture, Some(stop)).map_err(|error| {
            let folder = self.0.roots.name(folder.path());
            match error.is_cancelled() && is_late() && !is_gone.is_wanted() {
                true => Problem::TimeIsUp { folder },
                false => Problem::open(&folder, &error),
            }
        })
    }

    /// The answers to what may be asked at this point. Others come from a client that was not asked.
    fn to_open_questions(
        &self,
        id: &InvestigationId,
        ledger: &AnyLedger,
        answers: Answers,
    ) -> Result<Answers, Problem> {
        if answers.is_empty() {
            return Ok(answers);
        }
        let finished = ledger.restore(|| None).map_err(|error| Problem::unusable(id, &error))?;
        let open = ask::questions(&finished.diagnosis(), &self.0.store.people(id));
        let is_open = |entity: &EntityId| open.iter().any(|gap| gap.entity == *entity);
        Ok(answers.into_iter().filter(|(entity, _)| is_open(entity)).collect())
    }

    /// Stores what people said. Gives the entities about which there is something new.
    pub(super) fn note(
        &self,
        id: &InvestigationId,
        answers: &Answers,
    ) -> Result<Vec<EntityId>, Problem> {
        if answers.is_empty() {
            return Ok(Vec::new());
        }
        let mut people = self.0.store.people(id);
        let mut answered = Vec::new();
        for (entity, answer) in answers {
            people.asked.insert(entity.clone());
            if let Some(text) = answer {
                people.add(entity.clone(), Word::remark(text));
                answered.push(entity.clone());
            }
        }
        self.0.store.set_people(id, &people)?;
        Ok(answered)
    }

    /// Stores what people said unasked. Gives the entities about which there is something new.
    pub(super) fn take_in(
        &self,
        id: &InvestigationId,
        said: Words,
    ) -> Result<Vec<EntityId>, Problem> {
        if said.is_empty() {
            return Ok(Vec::new());
        }
        let mut people = self.0.store.people(id);
        let entities = said.keys().cloned().collect();
        for (entity, word) in said {
            people.add(entity, word);
        }
        self.0.store.set_people(id, &people)?;
        Ok(entities)
    }

    /// Makes a run, and stores what comes of it.
    pub(super) fn make(
        &self,
        making: Making,
        source: Opened,
        records: Records,
        run: impl AsyncFnOnce(Course<'_>) -> Result<Ended, RunError>,
    ) -> Result<Done, Problem> {
        let shared = &self.0;
        let Making { id, began, until, steering, listener } = making;
        let words = shared.store.people(&id).words();
        let mut running = shared.board.begin(&id, steering.cancel());
        for (entity, word) in &words {
            running.watched.add_word(entity.clone(), word.clone());
        }
        let course = Course {
            words,
            records,
            deadline: Some(until.saturating_duration_since(Instant::now())),
            steering,
            listener: Arc::new((listener, running.watched.clone())),
            ..Course::new(&*shared.policies, source)
        };
        let ended = tokio::runtime::Handle::current().block_on(run(course));
        let mut ended = ended.map_err(|error| Problem::run(&id, &began.name, error))?;
        if let Some(error) = ended.finished.take_journal_error() {
            return Err(error.into());
        }
        let mut report = Report::new(began.name, ended.finished.diagnosis());
        report.narrative = ended.narrative.unwrap_or(report.narrative);
        let tree = ended.finished.tree(None).map(|tree| plain(&tree));
        running.end = (report.stop.to_string(), is_unfinished(report.stop));
        self.end(id, &report, ended.finished.to_json_lines(), tree.as_deref())
    }

    /// Stores the result. What cannot be stored is said beside it: the journal has it all.
    fn end(
        &self,
        id: InvestigationId,
        report: &Report,
        ledger: String,
        tree: Option<&str>,
    ) -> Result<Done, Problem> {
        let store = &self.0.store;
        let answer = Investigated::new(&id, report);
        let parts = [
            (Part::Ledger, ledger),
            (Part::Report, eog_report::markdown(report)),
            (Part::Dot, eog_report::dot(report)),
            (Part::Mermaid, eog_report::mermaid(report)),
        ];
        let stored = parts
            .iter()
            .map(|(part, text)| (*part, text.as_str()))
            .chain(tree.map(|tree| (Part::Tree, tree)))
            .try_for_each(|(part, text)| store.set_part(&id, part, text))
            .and_then(|()| store.set_ended(&id, &answer.ended()));
        if report.stop == StopReason::Cancelled {
            return Err(Problem::Cancelled(Some(id)));
        }
        let mut text = plain(&eog_report::short(report, None));
        text += &format!("\nInvestigation {id}: {}.", answer.stop);
        if answer.is_unfinished {
            text += " `resume` continues it.";
        }
        if let Err(problem) = stored {
            text += &format!("\nThe result could not be stored: {problem}");
        }
        let questions = ask::questions(&report.diagnosis, &store.people(&id));
        Ok(Done { id, answer, text, questions, report: report.clone() })
    }
}
