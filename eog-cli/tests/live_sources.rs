//! Live sources from the command line: capture equals live, resuming, checks, and what `eog init` writes.

use std::path::Path;

use crate::common::{Run, command, factors};
use crate::real::shop::shop;
use crate::real::{Server, program};

/// The window around the fault of the shop.
const WINDOW: &str = "2026-01-01T10:40:00Z/2026-01-01T11:00:00Z";

fn run(folder: &Path, arguments: &[&str]) -> Run {
    Run::of(command!(arguments).current_dir(folder))
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
    let captured =
        run(at, &["capture", "--from", "source.toml", "--window", WINDOW, "--out", "shop"]);
    let captured = captured.exits(0).prints(&["then: eog investigate shop"]);
    assert!(!captured.out.contains("missing"), "{captured:?}");
    run(at, &["investigate", "shop", "--out", "of-capture"]).exits(0).prints(&["db"]);
    run(at, &["investigate", "source.toml", "--window", WINDOW, "--out", "of-live"]).exits(0);
    let read = |name: &str| std::fs::read(at.join(name).join("ledger.jsonl")).expect("a ledger");
    assert!(read("of-capture") == read("of-live"), "byte for byte");
    assert_eq!(factors(at.join("of-live/agent_output.json")), ["db"], "whose flag was changed");
}

#[test]
fn live_sources_are_asked_as_what_is_captured_from_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let Some(_server) = started(at) else { return };
    let ask = |tool: &str, more: &[&str]| {
        run(at, &[&["tool", tool, "source.toml", "--window", WINDOW], more].concat())
    };
    let page = ask("k8s_spec_change_analysis", &["--columns", "entity,path"]).exits(0).json();
    assert_eq!(page["rows"], serde_json::json!([{"entity": "db", "path": "flag"}]));
    let expected = "alert_analysis goes with a snapshot, and this";
    ask("alert_analysis", &[]).exits(2).says(&[expected]);
}

#[test]
fn a_run_with_a_journal_goes_on_with_what_was_captured() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let Some(server) = started(at) else { return };
    let investigate = ["investigate", "source.toml", "--window", WINDOW];
    let run_of_one =
        run(at, &[&investigate[..], &["--journal", "run.journal", "--budget", "1"]].concat());
    assert!(at.join("run.journal.capture/capture.json").exists(), "{run_of_one:?}");
    drop(server);
    let resumed = run(at, &["resume", "run.journal", "source.toml"]);
    assert!(matches!(resumed.code, Some(0 | 3)), "{resumed:?}");
    assert!(!resumed.err.contains("not reachable"), "{resumed:?}");
    // So do those that inspect its ledger.
    let entries = run(at, &["replay", "run.journal", "--entries"]).out;
    let judged = entries.lines().nth(1).and_then(|line| line.split_whitespace().nth(1));
    let judged = judged.expect("an entity was judged");
    run(at, &["explain", "run.journal", judged, "source.toml"]).exits(0);
    run(at, &["report", "run.journal", "source.toml", "--html", "page.html"]).exits(0);
}

#[test]
fn what_live_sources_offer_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let Some(server) = started(at) else { return };
    // What the store holds lies before the usual two hours.
    let text = std::fs::read_to_string(at.join("source.toml")).expect("it is there");
    std::fs::write(at.join("source.toml"), text.replace("40m", "9000h")).expect("written");
    run(at, &["check", "source.toml"]).exits(0).prints(&[
        "✓ prometheus at http://127.0.0.1:",
        "http_server_request_duration_seconds_count",
        "changes and restarts: cart_build_info, process_start_time_seconds",
        "the history of alerts (ALERTS)",
    ]);
    drop(server);
    run(at, &["check", "source.toml"]).exits(4).prints(&["✗ prometheus", "not reachable"]);
    run(at, &["check", "source.toml", "--offline"]).exits(0);
    let nothing = run(at, &["capture", "--from", "source.toml", "--out", "none"]).exits(4);
    nothing.says(&["no source gave anything", "not reachable"]);
    run(at, &["investigate", "source.toml"]).exits(4);
}

#[test]
fn what_init_writes_can_be_used_and_is_never_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for (what, path) in
        [("source", "source.toml"), ("settings", "eog.toml"), ("bundle", "incident")]
    {
        let written = run(at, &["init", what]).exits(0).out;
        assert_eq!(written, format!("wrote {path}\nthen: eog check {path}\n"));
        run(at, &["check", path, "--offline"]).exits(0);
        run(at, &["init", what]).exits(2).says(&["exists already"]);
    }
}

#[test]
fn mistakes_are_reported_with_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for (name, text, expected) in [
        ("source.toml", "[prometheus]\nadress = 'x'\n", "source.toml: TOML parse error at line 2"),
        ("other.toml", "[prometheus]\nurl = 'localhost'\n", "other.toml: [prometheus]: url"),
        ("eog.toml", "policy = 'magic'\n", "eog.toml"),
        ("mcp.toml", "[servers.a]\nnonsense = 1\n", "mcp.toml"),
    ] {
        std::fs::write(at.join(name), text).expect("written");
        let refused = run(at, &["check", name, "--offline"]).says(&[expected]);
        assert_ne!(refused.code, Some(0), "{name}: {refused:?}");
    }
    std::fs::create_dir(at.join("bundle")).expect("a folder");
    std::fs::write(at.join("bundle/bundle.json"), "{\"format\": 1}").expect("written");
    run(at, &["check", "bundle"]).exits(4).says(&["bundle.json"]);
}

#[test]
fn shells_and_manuals_know_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(folder.path(), &["completions", shell]).exits(0);
        let script = script.prints(&["investigate", "capture"]).out;
        if shell == "bash" {
            let mut offered = script.split("--controller)").skip(1).peekable();
            assert!(offered.peek().is_some());
            let is_listed = |after: &str| {
                let line = after.lines().nth(1);
                line.is_some_and(|it| it.contains("eog linear") && it.contains("react"))
            };
            assert!(offered.all(is_listed), "files are not controllers");
        }
    }
    run(folder.path(), &["man", "--out", "man"]).exits(0);
    let page = std::fs::read_to_string(folder.path().join("man/eog-capture.1")).expect("a page");
    assert!(page.contains("source.toml"), "{page}");
}
