//! Levels: once all is settled a planner expands, holds, prunes or converges.

use eog_core::contract::Failure;

use super::SearchController;
use super::rounds::by_score;
use super::slot::Task;
use crate::ask::PlannedNode;
use crate::body::{End, PlanAction, PlanTry, Planned, Purpose, Scored, SearchBody, Verdict};
use crate::config::{Evaluation, Expansion};
use crate::id::{NodeId, Place};
#[cfg(feature = "planted-faults")]
use crate::planted::{PlantedFault, is_planted};
use crate::tree::{Ix, Phase, PrunedBy};

impl SearchController {
    /// Asks for the next plan once nothing is under way; says why there is none.
    pub(super) fn select_plan(&mut self) -> Option<Task> {
        if !self.slots.is_empty() {
            return None;
        }
        let cut = self.cut();
        for ix in &cut {
            self.prune(*ix, PrunedBy::Beam);
        }
        self.end = if self.begun >= self.config.stop().rounds.get() {
            Some(End::Rounds)
        } else if self.room() == 0 {
            Some(End::Settled)
        } else if self.expandable().is_empty() {
            let deepest = self.config.depth();
            let is_full = |ix: Ix| {
                let node = self.tree.node(ix);
                node.depth() >= deepest && node.phase == Phase::Scored && !node.is_held()
            };
            Some(if self.tree.indexes().any(is_full) { End::Settled } else { End::Exhausted })
        } else {
            None
        };
        if self.end.is_some() {
            return None;
        }
        self.begun += 1;
        Some(Task::Plan { cut })
    }

    /// How many nodes may be added.
    pub(super) fn room(&self) -> u32 {
        let Expansion::Planned { nodes, .. } = self.config.expansion() else { return 0 };
        nodes.get().saturating_sub(u32::try_from(self.tree.len()).unwrap_or(u32::MAX))
    }

    /// Which nodes may be expanded, by path: of those that are open, the ones of the least depth; with a
    /// beam, the survivors of the deepest level that has any.
    pub(super) fn expandable(&self) -> Vec<Ix> {
        let is_scored = |ix: &Ix| self.tree.node(*ix).phase == Phase::Scored;
        let is_open = |ix: &Ix| {
            let node = self.tree.node(*ix);
            let mut children = self.tree.children(*ix).peekable();
            let failed =
                |child| matches!(self.tree.node(child).phase, Phase::Failed | Phase::EvalFailed);
            let lacks = children.peek().is_none() || children.any(failed);
            is_scored(ix) && !node.is_held() && node.depth() < self.config.depth() && lacks
        };
        let depth = |ix: &Ix| self.tree.node(*ix).depth();
        let open: Vec<Ix> = self.tree.indexes().filter(is_open).collect();
        let level = match self.config.survivors() {
            Some(_) => self.tree.indexes().filter(is_scored).map(|ix| depth(&ix)).max(),
            None => open.iter().map(depth).min(),
        };
        #[cfg(feature = "planted-faults")]
        let level = match is_planted(PlantedFault::SkipsLevels) {
            true => open.iter().map(depth).max(),
            false => level,
        };
        let mut expandable: Vec<Ix> =
            open.into_iter().filter(|ix| Some(depth(ix)) == level).collect();
        expandable.sort_by_cached_key(|ix| self.tree.id(*ix));
        expandable
    }

    /// Of the deepest level, all but the best few.
    fn cut(&self) -> Vec<Ix> {
        let Some(survivors) = self.config.survivors() else { return Vec::new() };
        let is_scored = |ix: &Ix| *ix != Ix::ROOT && self.tree.node(*ix).phase == Phase::Scored;
        let scored: Vec<Ix> = self.tree.indexes().filter(is_scored).collect();
        let deepest = scored.iter().map(|ix| self.tree.node(*ix).depth()).max();
        let on_it = |ix: &Ix| Some(self.tree.node(*ix).depth()) == deepest;
        let mut level: Vec<Ix> = scored.into_iter().filter(on_it).collect();
        level.sort_by_cached_key(|ix| by_score(self, *ix));
        #[cfg(feature = "planted-faults")]
        if is_planted(PlantedFault::BeamKeepsWorst) {
            level.reverse();
        }
        level.split_off(level.len().min(survivors as usize))
    }

    fn prune(&mut self, ix: Ix, by: PrunedBy) {
        for below in self.tree.down_from(ix) {
            self.tree.node_mut(below).prune(by);
        }
    }

    /// The nodes as the planner sees them.
    pub(super) fn planned_nodes(&self) -> Vec<PlannedNode> {
        let nodes = self.tree.indexes().skip(1).filter_map(|ix| {
            let node = self.tree.node(ix);
            let seen = self.seen(&self.way_to(ix)).pop()?;
            let is_scored = matches!(node.phase, Phase::Scored | Phase::Solution | Phase::Pruned);
            Some(PlannedNode {
                id: self.tree.id(ix),
                phase: node.phase,
                score: node.score().filter(|_| is_scored),
                held: node.is_held(),
                metadata: self.tree.metadata(ix).cloned().unwrap_or_default(),
                seen,
            })
        });
        nodes.collect()
    }

    /// Why a plan cannot be applied.
    pub(super) fn refusal(&self, actions: &[PlanAction]) -> Option<String> {
        if actions.is_empty() {
            return Some("the plan is empty".to_owned());
        }
        let (expandable, mut room) = (self.expandable(), self.room());
        let pruned: Vec<&NodeId> = actions
            .iter()
            .filter_map(|action| match action {
                PlanAction::Prune { node, .. } => Some(node),
                _ => None,
            })
            .collect();
        if pruned.iter().any(|node| node.is_root()) {
            return Some("the root cannot be pruned".to_owned());
        }
        let mut added: Vec<(&NodeId, &crate::Call)> = Vec::new();
        let mut converges = 0;
        for action in actions {
            let (PlanAction::Expand { parent: id, .. }
            | PlanAction::Hold { node: id, .. }
            | PlanAction::Prune { node: id, .. }
            | PlanAction::Converge { node: id }) = action;
            let Some(ix) = self.tree.find(id) else {
                return Some(format!("there is no node {id}"));
            };
            let is_prune = matches!(action, PlanAction::Prune { .. });
            if !is_prune && pruned.iter().any(|pruned| pruned.holds(id)) {
                return Some(format!("node {id} is pruned by the same plan"));
            }
            match action {
                PlanAction::Expand { parent, action, score } => {
                    if !expandable.contains(&ix) {
                        return Some(format!("node {parent} cannot be expanded now"));
                    }
                    if room == 0 {
                        return Some("there is no room for so many nodes".to_owned());
                    }
                    room -= 1;
                    if let Some(reason) = self.unfit(ix, action, *score) {
                        return Some(reason);
                    }
                    if added.contains(&(parent, &action.call)) {
                        return Some(format!("node {parent} is to {} twice", action.call));
                    }
                    added.push((parent, &action.call));
                }
                PlanAction::Hold { .. } if !expandable.contains(&ix) => {
                    return Some(format!("node {id} keeps no level open"));
                }
                PlanAction::Hold { .. } => {}
                PlanAction::Prune { .. } => {}
                PlanAction::Converge { .. } => {
                    converges += 1;
                    let node = self.tree.node(ix);
                    if node.phase != Phase::Scored || node.score().is_none() {
                        return Some(format!("node {id} has no score to converge on"));
                    }
                }
            }
        }
        (converges > 1).then(|| "a plan converges on one node".to_owned())
    }

    /// Why an action makes no node below another.
    fn unfit(&self, parent: Ix, action: &crate::Action, score: Option<u16>) -> Option<String> {
        let does = |ix: Ix| self.tree.node(ix).action().is_some_and(|it| it.call == action.call);
        let has_failed =
            |ix: &Ix| matches!(self.tree.node(*ix).phase, Phase::Failed | Phase::EvalFailed);
        let id = self.tree.id(parent);
        if self.is_repeated(&self.way_to(parent), action) {
            return Some(format!("on the way to node {id} it was done already: {}", action.call));
        }
        if self.tree.children(parent).filter(|child| !has_failed(child)).any(does) {
            return Some(format!("below node {id} it was done already: {}", action.call));
        }
        if !self.known.is_known(action.entity()) {
            return Some(format!("nobody named the entity {}", action.entity()));
        }
        match score {
            Some(score) if score > 1000 => Some(format!("the score is {score}; scores go to 1000")),
            None if self.config.evaluation() == Evaluation::Planner => {
                Some("each new node needs a score".to_owned())
            }
            _ => None,
        }
    }

    pub(super) fn commit_planned(&mut self, cut: &[Ix], tries: Vec<PlanTry>) {
        let cut = cut.iter().map(|ix| self.tree.id(*ix)).collect();
        let planned = Planned { iteration: self.begun, cut, tries: tries.clone() };
        self.ledger.append(SearchBody::Planned(Box::new(planned)));
        match tries.into_iter().next_back() {
            Some(PlanTry::Applied(actions)) => actions.iter().for_each(|action| self.apply(action)),
            #[cfg(feature = "planted-faults")]
            Some(PlanTry::Refused { actions, .. }) if is_planted(PlantedFault::HalfApplied) => {
                let sound =
                    |action: &&PlanAction| self.refusal(std::slice::from_ref(*action)).is_none();
                let sound: Vec<PlanAction> = actions.iter().filter(sound).cloned().collect();
                sound.iter().for_each(|action| self.apply(action));
            }
            _ => self.end = Some(End::PlannerFailed),
        }
    }

    fn apply(&mut self, action: &PlanAction) {
        match action {
            PlanAction::Expand { parent, action, score } => {
                let Some(parent) = self.tree.find(parent) else { return };
                let node = self.tree.add(parent, std::sync::Arc::clone(action));
                if let (Some(score), Evaluation::Planner) = (score, self.config.evaluation()) {
                    self.tree.node_mut(node).set_score(*score);
                    #[cfg(feature = "planted-faults")]
                    if is_planted(PlantedFault::PriorCounts) {
                        self.tree.node_mut(node).phase = Phase::Scored;
                        self.accept(node);
                    }
                }
                self.follow_ups.push_back(Task::Look { node, round: None });
            }
            PlanAction::Hold { node, .. } => {
                if let Some(ix) = self.tree.find(node) {
                    self.tree.node_mut(ix).hold();
                }
            }
            PlanAction::Prune { node, .. } => {
                if let Some(ix) = self.tree.find(node) {
                    self.prune(ix, PrunedBy::Planner);
                }
            }
            PlanAction::Converge { node } => {
                if let Some(ix) = self.tree.find(node) {
                    self.tree.node_mut(ix).phase = Phase::Solution;
                    self.chosen = Some(ix);
                    self.end = Some(End::Converged);
                }
            }
        }
    }

    /// The task of a node has run.
    pub(super) fn commit_task(&mut self, node: Ix, failed: bool) {
        let judged = matches!(self.config.evaluation(), Evaluation::Judge { .. });
        self.tree.node_mut(node).phase = match (failed, judged) {
            (true, _) => Phase::Failed,
            (false, true) => Phase::Running,
            (false, false) => Phase::Scored,
        };
        if failed {
            return;
        }
        match judged {
            true => self.follow_ups.push_back(Task::Score { node, round: None }),
            false => self.accept(node),
        }
    }

    pub(super) fn commit_judged(
        &mut self,
        node: Ix,
        failures: Vec<Failure>,
        verdict: Option<Verdict>,
    ) {
        let at = Place::node(self.tree.id(node));
        let scored = Scored {
            at,
            purpose: Purpose::Judgement,
            round: None,
            failures,
            verdict: verdict.clone(),
        };
        self.ledger.append(SearchBody::Scored(Box::new(scored)));
        let Some(verdict) = verdict else {
            self.tree.node_mut(node).phase = Phase::EvalFailed;
            return;
        };
        self.tree.judge(node, &verdict);
        let it = self.tree.node_mut(node);
        it.phase = Phase::Scored;
        if verdict.prune {
            it.prune(PrunedBy::Evaluator);
        }
        self.accept(node);
    }

    fn accept(&mut self, node: Ix) {
        let it = self.tree.node(node);
        if it.phase == Phase::Scored && it.score() >= Some(self.config.stop().accept) {
            self.end = Some(End::Accepted);
        }
    }
}
