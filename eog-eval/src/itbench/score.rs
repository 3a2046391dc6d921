//! What one output scores against the truth.

use std::collections::BTreeSet;

use serde::Serialize;

use super::named::NamedEntity;
use super::output::Output;
use super::truth::GroundTruth;

/// The largest k of entity@k.
const MAX_K: usize = 5;

/// What one output scores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputScore {
    /// How many entities are named as causes.
    pub predicted: usize,
    /// Correct of the predicted; 0 when nothing is predicted.
    pub precision: f64,
    /// Found of the root causes, a class of aliases counted once.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
    /// The same for the first k predictions, k from 1 to 5.
    pub at: Vec<AtK>,
    /// F1 over the propagations; nothing when the truth has none.
    pub propagation: Option<f64>,
    /// The public leaderboard's variant: the precision when every root cause is found, else 0.
    pub leaderboard: f64,
}

/// Scores of the first predictions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AtK {
    /// How many predictions are scored.
    pub k: usize,
    /// Correct of those scored.
    pub precision: f64,
    /// Found among them of the root causes.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
}

impl OutputScore {
    /// Whether every root cause is found.
    pub fn is_success(&self) -> bool {
        self.recall >= 1.0
    }
}

/// Scores an output. Any alias of a root cause counts as correct.
pub fn score(output: &Output, truth: &GroundTruth) -> OutputScore {
    let predicted: Vec<&NamedEntity> = output.predicted().collect();
    let all = first(&predicted, predicted.len(), truth);
    OutputScore {
        predicted: predicted.len(),
        precision: all.precision,
        recall: all.recall,
        f1: all.f1,
        at: (1..=MAX_K).map(|k| first(&predicted, k, truth)).collect(),
        propagation: propagation(output, truth),
        leaderboard: if all.recall >= 1.0 { all.precision } else { 0.0 },
    }
}

fn first(predicted: &[&NamedEntity], k: usize, truth: &GroundTruth) -> AtK {
    let top = predicted.iter().take(k);
    let roots = truth.root_causes();
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut correct = 0;
    for entity in top.clone() {
        let hit: Vec<&str> = truth.classes_of(entity).intersection(&roots).copied().collect();
        correct += usize::from(!hit.is_empty());
        found.extend(hit);
    }
    let share =
        |part: usize, whole: usize| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let precision = share(correct, top.len());
    let recall = share(found.len(), roots.len());
    AtK { k, precision, recall, f1: harmonic(precision, recall) }
}

/// F1 over edges between classes of aliases; edges within a class are left out. An end that
/// belongs to no group makes an edge wrong; equal edges count once.
fn propagation(output: &Output, truth: &GroundTruth) -> Option<f64> {
    let wanted: BTreeSet<(&str, &str)> = truth
        .propagations
        .iter()
        .map(|(source, target)| (truth.class(source), truth.class(target)))
        .filter(|(source, target)| source != target)
        .collect();
    if wanted.is_empty() {
        return None;
    }
    let mut edges: BTreeSet<(End<'_>, End<'_>)> = BTreeSet::new();
    for (source, target) in &output.propagations {
        let edge = (End::of(source, truth), End::of(target, truth));
        if edge.0 != edge.1 {
            edges.insert(edge);
        }
    }
    let mut found = BTreeSet::new();
    let mut correct = 0;
    for (source, target) in &edges {
        let pairs = source.classes().flat_map(|s| target.classes().map(move |t| (s, t)));
        let hits: Vec<_> = pairs.filter(|pair| wanted.contains(pair)).collect();
        correct += usize::from(!hits.is_empty());
        found.extend(hits);
    }
    let precision = if edges.is_empty() { 0.0 } else { correct as f64 / edges.len() as f64 };
    Some(harmonic(precision, found.len() as f64 / wanted.len() as f64))
}

/// One end of a predicted edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End<'a> {
    Known(BTreeSet<&'a str>),
    Unknown(&'a NamedEntity),
}

impl<'a> End<'a> {
    fn of(entity: &'a NamedEntity, truth: &'a GroundTruth) -> Self {
        let classes = truth.best_classes_of(entity);
        if classes.is_empty() { Self::Unknown(entity) } else { Self::Known(classes) }
    }

    fn classes(&self) -> impl Iterator<Item = &'a str> {
        let known = match self {
            Self::Known(classes) => Some(classes.iter().copied().collect::<Vec<_>>()),
            Self::Unknown(_) => None,
        };
        known.into_iter().flatten()
    }
}

fn harmonic(precision: f64, recall: f64) -> f64 {
    let sum = precision + recall;
    if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 }
}
