//! What a suite scored: per case, per group, in all.

use std::collections::BTreeMap;
use std::fmt;

use eog::Usage;
use serde::Serialize;

use super::ablation::Ablations;
use super::score::{CaseScore, RankScore};
use crate::calibration::{Calibration, Outcome};
use crate::funnel::{FunnelShares, by_cause};
use crate::model_usage::ModelUsage;
use crate::repeated::{Interval, Repeated, Share, wilson, write_rows};
use crate::table::{count, csv_text, joined, score, tiers};
use crate::trajectory::{Mode, ModeTable};

/// What a suite scored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteReport {
    /// Every case, in order.
    pub cases: Vec<CaseScore>,
    /// Every group by name, and all together under the empty name if there is more than one.
    pub groups: BTreeMap<String, GroupReport>,
    /// How often the controller failed, over all cases.
    pub failures: ModeTable,
    /// How far the runs of each case agree; nothing when there is one run only.
    pub over_runs: Option<OverRuns>,
    /// How much each word is worth; nothing when there is no case.
    pub calibration: Option<Calibration>,
    /// What was scored without one source of evidence; nothing where that was not asked for.
    pub ablations: Option<Ablations>,
    /// Folders of a suite that are no bundles.
    pub left_out: Vec<String>,
    /// Cases that could not be used, each with the reason.
    pub unusable: Vec<String>,
    /// Cases that were left, since the evaluation was stopped.
    pub not_scored: usize,
}

/// How far several runs of the same cases agree, each run in an order of evaluation of its own.
/// A run succeeds when it names every cause, in a normal time when it names nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverRuns {
    /// The fewest runs of a case.
    pub runs: usize,
    /// How far they succeed; k is the number of runs.
    #[serde(flatten)]
    pub repeated: Repeated,
    /// All runs name the same causes.
    pub same_causes: Share,
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
    /// The interval of [`ours.top1`](Figures::top1) over incidents, by the bootstrap.
    pub top1_interval: Option<Interval>,
    /// The same for the trivial rankings, by name.
    pub baselines: BTreeMap<&'static str, Figures>,
    /// How far ours is ahead of each of them in top-1.
    pub leads: BTreeMap<&'static str, Lead>,
    /// How far the investigation came with each cause.
    pub funnel: FunnelShares,
    /// The longest investigation, in milliseconds.
    pub slowest_millis: f64,
}

/// How far one ranking is ahead of another on the same incidents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lead {
    /// The mean difference in top-1.
    pub value: f64,
    /// Its interval over incidents, by the paired bootstrap.
    pub interval: Interval,
}

impl Lead {
    fn of(ours: &[RankScore], theirs: &[RankScore]) -> Self {
        let pairs = ours.iter().zip(theirs);
        let differences: Vec<f64> = pairs.map(|(ours, theirs)| ours.top1 - theirs.top1).collect();
        let value = differences.iter().sum::<f64>() / differences.len().max(1) as f64;
        Self { value, interval: Interval::bootstrap(&differences) }
    }

    /// Whether that is a lead, in a word.
    pub fn verdict(&self) -> &'static str {
        match self {
            Self { interval, .. } if interval.low > 0.0 => "beaten",
            Self { interval, .. } if interval.high < 0.0 => "NOT BEATEN",
            Self { value, .. } if *value > 0.0 => "ahead, within its interval",
            Self { value, .. } if *value < 0.0 => "behind, within its interval",
            _ => "equal",
        }
    }
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
        let failures = ModeTable::of(cases.iter().map(|case| &case.failures));
        let (over_runs, left_out) = (OverRuns::of(&cases), Vec::new());
        let whole: Vec<Outcome> = cases.iter().map(|case| case.outcome).collect();
        let knocked_out: Vec<Outcome> = cases.iter().filter_map(|case| case.knocked_out).collect();
        let calibration = Calibration::of(&whole, &knocked_out);
        Self {
            cases,
            groups,
            failures,
            over_runs,
            calibration,
            ablations: None,
            left_out,
            unusable: Vec::new(),
            not_scored: 0,
        }
    }

    /// All cases as one group.
    pub fn whole(&self) -> GroupReport {
        GroupReport::of(&self.cases.iter().collect::<Vec<_>>())
    }

    /// What to know before trusting the figures: skipped folders, ground truths that do not fit.
    pub fn notes(&self) -> Vec<String> {
        let left_out = (!self.left_out.is_empty()).then(|| {
            let names = self.left_out.join(", ");
            format!("skipped folders without bundle.json: {names}")
        });
        let of_cases = self.cases.iter().flat_map(|case| case.notes.iter().cloned());
        let unusable = self.unusable.iter().map(|reason| format!("left out: {reason}"));
        let left = count(self.not_scored, "more case is", "more cases are");
        let stopped = (self.not_scored > 0).then(|| format!("stopped: {left} not scored"));
        stopped.into_iter().chain(left_out).chain(unusable).chain(of_cases).collect()
    }

    /// What all runs of all cases asked of models; nothing where none was asked.
    pub fn model_usage(&self) -> Option<ModelUsage> {
        ModelUsage::of(self.cases.iter().flat_map(|case| case.usage.iter().copied()))
    }

    /// One row for each case.
    pub fn to_csv(&self) -> String {
        let mut header = vec![
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
            "runs",
            "runs_with_success",
            "consistent",
            "model_requests",
            "model_tokens",
        ];
        header.extend(Outcome::COLUMNS);
        header.extend(["knocked_out", "knocked_out_right", "knocked_out_innocent_change"]);
        header.push("knocked_out_confirmed_a_group");
        header.extend(Mode::ALL.map(Mode::column));
        let rows = self.cases.iter().map(|case| {
            let of = |pick: fn(&RankScore) -> f64| {
                case.ranked.as_ref().map_or_else(String::new, |ranked| score(pick(ranked)))
            };
            let sum = |of: fn(&Usage) -> u64| case.usage.iter().map(of).sum::<u64>().to_string();
            let mut row = vec![
                case.name.clone(),
                case.group.clone(),
                joined(&case.causes),
                joined(&case.named),
                case.confidence.to_string(),
                tiers(&case.suspects),
                of(|s| s.top1),
                of(|s| s.top3),
                of(|s| s.top5),
                of(|s| s.average_precision),
                score(case.set.precision),
                score(case.set.recall),
                score(case.set.f1),
                by_cause(&case.funnel),
                case.evaluations.to_string(),
                score(case.millis),
                case.runs.len().to_string(),
                case.successes().to_string(),
                case.is_consistent().to_string(),
                sum(|usage| usage.model_calls),
                sum(|usage| usage.tokens_in + usage.tokens_out),
            ];
            row.extend(case.outcome.cells());
            let without = case.knocked_out;
            row.push(without.map_or_else(String::new, |outcome| outcome.said.to_string()));
            row.extend(without.map_or_else(|| [const { String::new() }; 3], Outcome::cells));
            row.extend(case.failures.cells());
            row
        });
        csv_text(&header, rows)
    }
}

impl OverRuns {
    fn of(cases: &[CaseScore]) -> Option<Self> {
        let runs = cases.iter().map(|case| case.runs.len()).min().filter(|runs| *runs > 1)?;
        let successes: Vec<(usize, usize)> =
            cases.iter().map(|case| (case.runs.len(), case.successes())).collect();
        let alike = cases.iter().map(|case| case.runs.windows(2).all(|pair| pair[0] == pair[1]));
        Some(Self {
            runs,
            repeated: Repeated::of(&successes, runs),
            same_causes: wilson(alike.map(|alike| f64::from(u8::from(alike)))),
        })
    }
}

impl fmt::Display for OverRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.runs;
        writeln!(
            f,
            "{runs} runs of each case, each in a different order; 95 % intervals in brackets"
        )?;
        write_rows(f, self.repeated.rows(runs, "consistent in all runs".to_owned()))?;
        write_rows(f, [("the same causes named".to_owned(), self.same_causes)])
    }
}

impl GroupReport {
    /// The best of the trivial rankings that say where to start, by top-1, with how far ours is ahead.
    pub fn best_floor(&self) -> Option<(&'static str, &Figures, &Lead)> {
        let floors = self
            .baselines
            .iter()
            .filter_map(|(name, figures)| Some((*name, figures, self.leads.get(name)?)));
        floors.max_by(|a, b| a.1.top1.total_cmp(&b.1.top1).then_with(|| b.0.cmp(a.0)))
    }

    fn of(cases: &[&CaseScore]) -> Self {
        let mut report = Self::default();
        let mut ranked = Vec::new();
        let mut f1 = 0.0;
        let mut quiet = 0;
        let mut trivial: BTreeMap<&'static str, Vec<RankScore>> = BTreeMap::new();
        let mut stages = Vec::new();
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
            stages.extend(case.funnel.values().copied());
        }
        report.funnel = FunnelShares::of(stages);
        report.specificity = (report.normal > 0).then(|| quiet as f64 / report.normal as f64);
        report.ours = Figures::mean(&ranked);
        report.ours.set_f1 = (report.incidents > 0).then(|| f1 / report.incidents as f64);
        let top1: Vec<f64> = ranked.iter().map(|score| score.top1).collect();
        report.top1_interval = (!top1.is_empty()).then(|| Interval::bootstrap(&top1));
        // A ranking that some incident lacks is not comparable.
        trivial.retain(|_, scores| scores.len() == ranked.len());
        report.leads =
            trivial.iter().map(|(name, scores)| (*name, Lead::of(&ranked, scores))).collect();
        report.baselines =
            trivial.iter().map(|(name, scores)| (*name, Figures::mean(scores))).collect();
        report
    }
}

impl fmt::Display for SuiteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, group) in &self.groups {
            let name = if name.is_empty() { "all" } else { name };
            let incidents = count(group.incidents, "incident", "incidents");
            let normal = count(group.normal, "fault-free period", "fault-free periods");
            writeln!(f, "{name}: {incidents}, {normal}")?;
            if group.incidents > 0 {
                writeln!(
                    f,
                    "  {:<14}{:>7}{:>7}{:>7}{:>7}{:>7}{:>7}",
                    "", "top-1", "top-3", "top-5", "p@n", "MAP", "F1"
                )?;
                line(f, "eog", &group.ours)?;
                if let Some(interval) = &group.top1_interval {
                    write!(f, "  top-1 [{:.2}, {:.2}]", interval.low, interval.high)?;
                }
                writeln!(f)?;
                for (name, figures) in &group.baselines {
                    line(f, name, figures)?;
                    if let Some(lead) = group.leads.get(name) {
                        write!(f, "  {}", lead.verdict())?;
                    }
                    writeln!(f)?;
                }
                write!(f, "{}", group.funnel)?;
            }
            if let Some(specificity) = group.specificity {
                writeln!(f, "  specificity {specificity:.3}")?;
            }
            writeln!(f, "  slowest case: {:.1} ms", group.slowest_millis)?;
        }
        write!(f, "{}", self.failures)?;
        if let Some(usage) = self.model_usage() {
            writeln!(f, "{usage}")?;
        }
        if let Some(over_runs) = &self.over_runs {
            write!(f, "{over_runs}")?;
        }
        if let Some(calibration) = &self.calibration {
            write!(f, "{calibration}")?;
        }
        if let Some(ablations) = &self.ablations {
            write!(f, "{ablations}")?;
        }
        self.notes().iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, figures: &Figures) -> fmt::Result {
    write!(f, "  {name:<14}")?;
    let Figures { top1, top3, top5, precision, map, set_f1 } = *figures;
    for value in [top1, top3, top5, precision, map] {
        write!(f, "{value:>7.3}")?;
    }
    write!(f, "{:>7}", set_f1.map_or_else(|| "-".into(), |f1| format!("{f1:.3}")))
}
