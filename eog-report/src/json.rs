//! The whole result for programs.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::contract::{Alternative, Term};
use eog_core::diagnosis::{ConsideredChange, ForkTaken, Prediction, Unnamed};
use eog_core::incident::{Bootstrap, Unusable};
use eog_core::{
    Anomaly, Belief, Claim, Conclusion, Diagnosis, Digest, EntityId, Finding, Spent, StopReason,
    Window,
};
use serde::Serialize;
use serde_json::Value;

use crate::clean::escape_json;
use crate::narrative::Narrative;
use crate::report::{Report, RunFigures, SimilarCase};

/// The version of this format.
const VERSION: u32 = 1;
/// Changes, and entities, listed of those that were considered and are not named.
const MAX_CONSIDERED: usize = 1_000;
/// Entities listed that should be checked next.
const MAX_NEXT: usize = 10;

#[derive(Serialize)]
struct ResultFile<'r> {
    format: &'static str,
    version: u32,
    name: &'r str,
    window: Window,
    window_reason: &'r str,
    /// Left out where all of the input could be used.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unusable: &'r [Unusable],
    stop: StopReason,
    forks: Vec<Fork<'r>>,
    conclusion: &'r Conclusion,
    /// What should end with each named cause, in the order of the frontier; left out if none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    predictions: Vec<Prediction>,
    /// The next suspects, best first; left out if there are none, or if nothing is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next_suspects: Vec<&'r EntityId>,
    /// Closed incidents like it; left out if there are none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    similar_incidents: &'r [SimilarCase],
    /// Left out where nothing was considered.
    #[serde(skip_serializing_if = "AlsoConsidered::is_empty")]
    also_considered: AlsoConsidered<'r>,
    narrative: &'r Narrative,
    anomalies: &'r [Anomaly],
    causal_claims: &'r [Claim],
    beliefs: &'r BTreeMap<EntityId, Belief>,
    /// Which of them are on outside systems; left out if none are.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    outside: &'r BTreeSet<EntityId>,
    /// The largest weights of evidence behind each belief; left out where the policy gives none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    weights: BTreeMap<&'r EntityId, &'r [Term]>,
    evidence: Vec<&'r Finding>,
    spent: Spent,
    /// Not in a replay, which makes no calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunFigures>,
    failures: Vec<String>,
    refusals: Vec<String>,
    ignored: &'r [String],
    warnings: &'r [String],
}

/// What was considered and is not named, with why.
#[derive(Serialize)]
struct AlsoConsidered<'r> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    alternatives: Vec<OtherExplanation<'r>>,
    changes: &'r [ConsideredChange],
    entities: &'r [Unnamed],
    /// How many there are beyond those listed.
    more: usize,
}

/// Another explanation that the policy left open for an entity that is named, or that is the best guess.
#[derive(Serialize)]
struct OtherExplanation<'r> {
    instead_of: &'r EntityId,
    #[serde(flatten)]
    explanation: &'r Alternative,
}

impl<'r> AlsoConsidered<'r> {
    fn of(report: &'r Report) -> Self {
        let diagnosis = &report.diagnosis;
        let alternatives = report.alternatives();
        let (changes, entities) = (&diagnosis.considered, &diagnosis.unnamed);
        let cut = |length: usize| length.min(MAX_CONSIDERED);
        Self {
            alternatives: alternatives
                .map(|(instead_of, explanation)| OtherExplanation { instead_of, explanation })
                .collect(),
            changes: &changes[..cut(changes.len())],
            entities: &entities[..cut(entities.len())],
            more: changes.len() - cut(changes.len()) + entities.len() - cut(entities.len()),
        }
    }

    fn is_empty(&self) -> bool {
        self.alternatives.is_empty() && self.changes.is_empty() && self.entities.is_empty()
    }
}

/// A place where a ledger forked from the one it was copied from.
#[derive(Serialize)]
struct Fork<'r> {
    at: u64,
    parent: Digest,
    policy: Option<&'r str>,
    settings: Vec<Setting>,
}

#[derive(Serialize)]
struct Setting {
    name: String,
    from: Value,
    to: Value,
}

impl<'r> From<&'r ForkTaken> for Fork<'r> {
    fn from(fork: &'r ForkTaken) -> Self {
        let changed = fork.changed_settings().into_iter();
        Self {
            at: fork.at,
            parent: fork.parent,
            policy: fork.policy.as_deref(),
            settings: changed
                .map(|it| Setting { name: it.name, from: it.from, to: it.to })
                .collect(),
        }
    }
}

/// Conclusion, beliefs, cited evidence and cost as indented JSON.
pub fn json(report: &Report) -> String {
    let diagnosis = &report.diagnosis;
    let Bootstrap { window_reason, ignored, warnings, unusable, .. } = &diagnosis.bootstrap;
    pretty(&ResultFile {
        format: "eog-result",
        version: VERSION,
        name: &report.name,
        window: diagnosis.window,
        window_reason,
        unusable,
        stop: report.stop,
        forks: diagnosis.forks.iter().map(Fork::from).collect(),
        conclusion: &diagnosis.conclusion,
        predictions: diagnosis.predictions(),
        next_suspects: diagnosis.next_suspects().take(MAX_NEXT).map(|it| &it.entity).collect(),
        similar_incidents: &report.similar,
        also_considered: AlsoConsidered::of(report),
        narrative: &report.narrative,
        anomalies: &diagnosis.anomalies,
        causal_claims: &diagnosis.causal,
        beliefs: &diagnosis.beliefs,
        outside: &diagnosis.outside,
        weights: weights(diagnosis),
        evidence: report.evidence(),
        spent: diagnosis.spent,
        run: report.run,
        failures: report.failures(),
        refusals: report.refusals(),
        ignored,
        warnings,
    })
}

fn weights(diagnosis: &Diagnosis) -> BTreeMap<&EntityId, &[Term]> {
    let given = diagnosis.terms.iter().filter(|(_, terms)| !terms.is_empty());
    given.map(|(entity, terms)| (entity, terms.as_slice())).collect()
}

/// Indented JSON with a final newline, of a value with string keys and finite numbers alone. Characters
/// that could harm a terminal are escaped.
///
/// # Panics
/// When the value is none of these.
pub fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value)
        .unwrap_or_else(|error| unreachable!("the result is JSON: {error}"));
    text.push('\n');
    escape_json(&text)
}
