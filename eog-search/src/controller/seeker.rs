//! Goals with alternative paths: plan, then round by round move on each active goal, make a step on each
//! chosen path, and assess the outcome (TreeSeeker, arXiv 2606.11662, whose prompts fix the numbers).

mod asked;
mod lot;
mod moves;
mod progress;
mod refusal;
mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eog_core::belief::Label;
use eog_core::evidence::Finding;
use eog_core::{EntityId, EvidenceId};

use super::SearchController;
use super::result::Done;
use super::slot::Task;
use crate::body::{Action, Call, Decomposed, End, SearchBody};
use crate::config::{Expansion, Selection};
use crate::id::{NodeId, Place};
#[cfg(feature = "planted-faults")]
use crate::planted::{PlantedFault, is_planted};
use crate::seek::{Approach, Candidate, Fact, Goal, TreeMem, Try};
use crate::tree::Ix;

/// The state of a search by goals beside its tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Quest {
    is_planned: bool,
    goals: Vec<GoalState>,
    facts: Vec<Fact>,
    candidates: Vec<Candidate>,
    /// Entities that were candidates before and are none now, the last first.
    former: Vec<EntityId>,
    /// Every finding that an evaluation showed.
    found: BTreeMap<EvidenceId, Finding>,
    /// What decisions cited so far.
    cited: BTreeSet<EvidenceId>,
    /// What is kept at nodes.
    memory: BTreeMap<Ix, TreeMem>,
    /// The last evaluation of each entity.
    latest: BTreeMap<EntityId, (Ix, u64)>,
    /// The round under way.
    turn: Option<Turn>,
    /// The moves of a round are to be drawn at random.
    draws: bool,
}

#[derive(Clone, Debug)]
struct GoalState {
    node: Ix,
    needs: Vec<u32>,
    /// The highest that was given.
    ratio: u16,
    complete: bool,
    summary: String,
    paths: Vec<PathState>,
}

#[derive(Clone, Debug)]
struct PathState {
    node: Ix,
    /// The last node of the branch; the path itself at first.
    tip: Ix,
    /// Where it last made progress; nothing if it never did.
    mark: Option<Ix>,
    /// It went back there before.
    returned: bool,
    open: bool,
    rewritten: bool,
    /// Selections since progress.
    selected: u32,
    summary: String,
}

#[derive(Clone, Debug)]
struct Turn {
    round: u32,
    /// Paths whose step is not committed yet.
    waiting: usize,
    /// Paths that were chosen, each with whether its step brought new evidence.
    ran: BTreeMap<(usize, usize), bool>,
}

impl PathState {
    fn new(node: Ix) -> Self {
        Self {
            node,
            tip: node,
            mark: None,
            returned: false,
            open: true,
            rewritten: false,
            selected: 0,
            summary: String::new(),
        }
    }
}
impl SearchController {
    /// The facts so far, by number, with those that others took the place of.
    pub fn facts(&self) -> &[Fact] {
        &self.quest.facts
    }

    /// Candidate answers, best first.
    pub fn candidates(&self) -> &[Candidate] {
        &self.quest.candidates
    }

    /// What is kept at a node of a path.
    pub fn memory(&self, node: &NodeId) -> Option<&TreeMem> {
        self.quest.memory.get(&self.tree.find(node)?)
    }

    /// How many selections since it made progress a path has, by its name.
    pub fn selected(&self, path: &NodeId) -> Option<u32> {
        let ix = self.tree.find(path)?;
        let paths = self.quest.goals.iter().flat_map(|goal| &goal.paths);
        paths.into_iter().find(|path| path.node == ix).map(|path| path.selected)
    }

    /// The highest ratio of each goal so far, by number, and whether it is complete.
    pub fn goals(&self) -> Vec<(u16, bool)> {
        self.quest.goals.iter().map(|goal| (goal.ratio, goal.complete)).collect()
    }

    fn patience(&self) -> (u32, u32) {
        let Selection::Textual { may, must, .. } = self.config.selection() else {
            return (u32::MAX, u32::MAX);
        };
        #[cfg(feature = "planted-faults")]
        let late = u32::from(is_planted(PlantedFault::ReturnsLate));
        #[cfg(not(feature = "planted-faults"))]
        let late = 0;
        #[cfg(feature = "planted-faults")]
        let early = u32::from(is_planted(PlantedFault::ReturnsEarly));
        #[cfg(not(feature = "planted-faults"))]
        let early = 0;
        (may.get() - early, must.get() + late)
    }

    fn limits(&self) -> (u32, u32) {
        match self.config.expansion() {
            Expansion::Goals { goals, paths, .. } => (goals.get(), paths.get()),
            _ => (0, 0),
        }
    }

    /// Begins the next round, if there is one. With nothing under way, says why there is none.
    pub(super) fn select_turn(&mut self, random: Option<u64>) -> Option<Task> {
        if !self.quest.is_planned {
            self.quest.is_planned = true;
            return Some(Task::Decompose);
        }
        if !self.slots.is_empty() || self.quest.turn.is_some() || self.quest.goals.is_empty() {
            return None;
        }
        self.end = if self.quest.goals.iter().all(|goal| goal.complete) {
            Some(End::Completed)
        } else if self.begun >= self.config.stop().rounds.get() {
            Some(End::Rounds)
        } else if self.active().is_empty() {
            Some(End::Exhausted)
        } else {
            None
        };
        if self.end.is_some() {
            return None;
        }
        self.begun += 1;
        let round = self.begun;
        self.quest.turn = Some(Turn { round, waiting: 0, ran: BTreeMap::new() });
        self.quest.draws = random.is_some();
        random.is_none().then_some(Task::Steer)
    }

    /// Goals that want a move: not complete, all that they need complete, with an open path.
    fn active(&self) -> Vec<usize> {
        let is_complete = |number: &u32| {
            let goal = (*number as usize).checked_sub(1).and_then(|at| self.quest.goals.get(at));
            goal.is_some_and(|goal| goal.complete)
        };
        #[cfg(feature = "planted-faults")]
        let is_complete =
            |number: &u32| is_planted(PlantedFault::IgnoresNeeds) || is_complete(number);
        let is_active = |at: &usize| {
            let goal = &self.quest.goals[*at];
            !goal.complete && goal.needs.iter().all(is_complete) && !self.open(*at).is_empty()
        };
        (0..self.quest.goals.len()).filter(is_active).collect()
    }

    fn open(&self, goal: usize) -> Vec<usize> {
        let paths = &self.quest.goals[goal].paths;
        (0..paths.len()).filter(|at| paths[*at].open).collect()
    }

    fn may_return(&self, goal: usize) -> Vec<usize> {
        let (may, _) = self.patience();
        let paths = &self.quest.goals[goal].paths;
        self.open(goal).into_iter().filter(|at| paths[*at].selected >= may).collect()
    }

    fn path_id(&self, goal: usize, path: usize) -> NodeId {
        self.tree.id(self.quest.goals[goal].paths[path].node)
    }

    /// Where a path of this name stands.
    fn path_at(&self, id: &NodeId) -> Option<(usize, usize)> {
        let [goal, path] = id.ordinals() else { return None };
        let (goal, path) = (*goal as usize - 1, *path as usize - 1);
        (path < self.quest.goals.get(goal)?.paths.len()).then_some((goal, path))
    }

    /// Goals came.
    pub(super) fn commit_decomposed(&mut self, tries: Vec<Try<Vec<Goal>>>) {
        let goals = match tries.last() {
            Some(Try::Applied(goals)) => goals.clone(),
            _ => Vec::new(),
        };
        self.ledger.append(SearchBody::Decomposed(Box::new(Decomposed { tries })));
        if goals.is_empty() {
            self.end = Some(End::PlannerFailed);
        }
        for goal in goals {
            let (needs, paths) = (goal.needs.clone(), goal.paths.clone());
            let action = Action { thought: goal.question.clone(), call: Call::Goal(goal) };
            let node = self.tree.add(Ix::ROOT, Arc::new(action));
            let (summary, none) = (String::new(), Vec::new());
            let state = GoalState { node, needs, ratio: 0, complete: false, summary, paths: none };
            self.quest.goals.push(state);
            let at = self.quest.goals.len() - 1;
            paths.into_iter().for_each(|path| self.add_path(at, path));
        }
    }

    fn add_path(&mut self, goal: usize, approach: Approach) {
        let parent = self.quest.goals[goal].node;
        let action = Action { thought: approach.approach.clone(), call: Call::Path(approach) };
        let node = self.tree.add(parent, Arc::new(action));
        self.quest.goals[goal].paths.push(PathState::new(node));
    }

    /// The entries that the candidate answers rest on: the evaluations on the ways to them, and the last
    /// one of each entity there; and how far the goal is that is least far.
    pub(super) fn answer(&self) -> Option<(Place, u16, Vec<u64>)> {
        let mut looks: BTreeSet<u64> = BTreeSet::new();
        let mut best = None;
        for candidate in &self.quest.candidates {
            let Some((node, _)) = self.quest.latest.get(&candidate.entity) else { continue };
            best = best.or(Some(*node));
            looks.extend(self.looks_that_lead_to(&candidate.entity));
        }
        let ratio = self.quest.goals.iter().map(|goal| goal.ratio).min()?;
        Some((Place::node(self.tree.id(best?)), ratio, looks.into_iter().collect()))
    }

    /// The evaluations on the way to an entity, and the last one of each entity there.
    fn looks_that_lead_to(&self, entity: &EntityId) -> BTreeSet<u64> {
        let Some((node, entry)) = self.quest.latest.get(entity) else { return BTreeSet::new() };
        let way = self.way_to(*node);
        let last = |done: &Done| Some(self.quest.latest.get(done.action.entity())?.1);
        way.iter().flat_map(|done| [done.entry, last(done)]).flatten().chain([*entry]).collect()
    }

    /// Of the origins that were found on any path of any goal and are no candidates now, the evaluations that lead to each,
    /// with those that found symptoms on any path: those that were candidates before first, the last before the
    /// others, then by name.
    pub(super) fn other_answers(&self) -> Vec<Vec<u64>> {
        let Quest { candidates, former, latest, .. } = &self.quest;
        let mut others: Vec<&EntityId> = former.iter().collect();
        others.extend(latest.keys().filter(|entity| !former.contains(entity)));
        let is_origin = |entity: &&EntityId| {
            let look = latest.get(*entity).and_then(|(_, entry)| self.looked(*entry));
            look.is_some_and(|look| look.belief.label == Label::Origin)
        };
        others.retain(|entity| candidates.iter().all(|it| it.entity != **entity));
        others.retain(is_origin);
        let symptoms = if others.is_empty() { Vec::new() } else { self.symptoms() };
        let looks = |entity: &EntityId| {
            let mut looks = self.looks_that_lead_to(entity);
            looks.extend(&symptoms);
            looks.into_iter().collect()
        };
        others.into_iter().map(looks).collect()
    }

    /// The last evaluation of each entity, oldest first.
    pub(super) fn looks_of_paths(&self) -> Vec<u64> {
        let mut looks: Vec<u64> = self.quest.latest.values().map(|(_, entry)| *entry).collect();
        looks.sort_unstable();
        looks
    }
}

fn number(goal: usize) -> u32 {
    u32::try_from(goal + 1).unwrap_or(u32::MAX)
}
