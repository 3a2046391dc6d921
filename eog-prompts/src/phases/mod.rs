//! The phases of an investigation: what each is given, what it answers, and what it must not say.

mod explore;

pub use explore::{
    Explore, ExploreAnswer, ExploreClaim, ExploreInput, ExploreProposal, Frame, Missing, Step,
};
