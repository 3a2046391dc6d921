//! What a journal refuses: wrong places, second writers, entries that do not follow.

use std::fs;
use std::io::ErrorKind;

use eog::journal::{JournalError, MAX_ENTRY_BYTES};
use eog::ledger::LedgerError;
use eog::{Journal, Ledger};

use crate::making::{arrivals, folder, ledger_of, next, opening, tellings};

#[test]
fn a_journal_is_created_once() {
    let folder = folder();
    let path = folder.path().join("run.journal");
    fs::write(&path, "mine").unwrap();
    for taken in [path.as_path(), folder.path()] {
        let error = Journal::create(taken).unwrap_err();
        assert!(matches!(error, JournalError::Exists { .. }), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), b"mine");
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = folder();
    let missing = folder.path().join("missing");
    let error = Journal::open(&missing).unwrap_err();
    let JournalError::Unusable { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.kind(), ErrorKind::NotFound);
    for error in [Journal::open(folder.path()).unwrap_err(), read_error(folder.path())] {
        assert!(matches!(error, JournalError::NotAFile { .. }), "{error}");
    }
}

#[test]
#[cfg(unix)]
fn devices_and_pipes_are_refused_at_once() {
    let error = Journal::open("/dev/full").unwrap_err();
    assert!(matches!(error, JournalError::NotAFile { .. }), "{error}");
    let folder = folder();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped in part: mkfifo is missing");
        return;
    }
    let error = read_error(&pipe);
    assert!(matches!(error, JournalError::NotAFile { .. }), "{error}");
}

#[test]
fn a_place_that_takes_no_file_is_an_error() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for place in [file.join("run.journal"), folder.path().join("no/such/run.journal")] {
        let error = Journal::create(&place).unwrap_err();
        assert!(matches!(error, JournalError::Unusable { operation: "create", .. }), "{error}");
        assert!(error.to_string().contains("run.journal"), "{error}");
    }
    assert!(Journal::create("").is_err());
}

#[test]
fn one_writer_at_a_time_and_any_reader() {
    let entries = arrivals(3);
    let folder = folder();
    let path = folder.path().join("run.journal");
    let mut journal = Journal::create(&path).unwrap();
    journal.append(&entries[..2]).unwrap();
    let error = Journal::open(&path).unwrap_err();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    assert!(error.to_string().contains("wait until it is done"), "{error}");
    assert_eq!(Journal::read(&path).unwrap().ledger, ledger_of(&entries[..2]));
    journal.append(&entries[2..]).unwrap();
    drop(journal);
    assert_eq!(Journal::open(&path).unwrap().1.ledger, ledger_of(&entries));
}

#[test]
fn an_entry_that_does_not_follow_is_refused_and_the_journal_goes_on() {
    let entries = arrivals(4);
    let folder = folder();
    let path = folder.path().join("run.journal");
    let mut journal = Journal::create(&path).unwrap();
    journal.append(&entries[..2]).unwrap();
    let before = fs::read(&path).unwrap();
    let foreign = next(&opening("z"), entries[2].body.clone());
    let mut forged = entries[2].as_ref().clone();
    forged.body = entries[3].body.clone();
    let groups = [
        vec![entries[3].clone()],
        vec![entries[1].clone()],
        vec![entries[2].clone(), entries[2].clone()],
        vec![entries[2].clone(), foreign],
        vec![forged.into()],
        vec![opening("a")],
    ];
    for group in groups {
        let error = journal.append(&group).unwrap_err();
        let JournalError::NotNext { source, .. } = &error else { panic!("{error}") };
        let chain = matches!(source, LedgerError::BrokenChain { .. });
        assert!(chain || *source == LedgerError::OpenedAgain { seq: 2 }, "{error}");
        assert_eq!((journal.entries(), fs::read(&path).unwrap()), (2, before.clone()));
    }
    journal.append(&entries[2..]).unwrap();
    assert_eq!(Journal::read(&path).unwrap().ledger, ledger_of(&entries));
}

#[test]
fn an_entry_that_is_too_large_is_refused() {
    let text = "x".repeat(MAX_ENTRY_BYTES as usize);
    let entries = tellings([text.as_str()]);
    let folder = folder();
    let path = folder.path().join("run.journal");
    let mut journal = Journal::create(&path).unwrap();
    let error = journal.append(&entries).unwrap_err();
    assert!(matches!(error, JournalError::TooLarge { entry: 1, .. }), "{error}");
    assert_eq!(Journal::read(&path).unwrap().ledger, Ledger::default());
    journal.append(&entries[..1]).unwrap();
    assert_eq!(Journal::read(&path).unwrap().ledger, ledger_of(&entries[..1]));
}

/// A file without a name takes writes as if nothing had happened.
#[test]
#[cfg(unix)]
fn a_vanished_or_replaced_file_acknowledges_nothing() {
    let entries = arrivals(3);
    let removed = |path: &std::path::Path| fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let replaced = |path: &std::path::Path| {
        fs::rename(path, path.with_extension("old")).unwrap();
        fs::write(path, "").unwrap();
    };
    let ways: [&dyn Fn(&std::path::Path); 2] = [&removed, &replaced];
    for vanish in ways {
        let folder = folder();
        let path = folder.path().join("runs/run.journal");
        fs::create_dir(path.parent().unwrap()).unwrap();
        let mut journal = Journal::create(&path).unwrap();
        journal.append(&entries[..1]).unwrap();
        vanish(&path);
        let error = journal.append(&entries[1..2]).unwrap_err();
        assert!(matches!(error, JournalError::Vanished { .. }), "{error}");
        let error = journal.append(&entries[1..2]).unwrap_err();
        assert!(matches!(error, JournalError::Poisoned { entries: 1, .. }), "{error}");
        assert_eq!(journal.entries(), 1);
        let old = path.with_extension("old");
        if old.exists() {
            assert_eq!(Journal::read(&old).unwrap().ledger, ledger_of(&entries[..1]));
        }
    }
}

fn read_error(path: &std::path::Path) -> JournalError {
    Journal::read(path).expect_err("there is no journal")
}
