//! Tools of MCP servers: the server is this program, as a process of its own.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::{HYPOTHESES, entries, lanes, of};
use crate::llm::crash::times;
use crate::llm::detective::{SPECIALISTS, detect, specialist, suspected};
use crate::llm::lab::{Lab, causes, flash_sale};
use crate::llm::quester::quest;
use crate::llm::server::{Asked, Reply, Server};

/// What specialists do before all that they do otherwise, in order.
fn calls_of_servers(asked: &Asked) -> Vec<(&'static str, Value)> {
    // Another call for each specialist.
    let visit = SPECIALISTS.iter().position(|(name, _)| *name == specialist(asked)).unwrap() + 1;
    let context = json!({ "entity_id": suspected(asked), "start_time": "2026-03-20T11:30:00Z",
        "end_time": "2026-03-20T12:30:00Z", "visit": visit });
    let mut other = context.clone();
    other["shell"] = json!("rm");
    vec![
        ("own/get_context", context),
        // Not of its schema, not there, and not known to only read.
        ("own/get_context", other),
        ("own/drop_table", json!({})),
        ("own/investigate", json!({})),
        ("own/explain", json!({ "investigation": "inv-000099", "entity": "frontend" })),
    ]
}

fn call_first(asked: &Asked) -> Reply {
    if asked.phase() != "search_investigate" {
        return detect(asked);
    }
    let said = asked.said();
    let made = said.iter().filter(|it| it["tool"].as_str().unwrap_or_default().contains('/'));
    match calls_of_servers(asked).get(made.count()) {
        Some((tool, with)) => {
            let because = format!("next for the specialist of {}", specialist(asked));
            json!({ "because": because, "tool": tool, "with": with.to_string() }).into()
        }
        None => detect(asked),
    }
}

/// A file that offers tools of this program. What is sent to it is kept in `sent.jsonl`.
fn offering(lab: &Lab, offer: &str) {
    let text = |path: &Path| json!(path.to_str().unwrap()).to_string();
    let (sent, state, root) = (lab.path("sent.jsonl"), lab.path("state"), flash_sale());
    let script = "cd /; tee -a \"$1\" | exec \"$0\" mcp serve --root \"$2\" --state \"$3\"";
    let args = [
        json!("-c").to_string(),
        json!(script).to_string(),
        text(Path::new(env!("CARGO_BIN_EXE_eog"))),
        text(&sent),
        text(&root),
        text(&state),
    ];
    let config = format!(
        "[servers.own]\ncommand = \"/bin/sh\"\nargs = [{}]\n[[tools]]\nserver = \"own\"\n{offer}",
        args.join(", ")
    );
    std::fs::write(lab.path("tools.toml"), config).unwrap();
}

/// The calls that the server got, in order.
fn sent(lab: &Lab) -> Vec<Value> {
    let text = std::fs::read_to_string(lab.path("sent.jsonl")).unwrap_or_default();
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let calls = messages.filter(|message| message["method"] == "tools/call");
    calls.map(|call| json!([call["params"]["name"], call["params"]["arguments"]])).collect()
}

const TOOLS: [&str; 2] = ["--tools", "tools.toml"];

#[test]
fn specialists_call_tools_of_servers_that_only_read() {
    let server = Server::start(call_first);
    let lab = Lab::at(&server, "");
    offering(&lab, "");
    let (run, ledger) = lab.ledger(&[&HYPOTHESES[..], &TOOLS].concat());
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_eq!(causes(&run.result()), ["frontend"]);
    let said = "server own: not offered, because nothing says that they only read: close_incident, \
                fork, investigate, resume, rule_out";
    assert!(run.said.contains(said), "{}", run.said);
    let asked = server.take();
    let prompt = of(&asked, "search_investigate")[0].question();
    assert!(prompt.contains("own/get_context: ") && prompt.contains("entity_id"), "{prompt}");
    assert!(!prompt.contains("own/investigate"), "{prompt}");

    for lane in lanes(&ledger) {
        let came = |at: usize| &lane["turns"][at]["acted"]["came"];
        let answer = came(0)["answered"]["text"].as_str().unwrap_or_default().to_owned();
        assert!(answer.contains("finding"), "{lane}");
        let reasons = ["shell", "there is no tool", "there is no tool"];
        for (at, reason) in (1..).zip(reasons) {
            let refused = came(at)["refused"].as_str().unwrap_or_default();
            assert!(refused.contains(reason), "{at}: {lane}");
        }
        // What the server does not do is an answer, too.
        let answer = came(4)["answered"]["text"].as_str().unwrap_or_default();
        assert!(answer.contains("own, tool explain") && answer.contains("inv-000099"), "{answer}");
    }
    // Equal calls are made once in an investigation, and nothing that was refused is sent.
    let sent = sent(&lab);
    let mut once = sent.clone();
    once.sort_by_key(ToString::to_string);
    once.dedup();
    assert_eq!(once.len(), sent.len(), "{sent:?}");
    assert!(sent.iter().all(|call| call[0] == "get_context" || call[0] == "explain"), "{sent:?}");
    assert!(sent.iter().all(|call| call[1].get("shell").is_none()), "{sent:?}");

    // Everything follows from the ledger alone.
    let path = lab.path("out/ledger.jsonl");
    let replay = lab.run(&["replay", path.to_str().unwrap()]);
    assert_eq!(replay.code, Some(0), "{}", replay.said);
    assert!(!entries(&ledger).is_empty());
}

/// The agent of a chain is offered the same tools, and calls them. Without `--tools` there is none of them.
#[test]
fn the_agent_of_a_chain_calls_tools_of_servers() {
    let react = ["--controller", "react"];
    let calls = |asked: &Asked| {
        let question = asked.question();
        if asked.phase() != "search_react" || question.contains("Called own/get_context") {
            return quest(asked);
        }
        let with = json!({ "entity_id": "gateway", "start_time": "2026-03-20T11:30:00Z",
            "end_time": "2026-03-20T12:30:00Z" });
        json!({ "because": "a tool of a server", "phase": "evidence", "step": null, "action": "call",
            "plan": [{ "change": "add", "text": "find the cause", "step": null }],
            "entity": "", "tool": "own/get_context", "with": with.to_string(), "causes": [], "summary": "" })
        .into()
    };
    for offered in [true, false] {
        let server = Server::start(calls);
        let lab = Lab::at(&server, "");
        offering(&lab, "");
        let tools = if offered { &TOOLS[..] } else { &[] };
        let (run, ledger) = lab.ledger(&[&react[..], tools].concat());
        assert_eq!(run.code, Some(0), "{}", run.said);
        assert_eq!(causes(&run.result()), ["frontend"]);
        let asked = server.take();
        let prompt = of(&asked, "search_react")[0].question();
        assert_eq!(prompt.contains("own/get_context: "), offered, "{prompt}");
        assert!(!prompt.contains("own/investigate") && !prompt.contains("load_skill"), "{prompt}");
        let entries = entries(&ledger);
        let mut called = entries.iter().map(|entry| &entry["body"]["called"]);
        let called = called.find(|called| called["call"]["tool"] == "own/get_context");
        let came = &called.unwrap()["came"];
        match offered {
            true => {
                assert!(came["answered"]["text"].as_str().unwrap().contains("finding"), "{came}");
            }
            false => {
                assert!(came["refused"].as_str().unwrap().contains("there is no tool"), "{came}");
            }
        }
        assert_eq!(sent(&lab).len(), usize::from(offered));
    }
}

/// Named specialists are offered the named tools, whatever the server says of them.
#[test]
fn tools_are_offered_by_a_list_to_those_who_are_named() {
    let server = Server::start(detect);
    let lab = Lab::at(&server, "");
    offering(&lab, "names = [\"resume\"]\nspecialists = [\"logs\"]");
    let (run, _) = lab.ledger(&[&HYPOTHESES[..], &TOOLS, &["--rounds", "1"]].concat());
    assert!(matches!(run.code, Some(0 | 3)), "{:?}: {}", run.code, run.said);
    for asked in of(&server.take(), "search_investigate") {
        let is_offered = asked.question().contains("own/resume: ");
        assert_eq!(is_offered, specialist(asked) == "logs", "{}", specialist(asked));
        assert!(!asked.question().contains("own/get_context"));
    }
}

/// Killed after calls were answered, a run that is resumed makes none of them again.
#[test]
fn a_recorded_call_is_not_made_again() {
    let server = Server::start(call_first);
    let lab = Lab::at(&server, "");
    offering(&lab, "");
    let (run, expected) = lab.ledger(&[&HYPOTHESES[..], &TOOLS, &["--width", "1"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.said);
    let (all, called) = (server.take(), sent(&lab));
    // Amid the second lane: one lane is committed, and the other has called.
    let second = of(&all, "search_investigate");
    let second: Vec<_> =
        second.iter().filter(|asked| specialist(asked) == "logs").map(|asked| asked.at).collect();
    let at = second[2];
    let is_silent = Arc::new(AtomicBool::new(true));
    let silent = Arc::clone(&is_silent);
    let server =
        Server::start(move |asked| match asked.at == at && silent.load(Ordering::SeqCst) {
            true => Reply::Hang,
            false => call_first(asked),
        });
    let lab = Lab::at(&server, "");
    offering(&lab, "");
    let path = flash_sale();
    let path = path.to_str().unwrap();
    let options = ["investigate", path, "--width", "1", "--journal", "run.journal"];
    let mut child = lab
        .eog(&[&options[..], &HYPOTHESES, &TOOLS].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    server.wait(|seen| seen.len() > at);
    child.kill().unwrap();
    child.wait().unwrap();
    is_silent.store(false, Ordering::SeqCst);
    assert!(!sent(&lab).is_empty() && sent(&lab).len() < called.len(), "amid the run");

    let resume = ["resume", "run.journal", path, "--out", "out", "--format", "json"];
    let run = lab.run(&[&resume[..], &TOOLS].concat());
    assert_eq!(run.code, Some(0), "{}", run.said);
    let ledger = std::fs::read_to_string(lab.path("out/ledger.jsonl")).unwrap();
    assert!(ledger == expected, "another ledger");
    assert_eq!(sent(&lab), called, "nothing is called twice");
    let times = times(&server.seen(), &all);
    let once = (0..all.len()).map(|place| 1 + usize::from(place == at));
    assert!(once.eq(times.iter().copied()), "{times:?}");
}

#[test]
fn servers_that_cannot_be_used_are_reported_before_anything_is_asked() {
    let server = Server::start(detect);
    let lab = Lab::at(&server, "");
    let run = |config: &str, options: &[&str]| {
        std::fs::write(lab.path("tools.toml"), config).unwrap();
        lab.investigate(&[options, &TOOLS].concat())
    };
    let gone = "[servers.own]\ncommand = \"/nowhere/server\"\n[[tools]]\nserver = \"own\"\n";
    for (config, options, code, reason) in [
        (gone, &HYPOTHESES[..], 4, "tools.toml: server own: it could not be started"),
        ("tools = 1", &HYPOTHESES, 4, "tools.toml: "),
        ("", &HYPOTHESES, 4, "tools.toml: tools: nothing is offered"),
        (gone, &[], 2, "--tools has no effect with the controller eog"),
        (gone, &["--controller", "bfs"], 2, "--tools has no effect with the controller bfs"),
    ] {
        let run = run(config, options);
        assert_eq!(run.code, Some(code), "{}", run.said);
        assert!(run.said.contains(reason), "{reason}: {}", run.said);
    }
    offering(&lab, "names = [\"get_contxt\"]");
    let run = lab.investigate(&[&HYPOTHESES[..], &TOOLS].concat());
    assert_eq!(run.code, Some(4), "{}", run.said);
    assert!(run.said.contains("did you mean get_context"), "{}", run.said);
    let idle = lab.investigate(&[&HYPOTHESES[..], &TOOLS, &["--roles", "rules"]].concat());
    assert_eq!(idle.code, Some(2), "{}", idle.said);
    assert!(server.seen().is_empty(), "nothing was asked");
}
