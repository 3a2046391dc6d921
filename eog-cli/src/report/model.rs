//! What every form of the report shows, gathered once.

use std::collections::{BTreeMap, BTreeSet};

use super::course::{self, Fork};
use super::words;
use eog::{
    Anomaly, Belief, Claim, Conclusion, Confidence, EntityId, EvidenceId, Finding, Finished, Label,
    OriginGroup, RecordedAnswer, Spent, StopReason, Window,
};
use serde::Serialize;

/// The result of an investigation with everything that explains it.
pub(crate) struct Report {
    pub(crate) name: String,
    pub(crate) window: Window,
    pub(crate) window_reason: String,
    pub(crate) stop: StopReason,
    /// Whether it stopped because its journal took no more.
    pub(crate) is_unstored: bool,
    /// Where the ledger left those it was copied from.
    pub(crate) forks: Vec<Fork>,
    /// What the run did beside the result, unless this is a replay.
    pub(crate) run: Option<RunFigures>,
    pub(crate) conclusion: Conclusion,
    pub(crate) spent: Spent,
    pub(crate) anomalies: Vec<Anomaly>,
    pub(crate) ignored: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// Evaluations without a context or decision, each with the reason.
    pub(crate) failures: Vec<String>,
    /// What was not taken over from decisions, by entity, each kind once.
    pub(crate) refusals: Vec<String>,
    pub(crate) beliefs: BTreeMap<EntityId, Belief>,
    pub(crate) findings: BTreeMap<EvidenceId, Finding>,
    pub(crate) entities: usize,
    /// The live claims that follow from an explaining origin, by cause and effect.
    pub(crate) causal: Vec<Claim>,
    /// Every live claim.
    pub(crate) claims: Vec<Claim>,
}

/// What a run did beside the result. Differs from run to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct RunFigures {
    /// Policy calls that `--speculate` made ahead of their turn.
    pub(crate) early_calls: u64,
    /// Those whose answer was used.
    pub(crate) used_calls: u64,
    /// Those whose answer was not.
    pub(crate) wasted_calls: u64,
    /// Fetches of evidence made ahead of their turn and not used.
    pub(crate) wasted_fetches: u64,
    /// Attempts after failures that may pass.
    pub(crate) retries: u64,
}

impl Report {
    /// The report of a run that was made just now.
    pub(crate) fn of_run(name: String, finished: &Finished) -> Self {
        let speculation = finished.speculation;
        let run = RunFigures {
            early_calls: speculation.early_calls,
            used_calls: speculation.used_calls,
            wasted_calls: speculation.wasted_calls,
            wasted_fetches: speculation.wasted_fetches,
            retries: finished.retries,
        };
        Self { run: Some(run), ..Self::new(name, finished) }
    }

    pub(crate) fn new(name: String, finished: &Finished) -> Self {
        let controller = &finished.controller;
        let conclusion = controller.conclusion();
        let mut findings = BTreeMap::new();
        let mut note = |finding: &Finding| {
            findings.entry(finding.id().clone()).or_insert_with(|| finding.clone());
        };
        let mut window_reason = String::new();
        let mut ignored = Vec::new();
        let mut warnings = Vec::new();
        let mut window = None;
        let mut failures = Vec::new();
        let mut refusals = Vec::new();
        for entry in controller.ledger().entries() {
            if let eog::EntryBody::Opened(opened) = &entry.body {
                let bootstrap = &opened.case.bootstrap;
                window = Some(opened.case.window);
                window_reason.clone_from(&bootstrap.window_reason);
                ignored.clone_from(&bootstrap.ignored);
                warnings.clone_from(&bootstrap.warnings);
                bootstrap.evidence.iter().for_each(&mut note);
            }
            if let Some(evaluation) = entry.evaluation() {
                if let RecordedAnswer::Failed(failure) = &evaluation.answer {
                    failures.push(format!("entry {}: {}: {failure}", entry.seq, evaluation.entity));
                }
                for refusal in &evaluation.refusals {
                    if let Some(words) = words::refusal(refusal) {
                        let refusal = format!("{}: {words}", evaluation.entity);
                        if !refusals.contains(&refusal) {
                            refusals.push(refusal);
                        }
                    }
                }
            }
            let context = entry.evaluation().and_then(|evaluation| evaluation.context.as_ref());
            for finding in context.iter().filter_map(|c| c.body.as_ref()).flat_map(|c| &c.findings)
            {
                note(finding);
            }
        }
        let beliefs: BTreeMap<EntityId, Belief> =
            controller.beliefs().map(|(entity, belief)| (entity.clone(), belief.clone())).collect();
        let claims = live_claims(&beliefs);
        let causal = causal_claims(&conclusion, &claims);
        Self {
            name,
            window: window.unwrap_or_else(|| unreachable!("every ledger opens with its case")),
            window_reason,
            stop: finished.stop,
            is_unstored: finished.journal_error.is_some(),
            forks: course::forks(controller.ledger()),
            run: None,
            spent: finished.spent(),
            anomalies: controller.anomalies().to_vec(),
            ignored,
            warnings,
            failures,
            refusals,
            findings,
            entities: controller.topology().entities().len(),
            causal,
            claims,
            conclusion,
            beliefs,
        }
    }

    /// Whether not a single evaluation led to a decision.
    pub(crate) fn nothing_was_decided(&self) -> bool {
        self.spent.evaluations > 0 && self.spent.failures == self.spent.evaluations
    }

    /// What a reader should know beside the result, most important first.
    pub(crate) fn notes(&self) -> Vec<String> {
        let conclusion = &self.conclusion;
        let mut notes = self.failures.clone();
        let mut list = |what: &str, entities: &[EntityId]| {
            if !entities.is_empty() {
                notes.push(format!("{what}: {}", words::list(entities)));
            }
        };
        list("not evaluated successfully, or not again", &conclusion.stale);
        list("changed too often, set to Defer", &conclusion.damped);
        list("have messages they were not evaluated with", &conclusion.unread);
        notes.extend(self.refusals.iter().cloned());
        notes.extend(self.ignored.iter().map(|ignored| format!("left out: {ignored}")));
        notes.extend(self.warnings.iter().cloned());
        notes
    }

    /// Whether an origin was found that explains at least one alert.
    pub(crate) fn is_diagnosed(&self) -> bool {
        self.conclusion.confidence != Confidence::Inconclusive
    }

    /// The groups of the frontier that explain something.
    pub(crate) fn causes(&self) -> impl Iterator<Item = &OriginGroup> {
        self.conclusion.frontier.iter().filter(|group| !group.covers.is_empty())
    }

    /// The groups of the frontier that explain nothing.
    pub(crate) fn unlinked(&self) -> impl Iterator<Item = &OriginGroup> {
        self.conclusion.frontier.iter().filter(|group| group.covers.is_empty())
    }

    /// The findings that a belief cites, changes first, then by time.
    pub(crate) fn cited(&self, belief: &Belief) -> Vec<&Finding> {
        self.lookup(&belief.evidence)
    }

    /// The findings behind ids, changes first, then by time. Ids of findings that no context of
    /// this run held are left out.
    pub(crate) fn lookup(&self, ids: &[EvidenceId]) -> Vec<&Finding> {
        let unique: BTreeSet<&EvidenceId> = ids.iter().collect();
        let mut findings: Vec<&Finding> =
            unique.into_iter().filter_map(|id| self.findings.get(id)).collect();
        findings.sort_by_key(|finding| (finding.kind, finding.time.start(), finding.id().clone()));
        findings
    }

    /// The groups that cover an anomaly.
    pub(crate) fn explained_by(&self, anomaly: usize) -> Vec<&OriginGroup> {
        self.causes().filter(|group| group.covers.contains(&anomaly)).collect()
    }

    /// Entities on a causal path, origins first, then by name.
    pub(crate) fn involved(&self) -> Vec<&EntityId> {
        let origins: BTreeSet<&EntityId> = self.causes().flat_map(|group| &group.origins).collect();
        let ends = self.causal.iter().flat_map(|claim| [&claim.cause, &claim.effect]);
        let symptoms = self.beliefs.iter().filter(|(_, belief)| belief.label == Label::Symptom);
        let alerting = self.anomalies.iter().map(|anomaly| &anomaly.entity);
        let others: BTreeSet<&EntityId> =
            ends.chain(symptoms.map(|(entity, _)| entity)).chain(alerting).collect();
        origins.iter().copied().chain(others.difference(&origins).copied()).collect()
    }
}

/// Every live claim, by cause and effect. Both ends may make the same claim; the effect's own words
/// come first.
fn live_claims(beliefs: &BTreeMap<EntityId, Belief>) -> Vec<Claim> {
    let mut owned: Vec<(&EntityId, &Claim)> = beliefs
        .iter()
        .flat_map(|(owner, belief)| belief.claims.iter().map(move |claim| (owner, claim)))
        .collect();
    owned.sort_by_key(|(owner, claim)| (claim.edge(), claim.effect != **owner));
    owned.into_iter().map(|(_, claim)| claim.clone()).collect()
}

/// One claim for each edge that follows from an explaining origin.
fn causal_claims(conclusion: &Conclusion, claims: &[Claim]) -> Vec<Claim> {
    let explaining = conclusion.frontier.iter().filter(|group| !group.covers.is_empty());
    let reached = closure(explaining.flat_map(|group| group.origins.clone()), claims);
    let mut causal: Vec<Claim> =
        claims.iter().filter(|claim| reached.contains(&claim.cause)).cloned().collect();
    causal.dedup_by_key(|claim| claim.edge());
    causal
}

/// Everything reached over claims, the start included.
fn closure(start: impl Iterator<Item = EntityId>, claims: &[Claim]) -> BTreeSet<EntityId> {
    let mut reached: BTreeSet<EntityId> = start.collect();
    let mut queue: Vec<EntityId> = reached.iter().cloned().collect();
    while let Some(entity) = queue.pop() {
        for claim in claims.iter().filter(|claim| claim.cause == entity) {
            if reached.insert(claim.effect.clone()) {
                queue.push(claim.effect.clone());
            }
        }
    }
    reached
}
