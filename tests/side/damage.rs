//! Interrupted writes are cut off; everything else that is wrong is named and left as it is.

use std::fs;

use eog::side::{Durability, SideCut, SideError, SideFile, SideRecords};

use crate::making::{bytes_of, file_of, records};

/// Opens a file of these bytes twice; what it holds, and its bytes afterwards.
fn opened_from(bytes: &[u8]) -> Result<(SideRecords, Vec<u8>), SideError> {
    let (_folder, journal, path) = file_of(bytes);
    let read = SideFile::read(&path);
    assert_eq!(fs::read(&path).unwrap(), bytes, "reading changed the file");
    match SideFile::beside(&journal) {
        Ok((side, found)) => {
            assert_eq!(read.unwrap(), found);
            drop(side);
            let (_, again) = SideFile::beside(&journal).unwrap();
            assert_eq!((&again.records, again.cut), (&found.records, None));
            Ok((found, fs::read(&path).unwrap()))
        }
        Err(error) => {
            assert_eq!(read.unwrap_err().to_string(), error.to_string());
            assert_eq!(fs::read(&path).unwrap(), bytes, "a failed opening changed the file");
            Err(error)
        }
    }
}

fn damaged(bytes: &[u8]) -> (u64, String) {
    match opened_from(bytes) {
        Err(SideError::Damaged { line, reason, .. }) => (line, reason),
        other => panic!("expected damage, got {other:?}"),
    }
}

#[test]
fn every_prefix_opens_with_its_whole_lines_and_goes_on() {
    let records = records();
    let bytes = bytes_of(&records);
    for length in 0..=bytes.len() {
        for zeros in [0, 1, 5000] {
            let whole = bytes[..length].iter().filter(|byte| **byte == b'\n').count();
            if whole == 0 && zeros > 0 && length > 0 {
                // Nothing is lost with it, but it is not certain that it is ours.
                continue;
            }
            let torn = [&bytes[..length], &vec![0; zeros]].concat();
            if length == 0 && zeros == 5000 {
                let error = opened_from(&torn).unwrap_err();
                assert!(matches!(error, SideError::NotASideFile { .. }), "{error}");
                continue;
            }
            let (found, after) = opened_from(&torn).unwrap();
            let place = format!("{length} bytes and {zeros} zeros");
            let kept = bytes[..length].iter().rposition(|byte| *byte == b'\n').map_or(0, |n| n + 1);
            assert_eq!(found.records, records[..whole.saturating_sub(1)], "{place}");
            let lost = (torn.len() - kept) as u64;
            let expected = (lost > 0).then_some(SideCut { line: whole as u64 + 1, bytes: lost });
            assert_eq!(found.cut, expected, "{place}");
            let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
            assert_eq!(after, bytes[..kept.max(header)], "{place}");
        }
    }
}

#[test]
fn what_follows_a_cut_is_read_again() {
    let records = records();
    let bytes = bytes_of(&records);
    let (_folder, journal, path) = file_of(&bytes[..bytes.len() - 3]);
    let (mut side, _) = SideFile::beside(&journal).unwrap();
    side.append(&records[4..], Durability::Lazy).unwrap();
    assert_eq!(fs::read(path).unwrap(), bytes);
}

#[test]
fn a_bad_line_before_the_last_is_named_and_nothing_is_cut() {
    let text = String::from_utf8(bytes_of(&records())).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for bad in
        ["\n", "{\n", "nonsense\n", "\0\0\0\n", "{\"run\":{}}\n", "{\"unheard\":1}\n", "{}\n"]
    {
        for number in 1..lines.len() {
            let mut changed = lines.clone();
            changed[number] = bad;
            let torn = !bad.contains("\"") && bad != "{}\n" && number + 1 == lines.len();
            if torn {
                let cut = opened_from(changed.concat().as_bytes()).unwrap().0.cut;
                let bytes = bad.len() as u64;
                assert_eq!(cut, Some(SideCut { line: number as u64 + 1, bytes }), "{bad:?}");
            } else {
                let (line, reason) = damaged(changed.concat().as_bytes());
                assert_eq!(line, number as u64 + 1, "{bad:?}: {reason}");
            }
        }
    }
    let (_, reason) = damaged(text.replacen("\"calls\"", "\"more\":1,\"calls\"", 1).as_bytes());
    assert!(reason.contains("unknown field `more`"), "{reason}");
}

#[test]
fn damage_says_what_to_do() {
    let text = String::from_utf8(bytes_of(&records())).unwrap();
    let changed = text.replacen("{\"outside\"", "{outside\"", 1);
    let said = opened_from(changed.as_bytes()).unwrap_err().to_string();
    assert!(said.starts_with("line 3 of the side file /"), "{said}");
    assert!(said.contains("run.journal.side.jsonl cannot be used: key must be a string"), "{said}");
    assert!(said.contains("remove that line, or remove the file"), "{said}");
}

#[test]
fn a_line_without_end_costs_no_memory() {
    let bytes = bytes_of(&records());
    let long = vec![b'x'; eog::side::MAX_SIDE_LINE_BYTES as usize + 1];
    let (found, after) = opened_from(&[bytes.as_slice(), &long].concat()).unwrap();
    assert_eq!((found.records, after), (records(), bytes.clone()));
    assert_eq!(found.cut, Some(SideCut { line: 7, bytes: long.len() as u64 }));
    let (line, reason) = damaged(&[bytes.as_slice(), &long, b"\n"].concat());
    assert_eq!((line, reason.as_str()), (7, "it is longer than 16777216 bytes"));
}

#[test]
fn other_files_and_formats_are_refused() {
    let bytes = String::from_utf8(bytes_of(&records())).unwrap();
    let header = bytes.lines().next().unwrap();
    for other in ["mine\n", "mine", "{}\n", "\n", "\0\n", "{\"format\":1}\n", &bytes[1..]] {
        let error = opened_from(other.as_bytes()).unwrap_err();
        assert!(matches!(error, SideError::NotASideFile { .. }), "{other:?}: {error}");
    }
    let later = bytes.replacen("\"format\":1", "\"format\":2,\"new\":true", 1);
    let error = opened_from(later.as_bytes()).unwrap_err();
    assert!(matches!(error, SideError::UnknownFormat { format: 2, .. }), "{error}");
    assert!(header.starts_with("{\"format\":1,"), "{header}");

    let (_folder, journal, path) = file_of(b"");
    fs::remove_file(&path).unwrap();
    let error = SideFile::read(&path).unwrap_err();
    assert!(matches!(error, SideError::Unusable { operation: "open", .. }), "{error}");
    fs::create_dir(&path).unwrap();
    let error = SideFile::beside(&journal).unwrap_err();
    assert!(matches!(error, SideError::NotAFile { .. }), "{error}");
}
