//! The causal graph for Mermaid.

use std::fmt::Write as _;

use crate::clean::{clean, clean_to};
use crate::graph::{Graph, MAX_LABEL, Role};
use crate::report::Report;

/// The causal graph for Mermaid.
pub fn mermaid(report: &Report) -> String {
    let graph = Graph::of(&report.diagnosis);
    let mut out = String::from("flowchart LR\n");
    for role in Role::ALL {
        let _ = writeln!(out, "  classDef {role} fill:{},stroke:#555,color:#111", role.fill());
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        let alerts = node.alerts.join(", ");
        let alerts = if alerts.is_empty() { alerts } else { format!("<br/>! {}", quote(&alerts)) };
        let (name, role) = (quote(node.entity.as_str()), node.role);
        let _ = writeln!(out, "  n{number}[\"{name}<br/>{role}{alerts}\"]:::{role}");
    }
    for arrow in &graph.arrows {
        let line = if arrow.is_causal { "==>" } else { "-.->" };
        let reason = quote(&clean_to(&arrow.claim.condition, MAX_LABEL));
        let _ = writeln!(out, "  n{} {line}|\"{reason}\"| n{}", arrow.from, arrow.to);
    }
    out
}

fn quote(text: &str) -> String {
    clean(text)
        .replace('#', "#35;")
        .replace('"', "#quot;")
        .replace('<', "#lt;")
        .replace('>', "#gt;")
        .replace('`', "#96;")
}
