//! Every command on the ledgers of every controller, or one line that says why not.

use std::path::Path;

use crate::common::{BOTTLING_LINE, FLASH_SALE, Run, read, run};

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
    // Other controllers than EoG list each evaluation of an entity, and the entities without one.
    for (entity, text) in
        [("frontend", "\nHISTORY\n  entry "), ("database", "No step evaluated it.")]
    {
        run!("explain", linear_out, entity).exits(0).prints(&[text]);
    }
}

/// Levels without an accepted score have found nothing, whatever their best node is.
#[test]
fn levels_below_their_threshold_name_no_cause() {
    let folder = tempfile::tempdir().unwrap();
    for controller in ["bfs", "beam"] {
        let out = folder.path().join(controller);
        let options = ["--controller", controller, "--accept", "1000"];
        run!("investigate", FLASH_SALE, "--out", out, options).exits(3).prints(&[
            "INCONCLUSIVE",
            "1. frontend (origin",
            "search exhausted: the best score is 995, accepted from 1000 on",
        ]);
        run!("replay", out).exits(3);
        let tree = run!("tree", out, "--format", "json").out;
        let tree: serde_json::Value = serde_json::from_str(&tree).unwrap();
        assert_eq!(
            (&tree["best_score"], &tree["end"]),
            (&995.into(), &"exhausted: nothing is left to expand".into())
        );
        assert!(tree["stagnation_iterations"].as_u64().unwrap() > 0, "{tree}");
        assert_eq!(tree["nodes"].as_array().unwrap().len(), 8, "{tree}");
    }
}

/// The origin that the chain meets first explains no alert by what is known then: it goes on, and comes back.
#[test]
fn a_chain_by_rules_comes_back_to_what_new_evidence_concerns() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("react");

    let run = run!("investigate", BOTTLING_LINE, "--controller", "react", "--out", out);
    run.exits(0).prints(&["ROOT CAUSE (confirmed)", "utilities/compressor-2"]);
}

#[test]
fn constants_are_options_and_stand_in_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    for (controller, options, recorded) in [
        (
            "eog",
            "--profile paper --damping defer --max-changes 2 --max-visits 6 --cooldown 1",
            "\"damping\":\"absorbing\",\"flip_threshold\":2,\"max_visits\":6,\"cooldown\":1",
        ),
        ("bfs", "--nodes 9 --evaluator planner", "\"evaluation\":\"planner\""),
        ("bfs", "--nodes 9", "\"nodes\":9"),
        ("lats", "--exploration 2..0.5", "{\"linear\":[8589934592,2147483648]}"),
        ("hypotheses", "--exploration 1", "\"c\":4294967296"),
    ] {
        let out = folder.path().join("out");
        let options: Vec<&str> = options.split(' ').collect();
        investigate(controller, &out, &options);
        let first = read(out.join("ledger.jsonl")).lines().next().unwrap().to_owned();
        assert!(first.contains(recorded), "{controller} {options:?}: {first}");
    }
    for (controller, options, reason) in [
        ("lats", &["--max-visits", "6"][..], "--max-visits has no effect with the controller lats"),
        ("beam", &["--evaluator", "planner"], "--evaluator has no effect"),
        ("eog", &["--nodes", "9"], "--nodes has no effect"),
        ("hypotheses", &["--exploration", "2..1"], "one factor of exploration"),
        ("lats", &["--exploration", "much"], "expected a number from 0 to 1000"),
    ] {
        let run = run!("investigate", FLASH_SALE, "--controller", controller, options);
        run.exits(2).says(&[reason]);
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
        (&["--simulated", "x"], "--architecture"),
        (&["--snapshot", "x"], "--truths"),
        (&["--seeds", "3"], "required"),
    ] {
        run!("eval", "controllers", options).exits(2).says(&[reason]);
    }
}
