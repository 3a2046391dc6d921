//! The causal graph as a drawing: Graphviz and Mermaid.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use eog::{EntityId, Label};

use super::clean::{clean, clean_to};
use super::model::Report;

/// Characters shown of the reason for an arrow; more would tear the drawing apart.
const MAX_LABEL: usize = 56;

/// The entities that are drawn: every end of a live claim, every origin, every alerting entity.
fn drawn(report: &Report) -> BTreeSet<&EntityId> {
    let claimed = report.claims.iter().flat_map(|claim| [&claim.cause, &claim.effect]);
    let origins = report.beliefs.iter().filter(|(_, belief)| belief.label == Label::Origin);
    let alerting = report.anomalies.iter().map(|anomaly| &anomaly.entity);
    claimed.chain(origins.map(|(entity, _)| entity)).chain(alerting).collect()
}

fn role(report: &Report, entity: &EntityId) -> &'static str {
    let is_cause = report.causes().any(|group| group.origins.contains(entity));
    match report.beliefs.get(entity).map(|belief| belief.label) {
        _ if is_cause => "cause",
        Some(Label::Origin) => "origin",
        Some(Label::Symptom) => "symptom",
        Some(Label::Healthy) => "healthy",
        Some(Label::Defer) => "unclear",
        None => "unvisited",
    }
}

fn fill(role: &str) -> &'static str {
    match role {
        "cause" => "#f4b6b6",
        "origin" => "#f9dcc4",
        "symptom" => "#fdf0b5",
        "healthy" => "#cdeac0",
        _ => "#eeeeee",
    }
}

fn alerts(report: &Report, entity: &EntityId) -> String {
    let on_entity = report.anomalies.iter().filter(|anomaly| anomaly.entity == *entity);
    on_entity.map(|anomaly| anomaly.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The graph for Graphviz. Nodes are numbered: cleaned names of different entities can be equal.
pub(crate) fn dot(report: &Report) -> String {
    let quote = |text: &str| clean(text).replace('\\', "\\\\").replace('"', "\\\"");
    let entities: Vec<&EntityId> = drawn(report).into_iter().collect();
    let mut out = String::from(
        "digraph eog {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n",
    );
    for entity in &entities {
        let (role, alerts) = (role(report, entity), alerts(report, entity));
        let alerts = if alerts.is_empty() { alerts } else { format!("\\n! {}", quote(&alerts)) };
        let width = if role == "cause" { ", penwidth=2" } else { "" };
        let _ = writeln!(
            out,
            "  n{} [label=\"{}\\n{role}{alerts}\", fillcolor=\"{}\"{width}];",
            number(&entities, entity),
            quote(entity.as_str()).replace('/', "/\\n"),
            fill(role)
        );
    }
    for claim in unique(report) {
        let style = if is_causal(report, claim) { "penwidth=2" } else { "style=dashed" };
        let _ = writeln!(
            out,
            "  n{} -> n{} [label=\"{}\", tooltip=\"{}\", {style}];",
            number(&entities, &claim.cause),
            number(&entities, &claim.effect),
            quote(&clean_to(&claim.condition, MAX_LABEL)),
            quote(&claim.condition)
        );
    }
    out.push_str("}\n");
    out
}

/// The graph for Mermaid.
pub(crate) fn mermaid(report: &Report) -> String {
    let entities: Vec<&EntityId> = drawn(report).into_iter().collect();
    let quote = |text: &str| {
        clean(text)
            .replace('#', "#35;")
            .replace('"', "#quot;")
            .replace('<', "#lt;")
            .replace('>', "#gt;")
            .replace('`', "#96;")
    };
    let mut out = String::from("flowchart LR\n");
    for role in ["cause", "origin", "symptom", "healthy", "unclear", "unvisited"] {
        let _ = writeln!(out, "  classDef {role} fill:{},stroke:#555,color:#111", fill(role));
    }
    for entity in &entities {
        let (role, alerts) = (role(report, entity), alerts(report, entity));
        let alerts = if alerts.is_empty() { alerts } else { format!("<br/>! {}", quote(&alerts)) };
        let name = quote(entity.as_str());
        let _ = writeln!(
            out,
            "  n{}[\"{name}<br/>{role}{alerts}\"]:::{role}",
            number(&entities, entity)
        );
    }
    for claim in unique(report) {
        let arrow = if is_causal(report, claim) { "==>" } else { "-.->" };
        let _ = writeln!(
            out,
            "  n{} {arrow}|\"{}\"| n{}",
            number(&entities, &claim.cause),
            quote(&clean_to(&claim.condition, MAX_LABEL)),
            number(&entities, &claim.effect)
        );
    }
    out
}

fn number(entities: &[&EntityId], entity: &EntityId) -> usize {
    entities.binary_search(&entity).unwrap_or(entities.len())
}

fn is_causal(report: &Report, claim: &eog::Claim) -> bool {
    report.causal.iter().any(|causal| causal.edge() == claim.edge())
}

/// One claim per edge.
fn unique(report: &Report) -> Vec<&eog::Claim> {
    let mut claims: Vec<&eog::Claim> = report.claims.iter().collect();
    claims.dedup_by_key(|claim| claim.edge());
    claims
}
