//! Failures by MAST, in the runs that were right and in those that were not.

use std::fmt::Write as _;

use eog_session::controllers::ControllerName;

use super::report::Comparison;
use super::{CONTROLLERS, Condition};
use crate::trajectory::{Counts, Mode};

/// In how many of the runs that can decide it a mode happens.
fn share(mode: Mode, of: &[&Counts]) -> Option<f64> {
    let decided: Vec<u32> = of.iter().filter_map(|counts| counts.get(mode)).collect();
    let happens = decided.iter().filter(|count| **count > 0).count();
    (!decided.is_empty()).then(|| happens as f64 / decided.len() as f64)
}

impl Comparison {
    /// The counts of runs of a controller that named every cause and nothing else, and of those that did not.
    /// Normal times are left out.
    pub fn failures(&self, controller: ControllerName, wrong: f64) -> [Vec<&Counts>; 2] {
        let condition = Condition::usual(controller, wrong);
        let of = |right: bool| {
            let is_one =
                move |recall: f64, precision: f64| (recall >= 1.0 && precision >= 1.0) == right;
            self.results
                .iter()
                .filter(|it| it.condition == condition && !it.is_normal)
                .filter(|it| is_one(it.recall, it.precision))
                .filter_map(|it| it.failures.as_ref())
                .collect()
        };
        [of(true), of(false)]
    }

    /// A table for a judge, if failures were counted.
    pub(super) fn failures_table(&self, wrong: f64) -> Option<String> {
        let all = CONTROLLERS.map(|controller| self.failures(controller, wrong));
        if all.iter().flatten().all(Vec::is_empty) {
            return None;
        }
        let mut text = String::new();
        let judge = super::tables::judge(wrong);
        let _ = writeln!(
            text,
            "\nFailures by MAST, judged by {judge}: share of the runs in which a mode happens, of those that named \
             every cause and nothing else / of the others\n"
        );
        let names = CONTROLLERS.map(ControllerName::name).join(" | ");
        let _ = writeln!(text, "| | {names} |\n|---|{}", "---:|".repeat(CONTROLLERS.len()));
        let runs =
            all.each_ref().map(|[right, wrong]| format!("{} / {}", right.len(), wrong.len()));
        let _ = writeln!(text, "| runs | {} |", runs.join(" | "));
        for mode in Mode::ALL {
            let cell = |of: &[&Counts]| {
                share(mode, of).map_or_else(|| "–".to_owned(), |share| format!("{share:.2}"))
            };
            let cells =
                all.each_ref().map(|[right, wrong]| format!("{} / {}", cell(right), cell(wrong)));
            let is_counted = all.iter().flatten().any(|of| share(mode, of).is_some());
            if is_counted {
                let _ = writeln!(text, "| {mode} | {} |", cells.join(" | "));
            }
        }
        Some(text)
    }
}
