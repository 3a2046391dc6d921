//! What a suite scored: per case, per group, in all.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::score::{CaseScore, RankScore};
use crate::funnel::Funnel;
use crate::table::{csv_text, joined, score};

/// What a suite scored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteReport {
    /// Every case, in order.
    pub cases: Vec<CaseScore>,
    /// Every group by name, and all together under the empty name if there is more than one.
    pub groups: BTreeMap<String, GroupReport>,
}

/// What a group of cases scored.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupReport {
    /// How many incidents.
    pub incidents: usize,
    /// How many normal times.
    pub normal: usize,
    /// The share of normal times in which nothing is named; nothing without a normal time.
    pub specificity: Option<f64>,
    /// Means over the incidents.
    pub ours: Figures,
    /// The same for the trivial rankings, by name.
    pub baselines: BTreeMap<&'static str, Figures>,
    /// How far the investigation came with each cause.
    pub funnel: BTreeMap<Funnel, usize>,
    /// The longest investigation, in milliseconds.
    pub slowest_millis: f64,
}

/// Means over incidents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// A cause comes first.
    pub top1: f64,
    /// A cause is among the first three.
    pub top3: f64,
    /// A cause is among the first five.
    pub top5: f64,
    /// Precision at as many places as there are causes.
    pub precision: f64,
    /// Mean average precision.
    pub map: f64,
    /// F1 of the named causes as a set; nothing for a trivial ranking, which names no set.
    pub set_f1: Option<f64>,
}

impl Figures {
    fn mean(scores: &[RankScore]) -> Self {
        let mean = |of: fn(&RankScore) -> f64| {
            scores.iter().map(of).sum::<f64>() / scores.len().max(1) as f64
        };
        Self {
            top1: mean(|s| s.top1),
            top3: mean(|s| s.top3),
            top5: mean(|s| s.top5),
            precision: mean(|s| s.precision),
            map: mean(|s| s.average_precision),
            set_f1: None,
        }
    }
}

impl SuiteReport {
    /// Sums up scored cases.
    pub fn new(cases: Vec<CaseScore>) -> Self {
        let mut by_group: BTreeMap<String, Vec<&CaseScore>> = BTreeMap::new();
        for case in &cases {
            by_group.entry(case.group.clone()).or_default().push(case);
        }
        let mut groups: BTreeMap<String, GroupReport> =
            by_group.iter().map(|(name, cases)| (name.clone(), GroupReport::of(cases))).collect();
        if groups.len() > 1 && !groups.contains_key("") {
            groups.insert(String::new(), GroupReport::of(&cases.iter().collect::<Vec<_>>()));
        }
        Self { cases, groups }
    }

    /// One row for each case.
    pub fn to_csv(&self) -> String {
        let header = [
            "case",
            "group",
            "causes",
            "named",
            "confidence",
            "suspects",
            "top1",
            "top3",
            "top5",
            "average_precision",
            "set_precision",
            "set_recall",
            "set_f1",
            "funnel",
            "evaluations",
            "millis",
        ];
        let rows = self.cases.iter().map(|case| {
            let of = |pick: fn(&RankScore) -> f64| {
                case.ranked.as_ref().map_or_else(String::new, |ranked| score(pick(ranked)))
            };
            vec![
                case.name.clone(),
                case.group.clone(),
                joined(&case.causes),
                joined(&case.named),
                case.confidence.to_string(),
                joined(&case.suspects),
                of(|s| s.top1),
                of(|s| s.top3),
                of(|s| s.top5),
                of(|s| s.average_precision),
                score(case.set.precision),
                score(case.set.recall),
                score(case.set.f1),
                joined(case.funnel.values()),
                case.evaluations.to_string(),
                score(case.millis),
            ]
        });
        csv_text(&header, rows)
    }
}

impl GroupReport {
    fn of(cases: &[&CaseScore]) -> Self {
        let mut report = Self::default();
        let mut ranked = Vec::new();
        let mut f1 = 0.0;
        let mut quiet = 0;
        let mut trivial: BTreeMap<&'static str, Vec<RankScore>> = BTreeMap::new();
        for case in cases {
            report.slowest_millis = report.slowest_millis.max(case.millis);
            let Some(score) = case.ranked else {
                report.normal += 1;
                quiet += usize::from(case.named.is_empty());
                continue;
            };
            report.incidents += 1;
            ranked.push(score);
            f1 += case.set.f1;
            for baseline in &case.baselines {
                trivial.entry(baseline.name).or_default().push(baseline.ranked);
            }
            for stage in case.funnel.values() {
                *report.funnel.entry(*stage).or_default() += 1;
            }
        }
        report.specificity = (report.normal > 0).then(|| quiet as f64 / report.normal as f64);
        report.ours = Figures::mean(&ranked);
        report.ours.set_f1 = (report.incidents > 0).then(|| f1 / report.incidents as f64);
        report.baselines =
            trivial.iter().map(|(name, scores)| (*name, Figures::mean(scores))).collect();
        report
    }
}

impl fmt::Display for SuiteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, group) in &self.groups {
            let name = if name.is_empty() { "all" } else { name };
            writeln!(f, "{name}: {} incidents, {} normal times", group.incidents, group.normal)?;
            if group.incidents > 0 {
                writeln!(
                    f,
                    "  {:<14}{:>7}{:>7}{:>7}{:>7}{:>7}{:>7}",
                    "", "top-1", "top-3", "top-5", "p@n", "MAP", "F1"
                )?;
                line(f, "evidence", &group.ours)?;
                for (name, figures) in &group.baselines {
                    line(f, name, figures)?;
                }
                let stages: Vec<String> =
                    group.funnel.iter().map(|(stage, count)| format!("{stage} {count}")).collect();
                writeln!(f, "  causes: {}", stages.join(", "))?;
            }
            if let Some(specificity) = group.specificity {
                writeln!(f, "  specificity {specificity:.3}")?;
            }
            writeln!(f, "  slowest case {:.1} ms", group.slowest_millis)?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, figures: &Figures) -> fmt::Result {
    write!(f, "  {name:<14}")?;
    let Figures { top1, top3, top5, precision, map, set_f1 } = *figures;
    for value in [top1, top3, top5, precision, map] {
        write!(f, "{value:>7.3}")?;
    }
    writeln!(f, "{:>7}", set_f1.map_or_else(|| "-".into(), |f1| format!("{f1:.3}")))
}
