//! Interrupted writes: the tail goes, every whole entry stays, and the journal goes on.

use std::fs;

use eog::Journal;
use eog::journal::CutTail;

use crate::making::{HEADER, arrivals, bytes_of, continued, ends, folder, ledger_of, opened_from};

#[test]
fn every_prefix_opens_and_goes_on() {
    let entries = arrivals(3);
    let (bytes, ends) = (bytes_of(&entries), ends(&entries));
    assert_eq!(bytes.len(), ends[3]);
    let folder = folder();
    let path = folder.path().join("run.journal");
    for length in 0..=bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let whole = ends.iter().filter(|end| **end <= length).count().saturating_sub(1);
        let kept = if length < HEADER { 0 } else { ends[whole] };
        let read = Journal::read(&path).unwrap();
        assert_eq!(read.ledger, ledger_of(&entries[..whole]), "of {length} bytes");
        let bytes_cut = (length - kept) as u64;
        let cut = (bytes_cut > 0).then_some(CutTail { after: whole as u64, bytes: bytes_cut });
        assert_eq!(read.cut, cut, "of {length} bytes");
        assert_eq!(continued(&path, &entries), ledger_of(&entries), "after {length} bytes");
        assert_eq!(fs::read(&path).unwrap(), bytes, "after {length} bytes");
    }
}

/// Some file systems set the length first and the content later.
#[test]
fn every_prefix_filled_up_with_zeros_keeps_its_whole_entries() {
    let entries = arrivals(3);
    let (bytes, ends) = (bytes_of(&entries), ends(&entries));
    for zeros in [1, 11, 12, 13, 70_000] {
        for length in HEADER..=bytes.len() {
            // All lengths with few zeros, and the places that matter with many.
            let near = ends.iter().any(|end| end.abs_diff(length) < 14);
            if zeros > 13 && !near {
                continue;
            }
            let filled = [&bytes[..length], &vec![0; zeros]].concat();
            let whole = ends.iter().filter(|end| **end <= length).count() - 1;
            let (recovered, _) = opened_from(&filled).unwrap();
            assert_eq!(recovered.ledger, ledger_of(&entries[..whole]), "{length} and {zeros}");
            let bytes = (filled.len() - ends[whole]) as u64;
            assert_eq!(recovered.cut, Some(CutTail { after: whole as u64, bytes }));
        }
    }
}

#[test]
fn a_file_without_a_whole_header_begins_anew() {
    for begun in [b"".as_slice(), b"eog", b"eog-jrnl\x01", &[0; 5], &[0; HEADER]] {
        let (recovered, bytes) = opened_from(begun).unwrap();
        assert!(recovered.ledger.entries().is_empty());
        assert_eq!(recovered.cut.map_or(0, |cut| cut.bytes), begun.len() as u64);
        assert_eq!(bytes, bytes_of(&[]));
    }
}

#[test]
fn a_cut_is_reported_in_one_sentence() {
    let entries = arrivals(3);
    let bytes = bytes_of(&entries);
    let (recovered, _) = opened_from(&bytes[..bytes.len() - 1]).unwrap();
    let cut = recovered.cut.unwrap();
    let expected = format!(
        "the journal ended in an interrupted write, so its last {} bytes were left out; the 2 \
         entries before are whole",
        cut.bytes
    );
    assert_eq!(cut.to_string(), expected);
}
