//! Moves: which are made, whatever was answered, and how a path goes back.

use super::super::SearchController;
use super::super::slot::Task;
use super::number;
use crate::body::{End, SearchBody, Steered};
#[cfg(feature = "planted-faults")]
use crate::planted::{PlantedFault, is_planted};
use crate::seek::{By, Move, MoveKind, Steering, Taken, Try};
use crate::tree::{Phase, PrunedBy};

impl SearchController {
    /// The open path that was selected least, the first of equal ones.
    fn least_selected(&self, goal: usize) -> Vec<usize> {
        let paths = &self.quest.goals[goal].paths;
        self.open(goal).into_iter().min_by_key(|at| paths[*at].selected).into_iter().collect()
    }

    /// Moves came, or the call failed.
    pub(in crate::controller) fn commit_steered(&mut self, tries: Vec<Try<Steering>>) {
        self.make_moves(tries, None);
    }

    pub(super) fn make_moves(&mut self, tries: Vec<Try<Steering>>, drawn: Option<Vec<Move>>) {
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

    pub(super) fn close_path(&mut self, goal: usize, path: usize, why: PrunedBy) {
        let it = &mut self.quest.goals[goal].paths[path];
        it.open = false;
        self.tree.node_mut(it.node).prune(why);
    }
}
