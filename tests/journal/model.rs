//! The journal against a plain list of entries, by random courses.

use std::fs;
use std::sync::Arc;

use eog::{Entry, Journal};
use proptest::prelude::*;

use crate::making::{bytes_of, ends, folder, ledger_of, tellings};

/// What happens to a journal.
#[derive(Clone, Debug)]
enum Step {
    /// The next entries are stored, as one group.
    Append(usize),
    /// It is closed and opened again.
    Reopen,
    /// It is closed, and the file ends in a part of the next entries, filled up with zeros.
    Interrupt { share: u16, zeros: usize },
    /// It is closed, and the file loses its end.
    Lose { share: u16 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..4_usize).prop_map(Step::Append),
        1 => Just(Step::Reopen),
        2 => (any::<u16>(), prop_oneof![Just(0), 1..9000_usize])
            .prop_map(|(share, zeros)| Step::Interrupt { share, zeros }),
        1 => any::<u16>().prop_map(|share| Step::Lose { share }),
    ];
    prop::collection::vec(step, 1..12)
}

fn entries() -> impl Strategy<Value = Vec<Arc<Entry>>> {
    let text = prop_oneof![".{0,40}", "[\\x00-\\x1f\"\\\\{}:]{0,30}", "a{2000,9000}"];
    prop::collection::vec(text, 1..12).prop_map(|texts| tellings(texts.iter().map(String::as_str)))
}

/// A part of the range, from nothing to all of it.
fn part(share: u16, of: usize) -> usize {
    of * usize::from(share) / usize::from(u16::MAX)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_happens_the_whole_entries_stay(entries in entries(), steps in steps()) {
        let (bytes, ends) = (bytes_of(&entries), ends(&entries));
        let folder = folder();
        let path = folder.path().join("run.journal");
        let mut journal = Journal::create(&path).unwrap().without_fsync();
        // The model: how many of the entries are in.
        let mut stored = 0;
        for step in steps {
            let last = (stored + 3).min(entries.len());
            match step {
                Step::Append(count) => {
                    let until = (stored + count).min(entries.len());
                    journal.append(&entries[stored..until]).unwrap();
                    stored = until;
                    prop_assert_eq!(journal.entries(), stored as u64);
                    continue;
                }
                Step::Reopen => drop(journal),
                Step::Interrupt { share, zeros } => {
                    drop(journal);
                    let length = ends[stored] + part(share, ends[last] - ends[stored]);
                    fs::write(&path, [&bytes[..length], &vec![0; zeros]].concat()).unwrap();
                    stored = ends.iter().rposition(|end| *end <= length).unwrap();
                }
                Step::Lose { share } => {
                    drop(journal);
                    let length = ends[0] + part(share, ends[stored] - ends[0]);
                    fs::write(&path, &bytes[..length]).unwrap();
                    stored = ends.iter().rposition(|end| *end <= length).unwrap();
                }
            }
            let left_out = fs::metadata(&path).unwrap().len() - ends[stored] as u64;
            let (opened, recovered) = Journal::open(&path).unwrap();
            prop_assert_eq!(recovered.ledger, ledger_of(&entries[..stored]));
            prop_assert_eq!(recovered.cut.map_or(0, |cut| cut.bytes), left_out);
            journal = opened.without_fsync();
        }
        drop(journal);
        prop_assert_eq!(Journal::read(&path).unwrap().ledger, ledger_of(&entries[..stored]));
        prop_assert_eq!(fs::read(&path).unwrap(), &bytes[..ends[stored]]);
    }

    /// Bytes of any kind: an error or a part of the ledger, never a panic, never something else.
    #[test]
    fn no_change_makes_a_wrong_ledger(
        entries in entries(),
        position in any::<prop::sample::Index>(),
        patch in prop::collection::vec(any::<u8>(), 0..40),
        removed in 0..40_usize,
    ) {
        let mut bytes = bytes_of(&entries);
        let start = position.index(bytes.len());
        let end = (start + removed).min(bytes.len());
        bytes.splice(start..end, patch);
        let path = folder();
        let path = path.path().join("run.journal");
        fs::write(&path, &bytes).unwrap();
        if let Ok(read) = Journal::read(&path) {
            let whole = read.ledger.entries().len();
            prop_assert!(whole <= entries.len());
            prop_assert_eq!(read.ledger, ledger_of(&entries[..whole]));
            // Only the last write may be cut off.
            prop_assert!(whole + 1 >= entries.len() || whole == entries.len());
        }
    }
}
