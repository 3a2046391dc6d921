//! Live sources from the command line: capture equals live, resuming, checks, and what `eog init` writes.

use crate::common;
use crate::real;

use std::path::Path;
use std::process::Output;

use common::eog;
use real::shop::shop;
use real::{Server, program};

/// The window around the fault of the shop.
const WINDOW: &str = "2026-01-01T10:40:00Z/2026-01-01T11:00:00Z";

/// Runs in a folder: exit code, standard output, standard error.
fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        eog().current_dir(folder).args(arguments).output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
    (status.code().expect("it ended by itself"), text(stdout), text(stderr))
}

/// A Prometheus that saw the shop, and the `source.toml` that names it.
fn started(folder: &Path) -> Option<Server> {
    let found = program("prometheus")?;
    shop().write(folder);
    let server = Server::prometheus(&found, folder, "global:\n  scrape_interval: 1h\n");
    let change =
        r#"{"time":"2026-01-01T10:44:50Z","entity":"db","path":"flag","old":"off","new":"on"}"#;
    std::fs::write(folder.join("changes.jsonl"), change).expect("changes");
    let text = format!(
        "name = 'shop'\nhistory = '40m'\nchanges = ['changes.jsonl']\n[prometheus]\nurl = '{}'\n",
        server.url()
    );
    std::fs::write(folder.join("source.toml"), text).expect("the configuration");
    Some(server)
}

#[test]
fn an_investigation_of_a_capture_has_the_ledger_of_a_live_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let Some(_server) = started(at) else { return };
    let (code, told, errors) =
        run(at, &["capture", "--from", "source.toml", "--window", WINDOW, "--out", "shop"]);
    assert_eq!(code, 0, "{told}{errors}");
    assert!(told.contains("then: eog investigate shop"), "{told}");
    assert!(!told.contains("missing"), "{told}");
    let (code, told, errors) = run(at, &["investigate", "shop", "--out", "of-capture"]);
    assert_eq!(code, 0, "{told}{errors}");
    assert!(told.contains("db"), "{told}");
    let (code, _, errors) =
        run(at, &["investigate", "source.toml", "--window", WINDOW, "--out", "of-live"]);
    assert_eq!(code, 0, "{errors}");
    let read = |name: &str| std::fs::read(at.join(name).join("ledger.jsonl")).expect("a ledger");
    assert!(read("of-capture") == read("of-live"), "byte for byte");
    let output = std::fs::read_to_string(at.join("of-live/agent_output.json")).expect("a result");
    let output: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    let causes = output["entities"].as_array().expect("entities").iter();
    let causes = causes.filter(|one| one["contributing_factor"] == true);
    let causes: Vec<&str> = causes.filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(causes, ["db"], "whose flag was changed");
}

#[test]
fn live_sources_are_asked_as_what_is_captured_from_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let Some(_server) = started(at) else { return };
    let ask = |tool: &str, more: &[&str]| {
        run(at, &[&["tool", tool, "source.toml", "--window", WINDOW], more].concat())
    };
    let (code, told, errors) = ask("k8s_spec_change_analysis", &["--columns", "entity,path"]);
    assert_eq!(code, 0, "{told}{errors}");
    let page: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(page["rows"], serde_json::json!([{"entity": "db", "path": "flag"}]), "{errors}");
    let (code, _, errors) = ask("alert_analysis", &[]);
    assert_eq!(code, 2, "{errors}");
    assert!(errors.contains("alert_analysis goes with a snapshot, and this"), "{errors}");
}

#[test]
fn a_run_with_a_journal_goes_on_with_what_was_captured() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let Some(server) = started(at) else { return };
    let arguments = [
        "investigate",
        "source.toml",
        "--window",
        WINDOW,
        "--journal",
        "run.journal",
        "--budget",
        "1",
    ];
    let (_, told, errors) = run(at, &arguments);
    assert!(at.join("run.journal.capture/capture.json").exists(), "{told}{errors}");
    drop(server);
    let (code, _, errors) = run(at, &["resume", "run.journal", "source.toml"]);
    assert!(matches!(code, 0 | 3), "{errors}");
    assert!(!errors.contains("not reachable"), "{errors}");
    // So do those that look at what is of it.
    let (_, entries, _) = run(at, &["replay", "run.journal", "--entries"]);
    let judged = entries.lines().nth(1).and_then(|line| line.split_whitespace().nth(1));
    let judged = judged.expect("somebody was judged");
    for command in [
        &["explain", "run.journal", judged, "source.toml"] as &[&str],
        &["report", "run.journal", "source.toml", "--html", "page.html"],
    ] {
        let (code, _, errors) = run(at, command);
        assert_eq!(code, 0, "{command:?}: {errors}");
    }
}

#[test]
fn what_live_sources_offer_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let Some(server) = started(at) else { return };
    // What the store holds lies before the usual two hours.
    let text = std::fs::read_to_string(at.join("source.toml")).expect("it is there");
    std::fs::write(at.join("source.toml"), text.replace("40m", "9000h")).expect("written");
    let (code, told, errors) = run(at, &["check", "source.toml"]);
    assert_eq!(code, 0, "{told}{errors}");
    for expected in [
        "✓ prometheus at http://127.0.0.1:",
        "http_server_request_duration_seconds_count",
        "changes and restarts: cart_build_info, process_start_time_seconds",
        "the history of alerts (ALERTS)",
    ] {
        assert!(told.contains(expected), "{expected}\n{told}");
    }
    drop(server);
    let (code, told, _) = run(at, &["check", "source.toml"]);
    assert_eq!(code, 4);
    assert!(told.contains("✗ prometheus") && told.contains("not reachable"), "{told}");
    let (code, told, _) = run(at, &["check", "source.toml", "--offline"]);
    assert_eq!(code, 0, "{told}");
    let (code, _, errors) = run(at, &["capture", "--from", "source.toml", "--out", "none"]);
    assert_eq!(code, 4);
    assert!(
        errors.contains("no source gave anything") && errors.contains("not reachable"),
        "{errors}"
    );
    let (code, _, errors) = run(at, &["investigate", "source.toml"]);
    assert_eq!(code, 4, "{errors}");
}

#[test]
fn what_init_writes_can_be_used_and_is_never_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for (what, path) in
        [("source", "source.toml"), ("settings", "eog.toml"), ("bundle", "incident")]
    {
        let (code, told, errors) = run(at, &["init", what]);
        assert_eq!(code, 0, "{errors}");
        assert_eq!(told, format!("wrote {path}\nthen: eog check {path}\n"));
        let (code, told, errors) = run(at, &["check", path, "--offline"]);
        assert_eq!(code, 0, "{what}: {told}{errors}");
        let (code, _, errors) = run(at, &["init", what]);
        assert_eq!(code, 2);
        assert!(errors.contains("exists already"), "{errors}");
    }
}

#[test]
fn mistakes_are_told_with_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let cases = [
        ("source.toml", "[prometheus]\nadress = 'x'\n", "source.toml: TOML parse error at line 2"),
        ("other.toml", "[prometheus]\nurl = 'localhost'\n", "other.toml: [prometheus]: url"),
        ("eog.toml", "policy = 'magic'\n", "eog.toml"),
        ("mcp.toml", "[servers.a]\nnonsense = 1\n", "mcp.toml"),
    ];
    for (name, text, expected) in cases {
        std::fs::write(at.join(name), text).expect("written");
        let (code, told, errors) = run(at, &["check", name, "--offline"]);
        assert!(code != 0, "{name}: {told}");
        assert!(errors.contains(expected), "{name}: {errors}");
    }
    std::fs::create_dir(at.join("bundle")).expect("a folder");
    std::fs::write(at.join("bundle/bundle.json"), "{\"format\": 1}").expect("written");
    let (code, _, errors) = run(at, &["check", "bundle"]);
    assert_eq!(code, 4);
    assert!(errors.contains("bundle.json"), "{errors}");
}

#[test]
fn shells_and_manuals_know_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, told, errors) = run(folder.path(), &["completions", shell]);
        assert_eq!(code, 0, "{errors}");
        assert!(told.contains("investigate") && told.contains("capture"), "{shell}");
        if shell == "bash" {
            let mut offered = told.split("--controller)").skip(1);
            assert!(offered.clone().next().is_some());
            let is_listed = |after: &str| {
                after
                    .lines()
                    .nth(1)
                    .is_some_and(|it| it.contains("eog linear") && it.contains("react"))
            };
            assert!(offered.all(is_listed), "files are not controllers");
        }
    }
    let (code, _, errors) = run(folder.path(), &["man", "--out", "man"]);
    assert_eq!(code, 0, "{errors}");
    let page = std::fs::read_to_string(folder.path().join("man/eog-capture.1")).expect("a page");
    assert!(page.contains("source.toml"), "{page}");
}
