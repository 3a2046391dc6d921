//! Words for what is found beside a result: why a label, and where two runs part. Results are told by
//! [`eog_report`].

mod difference;
mod explanation;
mod why_not;

pub use difference::{Line, difference};
pub use explanation::{explanation, not_judged, unjudged};
pub use why_not::why_not;
