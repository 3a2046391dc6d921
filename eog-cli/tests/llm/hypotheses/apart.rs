//! What the prompts of a specialist hold, and what not.

use std::path::Path;

use serde_json::json;

use super::{HYPOTHESES, lanes, marks_of, of, recording};
use crate::llm::detective::{SPECIALISTS, detect, specialist};
use crate::llm::lab::Lab;
use crate::llm::server::{Asked, Server};

/// What belongs to one specialist alone: its words, its skills, what it says; and its tools of a snapshot.
fn marks(agent: &str, with_tools: bool) -> Vec<String> {
    let (skills, tools): (&[&str], &[&str]) = match agent {
        "metrics" => {
            (&["- quantiles: ", "- counters: "], &["get_metric_anomalies: ", "metric_analysis: "])
        }
        "logs" => (&["- text-or-pattern: "], &["log_analysis: ", "k8s_spec_change_analysis: "]),
        _ => (&["- error-spans: ", "- slow-spans: "], &["get_trace_error_tree: "]),
    };
    let tools = tools.iter().filter(|_| with_tools);
    let said = format!("next for the specialist of {agent}");
    let words = [marks_of(agent).to_owned(), said];
    skills.iter().chain(tools).map(|it| (*it).to_owned()).chain(words).collect()
}

/// Each prompt of a specialist holds its own words, skills and tools, and nothing of another's.
fn assert_apart(asked: &[Asked], with_tools: bool) {
    for (agent, _) in SPECIALISTS {
        let mine: Vec<String> = of(asked, "search_investigate")
            .into_iter()
            .filter(|asked| specialist(asked) == agent)
            .map(Asked::whole)
            .collect();
        assert!(mine.len() > 1, "{agent} was not asked");
        for (other, _) in SPECIALISTS {
            for mark in marks(other, with_tools) {
                let is_there = mine.iter().any(|text| text.contains(&mark));
                assert_eq!(is_there, other == agent, "{agent}, {other}: {mark}");
            }
        }
    }
    // No other agent is shown what specialists said, or what only they may do.
    for asked in asked.iter().filter(|asked| asked.phase() != "search_investigate") {
        let text = asked.whole();
        for mark in ["next for the specialist", "load_skill", "You read "] {
            assert!(!text.contains(mark), "{}: {mark}", asked.phase());
        }
    }
}

#[test]
fn no_prompt_holds_what_belongs_to_another_specialist() {
    let server = Server::start(detect);
    let (run, _) = Lab::at(&server, "").ledger(&[&HYPOTHESES[..], &["--accept", "1000"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_apart(&server.take(), false);
}

#[test]
fn the_bottling_line_is_investigated_in_the_words_of_a_plant() {
    let server = Server::start(detect);
    let lab = Lab::at(&server, "");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/bottling-line");
    let arguments = [
        "investigate",
        path.to_str().unwrap(),
        "--prompts",
        "plant",
        "--out",
        "out",
        "--accept",
        "1000",
    ];
    let run = lab.run(&[&arguments[..], &["--format", "json"], &HYPOTHESES].concat());
    assert!(matches!(run.code, Some(0 | 3)), "{:?}: {}", run.code, run.said);
    // What its conclusion rests on is what specialists recorded.
    let origins = run.result()["conclusion"]["frontier"].to_string();
    assert!(origins.contains("utilities/compressor-2"), "{origins}");
    let ledger = std::fs::read_to_string(lab.path("out/ledger.jsonl")).unwrap();
    assert!(lanes(&ledger).len() >= 3);
    let asked = server.take();
    let lanes = of(&asked, "search_investigate");
    for mark in [
        "You read measured series",
        "You read what was written down: messages of controllers",
        "You follow units and material",
        "- utilities: Several machines at once",
    ] {
        assert!(lanes.iter().any(|asked| asked.question().contains(mark)), "{mark}");
    }
    let foreign = lanes.iter().find(|asked| asked.whole().contains("OOM kills"));
    assert!(foreign.is_none(), "words of another domain");
}

/// Its tools are offered, each to one specialist, and answer.
#[test]
fn a_recorded_incident_is_investigated_with_its_tools() {
    let Some((snapshot, architecture)) = recording() else { return };
    let server = Server::start(|asked| {
        let (phase, agent) = (asked.phase(), specialist(asked));
        // One more call before those that all lanes make.
        let call = |tool: &str, with: &str| {
            let because = format!("{tool} is next for the specialist of {agent}");
            json!({ "because": because, "tool": tool, "with": with }).into()
        };
        let own = ["alert_summary", "event_analysis", "k8s_spec_change_analysis"];
        let is_own = |tool: Option<&str>| tool.is_some_and(|tool| own.contains(&tool));
        let said = asked.said();
        match (phase, said.len(), agent) {
            ("search_investigate", 0, "metrics") => call("alert_summary", "{}"),
            ("search_investigate", 0, "logs") => {
                call("event_analysis", r#"{"group_by": "reason"}"#)
            }
            // It belongs to another.
            ("search_investigate", 0, _) => call("k8s_spec_change_analysis", "{}"),
            ("search_investigate", 1, _) if is_own(said[0]["tool"].as_str()) => {
                call("load_skill", &json!({ "name": first_skill(asked) }).to_string())
            }
            _ => detect(asked),
        }
    });
    let lab = Lab::at(&server, "");
    let [snapshot, architecture] = [&snapshot, &architecture].map(|path| path.to_str().unwrap());
    let arguments = ["investigate", snapshot, "--architecture", architecture, "--out", "out"];
    let run =
        lab.run(&[&arguments[..], &["--format", "json", "--rounds", "2"], &HYPOTHESES].concat());
    assert!(matches!(run.code, Some(0 | 3)), "{:?}: {}", run.code, run.said);
    let asked = server.take();
    assert_apart(&asked, true);
    let answered = |agent: &str| {
        let mut second = of(&asked, "search_investigate").into_iter();
        second.find(|it| specialist(it) == agent && it.said().len() == 1).unwrap().last()
    };
    assert!(answered("metrics").contains("<data answer>"), "{}", answered("metrics"));
    assert!(answered("logs").contains(r#"\"reason\":"#), "{}", answered("logs"));
    let refused = answered("traces");
    assert!(
        refused.contains("there is no tool") && refused.contains("get_trace_error_tree"),
        "{refused}"
    );
    let ledger = std::fs::read_to_string(lab.path("out/ledger.jsonl")).unwrap();
    assert!(lanes(&ledger).len() >= 3, "{}", run.said);
}

fn first_skill(asked: &Asked) -> String {
    let question = asked.question();
    crate::llm::reader::between(&question, "name (one of ", ")")
        .split(", ")
        .next()
        .unwrap()
        .to_owned()
}

#[test]
fn skills_of_a_folder_are_offered_to_their_specialist_and_replace_shipped_ones() {
    let server = Server::start(detect);
    let lab = Lab::at(&server, "");
    std::fs::create_dir_all(lab.path("skills/metrics")).unwrap();
    std::fs::create_dir_all(lab.path("skills/logs")).unwrap();
    std::fs::write(lab.path("skills/metrics/campaigns.md"), "# Sales\nCheck campaigns first.\n")
        .unwrap();
    std::fs::write(lab.path("skills/logs/changes.md"), "# Our own way\nAsk the release log.\n")
        .unwrap();
    let (run, ledger) = lab.ledger(&[&HYPOTHESES[..], &["--skills", "skills"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.said);
    let asked = server.take();
    for asked in of(&asked, "search_investigate") {
        let (agent, text) = (specialist(asked), asked.whole());
        assert_eq!(text.contains("- campaigns: Sales"), agent == "metrics", "{agent}");
        assert_eq!(text.contains("- changes: Our own way"), agent == "logs", "{agent}");
        assert!(!text.contains("What was changed before the harm"), "it was replaced");
    }
    // The first of each is loaded, and the ledger holds what was said.
    assert!(ledger.contains("Check campaigns first.") && ledger.contains("Ask the release log."));

    for (options, said) in [
        (&["--skills", "skills", "--controller", "lats"][..], "--skills has no effect"),
        (
            &["--skills", "skills", "--controller", "hypotheses", "--roles", "rules"],
            "--skills has no effect",
        ),
        (&["--skills", "nowhere", "--controller", "hypotheses"], "there is no such folder"),
    ] {
        let run = lab.investigate(options);
        assert_eq!(run.code, Some(2), "{options:?}: {}", run.said);
        assert!(run.said.contains(said), "{options:?}: {}", run.said);
    }
    assert!(server.seen().is_empty());
}
