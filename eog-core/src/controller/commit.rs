//! Commit: contract checks, flips, damping, comparison; one ledger entry; then the consequences.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Controller;
use super::at_odds::AtOdds;
use super::dispatch::{Answered, Seen, Slot, Stage};
use crate::belief::{Belief, Claim, ClaimEdge, Label, Signature};
use crate::budget::AnsweredBy;
use crate::checks::{Checked, check};
use crate::contract::Failure;
use crate::contract::packet::{Decision, Proposal};
use crate::controller::active::{Activation, Reason};
use crate::controller::config::{AskAgain, ChangeRule, ClaimRule, Damping, Wake};
use crate::controller::entry_body::{
    ActivationRecord, ActivationRefusal, ChangeCause, EntryBody, Evaluation, Outcome,
};
use crate::ids::EntityId;
use crate::ledger::record::{ContextRecord, RecordedAnswer, Refusal};
use crate::state::{Broadcast, Node};

/// Numbers that differ alone count as a change in so many first evaluations of an entity: policies whose numbers never
/// settle come to an end as well.
const RECOUNTS: u32 = 8;

impl Controller {
    /// Commits answered evaluations in dispatch order, refilling the window after each.
    pub(super) fn commit_ready(&mut self) {
        #[cfg(feature = "planted-faults")]
        crate::planted::overtake(&mut self.in_flight);
        while let Some(mut slot) = self.in_flight.pop_front() {
            let (answered, usage) = match std::mem::replace(&mut slot.stage, Stage::Fetching) {
                Stage::Answered(answered, usage) => (*answered, usage),
                stage => {
                    slot.stage = stage;
                    self.in_flight.push_front(slot);
                    break;
                }
            };
            self.record_halt();
            self.spent.usage += usage;
            self.spent.count(match &answered {
                Answered::Decided(..) => AnsweredBy::Policy,
                Answered::Remembered(..) => AnsweredBy::Memory,
                Answered::Failed(..) => AnsweredBy::None,
            });
            match answered {
                Answered::Failed(seen, failure) => {
                    self.commit_failure(&slot, seen.as_ref(), &failure);
                }
                Answered::Decided(seen, decision) => {
                    let entry = self.ledger.next_seq();
                    self.commit_decision(&slot, &seen, decision, None);
                    if self.config.decision_memory {
                        self.memory.insert(seen.digest, entry);
                    }
                }
                Answered::Remembered(seen, entry, decision) => {
                    self.commit_decision(&slot, &seen, decision, Some(entry));
                }
            }
            self.fill_window();
        }
        self.fill_window();
    }

    /// A failed evaluation: `Defer` on the first visit, else the belief stays and is stale. Its
    /// messages are new again. Broadcasts nothing, counts no flip.
    fn commit_failure(&mut self, slot: &Slot, seen: Option<&Seen>, failure: &Failure) {
        let entity = slot.activation.entity.clone();
        if seen.is_some() {
            self.count_page(slot);
        }
        let context = seen.map(|seen| self.learn(&entity, seen));
        let (commits, seq) = (self.spent.evaluations, self.ledger.next_seq());
        let node = self.state.node(&entity);
        node.evaluated = Some(seq);
        node.unread_inbox(&slot.cleared);
        node.last_commit = Some(commits);
        node.stale = node.belief.is_some();
        let belief = node.belief.get_or_insert_with(|| failure.as_belief());
        let outcome = Outcome {
            belief: belief.clone(),
            change: None,
            flips: node.flips,
            damped: node.damped,
            stale: node.stale,
            broadcast_to: Vec::new(),
        };
        // What it cost is operational, and no part of the chain.
        let recorded = RecordedAnswer::Failed(failure.as_recorded());
        let mut body = evaluation(slot, context, seen, recorded, outcome);
        body.activations = self.widen_at_rest(seq);
        self.ledger.append(EntryBody::Evaluated(Box::new(body)));
    }

    /// `remembered` names the entry that holds the decision, if it is not a new one.
    fn commit_decision(
        &mut self,
        slot: &Slot,
        seen: &Seen,
        decision: Decision,
        remembered: Option<u64>,
    ) {
        self.count_page(slot);
        let mut turned_down = Vec::new();
        if decision.query.is_some() {
            if self.may_query(&slot.activation.entity) {
                return self.commit_more(slot, seen, decision, remembered, Reason::Query);
            }
            turned_down.push(Refusal::NoFurtherQuery);
        }
        if decision.next_page {
            if self.may_turn_the_page(&slot.activation.entity, seen) {
                return self.commit_more(slot, seen, decision, remembered, Reason::Page);
            }
            turned_down.push(Refusal::NoFurtherPage);
        }
        let entity = slot.activation.entity.clone();
        let context = self.learn(&entity, seen);
        if self.config.ask_again == AskAgain::NewEvidence {
            let quoted = seen.packet.quoted.iter().map(|finding| finding.id().clone());
            self.state.node(&entity).quoted.extend(quoted);
        }
        let (packet, routes) = (Some(&*seen.packet), &seen.packet.context.routes);
        let mut checked = check(&self.config, &self.state, &entity, packet, routes, &decision);
        let joined = self.join_claims(&checked.claims);
        let mut refusals = turned_down;
        refusals.append(&mut checked.refusals);
        let warnings = std::mem::take(&mut checked.warnings);

        let inside = checked.claims.iter().filter(|claim| !claim.outside);
        let causes: BTreeSet<EntityId> = inside.map(|claim| claim.cause.clone()).collect();
        let (mut outcome, before) = self.revise(&entity, checked, &decision);
        if outcome.change.is_some() && self.config.broadcast {
            outcome.broadcast_to = self.state.adjacent(&entity).into_iter().collect();
        }
        let seq = self.ledger.next_seq();
        let mut activations = Vec::new();
        for cause in causes {
            if !self.state.is_visited(&cause) {
                activations.extend(self.activate(&cause, Reason::Claim, seq));
            }
        }
        activations.extend(self.deliver(&entity, &outcome, before.as_ref(), &joined, seq));
        for proposal in self.select_proposals(&decision.proposals, &mut refusals) {
            activations.extend(self.activate(&proposal.entity, Reason::Proposal, seq));
        }
        let void = if outcome.damped { self.active.remove(&entity) } else { None };
        if let Some(void) = void {
            // A wake that came while it was under way is void: damping absorbs.
            self.refused_wakes += 1;
            let refused = Some(ActivationRefusal::Damped);
            activations.push(ActivationRecord { entity, reason: void.reason, refused });
        }
        activations.extend(self.widen_at_rest(seq));
        let recorded = recorded(decision, remembered);
        let mut body = evaluation(slot, Some(context), Some(seen), recorded, outcome);
        body.refusals = refusals;
        body.warnings = warnings;
        body.activations = activations;
        self.ledger.append(EntryBody::Evaluated(Box::new(body)));
    }

    /// Records that a page beyond the first or an answer to a query was seen, unless a new epoch began meanwhile.
    fn count_page(&mut self, slot: &Slot) {
        let seq = self.ledger.next_seq();
        let node = self.state.node(&slot.activation.entity);
        if node.paged.is_some() && slot.page.before > 0 {
            node.pages = slot.page.before;
            node.queries += u32::from(slot.page.query.is_some());
        }
        if node.pages > 0 {
            node.paged = Some(seq);
        }
    }

    /// Whether there is a next page, and room for it.
    fn may_turn_the_page(&self, entity: &EntityId, seen: &Seen) -> bool {
        let most = self.config.briefing.as_ref().map_or(0, |briefing| briefing.pages);
        seen.packet.context.pages_left > 0 && self.turns(entity) < most
    }

    /// Whether one more query about an entity may be answered.
    fn may_query(&self, entity: &EntityId) -> bool {
        let most = self.config.briefing.as_ref().map_or(0, |briefing| briefing.queries);
        self.turns(entity) < most
    }

    /// How often decisions on an entity asked for a page or a query, in this epoch.
    fn turns(&self, entity: &EntityId) -> u32 {
        self.state.get(entity).map_or(0, |node| node.page_turns)
    }

    /// A decision that asks for the next page of its context or for a query: nothing of it is taken over, and the same
    /// visit goes on with one page more before any other entity is visited.
    fn commit_more(
        &mut self,
        slot: &Slot,
        seen: &Seen,
        decision: Decision,
        remembered: Option<u64>,
        reason: Reason,
    ) {
        let entity = slot.activation.entity.clone();
        let context = self.learn(&entity, seen);
        let seq = self.ledger.next_seq();
        let node = self.state.node(&entity);
        // Dispatched again, it is the same visit with the same news.
        node.unread_inbox(&slot.cleared);
        node.visits = node.visits.saturating_sub(1);
        node.visited = node.last_commit.is_some();
        node.page_turns += 1;
        node.paged = Some(seq);
        let asked = if reason == Reason::Query { "a query" } else { "the next page" };
        let unjudged =
            || Belief::new(Label::Defer, format!("not judged yet: {asked} was asked for"));
        let outcome = Outcome {
            belief: node.belief.clone().unwrap_or_else(unjudged),
            change: None,
            flips: node.flips,
            damped: node.damped,
            stale: node.stale,
            broadcast_to: Vec::new(),
        };
        let notice = slot.activation.notice.clone();
        self.active.put_back(Activation { entity: entity.clone(), reason, cause: seq, notice });
        let recorded = recorded(decision, remembered);
        let mut body = evaluation(slot, Some(context), Some(seen), recorded, outcome);
        body.activations = vec![ActivationRecord { entity, reason, refused: None }];
        self.ledger.append(EntryBody::Evaluated(Box::new(body)));
    }

    /// Records what a context holds and names.
    fn learn(&mut self, entity: &EntityId, seen: &Seen) -> ContextRecord {
        let context = &seen.packet.context;
        self.state.named.extend(context.named());
        self.state.node(entity).remember_evidence(context, self.ledger.next_seq());
        self.ledger.record_context(context)
    }

    /// Enters claims into the adjacency, but for outside systems, which receive no messages. Returns the edges that joined two
    /// entities for the first time.
    fn join_claims(&mut self, claims: &[Claim]) -> Vec<ClaimEdge> {
        let mut joined = Vec::new();
        for claim in claims {
            let edge = claim.edge();
            for end in [&edge.cause, &edge.effect] {
                self.state.admitted.insert(end.clone());
            }
            if claim.outside {
                continue;
            }
            if edge.cause != edge.effect && !self.state.are_joined(&edge.cause, &edge.effect) {
                joined.push(edge.clone());
            }
            self.state.join(&edge);
        }
        if !joined.is_empty() {
            self.rings = None;
        }
        if let Some(distances) = &mut self.distances {
            for edge in &joined {
                distances.join(&self.state, &edge.cause, &edge.effect);
            }
        }
        joined
    }

    /// Counts a flip, damps, and compares with the stored belief; stores the new one. Returns the
    /// substance of the earlier one as well.
    fn revise(
        &mut self,
        entity: &EntityId,
        checked: Checked,
        decision: &Decision,
    ) -> (Outcome, Option<Signature>) {
        let (commits, seq) = (self.spent.evaluations, self.ledger.next_seq());
        let config = &self.config;
        let node = self.state.nodes.entry(entity.clone()).or_default();
        let before = node.belief.take().filter(|_| node.settled);
        let mut belief = Belief {
            label: checked.label,
            summary: checked.summary,
            evidence: checked.evidence,
            claims: checked.claims,
            since: decision.since,
            explains: decision.explains.clone(),
            rule: decision.rule.clone(),
            measures: decision.measures.as_deref().cloned(),
        };
        if config.claims == ClaimRule::Accumulate {
            belief.claims = accumulate(before.as_ref(), belief.claims);
        }
        #[cfg(feature = "planted-faults")]
        crate::planted::keep_claims(before.as_ref(), &mut belief);
        let mut damped = false;
        match config.damping {
            Damping::Absorbing | Damping::LastWord => {
                let flip = before.as_ref().is_some_and(|b| b.signature() != belief.signature());
                node.flips += u32::from(flip);
                damped = node.flips > config.flip_threshold;
                node.damped = damped;
                if damped && config.damping == Damping::Absorbing {
                    belief.label = Label::Defer;
                }
            }
            Damping::LabelOverride => {
                if node.flips > config.flip_threshold {
                    belief.label = Label::Defer;
                }
                let flip = before.as_ref().is_some_and(|b| b.label != belief.label);
                node.flips += u32::from(flip);
            }
        }
        let news = count_new_evidence(node, &belief, config.max_evidence);
        let change = match &before {
            None => Some(ChangeCause::First),
            Some(before) => match config.change {
                ChangeRule::Text => (before.label != belief.label
                    || before.summary != belief.summary)
                    .then_some(ChangeCause::Text),
                ChangeRule::Substance if before.signature() != belief.signature() => {
                    Some(ChangeCause::Signature)
                }
                ChangeRule::Substance if news > 0 => Some(ChangeCause::NewEvidence),
                ChangeRule::Substance => {
                    let differ = before.measures != belief.measures;
                    (differ && node.visits <= RECOUNTS).then_some(ChangeCause::Measures)
                }
            },
        };
        let earlier = before.as_ref().map(Belief::signature);
        // Of the others nothing is read; times count for claims of others as well.
        let bears = |belief: &Belief| {
            belief.label == Label::Origin || !belief.claims.is_empty() || belief.since.is_some()
        };
        let reads_numbers = belief.measures.is_some();
        if reads_numbers || bears(&belief) || before.as_ref().is_some_and(bears) {
            self.outlook = None;
        }
        let old = before.map(|before| before.claims).unwrap_or_default();
        node.origin_in_row = if belief.label == Label::Origin { node.origin_in_row + 1 } else { 0 };
        node.belief = Some(belief.clone());
        node.evaluated = Some(seq);
        node.settled = true;
        node.stale = false;
        node.last_commit = Some(commits);
        node.scores.clone_from(&decision.scores);
        let outcome = Outcome {
            belief,
            change,
            flips: node.flips,
            damped,
            stale: false,
            broadcast_to: Vec::new(),
        };
        self.state.supersede(entity, &old, &outcome.belief.claims);
        (outcome, earlier)
    }

    /// Sends the belief to the entities that it concerns and exchanges late messages over new
    /// edges; wakes by name, the entity itself last.
    fn deliver(
        &mut self,
        entity: &EntityId,
        outcome: &Outcome,
        before: Option<&Signature>,
        joined: &[ClaimEdge],
        seq: u64,
    ) -> Vec<ActivationRecord> {
        let mut woken: BTreeMap<EntityId, Reason> = BTreeMap::new();
        if outcome.change.is_some() && self.config.broadcast {
            let broadcast = Broadcast { belief: Arc::new(outcome.belief.clone()), entry: seq };
            woken.extend(self.woken_by(entity, outcome, before).map(|one| (one, Reason::Wake)));
            for neighbour in &outcome.broadcast_to {
                let wakes = woken.contains_key(neighbour);
                self.state.node(neighbour).receive(entity, &broadcast, wakes);
            }
            self.state.node(entity).last_broadcast = Some(broadcast);
        }
        if self.config.late_messages {
            for edge in joined {
                for (from, to) in [(&edge.cause, &edge.effect), (&edge.effect, &edge.cause)] {
                    // The broadcast just now woke every entity that it had to.
                    let is_notified = from == entity && outcome.broadcast_to.contains(to);
                    if !is_notified && self.exchange(from, to) {
                        woken.entry(to.clone()).or_insert(Reason::LateMessage);
                    }
                }
            }
        }
        let own = woken.remove(entity);
        let wake_all = self.config.wake == Wake::All;
        let mut records = Vec::new();
        for (neighbour, reason) in woken {
            if self.state.is_visited(&neighbour) || (wake_all && reason == Reason::Wake) {
                records.extend(self.activate(&neighbour, reason, seq));
            }
        }
        if let Some(reason) = own {
            records.extend(self.activate(entity, reason, seq));
        }
        records
    }

    /// The entities that a broadcast is to wake, were they visited.
    fn woken_by(
        &self,
        entity: &EntityId,
        outcome: &Outcome,
        before: Option<&Signature>,
    ) -> impl Iterator<Item = EntityId> {
        let receivers = outcome.broadcast_to.iter();
        let is_silence = match self.config.wake {
            Wake::AtOdds => Some(false),
            Wake::Contradicted => Some(is_empty_deferral(&outcome.belief)),
            Wake::Visited | Wake::All => None,
        };
        let odds = is_silence.map(|is_silence| {
            AtOdds::new(&self.state, entity, &outcome.belief, before, is_silence)
        });
        // A belief that is about to be another one cannot be compared.
        let flying =
            |other: &EntityId| self.in_flight.iter().any(|s| s.activation.entity == *other);
        let wakes = |other: &&EntityId| {
            odds.as_ref().is_none_or(|odds| flying(other) || odds.with(&self.state, other))
        };
        receivers.filter(wakes).cloned().collect::<Vec<_>>().into_iter()
    }

    /// Hands the last broadcast of `from`, if there is one, to `to`. A belief that has just
    /// reached it counts as received.
    pub(super) fn exchange(&mut self, from: &EntityId, to: &EntityId) -> bool {
        let Some(sent) = self.state.get(from).and_then(|node| node.last_broadcast.clone()) else {
            return false;
        };
        let inbox = self.state.node(to);
        match inbox.inbox.get_mut(from) {
            Some(message) if message.new && message.broadcast.belief == sent.belief => {
                message.wakes = true;
            }
            _ => inbox.receive(from, &sent, true),
        }
        true
    }

    /// Drops proposals of unknown, visited, queued and repeated entities; then the cap applies.
    fn select_proposals<'d>(
        &self,
        proposals: &'d [Proposal],
        refusals: &mut Vec<Refusal>,
    ) -> Vec<&'d Proposal> {
        let mut selected: Vec<&Proposal> = Vec::new();
        let cap = self.config.max_proposals.map_or(usize::MAX, |cap| cap as usize);
        for proposal in proposals {
            let entity = &proposal.entity;
            let refusal: fn(EntityId) -> Refusal = if !self.state.is_known(entity) {
                Refusal::ProposalUnknown
            } else if self.state.is_visited(entity) {
                Refusal::ProposalVisited
            } else if self.active.contains(entity) {
                Refusal::ProposalQueued
            } else if selected.iter().any(|earlier| earlier.entity == *entity) {
                Refusal::ProposalRepeated
            } else if selected.len() >= cap {
                Refusal::ProposalBeyondCap
            } else {
                selected.push(proposal);
                continue;
            };
            refusals.push(refusal(entity.clone()));
        }
        selected
    }
}

/// Whether a belief says nothing: it is no judgement, and cites nothing.
fn is_empty_deferral(belief: &Belief) -> bool {
    belief.label == Label::Defer && belief.claims.is_empty() && belief.evidence.is_empty()
}

/// Earlier claims stay; a new claim on the same edge replaces the earlier one.
fn accumulate(before: Option<&Belief>, new: Vec<Claim>) -> Vec<Claim> {
    let edges: BTreeSet<ClaimEdge> = new.iter().map(Claim::edge).collect();
    let earlier = before.into_iter().flat_map(|belief| &belief.claims);
    earlier.filter(|claim| !edges.contains(&claim.edge())).cloned().chain(new).collect()
}

/// Adds what is cited for the first time, up to the cap, and says how much that is. Ids that only
/// an inbox message brought are never new evidence.
fn count_new_evidence(node: &mut Node, belief: &Belief, cap: u32) -> usize {
    let before = node.cited.len();
    for id in belief.cited() {
        let local = node.seen.contains_key(&id);
        if local && node.cited.len() < cap as usize {
            node.cited.insert(id);
        }
    }
    node.cited.len() - before
}

/// An answer as an entry records it.
fn recorded(decision: Decision, remembered: Option<u64>) -> RecordedAnswer {
    match remembered {
        Some(entry) => RecordedAnswer::Remembered { entry },
        None => RecordedAnswer::Decided(decision),
    }
}

fn evaluation(
    slot: &Slot,
    context: Option<ContextRecord>,
    seen: Option<&Seen>,
    answer: RecordedAnswer,
    outcome: Outcome,
) -> Evaluation {
    Evaluation {
        number: slot.number,
        entity: slot.activation.entity.clone(),
        visit: slot.visit,
        reason: slot.activation.reason,
        activated_by: slot.activation.cause,
        context,
        packet: seen.map(|seen| seen.digest),
        answer,
        refusals: Vec::new(),
        warnings: Vec::new(),
        outcome,
        activations: Vec::new(),
    }
}
