//! `eog eval` through the real binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn eog() -> Command {
    Command::new(env!("CARGO_BIN_EXE_eog"))
}

fn printed(arguments: &[&str]) -> String {
    let output = eog().args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_suite_of_bundles_is_scored_against_truths_that_no_investigation_sees() {
    let suite = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    for (name, truth) in [("right", "frontend"), ("wrong", "catalog")] {
        let folder = suite.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        for entry in example.read_dir().unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
        let truth = format!("{{\"causes\": [\"{truth}\"]}}");
        std::fs::write(suite.path().join(format!("{name}.truth.json")), truth).unwrap();
    }
    let dir = suite.path().to_str().unwrap();
    let csv = suite.path().join("results.csv");
    let json = printed(&["eval", "suite", dir, "--format", "json", "--csv", csv.to_str().unwrap()]);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert!(report.is_object());
    let rows = std::fs::read_to_string(&csv).unwrap();
    let row = |name: &str| rows.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(rows.lines().count() == 3, "{rows}");
    assert!(row("right").contains("frontend") && row("wrong").contains("catalog"), "{rows}");
    let text = printed(&["eval", "suite", dir]);
    let ours = text.lines().find(|line| line.trim_start().starts_with("evidence")).unwrap();
    assert_eq!(ours.split_whitespace().nth(1), Some("0.500"), "one of two: {text}");
}

#[test]
fn petshop_is_scored_by_one_command() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/petshop/low_traffic");
    if !dir.is_dir() {
        eprintln!("skipped: no data set at {}", dir.display());
        return;
    }
    let text = printed(&["eval", "petshop", dir.to_str().unwrap()]);
    let top = |kind: &str| {
        let below = text.split_once(&format!("{kind}: ")).unwrap().1;
        let line = below.lines().find(|line| line.trim_start().starts_with("evidence")).unwrap();
        let figures: Vec<f64> =
            line.split_whitespace().skip(1).take(2).map(|word| word.parse().unwrap()).collect();
        (figures[0], figures[1])
    };
    assert!(top("latency").0 >= 11.0 / 14.0 && top("latency").1 >= 13.0 / 14.0, "{text}");
    assert!(top("availability").0 >= 10.0 / 12.0 && top("availability").1 >= 1.0, "{text}");
}

#[test]
fn what_cannot_be_evaluated_is_said_with_its_place() {
    let empty = tempfile::tempdir().unwrap();
    for what in ["suite", "petshop"] {
        let output = eog().args(["eval", what]).arg(empty.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(4));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(empty.path().to_str().unwrap()), "{said}");
    }
}
