//! A model in a few rules that sets goals and follows paths, or works through a plan alone: it reads the prompts as
//! a person would.

use serde_json::{Value, json};

use super::reader::{Start, between, block, read, word};
use super::searcher::{Evaluated, evaluations};
use super::server::{Asked, Reply};

/// What it makes of the oldest steps of a chain.
pub(crate) const SUMMED_UP: &str = "Some entities were looked at.";

/// Answers the questions of a search by goals and of a chain, and judges entities as [`read`] does.
pub(crate) fn quest(asked: &Asked) -> Reply {
    quest_from(asked, Start::Change)
}

/// The same on the longer way, which begins where the alerts are.
pub(crate) fn quest_from_alerts(asked: &Asked) -> Reply {
    quest_from(asked, Start::Alerts)
}

fn quest_from(asked: &Asked, start: Start) -> Reply {
    let question = asked.question();
    match asked.phase() {
        "search_decompose" => decompose(&question),
        "search_steer" => steer(&question),
        "search_step" => step(&question),
        "search_progress" => progress(&question),
        "search_react" => react(&question),
        "search_compact" => json!({ "summary": SUMMED_UP }),
        _ => return read(asked, start),
    }
    .into()
}

fn way(start: &str) -> Value {
    json!({ "start": start, "approach": format!("follow what fails from {start}"),
        "success": "an origin that explains the alerts" })
}

/// One goal, a path from each place to start from.
fn decompose(question: &str) -> Value {
    let seeds = block(question, "start");
    let seeds: Vec<&str> = seeds.iter().map(|line| word(line, 0)).collect();
    let paths: Vec<Value> = seeds.iter().take(2).map(|seed| way(seed)).collect();
    json!({ "goals": [{ "about": seeds[0], "question": "what explains the alerts?", "needs": [],
        "paths": paths }] })
}

/// Words after a text, up to a full stop, between commas.
fn listed<'q>(question: &'q str, before: &str) -> Vec<&'q str> {
    let all = between(question, before, ".\n");
    let all = all.split(". ").next().unwrap_or_default();
    all.split(", ").filter(|it| !it.is_empty()).collect()
}

/// The first open path of each active goal goes on, until there is a candidate.
fn steer(question: &str) -> Value {
    let finished = !block(question, "candidates").is_empty();
    let goals = block(question, "goals");
    let moves = between(question, "Active goals: ", ".").split(", ").map(|goal| {
        let path = goals.iter().map(|line| line.trim()).find(|line| {
            line.starts_with(&format!("path {goal}.")) && word(line, 2).starts_with("open")
        });
        let path = word(path.unwrap_or_default(), 1);
        json!({ "goal": goal.parse::<u32>().unwrap(), "kind": "exploit", "paths": [path],
            "signals": [{ "path": path, "value": "some", "uncertainty": "high", "risk": "low" }] })
    });
    json!({ "finished": finished, "moves": moves.collect::<Vec<_>>() })
}

/// The causes that the last evaluation names, and the entities upstream of it.
fn further(question: &str, last: &Evaluated) -> Vec<String> {
    let around = block(question, "neighbours");
    let around = around.iter().filter_map(|line| line.strip_prefix("upstream, "));
    let around = around.filter_map(|line| line.split_once(": ")).flat_map(|(_, names)| {
        names.split(", ").map(|it| word(it, 0).to_owned()).collect::<Vec<_>>()
    });
    last.leads().into_iter().chain(around).collect()
}

/// The start of the path, then what its last evaluation leads to.
fn step(question: &str) -> Value {
    let all = evaluations(&block(question, "looks"));
    let Some(last) = all.last() else {
        let path = block(question, "path");
        let start = between(&path[0], " from ", ":");
        return json!({ "entity": start, "why": "the path starts there" });
    };
    let been = listed(question, "The path was at ");
    let next = further(question, last).into_iter().find(|lead| !been.contains(&lead.as_str()));
    let next = next.filter(|_| last.label != "origin");
    json!({ "entity": next, "why": "it comes next" })
}

/// Origins are candidates; a goal is reached with the first one.
fn progress(question: &str) -> Value {
    let lines = block(question, "looks");
    let all = evaluations(&lines);
    let origins: Vec<&Evaluated> = all.iter().filter(|one| one.label == "origin").collect();
    let candidates: Vec<Value> = origins
        .iter()
        .map(|one| json!({ "entity": one.entity, "because": "it is an origin" }))
        .collect();
    let ratio = if origins.is_empty() { 300 } else { 950 };
    let goals = block(question, "goals");
    let goals = goals.iter().filter(|line| line.starts_with("goal ") && word(line, 2) == "open,");
    let goals = goals.map(|line| {
        let goal: u32 = word(line, 1).parse().unwrap();
        json!({ "goal": goal, "ratio": ratio, "summary": format!("{} looks so far", all.len()) })
    });
    let goals: Vec<Value> = goals.collect();
    let number = lines.iter().find_map(|line| between(line, "[", "]").parse::<u32>().ok());
    let facts = number.filter(|_| block(question, "facts").is_empty()).map(
        |number| json!({ "revises": null, "text": "it stands there", "evidence": number, "values": [] }),
    );
    let facts: Vec<Value> = facts.into_iter().collect();
    let paths =
        listed(question, "These paths made a step: ").into_iter().filter(|it| *it != "none");
    let paths = paths.map(|path| {
        json!({ "path": path, "summary": "one look further", "evidence": [], "uncertainty": "the rest",
            "conflicts": [], "progress": "one look", "failures": [] })
    });
    json!({ "facts": facts, "candidates": candidates, "goals": goals,
        "paths": paths.collect::<Vec<_>>(), "rewrite": [] })
}

/// A call, then evaluations of what the last one leads to, up to the first origin.
fn react(question: &str) -> Value {
    let parts = question.split("<data look>\n").skip(1);
    let lines = parts.map(|rest| rest.split("</data>").next().unwrap_or_default());
    let all =
        lines.flat_map(|text| evaluations(&text.lines().map(str::to_owned).collect::<Vec<_>>()));
    let all: Vec<Evaluated> = all.collect();
    let seeds = block(question, "start");
    let is_planned = !block(question, "plan").is_empty();
    let act = |action: &str, entity: &str, causes: &[&str]| {
        let summary = if action == "conclude" { "That is what evidence shows." } else { "" };
        json!({ "because": format!("{action} comes next"), "phase": "evidence", "plan": [],
            "step": is_planned.then_some(1), "action": action, "entity": entity, "tool": "", "with": "",
            "causes": causes, "summary": summary })
    };
    if !is_planned {
        let mut first = act("call", "", &[]);
        first["plan"] = json!([{ "change": "add", "text": "find the cause", "step": null }]);
        first["step"] = json!(1);
        first["tool"] = json!("get_context");
        first["with"] = json!(json!({ "entity": word(&seeds[0], 0) }).to_string());
        return first;
    }
    let Some(last) = all.last() else { return act("look", word(&seeds[0], 0), &[]) };
    let is_new = |lead: &String| all.iter().all(|one| one.entity != *lead);
    match further(question, last).into_iter().find(is_new) {
        Some(next) if last.label != "origin" => act("look", &next, &[]),
        _ => {
            let origins: Vec<&str> = all
                .iter()
                .filter(|one| one.label == "origin")
                .map(|one| one.entity.as_str())
                .collect();
            let mut end = act("conclude", "", &origins);
            end["plan"] = json!([{ "change": "done", "text": "", "step": 1 }]);
            end["step"] = json!(null);
            end["phase"] = json!("conclusion");
            end
        }
    }
}
