//! Tree searches, with the roles played by rules over what the judge says of single entities.

use std::fmt;

use eog::Budget;
use eog_search::{Incoherent, Profile, SearchConfig};
use serde::Serialize;

use super::scene::{Outcome, Scene};
use crate::error::EvalError;
use crate::plain::try_run;

/// A tree search with the default values of its profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeSearch {
    /// Language agent tree search.
    Lats,
    /// Breadth-first.
    Bfs,
    /// Breadth-first, with the best few of each level.
    Beam,
    /// Hypotheses that specialists investigate.
    Hypotheses,
    /// Goals with alternative paths.
    #[serde(rename = "treeseeker")]
    TreeSeeker,
    /// The same, with moves drawn by lot.
    #[serde(rename = "treeseeker_random")]
    TreeSeekerByLot,
    /// One chain of a single agent.
    React,
}

impl TreeSearch {
    pub(super) const ALL: [Self; 7] = [
        Self::Lats,
        Self::Bfs,
        Self::Beam,
        Self::Hypotheses,
        Self::TreeSeeker,
        Self::TreeSeekerByLot,
        Self::React,
    ];

    fn profile(self) -> Profile {
        match self {
            Self::Lats => Profile::Lats,
            Self::Bfs => Profile::Bfs,
            Self::Beam => Profile::Beam,
            Self::Hypotheses => Profile::Hypotheses,
            Self::TreeSeeker | Self::TreeSeekerByLot => Profile::TreeSeeker,
            Self::React => Profile::React,
        }
    }

    pub(super) fn investigate(self, scene: &Scene<'_>) -> Result<Outcome, EvalError> {
        let config = self.profile().config();
        let config = match self {
            Self::TreeSeekerByLot => config
                .with_random(Some(scene.stream("moves").bits()))
                .map_err(|error| unfit(&error))?,
            _ => config,
        };
        searched(config, scene)
    }
}

pub(super) fn unfit(error: &Incoherent) -> EvalError {
    EvalError::Setting { reason: error.to_string() }
}

/// A search with these settings, within the budget of the scene.
pub(super) fn searched(config: SearchConfig, scene: &Scene<'_>) -> Result<Outcome, EvalError> {
    let hops = scene.budget.or(config.budget().hops);
    let budget = Budget { hops, ..config.budget() };
    let config = config.with_budget(budget);
    let ended = try_run(config, scene.case(), scene.truth, scene.oracle)
        .map_err(|error| EvalError::Setting { reason: error.to_string() })?;
    Ok(Outcome::of(&ended, ended.spent().hops))
}

impl fmt::Display for TreeSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by_lot = if *self == Self::TreeSeekerByLot { ", by lot" } else { "" };
        write!(f, "tree search, {}{by_lot}", self.profile().name())
    }
}
