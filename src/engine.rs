//! The engine: drives a controller, a context contract and a policy to the end.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use eog_core::{
    AbductivePolicy, Answer, Case, Conclusion, Config, ContextContract, ContextPacket,
    ContextRequest, Controller, Entry, Failure, FailureKind, Input, InputError, Ledger, Output,
    RestoreError, Spent, StopReason, Ticket,
};
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::{FutureExt, future::BoxFuture as Boxed};

use crate::events::{Event, EventSender};
use crate::handle::{Controls, Request};
use crate::journal::{Journal, JournalError};

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One fetch of a local context.
    pub context_timeout: Duration,
    /// One call of the policy, with its correction.
    pub policy_timeout: Duration,
    /// The whole investigation, if limited. What is under way then is still committed.
    pub deadline: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            context_timeout: Duration::from_secs(60),
            policy_timeout: Duration::from_secs(120),
            deadline: None,
        }
    }
}

/// Runs investigations: fetches contexts, asks the policy, and tells the controller.
///
/// Every failure of the contract or the policy (an error, a time-out, a panic) is recorded in the
/// ledger and the investigation goes on.
///
/// ```
/// use eog::{Config, Engine, Label, StopReason};
/// # use eog::{Case, Decision, EntityId, Seed, Topology, Window};
/// # use eog_testkit::{MemoryContext, policy_fn};
/// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// # let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
/// # case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "a hunch".into() });
/// # let contract = MemoryContext::default();
/// # let policy = policy_fn(|_| Decision::new(Label::Healthy, "nothing unusual"));
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// let finished = Engine::new(contract, policy).investigate(Config::default(), case).await;
/// assert_eq!(finished.stop, StopReason::Converged { refused_wakes: 0 });
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Engine<C, P> {
    contract: C,
    policy: P,
    limits: Limits,
    events: Option<EventSender>,
    controls: Option<Controls>,
    journal: Option<Journal>,
}

/// An investigation that has ended: what it concluded and how it got there.
#[derive(Debug)]
pub struct Finished {
    /// Why it ended.
    pub stop: StopReason,
    /// Its controller, for beliefs, claims and topology.
    pub controller: Controller,
    /// Why the journal stopped taking entries, if it did. The investigation was cancelled then;
    /// what the journal had acknowledged is safe in it.
    pub journal_error: Option<JournalError>,
}

impl Finished {
    /// Frontier, coverage, cover, ranking.
    pub fn conclusion(&self) -> Conclusion {
        self.controller.conclusion()
    }

    /// The whole ledger.
    pub fn ledger(&self) -> &Ledger {
        self.controller.ledger()
    }

    /// What was used.
    pub fn spent(&self) -> Spent {
        self.controller.spent()
    }
}

impl<C: ContextContract, P: AbductivePolicy> Engine<C, P> {
    /// An engine with default limits that nobody watches.
    pub fn new(contract: C, policy: P) -> Self {
        Self {
            contract,
            policy,
            limits: Limits::default(),
            events: None,
            controls: None,
            journal: None,
        }
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sends progress to the other end of [`crate::events`].
    #[must_use]
    pub fn with_events(mut self, events: EventSender) -> Self {
        self.events = Some(events);
        self
    }

    /// Obeys the other end of [`crate::handle`]: cancellation and observations.
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

    /// Runs one investigation to its end.
    ///
    /// Must run inside a tokio runtime with time enabled. Dropping the future stops everything.
    pub async fn investigate(self, config: Config, case: Case) -> Finished {
        self.drive(Controller::new(config, case)).await
    }

    /// Goes on with an investigation where its ledger ends, and runs it to its end. Only what the
    /// ledger lacks is asked of the contract and the policy.
    ///
    /// Give the journal that held the ledger to [`Engine::with_journal`], so that new entries
    /// follow the old ones in it.
    ///
    /// # Errors
    /// [`RestoreError`] when the ledger does not follow by the rules of this program.
    pub async fn resume(self, ledger: &Ledger) -> Result<Finished, RestoreError> {
        let controller = Controller::restore(ledger)?;
        Ok(self.drive(controller).await)
    }

    async fn drive(mut self, mut controller: Controller) -> Finished {
        let mut journal = self.journal.take();
        let mut journal_error = None;
        let mut controls = self.controls.take();
        let deadline = async {
            match self.limits.deadline {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
        };
        let mut deadline = std::pin::pin!(deadline.fuse());
        let mut calls: FuturesUnordered<Boxed<'_, Input>> = FuturesUnordered::new();
        let mut waiting = None;
        let stop = loop {
            let input = match waiting.take().unwrap_or_else(|| controller.poll()) {
                Output::Append(entry) => {
                    let mut batch = vec![entry];
                    waiting = more_entries(&mut controller, &mut batch);
                    if let Some(Err(error)) = journal.as_mut().map(|j| j.append(&batch)) {
                        journal_error = Some(error);
                        break StopReason::Cancelled;
                    }
                    for entry in batch {
                        let stored = controller.handle(Input::Appended(entry.seq));
                        debug_assert!(stored.is_ok(), "entries are acknowledged in order");
                        self.tell(Event::Appended(entry));
                    }
                    // Contracts and policies that are ready at once never let go of the thread,
                    // but the deadline, cancellation and listeners need it, too.
                    tokio::task::yield_now().await;
                    continue;
                }
                Output::Fetch { ticket, request } => {
                    self.tell(Event::Fetching {
                        entity: request.entity.clone(),
                        visit: request.visit,
                    });
                    calls.push(self.fetch(ticket, request).boxed());
                    continue;
                }
                Output::Decide { ticket, packet } => {
                    self.tell(Event::Deciding { entity: packet.entity.clone() });
                    calls.push(self.decide(ticket, packet).boxed());
                    continue;
                }
                // Whoever stopped it wants no more of it.
                Output::Done(stop @ (StopReason::Cancelled | StopReason::Deadline)) => break stop,
                Output::Done(stop) => match controls.as_mut().and_then(Controls::last_call) {
                    Some(observation) => Input::Observe(observation),
                    None => break stop,
                },
                // Outputs that a later version may add cannot be acted on; wait for an input.
                _ => tokio::select! {
                    biased;
                    request = next_request(&mut controls) => match request {
                        Request::Cancel => Input::Cancel,
                        Request::Observe(observation) => Input::Observe(observation),
                    },
                    () = &mut deadline => Input::Deadline,
                    Some(answer) = calls.next() => answer,
                },
            };
            if matches!(input, Input::Cancel) {
                calls.clear();
            }
            if let Err(error) = controller.handle(input) {
                self.tell(Event::Refused(error.to_string()));
                debug_assert!(matches!(error, InputError::NoSuchEdge(_)), "{error}");
            }
        };
        drop(calls);
        self.tell(Event::Stopped(stop));
        Finished { stop, controller, journal_error }
    }

    async fn fetch(&self, ticket: Ticket, request: ContextRequest) -> Input {
        let call = guarded(
            || self.contract.get_context(&request),
            self.limits.context_timeout,
            FailureKind::ContextFailed,
            FailureKind::ContextTimedOut,
        );
        match call.await {
            Ok(context) => Input::Context(ticket, context),
            Err(failure) => Input::Failed(ticket, failure.of_contract()),
        }
    }

    async fn decide(&self, ticket: Ticket, packet: Arc<ContextPacket>) -> Input {
        let call = guarded(
            || self.policy.decide(&packet),
            self.limits.policy_timeout,
            FailureKind::PolicyFailed,
            FailureKind::PolicyTimedOut,
        );
        match call.await {
            Ok(Answer { decision, usage, .. }) => Input::Decision(ticket, decision, usage),
            Err(failure) => Input::Failed(ticket, failure.of_policy()),
        }
    }

    fn tell(&self, event: Event) {
        if let Some(events) = &self.events {
            events.send(event);
        }
    }
}

/// Takes the entries that are ready as well, so that they are stored together. Returns the request
/// that came after them, if one did.
fn more_entries(controller: &mut Controller, batch: &mut Vec<Arc<Entry>>) -> Option<Output> {
    loop {
        match controller.poll() {
            Output::Append(entry) => batch.push(entry),
            request @ (Output::Fetch { .. } | Output::Decide { .. }) => return Some(request),
            // Idle or done for now: what is stored next may change that.
            _ => return None,
        }
    }
}

/// Runs a call with a time-out; a panic in it becomes a failure.
async fn guarded<T, F: Future<Output = Result<T, Failure>>>(
    call: impl FnOnce() -> F,
    timeout: Duration,
    failed: FailureKind,
    timed_out: FailureKind,
) -> Result<T, Failure> {
    let guarded = AssertUnwindSafe(async { call().await }).catch_unwind();
    match tokio::time::timeout(timeout, guarded).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => Err(Failure::new(failed, describe_panic(panic.as_ref()))),
        Err(_elapsed) => {
            Err(Failure::new(timed_out, format!("no answer within {} s", timeout.as_secs_f64())))
        }
    }
}

/// What a panic said, as far as it said it in words; the first 200 characters.
fn describe_panic(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().copied();
    match words.or_else(|| panic.downcast_ref::<String>().map(String::as_str)) {
        Some(words) => format!("it panicked: {}", words.chars().take(200).collect::<String>()),
        None => "it panicked".to_owned(),
    }
}

async fn next_request(controls: &mut Option<Controls>) -> Request {
    match controls {
        Some(controls) => controls.next().await,
        None => std::future::pending().await,
    }
}
