//! A model in a few rules: it answers by its prompts alone, and knows no incident.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::server::{Asked, Reply};

/// Where an investigation is to start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// Where the alerts are: the long way.
    Alerts,
    /// At the change that the filter kept.
    Change,
}

/// What the summary of the result begins with, unlike that of the rules.
pub(crate) const SUMMARY: &str = "As written by the model:";

/// Reads the prompts as a person would.
pub(crate) fn read(asked: &Asked, start: Start) -> Reply {
    let question = asked.question();
    match asked.phase() {
        "select_investigation_window" => window(&question),
        "filter_events" => filter(&block(&question, "events"), &question),
        "filter_spec_changes" => filter(&block(&question, "changes"), &question),
        "bootstrap" => seeds(&question, start),
        "explore" => judge(&question),
        "finalize" => narrate(&question),
        phase => panic!("no answer for {phase}: {}", asked.body),
    }
    .into()
}

/// The lines of a block of data.
pub(crate) fn block(question: &str, label: &str) -> Vec<String> {
    let from = question.split_once(&format!("<data {label}>\n"));
    let lines =
        from.and_then(|(_, rest)| rest.split_once("</data>")).map_or("", |(lines, _)| lines);
    lines.lines().map(str::to_owned).collect()
}

pub(crate) fn word(line: &str, at: usize) -> &str {
    line.split_whitespace().nth(at).unwrap_or_default()
}

/// What stands between two texts.
pub(crate) fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let rest = text.split_once(before).map_or("", |(_, rest)| rest);
    rest.split_once(after).map_or(rest, |(found, _)| found)
}

/// All that is recorded, around the alerts of leading signals.
fn window(question: &str) -> Value {
    let alerts = block(question, "alerts");
    let anchors: Vec<&str> =
        alerts.iter().filter_map(|line| word(line, 0).strip_suffix('*')).collect();
    json!({
        "anchors": anchors,
        "start": between(question, "recorded from ", " to "),
        "end": between(between(question, "recorded from ", ";"), " to ", ";"),
        "reasoning": "it holds all that was recorded",
    })
}

/// What has a way to an alert.
fn filter(lines: &[String], question: &str) -> Value {
    let most: usize = between(question, "Keep at most ", ";").parse().unwrap();
    let with_a_way = lines.iter().filter(|line| line.contains("reaches A"));
    let numbers: Vec<u32> =
        with_a_way.map(|line| word(line, 0).trim_matches(['[', ']']).parse().unwrap()).collect();
    let kept = numbers.iter().take(most).map(|n| json!({ "number": n, "part": "cause" }));
    json!({
        "relevant": kept.collect::<Vec<_>>(),
        "total_relevant": numbers.len(),
        "reasoning": "these can reach an alert",
    })
}

fn seeds(question: &str, start: Start) -> Value {
    let (alerts, changes) = (block(question, "alerts"), block(question, "changes"));
    let of_alerts = alerts.iter().filter_map(|line| {
        let id = word(line, 0).strip_suffix('*')?;
        // After its times, which a colon and a space end.
        let entity = word(line.split_once(": ")?.1, 0);
        Some(json!({ "entity": entity, "strength": "alert_alone", "evidence": [],
            "explains": [id], "reason": "it has an alert" }))
    });
    let of_changes = changes.iter().filter(|line| line.contains(" before A")).map(|line| {
        let explains: Vec<&str> = between(line, "reaches ", " |").split(", ").collect();
        json!({ "entity": word(line, 2), "strength": "change_before_alert",
            "evidence": [word(line, 0)], "explains": explains, "reason": "changed before" })
    });
    let candidates: Vec<Value> = match start {
        Start::Alerts => of_alerts.take(1).collect(),
        Start::Change => of_changes.take(1).collect(),
    };
    json!({ "candidates": candidates, "ignored": [], "reasoning": "the strongest first" })
}

/// One line of evidence.
struct Line<'a> {
    number: u32,
    text: &'a str,
}

impl Line<'_> {
    /// The other entity that it names after a role.
    fn peer(&self, role: &str) -> Option<&str> {
        let before_text = self.text.split(" \"").next()?;
        let (_, name) = before_text.split_once(&format!(" {role} "))?;
        name.split_whitespace().next()
    }

    /// Its kind and signal, such as `metric/latency`: after its times.
    fn kind(&self) -> &str {
        let before_text = self.text.split(" \"").next().unwrap_or_default();
        before_text.split_whitespace().find(|word| word.contains('/')).unwrap_or_default()
    }

    fn is(&self, kind: &str) -> bool {
        self.kind().starts_with(kind)
    }

    fn is_rising(&self) -> bool {
        self.text.split(" \"").next().is_some_and(|head| head.contains(" rising"))
    }
}

/// A change is an origin; what can be explained is a symptom of what explains it, load before
/// failures; what failed hard without either is an origin.
fn judge(question: &str) -> Value {
    let entity = between(question, "# Entity: ", "\n");
    let (evidence, file) = (block(question, "evidence"), block(question, "case-file"));
    // What stands out of the entity stands in the case file, with how far an alert is.
    let filed = file.iter().filter_map(|line| {
        let rest = line.strip_prefix(entity)?.strip_prefix(' ')?;
        rest.get(rest.find('[')?..)
    });
    let lines: Vec<Line<'_>> = filed
        .chain(evidence.iter().map(String::as_str))
        .filter_map(|line| {
            let (number, text) = line.strip_prefix('[')?.split_once("] ")?;
            Some(Line { number: number.parse().ok()?, text })
        })
        .collect();
    let claim = |cause: &str, effect: &str, number: u32| {
        json!({ "cause": cause, "effect": effect, "evidence": [number],
            "condition": "its state travels on", "observed": "it does worse" })
    };
    let answer = |label: &str, because: &str, evidence: &[u32], claims: Vec<Value>| {
        json!({ "because": because, "label": label, "evidence": evidence, "claims": claims,
            "next_page": false, "search": [],
            "other_causes": [], "proposals": [] })
    };
    let change = lines.iter().find(|line| line.is("change/") && !line.is("change/restart"));
    if let Some(change) = change {
        // Which entities it reaches, and which say that it explains them.
        let messages = block(question, "messages");
        let claimed = messages.iter().filter_map(|line| {
            let (cause, rest) = line.strip_prefix("  claims ")?.split_once(" explains ")?;
            (cause == entity).then(|| rest.split(':').next()).flatten()
        });
        let reached = lines.iter().filter(|line| line.is("note/impact"));
        let reached = reached.filter_map(|line| line.peer("on to"));
        let effects: BTreeSet<&str> = claimed.chain(reached).collect();
        let claims = effects.iter().map(|effect| claim(entity, effect, change.number)).collect();
        return answer("origin", "It was changed before the harm.", &[change.number], claims);
    }
    let load = lines
        .iter()
        .filter(|line| line.is_rising())
        .find_map(|line| Some((line, line.peer("sender")?)));
    let failure = || lines.iter().find_map(|line| Some((line, line.peer("receiver")?)));
    let route = || {
        let route = lines.iter().find(|line| line.is("note/route"))?;
        Some((route, route.peer("from")?))
    };
    if let Some((line, cause)) = load.or_else(failure).or_else(route) {
        let claims = vec![claim(cause, entity, line.number)];
        return answer("symptom", &format!("{cause} explains it."), &[line.number], claims);
    }
    match lines.iter().find(|line| line.kind().ends_with("/exhaustion")) {
        Some(line) => answer("origin", "It ran out of a resource.", &[line.number], vec![]),
        None => answer("defer", "Nothing decides.", &[], vec![]),
    }
}

fn narrate(question: &str) -> Value {
    let (origins, evidence) = (block(question, "origins"), block(question, "evidence"));
    let factors: Vec<&str> = origins
        .iter()
        .filter_map(|line| line.strip_prefix("frontier: ")?.split(" (").next())
        .flat_map(|names| names.split(", "))
        .collect();
    let entities = factors.iter().map(|factor| {
        // "[1] 2026-03-20 12:00:00Z change of frontend: …"
        let mark = format!(" change of {factor}: ");
        let change = evidence.iter().find(|line| line.contains(&mark));
        let change = change.unwrap_or_else(|| panic!("no change of {factor}: {evidence:?}"));
        let (number, rest) = change[1..].split_once("] ").unwrap();
        let number: u32 = number.parse().unwrap();
        let cited = |answer: &str| json!({ "answer": answer, "evidence": [number] });
        json!({
            "name": factor, "contributing_factor": true,
            "what_changed": cited("It was set to another value."),
            "when": { "time": rest.split_once(&mark).unwrap().0, "evidence": [number] },
            "how_it_explains": cited("What it does reaches the alerts."),
            "reasoning": "It changed first.", "evidence": [number], "differs_because": "",
        })
    });
    let mut entities: Vec<Value> = entities.collect();
    if entities.is_empty() {
        let listed = block(question, "entities");
        let name = listed.first().map_or("", |line| word(line, 0));
        entities.push(json!({
            "name": name, "contributing_factor": false,
            "what_changed": { "answer": "", "evidence": [] },
            "when": { "time": "", "evidence": [] },
            "how_it_explains": { "answer": "", "evidence": [] },
            "reasoning": "It was checked.", "evidence": [], "differs_because": "",
        }));
    }
    let alerts: Vec<Value> = block(question, "alerts")
        .iter()
        .map(|line| {
            let number: u32 = line.split('.').next().unwrap().parse().unwrap();
            json!({ "alert": number, "explanation": "It follows.", "explained": true })
        })
        .collect();
    json!({
        "summary": format!("{SUMMARY} {} was changed, and the alerts followed.", factors.join(", ")),
        "timeline": [], "entities": entities, "propagations": [], "alerts": alerts,
    })
}
