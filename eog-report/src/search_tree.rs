//! A tree search as text: every node with what it did, its score and visits.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use eog_core::Machine as _;
use eog_search::{
    Call, Hypothesis, NodeId, NodeView, Phase, Profile, PrunedBy, SearchBody, SearchController,
    SearchProgress,
};
use serde::Serialize;

use crate::clean::clean;
use crate::page::{BOLD, PLAIN, Page};
use crate::words;

/// The tree of a search, one node a line, children below their parents; then why the search ended, and
/// the result.
pub fn search_tree(search: &SearchController, width: Option<usize>) -> String {
    let mut page = Page::new(width);
    let nodes: BTreeMap<NodeId, NodeView<'_>> =
        search.tree().nodes().map(|node| (node.id.clone(), node)).collect();
    let mut below: BTreeMap<NodeId, Vec<&NodeId>> = BTreeMap::new();
    for id in nodes.keys() {
        if let Some(parent) = id.parent() {
            below.entry(parent).or_default().push(id);
        }
    }
    let root = NodeId::root();
    let mut left: Vec<(&NodeId, String, String)> = vec![(&root, String::new(), String::new())];
    while let Some((id, indent, further)) = left.pop() {
        let Some(node) = nodes.get(id) else { continue };
        page.line(&indent, PLAIN, &line(search, node));
        let children = below.get(id).map_or(&[][..], Vec::as_slice);
        for (from_end, child) in children.iter().rev().enumerate() {
            let last = from_end == 0;
            let branch = format!("{further}{}", if last { "└─ " } else { "├─ " });
            let further = format!("{further}{}", if last { "   " } else { "│  " });
            left.push((child, branch, further));
        }
    }
    page.line("", PLAIN, "");
    page.line("", PLAIN, &ended(search));
    page.into_text()
}

/// The same as JSON: every node, the root first, with how the search went.
pub fn search_tree_json(search: &SearchController) -> String {
    #[derive(Serialize)]
    struct Json<'s> {
        controller: &'static str,
        end: Option<String>,
        #[serde(flatten)]
        progress: SearchProgress,
        nodes: Vec<NodeView<'s>>,
    }
    let json = Json {
        controller: search.settings().profile().name(),
        end: search.end().map(|end| end.to_string()),
        progress: search.progress(),
        nodes: search.tree().nodes().collect(),
    };
    // A tree is data that always has a form in JSON.
    let text = serde_json::to_string_pretty(&json).unwrap_or_default();
    crate::clean::escape_json(&text) + "\n"
}

fn line(search: &SearchController, node: &NodeView<'_>) -> String {
    let Some(action) = node.action else {
        return format!("{BOLD}{}{BOLD:#}", search.settings().profile().name());
    };
    let mut line = format!("{} {BOLD}{}{BOLD:#}", node.id, clean(action.entity().as_str()));
    match &action.call {
        Call::Goal(goal) => return goal_line(search, node, line, &goal.question),
        Call::Path(path) => {
            let _ = write!(line, ": {}", clean(&path.approach));
            let times = search.selected(&node.id).unwrap_or(0);
            let _ = write!(
                line,
                ", {} since progress",
                words::count(times as usize, "selection", "selections")
            );
        }
        Call::Use { call, .. } => {
            let _ = write!(line, ": {}", clean(&call.tool));
        }
        Call::Test(Hypothesis { kind: Some(kind), .. }) => {
            let _ = write!(line, " ({kind})");
        }
        _ => {}
    }
    let body = node.entry.and_then(|entry| search.ledger().entry(entry)).map(|entry| &entry.body);
    if let Some(SearchBody::Looked(looked)) = body
        && node.phase != Phase::Failed
    {
        let _ = write!(line, " {}", looked.belief.label);
    }
    if let Some(score) = node.score {
        let _ = write!(line, ", score {score}");
    }
    for (name, value) in node.metadata.iter().flat_map(|metadata| &metadata.0) {
        let _ = write!(line, ", {}: {}", clean(name), clean(&value.to_string()));
    }
    let by_hypotheses = search.settings().profile() == Profile::Hypotheses;
    if by_hypotheses && node.entry.is_some() {
        let found = search.findings().iter().filter(|stored| stored.node == node.id).count();
        let _ = write!(line, ", {}", words::count(found, "finding", "findings"));
    }
    if node.visits > 0 && !by_hypotheses {
        let mean = node.total / u64::from(node.visits);
        let times = words::count(node.visits as usize, "visit", "visits");
        let _ = write!(line, ", {times}, mean reward {mean}");
    }
    let mut marks = Vec::new();
    marks.extend(match node.phase {
        Phase::Running if matches!(action.call, Call::Use { .. }) => Some("in progress"),
        Phase::Pending if !action.is_done() => Some("not started"),
        Phase::Running if !action.is_done() => Some("open"),
        Phase::Pending if by_hypotheses => Some("not investigated"),
        Phase::Pending => Some("not evaluated yet"),
        Phase::Running => Some("in progress"),
        Phase::Failed => Some("failed"),
        Phase::EvalFailed => Some("no score"),
        Phase::Solution => Some("chosen"),
        _ => None,
    });
    marks.extend(node.pruned_by.map(|by| match by {
        PrunedBy::Planner => "pruned by the planner",
        PrunedBy::Evaluator => "pruned by the evaluator",
        PrunedBy::Beam => "cut by the beam",
        PrunedBy::Backtracked => "backtracked",
        PrunedBy::Blocked => "nothing left to do",
        PrunedBy::Rewritten => "rewritten",
        _ => "set aside",
    }));
    marks.extend(node.held.then_some("held"));
    marks.extend(node.terminal.then_some("answers"));
    let stale = search.weighed(&node.id).is_some_and(|(_, stale)| stale);
    marks.extend(stale.then_some("score predates the last findings"));
    if !marks.is_empty() {
        let _ = write!(line, " ({})", marks.join(", "));
    }
    line
}

fn goal_line(
    search: &SearchController,
    node: &NodeView<'_>,
    mut line: String,
    question: &str,
) -> String {
    let _ = write!(line, ": {}, {} of 1000", clean(question), node.score.unwrap_or(0));
    let mark = match node.phase {
        Phase::Solution => " (complete)",
        Phase::Pending => " (not started)",
        _ if search.end().is_some() => " (not complete)",
        _ => "",
    };
    line.push_str(mark);
    line
}

fn ended(search: &SearchController) -> String {
    let nodes = search.tree().len() - 1;
    let (one, more) = match search.settings().selection() {
        eog_search::Selection::Level => ("plan", "plans"),
        eog_search::Selection::Linear => ("step", "steps"),
        _ => ("round", "rounds"),
    };
    let begun = usize::try_from(search.begun()).unwrap_or(usize::MAX);
    let mut text =
        format!("{}, {}", words::count(nodes, "node", "nodes"), words::count(begun, one, more));
    if let Some(end) = search.end() {
        let _ = write!(text, "; {end}");
    }
    if let Some(causes) = search.concluded() {
        let causes: Vec<&str> = causes.iter().map(eog_core::EntityId::as_str).collect();
        let named = if causes.is_empty() {
            "no cause".to_owned()
        } else {
            clean(&causes.join(", ")).into_owned()
        };
        let _ = write!(text, "; named {named}");
    }
    if let Some((best, score)) = search.best() {
        let _ = write!(text, "; best {best} with {score}");
    }
    text
}
