//! What controllers came to on the same incidents.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use eog::{Confidence, EntityId};
use serde::Serialize;

use super::tables::judge;
use super::{Condition, Settings};
use crate::repeated::{Share, wilson};
use crate::table::{csv_text, joined, score};
use crate::trajectory::{Counts, Mode};

/// One investigation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseResult {
    /// The data set of several that the incident belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// The incident.
    pub incident: String,
    /// Whether nothing was wrong.
    pub is_normal: bool,
    /// The controller that investigated, and its condition.
    pub condition: Condition,
    /// Which run: 0 with rules that do not err, others with other errors each.
    pub run: u64,
    /// The entities it named, however sure: the causes that it found, else its best guess.
    pub chosen: BTreeSet<EntityId>,
    /// Whether every cause is among them.
    pub is_chosen: bool,
    /// The causes that it found: origins that explain an alert. The next three are about these.
    pub named: BTreeSet<EntityId>,
    /// Correct of the named.
    pub precision: f64,
    /// Found of the causes.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
    /// How sure it was.
    pub confidence: Confidence,
    /// How often the judge was asked.
    pub questions: u64,
    /// How many characters of packets the judge was shown, as JSON.
    pub characters: u64,
    /// Failures by MAST, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<Counts>,
}

/// Means over all runs under a condition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Share of the runs in which every cause is named, as a finding or as the best guess, with its interval over
    /// incidents.
    pub named: Share,
    /// The same, as findings alone.
    pub found: Share,
    /// The same, as confirmed findings.
    pub confirmed: Share,
    /// Share of the runs on incidents and normal times that are confirmed and find something that is no cause.
    pub wrongly: f64,
    /// Share of the incidents in which something is named that is no cause.
    pub besides: f64,
    /// F1 of the named causes.
    pub f1: f64,
    /// Share of the normal times in which nothing is named; nothing without a normal time.
    pub quiet: Option<f64>,
    /// Questions to the judge.
    pub questions: f64,
    /// What the judge was shown, in tokens of four characters.
    pub tokens: f64,
}

/// All controllers on a set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// How many incidents there are, used or not.
    pub all: usize,
    /// Share of errors of the judge that errs.
    pub wrong: f64,
    /// How often each incident was investigated with it.
    pub runs: u64,
    /// The seed of its errors.
    pub seed: u64,
    /// Every investigation.
    pub results: Vec<CaseResult>,
    /// What could not be used, with the reason.
    pub left_out: Vec<String>,
}

impl CaseResult {
    fn is_confirmed(&self) -> bool {
        self.confidence == Confidence::Confirmed
    }
}

impl Comparison {
    pub(super) fn new(
        settings: &Settings,
        all: usize,
        results: Vec<CaseResult>,
        left_out: Vec<String>,
    ) -> Self {
        let Settings { wrong, runs, seed, .. } = *settings;
        Self { all, wrong, runs, seed, results, left_out }
    }

    /// Means under a condition, if it was compared.
    pub fn judged(&self, condition: &Condition) -> Option<Judged> {
        let of = |it: &&CaseResult| it.condition == *condition;
        let all: Vec<&CaseResult> = self.results.iter().filter(of).collect();
        let (normal, incidents): (Vec<&CaseResult>, Vec<_>) =
            all.iter().copied().partition(|it| it.is_normal);
        let mean = |of: &[&CaseResult], value: fn(&CaseResult) -> f64| {
            // A sum of nothing is -0.
            (of.iter().map(|it| value(it)).sum::<f64>() + 0.0) / of.len().max(1) as f64
        };
        let share = |value: bool| f64::from(u8::from(value));
        // A share of the runs of each incident, then over incidents.
        let over_incidents = |is_met: fn(&CaseResult) -> bool| {
            let mut met: BTreeMap<(Option<&str>, &str), Vec<f64>> = BTreeMap::new();
            for it in &incidents {
                let incident = (it.set.as_deref(), it.incident.as_str());
                met.entry(incident).or_default().push(share(is_met(it)));
            }
            wilson(met.values().map(|runs| runs.iter().sum::<f64>() / runs.len() as f64))
        };
        (!all.is_empty()).then(|| Judged {
            named: over_incidents(|it| it.is_chosen),
            found: over_incidents(|it| it.recall >= 1.0),
            confirmed: over_incidents(|it| it.recall >= 1.0 && it.is_confirmed()),
            wrongly: mean(&all, |it| f64::from(u8::from(it.is_confirmed() && it.precision < 1.0))),
            besides: mean(&incidents, |it| {
                f64::from(u8::from(!it.named.is_empty() && it.precision < 1.0))
            }),
            f1: mean(&incidents, |it| it.f1),
            quiet: (!normal.is_empty())
                .then(|| mean(&normal, |it| f64::from(u8::from(it.named.is_empty())))),
            questions: mean(&all, |it| it.questions as f64),
            tokens: mean(&all, |it| it.characters as f64 / 4.0),
        })
    }

    /// A line for each investigation.
    pub fn to_csv(&self) -> String {
        let mut header = vec![
            "set",
            "incident",
            "normal",
            "controller",
            "errors",
            "most",
            "run",
            "named",
            "is_named",
            "found",
            "confidence",
            "precision",
            "recall",
            "f1",
            "questions",
            "characters",
        ];
        let counts = self.results.iter().any(|it| it.failures.is_some());
        if counts {
            header.extend(Mode::ALL.map(Mode::column));
        }
        let rows = self.results.iter().map(|it| {
            let mut row = vec![
                it.set.clone().unwrap_or_default(),
                it.incident.clone(),
                it.is_normal.to_string(),
                it.condition.contender.to_string(),
                score(it.condition.wrong),
                it.condition.most.map_or(String::new(), |most| most.to_string()),
                it.run.to_string(),
                joined(&it.chosen),
                it.is_chosen.to_string(),
                joined(&it.named),
                it.confidence.to_string(),
                score(it.precision),
                score(it.recall),
                score(it.f1),
                it.questions.to_string(),
                it.characters.to_string(),
            ];
            match &it.failures {
                Some(failures) => row.extend(failures.cells()),
                None if counts => row.extend(Mode::ALL.map(|_| String::new())),
                None => {}
            }
            row
        });
        csv_text(&header, rows)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} No language model is involved.", self.counts())?;
        writeln!(f, "In brackets: 95 % intervals over incidents (Wilson 1927).")?;
        writeln!(f, "named: every cause is named, as a finding or else as the best guess;")?;
        writeln!(f, "found: every cause is named as an origin that explains an alert;")?;
        writeln!(
            f,
            "confirmed: the same, and the result is confirmed; wrongly: a confirmed result"
        )?;
        writeln!(
            f,
            "with something that is no cause; besides: something is found that is no cause;"
        )?;
        writeln!(f, "F1: of what is found; quiet: nothing is found in a normal time;")?;
        writeln!(f, "questions: to the judge, mean;")?;
        writeln!(f, "tokens: packets shown to the judge, characters of their JSON / 4, mean.")?;
        for reason in &self.left_out {
            writeln!(f, "left out: {reason}")?;
        }
        let sets: BTreeSet<&str> = self.results.iter().filter_map(|it| it.set.as_deref()).collect();
        if sets.is_empty() {
            return self.tables(f);
        }
        let part = |set: &str| {
            let results = self.results.iter().filter(|it| it.set.as_deref() == Some(set));
            Self { results: results.cloned().collect(), ..self.clone() }
        };
        let parts: Vec<(&str, Self)> = sets.into_iter().map(|set| (set, part(set))).collect();
        for wrong in self.rates() {
            f.write_str(&super::tables::across(&parts, wrong))?;
        }
        for (set, part) in &parts {
            writeln!(f, "\n## {set}\n\n{}", part.counts())?;
            part.tables(f)?;
        }
        Ok(())
    }
}

impl Comparison {
    /// The shares of errors of the two judges; one where neither errs.
    fn rates(&self) -> impl Iterator<Item = f64> + Clone {
        [Some(0.0), (self.wrong > 0.0).then_some(self.wrong)].into_iter().flatten()
    }

    /// How many incidents there are, without normal times, and how many normal times.
    pub(super) fn sizes(&self) -> (usize, usize) {
        let of = |it: &CaseResult| (it.set.clone(), it.incident.clone(), it.is_normal);
        let names: BTreeSet<_> = self.results.iter().map(of).collect();
        let normal = names.iter().filter(|(.., is_normal)| *is_normal).count();
        (names.len() - normal, normal)
    }

    fn counts(&self) -> String {
        let (incidents, normal) = self.sizes();
        format!("Incidents: {incidents}. Normal times: {normal}.")
    }

    fn tables(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for wrong in self.rates() {
            let Some(table) = self.table(wrong) else { continue };
            let (runs, seed) = (self.runs, self.seed);
            let drawn =
                if wrong > 0.0 { format!(": runs {runs}, seed {seed}") } else { String::new() };
            write!(f, "\nJudged by {}{drawn}\n\n{table}", judge(wrong))?;
        }
        let with_judges = |table: &dyn Fn(f64) -> Option<String>| {
            self.rates().filter_map(table).collect::<Vec<String>>()
        };
        let tables = self.by_errors().into_iter();
        let tables = tables.chain(with_judges(&|wrong| self.by_calls(wrong)));
        let tables = tables.chain(with_judges(&|wrong| self.ablations(wrong)));
        let tables = tables.chain(with_judges(&|wrong| self.failures_table(wrong)));
        tables.into_iter().try_for_each(|table| f.write_str(&table))
    }
}
