//! Dispatch: who is next, what is under way, and taking answers back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::Controller;
use super::distance::Distances;
use super::packets::{Asked, Page};
use crate::belief::{Belief, Label};
use crate::budget::BudgetKind;
use crate::budget::Usage;
use crate::contract::packet::{ContextPacket, Decision, LocalContext, Reach};
use crate::contract::{ContextRequest, Failure};
use crate::controller::active::Activation;
use crate::controller::config::{AskAgain, Concurrency, Config, Order};
use crate::controller::entry_body::HaltCause;
use crate::digest::Digest;
use crate::evidence::Finding;
use crate::ids::{EntityId, EvidenceId};
use crate::incident::topology::Neighbour;
use crate::ledger::Ledger;
use crate::ledger::record::RecordedAnswer;
use crate::machine::exchange::{InputError, Ticket};
use crate::machine::inquiry::Inquiry;
use crate::state::{Broadcast, Node, Received, State};

/// One evaluation under way.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(super) ticket: Ticket,
    pub(super) number: u64,
    pub(super) activation: Activation,
    pub(super) visit: u32,
    /// How many entries there were when it was dispatched.
    pub(super) after: u64,
    /// Senders whose new-flags this dispatch cleared, with the labels read before.
    pub(super) cleared: BTreeMap<EntityId, Option<Label>>,
    pub(super) inbox: Vec<(EntityId, Broadcast)>,
    /// Empty once they are in a packet.
    neighbours: Vec<Neighbour>,
    /// Of how many anomalies its packet may show those of its entity.
    pub(super) anomalies: usize,
    pub(super) reach: Option<Reach>,
    pub(super) page: Page,
    pub(super) stage: Stage,
}

impl Slot {
    /// The neighbours as they were when it was dispatched.
    pub(super) fn neighbours(&self) -> &[Neighbour] {
        let seen = match &self.stage {
            Stage::Fetching => None,
            Stage::Deciding(seen) => Some(seen),
            Stage::Answered(answered, _) => match &**answered {
                Answered::Decided(seen, _) | Answered::Remembered(seen, ..) => Some(seen),
                Answered::Failed(seen, _) => seen.as_ref(),
            },
        };
        seen.map_or(&self.neighbours, |seen| &seen.packet.neighbours)
    }
}

impl Slot {
    /// The packet that a context goes into.
    pub(super) fn packet(
        &self,
        config: &Config,
        state: &State,
        ledger: &Ledger,
        context: LocalContext,
    ) -> ContextPacket {
        let asked = Asked {
            config,
            state,
            ledger,
            entity: &self.activation.entity,
            notice: self.activation.notice.as_ref(),
            neighbours: self.neighbours().to_vec(),
            inbox: self.inbox.iter().map(|(sender, sent)| (sender, sent)).collect(),
            new_from: self.cleared.keys().cloned().collect(),
            anomalies: self.anomalies,
            reach: self.reach,
            page: self.page.clone(),
        };
        asked.packet(context)
    }
}

impl Slot {
    /// The last decision on its entity with its entry, where that stands for want of new evidence.
    fn unchanged<'l>(
        &self,
        config: &Config,
        state: &State,
        ledger: &'l Ledger,
        packet: &ContextPacket,
    ) -> Option<(u64, &'l Decision)> {
        // An earlier page and a failed evaluation have brought evidence that was not judged.
        if config.ask_again == AskAgain::Always || self.page.before > 0 {
            return None;
        }
        let node = state.get(&packet.entity).filter(|node| node.settled && !node.stale)?;
        let is_known = |id: &EvidenceId| {
            let is_in_case_file = || state.case_file.as_ref().is_some_and(|file| file.has(id));
            node.seen.contains_key(id) || node.quoted.contains(id) || is_in_case_file()
        };
        // Evidence that a neighbour is well is no reason to ask.
        let troubled = |belief: &Belief| matches!(belief.label, Label::Origin | Label::Symptom);
        let senders = packet.inbox.iter().filter(|message| troubled(&message.belief));
        let cited: BTreeSet<EvidenceId> = senders.flat_map(|it| it.belief.cited()).collect();
        let quoted = packet.quoted.iter().map(Finding::id).filter(|id| cited.contains(*id));
        if !packet.context.findings.iter().map(Finding::id).chain(quoted).all(is_known) {
            return None;
        }
        let last = node.evaluated?;
        let entry = match &ledger.evaluation(last)?.answer {
            RecordedAnswer::Remembered { entry } => *entry,
            RecordedAnswer::Decided(_) | RecordedAnswer::Failed(_) => last,
        };
        Some((entry, ledger.decision(entry)?))
    }
}

/// What a dispatch fixes, whatever comes before its answer.
pub(super) struct Dispatched {
    pub(super) activation: Activation,
    pub(super) visit: u32,
    pub(super) after: u64,
    pub(super) cleared: BTreeMap<EntityId, Option<Label>>,
    pub(super) inbox: Vec<(EntityId, Broadcast)>,
    pub(super) neighbours: Vec<Neighbour>,
    pub(super) anomalies: usize,
    pub(super) reach: Option<Reach>,
    pub(super) page: Page,
}

/// What was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Discarded {
    Nothing,
    /// Dispatched right after the last entry: dispatched again it is the same.
    Newest,
    /// Dispatched before the last entry.
    Older,
}

/// What decides among eligible entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Any,
    /// No unread label change, and how far from the seeds.
    Urgency(bool, Option<usize>),
    Drawn(Digest),
}

/// How far an evaluation has come.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    Fetching,
    Deciding(Seen),
    Answered(Box<Answered>, Usage),
}

/// A context and the digest of the packet it went into.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) packet: Arc<ContextPacket>,
    pub(super) digest: Digest,
}

/// What came back for an evaluation.
#[derive(Clone, Debug)]
pub(super) enum Answered {
    Decided(Seen, Decision),
    Remembered(Seen, u64, Decision),
    Failed(Option<Seen>, Failure),
}

#[cfg(feature = "planted-faults")]
impl Slot {
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self.stage, Stage::Answered(..))
    }
}

impl Controller {
    /// Fills the window with eligible entities, as far as the budgets reach.
    pub(super) fn fill_window(&mut self) {
        // Where no entry says so: after the opening, and after a fork.
        let last = self.ledger.next_seq().saturating_sub(1);
        let _ = self.widen_at_rest(last);
        let Concurrency::Window(width) = self.config.concurrency;
        while self.in_flight.len() < width.get() as usize {
            let exhausted = self.exhausted_budget();
            if exhausted == Some(BudgetKind::Hops) {
                break;
            }
            if self.config.order == Order::Priority && self.distances.is_none() {
                self.distances = Some(Distances::new(&self.state));
            }
            let Some(position) = self.next_eligible() else { break };
            if let Some(cause) = self.halt.cause().or(exhausted.and_then(halt_of)) {
                self.halt.withhold(cause);
                break;
            }
            let Some(activation) = self.active.take(position) else { break };
            self.dispatch(activation);
        }
    }

    /// The budget that leaves no room for one more evaluation. Hops are reserved at dispatch.
    pub(super) fn exhausted_budget(&self) -> Option<BudgetKind> {
        let reserved = self.spent.hops + self.in_flight.len() as u64;
        self.config.budget.exhausted(reserved, self.spent.usage)
    }

    /// The position in the active set of the entity to dispatch next.
    ///
    /// A cooling entity keeps its place. When nothing else is eligible or under way, the one that
    /// becomes eligible first runs, so that nothing deadlocks.
    fn next_eligible(&self) -> Option<usize> {
        let flying =
            |entity: &EntityId| self.in_flight.iter().any(|slot| slot.activation.entity == *entity);
        let waiting = self.active.iter().enumerate();
        let mut eligible = waiting.filter(|(_, w)| self.cools_in(w) == 0 && !flying(&w.entity));
        let next = match self.config.order {
            Order::Fifo => eligible.next(),
            Order::Priority | Order::Permuted { .. } => {
                eligible.min_by_key(|(position, waiting)| (self.rank(&waiting.entity), *position))
            }
        };
        match next {
            Some((position, _)) => Some(position),
            None if self.in_flight.is_empty() => {
                let last_commit = |w: &Activation| self.state.get(&w.entity)?.last_commit;
                let waiting = self.active.iter().enumerate();
                waiting.min_by_key(|(position, w)| (last_commit(w), *position)).map(|(p, _)| p)
            }
            None => None,
        }
    }

    /// How many commits are missing until a waiting entity may be evaluated again.
    pub(super) fn cools_in(&self, waiting: &Activation) -> u64 {
        let last_commit = self.state.get(&waiting.entity).and_then(|node| node.last_commit);
        let cooldown = u64::from(self.config.cooldown);
        last_commit.map_or(0, |at| cooldown.saturating_sub(self.spent.evaluations - at))
    }

    /// What decides among those that are eligible, the smallest first; then the position does.
    pub(super) fn rank(&self, entity: &EntityId) -> Rank {
        match self.config.order {
            Order::Fifo => Rank::Any,
            Order::Priority => {
                let is_change = |node: &Node| node.inbox.values().any(Received::is_label_change);
                let unread = self.state.get(entity).is_some_and(is_change);
                let distance = self.distances.as_ref().map(|found| found.of(entity));
                Rank::Urgency(!unread, distance)
            }
            Order::Permuted { seed } => Rank::Drawn(Digest::of(&(seed, self.dispatched, entity))),
        }
    }

    /// Gives a ticket, clears new-flags, and fixes what the packet will show: an answer that
    /// takes longer must not see more.
    fn dispatch(&mut self, activation: Activation) {
        let entity = activation.entity.clone();
        let node = self.state.node(&entity);
        node.visited = true;
        node.visits += 1;
        let visit = node.visits;
        let cleared = node.read_inbox();
        let inbox = node.inbox.iter().map(|(from, it)| (from.clone(), it.broadcast.clone()));
        let inbox = inbox.collect();
        let page = Page::next(Some(node), Some(activation.reason), &self.ledger);
        let neighbours = self.state.neighbours(&entity);
        let anomalies = self.shown_anomalies();
        let reach = self.reach(&entity);
        let after = self.ledger.next_seq();
        self.launch(Dispatched {
            activation,
            visit,
            after,
            cleared,
            inbox,
            neighbours,
            anomalies,
            reach,
            page,
        });
    }

    /// Which anomalies effects of an entity can reach, if packets include it.
    pub(super) fn reach(&self, entity: &EntityId) -> Option<Reach> {
        self.config.briefing.as_ref().filter(|briefing| briefing.reach)?;
        let shown = self.state.anomalies.iter().take(self.shown_anomalies());
        let alerting = shown.map(|anomaly| &anomaly.entity).collect();
        Some(self.state.reach(&alerting, entity))
    }

    /// Of how many anomalies a packet that is made now may show those of its entity.
    pub(super) fn shown_anomalies(&self) -> usize {
        if self.config.anomalies_in_packets { self.state.anomalies.len() } else { 0 }
    }

    /// What a visit asks for: more on the neighbours whose messages are new. Where there are no messages, it
    /// asks for all of that at once.
    pub(super) fn request(
        &self,
        entity: &EntityId,
        Page { before, query, .. }: &Page,
        visit: u32,
        changed_neighbours: BTreeSet<EntityId>,
    ) -> ContextRequest {
        let answers = self.state.get(entity).map_or(0, |node| node.queries);
        let (entity, window, query) = (entity.clone(), self.state.window, query.clone());
        let page = before.saturating_sub(answers).saturating_add(1);
        if self.config.broadcast {
            return ContextRequest { entity, window, page, visit, changed_neighbours, query };
        }
        let around = self.state.neighbours(&entity).into_iter().map(|it| it.entity);
        let visit = visit.saturating_add(1);
        ContextRequest { page, visit, query, ..ContextRequest::whole(entity, window, around) }
    }

    /// Asks for the context of what was dispatched.
    pub(super) fn launch(&mut self, dispatched: Dispatched) {
        let Dispatched {
            activation,
            visit,
            after,
            cleared,
            inbox,
            neighbours,
            anomalies,
            reach,
            page,
        } = dispatched;
        self.dispatched += 1;
        let ticket = Ticket::new(self.next_ticket);
        self.next_ticket += 1;
        let new = cleared.keys().cloned().collect();
        let request = self.request(&activation.entity, &page, visit, new);
        self.requests.push_back((after, ticket, Inquiry::Context(request)));
        self.in_flight.push_back(Slot {
            ticket,
            number: self.dispatched,
            activation,
            visit,
            after,
            cleared,
            inbox,
            neighbours,
            anomalies,
            reach,
            page,
            stage: Stage::Fetching,
        });
    }

    pub(super) fn take_context(
        &mut self,
        ticket: Ticket,
        context: LocalContext,
    ) -> Result<(), InputError> {
        let asked = self.was_asked(ticket);
        let slot = slot_of(&mut self.in_flight, ticket)?;
        if !asked || !matches!(slot.stage, Stage::Fetching) {
            return Err(not_expected(slot, "context"));
        }
        let packet = slot.packet(&self.config, &self.state, &self.ledger, context);
        let packet = Arc::new(packet);
        slot.neighbours.clear();
        let seen = Seen { digest: Digest::of(&*packet), packet };
        let remembered =
            if self.config.decision_memory { self.memory.get(&seen.digest) } else { None };
        let decision = remembered.and_then(|&entry| Some((entry, self.ledger.decision(entry)?)));
        let decision = decision
            .or_else(|| slot.unchanged(&self.config, &self.state, &self.ledger, &seen.packet));
        match decision {
            Some((entry, decision)) => {
                let answered = Answered::Remembered(seen, entry, decision.clone());
                slot.stage = Stage::Answered(Box::new(answered), Usage::default());
            }
            None => {
                let packet = Arc::clone(&seen.packet);
                slot.stage = Stage::Deciding(seen);
                let after = self.ledger.next_seq();
                self.requests.push_back((after, ticket, Inquiry::Decision(packet)));
            }
        }
        Ok(())
    }

    pub(super) fn take_decision(
        &mut self,
        ticket: Ticket,
        decision: Decision,
        usage: Usage,
    ) -> Result<(), InputError> {
        let asked = self.was_asked(ticket);
        let slot = slot_of(&mut self.in_flight, ticket)?;
        let seen = match &slot.stage {
            Stage::Deciding(seen) if asked => seen.clone(),
            _ => return Err(not_expected(slot, "decision")),
        };
        let answered = Answered::Decided(seen, decision);
        slot.stage = Stage::Answered(Box::new(answered), usage);
        Ok(())
    }

    pub(super) fn take_failure(
        &mut self,
        ticket: Ticket,
        failure: Failure,
    ) -> Result<(), InputError> {
        let asked = self.was_asked(ticket);
        let slot = slot_of(&mut self.in_flight, ticket)?;
        let context_failed = failure.kind.is_context();
        let seen = match &slot.stage {
            Stage::Fetching if asked && context_failed => None,
            Stage::Deciding(seen) if asked && !context_failed => Some(seen.clone()),
            _ => return Err(not_expected(slot, "failure of this kind")),
        };
        let usage = failure.usage;
        slot.stage = Stage::Answered(Box::new(Answered::Failed(seen, failure)), usage);
        Ok(())
    }

    /// Whether the request of this ticket was handed out. An answer to a question that still waits
    /// for its entry would leave the question behind.
    pub(super) fn was_asked(&self, ticket: Ticket) -> bool {
        !self.requests.iter().any(|(_, waiting, _)| *waiting == ticket)
    }

    /// Stops dispatching and discards what is under way.
    pub(super) fn cancel(&mut self) {
        if !self.in_flight.is_empty() {
            // What an earlier halt withheld is not what is discarded now.
            self.record_halt();
        }
        self.halt.begin(HaltCause::Cancelled);
        let discarded = self.discard_in_flight();
        self.halt.discard(discarded);
    }

    /// Stops because a question may not be asked for lack of budget. It was not answered, so it is
    /// asked again when the investigation goes on.
    pub(super) fn run_out(&mut self, which: BudgetKind) {
        self.cancel();
        self.ran_out = Some(which);
    }

    /// Discards what is under way; its entities go back to the head of the queue.
    pub(super) fn discard_in_flight(&mut self) -> Discarded {
        let mut discarded = Discarded::Nothing;
        self.requests.clear();
        while let Some(slot) = self.in_flight.pop_back() {
            if let Stage::Answered(_, usage) = &slot.stage {
                self.spent.usage += *usage;
            }
            let is_older = slot.after != self.ledger.next_seq();
            discarded = discarded.max(if is_older { Discarded::Older } else { Discarded::Newest });
            let node = self.state.node(&slot.activation.entity);
            // An observation may have begun a new epoch meanwhile.
            node.visits = node.visits.saturating_sub(1);
            node.visited = node.last_commit.is_some();
            node.unread_inbox(&slot.cleared);
            self.dispatched -= 1;
            self.active.put_back(slot.activation);
        }
        discarded
    }
}

/// The halt that an exhausted budget is, if the chain does not show what was spent.
fn halt_of(exhausted: BudgetKind) -> Option<HaltCause> {
    match exhausted {
        BudgetKind::Hops => None,
        BudgetKind::ModelCalls => Some(HaltCause::ModelCalls),
        BudgetKind::Tokens => Some(HaltCause::Tokens),
        BudgetKind::Cost => Some(HaltCause::Cost),
    }
}

fn slot_of(in_flight: &mut VecDeque<Slot>, ticket: Ticket) -> Result<&mut Slot, InputError> {
    in_flight.iter_mut().find(|slot| slot.ticket == ticket).ok_or(InputError::UnknownTicket(ticket))
}

fn not_expected(slot: &Slot, given: &'static str) -> InputError {
    InputError::NotExpected { entity: slot.activation.entity.clone(), given }
}
