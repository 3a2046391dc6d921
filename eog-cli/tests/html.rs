//! `eog report` and `report.html` of `--out`, of the real binary. What a browser makes of them is
//! tested by `.ci/browser`.

use std::path::{Path, PathBuf};
use std::process::Command;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

fn eog(arguments: &[&Path]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eog"));
    command.args(arguments);
    command
}

/// Exit code and standard error.
fn run(arguments: &[&Path]) -> (i32, String) {
    let output = eog(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn investigate(incident: &str, folder: &Path, more: &[&str]) {
    let more = more.iter().map(Path::new);
    let incident = example(incident);
    let begin = [Path::new("investigate"), &incident, Path::new("--out"), folder];
    let arguments: Vec<&Path> = begin.into_iter().chain(more).collect();
    assert_eq!(run(&arguments).0, 0);
}

#[test]
fn a_ledger_gives_the_page_of_its_run() {
    let folder = tempfile::tempdir().unwrap();
    investigate("flash-sale", folder.path(), &[]);
    let written = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    let again = folder.path().join("again.html");
    let bundle = example("flash-sale");
    let report = Path::new("report");
    let (code, errors) = run(&[report, folder.path(), &bundle, Path::new("--html"), &again]);
    assert_eq!(code, 0, "{errors}");
    assert_eq!(std::fs::read_to_string(&again).unwrap(), written);
    assert!(written.contains("Confirmed root cause: frontend"), "{written:.3000}");
    assert!(written.len() <= 400_000, "{}", written.len());

    // Without the bundle it has no charts, and says so.
    let bare = folder.path().join("bare.html");
    let (code, errors) = run(&[report, folder.path(), Path::new("--html"), &bare]);
    assert_eq!(code, 0, "{errors}");
    let bare = std::fs::read_to_string(bare).unwrap();
    assert!(bare.contains("written without the bundle or snapshot"));
    assert!(!written.contains("written without the bundle or snapshot"));
}

#[test]
fn journals_and_other_controllers_have_pages() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("run.journal");
    let more = ["--controller", "linear", "--journal", journal.to_str().unwrap()];
    investigate("flash-sale", folder.path(), &more);
    let page = folder.path().join("page.html");
    let (code, errors) = run(&[Path::new("report"), &journal, Path::new("--html"), &page]);
    assert_eq!(code, 0, "{errors}");
    assert!(std::fs::read_to_string(page).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn a_path_alone_is_investigated_and_the_report_of_a_ledger_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let page = folder.path().join("page.html");
    let printed = |arguments: &[&Path]| {
        let output = eog(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let bundle = example("flash-sale");
    let html = [Path::new("--html"), &page];
    let found = printed(&[&[&bundle, Path::new("--out"), &out], &html[..]].concat());
    assert!(found.contains("ROOT CAUSE (confirmed)"), "{found}");
    let whole = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert_eq!(std::fs::read_to_string(&page).unwrap(), whole);
    let again = printed(&[Path::new("report"), &out]);
    let cause = |text: &str| {
        text.split("HOW IT SPREAD").next().unwrap().lines().skip(1).collect::<String>()
    };
    assert_eq!(cause(&again), cause(&found));
    assert!(
        printed(&[Path::new("report"), &out, Path::new("--format=markdown")]).starts_with("# ")
    );
    // What has the name of a command is one, whatever lies here.
    std::fs::create_dir(folder.path().join("doctor")).unwrap();
    let output = eog(&[Path::new("doctor")]).current_dir(folder.path()).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("bundle.json"));
}

#[test]
fn another_incident_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    investigate("flash-sale", folder.path(), &[]);
    let (report, html) = (Path::new("report"), Path::new("--html"));
    let page = folder.path().join("page.html");
    let other = example("bottling-line");
    let (code, errors) = run(&[report, folder.path(), &other, html, &page]);
    assert_eq!(code, 4, "{errors}");
    assert!(errors.contains("bottling-line"), "{errors}");
    let (code, errors) = run(&[report, folder.path(), html, folder.path()]);
    assert_eq!(code, 2, "{errors}");
    assert!(errors.contains("is a folder; give a file"), "{errors}");
    assert!(!page.exists());
}
