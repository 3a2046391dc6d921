//! The engine: drives a machine to the end, and asks its questions.

pub(crate) mod call;
mod desk;
mod figures;
mod limits;
mod run;

use std::sync::Arc;

use eog_core::controller::EntryBody;
use eog_core::ledger::{Body, ForkChanges, ForkError, RestoreError};
use eog_core::machine::{OfMachine, Responder};
use eog_core::{
    Case, Conclusion, ContextAndPolicy, Controller, Diagnosis, Input, Ledger, Machine, Spent,
    StopReason, Usage,
};

use crate::events::{EventSender, EventStream, WeakSender};
use crate::handle::Controls;
use crate::journal::{Journal, JournalError};
use crate::running::Running;
use crate::side::{CallRecorder, RunStart, SideError};
use call::{Caller, Rooms};
pub use limits::{Limits, Retry, Speculation, SpeculationFigures};
use run::{Records, Run};

/// Runs investigations: asks a machine's questions, stores its entries, and hands it the answers.
///
/// Every failure of the contract or the policy (an error, a time-out, a panic) is recorded in the
/// ledger and the investigation goes on.
///
/// Which machine investigates follows from the settings: [`Config`](crate::Config) is that of the
/// [`Controller`], [`LinearConfig`](crate::LinearConfig) that of the [`Linear`](crate::Linear) loop.
///
/// ```
/// use eog::{Config, Engine, InMemoryContext, Label, StopReason, policy_fn};
/// # use eog::{Case, Decision, EntityId, Seed, Topology, Window};
/// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// # let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
/// # case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "a hunch".into() });
/// let contract = InMemoryContext::default();
/// let policy = policy_fn(|_| Decision::new(Label::Healthy, "nothing unusual"));
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// let finished = Engine::new(contract, policy).investigate(Config::default(), case).await;
/// assert_eq!(finished.stop, StopReason::Converged { refused_wakes: 0 });
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Engine<R, B = EntryBody> {
    responder: Arc<R>,
    limits: Limits,
    rooms: Rooms,
    speculation: Option<Speculation>,
    events: Option<EventSender<B>>,
    controls: Option<Controls>,
    journal: Option<Journal>,
    recorder: Option<CallRecorder>,
    spent_before: Usage,
}

/// An investigation that has ended: what it concluded and how it got there.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished<M = Controller> {
    /// Why it ended.
    pub stop: StopReason,
    /// Its machine, for beliefs, claims and topology.
    pub machine: M,
    /// Why the journal stopped taking entries, if it did. The investigation was cancelled then;
    /// what the journal had acknowledged is safe in it.
    pub journal_error: Option<JournalError>,
    /// Why the side file stopped taking figures, if it did. The investigation went on without.
    pub side_error: Option<SideError>,
    /// The result of asking ahead.
    pub speculation: SpeculationFigures,
    /// How many further attempts were made after transient failures.
    pub retries: u64,
}

impl<M: Machine> Finished<M> {
    /// An investigation that was driven without an engine.
    pub fn new(stop: StopReason, machine: M) -> Self {
        Self {
            stop,
            machine,
            journal_error: None,
            side_error: None,
            speculation: SpeculationFigures::default(),
            retries: 0,
        }
    }

    /// The data of reports and scores.
    pub fn diagnosis(&self) -> Diagnosis {
        let mut diagnosis = self.machine.diagnosis();
        diagnosis.stop = Some(self.stop);
        diagnosis
    }

    /// Frontier, coverage, cover, ranking.
    pub fn conclusion(&self) -> Conclusion {
        self.machine.conclusion()
    }

    /// The whole ledger.
    pub fn ledger(&self) -> &Ledger<M::Body> {
        self.machine.ledger()
    }

    /// What was used.
    pub fn spent(&self) -> Spent {
        self.machine.spent()
    }
}

impl<C, P, B: Body> Engine<ContextAndPolicy<C, P>, B> {
    /// An engine that asks a contract for contexts and a policy for decisions, with default limits
    /// and no listeners.
    pub fn new(contract: C, policy: P) -> Self {
        Self::with_responder(ContextAndPolicy { contract, policy })
    }
}

impl<R, B: Body> Engine<R, B> {
    /// An engine for machines with questions of their own, with default limits and no listeners.
    pub fn with_responder(responder: R) -> Self {
        let limits = Limits::default();
        Self {
            responder: Arc::new(responder),
            limits,
            rooms: Rooms::of(&limits),
            speculation: None,
            events: None,
            controls: None,
            journal: None,
            recorder: None,
            spent_before: Usage::default(),
        }
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self.rooms = Rooms::of(&limits);
        self
    }

    /// Another engine over the same contract and policy, with the same limits: what the two may have under
    /// way at once counts together. It has no listener, no controls, no journal and no recorder: these
    /// belong to one run each.
    ///
    /// One engine so serves any number of runs at once; see [`Engine::start`].
    #[must_use]
    pub fn share(&self) -> Self {
        Self {
            responder: Arc::clone(&self.responder),
            limits: self.limits,
            rooms: self.rooms.clone(),
            speculation: self.speculation,
            events: None,
            controls: None,
            journal: None,
            recorder: None,
            spent_before: Usage::default(),
        }
    }

    /// Asks ahead: while an answer is awaited, the likely next questions are asked, too.
    /// Changes the time an investigation takes and what it spends, never its ledger.
    #[must_use]
    pub fn with_speculation(mut self, speculation: Speculation) -> Self {
        self.speculation = Some(speculation);
        self
    }

    /// Sends progress to the other end of [`crate::events`].
    #[must_use]
    pub fn with_events(mut self, events: EventSender<B>) -> Self {
        self.events = Some(events);
        self
    }

    /// Follows the other end of [`crate::handle`]: cancellation and observations.
    #[must_use]
    pub fn with_controls(mut self, controls: Controls) -> Self {
        self.controls = Some(controls);
        self
    }

    /// Stores every entry of the ledger in a journal before anything follows from it.
    ///
    /// Storing blocks the thread for the time of one `fsync`; entries that are ready together share
    /// it.
    #[must_use]
    pub fn with_journal(mut self, journal: Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Writes what calls took and cost beside the journal, and counts what is spent outside the
    /// loop through the same recorder. `spent_before` is what earlier runs have spent (see
    /// [`SideRecords::usage_so_far`](crate::side::SideRecords::usage_so_far)): the budgets of tokens and
    /// money hold over all runs.
    #[must_use]
    pub fn with_recorder(mut self, recorder: CallRecorder, spent_before: Usage) -> Self {
        self.recorder = Some(recorder);
        self.spent_before = spent_before;
        self
    }

    /// Listens to this run from its beginning, by the sender that it has or a new one.
    pub(crate) fn listen(&mut self) -> (WeakSender<B>, EventStream<B>) {
        let sender = self.events.get_or_insert_with(|| crate::events().0);
        (sender.downgrade(), sender.subscribe())
    }

    /// Runs one investigation to its end.
    ///
    /// Must run inside a tokio runtime with time enabled. Dropping the future stops everything.
    pub async fn investigate<S>(self, settings: S, case: Case) -> Finished<S::Machine>
    where
        S: OfMachine,
        S::Machine: Machine<Body = B, Settings = S>,
        R: Responder<<S::Machine as Machine>::Question>,
    {
        self.drive(S::Machine::open(settings, case), RunStart::Began).await
    }

    /// Starts one investigation as a task of its own, and returns its handle: progress, cancellation,
    /// observations, outcome. Controls given to this engine are replaced by those of the [`Running`].
    ///
    /// Must be called inside a tokio runtime with time enabled.
    ///
    /// ```
    /// use eog::{Config, Decision, Engine, InMemoryContext, Label, policy_fn};
    /// # use eog::{Case, Topology, Window};
    /// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
    /// # let case = |entity: &str| -> Result<Case, eog::InvalidId> {
    /// #     Ok(Case::from_anomalies(Topology::default(), window, vec![])
    /// #         .with_seed(entity.parse()?, "a hunch"))
    /// # };
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// # runtime.block_on(async {
    /// let policy = policy_fn(|_| Decision::new(Label::Healthy, "nothing unusual"));
    /// let engine = Engine::new(InMemoryContext::default(), policy);
    /// let one = engine.share().start(Config::default(), case("cart")?);
    /// let other = engine.share().start(Config::default(), case("db")?);
    /// other.handle().cancel();
    /// assert_eq!(one.outcome().await?.spent().evaluations, 1);
    /// assert_eq!(other.outcome().await?.stop, eog::StopReason::Cancelled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start<S>(self, settings: S, case: Case) -> Running<S::Machine>
    where
        S: OfMachine,
        S::Machine: Machine<Body = B, Settings = S> + Send + Sync + 'static,
        R: Responder<<S::Machine as Machine>::Question> + 'static,
    {
        Running::of(self, S::Machine::open(settings, case), RunStart::Began)
    }

    /// Goes on with an investigation where its ledger ends, as a task of its own: [`Engine::start`] for
    /// [`Engine::resume`].
    ///
    /// # Errors
    /// [`RestoreError`] when the ledger does not follow by the rules of this program.
    pub fn start_from(mut self, ledger: &Ledger<B>) -> Result<Running<B::Machine>, RestoreError>
    where
        B: OfMachine,
        B::Machine: Machine<Body = B> + Send + Sync + 'static,
        R: Responder<<B::Machine as Machine>::Question> + 'static,
    {
        let machine = self.restored(ledger)?;
        Ok(Running::of(self, machine, RunStart::Resumed))
    }

    /// Goes on with an investigation where its ledger ends, and runs it to its end. Only what the
    /// ledger lacks is asked of the contract and the policy.
    ///
    /// Give the journal that held the ledger to [`Engine::with_journal`], so that new entries
    /// follow the old ones in it. If it has a checkpoint that fits, only the entries after that are
    /// derived again.
    ///
    /// # Errors
    /// [`RestoreError`] when the ledger does not follow by the rules of this program.
    pub async fn resume(mut self, ledger: &Ledger<B>) -> Result<Finished<B::Machine>, RestoreError>
    where
        B: OfMachine,
        B::Machine: Machine<Body = B>,
        R: Responder<<B::Machine as Machine>::Question>,
    {
        let machine = self.restored(ledger)?;
        Ok(self.drive(machine, RunStart::Resumed).await)
    }

    /// The machine as it was after the last entry of a ledger.
    fn restored(&mut self, ledger: &Ledger<B>) -> Result<B::Machine, RestoreError>
    where
        B: OfMachine,
        B::Machine: Machine<Body = B>,
    {
        let by_checkpoint = self.journal.as_mut().and_then(|journal| journal.restore(ledger));
        match by_checkpoint {
            Some(machine) => Ok(machine),
            None => eog_core::ledger::restore(ledger),
        }
    }

    /// Takes another course from entry `at` of a ledger on, and runs it to its end. Only what the
    /// shared entries lack is asked of the contract and the policy.
    ///
    /// A journal given to [`Engine::with_journal`] must be new: it receives the shared entries, too.
    ///
    /// # Errors
    /// [`ForkError`] when there is no such entry or the ledger does not follow.
    pub async fn fork(
        self,
        parent: &Ledger<B>,
        at: u64,
        changes: ForkChanges<<B::Machine as Machine>::Settings>,
    ) -> Result<Finished<B::Machine>, ForkError>
    where
        B: OfMachine,
        B::Machine: Machine<Body = B>,
        R: Responder<<B::Machine as Machine>::Question>,
    {
        let machine = eog_core::ledger::fork(parent, at, changes)?;
        Ok(self.drive(machine, RunStart::Forked).await)
    }

    /// Drives a machine as it is to its end.
    pub(crate) async fn drive<M>(self, mut machine: M, start: RunStart) -> Finished<M>
    where
        M: Machine<Body = B>,
        R: Responder<M::Question>,
    {
        for input in [Input::Spent(self.spent_before), Input::Resume] {
            let taken = machine.handle(input);
            debug_assert!(taken.is_ok(), "these inputs always fit");
        }
        let Self { responder, limits, rooms, speculation, controls, .. } = self;
        let records = Records::new(self.journal, self.recorder, self.events);
        let caller = Caller::sharing(responder, limits, rooms);
        let run = Run { caller, limits, speculation, controls, records };
        run.drive(machine, start).await
    }
}
