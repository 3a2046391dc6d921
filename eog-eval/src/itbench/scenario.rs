//! Our own investigation of a snapshot, scored like any other output.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use eog::{Confidence, EntityId, Usage};
use eog_session::source::{OfSnapshot, Opened, ReadOptions};
use serde::Serialize;

use super::named::NamedEntity;
use super::output::Output;
use super::score::{OutputScore, score};
use super::truth::GroundTruth;
use crate::baselines::baselines;
use crate::calibration::Outcome;
use crate::error::EvalError;
use crate::funnel::{Funnel, funnel};
use crate::investigation::{Investigation, Method, investigate_source};
use crate::knockout::snapshot_without_cause;
use crate::near::nearest;
use crate::trajectory::{Counts, Trajectory};

/// What one investigation of a snapshot scored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenarioScore {
    /// The causes that it named, in the order of its report.
    pub named: Vec<EntityId>,
    /// How sure it was.
    pub confidence: Confidence,
    /// What its output scores.
    pub score: OutputScore,
    /// For each root cause how far the investigation came with it: of all entities that stand for
    /// the cause the one with which it came farthest.
    pub funnel: BTreeMap<String, Funnel>,
    /// Root causes that no entity of the snapshot stands for, which no answer can name, in words.
    pub unknown_causes: Vec<String>,
    /// What it said, and whether that was right.
    pub outcome: Outcome,
    /// How often the controller failed, after MAST.
    pub failures: Counts,
    /// What naming the first of a trivial ranking scores.
    pub baselines: Vec<BaselineScenario>,
    /// What it asked of models.
    pub usage: Usage,
    /// From the snapshot in memory to the conclusion, in milliseconds.
    pub millis: f64,
}

/// What naming the first of a trivial ranking scores, expected over ties.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BaselineScenario {
    /// Which ranking.
    pub name: &'static str,
    /// Correct or not.
    pub precision: f64,
    /// Found of the root causes.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
}

/// Investigates a snapshot with the evidence policy and these rules of the controller, and scores
/// the result. The truth is used for scoring alone.
///
/// # Errors
/// [`EvalError`] when the snapshot cannot be read or there is nothing to start from.
pub fn evaluate_snapshot(
    dir: &Path,
    architecture: Option<&Path>,
    truth: &GroundTruth,
    method: &Method,
) -> Result<ScenarioScore, EvalError> {
    Ok(evaluate_with(dir, architecture, truth, method)?.0)
}

/// Takes the root causes out of a copy of a snapshot, investigates that, and scores the result: the
/// outcome is that of a knock-out. `aside` is a folder for the copy, which is removed afterwards.
///
/// # Errors
/// [`EvalError`] as [`evaluate_snapshot`], and when nothing of the root causes is on record.
pub fn evaluate_knocked_out(
    dir: &Path,
    architecture: Option<&Path>,
    truth: &GroundTruth,
    method: &Method,
    aside: &Path,
) -> Result<ScenarioScore, EvalError> {
    let copy = aside.join("knocked-out");
    let scored = match snapshot_without_cause(dir, truth, &copy) {
        Ok(0) => Err(EvalError::Case {
            case: dir.display().to_string(),
            reason: "nothing of the root causes is on record, so nothing can be knocked out".into(),
        }),
        Ok(_) => evaluate_with(&copy, architecture, truth, method),
        Err(error) => Err(error),
    };
    if copy.is_dir() {
        std::fs::remove_dir_all(&copy).map_err(|error| EvalError::file(&copy, error))?;
    }
    let (score, ended) = scored?;
    let roots = truth.root_causes();
    let is_cause = |entity: &EntityId| {
        !truth.classes_of(&NamedEntity::parse(entity.as_str())).is_disjoint(&roots)
    };
    Ok(ScenarioScore { outcome: Outcome::knocked_out(&ended, is_cause), ..score })
}

fn evaluate_with(
    dir: &Path,
    architecture: Option<&Path>,
    truth: &GroundTruth,
    method: &Method,
) -> Result<(ScenarioScore, Investigation), EvalError> {
    let options =
        ReadOptions { architecture: architecture.map(Path::to_owned), ..ReadOptions::default() };
    let source = OfSnapshot::open(dir, &options).map_err(|error| EvalError::file(dir, error))?;
    let source = Opened::new(dir, source);
    let ended = investigate_source(&source, method)?;

    let named = ended.named();
    let suspects = ended.suspects();
    let ordered: Vec<EntityId> =
        suspects.entities().filter(|entity| named.contains(*entity)).cloned().collect();
    let output = Output::of_investigation(&ordered, &ended.claims());

    let known: BTreeSet<&EntityId> =
        ended.case.topology.entities().chain(ended.diagnosis.beliefs.keys()).collect();
    let stands_for = |entity: &EntityId, class: &str| {
        truth.classes_of(&NamedEntity::parse(entity.as_str())).contains(class)
    };
    let farthest = |class: &str| {
        let standing = known.iter().filter(|entity| stands_for(entity, class));
        standing.map(|entity| funnel(&ended, entity)).max().unwrap_or(Funnel::Unreachable)
    };
    let is_unknown = |class: &&str| !known.iter().any(|entity| stands_for(entity, class));
    let unknown_causes = truth.root_causes().into_iter().filter(is_unknown).map(|class| {
        let names =
            known.iter().map(|entity| entity.as_str().rsplit('/').next().unwrap_or_default());
        let near = nearest(class, names.collect::<BTreeSet<_>>());
        format!("the snapshot has no entity for the root cause {class}{near}")
    });
    let trivial = baselines(&ended.case, &source).into_iter().map(|(name, ranking)| {
        let tied = ranking.tiers().first().map_or(&[][..], Vec::as_slice);
        let scores: Vec<OutputScore> =
            tied.iter().map(|one| score(&Output::of_investigation([one], &[]), truth)).collect();
        let mean = |of: fn(&OutputScore) -> f64| {
            scores.iter().map(of).sum::<f64>() / scores.len().max(1) as f64
        };
        BaselineScenario {
            name,
            precision: mean(|s| s.precision),
            recall: mean(|s| s.recall),
            f1: mean(|s| s.f1),
        }
    });
    let roots = truth.root_causes();
    let is_cause = |entity: &EntityId| {
        !truth.classes_of(&NamedEntity::parse(entity.as_str())).is_disjoint(&roots)
    };
    let trajectory = Trajectory::of_investigation(&ended, &dir.display().to_string())?;
    let names_cause = |name: &&String| EntityId::new(name.as_str()).is_ok_and(|it| is_cause(&it));
    let causes = trajectory.named.iter().filter(names_cause).cloned().collect();
    let score = ScenarioScore {
        unknown_causes: unknown_causes.collect(),
        outcome: Outcome::of(&ended, is_cause, !roots.is_empty()),
        failures: Counts::of(&trajectory, Some(&causes)),
        score: score(&output, truth),
        funnel: truth
            .root_causes()
            .into_iter()
            .map(|class| (class.to_owned(), farthest(class)))
            .collect(),
        baselines: trivial.collect(),
        named: ordered,
        confidence: ended.diagnosis.conclusion.confidence,
        usage: ended.diagnosis.spent.usage,
        millis: ended.took.as_secs_f64() * 1e3,
    };
    Ok((score, ended))
}
