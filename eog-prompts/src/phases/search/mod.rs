//! The phases of a tree search: what to evaluate next, how good a path is, what to do with a tree, what is to
//! be learnt; what may have caused an incident, what a specialist does next, how far evidence supports a
//! hypothesis; goals, moves on their paths, steps and progress; the steps of a chain. Every search judges entities
//! in the phase [`Explore`](super::Explore).

mod act;
mod compact;
mod decompose;
mod deed;
mod evaluate;
mod goals;
mod hypothesize;
mod investigate;
mod path;
mod plan;
mod progress;
mod propose;
mod react;
mod reflect;
mod steer;
mod step;
mod steps;
mod weigh;

pub use act::{Act, ActAnswer};
pub use compact::{Compact, CompactAnswer, CompactInput};
pub use decompose::{Decompose, DecomposeAnswer, DecomposeInput, StatedGoal};
pub use evaluate::{Evaluate, EvaluateAnswer, EvaluateInput, StatedEntry};
pub use goals::StatedApproach;
pub use hypothesize::{
    Hypothesize, HypothesizeAnswer, HypothesizeInput, KindWord, SpecialistWord, StatedAssignment,
    Suspicion,
};
pub use investigate::{Investigate, InvestigateAnswer, InvestigateInput};
pub use path::Detail;
pub use plan::{Plan, PlanAnswer, PlanExpansion, PlanInput, PlanNote};
pub use progress::{
    ProgressAnswer, ProgressInput, RewriteWord, StatedCandidate, StatedFact, StatedPath,
    StatedRatio, StatedRewrite, TakeStock,
};
pub use propose::{Propose, ProposeAnswer, ProposeInput, ProposedLook};
pub use react::{DeedWord, EditWord, PhaseWord, React, ReactAnswer, ReactInput, StatedEdit};
pub use reflect::{Reflect, ReflectAnswer};
pub use steer::{MoveWord, StatedMove, StatedSignal, Steer, SteerAnswer, SteerInput};
pub use step::{Stride, StrideAnswer, StrideInput};
pub use weigh::{Weigh, WeighAnswer, WeighInput};

use eog_evidence::{mask_text, shorten};

/// Most characters of a text that a model writes and the ledger keeps.
const MAX_TEXT: usize = 400;

/// A text as the ledger keeps it.
fn kept(text: &str) -> String {
    shorten(&mask_text(text.trim()), MAX_TEXT)
}

/// What is wrong with a text that must not be empty.
fn empty(field: &str, text: &str, problems: &mut Vec<String>) {
    if text.trim().is_empty() {
        problems.push(format!("{field}: it is empty; say why"));
    }
}

/// What is wrong with a score.
fn score(field: &str, score: u16, problems: &mut Vec<String>) {
    if score > 1000 {
        problems.push(format!("{field}: {score} is more than 1000"));
    }
}
