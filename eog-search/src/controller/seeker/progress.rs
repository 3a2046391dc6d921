//! The outcome of a round: facts, candidate answers, memory, ratios, changes of the plan.

use eog_core::contract::Failure;

use super::super::SearchController;
use super::Turn;
use crate::body::{Progressed, SearchBody};
#[cfg(feature = "planted-faults")]
use crate::planted::{PlantedFault, is_planted};
use crate::seek::{Fact, FactChange, GoalProgress, PlanChange, Progress, RefusedPart};
use crate::tree::{Phase, PrunedBy};

/// How far a ratio must rise above all before it to be progress.
const RISE: u16 = 50;
/// How many facts one answer may bring.
const MAX_FACTS: usize = 40;

impl SearchController {
    /// A round was assessed, or the role failed.
    pub(in crate::controller) fn commit_progress(
        &mut self,
        failures: Vec<Failure>,
        progress: Option<Progress>,
    ) {
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
            self.retire_candidates();
            for (at, candidate) in (1..).zip(&progress.candidates) {
                match self.quest.latest.contains_key(&candidate.entity) {
                    true => {
                        self.quest.former.retain(|former| *former != candidate.entity);
                        self.quest.candidates.push(candidate.clone());
                    }
                    false => refuse("candidate", at, RefusedPart::UnknownEntity),
                }
            }
            for (at, report) in (1..).zip(&progress.paths) {
                let there = self.path_at(&report.path).filter(|path| turn.ran.contains_key(path));
                let Some((goal, path)) = there else {
                    refuse("path", at, RefusedPart::UnknownPath);
                    continue;
                };
                #[cfg(feature = "planted-faults")]
                let path = if is_planted(PlantedFault::RemembersElsewhere) { 0 } else { path };
                let it = &mut self.quest.goals[goal].paths[path];
                it.summary.clone_from(&report.summary);
                let mut memory = report.memory.clone();
                memory.evidence.retain(|id| self.quest.found.contains_key(id));
                self.quest.memory.insert(it.tip, memory);
            }
            for (at, of_goal) in (1..).zip(&progress.goals) {
                if let Err(why) = self.take_ratio(&turn, of_goal) {
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

    /// The candidates so far are none any more, unless they are named again.
    fn retire_candidates(&mut self) {
        for candidate in std::mem::take(&mut self.quest.candidates).into_iter().rev() {
            self.quest.former.insert(0, candidate.entity);
        }
    }

    fn take_fact(&mut self, at: usize, change: &FactChange) -> Result<(), RefusedPart> {
        if at > MAX_FACTS {
            return Err(RefusedPart::TooMany);
        }
        let finding = self.quest.found.get(&change.finding).ok_or(RefusedPart::UnknownFinding)?;
        let content = serde_json::to_value(finding.content()).unwrap_or_default();
        let is_held = |value: &String| !value.is_empty() && holds(&content, value);
        #[cfg(feature = "planted-faults")]
        let is_held = |value: &String| is_planted(PlantedFault::TakesAnyValue) || is_held(value);
        if !change.values.iter().all(is_held) {
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
    fn take_ratio(&mut self, turn: &Turn, progress: &GoalProgress) -> Result<(), RefusedPart> {
        let at = (progress.goal as usize).checked_sub(1).ok_or(RefusedPart::UnknownGoal)?;
        let goal = self.quest.goals.get_mut(at).filter(|goal| !goal.complete);
        let goal = goal.ok_or(RefusedPart::UnknownGoal)?;
        if progress.ratio > 1000 {
            return Err(RefusedPart::Ratio);
        }
        let rose = progress.ratio >= goal.ratio.saturating_add(RISE);
        goal.ratio = goal.ratio.max(progress.ratio);
        goal.summary.clone_from(&progress.summary);
        self.tree.node_mut(goal.node).set_score(goal.ratio);
        for ((_, path), fresh) in turn.ran.iter().filter(|((of, _), _)| *of == at) {
            #[cfg(feature = "planted-faults")]
            let fresh = &(*fresh || is_planted(PlantedFault::RatioAlone));
            if rose && *fresh {
                let it = &mut goal.paths[*path];
                (it.mark, it.returned, it.selected) = (Some(it.tip), false, 0);
            }
        }
        if progress.ratio >= self.config.stop().accept {
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
