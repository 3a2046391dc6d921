//! Comparing runs: outcomes, ledgers, and what became of each entity.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use eog_core::ledger::Body;
use eog_core::{Conclusion, Diagnosis, EntityId, Entry, Label, Ledger, Machine, StopReason};

use super::report::{
    DelayDefect, DelaysAlone, Disagreement, FrontierCount, LastWord, Parting, PartingStep, Side,
    StressOutcome,
};
use super::setting::{Plan, Reorder, Setting};
use crate::engine::Finished;
use crate::travel;

impl StressOutcome {
    pub(super) fn of(conclusion: &Conclusion) -> Self {
        let groups = conclusion.frontier.iter();
        Self {
            frontier: groups.map(|group| group.origins.clone()).collect(),
            cover: conclusion.cover.clone(),
        }
    }
}

/// Outcomes, counted. The first is that of the baseline.
pub(super) struct Tally {
    counts: Vec<FrontierCount>,
}

impl Tally {
    pub(super) fn new<M: Machine>(baseline: &Finished<M>) -> Self {
        let mut tally = Self { counts: Vec::new() };
        tally.add(0, baseline);
        tally
    }

    /// Counts a run.
    pub(super) fn count<M: Machine>(&mut self, number: u32, ran: &Finished<M>) {
        let by_budget = matches!(ran.stop, StopReason::BudgetExhausted { .. });
        let count = self.add(number, ran);
        count.runs += 1;
        count.ended_by_budget += u32::from(by_budget);
    }

    fn add<M: Machine>(&mut self, number: u32, ran: &Finished<M>) -> &mut FrontierCount {
        let outcome = StressOutcome::of(&ran.conclusion());
        let evaluations = ran.spent().evaluations;
        let known = self.counts.iter().position(|count| count.outcome == outcome);
        let position = known.unwrap_or_else(|| {
            self.counts.push(FrontierCount {
                outcome,
                runs: 0,
                first_run: number,
                fewest_evaluations: evaluations,
                most_evaluations: evaluations,
                ended_by_budget: 0,
            });
            self.counts.len() - 1
        });
        let count = &mut self.counts[position];
        count.fewest_evaluations = count.fewest_evaluations.min(evaluations);
        count.most_evaluations = count.most_evaluations.max(evaluations);
        count
    }

    pub(super) fn runs(&self) -> u32 {
        self.counts.iter().map(|count| count.runs).sum()
    }

    pub(super) fn differing(&self) -> u32 {
        self.runs() - self.same_outcome()
    }

    pub(super) fn same_outcome(&self) -> u32 {
        self.with(StressOutcome::clone)
    }

    pub(super) fn same_frontier(&self) -> u32 {
        self.with(|outcome| outcome.frontier.clone())
    }

    pub(super) fn same_cover(&self) -> u32 {
        self.with(|outcome| {
            outcome.cover_groups().into_iter().map(<[EntityId]>::to_vec).collect::<Vec<_>>()
        })
    }

    /// Runs that have a part of the outcome in common with the baseline.
    fn with<T: PartialEq>(&self, part: impl Fn(&StressOutcome) -> T) -> u32 {
        let Some(baseline) = self.counts.first().map(|count| part(&count.outcome)) else {
            return 0;
        };
        let same = self.counts.iter().filter(|count| part(&count.outcome) == baseline);
        same.map(|count| count.runs).sum()
    }

    pub(super) fn into_counts(mut self) -> Vec<FrontierCount> {
        self.counts
            .sort_by_key(|count| (count.first_run > 0, Reverse(count.runs), count.first_run));
        self.counts
    }
}

impl DelaysAlone {
    /// Compares a run with the same one under other delays.
    pub(super) fn compare<M: Machine>(
        &mut self,
        run: u32,
        first: &Finished<M>,
        second: &Finished<M>,
    ) {
        self.runs += 1;
        let (first, second) = (first.ledger(), second.ledger());
        if first == second {
            self.identical += 1;
        } else {
            self.defects.push(DelayDefect { run, parting: parting(first, second) });
        }
    }

    /// Notes a run whose outcome is another without its delays.
    pub(super) fn hangs_on_delays(&mut self, run: u32) {
        self.runs += 1;
        self.defects.push(DelayDefect { run, parting: None });
    }
}

impl<B: Body> Side<B> {
    pub(super) fn new<M: Machine<Body = B, Settings: Reorder>>(
        plan: &Plan<M::Settings>,
        setting: Setting,
        ran: &Finished<M>,
    ) -> Self {
        let spent = ran.spent();
        let (_, case) = plan.input(&setting);
        Self {
            setting,
            seeds: case.seeds.into_iter().map(|seed| seed.entity).collect(),
            outcome: StressOutcome::of(&ran.conclusion()),
            stop: ran.stop,
            evaluations: spent.evaluations,
            failures: spent.failures,
            ledger: ran.ledger().clone(),
        }
    }
}

/// Where two ledgers part, if they do.
pub(super) fn parting<B: Body>(first: &Ledger<B>, second: &Ledger<B>) -> Option<Parting> {
    match travel::diff(first, second).parting {
        travel::Parting::Never => None,
        travel::Parting::At { first, second } => {
            Some(Parting { entry: first.seq, first: step(&first), second: step(&second) })
        }
        travel::Parting::OneGoesOn { shared, .. } => {
            let at = |ledger: &Ledger<B>| ledger.entry(shared).and_then(|entry| step(entry));
            Some(Parting { entry: shared, first: at(first), second: at(second) })
        }
    }
}

fn step<B: Body>(entry: &Entry<B>) -> Option<PartingStep> {
    let look = entry.body.look()?;
    Some(PartingStep {
        entity: look.entity.clone(),
        label: look.belief.label,
        summary: look.belief.summary.clone(),
        notified: look.notified.len(),
    })
}

/// Entities on which two runs disagree: those of one frontier alone first, then by name.
pub(super) fn disagreements<M: Machine>(
    first: &Finished<M>,
    second: &Finished<M>,
) -> Vec<Disagreement> {
    let (a, b) = (Ends::of(first), Ends::of(second));
    let all: BTreeSet<&EntityId> = a.labels.keys().chain(b.labels.keys()).collect();
    let mut found: Vec<Disagreement> = all
        .into_iter()
        .filter_map(|entity| {
            let in_one_frontier = a.frontier.contains(entity) != b.frontier.contains(entity);
            let other_label = a.labels.get(entity) != b.labels.get(entity);
            (in_one_frontier || other_label).then(|| Disagreement {
                entity: entity.clone(),
                in_one_frontier,
                baseline: a.last_word(entity),
                differing: b.last_word(entity),
            })
        })
        .collect();
    found.sort_by_key(|disagreement| !disagreement.in_one_frontier);
    found
}

/// How a run ended.
struct Ends<'r, M> {
    run: &'r Finished<M>,
    conclusion: Conclusion,
    frontier: BTreeSet<EntityId>,
    labels: BTreeMap<EntityId, Label>,
}

impl<'r, M: Machine> Ends<'r, M> {
    fn of(run: &'r Finished<M>) -> Self {
        let Diagnosis { conclusion, beliefs, .. } = run.diagnosis();
        let frontier = conclusion.frontier.iter().flat_map(|group| group.origins.clone()).collect();
        let labels = beliefs.into_iter().map(|(entity, belief)| (entity, belief.label)).collect();
        Self { run, conclusion, frontier, labels }
    }

    fn last_word(&self, entity: &EntityId) -> LastWord {
        let entries = self.run.ledger().entries().iter();
        let visits: Vec<u64> = entries
            .filter(|entry| entry.body.look().is_some_and(|look| look.entity == entity))
            .map(|entry| entry.seq)
            .collect();
        let inbox = self.run.machine.inbox(entity).into_iter();
        let read = inbox.filter(|(_, unread)| !unread);
        LastWord {
            label: self.labels.get(entity).copied(),
            entry: visits.last().copied(),
            visits: visits.len() as u64,
            received: read.map(|(message, _)| (message.sender, message.belief.label)).collect(),
            unread: self.conclusion.unread.contains(entity),
            damped: self.conclusion.damped.contains(entity),
        }
    }
}
