//! A killed investigation goes on where its journal ends: real processes, real files, `kill -9`.
//!
//! `EOG_KILL_POINTS=200 cargo test -p eog-cli --test all resume::killed -- --nocapture` kills at 200
//! moments; by default it is a sample.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use eog::Journal;
use eog::controller::EntryBody;
use eog::ledger::Body;
use eog::linear::LinearBody;
use eog_search::SearchBody;

use crate::common::{FLASH_SALE, Run, lines, run, until};
use crate::runs::incident::{ALERTS, EVALUATIONS, HEALTHY, Incident};

/// How often the process is killed unless `EOG_KILL_POINTS` says otherwise.
const KILL_POINTS: u64 = 10;

/// An incident whose policy takes a moment.
fn incident() -> Incident {
    Incident::judged_by(&format!("sleep 0.02\n{HEALTHY}"))
}

/// How often the policy was called, and forgets it.
fn calls(incident: &Incident) -> usize {
    let calls = lines(incident.path("policy.sh.calls"));
    let _ = std::fs::remove_file(incident.path("policy.sh.calls"));
    calls
}

/// An incident that was investigated with a journal, and its bytes.
fn investigated() -> (Incident, std::path::PathBuf, Vec<u8>) {
    let incident = incident();
    let (journal, whole) = incident.journal();
    (incident, journal, whole)
}

fn resume(incident: &Incident, journal: &Path) -> Run {
    Run::of(&mut incident.resume(journal))
}

#[test]
fn killed_at_any_time_it_ends_with_the_same_journal_and_no_repeated_call() {
    kill_and_resume::<EntryBody>(&["eog"], EVALUATIONS, 1);
}

#[test]
fn killed_at_any_time_the_linear_loop_ends_with_the_same_journal_and_no_repeated_call() {
    // The linear loop does not evaluate again.
    kill_and_resume::<LinearBody>(&["linear"], ALERTS, 1);
}

#[test]
fn killed_at_any_time_tree_searches_end_with_the_same_journal_and_no_repeated_call() {
    // A root has as many children as `--branch` allows, and each alert is evaluated once.
    kill_and_resume::<SearchBody>(&["lats", "--branch", "10"], ALERTS, 1);
    kill_and_resume::<SearchBody>(&["bfs"], ALERTS, 1);
    kill_and_resume::<SearchBody>(&["beam"], ALERTS, 1);
    // Three hypotheses at first, and none below what is healthy.
    kill_and_resume::<SearchBody>(&["hypotheses"], 3, 3);
}

#[test]
fn killed_at_any_time_goals_and_chains_end_with_the_same_journal_and_no_repeated_call() {
    // Three goals with an alert each, and a fourth for the rest: in the end each alert is evaluated once.
    kill_and_resume::<SearchBody>(&["treeseeker"], 10, 5);
    kill_and_resume::<SearchBody>(&["react"], ALERTS, 1);
}

/// `width` calls may be under way at once.
fn kill_and_resume<B: Body>(controller: &[&str], evaluations: usize, width: usize) {
    let incident = incident();
    let whole = incident.path("whole.journal");
    let investigate = |journal: &Path| {
        let mut command = incident.investigate(&["--controller"]);
        command.args(controller).arg("--journal").arg(journal);
        command
    };
    // Everything is healthy.
    Run::of(&mut investigate(&whole)).exits(3);
    assert_eq!(calls(&incident), evaluations);
    let expected = std::fs::read(&whole).unwrap();
    let entries = Journal::read_as::<B>(&whole).unwrap().ledger.next_seq();

    let points = std::env::var("EOG_KILL_POINTS").ok().and_then(|points| points.parse().ok());
    let points: u64 = points.unwrap_or(KILL_POINTS);
    let mut repeated = 0;
    for point in 0..points {
        // Each number of entries, the later ones not last, and each time a little later than that.
        let kill_after = point * 7 % (entries - 1) + 1;
        let later = Duration::from_millis(point * 7 % 29);
        let journal = incident.path(&format!("{point}.journal"));
        let mut child = investigate(&journal).stdout(Stdio::null()).spawn().unwrap();
        until("the journal has so many entries", || {
            Journal::read_as::<B>(&journal).is_ok_and(|read| read.ledger.next_seq() >= kill_after)
        });
        std::thread::sleep(later);
        child.kill().unwrap();
        child.wait().unwrap();
        let acknowledged = Journal::read_as::<B>(&journal).unwrap().ledger;
        resume(&incident, &journal).exits(3);
        assert_eq!(std::fs::read(&journal).unwrap(), expected, "killed after {kill_after}");
        // The calls that were under way at the kill had no acknowledged answers.
        let calls = calls(&incident);
        let expected_calls = evaluations..=evaluations + width;
        assert!(expected_calls.contains(&calls), "{calls} calls, killed after {kill_after}");
        assert!(acknowledged.next_seq() >= kill_after);
        repeated += calls - evaluations;
    }
    println!(
        "{}, {points} kills: no entry lost, no answered call repeated; {repeated} unanswered were",
        controller[0]
    );
}

#[test]
fn a_finished_investigation_is_resumed_without_a_call() {
    let (incident, journal, _) = investigated();
    assert_eq!(calls(&incident), EVALUATIONS);
    resume(&incident, &journal).exits(3);
    assert_eq!(calls(&incident), 0);
}

#[test]
fn without_waiting_for_the_disk_the_journal_is_the_same() {
    let (incident, _, expected) = investigated();
    let fast = incident.path("fast.journal");
    let options = ["--no-fsync", "--journal", fast.to_str().unwrap()];
    Run::of(&mut incident.investigate(&options)).exits(3);
    assert_eq!(std::fs::read(&fast).unwrap(), expected);
    std::fs::write(&fast, &expected[..expected.len() - 7]).unwrap();
    Run::of(incident.resume(&fast).arg("--no-fsync")).exits(3);
    assert_eq!(std::fs::read(&fast).unwrap(), expected);
}

#[test]
fn a_torn_tail_is_cut_and_said_and_damage_is_refused() {
    let (incident, journal, whole) = investigated();
    std::fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    resume(&incident, &journal).exits(3).says(&["interrupted write"]);
    assert_eq!(std::fs::read(&journal).unwrap(), whole);

    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    std::fs::write(&journal, &damaged).unwrap();
    resume(&incident, &journal).exits(4).says(&["entry"]);
    assert_eq!(std::fs::read(&journal).unwrap(), damaged, "damage is left as it is");
}

#[test]
fn another_incident_is_not_mixed_in() {
    let (incident, journal, before) = investigated();
    let expected = "was started with a different input";
    run!("resume", journal, FLASH_SALE).exits(4).says(&[expected]);
    assert_eq!(std::fs::read(&journal).unwrap(), before);

    // Killed before the first entry was stored.
    let empty = incident.path("empty.journal");
    drop(Journal::create(&empty).unwrap());
    run!("resume", empty, incident.path("bundle")).exits(4).says(&["has no entries yet"]);
}

#[test]
fn files_that_were_changed_under_a_journal_are_named() {
    let (incident, journal, _) = investigated();
    let notes = incident.path("bundle/notes.txt");
    assert_eq!(resume(&incident, &journal).exits(3).err, "");
    std::fs::write(&notes, "later").unwrap();
    let expected = "has changed since the journal was started: notes.txt is new.";
    resume(&incident, &journal).exits(3).says(&[expected]);
    std::fs::remove_file(&notes).unwrap();
    assert_eq!(resume(&incident, &journal).exits(3).err, "");
}

/// A process that may write anywhere gives that up for the child.
#[test]
fn a_journal_in_a_read_only_folder_is_refused_before_anything_is_asked() {
    const UNPRIVILEGED: u32 = 65534;
    let incident = incident();
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    // The child may use everything else. The binary may be where it may not.
    set(&incident.path(""), 0o777);
    let program = incident.path("eog");
    // By a process of its own: a program that is open for writing here cannot be started.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_eog")).arg(&program).status();
    assert!(copied.unwrap().success());
    let folder = incident.path("read-only");
    std::fs::create_dir(&folder).unwrap();
    set(&folder, 0o555);

    let probe = folder.join("probe");
    let writes_anywhere = std::fs::write(&probe, "").is_ok();
    let mut eog = Command::new(&program);
    if writes_anywhere {
        std::fs::remove_file(&probe).unwrap();
        eog.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    let journal = folder.join("run.journal");
    eog.arg("investigate").arg(incident.path("bundle"));
    eog.args(["--policy", &incident.policy(), "--journal"]).arg(&journal);
    let output = match eog.output() {
        Err(error) if writes_anywhere && error.kind() == ErrorKind::PermissionDenied => {
            eprintln!("skipped: this user may write anywhere, and may not become another: {error}");
            return;
        }
        output => output.unwrap(),
    };
    let expected = format!("cannot create the journal {}: Permission denied", journal.display());
    Run::from(output).exits(1).says(&[&expected]);
    assert_eq!(calls(&incident), 0, "nothing is paid for");
    assert!(!journal.exists());
}
