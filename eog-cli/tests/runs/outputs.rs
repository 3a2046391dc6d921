//! What becomes of the outputs when one of them fails, and ledgers that come through a pipe.

use std::process::{Command, Output, Stdio};

use super::common::eog;
use super::incident::{EVALUATIONS, HEALTHY, Incident, said};

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_journal_that_takes_no_more_is_told_first_and_takes_nothing_else_with_it() {
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
    let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let run = incident.investigate(&["--journal", journal.to_str().unwrap()]);
    let mut command = Command::new("sh");
    command.arg("-c").arg(limited).arg(run.get_program()).args(run.get_args());
    let output = command.arg("--out").arg(&out).output().unwrap();
    let errors = said(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let begin = "eog: stopped because the journal cannot be written: cannot write to the journal ";
    assert!(errors.starts_with(begin), "{errors}");
    assert!(errors.contains("entries are safe"), "{errors}");
    let resume = format!("  then: eog resume {} ", journal.display());
    assert!(errors.contains(&resume), "{errors}");
    assert!(errors.contains("ledger.jsonl: "), "the second failure is told, too: {errors}");
    assert!(
        text(&output).contains("; stopped: the journal could not be written\n"),
        "{}",
        text(&output)
    );
    assert!(!text(&output).contains("interrupted"), "{}", text(&output));
    assert!(text(&output).contains("INCONCLUSIVE, stopped early: "), "{}", text(&output));
    for name in ["agent_output.json", "graph.dot", "report.md"] {
        assert!(out.join(name).is_file(), "{name}");
    }

    let output = incident.resume(&journal).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert_eq!(std::fs::read(&journal).unwrap(), whole);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_keeps_no_file_from_being_written() {
    let incident = Incident::judged_by(HEALTHY);
    let out = incident.path("out");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = incident.investigate(&[]);
    let output = command.arg("--out").arg(&out).stdout(full).stderr(Stdio::piped()).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("cannot write standard output: "), "{}", said(&output));
    for name in ["ledger.jsonl", "agent_output.json", "graph.dot", "report.md"] {
        assert!(out.join(name).is_file(), "{name}");
    }
}

#[test]
fn a_journal_that_was_cut_says_so_to_whoever_reads_it() {
    let incident = Incident::judged_by(HEALTHY);
    let journal = incident.path("run.journal");
    incident.ledger(&["--journal", journal.to_str().unwrap()]);
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    let policy = format!("command:{}", incident.path("policy.sh").display());
    let journal = journal.to_str().unwrap();
    let commands = [
        vec!["replay", journal],
        vec!["explain", journal, "service-1", "--policy", &policy],
        vec!["diff", journal, journal],
    ];
    for arguments in commands {
        let output = eog().args(&arguments).output().unwrap();
        let expected = format!("eog: {journal}: the journal ended in an interrupted write");
        assert!(said(&output).starts_with(&expected), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn a_ledger_may_come_through_a_pipe() {
    let incident = Incident::judged_by(HEALTHY);
    incident.ledger(&["--journal", incident.path("run.journal").to_str().unwrap()]);
    let piped = |file: &str| {
        let mut command = Command::new("sh");
        command.arg("-c").arg("cat \"$1\" | \"$0\" replay /dev/stdin");
        command.arg(env!("CARGO_BIN_EXE_eog")).arg(incident.path(file)).output().unwrap()
    };
    let output = piped("out/ledger.jsonl");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let derived = format!("{} entries verified", EVALUATIONS + 1);
    assert!(text(&output).starts_with(&derived), "{}", text(&output));
    let output = piped("run.journal");
    assert_eq!(output.status.code(), Some(4));
    assert!(said(&output).contains("must be a regular file"), "{}", said(&output));
}

#[test]
fn a_replay_of_nothing_but_failures_ends_as_the_run_did() {
    let incident = Incident::judged_by("exit 3");
    let out = incident.path("out");
    let output = incident.investigate(&[]).arg("--out").arg(&out).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(eog().arg("replay").arg(&out).output().unwrap().status.code(), Some(1));
}
