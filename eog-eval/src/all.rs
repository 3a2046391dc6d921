//! All data sets of a folder on one page.

use std::fmt;
use std::path::{Path, PathBuf};

use eog_simulate::files::{FileError, list_folder};
use eog_sre::Stop;
use serde::Serialize;

use crate::error::EvalError;
use crate::suite::{self, GroupReport, Options, Progress, SuiteReport};
use crate::table::count;

/// What every data set of a folder scored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AllReport {
    /// Every data set, by name.
    pub sets: Vec<SetReport>,
    /// Data sets that could not be scored, and cases that could not, each with the reason.
    pub unusable: Vec<String>,
    /// Cases of scored data sets that were left, since the evaluation was stopped.
    pub not_scored: usize,
    /// Data sets that were left for the same reason.
    pub sets_left: usize,
}

/// What one data set scored in all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetReport {
    /// Its folder, below the one that was given.
    pub name: String,
    /// Its figures.
    pub figures: GroupReport,
    /// How many results were called confirmed, and how many of these were wrong.
    pub confirmed: [usize; 2],
}

/// Scores every data set of a folder: each folder in it, or in one of these, that holds bundles with truths.
///
/// # Errors
/// [`EvalError`] when the folder cannot be read or holds no data set.
pub fn evaluate(
    dir: &Path,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<AllReport, EvalError> {
    let mut report =
        AllReport { sets: Vec::new(), unusable: Vec::new(), not_scored: 0, sets_left: 0 };
    let sets = data_sets(dir)?;
    if sets.is_empty() {
        let expected = "folders of bundles, each with NAME.truth.json beside it";
        return Err(FileError::nothing(dir, expected).into());
    }
    let all = sets.len();
    for (done, set) in sets.into_iter().enumerate() {
        if options.stop.as_ref().is_some_and(Stop::is_wanted) {
            report.sets_left = all - done;
            break;
        }
        let name = set.strip_prefix(dir).unwrap_or(&set).display().to_string();
        let mut said =
            |done: usize, all: usize, case: &str| progress(done, all, &format!("{name}/{case}"));
        match suite::evaluate(&set, options, &mut said) {
            Ok(suite) => report.add(name, &suite),
            Err(EvalError::Stopped) => report.sets_left = all - done,
            Err(error) => report.unusable.push(format!("{name}: {error}")),
        }
    }
    Ok(report)
}

/// Folders with bundles, down to the second level, by name.
fn data_sets(dir: &Path) -> Result<Vec<PathBuf>, EvalError> {
    let mut sets = Vec::new();
    for path in list_folder(dir)?.into_iter().filter(|path| path.is_dir()) {
        if suite::cases_of(&path).is_ok() {
            sets.push(path);
        } else {
            let below = list_folder(&path)?.into_iter();
            sets.extend(below.filter(|path| path.is_dir() && suite::cases_of(path).is_ok()));
        }
    }
    Ok(sets)
}

impl AllReport {
    fn add(&mut self, name: String, suite: &SuiteReport) {
        self.unusable.extend(suite.unusable.iter().map(|reason| format!("{name}: {reason}")));
        self.not_scored += suite.not_scored;
        let figures = suite.whole();
        let confirmed = suite.cases.iter().map(|case| case.outcome);
        let confirmed: Vec<_> = confirmed
            .filter(|it| it.said == eog::Confidence::Confirmed || it.confirmed_wrong)
            .collect();
        let wrong = confirmed.iter().filter(|it| it.confirmed_wrong).count();
        self.sets.push(SetReport { name, figures, confirmed: [confirmed.len(), wrong] });
    }

    /// One row for each data set.
    pub fn to_csv(&self) -> String {
        let header = [
            "set",
            "incidents",
            "normal",
            "top1",
            "low",
            "high",
            "top3",
            "f1",
            "specificity",
            "confirmed",
            "confirmed_wrong",
            "floor",
            "floor_top1",
            "floor_top3",
            "verdict",
        ];
        let rows = self.sets.iter().map(|set| {
            let SetReport { name, figures, confirmed: [confirmed, wrong] } = set;
            let number =
                |value: Option<f64>| value.map_or_else(String::new, |it| format!("{it:.4}"));
            let interval = figures.top1_interval;
            let mut row =
                vec![name.clone(), figures.incidents.to_string(), figures.normal.to_string()];
            row.extend([
                number(Some(figures.ours.top1)),
                number(interval.map(|it| it.low)),
                number(interval.map(|it| it.high)),
            ]);
            row.extend([
                number(Some(figures.ours.top3)),
                number(figures.ours.set_f1),
                number(figures.specificity),
            ]);
            row.extend([confirmed.to_string(), wrong.to_string()]);
            match figures.best_floor() {
                Some((floor, theirs, lead)) => row.extend([
                    floor.to_owned(),
                    number(Some(theirs.top1)),
                    number(Some(theirs.top3)),
                    lead.verdict().to_owned(),
                ]),
                None => row.extend([const { String::new() }; 4]),
            }
            row
        });
        crate::table::csv_text(&header, rows)
    }

    /// What to know before trusting the figures.
    pub fn notes(&self) -> Vec<String> {
        let left = count(self.sets_left, "more data set is", "more data sets are");
        let stopped = (self.sets_left > 0).then(|| format!("stopped: {left} not scored"));
        let unusable = self.unusable.iter().map(|reason| format!("left out: {reason}"));
        stopped.into_iter().chain(unusable).collect()
    }
}

impl fmt::Display for AllReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<26}{:>6}{:>8}{:>14}{:>8}{:>7}{:>7}{:>11}  best trivial ranking",
            "data set", "n", "top-1", "95 % interval", "top-3", "F1", "quiet", "confirmed"
        )?;
        for SetReport { name, figures, confirmed: [confirmed, wrong] } in &self.sets {
            let interval = figures
                .top1_interval
                .map_or_else(String::new, |it| format!("[{:.2}, {:.2}]", it.low, it.high));
            let part =
                |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |it| format!("{it:.2}"));
            let confirmed = format!("{confirmed}, {wrong} ✗");
            write!(
                f,
                "{name:<26}{:>6}{:>8.3}{interval:>14}{:>8.3}{:>7}{:>7}{confirmed:>11}",
                figures.incidents,
                figures.ours.top1,
                figures.ours.top3,
                part(figures.ours.set_f1),
                part(figures.specificity)
            )?;
            if let Some((floor, theirs, lead)) = figures.best_floor() {
                write!(f, "  {floor} {:.3}/{:.3}: {}", theirs.top1, theirs.top3, lead.verdict())?;
            }
            writeln!(f)?;
        }
        let scored: Vec<f64> = self
            .sets
            .iter()
            .filter(|set| set.figures.incidents > 0)
            .map(|set| set.figures.ours.top1)
            .collect();
        if scored.len() > 1 {
            let mean = scored.iter().sum::<f64>() / scored.len() as f64;
            writeln!(f, "{:<32}{mean:>8.3}", "mean of the sets")?;
        }
        self.notes().iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}
