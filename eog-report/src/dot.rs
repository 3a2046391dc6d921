//! The causal graph for Graphviz.

use std::fmt::Write as _;

use crate::clean::{clean, clean_to};
use crate::graph::{Graph, MAX_LABEL, Role};
use crate::report::Report;

/// The causal graph for Graphviz. Nodes are numbered: cleaned names of different entities can be
/// equal.
pub fn dot(report: &Report) -> String {
    let graph = Graph::of(&report.diagnosis);
    let mut out = String::from(
        "digraph eog {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n",
    );
    for (number, node) in graph.nodes.iter().enumerate() {
        let alerts = node.alerts.join(", ");
        let alerts = if alerts.is_empty() { alerts } else { format!("\\n! {}", quote(&alerts)) };
        let width = if node.role == Role::Cause { ", penwidth=2" } else { "" };
        let _ = writeln!(
            out,
            "  n{number} [label=\"{}\\n{}{alerts}\", fillcolor=\"{}\"{width}];",
            quote(node.entity.as_str()).replace('/', "/\\n"),
            node.role,
            node.role.fill()
        );
    }
    for arrow in &graph.arrows {
        let style = if arrow.is_causal { "penwidth=2" } else { "style=dashed" };
        let _ = writeln!(
            out,
            "  n{} -> n{} [label=\"{}\", tooltip=\"{}\", {style}];",
            arrow.from,
            arrow.to,
            quote(&clean_to(&arrow.claim.condition, MAX_LABEL)),
            quote(&arrow.claim.condition)
        );
    }
    out.push_str("}\n");
    out
}

fn quote(text: &str) -> String {
    clean(text).replace('\\', "\\\\").replace('"', "\\\"")
}
