//! Explains entries of a ledger in words: why an entity has its label or is no cause, and where two runs
//! part. Results are written by [`eog_report`].

mod difference;
mod evaluations;
mod explanation;
mod why_not;

pub use difference::{Line, difference};
pub use evaluations::{Evaluation, evaluations, evaluations_of};
pub use explanation::{explanation, not_judged, unjudged};
pub use why_not::why_not;
