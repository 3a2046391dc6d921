//! Scores of one case.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use eog::{Confidence, EntityId, Usage};
use eog_session::source::{OfBundle, Opened};
use serde::Serialize;

use super::Options;
use super::case::SuiteCase;
use crate::baro;
use crate::baselines::baselines_with;
use crate::calibration::Outcome;
use crate::error::EvalError;
use crate::fit::excess_ranking;
use crate::funnel::{Funnel, funnel};
use crate::investigation::{Investigation, investigate_source};
use crate::near::nearest;
use crate::ranking::Ranking;
use crate::scan::Scan;
use crate::trajectory::{Counts, Trajectory};

/// What one case scored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseScore {
    /// The case.
    pub name: String,
    /// The group that it is reported with.
    pub group: String,
    /// The true causes; none for a normal time.
    pub causes: BTreeSet<EntityId>,
    /// The causes that the investigation named.
    pub named: BTreeSet<EntityId>,
    /// How sure it was.
    pub confidence: Confidence,
    /// What it said, and whether that was right.
    pub outcome: Outcome,
    /// The same without the causes; nothing where they were not taken out.
    pub knocked_out: Option<Outcome>,
    /// The suspects of its report in tiers, best first; those of one tier are tied.
    pub suspects: Vec<Vec<EntityId>>,
    /// Scores of the suspects; nothing for a normal time.
    pub ranked: Option<RankScore>,
    /// Precision, recall and F1 of the named causes as a set; for a normal time 1 when nothing is
    /// named, else 0.
    pub set: SetScore,
    /// How far the investigation came with each cause.
    pub funnel: BTreeMap<EntityId, Funnel>,
    /// How often the controller failed, after MAST.
    pub failures: Counts,
    /// What every run named, the first included; all other scores are of the first run.
    pub runs: Vec<BTreeSet<EntityId>>,
    /// What every run asked of models.
    pub usage: Vec<Usage>,
    /// What is odd about its truth; empty when nothing is.
    pub notes: Vec<String>,
    /// The same scores for trivial rankings.
    pub baselines: Vec<BaselineScore>,
    /// How many times an entity was judged.
    pub evaluations: usize,
    /// From the bundle in memory to the conclusion, in milliseconds.
    pub millis: f64,
}

/// Scores of a ranking, expected over ties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RankScore {
    /// Whether a cause comes first.
    pub top1: f64,
    /// Whether a cause is among the first three.
    pub top3: f64,
    /// Whether a cause is among the first five.
    pub top5: f64,
    /// The share of causes among as many places as there are causes.
    pub precision: f64,
    /// Average precision.
    pub average_precision: f64,
}

/// Scores of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SetScore {
    /// Correct of the named.
    pub precision: f64,
    /// Named of the true.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
}

/// Scores of a trivial ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BaselineScore {
    /// Which one.
    pub name: &'static str,
    /// What it scored.
    pub ranked: RankScore,
}

/// Investigates one case as often as the options say, the first time in the default order of
/// evaluation and then in permuted ones, and scores the first run; then without its causes, where
/// the case has such an incident.
///
/// # Errors
/// [`EvalError::Case`] when there is nothing to start from, [`EvalError::Ledger`] when a ledger
/// cannot be written.
pub fn score_case(case: SuiteCase, options: &Options) -> Result<CaseScore, EvalError> {
    let SuiteCase { name, bundle, truth, truth_file, knocked_out } = case;
    let failed =
        |error: EvalError| EvalError::Case { case: name.clone(), reason: error.to_string() };
    let scan = (Scan::of(&bundle), baro::ranking(&bundle));
    let known = !truth.causes.is_empty();
    let excess = known.then(|| excess_ranking(&name, bundle.clone())).transpose();
    let begun = Instant::now();
    let source = Opened::new("", OfBundle::new(bundle));
    let ended = investigate_source(&source, &options.method).map_err(failed)?;
    let took = begun.elapsed();
    let mut all_named = vec![ended.named()];
    let mut usage = vec![ended.diagnosis.spent.usage];
    for run in 2..=options.runs {
        let other = investigate_source(&source, &options.method.of_run(run)).map_err(failed)?;
        usage.push(other.diagnosis.spent.usage);
        all_named.push(other.named());
    }
    keep_ledger(options, &name, &ended)?;
    let without = knocked_out
        .map(|bundle| Opened::new("", OfBundle::new(bundle)))
        .map(|source| investigate_source(&source, &options.method).map_err(failed))
        .transpose()?;
    if let Some(without) = &without {
        keep_ledger(options, &format!("{name}.knocked-out"), without)?;
    }
    let is_cause = |entity: &EntityId| truth.causes.contains(entity);
    let knocked_out = without.map(|without| Outcome::knocked_out(&without, is_cause));
    let mut notes = unknown_causes(&ended, &truth.causes, truth_file.as_deref());
    if options.knock_out && knocked_out.is_none() && !truth.causes.is_empty() {
        notes.push(format!("{name}: not knocked out, nothing of its causes is on record"));
    }
    let suspects = ended.suspects();
    let trivial = if known { baselines_with(&ended.case, &source, Some(scan)) } else { Vec::new() };
    // Where there is nothing to start from the investigation has failed with that before.
    let excess = excess.ok().flatten().map(|ranking| ("excess", ranking));
    let trivial = trivial
        .into_iter()
        .chain(excess)
        .map(|(name, ranking)| BaselineScore {
            name,
            ranked: RankScore::of(&ranking, &truth.causes),
        })
        .collect();
    let trajectory = Trajectory::of_investigation(&ended, &name)?;
    let causes = truth.causes.iter().map(ToString::to_string).collect();
    Ok(CaseScore {
        name,
        group: truth.group,
        ranked: known.then(|| RankScore::of(&suspects, &truth.causes)),
        set: SetScore::of(&ended.named(), &truth.causes),
        failures: Counts::of(&trajectory, Some(&causes)),
        runs: all_named,
        usage,
        notes,
        funnel: truth.causes.iter().map(|cause| (cause.clone(), funnel(&ended, cause))).collect(),
        named: ended.named(),
        confidence: ended.diagnosis.conclusion.confidence,
        outcome: Outcome::of_set(&ended, &truth.causes),
        knocked_out,
        suspects: suspects.tiers().to_vec(),
        causes: truth.causes,
        baselines: trivial,
        evaluations: ended.diagnosis.spent.evaluations as usize,
        millis: took.as_secs_f64() * 1e3,
    })
}

/// Writes the ledger of an investigation, where ledgers are kept.
fn keep_ledger(options: &Options, name: &str, ended: &Investigation) -> Result<(), EvalError> {
    let Some(out) = &options.out else { return Ok(()) };
    let path = out.join(format!("{}.jsonl", name.replace(['/', '\\'], "-")));
    std::fs::write(&path, ended.finished.to_json_lines())
        .map_err(|error| EvalError::Ledger { reason: error.to_string(), path })
}

impl CaseScore {
    /// Whether a run, by what it named, found every cause; for a normal time, whether it named
    /// nothing.
    pub fn is_success(&self, named: &BTreeSet<EntityId>) -> bool {
        if self.causes.is_empty() { named.is_empty() } else { self.causes.is_subset(named) }
    }

    /// How many runs succeeded.
    pub fn successes(&self) -> usize {
        self.runs.iter().filter(|named| self.is_success(named)).count()
    }

    /// Whether all runs agree on whether they succeeded.
    pub fn is_consistent(&self) -> bool {
        [0, self.runs.len()].contains(&self.successes())
    }
}

/// Causes that no part of the incident speaks of, which no investigation can name: most often a
/// slip of the pen.
fn unknown_causes(
    ended: &Investigation,
    causes: &BTreeSet<EntityId>,
    file: Option<&Path>,
) -> Vec<String> {
    let alerting = ended.case.anomalies.iter().map(|alert| &alert.entity);
    let judged = ended.diagnosis.beliefs.keys();
    let known: BTreeSet<&EntityId> =
        ended.case.topology.entities().chain(alerting).chain(judged).collect();
    let unknown = causes.iter().filter(|cause| !known.contains(cause));
    let place = file.map_or_else(String::new, |file| format!("{}: ", file.display()));
    let warning = |cause: &EntityId| {
        let names = known.iter().map(|entity| entity.as_str());
        let near = nearest(cause.as_str(), names);
        format!(
            "{place}the incident has no entity {:?}, so this cause counts as missed{near}",
            cause.as_str()
        )
    };
    unknown.map(warning).collect()
}

impl RankScore {
    /// Scores of a ranking against the true causes.
    pub fn of(ranking: &Ranking, truth: &BTreeSet<EntityId>) -> Self {
        Self {
            top1: ranking.hit_at(1, truth),
            top3: ranking.hit_at(3, truth),
            top5: ranking.hit_at(5, truth),
            precision: ranking.precision_at(truth.len(), truth),
            average_precision: ranking.average_precision(truth),
        }
    }
}

impl SetScore {
    /// Scores of a set against the true one. Two empty sets agree.
    pub fn of(named: &BTreeSet<EntityId>, truth: &BTreeSet<EntityId>) -> Self {
        if named.is_empty() && truth.is_empty() {
            return Self { precision: 1.0, recall: 1.0, f1: 1.0 };
        }
        let correct = named.intersection(truth).count() as f64;
        let share = |whole: usize| if whole == 0 { 0.0 } else { correct / whole as f64 };
        let (precision, recall) = (share(named.len()), share(truth.len()));
        let sum = precision + recall;
        let f1 = if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 };
        Self { precision, recall, f1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_compared_as_sets() {
        let set = |names: &str| -> BTreeSet<EntityId> {
            names.split_terminator(' ').map(|name| EntityId::new(name).unwrap()).collect()
        };
        let cases = [
            ("a b", "a b", [1.0, 1.0, 1.0]),
            ("a c", "a b", [0.5, 0.5, 0.5]),
            ("a", "a b", [1.0, 0.5, 2.0 / 3.0]),
            ("", "a", [0.0, 0.0, 0.0]),
            ("a", "", [0.0, 0.0, 0.0]),
            ("", "", [1.0, 1.0, 1.0]),
        ];
        for (named, truth, [precision, recall, f1]) in cases {
            let score = SetScore::of(&set(named), &set(truth));
            assert_eq!(score, SetScore { precision, recall, f1 }, "{named} / {truth}");
        }
    }
}
