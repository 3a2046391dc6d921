//! No acknowledged entry is lost, and no acknowledged answer of a call outside the loop.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Checked, Finding};
use crate::sim::simulation::answering::Happening;
use crate::sim::simulation::history::{Held, History, Life};

/// What each process finds begins with all that was ever acknowledged before it.
pub(super) fn check(history: &History) -> Checked {
    history.lives().try_for_each(check_life)
}

fn check_life(life: &Life) -> Checked {
    let mut entries: Vec<Arc<eog::Entry>> = Vec::new();
    let mut answers: BTreeSet<(String, u64)> = BTreeSet::new();
    for (number, process) in life.processes.iter().enumerate() {
        if let Some(found) = &process.found {
            compare(life, number, found, &entries, &answers)?;
            // What was not acknowledged may have been stored all the same.
            entries = found.ledger.entries().to_vec();
        }
        entries.extend(process.stored().cloned());
        answers.extend(process.happened.iter().filter_map(|happening| match happening {
            Happening::OutsideUsed(name, answer) => Some(((*name).to_owned(), *answer)),
            _ => None,
        }));
    }
    match &life.left {
        Ok(left) => compare(life, life.processes.len(), left, &entries, &answers),
        // `always_goes_on` reports.
        Err(_) => Ok(()),
    }
}

fn compare(
    life: &Life,
    number: usize,
    found: &Held,
    entries: &[Arc<eog::Entry>],
    answers: &BTreeSet<(String, u64)>,
) -> Checked {
    let kept = found.ledger.entries();
    let alike = kept.iter().zip(entries).take_while(|(kept, known)| kept == known).count();
    if alike < entries.len() {
        let expected = format!("all {} acknowledged entries in the journal", entries.len());
        let found = format!("{} entries, the first {alike} of them as acknowledged", kept.len());
        return Err(Finding::in_process(life, number, expected, found));
    }
    if let Some((name, _)) = answers.difference(&found.outside).next() {
        let expected = format!("the acknowledged answer of the call {name:?} in the side file");
        return Err(Finding::in_process(life, number, expected, "none, or another"));
    }
    Ok(())
}
