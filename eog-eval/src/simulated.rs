//! Many simulated incidents, investigated and scored.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use eog_session::controllers::AnySettings;
use eog_simulate::Scenario;
use eog_simulate::snapshot::{Harmless, simulate};
use eog_sre::Stop;
use serde::Serialize;

use crate::calibration::{Calibration, Outcome};
use crate::error::EvalError;
use crate::funnel::{FunnelShares, by_cause};
use crate::investigation::Method;
use crate::itbench::{
    GroundTruth, OutputScore, RunsReport, ScenarioScore, evaluate_knocked_out, evaluate_runs,
    evaluate_snapshot,
};
use crate::model_usage::ModelUsage;
use crate::table::{count, csv_text, joined, score as number};
use crate::trajectory::{Mode, ModeTable};

/// What is taken away from an investigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ablation {
    /// Nothing.
    Whole,
    /// The spans.
    Traces,
    /// The log lines.
    Logs,
    /// The metric files.
    Metrics,
    /// The cluster events.
    Events,
    /// The object dumps, and with them all changes.
    Changes,
    /// The messages between neighbours.
    Messages,
    /// The root causes, with what they made: the knock-out.
    Causes,
}

impl Ablation {
    /// All but the knock-out, the whole investigation first.
    pub const ALL: [Self; 7] = [
        Self::Whole,
        Self::Traces,
        Self::Logs,
        Self::Metrics,
        Self::Events,
        Self::Changes,
        Self::Messages,
    ];

    /// The file or folder of a snapshot that is taken away.
    fn part(self) -> Option<&'static str> {
        match self {
            Self::Whole | Self::Messages | Self::Causes => None,
            Self::Traces => Some("otel_traces_raw.tsv"),
            Self::Logs => Some("otel_logs_raw.tsv"),
            Self::Metrics => Some("metrics"),
            Self::Events => Some("k8s_events_raw.tsv"),
            Self::Changes => Some("k8s_objects_raw.tsv"),
        }
    }
}

impl fmt::Display for Ablation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Whole => "everything",
            Self::Traces => "without traces",
            Self::Logs => "without logs",
            Self::Metrics => "without metrics",
            Self::Events => "without events",
            Self::Changes => "without changes",
            Self::Messages => "without messages",
            Self::Causes => "knocked out",
        })
    }
}

/// One investigation of a snapshot, simulated or recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulatedCase {
    /// The scenario of the truth.
    pub scenario: String,
    /// The seed of the noise; of a recorded snapshot the number of the run.
    pub seed: u64,
    /// What was taken away.
    pub ablation: Ablation,
    /// What it scored; nothing when it could not be investigated.
    pub scored: Option<ScenarioScore>,
    /// Why it could not be investigated; empty when it was.
    pub reason: String,
}

/// What all snapshots scored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulatedReport {
    /// Every investigation.
    pub cases: Vec<SimulatedCase>,
    /// The runs of the whole investigations over seeds, with k the smaller of 3 and the seeds.
    pub runs: Option<RunsReport>,
    /// How much each word is worth; nothing when nothing could be investigated.
    pub calibration: Option<Calibration>,
    /// Truths that were left, since the evaluation was stopped.
    pub not_scored: usize,
}

/// How truths are simulated and investigated.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The seeds that each truth is simulated with.
    pub seeds: RangeInclusive<u64>,
    /// About how many bytes each snapshot has.
    pub size: u64,
    /// The harmless changes of each snapshot.
    pub harmless: Harmless,
    /// What is taken away, in an investigation for each. Messages are taken away from EoG alone.
    pub ablations: Vec<Ablation>,
    /// How each snapshot is investigated.
    pub method: Method,
    /// When to leave it at the truths that are done: asked before each incident.
    pub stop: Option<Stop>,
}

/// Simulates every truth with every seed, investigates each snapshot, also without what each of the
/// ablations takes away, and scores the results. Snapshots lie in a temporary folder one at a time.
/// `done` is called for every incident that is done.
///
/// # Errors
/// [`EvalError`] when the temporary folder cannot be used; what cannot be simulated is a case with
/// the reason.
pub fn evaluate(
    scenarios: &[Scenario],
    architecture: &Path,
    settings: &Settings,
    mut done: impl FnMut(&SimulatedCase),
) -> Result<SimulatedReport, EvalError> {
    let Settings { seeds, size, harmless, ablations, method, stop } = settings;
    let is_stopped = || stop.as_ref().is_some_and(Stop::is_wanted);
    let mut cases = Vec::new();
    let mut not_scored = 0;
    for (at, scenario) in scenarios.iter().enumerate() {
        let truth = GroundTruth::of(scenario)?.counting_policies();
        for seed in seeds.clone() {
            if is_stopped() {
                // A truth counts with all its seeds or not at all.
                cases.retain(|case: &SimulatedCase| case.scenario != scenario.name);
                not_scored = scenarios.len() - at;
                break;
            }
            let folder = tempfile::tempdir()
                .map_err(|error| EvalError::file(&std::env::temp_dir(), error))?;
            let dir = folder.path().join("snapshot");
            let made = simulate(scenario, architecture, *harmless, seed, *size, &dir);
            let failed = made.err().map(EvalError::from);
            for &ablation in ablations {
                let scored = match &failed {
                    None => {
                        investigate(&truth, architecture, &dir, ablation, method, folder.path())?
                    }
                    Some(error) => Err(EvalError::file(&dir, error)),
                };
                let (scored, reason) = match scored {
                    Ok(scored) => (Some(scored), String::new()),
                    Err(error) => (None, error.to_string()),
                };
                let scenario = scenario.name.clone();
                let case = SimulatedCase { scenario, seed, ablation, scored, reason };
                done(&case);
                cases.push(case);
            }
        }
        if not_scored > 0 {
            break;
        }
    }
    if cases.is_empty() && not_scored > 0 {
        return Err(EvalError::Stopped);
    }
    Ok(SimulatedReport::of(cases, seeds.clone().take(3).count(), not_scored))
}

/// Investigates a snapshot without one of its parts, which is put back afterwards.
fn investigate(
    truth: &GroundTruth,
    architecture: &Path,
    dir: &Path,
    ablation: Ablation,
    method: &Method,
    aside: &Path,
) -> Result<Result<ScenarioScore, EvalError>, EvalError> {
    if ablation == Ablation::Causes {
        return Ok(evaluate_knocked_out(dir, Some(architecture), truth, method, aside));
    }
    let moved = ablation.part().map(|part| (dir.join(part), aside.join("aside")));
    if let Some((from, to)) = &moved {
        std::fs::rename(from, to).map_err(|error| EvalError::file(from, error))?;
    }
    let mut method = method.clone();
    if let AnySettings::Eog(config) = &mut method.settings
        && ablation == Ablation::Messages
    {
        config.broadcast = false;
    }
    let scored = evaluate_snapshot(dir, Some(architecture), truth, &method);
    if let Some((from, to)) = &moved {
        std::fs::rename(to, from).map_err(|error| EvalError::file(from, error))?;
    }
    Ok(scored)
}

impl SimulatedReport {
    /// The report on these investigations, with k runs of each truth.
    pub(crate) fn of(cases: Vec<SimulatedCase>, k: usize, not_scored: usize) -> Self {
        let mut runs: BTreeMap<String, Vec<Option<OutputScore>>> = BTreeMap::new();
        for case in cases.iter().filter(|case| case.ablation == Ablation::Whole) {
            let scores = runs.entry(case.scenario.clone()).or_default();
            scores.push(case.scored.as_ref().map(|scored| scored.score.clone()));
        }
        let outcomes = |ablation: Ablation| -> Vec<Outcome> {
            let cases = cases.iter().filter(|case| case.ablation == ablation);
            cases.filter_map(|case| Some(case.scored.as_ref()?.outcome)).collect()
        };
        let calibration = Calibration::of(&outcomes(Ablation::Whole), &outcomes(Ablation::Causes));
        Self { runs: evaluate_runs(&runs, k), calibration, cases, not_scored }
    }

    /// Mean F1, precision and recall of root causes under an ablation; a case that could not be
    /// investigated scores 0. Nothing when there is no case.
    pub fn means(&self, ablation: Ablation) -> Option<(f64, f64, f64)> {
        let cases: Vec<_> = self.cases.iter().filter(|case| case.ablation == ablation).collect();
        let mean = |of: fn(&OutputScore) -> f64| {
            let scores = cases.iter().map(|c| c.scored.as_ref().map_or(0.0, |s| of(&s.score)));
            scores.sum::<f64>() / cases.len() as f64
        };
        (!cases.is_empty()).then(|| (mean(|s| s.f1), mean(|s| s.precision), mean(|s| s.recall)))
    }

    /// Mean F1 of each trivial ranking.
    pub fn baselines(&self) -> BTreeMap<&'static str, f64> {
        let mut sums: BTreeMap<&'static str, f64> = BTreeMap::new();
        let whole = self.cases.iter().filter(|case| case.ablation == Ablation::Whole);
        let mut count = 0_usize;
        for case in whole {
            count += 1;
            for trivial in case.scored.iter().flat_map(|scored| &scored.baselines) {
                *sums.entry(trivial.name).or_default() += trivial.f1;
            }
        }
        sums.into_iter().map(|(name, sum)| (name, sum / count.max(1) as f64)).collect()
    }

    /// How far the whole investigations came with each root cause.
    pub fn funnel(&self) -> FunnelShares {
        FunnelShares::of(self.whole().flat_map(|scored| scored.funnel.values().copied()))
    }

    /// How often the controller failed in the whole investigations.
    pub fn failures(&self) -> ModeTable {
        ModeTable::of(self.whole().map(|scored| &scored.failures))
    }

    /// The share of scenarios in which all seeds agree, under an ablation, on whether every root
    /// cause is found. Nothing when there is no scenario with several seeds.
    pub fn consistent(&self, ablation: Ablation) -> Option<f64> {
        let mut found: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
        for case in self.cases.iter().filter(|case| case.ablation == ablation) {
            let success = case.scored.as_ref().is_some_and(|scored| scored.score.is_success());
            found.entry(&case.scenario).or_default().push(success);
        }
        let agree = |runs: &&Vec<bool>| runs.iter().all(|run| Some(run) == runs.first());
        let several = !found.is_empty() && found.values().all(|runs| runs.len() > 1);
        several.then(|| found.values().filter(agree).count() as f64 / found.len() as f64)
    }

    fn whole(&self) -> impl Iterator<Item = &ScenarioScore> {
        let whole = self.cases.iter().filter(|case| case.ablation == Ablation::Whole);
        whole.filter_map(|case| case.scored.as_ref())
    }

    /// One row for each investigation.
    pub fn to_csv(&self) -> String {
        let mut header = vec![
            "scenario",
            "seed",
            "ablation",
            "precision",
            "recall",
            "f1",
            "propagation",
            "funnel",
            "confidence",
            "named",
            "milliseconds",
            "reason",
        ];
        header.extend(Outcome::COLUMNS);
        header.extend(Mode::ALL.map(Mode::column));
        let rows = self.cases.iter().map(|case| {
            let of = |pick: &dyn Fn(&ScenarioScore) -> String| {
                case.scored.as_ref().map_or_else(String::new, pick)
            };
            let mut row = vec![
                case.scenario.clone(),
                case.seed.to_string(),
                case.ablation.to_string(),
                of(&|s| number(s.score.precision)),
                of(&|s| number(s.score.recall)),
                of(&|s| number(s.score.f1)),
                of(&|s| s.score.propagation.map_or_else(String::new, number)),
                of(&|s| by_cause(&s.funnel)),
                of(&|s| format!("{:?}", s.confidence)),
                of(&|s| joined(&s.named)),
                of(&|s| number(s.millis)),
                case.reason.clone(),
            ];
            match &case.scored {
                Some(scored) => {
                    row.extend(scored.outcome.cells());
                    row.extend(scored.failures.cells());
                }
                None => {
                    row.extend(Outcome::COLUMNS.map(|_| String::new()));
                    row.extend(Mode::ALL.map(|_| String::new()));
                }
            }
            row
        });
        csv_text(&header, rows)
    }
}

impl fmt::Display for SimulatedReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "snapshots                  F1  precision  recall   consistent in all runs")?;
        for ablation in Ablation::ALL {
            if let Some((f1, precision, recall)) = self.means(ablation) {
                let agree =
                    self.consistent(ablation).map_or("-".into(), |share| format!("{share:.3}"));
                writeln!(
                    f,
                    "  {ablation:<18}  {f1:>7.3}  {precision:>9.3}  {recall:>6.3}  {agree:>23}"
                )?;
            }
        }
        writeln!(f, "trivial rankings (the first entity is named)")?;
        for (name, f1) in self.baselines() {
            writeln!(f, "  {name:<18}  {f1:>7.3}")?;
        }
        write!(f, "{}{}", self.funnel(), self.failures())?;
        let scored = self.cases.iter().filter_map(|case| case.scored.as_ref());
        if let Some(usage) = ModelUsage::of(scored.map(|scored| scored.usage)) {
            writeln!(f, "{usage}")?;
        }
        if let Some(runs) = &self.runs {
            write!(f, "over runs: {runs}")?;
        }
        if let Some(calibration) = &self.calibration {
            write!(f, "{calibration}")?;
        }
        for case in self.cases.iter().filter(|case| case.scored.is_none()) {
            let SimulatedCase { scenario, seed, ablation, reason, .. } = case;
            writeln!(f, "  {scenario}, run {seed}, {ablation}: {reason}")?;
        }
        for case in self.cases.iter().filter(|case| case.ablation == Ablation::Whole) {
            for note in case.scored.iter().flat_map(|scored| &scored.unknown_causes) {
                writeln!(f, "  note: {}, run {}: {note}", case.scenario, case.seed)?;
            }
        }
        if self.not_scored > 0 {
            let left = count(self.not_scored, "more truth is", "more truths are");
            writeln!(f, "note: stopped: {left} not scored")?;
        }
        Ok(())
    }
}
