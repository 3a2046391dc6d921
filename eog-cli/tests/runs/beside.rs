//! The side file of the real binary: what runs took, and why they ended.

use std::path::Path;

use eog::side::{RunStart, SideFile, SideRecord};
use eog::{Journal, StopReason};

use super::incident::{EVALUATIONS, HEALTHY, Incident};
use crate::common::{Run, run, signal, start, until};

fn records(journal: &Path) -> Vec<SideRecord> {
    SideFile::read(SideFile::path_beside(journal)).unwrap().records
}

fn reasons(journal: &Path) -> Vec<StopReason> {
    let records = records(journal);
    let stopped = records.iter().filter_map(|record| match record {
        SideRecord::Stopped { reason, .. } => Some(*reason),
        _ => None,
    });
    stopped.collect()
}

/// Resumes a journal: the run converges, and the journal is that of an uninterrupted run.
fn goes_on(incident: &Incident, journal: &Path, whole: &[u8], first: StopReason) {
    Run::of(&mut incident.resume(journal)).exits(3);
    assert_eq!(std::fs::read(journal).unwrap(), whole);
    assert_eq!(reasons(journal), [first, CONVERGED]);
}

const CONVERGED: StopReason = StopReason::Converged { refused_wakes: 0 };

#[test]
fn every_evaluation_has_its_line_and_the_end_its_mark() {
    let incident = Incident::judged_by(HEALTHY);
    let journal = incident.path("run.journal");
    let whole = incident.ledger(&["--journal", journal.to_str().unwrap()]);
    let records = records(&journal);
    // What the files of the input were comes before the run.
    assert!(matches!(&records[0], SideRecord::Outside { name, .. } if name == "input"));
    assert!(matches!(records[1], SideRecord::Run { what: RunStart::Began, entries: 0, .. }));
    let evaluated: Vec<u64> = records
        .iter()
        .filter_map(|record| match record {
            SideRecord::Evaluation { entry, policy, .. } => {
                assert_eq!(policy.as_ref().unwrap().attempts, 1);
                Some(*entry)
            }
            _ => None,
        })
        .collect();
    assert_eq!(evaluated, (1..=EVALUATIONS as u64).collect::<Vec<_>>());
    let Some(SideRecord::Stopped { entries, reason, .. }) = records.last() else {
        panic!("no mark: {:?}", records.last())
    };
    assert_eq!((*entries, *reason), (EVALUATIONS as u64 + 1, CONVERGED));
    // Files that are passed on hold no times.
    assert_eq!(incident.ledger(&[]), whole);
}

/// The journal of an uninterrupted run.
fn whole_journal(incident: &Incident) -> Vec<u8> {
    let journal = incident.path("whole.journal");
    incident.ledger(&["--journal", journal.to_str().unwrap()]);
    std::fs::read(journal).unwrap()
}

#[test]
fn ctrl_c_leaves_its_mark_and_a_journal_that_is_gone_on_with() {
    // The fourth call waits for nothing that comes.
    let incident = Incident::judged_by(&format!(
        "[ -e \"$0.free\" ] || [ $(grep -c . \"$0.calls\") != 4 ] || sleep 600; {HEALTHY}"
    ));
    std::fs::write(incident.path("policy.sh.free"), "").unwrap();
    let whole = whole_journal(&incident);
    std::fs::remove_file(incident.path("policy.sh.free")).unwrap();
    std::fs::remove_file(incident.path("policy.sh.calls")).unwrap();

    let journal = incident.path("run.journal");
    let options = ["--journal", journal.to_str().unwrap()];
    let child = start(&mut incident.investigate(&options));
    until("the fourth call", || incident.calls() >= 4);
    signal("-INT", &child);
    let ended = Run::from(child.wait_with_output().unwrap()).exits(130);
    let onward = format!("eog: continue with: eog resume {} ", journal.display());
    assert!(ended.err.starts_with(&onward), "{ended:?}");
    assert_eq!(reasons(&journal), [StopReason::Cancelled]);
    assert_eq!(Journal::read(&journal).unwrap().ledger.evaluations().count(), 3);
    run!("replay", journal).prints(&["interrupted, entities still waiting"]);

    goes_on(&incident, &journal, &whole, StopReason::Cancelled);
    run!("replay", journal).prints(&["; converged\n"]);
}

#[test]
fn a_deadline_leaves_its_mark_and_a_journal_that_is_gone_on_with() {
    // Together they take longer than the deadline on any machine.
    let incident = Incident::judged_by(&format!("sleep 0.1; {HEALTHY}"));
    let whole = whole_journal(&incident);
    let journal = incident.path("run.journal");
    incident.journaled(&["--deadline", "2"]);
    assert_eq!(reasons(&journal), [StopReason::Deadline]);
    run!("replay", journal).prints(&["deadline reached, entities still waiting"]);

    // A run that was killed has left no reason, and that of the run before is not its own.
    let side = SideFile::path_beside(&journal);
    let stopped = std::fs::read_to_string(&side).unwrap();
    let entries = Journal::read(&journal).unwrap().ledger.next_seq();
    let killed = format!(
        "{stopped}{{\"run\":{{\"at\":\"2026-01-01T10:00:00Z\",\"what\":\"resumed\",\
         \"entries\":{entries}}}}}\n"
    );
    std::fs::write(&side, killed).unwrap();
    run!("replay", journal).prints(&["interrupted, entities still waiting"]);
    // Neither is one of another length.
    let other = format!("\"entries\":{entries},\"reason\"");
    assert!(stopped.contains(&other));
    std::fs::write(&side, stopped.replace(&other, "\"entries\":1000,\"reason\"")).unwrap();
    run!("replay", journal).prints(&["interrupted, entities still waiting"]);

    std::fs::write(&side, stopped).unwrap();
    goes_on(&incident, &journal, &whole, StopReason::Deadline);
}

#[test]
fn a_side_file_that_cannot_be_read_is_refused_before_anything_is_spent() {
    let incident = Incident::judged_by(HEALTHY);
    let whole = whole_journal(&incident);
    let journal = incident.path("run.journal");
    std::fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    let side = SideFile::path_beside(&journal);
    std::fs::write(&side, "these are my notes\n").unwrap();
    std::fs::remove_file(incident.path("policy.sh.calls")).unwrap();

    let refused = Run::of(&mut incident.resume(&journal)).exits(4);
    refused.says(&["is not a side file", "move it away"]);
    assert!(!incident.path("policy.sh.calls").exists());
    // A replay needs it for nothing but the reason.
    let expected = "cannot read why the last run ended: ";
    run!("replay", journal).exits(3).says(&[expected]);

    std::fs::remove_file(&side).unwrap();
    Run::of(&mut incident.resume(&journal)).exits(3);
    assert_eq!(std::fs::read(&journal).unwrap(), whole);
}

#[test]
fn a_new_journal_takes_no_side_file_of_another() {
    let incident = Incident::judged_by(HEALTHY);
    let journal = incident.path("run.journal");
    whole_journal(&incident);
    let side = SideFile::path_beside(incident.path("whole.journal"));
    std::fs::rename(side, SideFile::path_beside(&journal)).unwrap();
    incident.journaled(&[]).exits(2).says(&["left over from a journal that is gone"]);
    assert!(!journal.exists());
}

#[test]
fn a_side_file_that_vanishes_is_said_in_one_line_and_the_run_goes_on() {
    let incident =
        Incident::judged_by(&format!("rm -f \"${{0%/*}}/run.journal.side.jsonl\"; {HEALTHY}"));
    let run = incident.journaled(&[]).exits(3);
    let run = run.says(&["figures of this run are missing beside the journal: "]);
    assert_eq!(run.err.lines().count(), 1, "{run:?}");
    let ledger = Journal::read(incident.path("run.journal")).unwrap().ledger;
    assert_eq!(ledger.evaluations().count(), EVALUATIONS);
}
