//! Changed bytes: named by entry and place, never skipped, never cut off.

use eog::Entry;
use eog::journal::JournalError;

use crate::making::{
    FRAME, HEADER, arrivals, bytes_of, ends, ledger_of, next, opened_from, opening, payload,
};

/// Fails unless opening names this entry, at its place.
#[track_caller]
fn assert_damaged(bytes: &[u8], number: usize, place: usize) -> String {
    match opened_from(bytes) {
        Err(JournalError::Damaged { entry, offset, reason, .. }) => {
            assert_eq!((entry, offset), (number as u64, place as u64), "{reason}");
            reason
        }
        other => panic!("expected damage of entry {number}, got {other:?}"),
    }
}

#[test]
fn every_flipped_bit_is_found() {
    let entries = arrivals(3);
    let (bytes, ends) = (bytes_of(&entries), ends(&entries));
    let last = entries.len() - 1;
    for position in 0..bytes.len() {
        // All bits where each has a meaning of its own, three bits of text.
        let frame = ends.iter().rposition(|end| *end <= position);
        let in_text = frame.is_some_and(|frame| position >= ends[frame] + FRAME);
        for bit in if in_text { vec![0, 5, 7] } else { (0..8).collect() } {
            let mut flipped = bytes.clone();
            flipped[position] ^= 1 << bit;
            let place = format!("bit {bit} of byte {position}");
            match (opened_from(&flipped), frame) {
                (Err(JournalError::NotAJournal { .. }), None) => assert!(position < 8, "{place}"),
                (Err(JournalError::UnknownVersion { version, .. }), None) => {
                    assert!(position >= 8 && version != 1, "{place}");
                }
                (Err(JournalError::Damaged { entry, offset, .. }), Some(frame)) => {
                    assert_eq!((entry, offset), (frame as u64, ends[frame] as u64), "{place}");
                }
                (Ok((recovered, _)), Some(frame)) => {
                    assert_eq!(frame, last, "{place}: an entry in the middle was cut off");
                    assert_eq!(recovered.ledger, ledger_of(&entries[..last]), "{place}");
                    assert_eq!(recovered.cut.map(|cut| cut.after), Some(last as u64), "{place}");
                }
                (other, _) => panic!("{place}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_length_that_swallows_the_next_entries_cuts_nothing() {
    let entries = arrivals(4);
    let (bytes, ends) = (bytes_of(&entries), ends(&entries));
    // To the end of the next entry, to the end of the file, beyond it, and one byte into the next.
    let own = ends[2] - ends[1] - FRAME;
    for length in [ends[3] - ends[1] - FRAME, bytes.len() - ends[1] - FRAME, 1 << 20, own + 1] {
        let mut changed = bytes.clone();
        changed[ends[1]..ends[1] + 4].copy_from_slice(&(length as u32).to_le_bytes());
        assert_damaged(&changed, 1, ends[1]);
        // A second fault at the end does not hide it.
        assert_damaged(&changed[..ends[3] + FRAME + 40], 1, ends[1]);
        assert_damaged(&[changed.as_slice(), &[0; 5000]].concat(), 1, ends[1]);
    }
}

#[test]
fn a_hole_in_the_middle_is_damage() {
    let entries = arrivals(4);
    let (bytes, ends) = (bytes_of(&entries), ends(&entries));
    let mut hollow = bytes;
    hollow[ends[1]..ends[2]].fill(0);
    assert_eq!(assert_damaged(&hollow, 1, ends[1]), "its length is impossible");
}

#[test]
fn whole_entries_in_another_order_are_damage() {
    let entries = arrivals(4);
    let (bytes, ends) = (bytes_of(&entries), ends(&entries));
    let frame = |number: usize| &bytes[ends[number]..ends[number + 1]];
    let head = &bytes[..HEADER];
    let swapped = [head, frame(0), frame(2), frame(1), frame(3)].concat();
    assert!(assert_damaged(&swapped, 1, ends[1]).contains("breaks the chain"));
    let missing = [head, frame(0), frame(1), frame(3)].concat();
    assert_damaged(&missing, 2, ends[2]);
    let twice = [head, frame(0), frame(1), frame(1)].concat();
    assert_damaged(&twice, 2, ends[2]);
}

#[test]
fn an_entry_of_another_ledger_is_damage() {
    let entries = arrivals(3);
    let (bytes, ends) = (bytes_of(&entries), ends(&entries));
    let other = next(&opening("z"), entries[1].body.clone());
    for foreign in [&*other, &*opening("z")] {
        assert_damaged(&[&bytes, frame_of(foreign).as_slice()].concat(), 3, ends[3]);
    }
}

#[test]
fn appended_garbage_is_never_an_entry() {
    let entries = arrivals(2);
    let (bytes, ends) = (bytes_of(&entries), ends(&entries));
    for garbage in ["garbage\n", "x"] {
        // Too short for a frame: as good as an interrupted write.
        let (recovered, _) = opened_from(&[&bytes, garbage.as_bytes()].concat()).unwrap();
        assert_eq!(recovered.ledger, ledger_of(&entries));
        assert_eq!(recovered.cut.map(|cut| cut.bytes), Some(garbage.len() as u64));
    }
    for garbage in ["a whole line that was written into the file\n", "\u{1}\0\0\0 and so on, on"] {
        assert_damaged(&[&bytes, garbage.as_bytes()].concat(), 2, ends[2]);
    }
}

#[test]
fn a_payload_that_is_no_entry_is_damage_though_its_checksum_fits() {
    let entries = arrivals(2);
    let (bytes, ends) = (bytes_of(&entries), ends(&entries));
    let good = String::from_utf8(payload(&arrivals(3)[2])).unwrap();
    for payload in ["{}", "null", &good.replacen(':', ": ", 1), &good.replace("e2", "e3")] {
        let changed = [&bytes, framed(payload.as_bytes()).as_slice()].concat();
        assert_damaged(&changed, 2, ends[2]);
    }
    let same = [&bytes, framed(good.as_bytes()).as_slice()].concat();
    assert_eq!(opened_from(&same).unwrap().0.ledger, ledger_of(&arrivals(3)));
}

#[test]
fn formats_of_the_future_are_named() {
    let later = [b"eog-jrnl\x02\0\0\0".as_slice(), b"whatever this is"].concat();
    let error = opened_from(&later).unwrap_err();
    assert!(matches!(error, JournalError::UnknownVersion { version: 2, .. }), "{error}");

    let text = String::from_utf8(payload(&opening("a"))).unwrap();
    let ledger = framed(text.replacen("\"format\":1", "\"format\":7", 1).as_bytes());
    let error = opened_from(&[bytes_of(&[]), ledger].concat()).unwrap_err();
    assert!(matches!(error, JournalError::UnknownFormat { format: 7, .. }), "{error}");

    for foreign in
        ["{\"seq\":0}\n", "PK\u{3}\u{4}", "eog-jrnX\u{1}\0\0\0", "\0\0\0\0\0\0\0\0\0\0\0\0\0"]
    {
        let error = opened_from(foreign.as_bytes()).unwrap_err();
        assert!(matches!(error, JournalError::NotAJournal { .. }), "{foreign:?}: {error}");
    }
}

#[test]
fn damage_says_what_to_do() {
    let entries = arrivals(3);
    let (mut bytes, ends) = (bytes_of(&entries), ends(&entries));
    bytes[ends[1] + FRAME + 30] ^= 1;
    let said = opened_from(&bytes).unwrap_err().to_string();
    let advice = format!("go on from a copy cut to {} bytes", ends[1]);
    assert!(said.contains("damaged at entry 1") && said.contains(&advice), "{said}");
    // The advice works.
    assert_eq!(opened_from(&bytes[..ends[1]]).unwrap().0.ledger, ledger_of(&entries[..1]));
}

fn frame_of(entry: &Entry) -> Vec<u8> {
    framed(&payload(entry))
}

fn framed(payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
    let digest = blake3::hash(&[length.as_slice(), payload].concat());
    [length.as_slice(), &digest.as_bytes()[..8], payload].concat()
}
