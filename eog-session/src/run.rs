//! Runs: an investigation is begun, resumed or forked, and driven to its end.

mod error;
mod records;
mod steering;

use std::sync::Arc;
use std::time::{Duration, Instant};

use eog::ledger::{Body, Observation};
use eog::machine::OfMachine;
use eog::memory::MemoryFigures;
use eog::side::RecordError;
use eog::{
    AbductivePolicy, BudgetKind, Case, DecisionMemory, Engine, EntityId, EventStream, Finished,
    Limits, Machine, Remembering, Speculation, StopReason, Usage, Window,
};
use eog_evidence::StartError;
use eog_report::Narrative;
use eog_search::{Roles, Toolset};
use serde::{Deserialize, Serialize};
use tracing::{Instrument as _, Span, info_span};

use crate::controllers::{
    AnyFinished, AnyLedger, AnySettings, Changes, ControllerName, Helpers, Investigator, each,
};
use crate::judge::{ForRun, Judge, Policies, split_prompts};
use crate::listener::{Listener, Step};
use crate::roles::RememberingRoles;
use crate::source::{Opened, Supplemented, Words};
use crate::tools::catalogue;

pub use error::{RunError, Unbegun};
pub use records::{Records, RecordsError, last_stop};
pub use steering::{Cancel, Steering};

/// Most observations that a run goes on with.
pub const MAX_OBSERVATIONS: usize = 2_000;

/// Observations that are handed over before a run goes on; the others follow while it does.
const AT_ONCE: usize = 48;

/// What an investigation begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Which controller, and every choice of it.
    pub settings: AnySettings,
    /// The window that is asked for.
    pub window: Option<Window>,
    /// What the rules choose: it holds unless a model chooses. Where the rules find no start, models find
    /// none either.
    pub by_rule: Case,
}

/// The part of it that is stored beside a journal before the first entry can be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Began {
    #[serde(rename = "config")]
    settings: AnySettings,
    window: Option<Window>,
}

impl Began {
    /// What it is called beside the journal.
    const NAME: &'static str = "begin";
}

impl Start {
    /// A start of a source by these settings, in this window if one is asked for.
    ///
    /// # Errors
    /// [`StartError`] when there is nothing to start from.
    pub fn of(
        source: &Opened,
        settings: impl Into<AnySettings>,
        window: Option<Window>,
    ) -> Result<Self, StartError> {
        Ok(Self { settings: settings.into(), window, by_rule: source.case(window)? })
    }

    /// What a run that was killed before its first entry had begun with: settings and window. Nothing
    /// if it did not come so far.
    ///
    /// # Errors
    /// [`RunError::Recorder`] when what is beside the journal cannot be used.
    pub async fn recall(
        records: &Records,
    ) -> Result<Option<(AnySettings, Option<Window>)>, RunError> {
        let absent = async || Err(eog::Failure::context("not recorded"));
        match records.recorder.call(Began::NAME, &(), absent).await {
            Ok(Began { settings, window }) => Ok(Some((settings, window))),
            Err(RecordError::Failed { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores it, so that a run which is killed before its first entry can be resumed.
    async fn store(&self, records: &Records) -> Result<(), RunError> {
        let began = Began { settings: self.settings.clone(), window: self.window };
        let now = async || Ok((began.clone(), Usage::default()));
        records.recorder.call::<Began, _>(Began::NAME, &(), now).await?;
        Ok(())
    }
}

/// A run that is to be made, and everything around it. What follows from its evidence and its settings
/// goes into the ledger; nothing else here changes that.
pub struct Course<'a> {
    /// The policy.
    pub policies: &'a dyn Policies,
    /// Where evidence comes from.
    pub source: Opened,
    /// What people said of entities, beside the source.
    pub words: Words,
    /// Where it leaves its traces.
    pub records: Records,
    /// Decisions of other runs, which are not asked for again.
    pub memory: Option<DecisionMemory>,
    /// How far to ask ahead, if at all.
    pub speculation: Option<Speculation>,
    /// After which time nothing more is begun.
    pub deadline: Option<Duration>,
    /// From when the deadline counts: unless set, when the source had been read.
    pub since: Instant,
    /// Cancels it.
    pub steering: Steering,
    /// Receives the progress.
    pub listener: Arc<dyn Listener>,
}

/// A run that has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ended {
    /// What the incident is called.
    pub name: String,
    /// What it concluded, and how it got there.
    pub finished: AnyFinished,
    /// The result in words, unless they are those of the rules.
    pub narrative: Option<Narrative>,
    /// What writing it has cost.
    pub spent_after: Usage,
    /// Why a model did not write the result, or not all of it, where that was wanted.
    pub cut_short: Option<CutShort>,
    /// What the memory was good for, if there is one.
    pub memory: Option<Remembered>,
}

/// Why a model did not write the result of a finished investigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutShort {
    /// The run was cancelled while the result was written.
    Interrupted,
    /// A budget did not allow it.
    OverBudget(BudgetKind),
}

/// What a memory of decisions was good for.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// How often.
    pub figures: MemoryFigures,
    /// Why the first decision that could not be kept was not, if there is one.
    pub first_write_error: Option<String>,
    /// What was wrong with the first decision that was found damaged, if there is one.
    pub first_damage: Option<String>,
}

impl Remembered {
    pub(crate) fn of(memory: &DecisionMemory) -> Self {
        let (first_write_error, first_damage) = (memory.first_write_error(), memory.first_damage());
        Self { figures: memory.figures(), first_write_error, first_damage }
    }
}

/// Refuses another source than a ledger began with.
///
/// # Errors
/// [`RunError::OtherSource`], and [`RunError::Empty`] for a ledger that has not begun.
pub fn same_source(source: &Opened, ledger: &AnyLedger) -> Result<(), RunError> {
    match source.is_case(ledger.case().ok_or(RunError::Empty)?) {
        true => Ok(()),
        false => Err(RunError::OtherSource),
    }
}

/// Refuses another policy than the recorded one, if one is recorded.
///
/// # Errors
/// [`RunError::OtherJudge`].
pub fn same_judge(policies: &dyn Policies, then: Option<&str>) -> Result<(), RunError> {
    let now = policies.name();
    match then {
        Some(then) if split_prompts(then).0 != split_prompts(&now).0 => {
            Err(RunError::OtherJudge { then: then.to_owned(), now })
        }
        _ => Ok(()),
    }
}

/// Makes sure that a ledger can be forked at an entry, before anything is made for the fork.
///
/// # Errors
/// [`RunError::Fork`].
pub fn can_fork(ledger: &AnyLedger, at: u64, changes: &Changes) -> Result<(), RunError> {
    each!(ledger, AnyLedger, ledger => {
        eog::ledger::fork(ledger, at, changes.clone().try_into()?)?;
    });
    Ok(())
}

impl<'a> Course<'a> {
    /// A run in memory, without a deadline or a listener.
    pub fn new(policies: &'a dyn Policies, source: Opened) -> Self {
        Self {
            policies,
            source,
            words: Words::new(),
            records: Records::in_memory(),
            memory: None,
            speculation: None,
            deadline: None,
            since: Instant::now(),
            steering: Steering::new().0,
            listener: Arc::new(()),
        }
    }

    /// Begins an investigation and drives it to its end.
    ///
    /// # Errors
    /// [`RunError`] when it could not begin, or what was judged cannot be used.
    pub async fn begin(self, start: Start) -> Result<Ended, RunError> {
        let span = self.span();
        self.begin_traced(start).instrument(span).await
    }

    async fn begin_traced(mut self, start: Start) -> Result<Ended, RunError> {
        let judge = self.judge()?;
        // Before anything is asked that costs.
        let tools = self.tools(&*judge, start.settings.controller()).await?;
        let case = match judge.open(self.source.incident(), start.window) {
            Some(opening) => {
                start.store(&self.records).await?;
                self.unless_ended(opening).await?
            }
            None => start.by_rule.clone(),
        };
        let case = match judge.reads_case_file() {
            true => {
                let file = async { Ok::<_, RunError>(self.source.case_file(&case).await) };
                let file = self.unless_ended(file).await?;
                case.with_case_file(file)
            }
            false => case,
        };
        judge.check()?;
        // A start that was chosen by rule for lack of budget is good enough for a report, but a resumed
        // run with a larger budget shall have it chosen by the model.
        if judge.over_budget().is_some() {
            self.records.keep_no_journal();
        }
        let settings = match judge.asks_for_evidence() {
            true => start.settings.asking_models(judge.queries()),
            false => start.settings,
        };
        each!(settings, AnySettings, settings => {
            self.drive((&*judge, tools), &case.clone(), async |engine| {
                Ok(engine.investigate(*settings, case).await)
            })
            .await
        })
    }

    /// Goes on where a ledger ends, with entities of which there is something new.
    ///
    /// # Errors
    /// As for [`Course::begin`]; [`RunError::Restore`] when the ledger does not follow.
    pub async fn resume(self, ledger: &AnyLedger, news: Vec<EntityId>) -> Result<Ended, RunError> {
        self.observe(ledger, news.into_iter().map(Observation::NewEvidence).collect()).await
    }

    /// Goes on where a ledger ends, with what has been observed since. At most [`MAX_OBSERVATIONS`] are
    /// taken in; for more, run again.
    ///
    /// # Errors
    /// As for [`Course::resume`].
    pub async fn observe(
        self,
        ledger: &AnyLedger,
        news: Vec<Observation>,
    ) -> Result<Ended, RunError> {
        let span = self.span();
        self.observe_traced(ledger, news).instrument(span).await
    }

    async fn observe_traced(
        self,
        ledger: &AnyLedger,
        news: Vec<Observation>,
    ) -> Result<Ended, RunError> {
        let case = ledger.case().ok_or(RunError::Empty)?;
        let (judge, handle) = (self.judge()?, self.steering.handle());
        let tools = self.tools(&*judge, ledger.controller()).await?;
        each!(ledger, AnyLedger, ledger => {
            self.drive((&*judge, tools), case, async |engine| {
                let mut news = news.into_iter().take(MAX_OBSERVATIONS);
                for observation in news.by_ref().take(AT_ONCE) {
                    // It is taken in as soon as the run goes on; so many always fit.
                    let _ = handle.observe(observation).await;
                }
                let feed = async {
                    for observation in news {
                        // If the run has ended before, the ledger records what it took in.
                        if handle.observe(observation).await.is_err() {
                            break;
                        }
                    }
                    std::future::pending::<std::convert::Infallible>().await
                };
                tokio::select! {
                    biased;
                    finished = engine.resume(ledger) => Ok(finished?),
                    never = feed => match never {},
                }
            })
            .await
        })
    }

    /// Takes another course from an entry of a ledger on.
    ///
    /// # Errors
    /// As for [`Course::begin`]; [`RunError::Fork`] when there is no such entry.
    pub async fn fork(
        self,
        ledger: &AnyLedger,
        at: u64,
        changes: Changes,
    ) -> Result<Ended, RunError> {
        let span = self.span();
        self.fork_traced(ledger, at, changes).instrument(span).await
    }

    async fn fork_traced(
        self,
        ledger: &AnyLedger,
        at: u64,
        changes: Changes,
    ) -> Result<Ended, RunError> {
        let case = ledger.case().ok_or(RunError::Empty)?;
        let judge = self.judge()?;
        let tools = self.tools(&*judge, ledger.controller()).await?;
        let changes = self.as_asked(&*judge, (ledger, at), changes).await?;
        each!(ledger, AnyLedger, ledger => {
            let changes = changes.try_into()?;
            self.drive((&*judge, tools), case, async |engine| {
                Ok(engine.fork(ledger, at, changes).await?)
            })
            .await
        })
    }

    /// The changes of a fork with what its judge is given at the opening of a run: the case file, unless packets have it, and
    /// of another judge how it is asked.
    async fn as_asked(
        &self,
        judge: &dyn Judge,
        (ledger, at): (&AnyLedger, u64),
        mut changes: Changes,
    ) -> Result<Changes, RunError> {
        let case = ledger.case().ok_or(RunError::Empty)?;
        if judge.reads_case_file() && !ledger.shows_case_file(at) {
            let file = async { Ok::<_, RunError>(self.source.case_file(case).await) };
            changes.case_file = Some(Arc::new(self.unless_ended(file).await?));
        }
        let settings = changes.settings.clone().or_else(|| AnySettings::at(ledger, at));
        let is_other = changes.policy.is_some() && judge.asks_for_evidence();
        if let Some(settings) = settings.filter(|_| is_other) {
            let asking = settings.clone().asking_models(judge.queries());
            if asking != settings {
                changes.settings = Some(asking.judged_by(changes.policy.clone()));
            }
        }
        Ok(changes)
    }

    /// What traces show of all of it: the choice of where to start, the run, and the words of the result.
    fn span(&self) -> Span {
        let name = &self.source.incident().name;
        info_span!("investigate", otel.name = format!("investigate {name}"))
    }

    fn judge(&self) -> Result<Box<dyn Judge>, RunError> {
        let Records { recorder, spent_before, .. } = &self.records;
        let run = ForRun::new(recorder, *spent_before).with_listener(Arc::clone(&self.listener));
        Ok(self.policies.judge(run)?)
    }

    /// The tools that the judge brings for specialists, if there are any that call tools.
    async fn tools(
        &self,
        judge: &dyn Judge,
        controller: ControllerName,
    ) -> Result<Vec<Arc<dyn Toolset>>, RunError> {
        match controller.calls_tools() {
            true => {
                let of_source = judge.roles().map(|_| catalogue(&self.source.metrics()));
                let of_source = of_source.flatten().into_iter().collect();
                self.unless_ended(judge.tools(of_source)).await
            }
            false => Ok(Vec::new()),
        }
    }

    /// What comes before the first entry, unless the run is cancelled or it takes too long.
    async fn unless_ended<T, E: Into<RunError>>(
        &self,
        coming: impl Future<Output = Result<T, E>>,
    ) -> Result<T, RunError> {
        tokio::select! {
            biased;
            () = self.steering.cancelled() => Err(RunError::NotBegun(Unbegun::Cancelled)),
            come = coming => come.map_err(Into::into),
            () = self.time_is_up() => Err(RunError::NotBegun(Unbegun::TimeIsUp)),
        }
    }

    async fn time_is_up(&self) {
        match self.left() {
            Some(left) => tokio::time::sleep(left).await,
            None => std::future::pending().await,
        }
    }

    fn left(&self) -> Option<Duration> {
        self.deadline.map(|after| after.saturating_sub(self.since.elapsed()))
    }

    /// Drives an engine to the end, and has the result written.
    async fn drive<M: Investigator>(
        self,
        (judge, tools): (&dyn Judge, Vec<Arc<dyn Toolset>>),
        case: &Case,
        run: impl AsyncFnOnce(AnyEngine<M>) -> Result<Finished<M>, RunError>,
    ) -> Result<Ended, RunError>
    where
        M::Body: Body + OfMachine<Machine = M>,
        AnyFinished: From<Finished<M>>,
    {
        let policy = self.remembering(judge.policy(case), case)?;
        let roles = judge.roles().map(|roles| self.remembering_roles(roles, case)).transpose()?;
        let tools = self.source.toolsets().into_iter().chain(tools).collect();
        let helpers = Helpers { roles, tools };
        let left = self.left();
        let Self { source, words, records, memory, speculation, steering, listener, .. } = self;
        let name = source.incident().name.clone();
        let said = steering.words();
        said.recall(words);
        let contract = Supplemented::new(source, said, case.window);
        let (events, stream) = eog::events();
        let recorder = records.recorder.clone();
        let (cancel, controls) = steering.into_parts();
        let engine = Engine::with_responder(M::responder(contract, policy, helpers))
            .with_limits(Limits { deadline: left, ..judge.limits() })
            .with_events(events)
            .with_controls(controls);
        let engine = match speculation {
            Some(speculation) => engine.with_speculation(speculation),
            None => engine,
        };
        let running = run(records.of_engine(engine));
        let (finished, ()) = tokio::join!(running, follow::<M>(stream, &*listener));
        let finished = AnyFinished::from(finished?);
        judge.check()?;
        let wording = narrate(judge, &finished, &cancel).await;
        judge.check()?;
        let over_budget = judge.over_budget().map(CutShort::OverBudget);
        let (narrative, cut_short) = match wording {
            Wording::ByRule => (None, over_budget),
            Wording::Narrative(narrative) => (Some(*narrative), over_budget),
            Wording::Interrupted => (None, Some(CutShort::Interrupted)),
        };
        let spent_after = recorder.take_usage();
        let memory = memory.as_ref().map(Remembered::of);
        Ok(Ended { name, finished, narrative, spent_after, cut_short, memory })
    }

    /// The policy behind the memory, if there is one.
    fn remembering(
        &self,
        policy: Box<dyn AbductivePolicy>,
        case: &Case,
    ) -> Result<Box<dyn AbductivePolicy>, RunError> {
        remembering(policy, self.memory.as_ref(), self.policies, case)
    }

    fn remembering_roles(
        &self,
        roles: Box<dyn Roles>,
        case: &Case,
    ) -> Result<Box<dyn Roles>, RunError> {
        let Some(memory) = &self.memory else { return Ok(roles) };
        let identity = self.policies.identity(case)?;
        Ok(Box::new(RememberingRoles::new(roles, memory.clone(), identity)))
    }
}

/// Puts a memory in front of a policy, if there is one.
pub(crate) fn remembering(
    policy: Box<dyn AbductivePolicy>,
    memory: Option<&DecisionMemory>,
    policies: &dyn Policies,
    case: &Case,
) -> Result<Box<dyn AbductivePolicy>, RunError> {
    let Some(memory) = memory else { return Ok(policy) };
    let identity = policies.identity(case)?;
    Ok(Box::new(Remembering::new(policy, memory.clone(), identity)))
}

/// Has the result written by a model, if one is to. If the run is cancelled meanwhile, the rules write it.
async fn narrate(judge: &dyn Judge, finished: &AnyFinished, cancel: &Cancel) -> Wording {
    // After a cancellation, no model is asked any more.
    let narrating = judge.narrate(finished).filter(|_| finished.stop() != StopReason::Cancelled);
    let Some(narrating) = narrating else { return Wording::ByRule };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Wording::Interrupted,
        narrative = narrating => Wording::Narrative(Box::new(narrative)),
    }
}

/// How the result was written.
enum Wording {
    ByRule,
    Narrative(Box<Narrative>),
    Interrupted,
}

/// The engine of a session, for whichever controller.
pub(crate) type AnyEngine<M> = Engine<
    <M as Investigator>::Responder<Supplemented<Opened>, Box<dyn AbductivePolicy>>,
    <M as Machine>::Body,
>;

/// Reports events to a listener, until the engine has ended.
async fn follow<M: Investigator>(mut stream: EventStream<M::Body>, listener: &dyn Listener) {
    while let Some(event) = stream.next().await {
        let step = match event {
            eog::Event::Asking { about, kind } => Step::Asking { about, kind },
            eog::Event::Appended(entry) => {
                let step = Step::Stored {
                    seq: entry.seq,
                    judged: entry.body.look().is_some(),
                    words: eog_report::brief(&entry),
                };
                listener.entry(&M::entry(entry));
                step
            }
            eog::Event::Spent(spent) => Step::Spent(spent),
            eog::Event::Refused(reason) => Step::Refused(reason),
            eog::Event::Missed(count) => Step::Missed(count),
            _ => continue,
        };
        listener.step(&step);
    }
}
