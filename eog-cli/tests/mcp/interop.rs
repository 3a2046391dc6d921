//! SDKs of others drive the server. `.ci/interop` installs them; without them these
//! tests skip and say so.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::support::{Place, TOKEN};
use crate::common::Run;

/// Where `.ci/interop` has put things.
pub(crate) fn installed() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| here.join("target"), |target| here.join(target));
    target.join("interop")
}

pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../eog-mcp/tests/interop").join(name)
}

/// The words of the command that serves a place.
fn words(place: &Place) -> Vec<String> {
    let serve = place.command();
    let words = std::iter::once(serve.get_program()).chain(serve.get_args());
    words.map(|word| word.to_str().unwrap().to_owned()).collect()
}

/// Runs a script against a server over standard input and output, and one over HTTP.
fn drive(mut command: Command) -> String {
    let place = Place::new();
    let server = place.http(&[], Some(TOKEN));
    let words = words(&place);
    command.env("EOG_COMMAND", json!(words).to_string()).env("EOG_URL", &server.url);
    command.env("EOG_TOKEN", TOKEN).env("NO_PROXY", "127.0.0.1,localhost");
    let run = Run::of(&mut command).exits(0);
    eprintln!("{}", run.out);
    run.out
}

#[test]
fn the_python_sdk_drives_the_server() {
    let python = installed().join("venv/bin/python");
    if !python.is_file() {
        eprintln!("skipped: no Python SDK at {}; run .ci/interop", python.display());
        return;
    }
    let mut command = Command::new(python);
    command.arg(script("drive.py"));
    let said = drive(command);
    assert!(said.contains("protocol 2025-11-25") && said.contains("protocol 2026-07-28"), "{said}");
}

/// Runs the inspector without its page. Gives what it prints as JSON.
fn inspect(script: &Path, server: &[String], options: &[&str]) -> Value {
    let mut node = Command::new("node");
    node.arg(script).arg("--cli").args(server).args(options);
    let run = Run::of(node.env("NO_PROXY", "127.0.0.1,localhost")).exits(0);
    assert!(!run.err.contains("ignored in schema"), "{options:?}: {}", run.err);
    run.json()
}

/// The inspector's command, if it is installed.
pub(crate) fn inspector() -> Option<PathBuf> {
    let package = "inspector/node_modules/@modelcontextprotocol/inspector";
    let script = installed().join(package).join("cli/build/cli.js");
    if !script.is_file() {
        eprintln!("skipped: no inspector at {}; run .ci/interop", script.display());
        return None;
    }
    Some(script)
}

#[test]
fn the_inspector_drives_the_server() {
    let Some(script) = inspector() else { return };
    let place = Place::new();
    let words = words(&place);
    let http = place.http(&[], Some(TOKEN));
    let token = format!("Authorization: Bearer {TOKEN}");
    let remote = ["--transport", "http", "--header", &token];
    for (server, options) in [(words, &[][..]), (vec![http.url.clone()], &remote[..])] {
        let inspect = |more: &[&str]| inspect(&script, &server, &[options, more].concat());
        let listed = inspect(&["--method", "tools/list"]);
        let names: Vec<&str> = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert!(names.len() == 21 && names.contains(&"investigate"), "{names:?}");
        let tool = ["--method", "tools/call", "--tool-name"];
        let found =
            inspect(&[&tool[..], &["investigate", "--tool-arg", "path=flash-sale"]].concat());
        let found = &found["structuredContent"];
        assert_eq!(found["origins"][0]["entities"][0]["entity"], "frontend", "{found}");
        let address = found["resources"]["report"].as_str().unwrap();
        let report = inspect(&["--method", "resources/read", "--uri", address]);
        assert!(report["contents"][0]["text"].as_str().unwrap().starts_with("# "), "{report}");
        let wrong = inspect(&[&tool[..], &["investigate", "--tool-arg", "pth=x"]].concat());
        assert_eq!(wrong["isError"], true, "{wrong}");
    }
}

#[test]
fn the_typescript_sdks_drive_the_server() {
    let modules = installed().join("node_modules");
    if !modules.is_dir() {
        eprintln!("skipped: no TypeScript SDK at {}; run .ci/interop", modules.display());
        return;
    }
    if Command::new("node").arg("--version").output().is_err() {
        eprintln!("skipped: node is not installed");
        return;
    }
    // A module is resolved from where the script is.
    let copy = installed().join("drive.mjs");
    std::fs::copy(script("drive.mjs"), &copy).unwrap();
    let mut command = Command::new("node");
    command.arg(copy);
    assert_eq!(drive(command).lines().filter(|line| line.contains(" steps")).count(), 4);
}
