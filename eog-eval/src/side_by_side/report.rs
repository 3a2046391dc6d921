//! What controllers came to on the same incidents.

use std::collections::BTreeSet;
use std::fmt;

use eog::EntityId;
use eog_session::controllers::ControllerName;
use serde::{Serialize, Serializer};

use super::{CONTROLLERS, Settings};
use crate::table::{csv_text, joined, score};

/// One investigation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideBySideResult {
    /// The incident.
    pub incident: String,
    /// Whether nothing was wrong.
    pub is_normal: bool,
    /// Who investigated.
    #[serde(serialize_with = "by_name")]
    pub controller: ControllerName,
    /// Which run: 0 with the rules, others with errors.
    pub run: u64,
    /// The causes that it named.
    pub named: BTreeSet<EntityId>,
    /// Correct of the named.
    pub precision: f64,
    /// Found of the causes.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
    /// How often the judge was asked.
    pub questions: u64,
    /// How many characters of packets the judge was shown, as JSON.
    pub characters: u64,
}

fn by_name<S: Serializer>(name: &ControllerName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name.name())
}

/// Means of a controller with a judge.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Share of the incidents in which every cause is named.
    pub right: f64,
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
pub struct SideBySide {
    /// How many incidents there are, used or not.
    pub all: usize,
    /// Share of errors of the judge that errs.
    pub wrong: f64,
    /// How often each incident was investigated with it.
    pub runs: u64,
    /// The seed of its errors.
    pub seed: u64,
    /// Every investigation.
    pub results: Vec<SideBySideResult>,
    /// What could not be used, with the reason.
    pub left_out: Vec<String>,
}

impl SideBySide {
    pub(super) fn new(
        settings: &Settings,
        all: usize,
        results: Vec<SideBySideResult>,
        left_out: Vec<String>,
    ) -> Self {
        let Settings { wrong, runs, seed } = *settings;
        Self { all, wrong, runs, seed, results, left_out }
    }

    /// Means of a controller; with the rules, or with errors.
    pub fn judged(&self, controller: ControllerName, errs: bool) -> Option<Judged> {
        let of = |it: &&SideBySideResult| it.controller == controller && (it.run > 0) == errs;
        let all: Vec<&SideBySideResult> = self.results.iter().filter(of).collect();
        let (normal, incidents): (Vec<&SideBySideResult>, Vec<_>) =
            all.iter().copied().partition(|it| it.is_normal);
        let mean = |of: &[&SideBySideResult], value: fn(&SideBySideResult) -> f64| {
            of.iter().map(|it| value(it)).sum::<f64>() / of.len().max(1) as f64
        };
        let share = |value: bool| f64::from(u8::from(value));
        let quiet = |it: &SideBySideResult| f64::from(u8::from(it.named.is_empty()));
        (!all.is_empty()).then(|| Judged {
            right: mean(&incidents, |it| f64::from(u8::from(it.recall >= 1.0))),
            besides: incidents
                .iter()
                .map(|it| share(!it.named.is_empty() && it.precision < 1.0))
                .sum::<f64>()
                / incidents.len().max(1) as f64,
            f1: mean(&incidents, |it| it.f1),
            quiet: (!normal.is_empty()).then(|| mean(&normal, quiet)),
            questions: mean(&all, |it| it.questions as f64),
            tokens: mean(&all, |it| it.characters as f64 / 4.0),
        })
    }

    /// A line for each investigation.
    pub fn to_csv(&self) -> String {
        let header = [
            "incident",
            "normal",
            "controller",
            "run",
            "named",
            "precision",
            "recall",
            "f1",
            "questions",
            "characters",
        ];
        let rows = self.results.iter().map(|it| {
            vec![
                it.incident.clone(),
                it.is_normal.to_string(),
                it.controller.name().to_owned(),
                it.run.to_string(),
                joined(&it.named),
                score(it.precision),
                score(it.recall),
                score(it.f1),
                it.questions.to_string(),
                it.characters.to_string(),
            ]
        });
        csv_text(&header, rows)
    }

    fn table(&self, f: &mut fmt::Formatter<'_>, errs: bool) -> fmt::Result {
        let rows = CONTROLLERS.map(|name| Some((name, self.judged(name, errs)?)));
        let rows: Vec<(ControllerName, Judged)> = rows.into_iter().flatten().collect();
        if rows.is_empty() {
            return Ok(());
        }
        match errs {
            false => writeln!(f, "\nJudged by the rules\n")?,
            true => {
                let (wrong, runs, seed) = (self.wrong * 100.0, self.runs, self.seed);
                writeln!(
                    f,
                    "\nJudged by rules that err in {wrong:.0} %: runs {runs}, seed {seed}\n"
                )?;
            }
        }
        writeln!(f, "| | right | besides | F1 | quiet | questions | tokens |")?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|---:|")?;
        for (name, it) in rows {
            let Judged { right, besides, f1, quiet, questions, tokens } = it;
            let quiet = quiet.map_or_else(|| "–".to_owned(), |quiet| format!("{quiet:.2}"));
            writeln!(
                f,
                "| {} | {right:.2} | {besides:.2} | {f1:.2} | {quiet} | {questions:.1} | {tokens:.0} |",
                name.name()
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for SideBySide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: BTreeSet<(&str, bool)> =
            self.results.iter().map(|it| (it.incident.as_str(), it.is_normal)).collect();
        let normal = names.iter().filter(|(_, is_normal)| *is_normal).count();
        let incidents = names.len() - normal;
        writeln!(
            f,
            "Incidents: {incidents}. Normal times: {normal}. No language model is involved."
        )?;
        writeln!(f, "right: every cause is named; besides: something is named that is no cause;")?;
        writeln!(f, "quiet: nothing is named in a normal time; questions: to the judge, mean;")?;
        writeln!(f, "tokens: packets shown to the judge, characters of their JSON / 4, mean.")?;
        for reason in &self.left_out {
            writeln!(f, "left out: {reason}")?;
        }
        self.table(f, false)?;
        self.table(f, true)
    }
}
