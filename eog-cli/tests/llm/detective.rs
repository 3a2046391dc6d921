//! A model in a few rules that plays planner, specialists and evaluator of a search by hypotheses: it reads the
//! prompts as a person would.

use serde_json::{Value, json};

use super::reader::{Start, between, block, read, word};
use super::server::{Asked, Reply};

/// The phases of a search by hypotheses.
pub(crate) const PHASES: [&str; 3] = ["search_hypothesize", "search_investigate", "search_weigh"];

/// The specialists, each with words that stand in its own prompt alone.
pub(crate) const SPECIALISTS: [(&str, &str); 3] = [
    ("metrics", "You read metrics and alerts"),
    ("logs", "You read what was written down"),
    ("traces", "You read traced requests"),
];

/// The name of the specialist.
pub(crate) fn specialist(asked: &Asked) -> &'static str {
    let question = asked.question();
    let of = |(_, mark): &&(&str, &str)| question.contains(mark);
    SPECIALISTS.iter().find(of).map_or("unknown", |(name, _)| name)
}

/// Answers the questions of a search by hypotheses, and judges entities as [`read`] does.
pub(crate) fn detect(asked: &Asked) -> Reply {
    let question = asked.question();
    match asked.phase() {
        "search_hypothesize" => hypotheses(&question),
        "search_investigate" => act(asked),
        "search_weigh" => weigh(&question),
        _ => return read(asked, Start::Change),
    }
    .into()
}

/// Where to start, or the causes that were claimed of the last hypothesis, and the entities upstream.
fn hypotheses(question: &str) -> Value {
    let most: usize = between(question, "At most ", ".").parse().unwrap();
    let path = tested(&block(question, "path"));
    let known = [path.clone(), tested(&block(question, "others"))].concat();
    let leads = match path.last() {
        None => block(question, "start").iter().map(|line| word(line, 0).to_owned()).collect(),
        Some(last) => {
            let claimed = last.lines.iter().filter_map(|line| {
                let (cause, effect) =
                    line.trim().strip_prefix("claims ")?.split_once(" explains ")?;
                (effect.split(':').next() == Some(&last.entity)).then(|| cause.to_owned())
            });
            let upstream = block(question, "neighbours");
            let upstream = upstream.iter().filter_map(|line| {
                let (_, names) = line.strip_prefix("upstream, ")?.split_once(": ")?;
                Some(names.split(", ").map(|it| word(it, 0).to_owned()).collect::<Vec<_>>())
            });
            claimed.chain(upstream.flatten()).collect::<Vec<String>>()
        }
    };
    let mut suspects: Vec<Value> = Vec::new();
    for lead in leads {
        let is_new = known.iter().all(|other| other.entity != lead);
        if is_new && suspects.iter().all(|other| other["entity"] != lead) {
            suspects.push(json!({ "entity": lead, "focus": format!("what is wrong with {lead}"),
                "why": format!("{lead} may be the cause") }));
        }
    }
    suspects.truncate(most);
    json!({ "hypotheses": suspects })
}

/// Loads a skill, fetches the context of the suspected entity, records all that it holds, finishes.
fn act(asked: &Asked) -> Value {
    let agent = specialist(asked);
    let entity = suspected(asked);
    let call = |tool: &str, arguments: Value| {
        json!({ "because": format!("{tool} is next for the specialist of {agent}"), "tool": tool,
            "with": arguments.to_string() })
    };
    let said = asked.said();
    let tools: Vec<&str> = said.iter().filter_map(|it| it["tool"].as_str()).collect();
    let skills = asked.question();
    let skill =
        between(&skills, "name (one of ", ")").split(", ").next().unwrap_or_default().to_owned();
    if !tools.contains(&"load_skill") {
        return call("load_skill", json!({ "name": skill }));
    }
    if !tools.contains(&"get_context") {
        return call("get_context", json!({ "entity": entity }));
    }
    let numbers: Vec<u64> = block(&asked.last(), "evidence")
        .iter()
        .filter_map(|line| between(line, "[", "]").parse().ok())
        .collect();
    if numbers.is_empty() || tools.last() != Some(&"get_context") {
        return call("finish", json!({ "summary": format!("what {agent} show is recorded") }));
    }
    let at: u64 = between(&asked.last(), "Call ", ",").parse().unwrap();
    call("record_finding", json!({ "call": at, "findings": numbers }))
}

/// The entity that a specialist is asked about.
pub(crate) fn suspected(asked: &Asked) -> String {
    let lines = block(&asked.question(), "hypothesis");
    word(lines.first().map_or("", String::as_str), 0).trim_end_matches(':').to_owned()
}

/// By what was judged of the suspected entity.
fn weigh(question: &str) -> Value {
    let weighed = tested(&block(question, "hypothesis"));
    let (entity, label) = (&weighed[0].entity, weighed[0].label.as_str());
    let of_it = format!(" on {entity}: [");
    let evidence: Vec<u64> = block(question, "evidence")
        .iter()
        .filter(|line| line.contains(&of_it))
        .filter_map(|line| between(line, "[", "]").parse().ok())
        .collect();
    let score = match label {
        "origin" => 920,
        "symptom" => 500,
        "healthy" => 50,
        _ => 250,
    };
    let score = if evidence.is_empty() { 100 } else { score };
    json!({ "because": format!("{entity} is {label}"), "evidence": evidence,
        "gaps": [format!("what causes what {entity} shows")], "score": score })
}

/// A hypothesis with the lines below it.
#[derive(Clone)]
struct Tested {
    entity: String,
    label: String,
    lines: Vec<String>,
}

fn tested(lines: &[String]) -> Vec<Tested> {
    let mut all: Vec<Tested> = Vec::new();
    for line in lines {
        match all.last_mut() {
            Some(last) if line.starts_with(' ') => last.lines.push(line.clone()),
            _ => {
                let (entity, rest) = line.split_once(": ").unwrap_or((line, ""));
                let (entity, label) = (entity.to_owned(), word(rest, 0).to_owned());
                all.push(Tested { entity, label, lines: Vec::new() });
            }
        }
    }
    all
}
