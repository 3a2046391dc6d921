//! What repeated runs of every scenario scored.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::score::OutputScore;
use crate::repeated::{Repeated, Share, normal, wilson, write_rows};
use crate::table::count;

/// What k runs of every scenario came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunsReport {
    /// How many runs are scored.
    pub k: usize,
    /// How many scenarios there are.
    pub scenarios: usize,
    /// The fewest runs of a scenario.
    pub runs: usize,
    /// How far k runs find every root cause.
    #[serde(flatten)]
    pub repeated: Repeated,
    /// All runs there are of a scenario, be they more than k, agree on whether they do.
    pub consistent_in_all: Share,
    /// Mean over scenarios of the best F1.
    pub pass_f1: Share,
    /// Mean over scenarios of the median F1.
    pub majority_f1: Share,
    /// Mean over scenarios of the best precision.
    pub pass_precision: Share,
    /// Mean over scenarios of the median precision.
    pub majority_precision: Share,
    /// Mean over all runs of the leaderboard's variant.
    pub leaderboard: f64,
    /// Mean over all runs of the propagation score, where the truth has propagations.
    pub propagation: Option<f64>,
}

/// Sums up the runs of every scenario. A run without a usable output is `None` and a failure.
///
/// With more than k runs of a scenario, its shares are expected values over all choices of k of
/// them; F1 and precision are of the first k. Returns nothing when there is no scenario, or one
/// with fewer than k runs.
///
/// Shares have Wilson's score interval (1927), means the normal interval over scenarios.
pub fn evaluate_runs(
    runs: &BTreeMap<String, Vec<Option<OutputScore>>>,
    k: usize,
) -> Option<RunsReport> {
    if k == 0 || runs.is_empty() || runs.values().any(|scores| scores.len() < k) {
        return None;
    }
    let successes = runs.values().map(|scores| {
        (scores.len(), scores.iter().flatten().filter(|score| score.is_success()).count())
    });
    let successes: Vec<(usize, usize)> = successes.collect();
    let mean = |of: fn(&OutputScore) -> f64, sum_up: fn(Vec<f64>) -> f64| {
        normal(runs.values().map(|scores| {
            let first = scores.iter().take(k);
            sum_up(first.map(|score| score.as_ref().map_or(0.0, of)).collect())
        }))
    };
    let all = || runs.values().flatten();
    let propagation: Vec<f64> = all().flatten().filter_map(|score| score.propagation).collect();
    let leaderboard = all().map(|score| score.as_ref().map_or(0.0, |score| score.leaderboard));
    Some(RunsReport {
        k,
        scenarios: runs.len(),
        runs: runs.values().map(Vec::len).min().unwrap_or(0),
        repeated: Repeated::of(&successes, k),
        consistent_in_all: wilson(
            successes.iter().map(|(runs, found)| f64::from(u8::from([0, *runs].contains(found)))),
        ),
        pass_f1: mean(|score| score.f1, best),
        majority_f1: mean(|score| score.f1, median),
        pass_precision: mean(|score| score.precision, best),
        majority_precision: mean(|score| score.precision, median),
        leaderboard: leaderboard.sum::<f64>() / all().count().max(1) as f64,
        propagation: (!propagation.is_empty())
            .then(|| propagation.iter().sum::<f64>() / propagation.len() as f64),
    })
}

fn best(values: Vec<f64>) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle).copied().unwrap_or(0.0);
    if values.len() % 2 == 1 {
        return upper;
    }
    let lower = middle.checked_sub(1).and_then(|at| values.get(at));
    lower.map_or(upper, |lower| (lower + upper) / 2.0)
}

impl fmt::Display for RunsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let k = self.k;
        let runs = self.runs;
        let scenarios = count(self.scenarios, "scenario", "scenarios");
        let of_each = count(runs, "run", "runs");
        let at_a_time = if runs > k { format!(", {k} at a time") } else { String::new() };
        writeln!(f, "{scenarios}, {of_each} each{at_a_time}; 95 % intervals in brackets")?;
        write_rows(f, self.repeated.rows(k, format!("consistent in {k} runs")))?;
        let rest = [
            ("consistent in all runs".into(), self.consistent_in_all),
            (format!("F1, best of {k}"), self.pass_f1),
            (format!("F1, median of {k}"), self.majority_f1),
            (format!("precision, best of {k}"), self.pass_precision),
            (format!("precision, median of {k}"), self.majority_precision),
        ];
        write_rows(f, rest)?;
        writeln!(f, "  {:<24}{:.3}", "leaderboard", self.leaderboard)?;
        if let Some(propagation) = self.propagation {
            writeln!(f, "  {:<24}{propagation:.3}", "propagation")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(recall: f64, f1: f64) -> Option<OutputScore> {
        let precision = f1;
        let leaderboard = if recall >= 1.0 { precision } else { 0.0 };
        let at = Vec::new();
        Some(OutputScore {
            predicted: 1,
            precision,
            recall,
            f1,
            at,
            propagation: None,
            leaderboard,
        })
    }

    fn report(runs: &[Vec<Option<OutputScore>>], k: usize) -> Option<RunsReport> {
        let named = runs.iter().enumerate().map(|(n, runs)| (n.to_string(), runs.clone()));
        evaluate_runs(&named.collect(), k)
    }

    #[test]
    fn pass_majority_and_gap_of_three_runs() {
        let (hit, miss) = (|| run(1.0, 0.5), || run(0.5, 0.25));
        let runs = [
            vec![hit(), hit(), hit()],
            vec![hit(), hit(), miss()],
            vec![hit(), miss(), None],
            vec![miss(), None, miss()],
        ];
        let report = report(&runs, 3).unwrap();
        assert_eq!(
            [
                report.repeated.pass,
                report.repeated.majority,
                report.repeated.reliability_gap,
                report.repeated.always,
                report.repeated.consistent,
                report.consistent_in_all
            ]
            .map(|share| share.value),
            [0.75, 0.5, 0.25, 0.25, 0.5, 0.5]
        );
        assert_eq!(report.pass_f1.value, (0.5 + 0.5 + 0.5 + 0.25) / 4.0);
        assert_eq!(report.majority_f1.value, (0.5 + 0.5 + 0.25 + 0.25) / 4.0);
        assert_eq!(report.leaderboard, 6.0 * 0.5 / 12.0);
        // Wilson's interval of 3 in 4, from its formula.
        assert!(
            (report.repeated.pass.interval.low - 0.3006).abs() < 1e-3,
            "{}",
            report.repeated.pass
        );
        assert!(
            (report.repeated.pass.interval.high - 0.9544).abs() < 1e-3,
            "{}",
            report.repeated.pass
        );
    }

    #[test]
    fn more_runs_than_k_are_averaged_over_all_choices() {
        let runs = [vec![run(1.0, 1.0), run(0.0, 0.0), run(0.0, 0.0), run(0.0, 0.0)]];
        let report = super::tests::report(&runs, 2).unwrap();
        // 3 of the 6 pairs hold the one success, and none has two.
        assert_eq!((report.repeated.pass.value, report.repeated.majority.value), (0.5, 0.0));
        // Two of four runs are alike half of the time; all four are not.
        assert_eq!((report.repeated.consistent.value, report.consistent_in_all.value), (0.5, 0.0));
        assert!(super::tests::report(&runs, 5).is_none());
        assert!(super::tests::report(&[], 1).is_none());
    }
}
