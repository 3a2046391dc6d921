//! The bounds that the algorithm states, as numbers.

use super::{Checked, Finding};
use crate::bounds::check_bounds;
use crate::sim::simulation::history::History;

/// Every bound of [`Bound`](crate::Bound), in each life.
pub(super) fn check(history: &History) -> Checked {
    // The healed life takes its first entries from another one, with other rules.
    let lives = history.lives().filter(|life| life.name != history.healed.name);
    for life in lives {
        let Some((controller, _)) = life.last() else { continue };
        check_bounds(controller.ledger()).map_err(|broken| {
            let expected = format!("at most {} {}", broken.allowed, broken.what);
            Finding::of(life, expected, broken.to_string())
        })?;
    }
    Ok(())
}
