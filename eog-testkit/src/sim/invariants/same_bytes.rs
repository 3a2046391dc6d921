//! The ledger does not depend on who answers first, or on what was asked ahead.

use super::Checked;
use super::resume_ends_alike::compare;
use crate::sim::simulation::history::History;

/// Other delays, other limits and speculation give the same bytes.
pub(super) fn check(history: &History) -> Checked {
    compare(&history.straight, &history.delayed)
}
