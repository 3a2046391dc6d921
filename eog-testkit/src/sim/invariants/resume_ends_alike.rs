//! A run that is interrupted and resumed ends with the bytes of one that never was.

use super::{Checked, Finding};
use crate::sim::simulation::history::{History, Life};

/// Crashes at drawn places, and the end of the journal at every offset that matters.
pub(super) fn check(history: &History) -> Checked {
    compare(&history.straight, &history.crashing)?;
    history.cuts.iter().try_for_each(|cut| compare(&history.straight, cut))
}

/// Two lives that must end with the same bytes.
pub(super) fn compare(straight: &Life, other: &Life) -> Checked {
    let (Some(expected), Some(found)) = (straight.bytes(), other.bytes()) else { return Ok(()) };
    if expected == found {
        return Ok(());
    }
    let differing =
        expected.lines().zip(found.lines()).take_while(|(one, other)| one == other).count();
    let line = |text: &str| match text.lines().nth(differing) {
        Some(line) => line.chars().take(600).collect(),
        None => "nothing".to_owned(),
    };
    let expected =
        format!("the bytes of the straight life; entry {differing}: {}", line(&expected));
    Err(Finding::of(other, expected, line(&found)))
}
