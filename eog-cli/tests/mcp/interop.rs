//! SDKs that nobody here wrote drive the server. `.ci/interop` installs them; without them these
//! tests skip and say so.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::Place;

const TOKEN: &str = "a-token-for-tests-only";

/// Where `.ci/interop` has put things.
fn installed() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| here.join("target"), |target| here.join(target));
    target.join("interop")
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../eog-mcp/tests/interop").join(name)
}

/// Runs a script against a server over standard input and output, and one over HTTP.
fn drive(mut command: Command) -> String {
    let place = Place::new();
    let server = place.http(&[], Some(TOKEN));
    let serve = place.command();
    let words: Vec<String> = std::iter::once(serve.get_program())
        .chain(serve.get_args())
        .map(|word| word.to_str().unwrap().to_owned())
        .collect();
    let output = command
        .env("EOG_COMMAND", json!(words).to_string())
        .env("EOG_URL", &server.url)
        .env("EOG_TOKEN", TOKEN)
        .env("NO_PROXY", "127.0.0.1,localhost")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    eprintln!("{said}");
    said
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
    // A module is looked for from where the script is.
    let copy = installed().join("drive.mjs");
    std::fs::copy(script("drive.mjs"), &copy).unwrap();
    let mut command = Command::new("node");
    command.arg(copy);
    assert_eq!(drive(command).lines().filter(|line| line.contains(" steps")).count(), 4);
}
