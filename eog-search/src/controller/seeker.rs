//! Goals with alternative paths: plan, then round by round move on each active goal, make a step on each
//! chosen path, and go over what came of it (TreeSeeker, arXiv 2606.11662, whose prompts fix the numbers).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eog_core::contract::Failure;
use eog_core::evidence::Finding;
use eog_core::{Digest, EntityId, EvidenceId};

use super::SearchController;
use super::slot::Task;
use crate::ask::{DecomposeAsk, GoalView, PathView, ProgressAsk, Seen, Status, SteerAsk, StepAsk};
use crate::body::{
    Acted, Action, Call, Decomposed, End, Progressed, RefusedAction, SearchBody, Steered,
};
use crate::config::{Expansion, Selection};
use crate::id::{NodeId, Place};
#[cfg(feature = "planted-faults")]
use crate::planted::{PlantedFault, is_planted};
use crate::seek::{
    Approach, By, Candidate, Fact, Goal, Move, MoveKind, PlanChange, Progress, RefusedPart,
    Steering, Taken, TreeMem, Try,
};
use crate::tree::{Ix, Phase, PrunedBy};

/// How many steps of a path are shown.
const RECENT: usize = 5;
/// How far a ratio must rise above all before it to be progress.
const RISE: u16 = 50;
/// How many facts one answer may bring.
const MAX_FACTS: usize = 40;

/// What a search by goals knows beside its tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Quest {
    is_planned: bool,
    goals: Vec<GoalState>,
    facts: Vec<Fact>,
    candidates: Vec<Candidate>,
    /// Every finding that a look showed.
    found: BTreeMap<EvidenceId, Finding>,
    /// What decisions cited so far.
    cited: BTreeSet<EvidenceId>,
    /// What is kept at nodes.
    memory: BTreeMap<Ix, TreeMem>,
    /// The last look at each entity.
    latest: BTreeMap<EntityId, (Ix, u64)>,
    /// The round under way.
    turn: Option<Turn>,
    /// The moves of a round are to be drawn by lot.
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

    /// What may be the answer, best first.
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
        (may.get(), must.get() + late)
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

    /// Whether moves are about to be drawn.
    pub(super) fn has_to_draw(&self) -> bool {
        self.quest.draws && self.end.is_none()
    }

    /// Draws the moves of the round by lot, once all before is stored.
    pub(super) fn draw(&mut self) {
        let Selection::Textual { random: Some(seed), .. } = self.config.selection() else { return };
        if !std::mem::take(&mut self.quest.draws) {
            return;
        }
        let moves: Vec<Move> =
            self.active().into_iter().map(|goal| self.drawn(seed, goal)).collect();
        self.make_moves(Vec::new(), Some(moves));
        self.fill();
    }

    /// A fork: moves that were about to be drawn are asked for, or the other way round.
    pub(super) fn turn_again(&mut self) {
        if self.quest.draws {
            self.quest.draws = false;
            self.quest.turn = None;
            self.begun -= 1;
        }
    }

    /// A move that is drawn uniformly among the kinds that are admissible, then among paths.
    fn drawn(&self, seed: u64, goal: usize) -> Move {
        let number = number(goal);
        let draw = |purpose: &str, at: usize, limit: usize| {
            let digest = Digest::of(&(seed, self.begun, number, purpose, at)).to_string();
            let bits = u64::from_str_radix(digest.get(..15).unwrap_or("0"), 16).unwrap_or(0);
            usize::try_from(bits % limit.max(1) as u64).unwrap_or(0)
        };
        let (open, back) = (self.open(goal), self.may_return(goal));
        let mut kinds = vec![MoveKind::Exploit];
        kinds.extend((open.len() >= 2).then_some(MoveKind::Explore));
        kinds.extend((!back.is_empty()).then_some(MoveKind::Backtrack));
        let kind = kinds.swap_remove(draw("kind", 0, kinds.len()));
        let (mut from, most) = match kind {
            MoveKind::Exploit => (open, 1),
            MoveKind::Explore => {
                let most = 2 + draw("how many", 0, open.len() - 1);
                (open, most)
            }
            MoveKind::Backtrack => (back, 1),
        };
        let mut chosen = Vec::new();
        for at in 0..most {
            chosen.push(from.remove(draw("path", at, from.len())));
        }
        chosen.sort_unstable();
        let paths = chosen.into_iter().map(|path| self.path_id(goal, path)).collect();
        Move { goal: number, kind, paths, signals: Vec::new() }
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

    /// Why goals cannot be applied.
    pub(super) fn goals_refusal(&self, goals: &[Goal]) -> Option<String> {
        let (most_goals, most_paths) = self.limits();
        if goals.is_empty() || goals.len() > most_goals as usize {
            return Some(format!("there are {} goals; 1 to {most_goals} can be set", goals.len()));
        }
        for (number, goal) in (1_u32..).zip(goals) {
            let paths = goal.paths.len();
            if paths == 0 || paths > most_paths as usize {
                return Some(format!(
                    "goal {number} has {paths} paths; it can have 1 to {most_paths}"
                ));
            }
            let named = goal.paths.iter().map(|path| &path.start).chain([&goal.about]);
            if let Some(unknown) = named.into_iter().find(|entity| !self.known.is_known(entity)) {
                return Some(format!("goal {number}: nobody named the entity {unknown}"));
            }
            let is_equal = |(at, path): (usize, &Approach)| goal.paths[..at].contains(path);
            if goal.paths.iter().enumerate().any(is_equal) {
                return Some(format!("goal {number} has the same path twice"));
            }
            let is_goal = |need: &&u32| **need >= 1 && **need as usize <= goals.len();
            if let Some(need) = goal.needs.iter().find(|need| !is_goal(need)) {
                return Some(format!("goal {number} needs goal {need}, which there is not"));
            }
        }
        // A goal can start once all that it needs can be complete.
        let mut done: BTreeSet<u32> = BTreeSet::new();
        loop {
            let before = done.len();
            for (number, goal) in (1..).zip(goals) {
                if goal.needs.iter().all(|need| done.contains(need)) {
                    done.insert(number);
                }
            }
            if done.len() == goals.len() {
                return None;
            }
            if done.len() == before {
                let stuck = (1..).zip(goals).find(|(number, _)| !done.contains(number));
                let number = stuck.map_or(0, |(number, _)| number);
                return Some(format!("goal {number} needs itself in a circle"));
            }
        }
    }

    /// Why the moves cannot all be made.
    pub(super) fn steering_refusal(&self, steering: &Steering) -> Option<String> {
        if steering.finished {
            let has_none = self.quest.candidates.is_empty();
            return has_none.then(|| "it is not finished: there is no candidate answer".to_owned());
        }
        let active = self.active();
        if let Some(other) =
            steering.moves.iter().find(|it| !active.iter().any(|goal| number(*goal) == it.goal))
        {
            return Some(format!("goal {} wants no move", other.goal));
        }
        active.into_iter().find_map(|goal| self.admissible(goal, steering).err())
    }

    /// The paths of the one move on a goal, if it is admissible.
    fn admissible(
        &self,
        goal: usize,
        steering: &Steering,
    ) -> Result<(MoveKind, Vec<usize>), String> {
        let number = number(goal);
        let mut moves = steering.moves.iter().filter(|it| it.goal == number);
        let Some(it) = moves.next() else { return Err(format!("goal {number} has no move")) };
        if moves.next().is_some() {
            return Err(format!("goal {number} has several moves"));
        }
        let mut paths = Vec::new();
        for id in &it.paths {
            match self.path_at(id) {
                Some((of, path)) if of == goal && self.quest.goals[goal].paths[path].open => {
                    if paths.contains(&path) {
                        return Err(format!("goal {number} names path {id} twice"));
                    }
                    paths.push(path);
                }
                _ => return Err(format!("goal {number} has no open path {id}")),
            }
            let is_said = |text: &str| !text.trim().is_empty();
            let said = it.signals.iter().any(|signal| {
                signal.path == *id
                    && [&signal.value, &signal.uncertainty, &signal.risk]
                        .into_iter()
                        .all(|text| is_said(text))
            });
            if !said {
                return Err(format!("path {id} lacks value, uncertainty and risk in words"));
            }
        }
        let open = self.open(goal).len();
        let (may, _) = self.patience();
        match (it.kind, paths.len()) {
            (MoveKind::Exploit, 1) => {}
            (MoveKind::Exploit, _) => {
                return Err(format!("goal {number}: exploit takes one path"));
            }
            (MoveKind::Explore, 2..) => {}
            (MoveKind::Explore, _) => {
                return Err(format!(
                    "goal {number}: explore takes two of {open} open paths or more"
                ));
            }
            (MoveKind::Backtrack, 1) => {
                let selected = self.quest.goals[goal].paths[paths[0]].selected;
                if selected < may {
                    return Err(format!(
                        "goal {number}: {} was selected {selected} times without progress; it may go back \
                         from {may} on",
                        it.paths[0]
                    ));
                }
            }
            (MoveKind::Backtrack, _) => {
                return Err(format!("goal {number}: backtrack takes one path"));
            }
        }
        paths.sort_unstable();
        Ok((it.kind, paths))
    }

    /// The open path that was selected least, the first of equal ones.
    fn least_selected(&self, goal: usize) -> Vec<usize> {
        let paths = &self.quest.goals[goal].paths;
        self.open(goal).into_iter().min_by_key(|at| paths[*at].selected).into_iter().collect()
    }

    pub(super) fn decompose(&self, refused: Option<String>) -> Arc<DecomposeAsk> {
        let (goals, paths) = self.limits();
        Arc::new(DecomposeAsk { scene: Arc::clone(&self.scene), goals, paths, refused })
    }

    pub(super) fn steer(&self, refused: Option<String>) -> Arc<SteerAsk> {
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

    pub(super) fn step_ask(&self, goal: usize, path: usize) -> Arc<StepAsk> {
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

    pub(super) fn progress_ask(&self) -> Arc<ProgressAsk> {
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

    /// Moves came, or could not be had.
    pub(super) fn commit_steered(&mut self, tries: Vec<Try<Steering>>) {
        self.make_moves(tries, None);
    }

    fn make_moves(&mut self, tries: Vec<Try<Steering>>, drawn: Option<Vec<Move>>) {
        let Some(round) = self.quest.turn.as_ref().map(|turn| turn.round) else { return };
        let by_lot = drawn.is_some();
        let steering = match tries.last() {
            Some(Try::Applied(steering) | Try::Refused { answer: steering, .. }) => {
                steering.clone()
            }
            _ => Steering { finished: false, moves: drawn.unwrap_or_default() },
        };
        let finished = steering.finished && !self.quest.candidates.is_empty();
        let active = if finished { Vec::new() } else { self.active() };
        let (_, must) = self.patience();
        let mut moves: Vec<(usize, MoveKind, Vec<usize>, By)> = Vec::new();
        for goal in active {
            let paths = &self.quest.goals[goal].paths;
            let forced: Vec<usize> =
                self.open(goal).into_iter().filter(|at| paths[*at].selected >= must).collect();
            moves.push(if !forced.is_empty() {
                (goal, MoveKind::Backtrack, forced, By::Forced)
            } else if by_lot {
                let it = steering.moves.iter().find(|it| it.goal == number(goal));
                let paths = it.iter().flat_map(|it| &it.paths).filter_map(|id| self.path_at(id));
                let kind = it.map_or(MoveKind::Exploit, |it| it.kind);
                (goal, kind, paths.map(|(_, path)| path).collect(), By::Random)
            } else {
                match self.admissible(goal, &steering) {
                    Ok((kind, paths)) => (goal, kind, paths, By::Role),
                    Err(_) => (goal, MoveKind::Exploit, self.least_selected(goal), By::Default),
                }
            });
        }
        let taken = moves.iter().map(|(goal, kind, paths, by)| Taken {
            goal: number(*goal),
            kind: *kind,
            paths: paths.iter().map(|path| self.path_id(*goal, *path)).collect(),
            by: *by,
        });
        let steered = Steered { round, tries, finished, taken: taken.collect() };
        self.ledger.append(SearchBody::Steered(Box::new(steered)));
        if finished {
            self.quest.turn = None;
            self.end = Some(End::Finished);
            return;
        }
        let mut steps = Vec::new();
        for (goal, kind, paths, _) in moves {
            self.tree.node_mut(self.quest.goals[goal].node).phase = Phase::Running;
            for path in paths {
                match kind {
                    MoveKind::Backtrack => self.go_back(goal, path),
                    MoveKind::Exploit | MoveKind::Explore => {
                        let it = &mut self.quest.goals[goal].paths[path];
                        it.selected += 1;
                        self.tree.node_mut(it.node).phase = Phase::Running;
                        steps.push((goal, path));
                    }
                }
            }
        }
        if let Some(turn) = &mut self.quest.turn {
            turn.waiting = steps.len();
            turn.ran = steps.iter().map(|step| (*step, false)).collect();
        }
        match steps.is_empty() {
            true => self.follow_ups.push_back(Task::Progress),
            false => {
                let step = |(goal, path)| Task::NextStep { goal, path };
                self.follow_ups.extend(steps.into_iter().map(step));
            }
        }
    }

    /// A path goes back to where it last made progress. Without any, or the second time, it is given up.
    fn go_back(&mut self, goal: usize, path: usize) {
        let it = &mut self.quest.goals[goal].paths[path];
        #[cfg(feature = "planted-faults")]
        if is_planted(PlantedFault::ReturnsForEver) {
            it.returned = false;
        }
        match it.mark.filter(|_| !it.returned) {
            None => self.close_path(goal, path, PrunedBy::Backtracked),
            Some(mark) => {
                (it.selected, it.returned) = (0, true);
                let tip = std::mem::replace(&mut it.tip, mark);
                let way = self.tree.up_from(tip);
                for ix in way.into_iter().take_while(|ix| *ix != mark) {
                    self.tree.node_mut(ix).prune(PrunedBy::Backtracked);
                }
            }
        }
    }

    fn close_path(&mut self, goal: usize, path: usize, why: PrunedBy) {
        let it = &mut self.quest.goals[goal].paths[path];
        it.open = false;
        self.tree.node_mut(it.node).prune(why);
    }

    /// The next step of a path was chosen, or could not be had.
    pub(super) fn commit_next_step(
        &mut self,
        (goal, path): (usize, usize),
        result: Result<Option<Action>, Failure>,
    ) {
        let tip = self.quest.goals[goal].paths[path].tip;
        let (action, failure) = match result {
            Ok(action) => (action.map(Arc::new), None),
            Err(failure) => (None, Some(failure)),
        };
        let way = self.way_to(tip);
        let is_sibling = |action: &Action| {
            let mut children = self.tree.children(tip);
            children.any(|it| self.tree.node(it).action().is_some_and(|it| it.call == action.call))
        };
        let refused = action.as_ref().and_then(|action| match &action.call {
            Call::Look(_) if is_sibling(action) => Some(RefusedAction::EqualSibling),
            Call::Look(_) => self.refused(&way, action),
            _ => Some(RefusedAction::NoLook),
        });
        let failed = failure.is_some();
        let at = Place::node(self.tree.id(tip));
        let acted = Acted { at, action: action.clone(), failure, refused };
        self.ledger.append(SearchBody::Stepped(Box::new(acted)));
        match action {
            Some(action) if refused.is_none() => {
                let node = self.tree.add(tip, action);
                self.quest.goals[goal].paths[path].tip = node;
                self.follow_ups.push_back(Task::Stride { node, goal, path });
            }
            None if !failed => {
                self.close_path(goal, path, PrunedBy::Blocked);
                self.end_step();
            }
            _ => self.end_step(),
        }
    }

    /// The step of a path was made. A look that failed leads nowhere.
    pub(super) fn commit_stride(
        &mut self,
        (node, goal, path): (Ix, usize, usize),
        entry: u64,
        failed: bool,
    ) {
        if failed {
            self.tree.node_mut(node).phase = Phase::Failed;
            let parent = self.tree.parent(node).unwrap_or(Ix::ROOT);
            self.quest.goals[goal].paths[path].tip = parent;
            return self.end_step();
        }
        self.tree.node_mut(node).phase = Phase::Scored;
        let Some(look) = self.looked(entry) else { return };
        let (entity, cited) = (look.entity.clone(), look.belief.evidence.clone());
        let context = look.context.as_ref().and_then(|it| self.ledger.context(&it.digest));
        let shown: Vec<Finding> = context.map(|it| it.findings.clone()).unwrap_or_default();
        self.quest.found.extend(shown.into_iter().map(|it| (it.id().clone(), it)));
        self.quest.latest.insert(entity, (node, entry));
        let mut fresh = false;
        for id in cited {
            fresh |= self.quest.cited.insert(id);
        }
        if let Some(turn) = &mut self.quest.turn {
            turn.ran.insert((goal, path), fresh);
        }
        self.end_step();
    }

    fn end_step(&mut self) {
        let Some(turn) = &mut self.quest.turn else { return };
        turn.waiting -= 1;
        if turn.waiting == 0 {
            self.follow_ups.push_back(Task::Progress);
        }
    }

    /// A round was gone over, or nobody did.
    pub(super) fn commit_progress(&mut self, failures: Vec<Failure>, progress: Option<Progress>) {
        let Some(turn) = self.quest.turn.take() else { return };
        let mut refused = Vec::new();
        if let Some(progress) = &progress {
            let mut refuse =
                |what: &str, at: usize, why| refused.push((format!("{what} {at}"), why));
            for (at, change) in (1..).zip(&progress.facts) {
                if let Err(why) = self.take_fact(at, change) {
                    refuse("fact", at, why);
                }
            }
            self.quest.candidates.clear();
            for (at, candidate) in (1..).zip(&progress.candidates) {
                match self.quest.latest.contains_key(&candidate.entity) {
                    true => self.quest.candidates.push(candidate.clone()),
                    false => refuse("candidate", at, RefusedPart::UnknownEntity),
                }
            }
            for (at, report) in (1..).zip(&progress.paths) {
                let there = self.path_at(&report.path).filter(|path| turn.ran.contains_key(path));
                let Some((goal, path)) = there else {
                    refuse("path", at, RefusedPart::UnknownPath);
                    continue;
                };
                let it = &mut self.quest.goals[goal].paths[path];
                it.summary.clone_from(&report.summary);
                let mut memory = report.memory.clone();
                memory.evidence.retain(|id| self.quest.found.contains_key(id));
                self.quest.memory.insert(it.tip, memory);
            }
            for (at, told) in (1..).zip(&progress.goals) {
                if let Err(why) = self.take_ratio(&turn, told) {
                    refuse("goal", at, why);
                }
            }
            for (at, change) in (1..).zip(&progress.plan) {
                if let Err(why) = self.take_change(change) {
                    refuse("plan", at, why);
                }
            }
        }
        let round = turn.round;
        let progressed = Progressed { round, failures, progress, refused };
        self.ledger.append(SearchBody::Progressed(Box::new(progressed)));
    }

    fn take_fact(
        &mut self,
        at: usize,
        change: &crate::seek::FactChange,
    ) -> Result<(), RefusedPart> {
        if at > MAX_FACTS {
            return Err(RefusedPart::TooMany);
        }
        let finding = self.quest.found.get(&change.finding).ok_or(RefusedPart::UnknownFinding)?;
        let content = serde_json::to_value(finding.content()).unwrap_or_default();
        if !change.values.iter().all(|value| !value.is_empty() && holds(&content, value)) {
            return Err(RefusedPart::ValueNotInFinding);
        }
        let number = u32::try_from(self.quest.facts.len() + 1).unwrap_or(u32::MAX);
        if let Some(before) = change.revises {
            let fact = (before as usize).checked_sub(1).and_then(|at| self.quest.facts.get_mut(at));
            let fact = fact.filter(|fact| fact.revised_by.is_none());
            fact.ok_or(RefusedPart::UnknownFact)?.revised_by = Some(number);
        }
        self.quest.facts.push(Fact {
            number,
            text: change.text.clone(),
            finding: change.finding.clone(),
            values: change.values.clone(),
            revised_by: None,
        });
        Ok(())
    }

    /// How far a goal is. It is progress for a path that brought new evidence if the ratio rose far enough.
    fn take_ratio(
        &mut self,
        turn: &Turn,
        told: &crate::seek::GoalProgress,
    ) -> Result<(), RefusedPart> {
        let at = (told.goal as usize).checked_sub(1).ok_or(RefusedPart::UnknownGoal)?;
        let goal = self.quest.goals.get_mut(at).filter(|goal| !goal.complete);
        let goal = goal.ok_or(RefusedPart::UnknownGoal)?;
        if told.ratio > 1000 {
            return Err(RefusedPart::Ratio);
        }
        let rose = told.ratio >= goal.ratio.saturating_add(RISE);
        goal.ratio = goal.ratio.max(told.ratio);
        goal.summary.clone_from(&told.summary);
        self.tree.node_mut(goal.node).set_score(goal.ratio);
        for ((_, path), fresh) in turn.ran.iter().filter(|((of, _), _)| *of == at) {
            #[cfg(feature = "planted-faults")]
            let fresh = &(*fresh || is_planted(PlantedFault::RatioAlone));
            if rose && *fresh {
                let it = &mut goal.paths[*path];
                (it.mark, it.returned, it.selected) = (Some(it.tip), false, 0);
            }
        }
        if told.ratio >= self.config.stop().accept {
            goal.complete = true;
            self.tree.node_mut(goal.node).phase = Phase::Solution;
        }
        Ok(())
    }

    fn take_change(&mut self, change: &PlanChange) -> Result<(), RefusedPart> {
        let (goal, approach) = match change {
            PlanChange::Rewrite { path, approach } => {
                let (goal, _) = self.path_at(path).ok_or(RefusedPart::UnknownPath)?;
                (goal, approach)
            }
            PlanChange::Add { goal, approach } => {
                let at = (*goal as usize).checked_sub(1).ok_or(RefusedPart::UnknownGoal)?;
                (at, approach)
            }
        };
        if self.quest.goals.get(goal).is_none_or(|goal| goal.complete) {
            return Err(RefusedPart::UnknownGoal);
        }
        if !self.known.is_known(&approach.start) {
            return Err(RefusedPart::UnknownEntity);
        }
        let full = self.open(goal).len() >= self.limits().1 as usize;
        match change {
            PlanChange::Rewrite { path, .. } => {
                let (_, at) = self.path_at(path).ok_or(RefusedPart::UnknownPath)?;
                let it = &self.quest.goals[goal].paths[at];
                if it.rewritten {
                    return Err(RefusedPart::Rewritten);
                }
                if full && !it.open {
                    return Err(RefusedPart::Full);
                }
                if it.open {
                    self.close_path(goal, at, PrunedBy::Rewritten);
                }
                self.quest.goals[goal].paths[at].rewritten = true;
            }
            PlanChange::Add { .. } if full => return Err(RefusedPart::Full),
            PlanChange::Add { .. } => {}
        }
        self.add_path(goal, approach.clone());
        Ok(())
    }

    /// The entries that the candidate answers rest on: the looks on the ways to them, and the last one at
    /// each entity there; and how far the goal is that is least far.
    pub(super) fn answer(&self) -> Option<(Place, u16, Vec<u64>)> {
        let mut looks: BTreeSet<u64> = BTreeSet::new();
        let mut best = None;
        for candidate in &self.quest.candidates {
            let Some((node, entry)) = self.quest.latest.get(&candidate.entity) else { continue };
            best = best.or(Some(*node));
            looks.insert(*entry);
            for done in self.way_to(*node) {
                let last = self.quest.latest.get(done.action.entity()).map(|(_, entry)| *entry);
                looks.extend(done.entry);
                looks.extend(last);
            }
        }
        let ratio = self.quest.goals.iter().map(|goal| goal.ratio).min()?;
        Some((Place::node(self.tree.id(best?)), ratio, looks.into_iter().collect()))
    }

    /// The last look at each entity, oldest first.
    pub(super) fn looks_of_paths(&self) -> Vec<u64> {
        let mut looks: Vec<u64> = self.quest.latest.values().map(|(_, entry)| *entry).collect();
        looks.sort_unstable();
        looks
    }
}

fn number(goal: usize) -> u32 {
    u32::try_from(goal + 1).unwrap_or(u32::MAX)
}

/// Whether a value stands in a finding to the letter: in a text, or as a number.
fn holds(content: &serde_json::Value, value: &str) -> bool {
    match content {
        serde_json::Value::String(text) => text.contains(value),
        serde_json::Value::Number(number) => number.to_string() == value,
        serde_json::Value::Array(parts) => parts.iter().any(|part| holds(part, value)),
        serde_json::Value::Object(parts) => parts.values().any(|part| holds(part, value)),
        serde_json::Value::Bool(_) | serde_json::Value::Null => false,
    }
}
