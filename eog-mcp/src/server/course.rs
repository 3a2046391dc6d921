//! One run of an investigation, on a thread of its own: begin it or go on with it, and store what
//! comes of it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use eog::{
    Budget, CallRecorder, Case, Config, ContextAndPolicy, Controller, Controls, Engine, EntityId,
    EntryBody, EventSender, EventStream, Finished, Journal, JournalError, Ledger, Limits,
    Observation, Recovered, StopReason, Usage,
};
use eog_evidence::open_case;
use eog_report::Report;
use eog_report::page::plain;
use tokio_util::sync::CancellationToken;

use super::answers::Investigated;
use super::arguments::{Investigate, Profile};
use super::ask::{self, Supplemented};
use super::error::Problem;
use super::investigations::{Answers, Run, Work, unusable};
use super::library::Loaded;
use super::store::{Began, InvestigationId, Part};
use super::{Judge, Run as Judged, Server};

/// Policy calls of an investigation unless the caller says otherwise.
const BUDGET: u64 = 200;

/// Cancels a run, whatever it is doing.
#[derive(Clone)]
pub(super) struct Cancel {
    handle: eog::Handle,
    /// For what is done before the engine begins and after it has ended.
    beside: CancellationToken,
}

impl Cancel {
    pub(super) fn cancel(&self) {
        self.handle.cancel();
        self.beside.cancel();
    }
}

/// How a run is steered, and where it tells its steps.
pub(super) struct Steering {
    cancel: Cancel,
    controls: Controls,
    events: EventSender,
}

impl Steering {
    pub(super) fn new() -> (Self, EventStream) {
        let (events, stream) = eog::events();
        let (handle, controls) = eog::handle();
        let cancel = Cancel { handle, beside: CancellationToken::new() };
        (Self { cancel, controls, events }, stream)
    }

    pub(super) fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
}

/// What a run works on.
struct Course<'s> {
    server: &'s Server,
    id: InvestigationId,
    began: Began,
    source: Arc<Loaded>,
    journal: Journal,
    recorder: CallRecorder,
    /// What earlier runs have spent.
    spent_before: Usage,
    judge: Box<dyn Judge>,
    steering: Steering,
    /// When the input had been read: time counts from here.
    since: Instant,
    limit: Duration,
}

impl Server {
    /// The run itself. Blocks this thread until it has ended.
    pub(super) fn run_here(&self, work: Work, steering: Steering) -> Result<Run, Problem> {
        let shared = &self.0;
        match work {
            Work::Begin(arguments) => {
                let (began, source) = self.begin(&arguments)?;
                let id = shared.store.create(&began)?;
                let _live = shared.runner.mark(&id);
                shared.store.prune(shared.settings.keep.get(), |id| shared.runner.is_live(id));
                let journal = Journal::create(shared.store.journal(&id))?;
                self.course(id, began, source, journal, steering, arguments.seconds)?.first()
            }
            Work::GoOn { id, seconds, answers } => {
                let began = shared.store.began(&id)?;
                // Whoever has the journal is the one that runs it.
                let (journal, recovered) = open_journal(&id, &shared.store.journal(&id))?;
                let _live = shared.runner.mark(&id);
                let ledger = recovered.ledger;
                let source = self.source(&began)?;
                if ledger.entries().is_empty() {
                    self.must_judge(&id, began.config.policy.as_deref())?;
                    return self.course(id, began, source, journal, steering, seconds)?.first();
                }
                self.same_judge(&id, &ledger)?;
                same_case(&began, &source, &ledger)?;
                let answers = self.to_open_questions(&id, &ledger, answers)?;
                let told = self.note(&id, &answers)?;
                shared.store.forget_end(&id)?;
                self.course(id, began, source, journal, steering, seconds)?.go_on(&ledger, told)
            }
        }
    }

    /// Checks what is to be investigated, and reads it.
    fn begin(&self, arguments: &Investigate) -> Result<(Began, Arc<Loaded>), Problem> {
        let shared = &self.0;
        let window = arguments.window()?;
        let folder = shared.roots.folder(arguments.path.as_deref())?;
        let architecture =
            arguments.architecture.as_deref().map(|path| shared.roots.file(path)).transpose()?;
        let called = shared.roots.name(&folder);
        let source = shared.library.load(&folder, architecture.as_deref(), &called)?;
        // Where the rules find nothing to start from, nobody does.
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
        let name = source.incident.name.clone();
        Ok((Began { config, window, ..Began::new(name, folder, architecture) }, source))
    }

    fn course(
        &self,
        id: InvestigationId,
        began: Began,
        source: Arc<Loaded>,
        journal: Journal,
        steering: Steering,
        seconds: Option<u64>,
    ) -> Result<Course<'_>, Problem> {
        let shared = &self.0;
        let (recorder, records) = CallRecorder::beside(shared.store.journal(&id))?;
        let spent_before = records.usage_so_far();
        let run = Judged { recorder: &recorder, spent_before };
        let judge = shared.policies.judge(run).map_err(Problem::Judge)?;
        let most = shared.settings.max_time;
        let limit = seconds.map_or(most, Duration::from_secs).min(most);
        Ok(Course {
            server: self,
            id,
            began,
            source,
            journal,
            recorder,
            spent_before,
            judge,
            steering,
            since: Instant::now(),
            limit,
        })
    }

    /// The incident of a stored investigation, if this server may read it.
    fn source(&self, began: &Began) -> Result<Arc<Loaded>, Problem> {
        let shared = &self.0;
        let folder = shared.roots.allow(&began.folder)?;
        let architecture =
            began.architecture.as_deref().map(|path| shared.roots.allow(path)).transpose()?;
        shared.library.load(&folder, architecture.as_deref(), &shared.roots.name(&folder))
    }

    /// Refuses to let somebody else judge than the ledger names. Gives what it began with.
    pub(super) fn same_judge<'l>(
        &self,
        id: &InvestigationId,
        ledger: &'l Ledger,
    ) -> Result<&'l Case, Problem> {
        let Some(EntryBody::Opened(opened)) = ledger.entries().first().map(|entry| &entry.body)
        else {
            return Err(Problem::Empty(id.clone()));
        };
        self.must_judge(id, opened.config.policy.as_deref())?;
        Ok(&opened.case)
    }

    fn must_judge(&self, id: &InvestigationId, then: Option<&str>) -> Result<(), Problem> {
        let now = self.0.policies.name();
        match then {
            Some(then) if then != now => {
                Err(Problem::OtherJudge { id: id.clone(), then: then.to_owned(), now })
            }
            _ => Ok(()),
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
        let open = ask::questions(&controller.diagnosis(), &self.0.store.people(id));
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
}

impl Course<'_> {
    /// From the first entry on.
    fn first(self) -> Result<Run, Problem> {
        let opened = async {
            tokio::select! {
                biased;
                () = self.steering.cancel.beside.cancelled() => {
                    Err(Problem::Cancelled(Some(self.id.clone())))
                }
                opened = self.judge.open(&self.source.incident, self.began.window) => {
                    let folder = self.began.name.clone();
                    opened.map_err(|reason| Problem::Input { folder, reason })
                }
                () = tokio::time::sleep(self.limit) => Err(Problem::NotBegun(self.id.clone())),
            }
        };
        let case = tokio::runtime::Handle::current().block_on(opened)?;
        let config = self.began.config.clone();
        self.drive(&case.clone(), async |engine, _| Ok(engine.investigate(config, case).await))
    }

    /// From the last entry on, with the entities of which people have told.
    fn go_on(self, ledger: &Ledger, told: Vec<EntityId>) -> Result<Run, Problem> {
        let Some(case) = case_of(ledger) else { return Err(Problem::Empty(self.id)) };
        let id = self.id.clone();
        self.drive(case, async |engine, handle| {
            for entity in told {
                // It is taken in as soon as the run goes on; a few always fit.
                let _ = handle.observe(Observation::NewEvidence(entity)).await;
            }
            engine.resume(ledger).await.map_err(|error| unusable(&id, &error))
        })
    }

    fn drive(
        self,
        case: &Case,
        run: impl AsyncFnOnce(
            Engine<ContextAndPolicy<Supplemented<Arc<Loaded>>, Box<dyn eog::AbductivePolicy>>>,
            &eog::Handle,
        ) -> Result<Finished, Problem>,
    ) -> Result<Run, Problem> {
        let Steering { cancel, controls, events } = self.steering;
        let people = self.server.0.store.people(&self.id);
        let contract = Supplemented::new(self.source, &people, case.window);
        let left = self.limit.saturating_sub(self.since.elapsed());
        let limits = Limits { deadline: Some(left), ..self.judge.limits() };
        let engine = Engine::new(contract, self.judge.policy(case))
            .with_limits(limits)
            .with_events(events)
            .with_controls(controls)
            .with_journal(self.journal)
            .with_recorder(self.recorder, self.spent_before);
        let runtime = tokio::runtime::Handle::current();
        let mut finished = runtime.block_on(run(engine, &cancel.handle))?;
        if let Some(error) = finished.journal_error.take() {
            return Err(error.into());
        }
        // Who cancels wants nobody to be asked any more.
        let told = match finished.stop {
            StopReason::Cancelled => None,
            _ => runtime.block_on(async {
                tokio::select! {
                    biased;
                    told = self.judge.tell(&finished) => told.map_err(Problem::Judge),
                    () = cancel.beside.cancelled() => Ok(None),
                }
            })?,
        };
        let mut report = Report::new(self.began.name.as_str(), finished.diagnosis());
        report.narrative = told.unwrap_or(report.narrative);
        self.server.end(self.id, &report, finished.ledger())
    }
}

impl Server {
    /// Stores the result. What cannot be stored is said beside it: the journal has it all.
    fn end(&self, id: InvestigationId, report: &Report, ledger: &Ledger) -> Result<Run, Problem> {
        let store = &self.0.store;
        let answer = Investigated::new(&id, report);
        let parts = [
            (Part::Ledger, ledger.to_json_lines()),
            (Part::Report, eog_report::markdown(report)),
            (Part::Dot, eog_report::dot(report)),
            (Part::Mermaid, eog_report::mermaid(report)),
        ];
        let stored: Result<(), Problem> = parts
            .iter()
            .try_for_each(|(part, text)| store.set_part(&id, *part, text))
            .and_then(|()| store.set_ended(&id, &answer.ended()));
        if report.stop == StopReason::Cancelled {
            return Err(Problem::Cancelled(Some(id)));
        }
        let mut text = plain(&eog_report::text(report, None));
        text += &format!("\nInvestigation {id}: {}.", answer.stop);
        if answer.is_unfinished {
            text += " `resume` continues it.";
        }
        if let Err(problem) = stored {
            text += &format!("\nThe result could not be stored: {problem}");
        }
        let questions = ask::questions(&report.diagnosis, &store.people(&id));
        Ok(Run { id, answer, text, questions })
    }
}

/// What a ledger began with.
fn case_of(ledger: &Ledger) -> Option<&Case> {
    match ledger.entries().first().map(|entry| &entry.body) {
        Some(EntryBody::Opened(opened)) => Some(&opened.case),
        _ => None,
    }
}

fn open_journal(id: &InvestigationId, path: &Path) -> Result<(Journal, Recovered), Problem> {
    Journal::open(path).map_err(|error| match error {
        JournalError::Locked { .. } => Problem::StillRuns(id.clone()),
        other => other.into(),
    })
}

/// Refuses to mix two incidents: the folder must hold what the ledger began with.
fn same_case(began: &Began, source: &Loaded, ledger: &Ledger) -> Result<(), Problem> {
    let Some(then) = case_of(ledger) else { return Ok(()) };
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
