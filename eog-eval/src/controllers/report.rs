//! What the comparison came to: tables in the form of the paper's, and a line for each run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use eog::EntityId;
use eog_simulate::truth::TruthGraph;
use serde::Serialize;

use super::Settings;
use super::contender::{Condition, against_loops, messages, orders, second_looks, told};
use super::order::Exploration;
use super::scene::Outcome;
use crate::itbench::{OutputScore, evaluate_runs};
use crate::repeated::{Repeated, Share, wilson};
use crate::table::{csv_text, joined, score as number};

/// One run of one controller on one incident.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseResult {
    /// Number of the condition in [`ControllersReport::conditions`].
    pub condition: usize,
    /// The incident, from 0.
    pub scenario: usize,
    /// The run, from 0.
    pub run: usize,
    /// The true causes.
    pub causes: BTreeSet<EntityId>,
    /// What was named.
    pub named: BTreeSet<EntityId>,
    /// Correct of the named; 0 when none is named.
    pub precision: f64,
    /// Named of the true causes.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
    /// How often the judge was asked.
    pub calls: u64,
}

impl CaseResult {
    pub(super) fn new(
        condition: usize,
        scenario: usize,
        run: usize,
        truth: &TruthGraph,
        outcome: Outcome,
    ) -> Self {
        let Outcome { named, calls } = outcome;
        let causes = truth.linked_origins();
        let right = named.intersection(&causes).count() as f64;
        let of = |all: usize| if all == 0 { 0.0 } else { right / all as f64 };
        let (precision, recall) = (of(named.len()), of(causes.len()));
        let f1 = of(named.len() + causes.len()) * 2.0;
        Self { condition, scenario, run, causes, named, precision, recall, f1, calls }
    }

    fn score(&self) -> OutputScore {
        let Self { precision, recall, f1, .. } = *self;
        OutputScore {
            predicted: self.named.len(),
            precision,
            recall,
            f1,
            at: Vec::new(),
            propagation: None,
            leaderboard: if recall >= 1.0 { precision } else { 0.0 },
        }
    }
}

/// What all runs under one condition came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The condition.
    pub condition: Condition,
    /// At least one of k runs names every cause.
    pub pass: Share,
    /// More than half of k runs do.
    pub majority: Share,
    /// The difference.
    pub reliability_gap: Share,
    /// All k runs do.
    pub always: Share,
    /// Mean over incidents of the best F1.
    pub pass_f1: Share,
    /// Mean over incidents of the median F1.
    pub majority_f1: Share,
    /// Mean number of questions to the judge.
    pub calls: f64,
    /// The share of runs that name every cause, with its interval over incidents.
    pub right: Share,
    /// The share of runs that name more entities than there are causes.
    pub several: f64,
}

/// All conditions and all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControllersReport {
    /// What was asked for.
    pub settings: Settings,
    /// What was compared.
    pub conditions: Vec<Condition>,
    /// What each condition came to, in their order.
    pub summaries: Vec<Summary>,
    /// Every run, by condition, incident and run.
    pub cases: Vec<CaseResult>,
}

impl ControllersReport {
    /// Sums up. The cases are sorted by condition.
    pub(super) fn new(
        settings: Settings,
        conditions: Vec<Condition>,
        cases: Vec<CaseResult>,
    ) -> Self {
        let of = |number: usize| cases.iter().filter(move |case| case.condition == number);
        let summaries = conditions
            .iter()
            .enumerate()
            .filter_map(|(number, condition)| summary(*condition, settings.runs, of(number)))
            .collect();
        Self { settings, conditions, summaries, cases }
    }

    /// What a condition came to, if it was compared.
    pub fn summary(&self, condition: &Condition) -> Option<&Summary> {
        self.summaries.iter().find(|summary| summary.condition == *condition)
    }

    /// The share of runs of a condition's controller that end with the same answer whatever the
    /// order.
    pub fn alike_in_all_orders(&self, condition: &Condition) -> f64 {
        let mut answers: BTreeMap<(usize, usize), BTreeSet<&BTreeSet<EntityId>>> = BTreeMap::new();
        for case in &self.cases {
            let of = &self.conditions[case.condition];
            let is_alike = (of.wrong, of.stubborn) == (condition.wrong, condition.stubborn);
            if of.contender == condition.contender && is_alike {
                answers.entry((case.scenario, case.run)).or_default().insert(&case.named);
            }
        }
        let alike = answers.values().filter(|answers| answers.len() == 1).count();
        alike as f64 / answers.len().max(1) as f64
    }

    /// A line for each run.
    pub fn to_csv(&self) -> String {
        let header = [
            "controller",
            "order",
            "wrong",
            "stubborn",
            "scenario",
            "run",
            "causes",
            "named",
            "precision",
            "recall",
            "f1",
            "calls",
        ];
        let rows = self.cases.iter().map(|case| {
            let condition = &self.conditions[case.condition];
            vec![
                condition.contender.to_string(),
                condition.order.to_string(),
                number(condition.wrong),
                (self.settings.rates.stubborn || condition.stubborn).to_string(),
                case.scenario.to_string(),
                case.run.to_string(),
                joined(&case.causes),
                joined(&case.named),
                number(case.precision),
                number(case.recall),
                number(case.f1),
                case.calls.to_string(),
            ]
        });
        csv_text(&header, rows)
    }
}

fn summary<'c>(
    condition: Condition,
    k: usize,
    cases: impl Iterator<Item = &'c CaseResult>,
) -> Option<Summary> {
    let mut runs: BTreeMap<String, Vec<Option<OutputScore>>> = BTreeMap::new();
    let (mut calls, mut count, mut several) = (0, 0_u64, 0_u64);
    let mut right: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for case in cases {
        right.entry(case.scenario).or_default().push(f64::from(u8::from(case.recall >= 1.0)));
        several += u64::from(case.named.len() > case.causes.len());
        runs.entry(case.scenario.to_string()).or_default().push(Some(case.score()));
        calls += case.calls;
        count += 1;
    }
    let report = evaluate_runs(&runs, k)?;
    let Repeated { pass, majority, reliability_gap, always, .. } = report.repeated;
    Some(Summary {
        condition,
        pass,
        majority,
        reliability_gap,
        always,
        pass_f1: report.pass_f1,
        majority_f1: report.majority_f1,
        calls: calls as f64 / count as f64,
        right: wilson(right.values().map(|runs| runs.iter().sum::<f64>() / runs.len() as f64)),
        several: several as f64 / count as f64,
    })
}

impl fmt::Display for ControllersReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { scenarios, runs, entities, origins, rates, seed } = &self.settings;
        write!(
            f,
            "SIMULATED: generated incidents, and a judge that knows the truth and makes random \
             errors.\nNo language model is involved. The loops are models of loops.\n\
             Incidents: {scenarios}; in each, entities: {entities}, causes: {origins}, runs: {runs}. \
             Seed: {seed}.\n\
             The judge is wrong in {:.1} % of its answers when no neighbour has told it anything; a \
             correct\nmessage multiplies that by {}, a wrong one divides it (from {} to {}).\n{}",
            100.0 * rates.wrong,
            rates.shrink,
            rates.floor,
            rates.ceiling,
            if rates.stubborn {
                "It repeats its error on an entity until its error rate has fallen far enough.\n"
            } else {
                ""
            },
        )?;
        let wrong = rates.wrong;
        let paper = Condition::all(wrong);
        if self.conditions.iter().any(|condition| !paper.contains(condition)) {
            return f.write_str(&self.to_markdown());
        }
        writeln!(f, "95 % intervals over incidents are in brackets.")?;
        writeln!(f, "\nEoG, tree searches and a linear loop (as in table 2)")?;
        self.rows(f, &against_loops(wrong))?;
        writeln!(f, "\nA loop that is given the algorithm and makes slips (as in table 3)")?;
        self.rows(f, &told(wrong))?;
        self.messages(f)?;
        self.second_looks(f)?;
        self.orders(f)
    }
}

impl ControllersReport {
    fn rows(&self, f: &mut fmt::Formatter<'_>, conditions: &[Condition]) -> fmt::Result {
        let k = self.settings.runs;
        writeln!(
            f,
            "  {:<38}{:<24}{:<24}{:>5}{:>8}{:>9}{:>11}{:>7}",
            "",
            format!("Pass@{k}"),
            format!("Majority@{k}"),
            "gap",
            "always",
            "F1 best",
            "F1 median",
            "calls"
        )?;
        for summary in conditions.iter().filter_map(|condition| self.summary(condition)) {
            let Summary { condition, pass, majority, reliability_gap, always, .. } = summary;
            writeln!(
                f,
                "  {:<38}{:<24}{:<24}{:>5.3}{:>8.3}{:>9.3}{:>11.3}{:>7.1}",
                condition.contender,
                pass.to_string(),
                majority.to_string(),
                // A sum of nothing is -0.
                reliability_gap.value + 0.0,
                always.value,
                summary.pass_f1.value,
                summary.majority_f1.value,
                summary.calls
            )?;
        }
        Ok(())
    }

    fn messages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let k = self.settings.runs;
        writeln!(f, "\nMessages off and on, Majority@{k} (as in table 4)")?;
        let columns = |name| format!("{:>14}{:>8}{:>10}{:>7}", name, "on", "gain", "calls");
        let (ours, papers) = (columns("default(): off"), columns("paper(): off"));
        writeln!(f, "  {:<7}{ours} {papers} {:>12}{:>7}", "errors", "linear loop", "calls")?;
        for row in messages(self.settings.rates.wrong) {
            write!(f, "  {:<7}", number(row.wrong))?;
            for pair in &row.profiles {
                let [Some(off), Some(on)] = pair.each_ref().map(|one| self.summary(one)) else {
                    continue;
                };
                let (without, with) = (off.majority.value, on.majority.value);
                let gain = if without > 0.0 {
                    format!("{:+.1} %", 100.0 * (with / without - 1.0))
                } else {
                    "–".to_owned()
                };
                write!(f, "{without:>14.3}{with:>8.3}{gain:>10}{:>7.1} ", on.calls)?;
            }
            if let Some(linear) = self.summary(&row.linear) {
                write!(f, "{:>12.3}{:>7.1}", linear.majority.value, linear.calls)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn second_looks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nRuns that name every cause, runs that name too many, and calls, by errors")?;
        writeln!(
            f,
            "  {:<18}{:>18}{:>9}{:>7}{:>18}{:>9}{:>7}",
            "errors", "default(): right", "several", "calls", "paper(): right", "several", "calls"
        )?;
        for pair in second_looks(self.settings.rates.wrong) {
            let [ours, papers] = pair.each_ref().map(|one| self.summary(one));
            let (Some(ours), Some(papers)) = (ours, papers) else { continue };
            let [condition, _] = pair;
            let stubborn = if condition.stubborn { ", stubborn" } else { "" };
            write!(f, "  {:<18}", format!("{}{stubborn}", number(condition.wrong)))?;
            for Summary { right, several, calls, .. } in [ours, papers] {
                write!(f, "{:>18.3}{several:>9.3}{calls:>7.1}", right.value)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn orders(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let k = self.settings.runs;
        writeln!(f, "\nOrder of exploration, Majority@{k} (as in figure 2(c))")?;
        write!(f, "  {:<20}", "")?;
        for order in Exploration::ALL {
            write!(f, "{order:>12}")?;
        }
        writeln!(f, "   same answer in all")?;
        for row in orders(self.settings.rates.wrong).chunks(Exploration::ALL.len()) {
            let Some(first) = row.first() else { continue };
            write!(f, "  {:<20}", first.contender)?;
            for summary in row.iter().filter_map(|condition| self.summary(condition)) {
                write!(f, "{:>12.3}", summary.majority.value)?;
            }
            writeln!(f, "{:>21.3}", self.alike_in_all_orders(first))?;
        }
        Ok(())
    }
}
