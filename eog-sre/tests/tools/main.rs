//! The toolset: each tool on snapshots written by the tests, calls by name, and the outputs of the
//! reference tools on a recorded incident.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its input must stop")]
#![expect(clippy::needless_pass_by_value, reason = "json! literals read best when passed by value")]

mod alerts;
mod calls;
mod changes;
mod events;
mod examples;
mod golden;
mod golden_specs;
mod logs;
mod metrics;
mod specs;
#[allow(dead_code, reason = "shared with the tests of snapshots, which need all of it")]
#[path = "../snapshots/support.rs"]
mod support;
mod topology;
mod traces;

use std::sync::Arc;

use eog_sre::Snapshot;
use eog_sre::tools::Toolbox;
use serde_json::Value;

fn toolbox(snapshot: Snapshot) -> Toolbox {
    Toolbox::new(Arc::new(snapshot))
}

/// The rows of a page, each with its values in one line.
fn rows(toolbox: &Toolbox, tool: &str, arguments: Value, columns: &[&str]) -> Vec<String> {
    let page = toolbox.call(tool, arguments.clone());
    let page = page.unwrap_or_else(|error| panic!("{tool} {arguments}: {error}"));
    let cell = |row: &Value, column: &&str| match &row[*column] {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let line =
        |row: &Value| columns.iter().map(|column| cell(row, column)).collect::<Vec<_>>().join(" ");
    page["rows"].as_array().unwrap().iter().map(line).collect()
}

/// All tools over a recording, which may be empty.
fn opened(recording: &support::Recording) -> Toolbox {
    if recording.path().read_dir().unwrap().next().is_none() {
        recording.file("alerts/alerts_at_1.json", "[]");
    }
    toolbox(recording.open())
}

/// Runs a tool that must answer.
fn call(toolbox: &Toolbox, tool: &str, arguments: Value) -> Value {
    toolbox.call(tool, arguments).unwrap_or_else(|error| panic!("{tool}: {error}"))
}

fn refusal(toolbox: &Toolbox, tool: &str, arguments: Value) -> String {
    toolbox
        .call(tool, arguments.clone())
        .map_or_else(|error| error.to_string(), |answer| panic!("{tool} {arguments} gave {answer}"))
}
