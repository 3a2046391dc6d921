//! What is shown to the roles that set goals, moves and steps, and assess a round.

use std::collections::BTreeSet;
use std::sync::Arc;

use eog_core::EntityId;

use super::super::SearchController;
use super::number;
use crate::ask::{DecomposeAsk, GoalView, PathView, ProgressAsk, Seen, Status, SteerAsk, StepAsk};
use crate::body::Call;
use crate::seek::Fact;
use crate::tree::Ix;

/// How many steps of a path are shown.
const RECENT: usize = 5;

impl SearchController {
    pub(in crate::controller) fn decompose(&self, refused: Option<String>) -> Arc<DecomposeAsk> {
        let (goals, paths) = self.limits();
        Arc::new(DecomposeAsk { scene: Arc::clone(&self.scene), goals, paths, refused })
    }

    pub(in crate::controller) fn steer(&self, refused: Option<String>) -> Arc<SteerAsk> {
        let active = self.active();
        let may_return = active
            .iter()
            .flat_map(|goal| {
                self.may_return(*goal).into_iter().map(|path| self.path_id(*goal, path))
            })
            .collect();
        Arc::new(SteerAsk {
            scene: Arc::clone(&self.scene),
            goals: self.goal_views(),
            active: active.into_iter().map(number).collect(),
            may_return,
            facts: self.standing_facts(),
            candidates: self.quest.candidates.clone(),
            seen: self.last_looks(),
            refused,
        })
    }

    pub(in crate::controller) fn step_ask(&self, goal: usize, path: usize) -> Arc<StepAsk> {
        let it = &self.quest.goals[goal].paths[path];
        let entities = |nodes: Vec<Ix>| -> BTreeSet<EntityId> {
            let steps = nodes.into_iter().filter_map(|ix| self.tree.node(ix).action());
            steps.filter(|it| it.is_done()).map(|it| it.entity().clone()).collect()
        };
        let been = entities(self.tree.path(it.tip));
        let under = entities(self.tree.down_from(it.node));
        let others = self.quest.goals[goal].paths.iter().filter(|other| other.node != it.node);
        let elsewhere: BTreeSet<EntityId> =
            others.flat_map(|other| entities(self.tree.down_from(other.node))).collect();
        Arc::new(StepAsk {
            scene: Arc::clone(&self.scene),
            goal: self.goal_view(goal),
            path: self.path_view(goal, path),
            given_up: under.difference(&been).cloned().collect(),
            been: been.into_iter().collect(),
            elsewhere: elsewhere.into_iter().collect(),
            facts: self.standing_facts(),
        })
    }

    pub(in crate::controller) fn progress_ask(&self) -> Arc<ProgressAsk> {
        let ran = self.quest.turn.iter().flat_map(|turn| turn.ran.keys());
        Arc::new(ProgressAsk {
            scene: Arc::clone(&self.scene),
            goals: self.goal_views(),
            ran: ran.map(|(goal, path)| self.path_id(*goal, *path)).collect(),
            paths: self.limits().1,
            facts: self.standing_facts(),
            candidates: self.quest.candidates.clone(),
            seen: self.last_looks(),
            accept: self.config.stop().accept,
        })
    }

    fn standing_facts(&self) -> Vec<Fact> {
        self.quest.facts.iter().filter(|fact| fact.revised_by.is_none()).cloned().collect()
    }

    fn last_looks(&self) -> Vec<Seen> {
        let nodes: Vec<Ix> = self.quest.latest.values().map(|(ix, _)| *ix).collect();
        nodes.into_iter().filter_map(|ix| self.seen(&self.way_to(ix)).pop()).collect()
    }

    fn goal_views(&self) -> Vec<GoalView> {
        (0..self.quest.goals.len()).map(|goal| self.goal_view(goal)).collect()
    }

    fn goal_view(&self, goal: usize) -> GoalView {
        let it = &self.quest.goals[goal];
        let (about, question) = match self.tree.node(it.node).action().map(|action| &action.call) {
            Some(Call::Goal(goal)) => (goal.about.clone(), goal.question.clone()),
            _ => unreachable!("a goal stands there"),
        };
        let is_complete = |need: &u32| self.quest.goals[*need as usize - 1].complete;
        let status = match (it.complete, it.needs.iter().all(is_complete)) {
            (true, _) => Status::Complete,
            (false, true) => Status::Open,
            (false, false) => Status::Waiting,
        };
        GoalView {
            goal: number(goal),
            about,
            question,
            needs: it.needs.clone(),
            status,
            ratio: it.ratio,
            summary: it.summary.clone(),
            paths: (0..it.paths.len()).map(|path| self.path_view(goal, path)).collect(),
        }
    }

    fn path_view(&self, goal: usize, path: usize) -> PathView {
        let it = &self.quest.goals[goal].paths[path];
        let approach = match self.tree.node(it.node).action().map(|action| &action.call) {
            Some(Call::Path(approach)) => approach.clone(),
            _ => unreachable!("a path stands there"),
        };
        let branch = self.tree.up_from(it.tip);
        let kept = |ix: &Ix| Some((self.tree.id(*ix), self.quest.memory.get(ix)?.clone()));
        let below = self.tree.down_from(it.node);
        let (on, off): (Vec<Ix>, Vec<Ix>) = below.into_iter().partition(|ix| branch.contains(ix));
        let mut recent = self.seen(&self.way_to(it.tip));
        recent.drain(..recent.len().saturating_sub(RECENT));
        PathView {
            path: self.tree.id(it.node),
            approach,
            status: if it.open { Status::Open } else { Status::Closed },
            rewritten: it.rewritten,
            selected: it.selected,
            summary: it.summary.clone(),
            memory: on.iter().filter_map(kept).collect(),
            given_up: off.iter().filter_map(kept).collect(),
            recent,
        }
    }
}
