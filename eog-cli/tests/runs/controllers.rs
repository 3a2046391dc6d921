//! Every command on the ledgers of every controller, or one line that says why not.

use std::path::Path;
use std::process::Output;

use super::common::eog;
use super::flash_sale;
use super::incident::said;

fn run(arguments: &[&str]) -> Output {
    eog().args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn investigate(controller: &str, out: &Path, options: &[&str]) -> Output {
    let mut command = eog();
    command.arg("investigate").arg(flash_sale()).args(["--controller", controller, "--quiet"]);
    command.arg("--out").arg(out).args(options).output().unwrap()
}

#[test]
fn a_linear_investigation_is_begun_resumed_replayed_forked_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, journal) = (path("linear"), path("run.journal"));
    let output = investigate("linear", Path::new(&out), &["--journal", &journal]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let ledger = std::fs::read_to_string(path("linear/ledger.jsonl")).unwrap();
    assert!(ledger.lines().next().unwrap().contains("\"linear_opened\""), "{ledger}");

    // Cut in the middle of an entry, and resumed: the same bytes.
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    let bundle = flash_sale();
    let bundle = bundle.to_str().unwrap();
    let resumed = run(&["resume", &journal, bundle]);
    assert_eq!(resumed.status.code(), Some(0), "{}", said(&resumed));
    assert_eq!(std::fs::read(&journal).unwrap(), whole);

    for recorded in [&out, &journal] {
        let replayed = run(&["replay", recorded]);
        assert_eq!(replayed.status.code(), Some(0), "{}", said(&replayed));
        assert!(text(&replayed).contains("entries verified"));
        let entries = run(&["replay", recorded, "--entries"]);
        assert_eq!(text(&entries).lines().count(), ledger.lines().count());
    }
    assert!(text(&run(&["diff", &out, &journal])).starts_with("the ledgers are equal\n"));

    let fork = path("fork");
    let forked = run(&["fork", &out, bundle, "--at", "1", "--budget", "1", "--out", &fork]);
    assert_eq!(forked.status.code(), Some(3), "{}", said(&forked));
    let compared = text(&run(&["diff", &out, &fork]));
    assert!(
        compared.contains("is a fork of the first at entry 1: budget from 200 to 1"),
        "{compared}"
    );
}

#[test]
fn what_a_controller_cannot_do_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (eog_out, linear_out) = (path("eog"), path("linear"));
    for (controller, out) in [("eog", &eog_out), ("linear", &linear_out)] {
        let output = investigate(controller, Path::new(out), &[]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
    let bundle = flash_sale();
    let bundle = bundle.to_str().unwrap();
    let linear = ["investigate", bundle, "--controller", "linear"];
    let with = |options: &[&'static str]| {
        let mut all = linear.to_vec();
        all.extend(options);
        run(&all)
    };
    for (output, code, reason) in [
        (with(&["--profile", "paper"]), 2, "--profile has no effect with the controller linear"),
        (with(&["--width", "4"]), 2, "--width has no effect with the controller linear"),
        (
            with(&["--no-messages", "--width", "4"]),
            2,
            "--no-messages, --width have no effect with the controller linear; omit them",
        ),
        (
            run(&["fork", &linear_out, bundle, "--at", "1", "--messages"]),
            2,
            "--messages has no effect",
        ),
        (run(&["explain", &linear_out, "fronted"]), 4, "did you mean frontend"),
        (
            run(&["stress", bundle, "--controller", "linear"]),
            2,
            "the controller linear has only one",
        ),
        (run(&["diff", &eog_out, &linear_out]), 2, "the controllers eog and linear wrote these"),
        (
            run(&["investigate", bundle, "--controller", "psychic"]),
            2,
            "possible values: eog, linear",
        ),
    ] {
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(reason), "{reason}\n{said}");
    }
    // Controllers other than that of EoG tell each look at an entity, and those at which nobody looked.
    for (entity, told) in
        [("frontend", "\nHISTORY\n  entry "), ("database", "No step evaluated it.")]
    {
        let output = run(&["explain", &linear_out, entity]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(text.contains(told), "{text}");
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
    let ground = |option: &str, at: &str| -> Vec<String> {
        let more: &[&str] = match option {
            "--simulated" => &["--architecture", &file],
            "--snapshot" => &["--truths", &file],
            _ => &[],
        };
        let all = ["eval", "controllers", "--runs", "1", option, at];
        all.iter().chain(more).map(ToString::to_string).collect()
    };
    for option in ["--suite", "--petshop", "--simulated", "--snapshot"] {
        for at in [&missing, &empty, &file] {
            let arguments = ground(option, at);
            let output = eog().args(&arguments).output().unwrap();
            let said = said(&output);
            assert!(matches!(output.status.code(), Some(2 | 4)), "{arguments:?}: {said}");
            assert!(!said.contains("panicked"), "{arguments:?}: {said}");
            let named = [at, &file].iter().any(|path| said.contains(path.as_str()));
            assert!(named, "{arguments:?}: {said}");
            assert_eq!(text(&output), "", "{arguments:?}");
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
        let output = eog().args(["eval", "controllers"]).args(options).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {said}");
        assert!(said.contains(reason), "{options:?}: {said}");
    }
}
