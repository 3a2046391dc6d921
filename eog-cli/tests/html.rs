//! `eog report` and `report.html` of `--out`, of the real binary. What a browser makes of them is
//! tested by `.ci/browser`.

use crate::common::{BOTTLING_LINE, FLASH_SALE, Run, command, read, run};

#[test]
fn a_ledger_gives_the_page_of_its_run() {
    let folder = tempfile::tempdir().unwrap();
    run!("investigate", FLASH_SALE, "--out", folder).exits(0);
    let written = read(folder.path().join("report.html"));
    let (again, bare) = (folder.path().join("again.html"), folder.path().join("bare.html"));
    run!("report", folder, FLASH_SALE, "--html", again).exits(0);
    assert_eq!(read(again), written);
    assert!(written.contains("Root cause (confirmed): frontend"), "{written:.3000}");
    assert!(written.len() <= 400_000, "{}", written.len());

    // Without the bundle it has no charts, and says so.
    run!("report", folder, "--html", bare).exits(0);
    assert!(read(bare).contains("written without the bundle or snapshot"));
    assert!(!written.contains("written without the bundle or snapshot"));

    // Another incident is refused.
    let page = folder.path().join("page.html");
    run!("report", folder, BOTTLING_LINE, "--html", page).exits(4).says(&["bottling-line"]);
    let expected = "is a folder; give a file";
    run!("report", folder, "--html", folder).exits(2).says(&[expected]);
    assert!(!page.exists());
}

#[test]
fn journals_and_other_controllers_have_pages() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, page) = (folder.path().join("run.journal"), folder.path().join("page.html"));
    run!("investigate", FLASH_SALE, "--controller", "linear", "--journal", journal).exits(0);
    run!("report", journal, "--html", page).exits(0);
    assert!(read(page).starts_with("<!doctype html>"));
}

#[test]
fn a_path_alone_is_investigated_and_the_report_of_a_ledger_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let (out, page) = (folder.path().join("out"), folder.path().join("page.html"));
    let found = run!(FLASH_SALE, "--out", out, "--html", page).exits(0);
    let found = found.prints(&["ROOT CAUSE (confirmed)"]).out;
    assert_eq!(read(page), read(out.join("report.html")));
    let cause = |text: &str| {
        text.split("HOW IT SPREAD").next().unwrap().lines().skip(1).collect::<String>()
    };
    assert_eq!(cause(&run!("report", out).exits(0).out), cause(&found));
    assert!(run!("report", out, "--format=markdown").exits(0).out.starts_with("# "));
    // What has the name of a command is one, whatever lies here.
    std::fs::create_dir(folder.path().join("doctor")).unwrap();
    let doctor = Run::of(command!("doctor").current_dir(folder.path()));
    assert!(!doctor.err.contains("bundle.json"));
}
