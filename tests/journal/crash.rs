//! Real crashes: a child process is killed, or runs out of room, while it writes.
//!
//! The child is this test binary, made by a variable to run one test that is otherwise ignored.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use eog::journal::JournalError;
use eog::{Entry, Journal};

use crate::making::{arrivals, folder_on_disk, ledger_of, tellings};

const PATH: &str = "EOG_TEST_JOURNAL";
const ENTRIES: u64 = 1500;
const KILLS: u64 = 30;

/// The entries of all children, of many sizes.
fn long_story() -> Vec<Arc<Entry>> {
    let texts: Vec<String> = (0..ENTRIES).map(|n| "x".repeat((n * 7919 % 2500) as usize)).collect();
    tellings(texts.iter().map(String::as_str))
}

#[test]
#[ignore = "the child of the tests below"]
fn child_that_writes_and_reports_what_is_acknowledged() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let entries = long_story();
    let (mut journal, _) = Journal::open(PathBuf::from(path)).unwrap();
    let mut out = std::io::stdout();
    let mut done = usize::try_from(journal.entries()).unwrap();
    while done < entries.len() {
        let until = (done + 1 + done % 3).min(entries.len());
        match journal.append(&entries[done..until]) {
            Ok(()) => writeln!(out, "\nacknowledged {until}").unwrap(),
            Err(error) => {
                let again = journal.append(&entries[done..until]).unwrap_err();
                assert!(matches!(again, JournalError::Poisoned { .. }), "{again}");
                writeln!(out, "\nfailed after {done}: {error}").unwrap();
                return;
            }
        }
        done = until;
    }
}

#[test]
fn whatever_was_acknowledged_survives_kill() {
    let entries = long_story();
    let folder = folder_on_disk();
    let path = folder.path().join("run.journal");
    drop(Journal::create(&path).unwrap());
    let mut stored = 0;
    for round in 0..KILLS {
        let mut child = child(&mut this_test(), &path);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let wait_for = 1 + round * 7919 % 13;
        let mut acknowledged = stored;
        for line in lines.by_ref().filter_map(|line| acknowledged_by(&line)).take(wait_for as usize)
        {
            acknowledged = line;
        }
        child.kill().unwrap();
        // What it said before it died counts, too.
        acknowledged =
            lines.filter_map(|line| acknowledged_by(&line)).last().unwrap_or(acknowledged);
        child.wait().unwrap();
        assert!(acknowledged > stored, "the child wrote nothing in round {round}");

        let read = Journal::read(&path).unwrap();
        stored = read.ledger.entries().len();
        assert!(stored >= acknowledged, "{acknowledged} were acknowledged, {stored} are there");
        assert_eq!(read.ledger, ledger_of(&entries[..stored]), "in round {round}");
    }
    assert!(stored < entries.len(), "the story was too short for {KILLS} kills");
}

/// The limit on a file's size stops a write in its middle, as a full disk does.
#[test]
#[cfg(unix)]
fn a_write_that_finds_no_room_leaves_what_was_acknowledged() {
    let entries = long_story();
    let folder = folder_on_disk();
    for blocks in [40, 41, 57, 128] {
        let path = folder.path().join(format!("{blocks}.journal"));
        drop(Journal::create(&path).unwrap());
        let mut limited = Command::new("sh");
        // Without the trap the system would kill the child in place of failing its write.
        let script = format!("trap '' XFSZ; ulimit -f {blocks} || exit 3; exec \"$0\" \"$@\"");
        limited.args(["-c", &script]).arg(std::env::current_exe().unwrap());
        let child = child(arguments(&mut limited), &path);
        let output = child.wait_with_output().unwrap();
        if output.status.code() == Some(3) {
            eprintln!("skipped: this shell cannot limit the size of files");
            return;
        }
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let failed = said.lines().find(|line| line.starts_with("failed after")).expect(&said);
        let acknowledged = said.lines().filter_map(acknowledged_by).next_back().unwrap();
        assert!(
            failed.starts_with(&format!("failed after {acknowledged}: cannot write")),
            "{said}"
        );
        assert!(failed.contains(&format!("first {acknowledged} entries are safe")), "{said}");

        // The part that was written is cut off already, and there is room again.
        let (mut journal, recovered) = Journal::open(&path).unwrap();
        assert_eq!(recovered.cut, None);
        assert_eq!(recovered.ledger, ledger_of(&entries[..acknowledged]));
        journal.append(&entries[acknowledged..acknowledged + 5]).unwrap();
        let read = Journal::read(&path).unwrap();
        assert_eq!(read.ledger, ledger_of(&entries[..acknowledged + 5]));
    }
}

#[test]
#[ignore = "the child of the test below"]
fn child_that_opens() {
    let Some(path) = std::env::var_os(PATH) else { return };
    match Journal::open(PathBuf::from(path)) {
        Ok(_) => println!("\nopened"),
        Err(JournalError::Locked { .. }) => println!("\nlocked"),
        Err(error) => println!("\n{error}"),
    }
}

#[test]
fn another_process_is_locked_out_until_the_writer_is_done() {
    let folder = folder_on_disk();
    let path = folder.path().join("run.journal");
    let mut journal = Journal::create(&path).unwrap();
    let opens = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "crash::child_that_opens", "--ignored", "--nocapture"]);
        let output = child(&mut command, &path).wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.lines().find(|line| ["opened", "locked"].contains(line)).expect(&said).to_owned()
    };
    assert_eq!(opens(), "locked");
    journal.append(&arrivals(1)).unwrap();
    drop(journal);
    assert_eq!(opens(), "opened");
}

/// A process that another thread starts gets a copy of every open file for a moment.
#[test]
fn a_dropped_journal_is_free_at_once_whatever_else_starts() {
    let folder = folder_on_disk();
    let path = folder.path().join("run.journal");
    drop(Journal::create(&path).unwrap());
    std::thread::scope(|scope| {
        let starting = scope.spawn(|| {
            for _ in 0..20 {
                let mut command = Command::new(std::env::current_exe().unwrap());
                let output = command.arg("--list").output().unwrap();
                assert!(output.status.success());
            }
        });
        while !starting.is_finished() {
            drop(Journal::open(&path).unwrap());
        }
    });
}

fn this_test() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    arguments(&mut command);
    command
}

fn arguments(command: &mut Command) -> &mut Command {
    let name = "crash::child_that_writes_and_reports_what_is_acknowledged";
    command.args(["--exact", name, "--ignored", "--nocapture"])
}

fn child(command: &mut Command, path: &Path) -> Child {
    let piped = command.env(PATH, path).stdin(Stdio::null()).stdout(Stdio::piped());
    piped.stderr(Stdio::null()).spawn().unwrap()
}

/// The number in a line of the child, if it is one.
fn acknowledged_by(line: &str) -> Option<usize> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}
