//! The cases of a suite without one source of evidence at a time.

use std::collections::BTreeMap;
use std::fmt;

use eog::Confidence;
use eog_evidence::BundleSource;
use serde::Serialize;

use super::{CaseScore, Options, SuiteCase, score_case};
use crate::error::EvalError;
use crate::table::count;

/// What was scored without one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ablations {
    /// By source. Cases that hold nothing of it count with what they scored as a whole.
    pub without: BTreeMap<BundleSource, WithoutSource>,
    /// The same cases with everything in.
    pub whole: AblatedScore,
}

/// A suite without one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WithoutSource {
    /// How many cases hold anything of it.
    pub holding: usize,
    /// What all cases scored.
    pub score: AblatedScore,
}

/// What cases scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AblatedScore {
    /// Incidents with a cause.
    pub incidents: usize,
    /// Of these, the mean over incidents of a cause that comes first.
    pub top1: f64,
    /// The same of a cause among the first three.
    pub top3: f64,
    /// The mean F1 of the named causes.
    pub f1: f64,
    /// Fault-free periods.
    pub normal: usize,
    /// Of these, how many in which nothing is named.
    pub quiet: usize,
    /// Cases of which the result as a whole is `confirmed`.
    pub confirmed: usize,
    /// Cases with a confirmed group of origins that holds no cause.
    pub confirmed_wrong: usize,
}

/// Scores of cases, summed up while they come.
#[derive(Debug, Default)]
pub(super) struct Sum {
    whole: AblatedScore,
    without: BTreeMap<BundleSource, WithoutSource>,
}

impl Sum {
    /// Investigates a case once more without each source that it holds; `whole` is what it scored with
    /// everything in.
    pub(super) fn add(
        &mut self,
        case: &SuiteCase,
        whole: &CaseScore,
        options: &Options,
    ) -> Result<(), EvalError> {
        let options = Options { method: options.method.clone(), ..Options::runs(1) };
        self.whole.add(whole);
        for source in BundleSource::ALL {
            let sum = self.without.entry(source).or_default();
            if !case.bundle.has(source) {
                sum.score.add(whole);
                continue;
            }
            let ablated = SuiteCase {
                bundle: case.bundle.without(source),
                knocked_out: None,
                ..case.clone()
            };
            sum.holding += 1;
            sum.score.add(&score_case(ablated, &options)?);
        }
        Ok(())
    }

    pub(super) fn means(self) -> Ablations {
        let without = self.without.into_iter();
        let mean = |sum: WithoutSource| WithoutSource { score: sum.score.mean(), ..sum };
        Ablations {
            whole: self.whole.mean(),
            without: without.map(|(source, sum)| (source, mean(sum))).collect(),
        }
    }
}

impl AblatedScore {
    fn add(&mut self, case: &CaseScore) {
        match case.ranked {
            Some(ranked) => {
                self.incidents += 1;
                self.top1 += ranked.top1;
                self.top3 += ranked.top3;
                self.f1 += case.set.f1;
            }
            None => {
                self.normal += 1;
                self.quiet += usize::from(case.named.is_empty());
            }
        }
        self.confirmed += usize::from(case.confidence == Confidence::Confirmed);
        self.confirmed_wrong += usize::from(case.outcome.confirmed_wrong);
    }

    fn mean(self) -> Self {
        let share = |sum: f64| sum / self.incidents.max(1) as f64;
        let (top1, top3, f1) = (share(self.top1), share(self.top3), share(self.f1));
        Self { top1, top3, f1, ..self }
    }
}

impl fmt::Display for Ablations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let incidents = count(self.whole.incidents, "incident", "incidents");
        writeln!(f, "by source of evidence, {incidents} in all")?;
        writeln!(
            f,
            "  {:<16}{:>8}{:>7}{:>7}{:>7}{:>12}{:>11}{:>7}",
            "", "holding", "top-1", "top-3", "F1", "specificity", "confirmed", "wrong"
        )?;
        line(f, "everything", None, &self.whole)?;
        self.without.iter().try_for_each(|(source, without)| {
            line(f, &format!("without {source}"), Some(without.holding), &without.score)
        })
    }
}

fn line(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    holding: Option<usize>,
    score: &AblatedScore,
) -> fmt::Result {
    let AblatedScore { top1, top3, f1, normal, quiet, confirmed, confirmed_wrong, .. } = *score;
    let holding = holding.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let quiet = match normal {
        0 => "-".to_owned(),
        all => format!("{:.3}", quiet as f64 / all as f64),
    };
    writeln!(
        f,
        "  {name:<16}{holding:>8}{top1:>7.3}{top3:>7.3}{f1:>7.3}{quiet:>12}{confirmed:>11}\
         {confirmed_wrong:>7}"
    )
}
