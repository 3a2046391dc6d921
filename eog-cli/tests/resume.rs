//! A killed investigation goes on where its journal ends: real processes, real files, `kill -9`.
//!
//! `EOG_KILL_POINTS=200 cargo test -p eog-cli --test all resume::killed -- --nocapture` kills at 200
//! moments; by default it is a sample.

use crate::common;

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use common::{eog, investigate_json};
use eog::Journal;
use eog::controller::EntryBody;
use eog::ledger::Body;
use eog::linear::LinearBody;
use eog_search::SearchBody;
use serde_json::json;

const ALERTS: usize = 10;
/// An alert that nobody explains has its entity looked at twice more before the end.
const EVALUATIONS: usize = 3 * ALERTS;
/// How often the process is killed unless `EOG_KILL_POINTS` says otherwise.
const KILL_POINTS: u64 = 10;

/// An incident in which nothing explains an alert, and a policy that notes each call.
struct Incident {
    folder: tempfile::TempDir,
}

impl Incident {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("bundle");
        std::fs::create_dir(&bundle).unwrap();
        let manifest = json!({ "format": "eog-bundle", "version": 1, "name": "many alerts" });
        std::fs::write(bundle.join("bundle.json"), manifest.to_string()).unwrap();
        let alerts: Vec<_> = (0..ALERTS)
            .map(|n| {
                json!({ "name": "Errors", "entity": format!("service-{n}"), "signal": "errors",
                        "onset": "2026-01-01T10:05:00Z" })
            })
            .collect();
        std::fs::write(bundle.join("alerts.json"), json!(alerts).to_string()).unwrap();
        let policy = folder.path().join("policy.sh");
        let script = "#!/bin/sh\ncat > /dev/null\necho call >> \"$0.calls\"\nsleep 0.02\n\
                      echo '{\"label\": \"healthy\", \"summary\": \"fine\"}'\n";
        std::fs::write(&policy, script).unwrap();
        std::fs::set_permissions(&policy, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn policy(&self) -> String {
        format!("command:{}", self.path("policy.sh").display())
    }

    /// How often the policy was called, and forgets it.
    fn calls(&self) -> usize {
        let calls = self.path("policy.sh.calls");
        let text = std::fs::read_to_string(&calls).unwrap_or_default();
        let _ = std::fs::remove_file(&calls);
        text.lines().count()
    }

    /// Investigates into a new journal; returns the exit code.
    fn investigate(&self, journal: &Path) -> i32 {
        self.investigate_by(&["eog"], journal)
    }

    /// The same with a controller of one's choice.
    fn investigate_by(&self, controller: &[&str], journal: &Path) -> i32 {
        let (bundle, policy) = (self.path("bundle"), self.policy());
        let mut arguments = vec![bundle.as_os_str(), "--controller".as_ref()];
        arguments.extend(controller.iter().map(std::ffi::OsStr::new));
        arguments.extend(["--policy", &policy, "--journal"].map(std::ffi::OsStr::new));
        arguments.push(journal.as_os_str());
        let (code, ..) = investigate_json(&arguments);
        code
    }

    fn resume(&self, journal: &Path) {
        let output = eog()
            .arg("resume")
            .arg(journal)
            .arg(self.path("bundle"))
            .args(["--policy", &self.policy(), "--format", "json"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn killed_at_any_time_it_ends_with_the_same_journal_and_no_repeated_call() {
    kill_and_resume::<EntryBody>(&["eog"], EVALUATIONS, 1);
}

#[test]
fn killed_at_any_time_the_linear_loop_ends_with_the_same_journal_and_no_repeated_call() {
    // The linear loop does not look again.
    kill_and_resume::<LinearBody>(&["linear"], ALERTS, 1);
}

#[test]
fn killed_at_any_time_tree_searches_end_with_the_same_journal_and_no_repeated_call() {
    // A root has as many children as `--branch` allows, and each alert is looked at once.
    kill_and_resume::<SearchBody>(&["lats", "--branch", "10"], ALERTS, 1);
    kill_and_resume::<SearchBody>(&["bfs"], ALERTS, 1);
    kill_and_resume::<SearchBody>(&["beam"], ALERTS, 1);
    // Three hypotheses at first, and none below what is healthy.
    kill_and_resume::<SearchBody>(&["hypotheses"], 3, 3);
}

#[test]
fn killed_at_any_time_goals_and_chains_end_with_the_same_journal_and_no_repeated_call() {
    // Three goals with an alert each, and a fourth, which has five paths at most, for the rest.
    kill_and_resume::<SearchBody>(&["treeseeker"], 8, 5);
    kill_and_resume::<SearchBody>(&["react"], ALERTS, 1);
}

/// `width` calls may be under way at once.
fn kill_and_resume<B: Body>(controller: &[&str], evaluations: usize, width: usize) {
    let incident = Incident::new();
    let whole = incident.path("whole.journal");
    let bundle = incident.path("bundle");
    let policy = incident.policy();
    assert_eq!(incident.investigate_by(controller, &whole), 3, "everything is healthy");
    assert_eq!(incident.calls(), evaluations);
    let expected = std::fs::read(&whole).unwrap();

    let entries = Journal::read::<B>(&whole).unwrap().ledger.next_seq();

    let points = std::env::var("EOG_KILL_POINTS").ok().and_then(|points| points.parse().ok());
    let points: u64 = points.unwrap_or(KILL_POINTS);
    let mut repeated = 0;
    for point in 0..points {
        // Each number of entries, the later ones not last, and each time a little later than that.
        let kill_after = point * 7 % (entries - 1) + 1;
        let later = Duration::from_millis(point * 7 % 29);
        let journal = incident.path(&format!("{point}.journal"));
        let mut child = eog()
            .arg("investigate")
            .arg(&bundle)
            .arg("--controller")
            .args(controller)
            .args(["--policy", &policy, "--journal"])
            .arg(&journal)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let patience = Instant::now() + Duration::from_secs(60);
        let entries = || Journal::read::<B>(&journal).map_or(0, |read| read.ledger.next_seq());
        while entries() < kill_after {
            assert!(Instant::now() < patience, "the journal never got {kill_after} entries");
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(later);
        child.kill().unwrap();
        child.wait().unwrap();
        let acknowledged = Journal::read::<B>(&journal).unwrap().ledger;
        incident.resume(&journal);
        assert_eq!(std::fs::read(&journal).unwrap(), expected, "killed after {kill_after}");
        // The calls that were under way at the kill had no acknowledged answers.
        let calls = incident.calls();
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
    let incident = Incident::new();
    let journal = incident.path("run.journal");
    assert_eq!(incident.investigate(&journal), 3);
    assert_eq!(incident.calls(), EVALUATIONS);
    incident.resume(&journal);
    assert_eq!(incident.calls(), 0);
}

#[test]
fn without_waiting_for_the_disk_the_journal_is_the_same() {
    let incident = Incident::new();
    let (safe, fast) = (incident.path("safe.journal"), incident.path("fast.journal"));
    assert_eq!(incident.investigate(&safe), 3);
    let (bundle, policy) = (incident.path("bundle"), incident.policy());
    let expected = std::fs::read(&safe).unwrap();
    let (code, ..) = investigate_json(&[
        bundle.as_os_str(),
        "--policy".as_ref(),
        policy.as_ref(),
        "--journal".as_ref(),
        fast.as_os_str(),
        "--no-fsync".as_ref(),
    ]);
    assert_eq!((code, std::fs::read(&fast).unwrap()), (3, expected.clone()));
    std::fs::write(&fast, &expected[..expected.len() - 7]).unwrap();
    let output = eog()
        .arg("resume")
        .arg(&fast)
        .arg(&bundle)
        .args(["--policy", &policy, "--no-fsync"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(std::fs::read(&fast).unwrap(), expected);
}

#[test]
fn a_torn_tail_is_cut_and_said_and_damage_is_refused() {
    let incident = Incident::new();
    let journal = incident.path("run.journal");
    let (bundle, policy) = (incident.path("bundle"), incident.policy());
    assert_eq!(incident.investigate(&journal), 3);
    let whole = std::fs::read(&journal).unwrap();
    let resume = || {
        let output =
            eog().arg("resume").arg(&journal).arg(&bundle).args(["--policy", &policy]).output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    std::fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    let (code, said) = resume();
    assert_eq!(code, Some(3));
    assert!(said.contains("interrupted write"), "{said}");
    assert_eq!(std::fs::read(&journal).unwrap(), whole);

    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    std::fs::write(&journal, &damaged).unwrap();
    let (code, said) = resume();
    assert_eq!(code, Some(4));
    assert!(said.contains("entry"), "{said}");
    assert_eq!(std::fs::read(&journal).unwrap(), damaged, "damage is left as it is");
}

#[test]
fn another_incident_is_not_mixed_in() {
    let incident = Incident::new();
    let journal = incident.path("run.journal");
    assert_eq!(incident.investigate(&journal), 3);
    let before = std::fs::read(&journal).unwrap();
    let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    let output = eog().arg("resume").arg(&journal).arg(other).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("was started with a different input"), "{said}");
    assert_eq!(std::fs::read(&journal).unwrap(), before);

    // Killed before the first entry was stored.
    let empty = incident.path("empty.journal");
    drop(Journal::create(&empty).unwrap());
    let output = eog().arg("resume").arg(&empty).arg(incident.path("bundle")).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("has no entries yet"));
}

#[test]
fn files_that_were_changed_under_a_journal_are_named() {
    let incident = Incident::new();
    let journal = incident.path("run.journal");
    assert_eq!(incident.investigate(&journal), 3);
    let resume = || {
        let mut command = eog();
        command.arg("resume").arg(&journal).arg(incident.path("bundle"));
        let output = command.arg("--policy").arg(incident.policy()).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert_eq!(resume(), "");
    std::fs::write(incident.path("bundle/notes.txt"), "later").unwrap();
    let said = resume();
    assert!(
        said.contains("has changed since the journal was started: notes.txt is new."),
        "{said}"
    );
    std::fs::remove_file(incident.path("bundle/notes.txt")).unwrap();
    assert_eq!(resume(), "");
}

/// Who may write anywhere gives that up for the child.
#[test]
fn a_journal_in_a_read_only_folder_is_refused_before_anything_is_asked() {
    const NOBODY: u32 = 65534;
    let incident = Incident::new();
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    // Whoever the child is, it may use everything else. The binary may be where it may not.
    set(&incident.path(""), 0o777);
    let program = incident.path("eog");
    // By a process of its own: nobody can start a program that is open for writing here.
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
        eog.uid(NOBODY).gid(NOBODY);
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
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let expected = format!("cannot create the journal {}: Permission denied", journal.display());
    assert!(said.contains(&expected), "{said}");
    assert_eq!(incident.calls(), 0, "nothing is paid for");
    assert!(!journal.exists());
}
