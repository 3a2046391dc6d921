//! The closing narrative rests on what specialists recorded, whatever the model that writes it says.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{HYPOTHESES, lanes, of};
use crate::llm::detective::{detect, specialist};
use crate::llm::lab::{Lab, causes};
use crate::llm::reader::block;
use crate::llm::server::{Asked, Reply, Server};

/// What a model would have said.
fn parsed(reply: Reply) -> Value {
    match reply {
        Reply::Answer(text) => serde_json::from_str(&text).unwrap(),
        _ => panic!("no answer"),
    }
}

/// The findings of the answers that specialists had, and those that they recorded.
fn seen_and_recorded(ledger: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut seen, mut recorded) = (BTreeSet::new(), BTreeSet::new());
    for lane in lanes(ledger) {
        for turn in lane["turns"].as_array().unwrap() {
            let came = &turn["acted"]["came"];
            let findings = came["answered"]["evidence"]["context"]["findings"].as_array();
            seen.extend(
                findings.into_iter().flatten().map(|it| it["id"].as_str().unwrap().to_owned()),
            );
            let ids = came["recorded"]["findings"].as_array();
            recorded.extend(ids.into_iter().flatten().map(|it| it.as_str().unwrap().to_owned()));
        }
    }
    (seen, recorded)
}

/// Every text of a value that is the name of one of these findings.
fn cited(value: &Value, findings: &BTreeSet<String>) -> BTreeSet<String> {
    match value {
        Value::String(text) => findings.iter().filter(|id| text.contains(*id)).cloned().collect(),
        Value::Array(values) => values.iter().flat_map(|it| cited(it, findings)).collect(),
        Value::Object(fields) => fields.values().flat_map(|it| cited(it, findings)).collect(),
        _ => BTreeSet::new(),
    }
}

/// Cites what was not recorded: by number, by id, and by name and time.
fn lie(asked: &Asked) -> Value {
    let mut answer = parsed(detect(asked));
    let many = block(&asked.question(), "evidence").len();
    let beyond = json!([many + 1, 999]);
    let factor = &mut answer["entities"][0];
    factor["evidence"].as_array_mut().unwrap().extend(beyond.as_array().unwrap().clone());
    factor["how_it_explains"]["evidence"].as_array_mut().unwrap().push(json!(999));
    answer["timeline"] = json!([
        { "evidence": 999, "what": "The cache was emptied." },
        { "evidence": many + 1, "what": "The disk was full." },
    ]);
    answer
}

#[test]
fn the_narrative_cites_recorded_findings_alone() {
    let server = Server::start(|asked| match asked.phase() {
        "finalize" => lie(asked).into(),
        // Sees findings, and records none of them.
        "search_investigate" if specialist(asked) == "metrics" => {
            let mut answer = parsed(detect(asked));
            if answer["tool"] == "record_finding" {
                answer["tool"] = json!("finish");
                answer["with"] = json!("{\"summary\": \"nothing bears on it\"}");
            }
            answer.into()
        }
        _ => detect(asked),
    });
    let lab = Lab::at(&server, "");
    let (run, ledger) = lab.ledger(&HYPOTHESES);
    assert_eq!(run.code, Some(0), "{}", run.said);
    let result = run.result();
    assert_eq!(causes(&result), ["frontend"]);
    let (seen, recorded) = seen_and_recorded(&ledger);
    let unrecorded: BTreeSet<String> = seen.difference(&recorded).cloned().collect();
    assert!(!unrecorded.is_empty() && !recorded.is_empty());

    let narrative = &result["narrative"];
    assert_eq!(cited(narrative, &unrecorded), BTreeSet::new());
    assert!(!cited(narrative, &recorded).is_empty(), "it rests on what was recorded");
    let asked = server.take();
    let shown = block(&of(&asked, "finalize")[0].question(), "evidence").join("\n");
    assert!(!shown.contains(" metric "), "none was recorded: {shown}");
    let report = std::fs::read_to_string(lab.path("out/report.md")).unwrap();
    let refused = narrative["refused"].to_string();
    for text in ["cache was emptied", "disk was full"] {
        assert!(!narrative["timeline"].to_string().contains(text), "{narrative:#}");
        assert!(refused.contains(text) && report.contains(text), "it is said: {refused}");
    }
    assert!(refused.contains("999"), "{refused}");
}
