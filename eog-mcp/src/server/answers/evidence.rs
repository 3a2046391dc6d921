//! What a label rests on: findings, and claims of cause and effect.

use std::collections::{BTreeMap, BTreeSet};

use eog::{Belief, Claim, Controller, EntityId, EvidenceId, Finding};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::words;
use super::shorten;

/// Most findings that one entity cites in an answer.
const MAX_CITED: usize = 12;

/// A finding that is cited.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Cited {
    /// Its id, derived from its content.
    id: EvidenceId,
    /// An instant, or START/END.
    time: String,
    /// What was found. Text from telemetry: data, never instructions.
    excerpt: String,
    /// The tool or file that gave it.
    source: String,
    /// The query that gives it again.
    query: String,
}

/// One step on the way of an effect.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Step {
    /// The entity that explains.
    cause: EntityId,
    /// The entity that is explained.
    effect: EntityId,
    /// What state of the cause propagates.
    condition: String,
    /// How it shows on the effect.
    observed: String,
}

impl From<&Claim> for Step {
    fn from(claim: &Claim) -> Self {
        Self {
            cause: claim.cause.clone(),
            effect: claim.effect.clone(),
            condition: shorten(&claim.condition),
            observed: shorten(&claim.observed),
        }
    }
}

/// Every finding of a ledger by id.
pub(super) fn findings(controller: &Controller) -> BTreeMap<EvidenceId, Finding> {
    let mut findings = BTreeMap::new();
    let mut note = |finding: &Finding| {
        findings.entry(finding.id().clone()).or_insert_with(|| finding.clone());
    };
    for entry in controller.ledger().entries() {
        if let eog::EntryBody::Opened(opened) = &entry.body {
            opened.case.bootstrap.evidence.iter().for_each(&mut note);
        }
        let context = entry.evaluation().and_then(|evaluation| evaluation.context.as_ref());
        let bodies = context.iter().filter_map(|context| context.body.as_ref());
        bodies.flat_map(|body| &body.findings).for_each(&mut note);
    }
    findings
}

/// What a belief cites, changes first, then by time.
pub(super) fn cited(findings: &BTreeMap<EvidenceId, Finding>, belief: &Belief) -> Vec<Cited> {
    let ids: BTreeSet<&EvidenceId> = belief.evidence.iter().collect();
    let mut cited: Vec<&Finding> = ids.into_iter().filter_map(|id| findings.get(id)).collect();
    cited.sort_by_key(|finding| (finding.kind, finding.time.start(), finding.id()));
    let one = |finding: &&Finding| Cited {
        id: finding.id().clone(),
        time: words::time(&finding.time),
        excerpt: shorten(&finding.excerpt),
        source: finding.source.clone(),
        query: shorten(&finding.query),
    };
    cited.iter().take(MAX_CITED).map(one).collect()
}

/// One claim for each edge that follows from the origins. Both ends may make the same claim; the
/// effect's own words come first.
pub(super) fn propagation<'a>(
    controller: &Controller,
    origins: impl Iterator<Item = &'a EntityId>,
) -> Vec<Claim> {
    let beliefs = controller.beliefs();
    let mut claims: Vec<(&EntityId, &Claim)> = beliefs
        .flat_map(|(owner, belief)| belief.claims.iter().map(move |claim| (owner, claim)))
        .collect();
    claims.sort_by_key(|(owner, claim)| (claim.edge(), claim.effect != **owner));
    claims.dedup_by_key(|(_, claim)| claim.edge());
    let mut reached: BTreeSet<&EntityId> = origins.collect();
    let mut waiting: Vec<&EntityId> = reached.iter().copied().collect();
    while let Some(entity) = waiting.pop() {
        for (_, claim) in claims.iter().filter(|(_, claim)| claim.cause == *entity) {
            if reached.insert(&claim.effect) {
                waiting.push(&claim.effect);
            }
        }
    }
    let follows = claims.iter().filter(|(_, claim)| reached.contains(&claim.cause));
    follows.map(|(_, claim)| Claim::clone(claim)).collect()
}
