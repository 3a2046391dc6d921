//! Entries, and the cluster that `.ci/nats` starts.

#![allow(dead_code, reason = "not every test needs all of it")]

pub(crate) mod stream;

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_nats::jetstream;
use eog::controller::{EntryBody, Observed};
use eog::journal::Medium;
use eog::ledger::Observation;
use eog::{Config, Controller, Digest, Entry, Journal};
use eog_nats::{Cluster, InvestigationId, Options};
use eog_testkit::{entity, seeded, topology};

/// Options for the cluster, each call with a prefix of its own. None where there is none.
pub(crate) fn options() -> Option<Options> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let Ok(url) = std::env::var("EOG_NATS_URL") else {
        eprintln!("skipped: EOG_NATS_URL names no cluster; .ci/nats starts one");
        return None;
    };
    let mut options = Options::new(url);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    options.prefix = format!("t{}-{count}", std::process::id());
    Some(options)
}

/// A cluster with streams of its own, on three replicas.
pub(crate) fn cluster() -> Option<(Cluster, Options)> {
    let options = options()?;
    let cluster = Cluster::prepare(&options, 3).expect("the cluster is up");
    Some((cluster, options))
}

/// Does something to the streams behind the back of the program.
pub(crate) fn behind<T>(options: &Options, what: impl AsyncFnOnce(jetstream::Context) -> T) -> T {
    let addresses: Vec<String> = options.url.split(',').map(str::to_owned).collect();
    runtime().block_on(async {
        what(jetstream::new(async_nats::connect(addresses).await.unwrap())).await
    })
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Runs a test of this program in a process of its own, with a variable that says what to do.
pub(crate) fn as_process(test: &str, variable: &str, value: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(variable, value)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub(crate) fn id(name: &str) -> InvestigationId {
    name.parse().expect("it is a name")
}

pub(crate) fn opening() -> Arc<Entry> {
    let case = seeded(topology("a"), ["a"]);
    Arc::clone(&Controller::new(Config::default(), case).ledger().entries()[0])
}

/// The entry after another one: word of an entity.
pub(crate) fn next(before: &Entry, word: &str) -> Arc<Entry> {
    let observation = Observation::NewEvidence(entity(word));
    let body = EntryBody::Observed(Box::new(Observed { observation, activations: vec![] }));
    let (seq, previous) = (before.seq + 1, before.hash);
    let hash = Digest::of(&(seq, previous, &body));
    Arc::new(Entry { seq, previous, hash, body })
}

/// An opening and then an entry for each word.
pub(crate) fn entries<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> Vec<Arc<Entry>> {
    let mut entries = vec![opening()];
    for word in words {
        entries.push(next(&entries[entries.len() - 1], word.as_ref()));
    }
    entries
}

/// The file that holds these entries.
pub(crate) fn file_of(entries: &[Arc<Entry>]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.journal");
    Journal::create(&path).unwrap().without_fsync().append(entries).unwrap();
    std::fs::read(&path).unwrap()
}

pub(crate) fn bytes_on(medium: &dyn Medium) -> Vec<u8> {
    let mut bytes = Vec::new();
    medium.reader().unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}
