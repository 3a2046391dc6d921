//! What a run that ended before its time says of how to go on.

use std::process::Command;

use super::incident::{HEALTHY, Incident, said};

/// Runs what standard error says, as a shell would.
fn go_on(errors: &str) -> std::process::Output {
    let command = errors.lines().find_map(|line| line.strip_prefix("eog: continue with: eog "));
    let command = command.unwrap_or_else(|| panic!("nothing is said: {errors}"));
    let program = env!("CARGO_BIN_EXE_eog");
    Command::new("sh").arg("-c").arg(format!("'{program}' {command}")).output().unwrap()
}

#[test]
fn after_a_deadline_the_command_that_goes_on_is_said_and_works() {
    let incident = Incident::judged_by(&format!("sleep 0.1; {HEALTHY}"));
    let journal = incident.path("run.journal");
    let mut command = incident.investigate(&["--journal", journal.to_str().unwrap()]);
    let output = command.args(["--deadline", "2"]).output().unwrap();
    let output = go_on(&said(&output));
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert_eq!(said(&output), "", "nothing is left to go on with");
}

#[test]
fn after_the_budget_a_fork_with_more_of_it_is_said_and_works() {
    let incident = Incident::judged_by(HEALTHY);
    let journal = incident.path("run.journal");
    let mut command = incident.investigate(&["--journal", journal.to_str().unwrap()]);
    let output = command.args(["--budget", "15"]).output().unwrap();
    assert!(said(&output).contains(" --at 15 --budget 30 --policy "), "{}", said(&output));
    let output = go_on(&said(&output));
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("30 policy calls; converged"), "{text}");

    // Without a journal there is nothing to go on with, and who wants quiet gets it.
    let output = incident.investigate(&["--budget", "5"]).output().unwrap();
    assert_eq!(said(&output), "");
    let quiet = incident.path("quiet.journal");
    let mut command = incident.investigate(&["--journal", quiet.to_str().unwrap(), "--quiet"]);
    assert_eq!(said(&command.args(["--budget", "5"]).output().unwrap()), "");
}

#[test]
fn what_goes_on_is_written_to_the_same_folder() {
    let incident = Incident::judged_by(&format!("sleep 0.1; {HEALTHY}"));
    let (journal, out) = (incident.path("run.journal"), incident.path("the result"));
    let mut command = incident.investigate(&["--journal", journal.to_str().unwrap()]);
    let output = command.args(["--deadline", "2", "--out"]).arg(&out).output().unwrap();
    let words = format!(" --out '{}'", out.display());
    assert!(said(&output).contains(&words), "{}", said(&output));
    std::fs::remove_dir_all(&out).unwrap();
    go_on(&said(&output));
    assert!(out.join("ledger.jsonl").is_file());
}

#[test]
fn time_and_memory_count_from_the_first_byte() {
    let incident = Incident::judged_by(HEALTHY);
    let journal = incident.path("run.journal");
    for (bound, code, expected) in [
        (["--deadline", "0.001"], 1, "the deadline passed before the investigation began"),
        (["--max-memory", "100"], 4, "may be used; keep only the time around the incident"),
    ] {
        let mut command = incident.investigate(&["--journal", journal.to_str().unwrap()]);
        let output = command.args(bound).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains(expected), "{}", said(&output));
        assert!(!journal.exists(), "nothing was begun");
    }
}
