//! The phases of an investigation: their inputs, their answers, and the checks of answers.

use crate::{AnswerForm, Phase, answer_form};

mod alerts;
mod bootstrap;
mod classify;
mod explore;
mod filter;
mod filter_changes;
mod filter_events;
mod finalize;
mod frame;
mod lines;
mod names;
mod search;
mod select_window;

pub(crate) use alerts::is_golden;
pub use bootstrap::{Candidate, ChooseSeeds, Ignored, SeedsAnswer, SeedsInput, Strength};
pub(crate) use bootstrap::{MAX_CANDIDATES, SeedFacts};
pub use classify::ClassifyEvidence;
pub(crate) use explore::unasked;
pub use explore::{
    Explore, ExploreAlternative, ExploreAnswer, ExploreClaim, ExploreInput, ExploreProposal,
    ExploreSearch, SearchedKind,
};
pub use filter::{FilterAnswer, FilterInput, Part, Relevant};
pub(crate) use filter::{ItemLine, Scope, change_limit};
pub use filter_changes::FilterChanges;
pub use filter_events::FilterEvents;
pub use finalize::{
    AlertLine, ClaimLine, EntityLine, EvidenceLine, Finalize, FinalizeAnswer, FinalizeInput,
    GroupLine, StatedAlert, StatedAnswer, StatedEntity, StatedMoment, StatedPropagation,
    StatedTime,
};
pub use frame::Frame;
pub use search::{
    Act, ActAnswer, Compact, CompactAnswer, CompactInput, Decompose, DecomposeAnswer,
    DecomposeInput, DeedWord, Detail, EditWord, Evaluate, EvaluateAnswer, EvaluateInput,
    Hypothesize, HypothesizeAnswer, HypothesizeInput, Investigate, InvestigateAnswer,
    InvestigateInput, KindWord, MoveWord, PhaseWord, Plan, PlanAnswer, PlanExpansion, PlanInput,
    PlanNote, ProgressAnswer, ProgressInput, Propose, ProposeAnswer, ProposeInput, ProposedLook,
    React, ReactAnswer, ReactInput, Reflect, ReflectAnswer, RewriteWord, SpecialistWord,
    StatedApproach, StatedAssignment, StatedCandidate, StatedEdit, StatedEntry, StatedFact,
    StatedGoal, StatedMove, StatedPath, StatedRatio, StatedRewrite, StatedSignal, Steer,
    SteerAnswer, SteerInput, Stride, StrideAnswer, StrideInput, Suspicion, TakeStock, Weigh,
    WeighAnswer, WeighInput,
};
pub use select_window::{SelectWindow, WindowAnswer, WindowInput};

/// The forms of the answers of all phases, in the order of an investigation. Each has the name of
/// its phase.
pub fn answer_forms() -> Vec<AnswerForm> {
    fn form<P: Phase>() -> AnswerForm {
        answer_form::<P::Answer>(P::NAME)
    }
    vec![
        form::<SelectWindow>(),
        form::<FilterEvents>(),
        form::<FilterChanges>(),
        form::<ChooseSeeds>(),
        form::<ClassifyEvidence>(),
        form::<Explore>(),
        form::<Propose>(),
        form::<Act>(),
        form::<Evaluate>(),
        form::<Plan>(),
        form::<Reflect>(),
        form::<Hypothesize>(),
        form::<Investigate>(),
        form::<Weigh>(),
        form::<Decompose>(),
        form::<Steer>(),
        form::<Stride>(),
        form::<TakeStock>(),
        form::<React>(),
        form::<Compact>(),
        form::<Finalize>(),
    ]
}
