//! Scoring of ITBench outputs against its ground truths, after appendix D of the paper.
//!
//! [`GroundTruth`] reads both forms of the truth, [`Output`] what an agent or an investigation
//! predicts, [`OutputScore`] is what one output scores, [`RunsReport`] what repeated runs do:
//! Pass@k, Majority@k and the reliability gap. The score of the reasoning needs a
//! [`ReasoningJudge`], and is left out without one: nothing here asks a model.

mod directory;
mod named;
mod output;
mod reasoning;
mod runs;
mod scenario;
mod score;
mod truth;

pub(crate) use directory::scenario_of;
pub use directory::{ItbenchReport, RunScore, Truths, evaluate_outputs};
pub use named::NamedEntity;
pub use output::{Output, Predicted};
pub use reasoning::{CauseToJudge, Judged, Reasoning, ReasoningJudge, ReasoningReport, Verdict};
pub use runs::{RunsReport, evaluate_runs};
pub use scenario::{BaselineScenario, ScenarioScore, evaluate_knocked_out, evaluate_snapshot};
pub use score::{AtK, OutputScore, score};
pub(crate) use truth::POLICIES;
pub use truth::{GroundTruth, Group};
