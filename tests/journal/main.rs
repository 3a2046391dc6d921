//! The journal: a ledger on disk. Real files in temporary folders.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod checkpoint;
mod crash;
mod damage;
mod making;
mod model;
mod refusing;
mod simulated;
mod torn;

use std::fs;

use eog::{Config, Controller, Journal, Ledger};
use eog_testkit::{MemoryContext, case, healthy, origin, run, seeded, topology};
use making::{arrivals, bytes_of, folder, ledger_of, payload};

#[test]
fn what_was_written_is_read() {
    let entries = arrivals(5);
    let folder = folder();
    let path = folder.path().join("run.journal");
    let mut journal = Journal::create(&path).unwrap();
    assert_eq!((journal.entries(), journal.path()), (0, path.as_path()));
    journal.append(&entries[..1]).unwrap();
    journal.append::<eog::controller::EntryBody>(&[]).unwrap();
    journal.append(&entries[1..]).unwrap();
    assert_eq!(journal.entries(), 5);
    drop(journal);

    let read = Journal::read(&path).unwrap();
    assert_eq!((&read.ledger, read.cut), (&ledger_of(&entries), None));
    let (journal, opened) = Journal::open(&path).unwrap();
    assert_eq!((journal.entries(), &opened), (5, &read));
}

#[test]
fn an_empty_journal_has_no_entries() {
    let folder = folder();
    let path = folder.path().join("run.journal");
    drop(Journal::create(&path).unwrap());
    let read = Journal::read(&path).unwrap();
    assert_eq!((read.ledger, read.cut), (Ledger::default(), None));
    assert_eq!(fs::read(&path).unwrap(), b"eog-jrnl\x01\0\0\0");
}

/// The bytes that `docs/embedding.md` describes, put together by hand.
#[test]
fn the_bytes_are_the_documented_ones() {
    let entries = arrivals(3);
    let mut expected = b"eog-jrnl\x01\0\0\0".to_vec();
    for line in ledger_of(&entries).to_json_lines().lines() {
        let length = (line.len() as u32).to_le_bytes();
        let digest = eog_digest(&[length.as_slice(), line.as_bytes()].concat());
        expected.extend(length);
        expected.extend(&digest[..8]);
        expected.extend(line.as_bytes());
    }
    assert_eq!(bytes_of(&entries), expected);
}

fn eog_digest(bytes: &[u8]) -> [u8; 32] {
    *blake3::hash(bytes).as_bytes()
}

/// A whole investigation, with evaluations, contexts and answers from memory.
#[test]
fn an_investigation_goes_on_from_its_journal() {
    let case = seeded(topology("a calls b; b calls c"), ["a", "b", "c"]);
    let policy = eog_testkit::policy_fn(|packet| match packet.entity.as_str() {
        "c" => origin(packet),
        _ => healthy(packet),
    });
    let ended = run(Config::default(), case, &MemoryContext::default(), &policy);
    let ledger = ended.machine.ledger();
    assert!(ledger.evaluations().count() >= 3, "the investigation is too small");

    let folder = folder();
    let path = folder.path().join("run.journal");
    let mut journal = Journal::create(&path).unwrap();
    journal.append(ledger.entries()).unwrap();
    let recovered = Journal::read(&path).unwrap().ledger;
    assert_eq!(&recovered, ledger);
    let restored = Controller::restore(&recovered).unwrap();
    assert_eq!(restored.ledger(), ledger);
}

/// Telemetry is untrusted: no text of it may look like the bytes of a journal.
#[test]
fn texts_that_look_like_entries_are_texts() {
    let mut alert = eog_testkit::alert("db", "Slow", "10:05");
    alert.description = "\0\0\0\0{\"seq\":1,\"previous\":\"\u{1}\n".repeat(3);
    let controller = Controller::new(Config::default(), case(topology("db"), [alert]));
    let entries = controller.ledger().entries();
    assert!(payload(&entries[0]).len() > 100);
    let bytes = bytes_of(entries);
    let (recovered, _) = making::opened_from(&bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(recovered.cut.map(|cut| cut.after), Some(0), "torn, not damaged");
}
