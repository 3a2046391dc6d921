//! Every command on the ledgers of every controller, or one line that says why not.

use std::path::Path;

use crate::common::{FLASH_SALE, Run, read, run};

fn investigate(controller: &str, out: &Path, options: &[&str]) -> Run {
    run!("investigate", FLASH_SALE, "-q", "--controller", controller, "--out", out, options)
}

#[test]
fn a_linear_investigation_is_begun_resumed_replayed_forked_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (out, journal) = (path("linear"), path("run.journal"));
    investigate("linear", &out, &["--journal", journal.to_str().unwrap()]).exits(0);
    let ledger = read(path("linear/ledger.jsonl"));
    assert!(ledger.lines().next().unwrap().contains("\"linear_opened\""), "{ledger}");

    // Cut in the middle of an entry, and resumed: the same bytes.
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    run!("resume", journal, FLASH_SALE).exits(0);
    assert_eq!(std::fs::read(&journal).unwrap(), whole);

    for recorded in [&out, &journal] {
        run!("replay", recorded).exits(0).prints(&["entries verified"]);
        let entries = run!("replay", recorded, "--entries").out;
        assert_eq!(entries.lines().count(), ledger.lines().count());
    }
    assert!(run!("diff", out, journal).out.starts_with("the ledgers are equal\n"));

    let fork = path("fork");
    run!("fork", out, FLASH_SALE, "--at", "1", "--budget", "1", "--out", fork).exits(3);
    let expected = "is a fork of the first at entry 1: budget from 200 to 1";
    run!("diff", out, fork).prints(&[expected]);
}

#[test]
fn what_a_controller_cannot_do_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let [eog_out, linear_out] = ["eog", "linear"].map(|controller| {
        let out = folder.path().join(controller);
        investigate(controller, &out, &[]).exits(0);
        out
    });
    let with =
        |options: &[&str]| run!("investigate", FLASH_SALE, "--controller", "linear", options);
    for (refused, code, reason) in [
        (with(&["--profile", "paper"]), 2, "--profile has no effect with the controller linear"),
        (with(&["--width", "4"]), 2, "--width has no effect with the controller linear"),
        (
            with(&["--no-messages", "--width", "4"]),
            2,
            "--no-messages, --width have no effect with the controller linear; omit them",
        ),
        (
            run!("fork", linear_out, FLASH_SALE, "--at", "1", "--messages"),
            2,
            "--messages has no effect",
        ),
        (run!("explain", linear_out, "fronted"), 4, "did you mean frontend"),
        (
            run!("stress", FLASH_SALE, "--controller", "linear"),
            2,
            "the controller linear has only one",
        ),
        (run!("diff", eog_out, linear_out), 2, "the controllers eog and linear wrote these"),
        (
            run!("investigate", FLASH_SALE, "--controller", "psychic"),
            2,
            "possible values: eog, linear",
        ),
    ] {
        refused.exits(code).says(&[reason]);
    }
    // Other controllers than EoG list each look at an entity, and the entities without one.
    for (entity, text) in
        [("frontend", "\nHISTORY\n  entry "), ("database", "No step evaluated it.")]
    {
        run!("explain", linear_out, entity).exits(0).prints(&[text]);
    }
}

/// What `eog eval controllers` is to read is missing, empty or no such thing: one error that names the file.
#[test]
fn incidents_that_cannot_be_compared_on_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (missing, empty, file) = (path("missing"), path("empty"), path("text.json"));
    std::fs::create_dir(&empty).unwrap();
    std::fs::write(&file, "no { JSON").unwrap();
    for (option, more) in [
        ("--suite", &[][..]),
        ("--petshop", &[]),
        ("--simulated", &["--architecture", &file]),
        ("--snapshot", &["--truths", &file]),
    ] {
        for at in [&missing, &empty, &file] {
            let run = run!("eval", "controllers", "--runs", "1", option, at, more);
            assert!(matches!(run.code, Some(2 | 4)), "{option}: {run:?}");
            assert!(!run.err.contains("panicked"), "{option}: {run:?}");
            assert!(run.err.contains(at) || run.err.contains(&file), "{option}: {run:?}");
            assert_eq!(run.out, "", "{option}");
        }
    }
}

#[test]
fn options_of_the_comparison_that_do_not_fit_are_refused() {
    for (options, reason) in [
        (&["--generated", "circus"][..], "invalid value 'circus'"),
        (&["--generated", "chains", "--seeds", "0"], "invalid value '0'"),
        (&["--generated", "chains", "--suite", "x"], "cannot be used with"),
        (&["--simulated", "x"], "--architecture"),
        (&["--snapshot", "x"], "--truths"),
        (&["--seeds", "3"], "required"),
    ] {
        run!("eval", "controllers", options).exits(2).says(&[reason]);
    }
}
