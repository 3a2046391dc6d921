//! What a run that ended before its time says of how to go on.

use super::incident::{HEALTHY, Incident};
use crate::common::{Run, in_shell};

/// Runs what standard error says, as a shell would.
fn go_on(ended: &Run) -> Run {
    let command = ended.err.lines().find_map(|line| line.strip_prefix("eog: continue with: "));
    let command = command.unwrap_or_else(|| panic!("nothing is said: {ended:?}"));
    in_shell(command, ".".as_ref())
}

#[test]
fn after_a_deadline_the_command_that_goes_on_is_said_and_works_in_the_same_folder() {
    let incident = Incident::judged_by(&format!("sleep 0.1; {HEALTHY}"));
    let out = incident.path("the result");
    let ended = incident.journaled(&["--deadline", "2", "--out", out.to_str().unwrap()]);
    let ended = ended.says(&[&format!(" --out '{}'", out.display())]);
    std::fs::remove_dir_all(&out).unwrap();
    assert_eq!(go_on(&ended).exits(3).err, "", "nothing is left to go on with");
    assert!(out.join("ledger.jsonl").is_file());
}

#[test]
fn after_the_budget_a_fork_with_more_of_it_is_said_and_works() {
    let incident = Incident::judged_by(HEALTHY);
    let ended = incident.journaled(&["--budget", "15"]);
    let ended = ended.says(&[" --at 15 --budget 30 --policy "]);
    go_on(&ended).exits(3).prints(&["30 policy calls; converged"]);

    // Without a journal there is nothing to go on with, and `--quiet` is kept.
    assert_eq!(Run::of(&mut incident.investigate(&["--budget", "5"])).err, "");
    let incident = Incident::judged_by(HEALTHY);
    assert_eq!(incident.journaled(&["--quiet", "--budget", "5"]).err, "");
}

#[test]
fn time_and_memory_count_from_the_first_byte() {
    let incident = Incident::judged_by(HEALTHY);
    for (bound, code, expected) in [
        (["--deadline", "0.001"], 1, "the deadline passed before the investigation began"),
        (["--max-memory", "100"], 4, "may be used; keep only the time around the incident"),
    ] {
        incident.journaled(&bound).exits(code).says(&[expected]);
        assert!(!incident.path("run.journal").exists(), "nothing was begun");
    }
}
