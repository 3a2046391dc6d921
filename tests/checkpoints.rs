//! The engine with checkpoints beside its journal: written on the way, used when they fit, and
//! ignored when they do not.

use std::path::{Path, PathBuf};

use eog::controller::{Checkpoint, EntryBody};
use eog::journal::{read_checkpoint, write_checkpoint};
use eog::ledger::RestoreError;
use eog::{Case, Config, Digest, Engine, Entry, Finished, Journal, Ledger};
use eog_testkit::{MemoryContext, Recorder, healthy, policy_fn, seeded, topology};

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

fn case() -> Case {
    seeded(topology(""), NAMES)
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.journal");
    (folder, path)
}

/// A whole run with a checkpoint after every entry, as far as a quarter of all allows.
async fn run(path: &Path, case: Case) -> Finished {
    let journal = Journal::create(path).expect("it is new").checkpoint_every(1);
    let engine = Engine::new(MemoryContext::default(), policy_fn(healthy)).with_journal(journal);
    engine.investigate(Config::default(), case).await
}

fn checkpoint(path: &Path) -> Checkpoint {
    let bytes = read_checkpoint(path).expect("there is one");
    serde_json::from_slice(&bytes).expect("it is a checkpoint")
}

/// A journal with a part of a ledger and nothing beside it.
fn journal_of(path: &Path, entries: &[std::sync::Arc<Entry>]) {
    Journal::create(path).expect("it is new").append(entries).expect("there is room");
}

/// Goes on with a journal. Returns how it ended and who was asked about.
async fn go_on(path: &Path) -> Result<(Finished, Vec<String>), RestoreError> {
    let (journal, recovered) = Journal::open(path).expect("it is whole");
    let policy = Recorder::new(policy_fn(healthy));
    let engine = Engine::new(MemoryContext::default(), &policy).with_journal(journal);
    let ended = engine.resume(&recovered.ledger).await?;
    let asked = policy.asked().iter().map(ToString::to_string).collect();
    Ok((ended, asked))
}

#[tokio::test]
async fn one_is_written_on_the_way_and_names_its_place() {
    let (_folder, path) = folder();
    let ended = run(&path, case()).await;
    let checkpoint = checkpoint(&path);
    let entries = ended.ledger().entries();
    assert_eq!(entries[checkpoint.entries() as usize - 1].hash, checkpoint.head());
    let tail = entries.len() - checkpoint.entries() as usize;
    assert!(tail <= entries.len() / 4, "the last {tail} entries are not in it");
}

#[tokio::test]
async fn a_short_journal_has_none_unless_asked() {
    let (_folder, path) = folder();
    let journal = Journal::create(&path).expect("it is new");
    let engine = Engine::new(MemoryContext::default(), policy_fn(healthy)).with_journal(journal);
    engine.investigate(Config::default(), case()).await;
    assert_eq!(read_checkpoint(&path), None);
}

#[tokio::test]
async fn going_on_from_one_gives_the_same_ledger() {
    let (_folder, path) = folder();
    let whole = run(&path, case()).await;
    let taken = checkpoint(&path);
    let payload = read_checkpoint(&path).expect("there is one");
    for end in taken.entries()..=whole.ledger().next_seq() {
        let (_folder, path) = folder();
        journal_of(&path, &whole.ledger().entries()[..end as usize]);
        write_checkpoint(&path, &payload).expect("there is room");
        let (ended, asked) = go_on(&path).await.expect("it follows");
        assert_eq!(ended.ledger(), whole.ledger());
        assert_eq!(asked, NAMES[end as usize - 1..], "what was answered is not asked again");
    }
}

/// An entry with a forged answer does not follow. Deriving it finds out; trusting a checkpoint
/// after it does not.
#[tokio::test]
async fn what_stands_before_one_is_not_derived_again() {
    let (_folder, path) = folder();
    let whole = run(&path, case()).await;
    let forged = forged(whole.ledger());
    let taken = checkpoint(&path);
    let head = forged.entries()[taken.entries() as usize - 1].hash;
    let payload = resealed(&taken, head);

    let (_folder, path) = folder();
    journal_of(&path, forged.entries());
    assert!(matches!(go_on(&path).await, Err(RestoreError::Differs { seq: 1, .. })));
    write_checkpoint(&path, payload.as_bytes()).expect("there is room");
    let (ended, asked) = go_on(&path).await.expect("it is trusted");
    assert_eq!((ended.ledger(), asked.len()), (&forged, 0));
}

#[tokio::test]
async fn those_that_do_not_fit_are_ignored() {
    let (_folder, path) = folder();
    let whole = run(&path, case()).await;
    let own = read_checkpoint(&path).expect("there is one");
    let (_folder, other) = folder();
    run(&other, seeded(topology("a calls b"), NAMES)).await;
    let of_another = read_checkpoint(&other).expect("there is one");
    let taken = checkpoint(&path).entries() as usize;
    let broken = [&own[..own.len() / 2], b"{}", b"", b"\xff"];
    for payload in broken.into_iter().chain([own.as_slice(), of_another.as_slice()]) {
        // Cut back, the journal has fewer entries than its own checkpoint stands for.
        let (_folder, path) = folder();
        journal_of(&path, &whole.ledger().entries()[..taken - 1]);
        write_checkpoint(&path, payload).expect("there is room");
        let (ended, asked) = go_on(&path).await.expect("it follows");
        assert_eq!(ended.ledger(), whole.ledger());
        assert_eq!(asked, NAMES[taken - 2..]);
    }
    // The file itself is cut short.
    let (_folder, path) = folder();
    journal_of(&path, whole.ledger().entries());
    write_checkpoint(&path, &own).expect("there is room");
    let file = path.with_extension("journal.checkpoint");
    let bytes = std::fs::read(&file).expect("it is there");
    std::fs::write(&file, &bytes[..bytes.len() - 1]).expect("there is room");
    let (ended, asked) = go_on(&path).await.expect("it follows");
    assert_eq!((ended.ledger(), asked.len()), (whole.ledger(), 0));
}

#[tokio::test]
async fn one_that_cannot_be_written_stops_nothing() {
    let (_folder, path) = folder();
    std::fs::create_dir(path.with_extension("journal.checkpoint")).expect("there is room");
    let ended = run(&path, case()).await;
    assert!(ended.journal_error.is_none());
    assert_eq!(&Journal::read(&path).expect("it is whole").ledger, ended.ledger());
    assert_eq!(read_checkpoint(&path), None);
    let (again, asked) = go_on(&path).await.expect("it follows");
    assert_eq!((again.ledger(), asked.len()), (ended.ledger(), 0));
}

/// The ledger with one count changed in entry 1, and a chain that holds.
fn forged(ledger: &Ledger) -> Ledger {
    let mut forged = Ledger::default();
    for entry in ledger.entries() {
        let mut entry = Entry::clone(entry);
        if let (1, EntryBody::Evaluated(evaluation)) = (entry.seq, &mut entry.body) {
            evaluation.outcome.flips += 1;
        }
        entry.previous = forged.head();
        entry.hash = Digest::of(&(entry.seq, entry.previous, &entry.body));
        forged.push(entry).expect("the chain holds");
    }
    forged
}

/// The checkpoint as if it had been taken after an entry with this hash.
fn resealed(checkpoint: &Checkpoint, head: Digest) -> String {
    let text = serde_json::to_string(checkpoint).expect("a checkpoint is JSON");
    let (_, state) = text.split_once(",\"state\":").expect("it has a state");
    let state = state.strip_suffix('}').expect("it ends there");
    let entries = checkpoint.entries();
    let digest = blake3::hash(format!("[2,{entries},\"{head}\",{state}]").as_bytes()).to_hex();
    format!(
        "{{\"format\":2,\"entries\":{entries},\"head\":\"{head}\",\"digest\":\"{digest}\",\
         \"state\":{state}}}"
    )
}
