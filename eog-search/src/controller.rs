//! The controller: tasks in slots, committed in the order in which they were dispatched.

mod chain;
mod commit;
mod hypotheses;
mod lane;
mod levels;
mod repeat;
mod result;
mod rounds;
mod seeker;
mod slot;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use eog_core::contract::{AbductivePolicy, ContextContract, Failure};
use eog_core::ledger::{Body, Forked, Ledger, Opened, RestoreError};
use eog_core::machine::{
    Emission, Input, InputError, Judgements, Machine, OfMachine, Output, Ticket,
};
use eog_core::{
    Case, Conclusion, Confidence, Diagnosis, Digest, Entry, StopReason, Unreachable, Usage,
};

use serde::Serialize;

use crate::ask::{Answer, Ask, Scene};
use crate::body::{End, Ended, SearchBody};
use crate::config::SearchConfig;
use crate::id::Place;
#[cfg(feature = "planted-faults")]
use crate::planted::{PlantedFault, is_planted};
use crate::roles::SearchResponder;
use crate::tree::{Ix, Tree};
use slot::{Slot, Task};

/// A tree search: grows a tree of evaluations by the strategies of its [`SearchConfig`], and concludes from the
/// best way through it, by the same checks and with the same conclusion as every controller.
///
/// - **Tasks.** Each step is a task with one entry: an evaluation, a proposal, a score, a plan. At most
///   [`SearchConfig::width`] tasks are under way; they are committed in the order in which they were
///   dispatched. So the ledger depends on configuration and answers, never on which answer came first.
/// - **Rounds** (LATS): select a leaf by upper confidence bounds, expand it, evaluate, score, simulate from
///   the best child, back the reward up, reflect. A round that is under way counts as visits without
///   reward (virtual loss).
/// - **Levels** (breadth-first, beam): once all is settled a planner sees the tree; its actions are applied
///   all or none.
/// - **Hypotheses:** of those pending select the one with the highest bound; three specialists investigate it
///   side by side with tools; the policy decides on what they recorded; the evidence is weighed, for other
///   hypotheses again if there are new findings; what is promising is expanded. A lane of a specialist is
///   one task with one entry.
/// - **Goals** (TreeSeeker): goals with alternative paths; each round every active goal exploits a path,
///   explores several or goes back, each chosen path makes a step, and the progress is assessed.
/// - **Chain** (ReAct): one agent evaluates, calls tools and concludes, a step at a time; where it saw too much the
///   oldest steps become a summary.
/// - **Result:** the evaluations on the best way, then those on the way to other nodes with a score that is
///   accepted, as long as they explain alerts that nothing explained before.
///
/// Drive it as any [`Machine`]. No entry says that it was stopped: stopped and resumed, its ledger is that of
/// a run that never was. It takes no observations.
#[derive(Clone, Debug)]
pub struct SearchController {
    config: SearchConfig,
    scene: Arc<Scene>,
    /// The case before anything is known, to judge results with.
    blank: Judgements,
    /// What is known by all evaluations.
    known: Judgements,
    tree: Tree,
    ledger: Ledger<SearchBody>,
    spent: eog_core::Spent,
    /// Tasks under way, the oldest first.
    slots: VecDeque<Slot>,
    /// Tasks that follow from those that were committed.
    follow_ups: VecDeque<Task>,
    /// Rounds under way, by number.
    rounds: BTreeMap<u32, rounds::Round>,
    /// Rounds or plans begun.
    begun: u32,
    /// The first hypotheses were asked for.
    is_planned: bool,
    trials: hypotheses::Trials,
    quest: seeker::Quest,
    chain: chain::Chain,
    reflections: VecDeque<String>,
    /// The best trajectory, where there are any.
    best: Option<result::Best>,
    /// The node that the planner chose.
    chosen: Option<Ix>,
    /// Where each packet was decided on first.
    decided: BTreeMap<Digest, u64>,
    /// Why the search ends.
    end: Option<End>,
    /// The ledger records it.
    end_is_recorded: bool,
    next_ticket: u64,
    emission: Emission,
    /// Why nothing more is begun, if the caller said so.
    halted: Option<StopReason>,
}

/// Figures of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SearchProgress {
    /// The best score, from 0 to 1000, if there is one.
    pub best_score: Option<u16>,
    /// How many nodes were pruned or set aside.
    pub nodes_pruned: u64,
    /// How many of the last rounds or plans did not raise the best score.
    pub stagnation_iterations: u32,
}

impl SearchController {
    /// The tree so far.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Why the search ended by itself, if it did.
    pub fn end(&self) -> Option<End> {
        self.end.filter(|_| self.end_is_recorded)
    }

    /// The best node, or the end of the best trajectory, with its score; nothing where there are no scores.
    pub fn best(&self) -> Option<(Place, u16)> {
        let best = self.best_so_far()?;
        Some((best.at, best.score?))
    }

    /// How the search went, in the figures of its source: the best score so far, how many nodes were pruned or set
    /// aside, and how many of the last rounds or plans did not raise the best score.
    pub fn progress(&self) -> SearchProgress {
        let (mut best, mut raised, mut rounds) = (None, 0, 0);
        for entry in self.ledger.entries() {
            match &entry.body {
                SearchBody::Planned(planned) => rounds = planned.iteration,
                SearchBody::Proposed(proposed) => rounds = rounds.max(proposed.round),
                SearchBody::Scored(scored) => {
                    rounds = rounds.max(scored.round.unwrap_or(0));
                    let score = scored.verdict.as_ref().map(|verdict| verdict.score);
                    if score > best {
                        (best, raised) = (score, rounds);
                    }
                }
                _ => {}
            }
        }
        let pruned = self.tree.nodes().filter(|node| node.pruned_by.is_some()).count() as u64;
        SearchProgress {
            best_score: self.best().map(|(_, score)| score).or(best),
            nodes_pruned: pruned,
            stagnation_iterations: rounds.saturating_sub(raised),
        }
    }

    /// How many rounds or plans were begun.
    pub fn begun(&self) -> u32 {
        self.begun
    }

    fn empty(config: SearchConfig, case: &Case) -> Self {
        let blank = Judgements::new(case, config.checks());
        Self {
            scene: Arc::new(Scene {
                topology: case.topology.clone(),
                window: case.window,
                anomalies: case.anomalies.clone(),
                seeds: case.seeds.clone(),
                case_file: case.case_file.clone(),
                initial_prompt: config.initial_prompt().map(Arc::from),
            }),
            known: blank.clone(),
            blank,
            config,
            tree: Tree::new(),
            ledger: Ledger::default(),
            spent: eog_core::Spent::default(),
            slots: VecDeque::new(),
            follow_ups: VecDeque::new(),
            rounds: BTreeMap::new(),
            begun: 0,
            is_planned: false,
            trials: hypotheses::Trials::default(),
            quest: seeker::Quest::default(),
            chain: chain::Chain::default(),
            reflections: VecDeque::new(),
            best: None,
            chosen: None,
            decided: BTreeMap::new(),
            end: None,
            end_is_recorded: false,
            next_ticket: 0,
            emission: Emission::default(),
            halted: None,
        }
    }

    /// Dispatches tasks as long as there is room: what follows from committed ones first.
    fn fill(&mut self) {
        while self.end.is_none() && self.slots.len() < self.config.width().get() as usize {
            let Some(task) = self.follow_ups.pop_front().or_else(|| self.select()) else { break };
            let slot = self.dispatch(task);
            self.slots.push_back(slot);
        }
        if self.end.is_some() {
            // A fork may go on with them.
            self.recall();
        }
    }

    /// Another course: what ended the search before need not end it now.
    fn reopen_end(&mut self) {
        (self.end, self.end_is_recorded) = (None, false);
        if let Some(chosen) = self.chosen.take() {
            self.tree.node_mut(chosen).phase = crate::Phase::Scored;
        }
        self.expand_held_back();
        self.turn_again();
        self.take_up_chain();
        self.fill();
    }

    /// The next task that does not follow from another; settles why there is none.
    fn select(&mut self) -> Option<Task> {
        match self.config.selection() {
            crate::Selection::Ucb(exploration) => self.select_round(exploration),
            crate::Selection::Level => self.select_plan(),
            crate::Selection::PendingMaxUcb { c } => self.select_pending(c),
            crate::Selection::Textual { random, .. } => self.select_turn(random),
            crate::Selection::Linear => self.select_link(),
        }
    }

    /// Why levels that ended by themselves found nothing: no score is accepted, and no planner chose a node all the
    /// same. Other searches answer with the best that they have.
    fn below_threshold(&self) -> Option<StopReason> {
        let is_answer = matches!(self.end?, End::Accepted | End::Converged);
        let is_level = self.config.selection() == crate::Selection::Level;
        let (best, accept) = (self.best().map(|(_, score)| score), self.config.stop().accept);
        let is_below = self.end_is_recorded && is_level && !is_answer && best < Some(accept);
        is_below.then_some(StopReason::SearchExhausted { best, accept })
    }

    /// Records why the search ended, once all before is stored.
    fn record_end(&mut self) {
        let Some(reason) = self.end.filter(|_| !self.end_is_recorded) else { return };
        let best = self.best_so_far();
        let score = best.as_ref().and_then(|best| best.score);
        let ended = Ended { reason, best: best.map(|best| best.at), score };
        self.ledger.append(SearchBody::Ended(ended));
        self.end_is_recorded = true;
    }

    /// Why nothing more may be begun, although there is something to do.
    fn withheld(&self) -> Option<StopReason> {
        let asked =
            self.slots.iter().filter(|slot| slot.is_look() && slot.is_begun()).count() as u64;
        let budget = self.config.budget();
        let which = budget.exhausted(self.spent.hops + asked, self.spent.usage);
        which.map(|which| StopReason::BudgetExhausted { which }).or(self.halted)
    }

    /// The next question to hand out, if there is one.
    fn ask(&mut self) -> Option<(Ticket, Ask)> {
        if self.end.is_some() {
            return None;
        }
        let waiting = self.slots.iter().position(Slot::waits_to_ask)?;
        if !self.slots[waiting].is_begun() && self.withheld().is_some() {
            return None;
        }
        let ticket = Ticket::new(self.next_ticket);
        let question = self.slots[waiting].hand_out(ticket)?;
        self.next_ticket += 1;
        Some((ticket, question))
    }

    /// Takes the answer to a question, and commits all that is complete then.
    fn take(
        &mut self,
        ticket: Ticket,
        result: Result<Answer, Failure>,
        usage: Usage,
    ) -> Result<(), InputError> {
        let open = self.slots.iter().position(|slot| slot.has(ticket));
        let open = open.ok_or(InputError::UnknownTicket(ticket))?;
        self.receive(open, result)?;
        self.spent.usage += usage;
        self.commit_complete();
        Ok(())
    }

    fn commit_complete(&mut self) {
        #[cfg(feature = "planted-faults")]
        if is_planted(PlantedFault::Overtakes)
            && let Some(done) = self.slots.iter().position(Slot::is_complete)
            && let Some(slot) = self.slots.remove(done)
        {
            self.slots.push_front(slot);
        }
        while self.end.is_none() && self.slots.front().is_some_and(Slot::is_complete) {
            if let Some(slot) = self.slots.pop_front() {
                self.commit(slot);
                self.fill();
            }
        }
    }

    /// What is under way is asked again when the search goes on.
    fn recall(&mut self) {
        self.slots.iter_mut().for_each(Slot::reset);
    }
}

impl OfMachine for SearchBody {
    type Machine = SearchController;
}

impl OfMachine for SearchConfig {
    type Machine = SearchController;
}

impl Machine for SearchController {
    type Body = SearchBody;
    type Question = Ask;
    type Settings = SearchConfig;
    type ByPolicy<C: ContextContract, P: AbductivePolicy> = SearchResponder<C, P>;

    const NAME: &'static str = "search";

    fn by_policy<C: ContextContract, P: AbductivePolicy>(
        contract: C,
        policy: P,
    ) -> SearchResponder<C, P> {
        SearchResponder::new(contract, policy)
    }

    fn open(settings: SearchConfig, case: Case) -> Self {
        let mut search = Self::empty(settings.clone(), &case);
        let opened = Opened { format: SearchBody::FORMAT, config: settings, case };
        search.ledger.append(SearchBody::SearchOpened(Box::new(opened)));
        search.fill();
        search
    }

    fn poll(&mut self) -> Output<SearchBody, Ask> {
        if self.emission.is_settled(&self.ledger) {
            self.record_end();
            self.draw();
        }
        if let Some(entry) = self.emission.next(&self.ledger) {
            return Output::Append(entry);
        }
        if self.emission.is_settled(&self.ledger)
            && let Some((ticket, question)) = self.ask()
        {
            return Output::Ask { ticket, question };
        }
        self.stop().map_or(Output::Idle, Output::Done)
    }

    fn handle(&mut self, input: Input<Answer>) -> Result<(), InputError> {
        match input {
            Input::Appended(seq) => self.emission.acknowledge(seq)?,
            Input::Answer(ticket, answer, usage) => self.take(ticket, Ok(answer), usage)?,
            Input::Failed(ticket, Failure { exhausted: Some(which), usage, .. })
                if self.slots.iter().any(|slot| slot.has(ticket)) =>
            {
                // It was not answered, so it is asked again when the search goes on.
                self.recall();
                self.spent.usage += usage;
                self.halted = Some(StopReason::BudgetExhausted { which });
            }
            Input::Failed(ticket, failure) => {
                let usage = failure.usage;
                self.take(ticket, Err(failure), usage)?;
            }
            Input::Observe(_) => {
                let machine = self.config.profile().name();
                return Err(InputError::TakesNoObservations { machine });
            }
            Input::Cancel => {
                self.recall();
                self.halted = Some(StopReason::Cancelled);
            }
            Input::Deadline => {
                self.halted.get_or_insert(StopReason::Deadline);
            }
            Input::Spent(usage) => self.spent.usage += usage,
            Input::Resume => self.halted = None,
        }
        Ok(())
    }

    fn ledger(&self) -> &Ledger<SearchBody> {
        &self.ledger
    }

    fn settings(&self) -> &SearchConfig {
        &self.config
    }

    fn spent(&self) -> eog_core::Spent {
        self.spent
    }

    fn stop(&self) -> Option<StopReason> {
        let is_busy = self.slots.iter().any(Slot::is_begun) || self.has_to_draw();
        if is_busy || !self.emission.is_settled(&self.ledger) {
            None
        } else if self.end_is_recorded {
            let is_dead = Unreachable::of(&self.ledger).is_some();
            let converged = || Unreachable::or_converged(&self.ledger, 0);
            Some(self.below_threshold().filter(|_| !is_dead).unwrap_or_else(converged))
        } else if self.end.is_some() {
            None
        } else {
            self.withheld()
        }
    }

    fn conclusion(&self) -> Conclusion {
        let judged = self.judged();
        let mut conclusion = judged.conclusion();
        if self.below_threshold().is_some() {
            conclusion = Conclusion { ranking: judged.ranking(), ..self.blank.conclusion() };
        }
        // A search that chose nothing names no cause, but what it evaluated can be ranked.
        let names_none = conclusion.confidence == Confidence::Inconclusive;
        if self.best_so_far().is_none() || (names_none && conclusion.ranking.is_empty()) {
            conclusion.ranking = self.evaluated().ranking();
        }
        Conclusion { unreachable: Unreachable::of(&self.ledger), ..conclusion }
    }

    fn diagnosis(&self) -> Diagnosis {
        let waiting = if self.end.is_some() { 0 } else { self.slots.len() + self.follow_ups.len() };
        let mut diagnosis = self.judged().diagnosis(&self.ledger, waiting, self.spent, self.stop());
        diagnosis.conclusion = self.conclusion();
        diagnosis
    }

    fn in_flight(&self) -> u32 {
        self.slots.iter().filter(|slot| slot.is_begun()).count() as u32
    }

    fn reopen(first: &Arc<Entry<SearchBody>>) -> Result<Self, RestoreError> {
        let SearchBody::SearchOpened(opened) = &first.body else {
            return Err(RestoreError::NotOpened);
        };
        let mut search = Self::empty(opened.config.clone(), &opened.case);
        search.ledger.expect(first);
        search.ledger.append(first.body.clone());
        search.ledger.must_end_with(first)?;
        search.emission = Emission::settled(&search.ledger);
        search.fill();
        Ok(search)
    }

    fn repeat(
        &mut self,
        entry: &Arc<Entry<SearchBody>>,
        _next: Option<&Arc<Entry<SearchBody>>>,
    ) -> Result<(), RestoreError> {
        self.ledger.expect(entry);
        self.derive(entry)?;
        self.ledger.must_end_with(entry)?;
        self.emission = Emission::settled(&self.ledger);
        Ok(())
    }

    fn depart(&mut self, forked: Forked<SearchConfig>) {
        self.recall();
        self.halted = None;
        if let Some(config) = &forked.changes.config {
            self.config = config.clone();
            Arc::make_mut(&mut self.scene).initial_prompt = config.initial_prompt().map(Arc::from);
        }
        if forked.changes.policy.is_some() {
            self.decided.clear();
        }
        if let Some(case_file) = &forked.changes.case_file {
            self.known.show(Arc::clone(case_file));
            Arc::make_mut(&mut self.scene).case_file = Some(Arc::clone(case_file));
        }
        self.ledger.append(SearchBody::Forked(Box::new(forked)));
        self.reopen_end();
        self.emission = Emission::default();
    }
}
