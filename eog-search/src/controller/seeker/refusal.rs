//! Why goals cannot be applied, and why moves cannot be made.

use std::collections::BTreeSet;

use super::super::SearchController;
use super::number;
use crate::seek::{Approach, Goal, MoveKind, Steering};

impl SearchController {
    /// Why goals cannot be applied.
    pub(in crate::controller) fn goals_refusal(&self, goals: &[Goal]) -> Option<String> {
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
    pub(in crate::controller) fn steering_refusal(&self, steering: &Steering) -> Option<String> {
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
    pub(super) fn admissible(
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
}
