//! `agent_output.json`: the output schema of the paper's appendix A.3.

use eog::{EntityId, Finding};
use serde::Serialize;

use super::model::Report;
use super::words;

#[derive(Serialize)]
struct AgentOutput<'r> {
    entities: Vec<Entity<'r>>,
    propagations: Vec<Propagation<'r>>,
    alerts_explained: Vec<AlertExplained<'r>>,
}

#[derive(Serialize)]
struct Entity<'r> {
    name: &'r str,
    contributing_factor: bool,
    reasoning: &'r str,
    evidence: String,
}

#[derive(Serialize)]
struct Propagation<'r> {
    source: &'r str,
    target: &'r str,
    condition: &'r str,
    effect: &'r str,
}

#[derive(Serialize)]
struct AlertExplained<'r> {
    alert: &'r str,
    explanation: String,
    explained: bool,
}

/// The result in the schema of A.3, as indented JSON.
///
/// Contributing factors are the origins of the frontier that explain an alert, and nothing else:
/// an inconclusive investigation has none.
pub(crate) fn agent_output(report: &Report) -> String {
    let causes: Vec<&EntityId> = report.causes().flat_map(|group| &group.origins).collect();
    let entities = report.involved().into_iter().map(|entity| {
        let belief = report.beliefs.get(entity);
        let findings = belief.map(|belief| report.cited(belief)).unwrap_or_default();
        Entity {
            name: entity.as_str(),
            contributing_factor: causes.contains(&entity),
            reasoning: belief.map_or("not evaluated", |belief| &belief.summary),
            evidence: findings.into_iter().map(evidence).collect::<Vec<_>>().join("; "),
        }
    });
    let propagations = report.causal.iter().map(|claim| Propagation {
        source: claim.cause.as_str(),
        target: claim.effect.as_str(),
        condition: &claim.condition,
        effect: &claim.observed,
    });
    let alerts = report.anomalies.iter().enumerate().map(|(position, anomaly)| AlertExplained {
        alert: &anomaly.name,
        explanation: explanation(report, position),
        explained: !report.explained_by(position).is_empty(),
    });
    let output = AgentOutput {
        entities: entities.collect(),
        propagations: propagations.collect(),
        alerts_explained: alerts.collect(),
    };
    super::json::pretty(&output)
}

fn evidence(finding: &Finding) -> String {
    format!(
        "{}: {} [{} {}]",
        words::time(&finding.time),
        words::finding(finding),
        finding.id(),
        words::query(finding)
    )
}

fn explanation(report: &Report, position: usize) -> String {
    let anomaly = &report.anomalies[position];
    let origins: Vec<&str> = report
        .explained_by(position)
        .into_iter()
        .flat_map(|group| &group.origins)
        .map(EntityId::as_str)
        .collect();
    if origins.is_empty() {
        return format!("fired on {}; no origin found explains it", anomaly.entity);
    }
    let mut text =
        format!("fired on {}, reached by the effects of {}", anomaly.entity, origins.join(", "));
    if report.conclusion.earlier_onset.contains(&position) {
        text.push_str(&format!(
            "; its earlier onset at {} precedes the change and is not explained",
            words::instant(anomaly.onset)
        ));
    }
    text
}
