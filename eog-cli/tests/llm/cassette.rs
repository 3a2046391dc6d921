//! Recorded traffic: replayed without a model and without a key, and loud where it lacks an answer.

use std::path::Path;

use super::lab::{KEY, Lab, Run, flash_sale};
use super::reader::{Start, read};
use super::server::{Asked, Reply, Server};

/// A model that repeats the key that it was given.
fn indiscreet(asked: &Asked) -> Reply {
    let key = asked.head.split_once("Bearer ").map_or("", |(_, rest)| &rest[..KEY.len()]);
    match read(asked, Start::Alerts) {
        Reply::Answer(answer) => {
            let leaking = |text: &str| format!("{text} (your key is {key})");
            Reply::Answer(
                answer
                    .replace("explains it.", &leaking("explains it."))
                    .replace("the alerts followed.", &leaking("the alerts followed.")),
            )
        }
        other => other,
    }
}

/// With a cassette that is only replayed, and no model anywhere.
fn replaying(cassette: &Path) -> Lab {
    Lab::with(&format!(
        "policy = \"llm\"\nfinalize = \"model\"\n[llm]\nmodel = \"openai/test\"\n\
         cassette = {{ path = \"{}\", mode = \"replay\" }}\n\
         [llm.models.\"openai/test\"]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
         capabilities = {{ tokenizer = \"gpt2\" }}\n",
        cassette.display()
    ))
}

/// A run in this folder without a key, and the ledger it leaves.
fn replay(lab: &Lab, verb: &[&str]) -> (Run, String) {
    let out = ["--format", "json", "--out", "out"];
    let mut eog = lab.eog(&[verb, &out].concat());
    let run = Run::of(&eog.env_remove("OPENAI_API_KEY").output().unwrap());
    (run, std::fs::read_to_string(lab.path("out/ledger.jsonl")).unwrap_or_default())
}

#[test]
fn what_was_recorded_is_replayed_without_a_model_and_holds_no_key() {
    let server = Server::start(indiscreet);
    let lab = Lab::at(&server, "");
    let (run, ledger) = lab.ledger(&["--cassette", "traffic.jsonl", "--journal", "run.journal"]);
    assert_eq!(run.code, Some(0), "{}", run.said);
    let asked = server.take();
    assert!(asked.iter().all(|asked| asked.head.contains(KEY)), "the key was given");

    let files = lab.files();
    let names: Vec<_> = files.iter().filter_map(|(path, _)| path.file_name()).collect();
    for name in
        ["traffic.jsonl", "run.journal", "run.journal.side.jsonl", "ledger.jsonl", "report.md"]
    {
        assert!(names.contains(&name.as_ref()), "{names:?}");
    }
    for (path, text) in &files {
        assert!(!text.contains(KEY), "the key is in {}", path.display());
    }
    assert!(!run.printed.contains(KEY) && !run.said.contains(KEY));
    assert!(ledger.contains("your key is"), "the model spoke of it");

    // Nor is the key in anything without a cassette.
    let without = Lab::at(&server, "");
    let (_, unrecorded) = without.ledger(&["--journal", "run.journal"]);
    assert!(unrecorded == ledger, "another ledger");
    assert!(without.files().iter().all(|(_, text)| !text.contains(KEY)), "the key is in a file");
    server.take();

    let cassette = lab.path("traffic.jsonl");
    let path = flash_sale();
    let (replayed, same) = replay(&replaying(&cassette), &["investigate", path.to_str().unwrap()]);
    assert_eq!(replayed.code, Some(0), "{}", replayed.said);
    assert!(same == ledger, "another ledger");
    assert_eq!(replayed.result()["narrative"], run.result()["narrative"]);
    let (again, _) = lab.ledger(&["--cassette", "traffic.jsonl"]);
    assert_eq!(again.code, Some(0), "{}", again.said);
    assert!(server.seen().is_empty(), "nothing is asked twice");

    // A key is missed when something must be asked, and not before.
    let keyless = |arguments: &[&str]| {
        let mut eog = lab.eog(&[&["investigate", path.to_str().unwrap()], arguments].concat());
        Run::of(&eog.env_remove("OPENAI_API_KEY").output().unwrap())
    };
    let run = keyless(&["--cassette", "traffic.jsonl"]);
    assert_eq!(run.code, Some(0), "{}", run.said);
    let run = keyless(&["--cassette", "traffic.jsonl", "--prompts", "plant"]);
    assert_eq!(run.code, Some(1), "{}", run.said);
    let said = "the cassette has no answer to a request of the phase bootstrap";
    assert!(run.said.contains(said) && run.said.contains("set OPENAI_API_KEY"), "{}", run.said);
    let run = keyless(&["--cassette", "new.jsonl"]);
    assert_eq!(run.code, Some(2), "{}", run.said);
    assert!(!lab.path("new.jsonl").exists(), "nothing has begun");
    let run = lab.investigate(&["--cassette", "nowhere/traffic.jsonl"]);
    assert_eq!(run.code, Some(2), "{}", run.said);
    assert!(run.said.contains("its folder does not exist: create it"), "{}", run.said);
    assert!(server.seen().is_empty());
}

/// Whichever phase it is of. Once it is recorded, the run goes on where it ended.
#[test]
fn an_answer_that_was_not_recorded_is_missed_loudly() {
    let server = Server::start(|asked| read(asked, Start::Alerts));
    let lab = Lab::at(&server, "");
    let (run, expected) = lab.ledger(&["--cassette", "traffic.jsonl"]);
    assert_eq!(run.code, Some(0), "{}", run.said);
    let path = flash_sale();
    let path = path.to_str().unwrap();
    let whole = std::fs::read_to_string(lab.path("traffic.jsonl")).unwrap();
    for phase in ["bootstrap", "explore", "finalize"] {
        let mark = format!("\"phase\":\"{phase}\"");
        let at = whole.lines().position(|line| line.contains(&mark)).unwrap();
        let lines: Vec<&str> =
            whole.lines().enumerate().filter(|(n, _)| *n != at).map(|(_, line)| line).collect();
        let cassette = lab.path(&format!("{phase}.jsonl"));
        std::fs::write(&cassette, lines.join("\n") + "\n").unwrap();
        let lab = replaying(&cassette);
        let (run, ledger) = replay(&lab, &["investigate", path, "--journal", "run.journal"]);
        assert_eq!((run.code, ledger.as_str(), run.printed.as_str()), (Some(1), "", ""), "{phase}");
        let said: Vec<&str> = run.said.lines().collect();
        let [line] = said.as_slice() else { panic!("{phase}: {said:?}") };
        assert!(line.contains(&cassette.display().to_string()), "{line}");
        assert!(line.contains(phase), "{line}");

        std::fs::write(&cassette, &whole).unwrap();
        let (run, ledger) = replay(&lab, &["resume", "run.journal", path]);
        assert_eq!(run.code, Some(0), "{phase}: {}", run.said);
        assert!(ledger == expected, "{phase}: another ledger");
    }
}
