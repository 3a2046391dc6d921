//! The public interface of the controller: inputs, outputs, and queries between the two.

pub(crate) mod active;
mod at_odds;
mod checkpoint;
mod commit;
pub(crate) mod config;
mod dead_ends;
mod dispatch;
mod distance;
pub(crate) mod entry_body;
mod fork;
mod halt;
mod machine;
mod named_origins;
mod observe;
mod packets;
mod restore;
mod rings;
mod unlinked;
mod upcoming;
mod widening;

use std::collections::{BTreeMap, VecDeque};

use crate::belief::{Belief, ClaimEdge, Message};
use crate::budget::{BudgetKind, Spent};
use crate::contract::packet::Notice;
use crate::diagnosis::conclude::{Conclusion, conclude, rank};
use crate::diagnosis::{Diagnosis, Standing};
use crate::digest::Digest;
use crate::ids::EntityId;
use crate::incident::case::{Anomaly, Case};
use crate::incident::topology::Topology;
use crate::ledger::Ledger;
use crate::ledger::record::Opened;
use crate::machine::emission::Emission;
use crate::machine::exchange::{Input, InputError, Output, Ticket};
use crate::machine::inquiry::{Inquiry, Reply};
use crate::state::State;
use crate::stop::{StopReason, Unreachable};
pub use active::Reason;
use active::{Activation, ActiveSet};
pub use checkpoint::Checkpoint;
pub use config::{
    AskAgain, Briefing, ChangeRule, Checks, ClaimRule, Concurrency, Config, Damping, Order, Wake,
    Widening,
};
#[cfg(not(feature = "planted-faults"))]
use dispatch::Slot;
#[cfg(feature = "planted-faults")]
pub(crate) use dispatch::Slot;
use distance::Distances;
pub use entry_body::{
    ActivationRecord, ActivationRefusal, ChangeCause, EntryBody, Evaluation, HaltCause,
    LEDGER_FORMAT, Observed, Outcome,
};
use halt::Halt;
use rings::Rings;
pub use upcoming::ReadMessage;
use widening::Outlook;

/// The deterministic controller (paper §4, made exact): decides which entity to evaluate next and
/// what follows from each answer. Performs no I/O, reads no clock, draws no random number.
///
/// It has four groups of methods:
///
/// - **Start:** [`Controller::new`], or from a ledger [`Controller::restore`] and
///   [`Controller::fork`]; [`Controller::restore_from`] a [`Controller::checkpoint`] is faster.
/// - **Drive:** [`Controller::handle`] takes one input; after *every* input call
///   [`Controller::poll`] until it returns [`Output::Idle`] or [`Output::Done`].
/// - **Inspect:** beliefs, inboxes, claims, topology, ledger, what was spent; at any time.
/// - **Conclude:** [`Controller::conclusion`]; at any time, final when done.
///
/// ```
/// use eog_core::{Case, Config, Controller, Decision, EntityId, Input, Label, LocalContext, Output, Seed, StopReason, Topology, Usage, Window};
/// use eog_core::machine::Inquiry;
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
/// case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "a hunch".into() });
///
/// let mut controller = Controller::new(Config::default(), case);
/// let stop = loop {
///     let input = match controller.poll() {
///         Output::Append(entry) => Input::Appended(entry.seq),
///         Output::Ask { ticket, question: Inquiry::Context(_) } => {
///             Input::context(ticket, LocalContext::default())
///         }
///         Output::Ask { ticket, question: Inquiry::Decision(_) } => {
///             let decision = Decision::new(Label::Healthy, "nothing unusual");
///             Input::decision(ticket, decision, Usage::default())
///         }
///         Output::Done(stop) => break stop,
///         Output::Idle => unreachable!("a loop that answers at once is never waited for"),
///     };
///     controller.handle(input)?;
/// };
/// assert_eq!(stop, StopReason::Converged { refused_wakes: 0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Controller {
    config: Config,
    state: State,
    active: ActiveSet,
    ledger: Ledger,
    spent: Spent,
    /// Dispatched and not committed, in dispatch order.
    in_flight: VecDeque<Slot>,
    /// The entries that hold the decisions, by packet digest.
    memory: BTreeMap<Digest, u64>,
    /// Requests to hand out, each with the number of entries that must be stored before.
    requests: VecDeque<(u64, Ticket, Inquiry)>,
    /// Searched when the order asks for them, and again after an edge was removed.
    distances: Option<Distances>,
    /// The named origins and what is unexplained, as long as no belief changes that affects them.
    outlook: Option<Outlook>,
    /// The search around what is unexplained, as long as the adjacency stays.
    rings: Option<Rings>,
    /// How many entries there were when no step of widening could activate anything.
    rests_at: Option<u64>,
    /// Entries handed out by `poll`, and those known to be stored.
    emission: Emission,
    /// Evaluations dispatched; gives numbers and tickets.
    dispatched: u64,
    next_ticket: u64,
    refused_wakes: u64,
    halt: Halt,
    /// The budget of the caller that would have been exceeded, once that has stopped it.
    ran_out: Option<BudgetKind>,
}

impl Controller {
    /// Opens an investigation: the case becomes entry 0, its seeds become active.
    pub fn new(config: Config, case: Case) -> Self {
        Self::opened(config, case, Ledger::default())
    }

    /// Opens an investigation in an empty ledger.
    fn opened(config: Config, case: Case, ledger: Ledger) -> Self {
        let mut controller = Self::idle(config.clone(), State::new(&case), ledger);
        let opened = Opened { format: LEDGER_FORMAT, config, case };
        controller.ledger.append(EntryBody::Opened(Box::new(opened)));
        for seed in controller.state.seeds.clone() {
            controller.activate(&seed, Reason::Seed, 0);
        }
        controller.fill_window();
        controller
    }

    /// A controller without a caller that waits.
    fn idle(config: Config, state: State, ledger: Ledger) -> Self {
        Self {
            config,
            state,
            active: ActiveSet::default(),
            ledger,
            spent: Spent::default(),
            in_flight: VecDeque::new(),
            memory: BTreeMap::new(),
            requests: VecDeque::new(),
            distances: None,
            outlook: None,
            rings: None,
            rests_at: None,
            emission: Emission::default(),
            dispatched: 0,
            next_ticket: 0,
            refused_wakes: 0,
            halt: Halt::default(),
            ran_out: None,
        }
    }

    /// What to do next. Entries come first, in order; then requests; then `Idle` or `Done`.
    #[must_use]
    pub fn poll(&mut self) -> Output {
        if let Some(entry) = self.emission.next(&self.ledger) {
            return Output::Append(entry);
        }
        let stored = self.emission.stored();
        let released = self.requests.front().is_some_and(|(after, ..)| *after <= stored);
        if released && let Some((_, ticket, question)) = self.requests.pop_front() {
            return Output::Ask { ticket, question };
        }
        self.stop().map_or(Output::Idle, Output::Done)
    }

    /// Why the investigation has ended; `None` while something is under way, to be stored or to be
    /// asked.
    pub fn stop(&self) -> Option<StopReason> {
        let settled = self.in_flight.is_empty() && self.emission.is_settled(&self.ledger);
        self.stop_reason().filter(|_| settled)
    }

    /// Takes one input.
    ///
    /// # Errors
    /// [`InputError`] when the input does not fit; nothing has changed then.
    pub fn handle(&mut self, input: Input) -> Result<(), InputError> {
        match input {
            Input::Appended(seq) => self.emission.acknowledge(seq)?,
            Input::Answer(ticket, Reply::Context(context), usage) => {
                self.take_context(ticket, context)?;
                self.spent.usage += usage;
            }
            Input::Answer(ticket, Reply::Decision(decision), usage) => {
                self.take_decision(ticket, decision, usage)?;
            }
            Input::Failed(ticket, failure) => {
                let exhausted = failure.exhausted;
                self.take_failure(ticket, failure)?;
                if let Some(which) = exhausted {
                    self.run_out(which);
                }
            }
            Input::Observe(observation) => self.observe(observation)?,
            Input::Cancel => {
                self.ran_out = None;
                self.cancel();
            }
            Input::Deadline => self.halt.begin(HaltCause::Deadline),
            Input::Spent(usage) => self.spent.usage += usage,
            Input::Resume => self.resume(),
        }
        self.commit_ready();
        Ok(())
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The declared dependency graph as it stands.
    pub fn topology(&self) -> &Topology {
        &self.state.topology
    }

    /// All anomalies, with those observed on the way.
    pub fn anomalies(&self) -> &[Anomaly] {
        &self.state.anomalies
    }

    /// The belief about one entity, if it was evaluated.
    pub fn belief(&self, entity: &EntityId) -> Option<&Belief> {
        self.state.get(entity)?.belief.as_ref()
    }

    /// All beliefs, by entity name.
    pub fn beliefs(&self) -> impl Iterator<Item = (&EntityId, &Belief)> {
        self.state.nodes.iter().filter_map(|(entity, node)| Some((entity, node.belief.as_ref()?)))
    }

    /// The inbox of one entity, by sender; true marks messages it was not evaluated with yet.
    pub fn inbox(&self, entity: &EntityId) -> Vec<(Message, bool)> {
        let inbox = self.state.get(entity).into_iter().flat_map(|node| &node.inbox);
        inbox
            .map(|(sender, received)| (message(sender, &received.broadcast.belief), received.new))
            .collect()
    }

    /// The edges of all live claims, sorted.
    pub fn live_claims(&self) -> Vec<ClaimEdge> {
        self.state.live_claims().into_iter().collect()
    }

    /// All entities that exchange messages with an entity, by name.
    pub fn adjacent(&self, entity: &EntityId) -> Vec<EntityId> {
        self.state.adjacent(entity).into_iter().collect()
    }

    /// Entities that wait to be evaluated, in order of activation, each with its reason.
    pub fn active(&self) -> impl Iterator<Item = (&EntityId, Reason)> {
        self.active.iter().map(|waiting| (&waiting.entity, waiting.reason))
    }

    /// The ledger so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What was used so far.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// The data of reports and scores. Linear in the ledger.
    pub fn diagnosis(&self) -> Diagnosis {
        let beliefs = self.beliefs().map(|(entity, belief)| (entity.clone(), belief.clone()));
        Diagnosis::gather(
            &self.ledger,
            Standing {
                topology: self.topology(),
                anomalies: self.anomalies(),
                beliefs: beliefs.collect(),
                conclusion: self.conclusion(),
                ranking: rank(&self.state),
                waiting: self.active.iter().count(),
                spent: self.spent,
                stop: self.stop(),
            },
        )
    }

    /// What follows from the beliefs held now: frontier, coverage, cover, ranking.
    pub fn conclusion(&self) -> Conclusion {
        Conclusion { unreachable: Unreachable::of(&self.ledger), ..conclude(&self.state) }
    }

    /// Why the investigation would end, were nothing under way.
    fn stop_reason(&self) -> Option<StopReason> {
        if self.active.is_empty() {
            Some(Unreachable::or_converged(&self.ledger, self.refused_wakes))
        } else if let Some(cause) = self.halt.cause() {
            Some(match cause {
                HaltCause::Cancelled => self
                    .ran_out
                    .map_or(StopReason::Cancelled, |which| StopReason::BudgetExhausted { which }),
                HaltCause::Deadline => StopReason::Deadline,
                HaltCause::ModelCalls => {
                    StopReason::BudgetExhausted { which: BudgetKind::ModelCalls }
                }
                HaltCause::Tokens => StopReason::BudgetExhausted { which: BudgetKind::Tokens },
                HaltCause::Cost => StopReason::BudgetExhausted { which: BudgetKind::Cost },
            })
        } else {
            self.exhausted_budget().map(|which| StopReason::BudgetExhausted { which })
        }
    }

    /// Makes an entity active, or says why not. A queued entity stays as it is.
    fn activate(
        &mut self,
        entity: &EntityId,
        reason: Reason,
        cause: u64,
    ) -> Option<ActivationRecord> {
        self.activate_with(entity, reason, cause, None)
    }

    fn activate_with(
        &mut self,
        entity: &EntityId,
        reason: Reason,
        cause: u64,
        notice: Option<Notice>,
    ) -> Option<ActivationRecord> {
        if self.active.contains(entity) {
            return None;
        }
        let refused = self.refusal(entity);
        if refused.is_some() {
            self.refused_wakes += 1;
        } else {
            self.state.admitted.insert(entity.clone());
            self.active.push(Activation { entity: entity.clone(), reason, cause, notice });
        }
        Some(ActivationRecord { entity: entity.clone(), reason, refused })
    }

    /// Why an entity may not become active, if it may not.
    fn refusal(&self, entity: &EntityId) -> Option<ActivationRefusal> {
        let full = self.state.admitted.len() >= self.config.max_entities as usize;
        let node = self.state.get(entity);
        let visits = node.map_or(0, |node| node.visits);
        if node.is_some_and(|node| node.damped) {
            Some(ActivationRefusal::Damped)
        } else if self.config.max_visits.is_some_and(|k| visits >= k) {
            Some(ActivationRefusal::VisitLimit)
        } else if full && !self.state.admitted.contains(entity) {
            Some(ActivationRefusal::EntityCap)
        } else {
            None
        }
    }
}

fn message(sender: &EntityId, belief: &Belief) -> Message {
    Message { sender: sender.clone(), belief: belief.clone() }
}
