//! Tree searches with one choice changed, to see what it is worth.

use std::fmt;
use std::num::NonZeroU32;

use eog_search::{Backup, Exploration, Profile, SQRT_2, SearchConfig};
use serde::Serialize;

use super::scene::{Outcome, Scene};
use super::search::{searched, unfit};
use crate::error::EvalError;

/// One choice of a tree search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ablation {
    /// LATS with its exploration, C = √2.
    LatsExploration,
    /// LATS without exploration.
    LatsNoExploration,
    /// LATS with twice the exploration.
    LatsDoubleExploration,
    /// LATS with C from 2.0 to 0.5.
    LatsAdaptive,
    /// LATS that follows the highest reward instead of the mean.
    LatsMax,
    /// LATS with eight tasks at a time.
    LatsWide,
    /// Beam search with one survivor of a level.
    BeamOne,
    /// Beam search with three, the default.
    BeamThree,
    /// Beam search with five.
    BeamFive,
    /// Hypotheses with their defaults: scored again, C = ¼, 6 rounds.
    Hypotheses,
    /// Hypotheses that keep their first scores.
    HypothesesNoRescore,
    /// Hypotheses that follow the mean of scores instead of the highest.
    HypothesesMean,
    /// Hypotheses proposed without sight of those that stand beside.
    HypothesesNoSiblings,
    /// Hypotheses without exploration.
    HypothesesNoExploration,
    /// Hypotheses with C = 1.
    HypothesesMoreExploration,
    /// Hypotheses with 24 rounds and depth 8.
    HypothesesMore,
    /// Hypotheses, one lane at a time.
    HypothesesNarrow,
    /// A chain that is shown all that it saw, as far as that is below 200,000 bytes.
    React,
    /// A chain that is shown 4,000 bytes of what it saw.
    ReactForgets,
}

impl Ablation {
    /// All that there are, each profile with its defaults first.
    pub const ALL: [Self; 19] = [
        Self::LatsExploration,
        Self::LatsNoExploration,
        Self::LatsDoubleExploration,
        Self::LatsAdaptive,
        Self::LatsMax,
        Self::LatsWide,
        Self::BeamThree,
        Self::BeamOne,
        Self::BeamFive,
        Self::Hypotheses,
        Self::HypothesesNoRescore,
        Self::HypothesesMean,
        Self::HypothesesNoSiblings,
        Self::HypothesesNoExploration,
        Self::HypothesesMoreExploration,
        Self::HypothesesMore,
        Self::HypothesesNarrow,
        Self::React,
        Self::ReactForgets,
    ];

    /// The profile whose defaults these are, if they are.
    pub(crate) fn defaults(self) -> Option<Profile> {
        match self {
            Self::LatsExploration => Some(Profile::Lats),
            Self::BeamThree => Some(Profile::Beam),
            Self::Hypotheses => Some(Profile::Hypotheses),
            Self::React => Some(Profile::React),
            _ => None,
        }
    }

    /// The settings of the search.
    pub(crate) fn config(self) -> Result<SearchConfig, EvalError> {
        let lats = |c| SearchConfig::lats().with_exploration(c);
        let fixed = |c| SearchConfig::hypotheses().with_exploration(Exploration::Fixed(c));
        let config = match self {
            Self::LatsExploration => Ok(SearchConfig::lats()),
            Self::LatsNoExploration => lats(Exploration::Fixed(0)),
            Self::LatsDoubleExploration => lats(Exploration::Fixed(2 * SQRT_2)),
            Self::LatsAdaptive => lats(Exploration::ADAPTIVE),
            Self::LatsMax => SearchConfig::lats().with_backup(Backup::Max),
            Self::LatsWide => Ok(SearchConfig::lats().with_width(wide(8))),
            Self::BeamOne => SearchConfig::beam().with_branch(1),
            Self::BeamThree => Ok(SearchConfig::beam()),
            Self::BeamFive => SearchConfig::beam().with_branch(5),
            Self::Hypotheses => Ok(SearchConfig::hypotheses()),
            Self::HypothesesNoRescore => SearchConfig::hypotheses().with_rescore(false),
            Self::HypothesesMean => SearchConfig::hypotheses().with_backup(Backup::Mean),
            Self::HypothesesNoSiblings => SearchConfig::hypotheses().with_siblings(false),
            Self::HypothesesNoExploration => fixed(0),
            Self::HypothesesMoreExploration => fixed(1 << 32),
            Self::HypothesesMore => SearchConfig::hypotheses().with_rounds(24).with_depth(8),
            Self::HypothesesNarrow => Ok(SearchConfig::hypotheses().with_width(wide(1))),
            Self::React => Ok(SearchConfig::react()),
            Self::ReactForgets => SearchConfig::react().with_shown(4_000),
        };
        config.map_err(|error| unfit(&error))
    }

    pub(super) fn investigate(self, scene: &Scene<'_>) -> Result<Outcome, EvalError> {
        searched(self.config()?, scene)
    }
}

fn wide(width: u32) -> NonZeroU32 {
    NonZeroU32::new(width).unwrap_or(NonZeroU32::MIN)
}

impl fmt::Display for Ablation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::LatsExploration => "lats, C = 1.41 (default)",
            Self::LatsNoExploration => "lats, C = 0",
            Self::LatsDoubleExploration => "lats, C = 2.83",
            Self::LatsAdaptive => "lats, C from 2.0 to 0.5",
            Self::LatsMax => "lats, maximum instead of mean",
            Self::LatsWide => "lats, width 8",
            Self::BeamOne => "beam, K = 1",
            Self::BeamThree => "beam, K = 3 (default)",
            Self::BeamFive => "beam, K = 5",
            Self::Hypotheses => "hypotheses (default)",
            Self::HypothesesNoRescore => "hypotheses, first scores kept",
            Self::HypothesesMean => "hypotheses, mean instead of maximum",
            Self::HypothesesNoSiblings => "hypotheses, siblings unseen",
            Self::HypothesesNoExploration => "hypotheses, C = 0",
            Self::HypothesesMoreExploration => "hypotheses, C = 1",
            Self::HypothesesMore => "hypotheses, 24 rounds, depth 8",
            Self::HypothesesNarrow => "hypotheses, width 1",
            Self::React => "react (default)",
            Self::ReactForgets => "react, 4,000 bytes shown",
        })
    }
}
