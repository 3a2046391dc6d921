//! Rounds of a search by bounds: select, expand, evaluate, score, simulate, back up, reflect.

use std::cmp::Reverse;
use std::sync::Arc;

use eog_core::contract::Failure;

use super::SearchController;
use super::result::{Best, Done};
use super::slot::Task;
use crate::ask::explained;
use crate::body::{
    Acted, Action, Drawn, End, Proposed, Purpose, Reflected, RefusedAction, Scored, SearchBody,
    Verdict,
};
use crate::config::{Expansion, Exploration, Pruning};
use crate::id::Place;
#[cfg(feature = "planted-faults")]
use crate::planted::{PlantedFault, is_planted};
use crate::tree::{Ix, Phase};

/// What a value or a reward counts as that cannot be had: 0 on the scale from -1 to 1 of the source.
const NEUTRAL: u16 = 500;

/// How many reflections are remembered.
const MAX_REFLECTIONS: usize = 3;

/// A round under way.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// Where it began.
    leaf: Ix,
    /// Children whose evaluation or value is not committed yet.
    waiting: u32,
    /// The node that it simulates from.
    from: Ix,
    /// The steps of the simulation.
    steps: Vec<Done>,
}

impl SearchController {
    /// Begins the next round, if there is one. With nothing under way, says why there is none.
    pub(super) fn select_round(&mut self, exploration: Exploration) -> Option<Task> {
        let is_idle = self.slots.is_empty() && self.rounds.is_empty();
        let rounds = self.config.stop().rounds.get();
        if self.begun >= rounds {
            self.end = is_idle.then_some(End::Rounds);
            return None;
        }
        let c = exploration.at(self.begun, rounds);
        #[cfg(feature = "planted-faults")]
        let c = if is_planted(PlantedFault::ExploresTwice) { 2 * c } else { c };
        let leaf = self.tree.select(c, self.config.backup());
        // What was set aside is better than nothing.
        let leaf = leaf.or_else(|| is_idle.then(|| self.tree.bring_back_best()).flatten());
        let Some(leaf) = leaf else {
            self.end = is_idle.then_some(End::Exhausted);
            return None;
        };
        self.begun += 1;
        let round = self.begun;
        self.tree.begin(leaf);
        self.rounds.insert(round, Round { leaf, waiting: 0, from: leaf, steps: Vec::new() });
        Some(match self.tree.node(leaf).is_terminal() {
            true => Task::Reward { round },
            false => Task::Propose { round, leaf },
        })
    }

    /// What was done on the way to the end of a simulation.
    pub(super) fn trajectory(&self, round: u32) -> Vec<Done> {
        let Some(round) = self.rounds.get(&round) else { return Vec::new() };
        let mut way = self.way_to(round.from);
        way.extend(round.steps.iter().cloned());
        way
    }

    /// The step that a simulation makes next.
    pub(super) fn next_step(&self, round: u32) -> Place {
        self.step(round, 1)
    }

    /// The step that a simulation made last.
    pub(super) fn last_step(&self, round: u32) -> Place {
        self.step(round, 0)
    }

    fn step(&self, round: u32, ahead: usize) -> Place {
        let Some(round) = self.rounds.get(&round) else {
            return Place::root();
        };
        let step = u32::try_from(round.steps.len() + ahead).unwrap_or(u32::MAX);
        Place::step(self.tree.id(round.from), step)
    }

    /// Whether an action was done on a way, and nothing was found since that is a reason to do it again.
    pub(super) fn is_repeated(&self, way: &[Done], action: &Action) -> bool {
        let is_done = way.iter().any(|done| done.action.is_same(action));
        let is_again = || self.scene.is_concerned(&self.seen(way), action.entity());
        // A tool answers the same.
        is_done && (action.tool().is_some() || !is_again())
    }

    /// Whether a way ends with an answer: an origin that explains an alert, or any where nothing alerts.
    pub(super) fn is_answer(&self, way: &[Done]) -> bool {
        let way = self.seen(way);
        let Some(last) = way.last().filter(|last| last.is_origin()) else { return false };
        let conclusion = self.scene.conclusion(&way);
        self.scene.anomalies.is_empty() || explained(&conclusion).contains_key(last.action.entity())
    }

    /// Why an action is not taken after these.
    pub(super) fn refused(&self, way: &[Done], action: &Action) -> Option<RefusedAction> {
        if self.is_repeated(way, action) {
            Some(RefusedAction::EqualAncestor)
        } else if !action.is_step() {
            Some(RefusedAction::NoLook)
        } else if action.tool().is_none() && !self.known.is_known(action.entity()) {
            Some(RefusedAction::UnknownEntity)
        } else {
            None
        }
    }

    /// Records which actions were proposed below a node, and which of them are refused. Returns the others,
    /// and how many there were, unless none came.
    pub(super) fn record_proposed(
        &mut self,
        (node, round, most): (Ix, u32, usize),
        (result, drawn): (Result<Vec<Action>, Failure>, Vec<Drawn>),
        unfit: fn(&Action) -> Option<RefusedAction>,
    ) -> (Vec<Arc<Action>>, Option<usize>) {
        let (actions, failure) = match result {
            Ok(actions) => (Some(actions.into_iter().map(Arc::new).collect::<Vec<_>>()), None),
            Err(failure) => (None, Some(failure)),
        };
        let way = self.way_to(node);
        let (mut refused, mut taken): (Vec<(u32, RefusedAction)>, Vec<Arc<Action>>) =
            (Vec::new(), Vec::new());
        for (position, action) in (0..).zip(actions.iter().flatten()) {
            let reason = if taken.iter().any(|other| other.is_same(action)) {
                Some(RefusedAction::EqualSibling)
            } else if taken.len() >= most {
                Some(RefusedAction::TooMany)
            } else {
                unfit(action).or_else(|| self.refused(&way, action))
            };
            match reason {
                Some(reason) => refused.push((position, reason)),
                None => taken.push(Arc::clone(action)),
            }
        }
        let count = actions.as_ref().map(Vec::len);
        let node = self.tree.id(node);
        let proposed = Proposed { node, round, actions, failure, drawn, refused };
        self.ledger.append(SearchBody::Proposed(Box::new(proposed)));
        (taken, count)
    }

    /// The actions of a leaf were drawn apart: together they are what was proposed, unless every draw failed.
    pub(super) fn commit_draws(
        &mut self,
        round: u32,
        leaf: Ix,
        draws: Vec<Result<Vec<Action>, Failure>>,
    ) {
        let drawn = draws.iter().map(|draw| Drawn {
            actions: draw.as_ref().map_or(0, |it| u32::try_from(it.len()).unwrap_or(u32::MAX)),
            failure: draw.as_ref().err().cloned(),
        });
        let drawn: Vec<Drawn> = drawn.collect();
        let none = draws.iter().all(Result::is_err);
        let failure = draws.last().and_then(|draw| draw.as_ref().err().cloned()).filter(|_| none);
        let actions = draws.into_iter().flatten().flatten().collect();
        self.commit_proposed(round, leaf, failure.map_or(Ok(actions), Err), drawn);
    }

    pub(super) fn commit_proposed(
        &mut self,
        round: u32,
        leaf: Ix,
        result: Result<Vec<Action>, Failure>,
        drawn: Vec<Drawn>,
    ) {
        let most = match self.config.expansion() {
            Expansion::Actions { count, .. } => count.get() as usize,
            _ => 0,
        };
        let (taken, count) = self.record_proposed((leaf, round, most), (result, drawn), |_| None);
        for action in &taken {
            let node = self.tree.add(leaf, Arc::clone(action));
            self.follow_ups.push_back(Task::Look { node, round: Some(round) });
        }
        if let Some(it) = self.rounds.get_mut(&round) {
            it.waiting = u32::try_from(taken.len()).unwrap_or(u32::MAX);
        }
        if !taken.is_empty() {
            return;
        }
        if count == Some(0) && leaf != Ix::ROOT {
            // Nothing is left to do from here: the trajectory ends with its answer so far.
            self.tree.node_mut(leaf).end_here();
            self.follow_ups.push_back(Task::Reward { round });
        } else {
            self.tree.close(leaf);
            self.end_round(round);
        }
    }

    /// A child of a round's leaf was evaluated.
    pub(super) fn commit_child(&mut self, node: Ix, round: u32, failed: bool) {
        if failed {
            self.tree.node_mut(node).phase = Phase::Failed;
            self.tree.close(node);
            return self.settle(round);
        }
        if self.tree.node(node).depth() >= self.config.depth() || self.is_answer(&self.way_to(node))
        {
            self.tree.node_mut(node).end_here();
        }
        self.follow_ups.push_back(Task::Score { node, round: Some(round) });
    }

    pub(super) fn commit_value(
        &mut self,
        node: Ix,
        round: u32,
        failures: Vec<Failure>,
        verdict: Option<Verdict>,
    ) {
        match &verdict {
            Some(verdict) => self.tree.judge(node, verdict),
            None => self.tree.node_mut(node).set_score(NEUTRAL),
        }
        let at = Place::node(self.tree.id(node));
        let scored = Scored { at, purpose: Purpose::Value, round: Some(round), failures, verdict };
        self.ledger.append(SearchBody::Scored(Box::new(scored)));
        self.tree.node_mut(node).phase = Phase::Scored;
        #[cfg(feature = "planted-faults")]
        if is_planted(PlantedFault::ClosesUnrewarded) && self.tree.node(node).is_terminal() {
            self.tree.close(node);
        }
        self.settle(round);
    }

    /// One more child of a round has its value, or failed. After the last, the round simulates from the
    /// best.
    fn settle(&mut self, number: u32) {
        let Some(round) = self.rounds.get_mut(&number) else { return };
        round.waiting -= 1;
        if round.waiting > 0 {
            return;
        }
        let children = self.tree.children(round.leaf);
        let sound = children.filter(|child| self.tree.node(*child).phase == Phase::Scored);
        let sound: Vec<Ix> = sound.filter(|child| !self.tree.is_closed(*child)).collect();
        // Of equal ones the first.
        let best = sound.into_iter().rev().max_by_key(|child| self.tree.node(*child).score());
        let Some(best) = best else { return self.end_round(number) };
        round.from = best;
        self.follow_ups.push_back(match self.tree.node(best).is_terminal() {
            true => Task::Reward { round: number },
            false => Task::Act { round: number },
        });
    }

    pub(super) fn commit_acted(&mut self, round: u32, result: Result<Option<Action>, Failure>) {
        let at = self.next_step(round);
        let (action, failure) = match result {
            Ok(action) => (action.map(Arc::new), None),
            Err(failure) => (None, Some(failure)),
        };
        let way = self.trajectory(round);
        let refused = action.as_ref().and_then(|action| self.refused(&way, action));
        let acted = Acted { at, action: action.clone(), failure, refused };
        self.ledger.append(SearchBody::Acted(Box::new(acted)));
        self.follow_ups.push_back(match action.filter(|_| refused.is_none()) {
            Some(action) => Task::Step { round, action },
            None => Task::Reward { round },
        });
    }

    /// A step of a simulation was evaluated. A failed evaluation is an observation like any other.
    pub(super) fn commit_step(&mut self, number: u32, action: Arc<Action>, entry: u64) {
        let most = self.config.depth() as usize;
        let Some(round) = self.rounds.get_mut(&number) else { return };
        round.steps.push(Done { action, entry: Some(entry) });
        let depth = self.tree.node(round.from).depth() as usize + round.steps.len();
        let ends = depth >= most || self.is_answer(&self.trajectory(number));
        let reward = Task::Reward { round: number };
        self.follow_ups.push_back(if ends { reward } else { Task::Act { round: number } });
    }

    pub(super) fn commit_reward(
        &mut self,
        number: u32,
        failures: Vec<Failure>,
        verdict: Option<Verdict>,
    ) {
        let (at, way) = (self.last_step(number), self.trajectory(number));
        let Some(from) = self.rounds.get(&number).map(|round| round.from) else { return };
        let score = verdict.as_ref().map_or(NEUTRAL, |verdict| verdict.score);
        let scored = Scored {
            at: at.clone(),
            purpose: Purpose::Reward,
            round: Some(number),
            failures,
            verdict,
        };
        self.ledger.append(SearchBody::Scored(Box::new(scored)));
        self.tree.back_up(from, score);
        if self.tree.node(from).is_terminal() {
            self.tree.close(from);
        }
        if self.best.as_ref().is_none_or(|best| Some(score) > best.score) {
            let looks = way.iter().filter_map(|done| done.entry).collect();
            self.best = Some(Best { at: at.clone(), score: Some(score), looks });
        }
        if score >= self.config.stop().accept {
            self.end = Some(End::Accepted);
        } else {
            self.follow_ups.push_back(Task::Reflect { at, way });
        }
        self.end_round(number);
    }

    /// A round is over: leaves that it left without a visit and with a low value are set aside.
    fn end_round(&mut self, number: u32) {
        let Some(round) = self.rounds.remove(&number) else { return };
        self.tree.finish(round.leaf);
        let Pruning::Unvisited { below } = self.config.pruning() else { return };
        let children: Vec<Ix> = self.tree.children(round.leaf).collect();
        for child in children {
            let node = self.tree.node(child);
            if node.visits() == 0 && node.score().is_some_and(|value| value < below) {
                self.tree.put_aside(child);
            }
        }
    }

    pub(super) fn commit_reflected(&mut self, at: Place, result: Result<String, Failure>) {
        let (text, failure) = match result {
            Ok(text) => (Some(text), None),
            Err(failure) => (None, Some(failure)),
        };
        if let Some(text) = &text
            && !self.reflections.contains(text)
        {
            self.reflections.push_back(text.clone());
            if self.reflections.len() > MAX_REFLECTIONS {
                self.reflections.pop_front();
            }
        }
        let reflected = Reflected { at, text, failure };
        self.ledger.append(SearchBody::Reflected(Box::new(reflected)));
    }
}

/// Highest score first, then by path.
pub(super) fn by_score(search: &SearchController, ix: Ix) -> (Reverse<Option<u16>>, crate::NodeId) {
    (Reverse(search.tree.node(ix).score()), search.tree.id(ix))
}
