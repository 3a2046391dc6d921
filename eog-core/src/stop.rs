//! Why an investigation ends.

use std::fmt;

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

/// In a few words, such as `converged` or `stopped: token budget exhausted, entities still waiting`.
impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Converged { refused_wakes: 0 } => f.write_str("converged"),
            Self::Converged { refused_wakes: 1 } => f.write_str("converged, 1 activation refused"),
            Self::Converged { refused_wakes } => {
                write!(f, "converged, {refused_wakes} activations refused")
            }
            Self::BudgetExhausted { which } => {
                write!(f, "stopped: {which} budget exhausted, entities still waiting")
            }
            Self::Cancelled => f.write_str("interrupted, entities still waiting"),
            Self::Deadline => f.write_str("stopped: deadline reached, entities still waiting"),
        }
    }
}
