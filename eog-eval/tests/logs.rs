//! Log patterns against assigned events.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use eog_eval::logs::{self, LogsReport};

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

const CART: &str = "\
LineId,Content,EventId,EventTemplate
1,order 17 placed,E1,order <*> placed
2,order 18 placed,E1,order <*> placed
3,\"queue is full, retry\",E2,\"queue is full, retry\"
4,order 19 placed,E3,unlike the others
";

fn evaluate(dir: &Path) -> LogsReport {
    logs::evaluate(dir).unwrap()
}

#[test]
fn a_group_counts_when_it_is_exactly_an_event() {
    let dir = folder(&[
        ("Cart_2k.log_structured.csv", CART),
        // Columns in another order, in a folder of its own, beside a file that is not structured lines.
        ("Bare/Bare_full.log_structured.csv", "EventId,Content\nE1,up 1\nE1,up 2\n"),
        ("Bare/Bare_full.log_templates.csv", "EventId,EventTemplate\nE1,up <*>\n"),
    ]);
    let report = evaluate(dir.path());
    let accuracies: Vec<(&str, usize, usize, usize, f64)> = report
        .systems
        .iter()
        .map(|s| (s.system.as_str(), s.lines, s.events, s.patterns, s.grouping_accuracy))
        .collect();
    assert_eq!(accuracies, [("Bare", 2, 1, 1, 1.0), ("Cart", 4, 3, 2, 0.25)]);
    assert_eq!(report.mean_grouping_accuracy, 0.625);
    assert_eq!(
        report.to_string().lines().last().unwrap().split_whitespace().collect::<Vec<_>>(),
        ["mean", "0.6250"]
    );
    assert_eq!(report.to_csv().lines().last(), Some("mean,,,,0.6250"));
    let one = evaluate(&dir.path().join("Cart_2k.log_structured.csv"));
    assert_eq!(one.mean_grouping_accuracy, 0.25);
}

#[test]
fn what_cannot_be_used_is_named() {
    let error = |files: &[(&str, &str)]| {
        let dir = folder(files);
        logs::evaluate(dir.path()).unwrap_err().to_string()
    };
    let no_files = error(&[("notes.txt", "")]);
    assert!(no_files.contains("NAME_structured.csv"), "{no_files}");
    let no_column = error(&[("A_structured.csv", "Content\nx\n")]);
    assert!(
        no_column.ends_with("A_structured.csv, line 1: there is no column EventId"),
        "{no_column}"
    );
    let no_lines = error(&[("A_structured.csv", "Content,EventId\n")]);
    assert!(no_lines.ends_with("A_structured.csv, line 2: there are no lines"), "{no_lines}");
    let torn = error(&[("A_structured.csv", "Content,EventId\nx\n")]);
    assert!(torn.contains("A_structured.csv"), "{torn}");
    let missing = logs::evaluate(Path::new("no/such/folder")).unwrap_err().to_string();
    assert!(missing.contains("no/such/folder"), "{missing}");
}

/// The systems of loghub, if they are there: see docs/evaluation.md.
#[test]
fn most_lines_of_real_systems_are_grouped_as_people_group_them() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/loghub");
    if !data.is_dir() {
        eprintln!("skipped: {} is not there", data.display());
        return;
    }
    let report = evaluate(&data);
    assert!(report.mean_grouping_accuracy >= 0.92, "{report}");
}
