//! How long a lane may be, and what the model reads then.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{HYPOTHESES, lanes, of};
use crate::llm::detective::{detect, specialist, suspected};
use crate::llm::lab::Lab;
use crate::llm::server::{Asked, Server};

const WRAP_UP: &str = "You have explored enough.";

/// A specialist that never finishes gets a message of the user after exactly 10 calls, and is asked 15 times.
#[test]
fn a_specialist_that_never_finishes_is_warned_and_then_cut_short() {
    let server = Server::start(|asked| match asked.phase() {
        "search_investigate" => {
            // Each call another one, every third of them no call at all.
            let with = json!({ "text": format!("{}", asked.said().len()) }).to_string();
            match asked.whole().matches("Call ").count() % 3 {
                2 => crate::llm::server::Reply::Answer("no JSON".into()),
                _ => json!({ "because": "so", "tool": "find_entities", "with": with }).into(),
            }
        }
        _ => detect(asked),
    });
    let (run, ledger) =
        Lab::at(&server, "").ledger(&[&HYPOTHESES[..], &["--rounds", "1"]].concat());
    assert!(matches!(run.code, Some(0 | 3)), "{:?}: {}", run.code, run.said);
    let asked = server.take();
    let mut of_lane: BTreeMap<(&str, String), Vec<&Asked>> = BTreeMap::new();
    for asked in of(&asked, "search_investigate") {
        of_lane.entry((specialist(asked), suspected(asked))).or_default().push(asked);
    }
    assert_eq!(of_lane.len(), 3);
    for (lane, asked) in of_lane {
        assert_eq!(asked.len(), 15, "{lane:?}");
        for (before, asked) in asked.iter().enumerate() {
            let is_warned = asked.whole().contains(WRAP_UP);
            assert_eq!(is_warned, before >= 10, "{lane:?}: after {before} calls");
            assert!(!asked.system().contains(WRAP_UP), "a user says it");
        }
        assert!(asked[10].last().trim_end().ends_with("then finish."), "{}", asked[10].last());
    }
    for lane in lanes(&ledger) {
        assert_eq!(lane["end"], "cut_short");
        assert!(lane["turns"].as_array().unwrap().last().unwrap()["closed"].is_string());
    }
}

/// Questions and answers stand in turn, as some models demand, and each request begins as the one before.
#[test]
fn a_lane_is_one_conversation() {
    let server = Server::start(|asked| match (asked.phase(), asked.said().len()) {
        ("search_investigate", 1) if !asked.last().contains("could not be used") => {
            crate::llm::server::Reply::Answer("{".into())
        }
        _ => detect(asked),
    });
    let (run, _) = Lab::at(&server, "").ledger(&HYPOTHESES);
    assert_eq!(run.code, Some(0), "{}", run.said);
    let asked = server.take();
    let mut before: BTreeMap<(&str, String), String> = BTreeMap::new();
    for asked in of(&asked, "search_investigate") {
        let messages = asked.body["messages"].as_array().unwrap();
        let roles: Vec<&str> = messages.iter().filter_map(|it| it["role"].as_str()).collect();
        let expected = ["system"].into_iter().chain(["user", "assistant"].into_iter().cycle());
        assert!(roles.iter().copied().eq(expected.take(roles.len())), "{roles:?}");
        assert_eq!(roles.last(), Some(&"user"));
        let whole = asked.whole();
        let lane = (specialist(asked), suspected(asked));
        if let Some(before) = before.insert(lane, whole.clone()) {
            assert!(whole.starts_with(&before), "{before}\n---\n{whole}");
        }
    }
}

/// Nothing but what an answer of the own lane holds is recorded, whatever a model claims.
#[test]
fn what_no_answer_holds_is_not_recorded() {
    let server = Server::start(|asked| match (asked.phase(), asked.said().len()) {
        ("search_investigate", 2) => {
            let with = json!({ "call": 2, "findings": [1, 999, "log:0000"] }).to_string();
            json!({ "because": "so", "tool": "record_finding", "with": with }).into()
        }
        ("search_investigate", 3) => {
            let with = json!({ "call": 1, "findings": [1] }).to_string();
            json!({ "because": "so", "tool": "record_finding", "with": with }).into()
        }
        ("search_investigate", 4) => {
            json!({ "because": "so", "tool": "finish", "with": "{\"summary\": \"so\"}" }).into()
        }
        _ => detect(asked),
    });
    let (run, ledger) = Lab::at(&server, "").ledger(&HYPOTHESES);
    assert!(matches!(run.code, Some(0 | 3)), "{:?}: {}", run.code, run.said);
    let mut recorded = 0;
    for lane in lanes(&ledger) {
        let turns = lane["turns"].as_array().unwrap();
        let held = turns[1]["acted"]["came"]["answered"]["evidence"]["context"]["findings"].clone();
        let came = &turns[2]["acted"]["came"]["recorded"];
        let ids: Vec<&Value> = held.as_array().into_iter().flatten().map(|it| &it["id"]).collect();
        for id in came["findings"].as_array().unwrap() {
            assert!(ids.contains(&id), "{id}");
            recorded += 1;
        }
        assert!(came["refused"].as_array().unwrap().len() >= 2, "{came}");
        // The answer that brought the skill holds no findings.
        let skill = &turns[3]["acted"]["came"]["recorded"];
        assert_eq!(skill["findings"], json!([]), "{skill}");
    }
    assert!(recorded > 0);
}
