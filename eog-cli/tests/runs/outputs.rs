//! What becomes of the outputs when one of them fails, and ledgers that come through a pipe.

use std::process::{Command, Stdio};

use super::incident::{EVALUATIONS, HEALTHY, Incident};
use crate::common::{Run, on_small_disk, run};

#[test]
fn a_journal_that_takes_no_more_is_reported_first_and_takes_nothing_else_with_it() {
    let incident = Incident::judged_by(HEALTHY);
    let (journal, out) = (incident.path("run.journal"), incident.path("out"));
    incident.ledger(&["--journal", journal.to_str().unwrap()]);
    let whole = std::fs::read(&journal).unwrap();
    std::fs::remove_file(&journal).unwrap();
    std::fs::remove_file(eog::side::SideFile::path_beside(&journal)).unwrap();
    std::fs::remove_dir_all(&out).unwrap();
    // A folder is in the way of the ledger.
    std::fs::create_dir_all(out.join("ledger.jsonl/in-the-way")).unwrap();

    // Files end at this many half kilobytes as they do on a full disk.
    let blocks = whole.len() / 512 - 1;
    let options = ["--journal", journal.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let run = incident.investigate(&options);
    let run = Run::of(&mut on_small_disk(&run, &blocks.to_string())).exits(1);
    let begin = "eog: stopped because the journal cannot be written: cannot write to the journal ";
    assert!(run.err.starts_with(begin), "{run:?}");
    let resume = format!("  then: eog resume {} ", journal.display());
    // The second failure is said, too.
    let run = run.says(&["entries are safe", &resume, "ledger.jsonl: "]).prints(&[
        "; stopped: the journal could not be written\n",
        "INCONCLUSIVE, stopped early: ",
    ]);
    assert!(!run.out.contains("interrupted"), "{run:?}");
    for name in ["agent_output.json", "graph.dot", "report.md"] {
        assert!(out.join(name).is_file(), "{name}");
    }

    Run::of(&mut incident.resume(&journal)).exits(3);
    assert_eq!(std::fs::read(&journal).unwrap(), whole);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_keeps_no_file_from_being_written() {
    let incident = Incident::judged_by(HEALTHY);
    let out = incident.path("out");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = incident.investigate(&["--out", out.to_str().unwrap()]);
    let run = Run::of(command.stdout(full).stderr(Stdio::piped()));
    run.exits(1).says(&["cannot write standard output: "]);
    for name in ["ledger.jsonl", "agent_output.json", "graph.dot", "report.md"] {
        assert!(out.join(name).is_file(), "{name}");
    }
}

#[test]
fn a_journal_that_was_cut_is_reported_to_its_reader() {
    let incident = Incident::judged_by(HEALTHY);
    let (journal, whole) = incident.journal();
    std::fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    let expected = format!("eog: {}: the journal ended in an interrupted write", journal.display());
    for run in [
        run!("replay", journal),
        run!("explain", journal, "service-1", "--policy", incident.policy()),
        run!("diff", journal, journal),
    ] {
        assert!(run.err.starts_with(&expected), "{run:?}");
    }
}

#[test]
fn a_ledger_may_come_through_a_pipe() {
    let incident = Incident::judged_by(HEALTHY);
    incident.ledger(&["--journal", incident.path("run.journal").to_str().unwrap()]);
    let piped = |file: &str| {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg("cat \"$1\" | \"$0\" replay /dev/stdin");
        Run::of(shell.arg(env!("CARGO_BIN_EXE_eog")).arg(incident.path(file)))
    };
    let replayed = piped("out/ledger.jsonl").exits(3);
    let derived = format!("{} entries verified", EVALUATIONS + 1);
    assert!(replayed.out.starts_with(&derived), "{replayed:?}");
    piped("run.journal").exits(4).says(&["must be a regular file"]);
}

#[test]
fn a_replay_of_nothing_but_failures_ends_as_the_run_did() {
    let incident = Incident::judged_by("exit 3");
    let out = incident.path("out");
    Run::of(&mut incident.investigate(&["--out", out.to_str().unwrap()])).exits(1);
    run!("replay", out).exits(1);
}
