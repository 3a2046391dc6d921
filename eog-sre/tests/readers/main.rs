//! Arbitrary input to the readers of other crates: bundles, ledgers, journals. The readers of
//! snapshots have their tests in `snapshots`.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its input must stop")]

#[path = "../../../fuzz/replay.rs"]
mod replay;

mod bundle;
mod journal;
mod ledger;

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A file of the workspace.
fn file(path: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// The bytes with some of them changed and perhaps the end cut off.
fn harmed(bytes: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let mark = select(b"\"\n,{}[]:0\xff".to_vec());
    let changes = vec((any::<Index>(), prop_oneof![mark, any::<u8>()]), 0..4);
    (changes, proptest::option::of(any::<Index>())).prop_map(move |(changes, cut)| {
        let mut bytes = bytes.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len() + 1)));
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_breaks_the_reader_of_bundles(
        (at, bytes) in (0..bundle::FILES.len()).prop_flat_map(|at| {
            let name = bundle::FILES[at];
            let whole = match name {
                "spans.csv" => b"time,entity,duration_ms,status\n2026-03-20T12:00:00Z,gateway,1,ok\n".to_vec(),
                other => file(&format!("examples/flash-sale/{other}")),
            };
            (Just(at), prop_oneof![4 => harmed(whole), 1 => vec(any::<u8>(), 0..200)])
        })
    ) {
        let folder = tempfile::tempdir().unwrap();
        for name in bundle::FILES.iter().filter(|name| **name != "spans.csv") {
            fs::write(folder.path().join(name), file(&format!("examples/flash-sale/{name}"))).unwrap();
        }
        fs::write(folder.path().join(bundle::FILES[at]), bytes).unwrap();
        bundle::check(folder.path());
    }

    #[test]
    fn no_input_breaks_the_reader_of_ledgers(bytes in harmed(file("tests/golden/format-1/fork.jsonl"))) {
        ledger::check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_input_breaks_the_reader_of_journals(
        bytes in prop_oneof![
            4 => harmed(file("tests/golden/format-1/fork.journal")),
            1 => vec(any::<u8>(), 0..200),
        ]
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.journal");
        fs::write(&path, bytes).unwrap();
        journal::check(&path);
    }
}

#[test]
fn corpora_of_the_targets_are_read() {
    replay::replay("bundle", bundle::check_bytes);
    replay::replay("ledger", |bytes| ledger::check(&String::from_utf8_lossy(bytes)));
    replay::replay("journal", journal::check_bytes);
}
