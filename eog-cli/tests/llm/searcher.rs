//! A model in a few rules that searches: it reads the prompts of a tree search as a person would.

use serde_json::{Value, json};

use super::reader::{Start, between, block, read, word};
use super::server::{Asked, Reply};

/// The phases of a tree search.
pub(crate) const PHASES: [&str; 5] =
    ["search_propose", "search_act", "search_evaluate", "search_reflect", "search_plan"];

/// Answers the questions of a tree search, and judges entities as [`read`] does.
pub(crate) fn search(asked: &Asked) -> Reply {
    let question = asked.question();
    match asked.phase() {
        "search_propose" => {
            let proposals: Vec<Value> =
                leads(&question).iter().map(|lead| proposal(lead)).collect();
            let most: usize = between(&question, "At most ", ".").parse().unwrap();
            json!({ "looks": proposals.into_iter().take(most).collect::<Vec<_>>() })
        }
        "search_act" => {
            let path = evaluations(&block(&question, "path"));
            let ends = path.last().is_some_and(|last| last.label == "origin");
            let next = leads(&question).into_iter().next().filter(|_| !ends);
            json!({ "entity": next, "why": "it comes next" })
        }
        "search_evaluate" => {
            let path = evaluations(&block(&question, "path"));
            let last = path.last().unwrap();
            let dead_end = last.label == "healthy";
            json!({ "because": format!("{} is last", last.entity), "dead_end": dead_end,
                "score": score(&last.label) })
        }
        "search_reflect" => json!({ "lesson": "Go on from the last entity." }),
        "search_plan" => plan(&question),
        _ => return read(asked, Start::Change),
    }
    .into()
}

fn score(label: &str) -> u16 {
    match label {
        "origin" => 950,
        "symptom" => 500,
        "healthy" => 50,
        _ => 320,
    }
}

fn proposal(entity: &str) -> Value {
    json!({ "entity": entity, "why": "it may be the cause" })
}

/// One evaluation on a path or in a tree.
pub(crate) struct Evaluated {
    node: String,
    pub(crate) entity: String,
    pub(crate) label: String,
    score: u16,
    /// The lines below it.
    lines: Vec<String>,
}

impl Evaluated {
    /// The causes that it names, and the entities upstream.
    pub(crate) fn leads(&self) -> Vec<String> {
        let causes = self.lines.iter().filter_map(|line| {
            let (cause, effect) = line.trim().strip_prefix("claims ")?.split_once(" explains ")?;
            (effect.split(':').next() == Some(&self.entity)).then(|| cause.to_owned())
        });
        let upstream = self.lines.iter().filter_map(|line| {
            let line = line.trim().trim_start_matches("next to it ");
            line.strip_prefix("upstream, ")?.split_once(": ").map(|(_, names)| names.to_owned())
        });
        let upstream =
            upstream.flat_map(|names| names.split(", ").map(str::to_owned).collect::<Vec<_>>());
        let mut leads: Vec<String> = Vec::new();
        for lead in causes.chain(upstream).filter(|lead| *lead != self.entity) {
            if !leads.contains(&lead) {
                leads.push(lead);
            }
        }
        leads
    }
}

/// `web: symptom since 12:04 "…"`, or `1.2 done, score 500: web: symptom "…"`, and lines below.
pub(crate) fn evaluations(lines: &[String]) -> Vec<Evaluated> {
    let mut all: Vec<Evaluated> = Vec::new();
    for line in lines {
        match all.last_mut() {
            Some(last) if line.starts_with(' ') => last.lines.push(line.clone()),
            _ => {
                let parts: Vec<&str> = line.splitn(3, ": ").collect();
                let is_node = line.starts_with(|c: char| c.is_ascii_digit());
                let (head, entity, rest) =
                    if is_node { (parts[0], parts[1], parts[2]) } else { ("", parts[0], parts[1]) };
                all.push(Evaluated {
                    node: word(head, 0).to_owned(),
                    entity: entity.to_owned(),
                    label: word(rest, 0).to_owned(),
                    score: between(head, "score ", ":").parse().unwrap_or(0),
                    lines: Vec::new(),
                });
            }
        }
    }
    all
}

/// Where to go on after the path of a question.
fn leads(question: &str) -> Vec<String> {
    let path = evaluations(&block(question, "path"));
    let Some(last) = path.last() else {
        let seeds = block(question, "start");
        return seeds.iter().map(|line| word(line, 0).to_owned()).collect();
    };
    let around = block(question, "neighbours").iter().map(|line| format!("  {line}")).collect();
    let around = Evaluated {
        node: String::new(),
        entity: last.entity.clone(),
        label: String::new(),
        score: 0,
        lines: [last.lines.clone(), around].concat(),
    };
    let on_path = |lead: &String| path.iter().any(|one| one.entity == *lead);
    around.leads().into_iter().filter(|lead| !on_path(lead)).collect()
}

fn plan(question: &str) -> Value {
    let nodes = evaluations(&block(question, "tree"));
    let whole = |converge: Option<&str>, expand: Vec<Value>, hold: Vec<Value>| json!({ "converge": converge, "expand": expand, "hold": hold, "prune": [] });
    if let Some(best) = nodes.iter().max_by_key(|node| node.score)
        && best.score >= 850
    {
        return whole(Some(&best.node), vec![], vec![]);
    }
    let room: usize = between(question, "Room for ", " ").parse().unwrap();
    let (mut expand, mut hold) = (Vec::new(), Vec::new());
    for open in between(question, "May be expanded: ", ". Room").split(", ") {
        let path: Vec<&Evaluated> = nodes
            .iter()
            .filter(|node| open == node.node || open.starts_with(&format!("{}.", node.node)))
            .collect();
        let leads = match path.last() {
            None if open == "root" => {
                let seeds = block(question, "start");
                seeds.iter().map(|line| word(line, 0).to_owned()).collect()
            }
            None => Vec::new(),
            Some(last) => last.leads(),
        };
        let below = |node: &Evaluated| match node.node.rsplit_once('.') {
            Some((parent, _)) => parent == open,
            None => open == "root",
        };
        let is_new = |lead: &String| {
            path.iter().all(|one| one.entity != *lead)
                && !nodes.iter().any(|node| below(node) && node.entity == *lead)
        };
        let new: Vec<String> = leads.into_iter().filter(is_new).take(room - expand.len()).collect();
        if new.is_empty() {
            hold.push(json!({ "node": open, "why": "nothing is left" }));
        }
        expand.extend(new.into_iter().map(|lead| {
            json!({ "below": open, "entity": lead, "score": null, "why": "it may be the cause" })
        }));
    }
    if expand.is_empty()
        && let Some(best) = nodes.iter().max_by_key(|node| node.score)
    {
        return whole(Some(&best.node), vec![], vec![]);
    }
    whole(None, expand, hold)
}
