//! Evaluations are committed in dispatch order.

use super::{Checked, Finding};
use crate::sim::simulation::history::History;

/// Evaluations are numbered at dispatch and appended at commit: in a ledger, the numbers go up by
/// one.
pub(super) fn check(history: &History) -> Checked {
    for life in history.lives() {
        let Some((controller, _)) = life.last() else { continue };
        for (expected, evaluation) in (1..).zip(controller.ledger().evaluations()) {
            if evaluation.number != expected {
                let found = format!("evaluation {} of {}", evaluation.number, evaluation.entity);
                return Err(Finding::of(life, format!("evaluation {expected} next"), found));
            }
        }
    }
    Ok(())
}
