//! The engine with a journal: entry before effect, a journal that fails, and going on.

use eog::journal::JournalError;
use eog::{Config, Engine, Journal, Ledger, StopReason};
use eog_testkit::{MemoryContext, Recorder, assert_that, healthy, policy_fn, seeded, topology};

#[tokio::test]
async fn the_journal_holds_what_the_ledger_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.journal");
    let journal = Journal::create(&path).expect("it is new");
    let case = seeded(topology("a calls b"), ["a", "b"]);
    let engine = Engine::new(MemoryContext::default(), policy_fn(healthy)).with_journal(journal);
    let ended = engine.investigate(Config::default(), case).await;
    assert!(ended.journal_error.is_none());
    assert_eq!(&Journal::read(&path).expect("it is whole").ledger, ended.ledger());
}

#[tokio::test]
async fn nothing_follows_from_an_entry_that_was_not_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.journal");
    let journal = Journal::create(&path).expect("it is new");
    let gone = path.clone();
    let policy = Recorder::new(policy_fn(move |packet| {
        // The folder is cleared while the first entity is judged.
        let _ = std::fs::remove_file(&gone);
        healthy(packet)
    }));
    let case = seeded(topology(""), ["a", "b", "c"]);
    let engine = Engine::new(MemoryContext::default(), &policy).with_journal(journal);
    let ended = engine.investigate(Config::default(), case).await;
    assert_eq!(ended.stop, StopReason::Cancelled);
    assert!(matches!(ended.journal_error, Some(JournalError::Vanished { .. })));
    assert_eq!(policy.asked(), ["a"], "b is not asked: what led to it is not stored");
}

#[tokio::test]
async fn going_on_asks_only_what_is_missing() {
    let case = seeded(topology(""), ["a", "b", "c"]);
    let engine = Engine::new(MemoryContext::default(), policy_fn(healthy));
    let whole = engine.investigate(Config::default(), case).await;
    let mut part = Ledger::default();
    for entry in &whole.ledger().entries()[..2] {
        part.push(eog::Entry::clone(entry)).expect("it follows");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.journal");
    let mut journal = Journal::create(&path).expect("it is new");
    journal.append(part.entries()).expect("there is room");

    let policy = Recorder::new(policy_fn(healthy));
    let engine = Engine::new(MemoryContext::default(), &policy).with_journal(journal);
    let ended = engine.resume(&part).await.expect("it follows");
    assert_that(&ended).evaluated(["a", "b", "c"]).is_intact();
    assert_eq!(policy.asked(), ["b", "c"]);
    assert_eq!(ended.ledger(), whole.ledger());
    assert_eq!(&Journal::read(&path).expect("it is whole").ledger, whole.ledger());
}
