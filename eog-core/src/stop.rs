//! Why an investigation ends.

use serde::{Deserialize, Serialize};

use crate::budget::BudgetKind;

/// Why an investigation ended. Data, never an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Nothing is active any more.
    Converged {
        /// Activations refused because the entity was damped, had used its visits, or was one
        /// too many.
        refused_wakes: u64,
    },
    /// A budget is used up while entities still wait.
    BudgetExhausted {
        /// Which one.
        which: BudgetKind,
    },
    /// Stopped by [`Input::Cancel`](crate::Input::Cancel).
    Cancelled,
    /// Stopped by [`Input::Deadline`](crate::Input::Deadline).
    Deadline,
}
