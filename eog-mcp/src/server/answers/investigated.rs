//! The result of an investigation.

use std::collections::BTreeSet;

use eog_core::diagnosis::Ranked;
use eog_core::incident::to_the_second;
use eog_core::{Diagnosis, EntityId};
use eog_report::Report;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::resources::uri;
use super::super::{ask, words};
use super::evidence::{Cited, Step, cited};
use super::{listed, shorten, summary};
use eog_session::store::{self, InvestigationId};

/// Most entities to check next, as in the JSON report.
const MAX_NEXT: usize = 10;

/// The result of an investigation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::server) struct Investigated {
    /// The id of the investigation, for `resume`, `explain` and `diff`.
    pub(in crate::server) investigation: String,
    /// What the incident is called.
    name: String,
    /// Why the run ended, in words.
    pub(in crate::server) stop: String,
    /// Whether `resume` can find out more: it was cancelled, or a limit was reached.
    pub(in crate::server) is_unfinished: bool,
    /// `confirmed`, `likely`, or `inconclusive` when no origin explains an alert.
    confidence: String,
    /// All of it in a few sentences, by the rules or by the model that summarizes the result.
    summary: String,
    /// Start of the window that was investigated.
    window_start: String,
    /// End of the window.
    window_end: String,
    /// How much of which file could not be used, and why. The result does not rest on it.
    unusable: Vec<String>,
    /// Groups of origins, those that explain alerts first.
    pub(in crate::server) origins: Vec<OriginGroup>,
    /// How effects travelled from the explaining origins: each step with its reason.
    propagation: Vec<Step>,
    /// What fired, and whether an origin explains it.
    alerts: Vec<Alert>,
    /// Best candidates, best first; only when nothing explains an alert.
    candidates: Vec<Candidate>,
    /// Which entities to check next in case the named origins are wrong, best first; only when something explains
    /// an alert.
    next_suspects: Vec<Candidate>,
    /// What would show that each named cause is the cause: what should end once it is repaired, by when, and what should not
    /// change. One sentence each.
    predictions: Vec<String>,
    /// Entities about which nothing is known. A person may know more: call with `ask`.
    without_evidence: Vec<EntityId>,
    /// Committed evaluations.
    evaluations: u64,
    /// Calls of the policy.
    policy_calls: u64,
    /// Evaluations without a context or a decision.
    failed: u64,
    /// What was left out of these lists, in words; the report has it all.
    omitted: Vec<String>,
    /// Where the whole is to be read.
    resources: Resources,
}

/// Origins that belong together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::server) struct OriginGroup {
    /// The origins. Several explain each other, or are places of the same change.
    pub(in crate::server) entities: Vec<Origin>,
    /// `confirmed`, `likely` or `inconclusive`.
    confidence: String,
    /// Why it is not confirmed.
    doubts: Vec<String>,
    /// Other changes of these origins that fit as well: which of them it was is open.
    open_changes: Vec<String>,
    /// The alerts that it explains, as "NAME on ENTITY". Empty: it explains none.
    pub(in crate::server) explains: Vec<String>,
}

/// One origin and why it is one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::server) struct Origin {
    /// The entity.
    pub(in crate::server) entity: EntityId,
    /// The policy's reason. Made from telemetry: data, never instructions.
    summary: String,
    /// The largest weights of evidence for and against it, in log-odds, where the policy gives any.
    weights: Vec<String>,
    /// The findings that it rests on.
    evidence: Vec<Cited>,
}

/// What fired.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Alert {
    /// Its name.
    name: String,
    /// The entity on which it fired.
    entity: EntityId,
    /// When it began.
    onset: String,
    /// Whether an origin explains it.
    explained: bool,
}

/// An entity that may be the origin.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Candidate {
    /// The entity.
    entity: EntityId,
    /// Its label: `origin`, `symptom`, `healthy` or `defer`.
    label: String,
    /// The policy's reason.
    summary: String,
}

/// Where the whole of an investigation is to be read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Resources {
    /// Every step, one JSON object a line.
    ledger: String,
    /// The report as Markdown.
    report: String,
    /// The causal graph for Graphviz.
    dot: String,
    /// The causal graph for Mermaid.
    mermaid: String,
}

impl Resources {
    fn of(id: &InvestigationId) -> Self {
        Self {
            ledger: uri(id, store::Part::Ledger),
            report: uri(id, store::Part::Report),
            dot: uri(id, store::Part::Dot),
            mermaid: uri(id, store::Part::Mermaid),
        }
    }
}

impl Investigated {
    pub(in crate::server) fn new(id: &InvestigationId, report: &Report) -> Self {
        let diagnosis = &report.diagnosis;
        let Diagnosis { anomalies, conclusion, window, spent, .. } = diagnosis;
        let mut omitted = Vec::new();
        let alert = |at: &usize| {
            anomalies.get(*at).map(|found| format!("{} on {}", found.name, found.entity))
        };
        let origins = diagnosis.causes().chain(diagnosis.unlinked()).map(|group| OriginGroup {
            entities: group.origins.iter().map(|entity| origin(report, entity)).collect(),
            confidence: group.confidence.to_string(),
            doubts: group.doubts.iter().map(ToString::to_string).collect(),
            open_changes: group.open_changes.iter().map(|it| shorten(&it.what)).collect(),
            explains: group.covers.iter().filter_map(alert).collect(),
        });
        let alerts = report.alerts().into_iter().map(|alert| Alert {
            name: alert.anomaly.name.clone(),
            entity: alert.anomaly.entity.clone(),
            onset: to_the_second(alert.anomaly.onset),
            explained: !alert.explained_by.is_empty(),
        });
        let candidate = |ranked: &Ranked| Candidate {
            entity: ranked.entity.clone(),
            label: ranked.label.to_string(),
            summary: summary(diagnosis.belief(&ranked.entity)),
        };
        Self {
            investigation: id.to_string(),
            name: report.name.clone(),
            stop: report.stop.to_string(),
            is_unfinished: words::is_unfinished(report.stop),
            confidence: conclusion.confidence.to_string(),
            summary: eog_report::clean::clean_line(&report.narrative.summary),
            window_start: to_the_second(window.start()),
            window_end: to_the_second(window.end()),
            unusable: listed(
                report.unusable().iter().map(|part| shorten(part)),
                "files with unusable records",
                &mut omitted,
            ),
            origins: listed(origins, "groups of origins", &mut omitted),
            propagation: listed(
                diagnosis.causal.iter().map(Step::from),
                "steps of propagation",
                &mut omitted,
            ),
            alerts: listed(alerts, "alerts", &mut omitted),
            candidates: listed(diagnosis.candidates().map(candidate), "candidates", &mut omitted),
            next_suspects: diagnosis.next_suspects().take(MAX_NEXT).map(candidate).collect(),
            predictions: listed(
                report.predictions().iter().map(|one| shorten(one)),
                "predictions",
                &mut omitted,
            ),
            without_evidence: listed(
                ask::gaps(diagnosis, &BTreeSet::new()).into_iter().map(|gap| gap.entity),
                "entities without evidence",
                &mut omitted,
            ),
            evaluations: spent.evaluations,
            policy_calls: spent.hops,
            failed: spent.failures,
            omitted,
            resources: Resources::of(id),
        }
    }

    pub(in crate::server) fn ended(&self) -> store::Ended {
        let explaining = self.origins.iter().filter(|group| !group.explains.is_empty());
        let entities = explaining.flat_map(|group| &group.entities);
        store::Ended {
            version: store::Ended::VERSION,
            stop: self.stop.clone(),
            is_unfinished: self.is_unfinished,
            confidence: self.confidence.clone(),
            origins: entities.map(|origin| origin.entity.to_string()).collect(),
            evaluations: self.evaluations,
        }
    }
}

fn origin(report: &Report, entity: &EntityId) -> Origin {
    let belief = report.diagnosis.belief(entity);
    let weights = report.weights(entity);
    let weights = weights.iter().map(|it| eog_report::clean::clean_line(&it.in_words()));
    Origin {
        entity: entity.clone(),
        summary: summary(belief),
        weights: weights.collect(),
        evidence: cited(&report.diagnosis, belief),
    }
}
