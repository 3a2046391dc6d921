//! Whole investigations: every phase, two incidents, settings from everywhere.

use std::path::{Path, PathBuf};

use super::lab::{KEY, Lab, causes, flash_sale};
use super::reader::{SUMMARY, Start, read};
use super::server::{Asked, Server};
use serde_json::Value;

/// The phases of a short incident, in order: there is one window, and nothing to pick from.
pub(crate) const PHASES: [&str; 3] = ["bootstrap", "explore", "finalize"];

/// All phases, in order.
pub(crate) const ALL_PHASES: [&str; 6] = [
    "select_investigation_window",
    "filter_events",
    "filter_spec_changes",
    "bootstrap",
    "explore",
    "finalize",
];

fn assert_written_by_the_model(result: &Value, lab: &Lab) {
    let narrative = &result["narrative"];
    assert_eq!(narrative["author"], serde_json::json!({ "model": { "name": "openai/served" } }));
    assert!(narrative["summary"].as_str().unwrap().starts_with(SUMMARY), "{narrative:#}");
    assert_eq!(narrative["refused"], serde_json::json!([]), "{narrative:#}");
    let report = std::fs::read_to_string(lab.path("out/report.md")).unwrap();
    assert!(report.contains(SUMMARY), "{report}");
}

#[test]
fn the_sale_is_diagnosed_by_a_model() {
    let server = Server::start(|asked| read(asked, Start::Alerts));
    let lab = Lab::with("");
    let run = lab.investigate(&[
        "--policy",
        "llm",
        "--model",
        "openai/gpt-5-mini",
        "--base-url",
        &server.url,
        "--finalize",
        "model",
        "--out",
        "out",
        "--format",
        "json",
    ]);
    assert_eq!(run.code, Some(0), "{}\n{}", run.said, run.printed);
    let result = run.result();
    assert_eq!(causes(&result), ["frontend"]);
    assert_eq!(result["conclusion"]["confidence"], "likely");
    let doubts = result["conclusion"]["frontier"][0]["doubts"].as_array().unwrap();
    assert!(!doubts.is_empty(), "{result:#}");
    assert_written_by_the_model(&result, &lab);

    let seen = server.seen();
    assert_eq!(server.phases(), PHASES);
    for asked in &seen {
        assert!(asked.head.contains(&format!("Bearer {KEY}")), "{}", asked.head);
        assert_eq!(asked.path, "/v1/chat/completions");
        assert_eq!(asked.body["model"], "gpt-5-mini");
        assert_eq!(asked.correction(), None, "{}", asked.phase());
    }
    // The case file shows the source of the load, so that no other entity has to be judged.
    let explored: Vec<String> =
        seen.iter().filter(|asked| asked.phase() == "explore").map(Asked::entity).collect();
    assert_eq!(explored, ["gateway", "frontend"]);
    let spent = &result["spent"];
    assert_eq!(spent["usage"]["model_calls"], seen.len(), "{spent:#}");
    assert_eq!(spent["usage"]["tokens_in"], 1000 * seen.len(), "{spent:#}");
}

#[test]
fn a_fork_to_a_model_gives_it_the_case_file() {
    let server = Server::start(|asked| read(asked, Start::Alerts));
    let roles = ["--roles", "rules"];
    for (controller, roles) in [("eog", &[][..]), ("linear", &[]), ("bfs", &roles[..])] {
        let lab = Lab::at(&server, "");
        let rules = ["--policy", "evidence", "--controller", controller, "--out", "rules"];
        assert_eq!(lab.investigate(&rules).code, Some(0));
        server.take();
        let sale = flash_sale();
        let fork = ["fork", "rules", sale.to_str().unwrap(), "--at", "0", "--format", "json"];
        let options = ["--policy", "llm", "--finalize", "rules", "--out", "fork"];
        let run = lab.run(&[&fork[..], &options[..], roles].concat());
        assert_eq!(run.code, Some(0), "{controller}: {}", run.said);
        let seen = server.take();
        let explored: Vec<_> = seen.iter().filter(|asked| asked.phase() == "explore").collect();
        assert!(!explored.is_empty(), "{controller}");
        for asked in explored {
            assert!(asked.question().contains("# What stands out"), "{controller}");
        }
        // It is in the ledger: the next fork has it, and a replay comes to the same.
        let replayed = lab.run(&["replay", "fork", "--format", "json"]);
        assert_eq!(replayed.result()["beliefs"], run.result()["beliefs"], "{controller}");
        let ledger = std::fs::read_to_string(lab.path("fork/ledger.jsonl")).unwrap();
        assert_eq!(ledger.matches("\"case_file\"").count(), 1, "{controller}");
        let again = ["fork", "fork", sale.to_str().unwrap(), "--at", "1", "--out", "again"];
        lab.run(&[&again[..], roles].concat());
        let ledger = std::fs::read_to_string(lab.path("again/ledger.jsonl")).unwrap();
        assert_eq!(ledger.matches("\"case_file\"").count(), 1, "{controller}");
    }
}

/// Where there are several incidents to choose from, and more events and changes than one prompt
/// should show, a model picks.
#[test]
fn a_busy_recording_is_picked_from_by_a_model() {
    let server = Server::start(|asked| read(asked, Start::Change));
    let lab = Lab::at(&server, "");
    busy_sale(&lab.path("busy"));
    let run = lab.run(&["investigate", "busy", "--out", "out", "--format", "json"]);
    assert_eq!(run.code, Some(0), "{}\n{}", run.said, run.printed);
    assert_eq!(server.phases(), ALL_PHASES);
    assert_eq!(causes(&run.result()), ["frontend"]);
    assert_written_by_the_model(&run.result(), &lab);
    let seen = server.seen();
    for asked in &seen {
        assert_eq!(asked.correction(), None, "{}: {}", asked.phase(), asked.question());
    }
    let start = seen.iter().find(|asked| asked.phase() == "bootstrap").unwrap().question();
    assert!(start.contains("spring-sale") && !start.contains("mailer"), "{start}");
}

/// The shipped example with an alert that fires anew more than an hour later, and with 40 events and
/// 40 changes that reach no alert.
fn busy_sale(folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    for file in std::fs::read_dir(flash_sale()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    let edit = |name: &str, change: &dyn Fn(String) -> String| {
        let path = folder.join(name);
        std::fs::write(&path, change(std::fs::read_to_string(&path).unwrap())).unwrap();
    };
    edit("alerts.json", &|text| {
        text.replacen("\"renewed\": []", "\"renewed\": [\"2026-03-20T13:10:00Z\"]", 1).replacen(
            "\"last_seen\": \"2026-03-20T12:30:00Z\"",
            "\"last_seen\": \"2026-03-20T13:12:00Z\"",
            1,
        )
    });
    // Of those that say the same only a few are shown.
    let word =
        |n: u8| ["ab", "el", "ir", "os", "um"][usize::from(n % 5)].repeat(usize::from(n / 5) + 1);
    edit("events.csv", &|text| {
        let rows = (0..40).map(|n| {
            let (minute, word) = (n + 15, word(n));
            format!("2026-03-20T11:{minute:02}:00Z,mailer,{word},availability,{word} failed,,\n")
        });
        text + &rows.collect::<String>()
    });
    edit("changes.json", &|text| {
        let mut changes: Vec<Value> = serde_json::from_str(&text).unwrap();
        changes.extend((0..40).map(|n| {
            serde_json::json!({
                "time": format!("2026-03-20T11:{:02}:00Z", n + 15), "entity": "mailer",
                "signal": "configuration", "path": format!("templates/{}", word(n)),
                "old": "a", "new": "b", "description": format!("{} was edited", word(n)),
            })
        }));
        serde_json::to_string(&changes).unwrap()
    });
}

#[test]
fn the_real_recording_is_diagnosed_by_a_model() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    let (snapshot, architecture) =
        (data.join("scenario-2-partial"), data.join("architecture.json"));
    if !snapshot.is_dir() || !architecture.is_file() {
        eprintln!("skipped: no recording at {}", data.display());
        return;
    }
    let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
    for start in [Start::Alerts, Start::Change] {
        let server = Server::start(move |asked| read(asked, start));
        let lab = Lab::at(&server, "");
        let run = lab.run(&[
            "investigate",
            &text(&snapshot),
            "--architecture",
            &text(&architecture),
            "--out",
            "out",
            "--format",
            "json",
        ]);
        assert_eq!(run.code, Some(0), "{}\n{}", run.said, run.printed);
        let result = run.result();
        assert_eq!(causes(&result), ["otel-demo/ConfigMap/flagd-config"], "{start:?}");
        assert_written_by_the_model(&result, &lab);
        assert_eq!(server.phases(), PHASES, "{start:?}");
        for asked in server.seen() {
            assert_eq!(asked.correction(), None, "{}: {}", asked.phase(), asked.question());
        }
    }
}

/// Options come before variables, and those before the file.
#[test]
fn the_first_to_name_a_model_and_its_place_counts() {
    let [of_file, of_variable, of_option] =
        [(); 3].map(|()| Server::start(|asked| read(asked, Start::Change)));
    let lab = Lab::at(&of_file, "");
    let path = flash_sale();
    let investigate = |more: &[&str], variables: &[(&str, &str)]| {
        let mut eog = lab.eog(&[&["investigate", path.to_str().unwrap()], more].concat());
        eog.envs(variables.iter().copied());
        assert_eq!(eog.output().unwrap().status.code(), Some(0));
    };
    let models = || {
        [&of_file, &of_variable, &of_option].map(|server| {
            let asked = server.take();
            asked.first().map(|asked| asked.body["model"].as_str().unwrap().to_owned())
        })
    };
    let name = |name: &str| Some(name.to_owned());
    investigate(&[], &[]);
    assert_eq!(models(), [name("test"), None, None]);

    let variables = [("EOG_MODEL", "openai/gpt-4o"), ("EOG_BASE_URL", of_variable.url.as_str())];
    investigate(&[], &variables);
    assert_eq!(models(), [None, name("gpt-4o"), None]);

    investigate(&["--model", "openai/gpt-4.1", "--base-url", &of_option.url], &variables);
    assert_eq!(models(), [None, None, name("gpt-4.1")]);

    investigate(&["--policy", "evidence", "--finalize", "rules"], &[]);
    assert_eq!(models(), [None, None, None]);
}
