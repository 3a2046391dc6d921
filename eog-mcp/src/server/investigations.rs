//! Running an investigation for a client: begin it, go on with it, ask about what is missing.

use std::sync::Arc;
use std::time::Duration;

use eog::{
    Budget, CallRecorder, Case, Config, Controller, Engine, EntityId, EntryBody, Event,
    EventSender, EventStream, Finished, Journal, JournalError, Ledger, Limits, Observation,
    StopReason, Window,
};
use eog_evidence::open_case;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use tokio_util::sync::CancellationToken;

use super::answers::Investigated;
use super::arguments::{Investigate, Profile};
use super::ask::{self, Gap, Supplemented};
use super::error::Problem;
use super::handler::{Asked, Voice};
use super::library::Loaded;
use super::store::{Began, Ended, InvestigationId, Part};
use super::{Server, words};

/// Policy calls of an investigation unless the caller says otherwise.
const BUDGET: u64 = 200;

/// What is to be run.
pub(super) enum Work {
    /// A new investigation.
    Begin(Box<Investigate>),
    /// One that is stored, with what people answered meanwhile.
    GoOn { id: InvestigationId, seconds: Option<u64>, answers: Answers },
}

/// What people said of entities; nothing where they skipped.
pub(super) type Answers = Vec<(EntityId, Option<String>)>;

/// A run that has ended.
struct Run {
    id: InvestigationId,
    answer: Investigated,
    text: String,
    /// What a person may know more about.
    questions: Vec<Gap>,
}

impl Run {
    fn into_response(self) -> Result<CallToolResponse, Problem> {
        result(&self.answer, self.text).map(CallToolResponse::Complete)
    }
}

/// Structured content with readable text beside it.
pub(super) fn result(
    answer: &impl serde::Serialize,
    text: String,
) -> Result<CallToolResult, Problem> {
    let value = serde_json::to_value(answer)
        .map_err(|error| Problem::Store(format!("the answer cannot be written: {error}")))?;
    let mut result = CallToolResult::structured(value);
    result.content = vec![ContentBlock::text(text)];
    Ok(result)
}

/// Cancels a run when nobody waits for it any more.
struct CancelOnDrop(eog::Handle);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Server {
    /// Runs to the end, and asks about what is missing if that is wanted and possible.
    pub(super) async fn conduct(
        &self,
        mut work: Work,
        ask: bool,
        voice: &mut Voice,
        cancel: &CancellationToken,
    ) -> Result<CallToolResponse, Problem> {
        loop {
            let run = self.run(work, voice, cancel).await?;
            if !ask || run.questions.is_empty() {
                return run.into_response();
            }
            let asked = voice.ask(&run.id, &run.questions, self.0.settings.answer_time);
            let answers = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Problem::Cancelled(Some(run.id))),
                asked = asked => match asked? {
                    Asked::Nobody => return run.into_response(),
                    Asked::Later(question) => return Ok(CallToolResponse::InputRequired(question)),
                    Asked::Now(answers) => answers,
                },
            };
            if answers.iter().all(|(_, answer)| answer.is_none()) {
                self.note(&run.id, &answers)?;
                return run.into_response();
            }
            work = Work::GoOn { id: run.id, seconds: None, answers };
        }
    }

    /// One run, on a thread of its own, with its progress told as it comes.
    async fn run(
        &self,
        work: Work,
        voice: &mut Voice,
        cancel: &CancellationToken,
    ) -> Result<Run, Problem> {
        if self.0.stop.is_cancelled() {
            return Err(Problem::GoingDown);
        }
        let turn = self.0.runner.turn(cancel).await?;
        let (events, mut stream) = eog::events();
        let (handle, controls) = eog::handle();
        let watched = CancelOnDrop(handle.clone());
        let server = self.clone();
        let mut done = self.0.tracker.spawn_blocking(move || {
            let _turn = turn;
            server.run_here(work, &handle, controls, events)
        });
        let forward = follow(&mut stream, voice, cancel, &watched.0, &self.0.stop);
        forward.await;
        let run = (&mut done).await.map_err(|error| {
            Problem::Store(format!("the investigation broke off, which is a defect: {error}"))
        })?;
        drop(watched);
        run
    }

    /// The run itself. Blocks this thread until it has ended.
    fn run_here(
        &self,
        work: Work,
        handle: &eog::Handle,
        controls: eog::Controls,
        events: EventSender,
    ) -> Result<Run, Problem> {
        let shared = &self.0;
        let policy = shared.policies.policy().map_err(Problem::Store)?;
        let seconds = match &work {
            Work::Begin(arguments) => arguments.seconds,
            Work::GoOn { seconds, .. } => *seconds,
        };
        let asked_for = seconds.map_or(shared.settings.max_time, Duration::from_secs);
        let limits =
            Limits { deadline: Some(asked_for.min(shared.settings.max_time)), ..Limits::default() };
        let runtime = tokio::runtime::Handle::current();
        let (id, name, finished) = match work {
            Work::Begin(arguments) => {
                let Beginning { began, source, case, config } = self.begin(&arguments)?;
                let id = shared.store.create(&began)?;
                let _live = shared.runner.mark(&id);
                let contract = Supplemented::new(source, &Default::default(), case.window);
                let path = shared.store.journal(&id);
                let (recorder, records) = CallRecorder::beside(&path)?;
                let engine = Engine::new(contract, policy)
                    .with_limits(limits)
                    .with_events(events)
                    .with_controls(controls)
                    .with_journal(Journal::create(&path)?)
                    .with_recorder(recorder, records.usage_so_far());
                let finished = runtime.block_on(engine.investigate(config, case));
                (id, began.name, finished)
            }
            Work::GoOn { id, answers, .. } => {
                let began = shared.store.began(&id)?;
                let path = shared.store.journal(&id);
                // Whoever has the journal is the one that runs it.
                let (journal, recovered) = open_journal(&id, &path)?;
                let _live = shared.runner.mark(&id);
                let ledger = recovered.ledger;
                let window = self.same_judge(&id, &ledger)?;
                let source = self.source(&began)?;
                same_case(&began, &source, &ledger)?;
                let answers = self.to_open_questions(&id, &ledger, answers)?;
                let told = self.note(&id, &answers)?;
                shared.store.forget_end(&id)?;
                let contract = Supplemented::new(source, &shared.store.people(&id), window);
                let (recorder, records) = CallRecorder::beside(&path)?;
                let engine = Engine::new(contract, policy)
                    .with_limits(limits)
                    .with_events(events)
                    .with_controls(controls)
                    .with_journal(journal)
                    .with_recorder(recorder, records.usage_so_far());
                let finished = runtime.block_on(async {
                    for entity in told {
                        // It is taken in as soon as the run goes on; a few always fit.
                        let _ = handle.observe(Observation::NewEvidence(entity)).await;
                    }
                    engine.resume(&ledger).await
                });
                let finished = finished.map_err(|error| unusable(&id, &error))?;
                (id, began.name, finished)
            }
        };
        self.end(id, &name, finished)
    }

    fn begin(&self, arguments: &Investigate) -> Result<Beginning, Problem> {
        let shared = &self.0;
        let window = arguments.window()?;
        let folder = shared.roots.folder(arguments.path.as_deref())?;
        let architecture =
            arguments.architecture.as_deref().map(|path| shared.roots.file(path)).transpose()?;
        let called = shared.roots.name(&folder);
        let source = shared.library.load(&folder, architecture.as_deref(), &called)?;
        let case =
            open_case(&source.incident, window).map_err(|error| Problem::start(&called, &error))?;
        let rules = match arguments.profile {
            Some(Profile::Paper) => Config::paper(),
            Some(Profile::Default) | None => Config::default(),
        };
        let config = Config {
            policy: Some(shared.policies.name()),
            budget: Budget::hops(arguments.budget.unwrap_or(BUDGET)),
            ..rules
        };
        let began = Began::new(source.incident.name.clone(), folder, architecture);
        Ok(Beginning { began, source, case, config })
    }

    /// The incident of a stored investigation, if this server may read it.
    fn source(&self, began: &Began) -> Result<Arc<Loaded>, Problem> {
        let shared = &self.0;
        let folder = shared.roots.allow(&began.folder)?;
        let architecture =
            began.architecture.as_deref().map(|path| shared.roots.allow(path)).transpose()?;
        shared.library.load(&folder, architecture.as_deref(), &shared.roots.name(&folder))
    }

    /// Refuses to let somebody else judge than the ledger names. Gives the window.
    pub(super) fn same_judge(
        &self,
        id: &InvestigationId,
        ledger: &Ledger,
    ) -> Result<Window, Problem> {
        let Some(EntryBody::Opened(opened)) = ledger.entries().first().map(|entry| &entry.body)
        else {
            return Err(Problem::Empty(id.clone()));
        };
        let now = self.0.policies.name();
        match &opened.config.policy {
            Some(then) if *then != now => {
                Err(Problem::OtherJudge { id: id.clone(), then: then.clone(), now })
            }
            _ => Ok(opened.case.window),
        }
    }

    /// The answers to what may be asked at this point. Others come from a client that was not asked.
    fn to_open_questions(
        &self,
        id: &InvestigationId,
        ledger: &Ledger,
        answers: Answers,
    ) -> Result<Answers, Problem> {
        if answers.is_empty() {
            return Ok(answers);
        }
        let controller = Controller::restore(ledger).map_err(|error| unusable(id, &error))?;
        let open = ask::questions(&controller, &self.0.store.people(id));
        let is_open = |entity: &EntityId| open.iter().any(|gap| gap.entity == *entity);
        Ok(answers.into_iter().filter(|(entity, _)| is_open(entity)).collect())
    }

    /// Stores what people said. Gives the entities about which there is something new.
    fn note(&self, id: &InvestigationId, answers: &Answers) -> Result<Vec<EntityId>, Problem> {
        if answers.is_empty() {
            return Ok(Vec::new());
        }
        let mut people = self.0.store.people(id);
        let mut told = Vec::new();
        for (entity, answer) in answers {
            people.asked.insert(entity.clone());
            if let Some(text) = answer {
                people.notes.insert(entity.clone(), text.clone());
                told.push(entity.clone());
            }
        }
        self.0.store.set_people(id, &people)?;
        Ok(told)
    }

    /// Stores the result. What cannot be stored is said beside it: the journal has it all.
    fn end(&self, id: InvestigationId, name: &str, finished: Finished) -> Result<Run, Problem> {
        if let Some(error) = finished.journal_error {
            return Err(error.into());
        }
        let (store, reports) = (&self.0.store, &self.0.reports);
        let answer = Investigated::new(&id, name, &finished);
        let parts = [
            (Part::Ledger, finished.ledger().to_json_lines()),
            (Part::Report, reports.markdown(name, &finished)),
            (Part::Dot, reports.dot(name, &finished)),
            (Part::Mermaid, reports.mermaid(name, &finished)),
        ];
        let stored: Result<(), Problem> = parts
            .iter()
            .try_for_each(|(part, text)| store.set_part(&id, *part, text))
            .and_then(|()| store.set_ended(&id, &answer.ended()));
        if finished.stop == StopReason::Cancelled {
            return Err(Problem::Cancelled(Some(id)));
        }
        let mut text = reports.text(name, &finished);
        text += &format!("\nInvestigation {id}: {}.", answer.stop);
        if answer.is_unfinished {
            text += " `resume` goes on with it.";
        }
        if let Err(problem) = stored {
            text += &format!("\nThe result could not be stored: {problem}");
        }
        let questions = ask::questions(&finished.controller, &store.people(&id));
        Ok(Run { id, answer, text, questions })
    }

    /// How an investigation stands: from its journal, whether it runs, has ended or was killed.
    pub(super) fn standing(&self, id: &InvestigationId) -> Result<(Began, Finished), Problem> {
        let began = self.0.store.began(id)?;
        let ledger = Journal::read(self.0.store.journal(id))?.ledger;
        if ledger.entries().is_empty() {
            return Err(Problem::Empty(id.clone()));
        }
        let mut controller = Controller::restore(&ledger).map_err(|error| unusable(id, &error))?;
        // A ledger holds what was committed, not why it ends.
        let stop = match controller.poll() {
            eog::Output::Done(stop) => stop,
            _ => StopReason::Cancelled,
        };
        Ok((began, Finished::new(stop, controller)))
    }

    /// `running`, `finished` or `interrupted`.
    pub(super) fn status(&self, id: &InvestigationId, ended: Option<&Ended>) -> &'static str {
        match ended {
            _ if self.0.runner.is_live(id) => "running",
            Some(ended) if !ended.is_unfinished => "finished",
            _ => "interrupted",
        }
    }
}

/// What a new investigation begins with.
struct Beginning {
    began: Began,
    source: Arc<Loaded>,
    case: Case,
    config: Config,
}

fn unusable(id: &InvestigationId, error: &eog::RestoreError) -> Problem {
    Problem::Store(format!("{id}: its ledger cannot be used: {error}"))
}

/// Tells each entry, and hands cancellation on, until the run has ended.
async fn follow(
    stream: &mut EventStream,
    voice: &mut Voice,
    cancel: &CancellationToken,
    handle: &eog::Handle,
    stop: &CancellationToken,
) {
    let mut is_cancelled = false;
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled(), if !is_cancelled => {
                is_cancelled = true;
                handle.cancel();
            }
            () = stop.cancelled(), if !is_cancelled => {
                is_cancelled = true;
                handle.cancel();
            }
            event = stream.next() => match event {
                Some(Event::Appended(entry)) if !is_cancelled => {
                    voice.progress(entry.seq, words::entry(&entry)).await;
                }
                Some(_) => {}
                None => return,
            },
        }
    }
}

fn open_journal(
    id: &InvestigationId,
    path: &std::path::Path,
) -> Result<(Journal, eog::Recovered), Problem> {
    Journal::open(path).map_err(|error| match error {
        JournalError::Locked { .. } => Problem::StillRuns(id.clone()),
        other => other.into(),
    })
}

/// Refuses to mix two incidents: the folder must hold what the ledger began with.
fn same_case(began: &Began, source: &Loaded, ledger: &Ledger) -> Result<(), Problem> {
    let Some(EntryBody::Opened(opened)) = ledger.entries().first().map(|entry| &entry.body) else {
        return Ok(());
    };
    let then = &opened.case;
    let now = open_case(&source.incident, Some(then.window));
    if now.is_ok_and(|now| now.topology == then.topology && now.anomalies == then.anomalies) {
        return Ok(());
    }
    Err(Problem::Input {
        folder: began.name.clone(),
        reason: "the folder has changed since the investigation began (its topology or alerts \
                 differ); investigate anew"
            .to_owned(),
    })
}
