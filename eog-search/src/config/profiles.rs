//! The named combinations of strategies.

use std::num::NonZeroU32;

use eog_core::Budget;
use eog_core::controller::Checks;

use super::{
    Backup, Evaluation, Expansion, Exploration, Lanes, Pruning, SearchConfig, Selection, Stop,
    count,
};
use crate::arithmetic::SQRT_2;

/// The named combinations of strategies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Profile {
    /// Language agent tree search.
    Lats,
    /// Breadth-first.
    Bfs,
    /// Breadth-first, with the best few of each level.
    Beam,
    /// A tree of hypotheses that specialists investigate.
    Hypotheses,
    /// Goals with alternative paths.
    TreeSeeker,
    /// One chain of a single agent.
    React,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Lats, Self::Bfs, Self::Beam, Self::Hypotheses, Self::TreeSeeker, Self::React];

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lats => "lats",
            Self::Bfs => "bfs",
            Self::Beam => "beam",
            Self::Hypotheses => "hypotheses",
            Self::TreeSeeker => "treeseeker",
            Self::React => "react",
        }
    }

    /// The profile with its default values.
    pub fn config(self) -> SearchConfig {
        match self {
            Self::Lats => SearchConfig::lats(),
            Self::Bfs => SearchConfig::bfs(),
            Self::Beam => SearchConfig::beam(),
            Self::Hypotheses => SearchConfig::hypotheses(),
            Self::TreeSeeker => SearchConfig::treeseeker(),
            Self::React => SearchConfig::react(),
        }
    }
}

impl SearchConfig {
    /// Language agent tree search (Zhou et al. 2023): 50 rounds, 5 actions a node, 7 deep, C = √2; accepted
    /// from 900 on.
    pub fn lats() -> Self {
        Self {
            selection: Selection::Ucb(Exploration::Fixed(SQRT_2)),
            expansion: Expansion::Actions { count: count(5), depth: count(7), apart: false },
            evaluation: Evaluation::Reward { retries: 2 },
            backup: Backup::Mean,
            pruning: Pruning::Unvisited { below: 500 },
            stop: Stop { accept: 900, rounds: count(50) },
            ..Self::levels(None)
        }
    }

    /// Breadth-first: 20 plans, 50 nodes, 10 deep, 3 at a time; accepted from 850 on.
    pub fn bfs() -> Self {
        Self::levels(None)
    }

    /// Breadth-first with the best 3 of each level.
    pub fn beam() -> Self {
        Self::levels(Some(count(3)))
    }

    /// A tree of hypotheses: 3 at first, 3 below each with a score above 300, 3 deep; 6 rounds, each with three
    /// specialists at once; C = ¼; accepted from 850 on.
    pub fn hypotheses() -> Self {
        Self {
            selection: Selection::PendingMaxUcb { c: 1 << 30 },
            expansion: Expansion::Hypotheses {
                initial: count(3),
                children: count(3),
                depth: count(3),
                above: 300,
                siblings: true,
                lanes: Lanes::default(),
            },
            evaluation: Evaluation::Evidence { retries: 2, rescore: true },
            backup: Backup::Max,
            pruning: Pruning::None,
            stop: Stop { accept: 850, rounds: count(6) },
            width: count(3),
            ..Self::levels(None)
        }
    }

    /// TreeSeeker (arXiv 2606.11662): at most 5 goals with at most 5 open paths each, 30 rounds; a path may go
    /// back from 8 selections without progress on and must from 12 on; a goal is complete from 900 on.
    pub fn treeseeker() -> Self {
        Self {
            selection: Selection::Textual { may: count(8), must: count(12), random: None },
            expansion: Expansion::Goals { goals: count(5), paths: count(5), retries: 2 },
            evaluation: Evaluation::Ratio { retries: 2 },
            pruning: Pruning::None,
            stop: Stop { accept: 900, rounds: count(30) },
            width: count(5),
            ..Self::levels(None)
        }
    }

    /// ReAct (Yao et al. 2022) as in appendix A of the EoG paper: one agent, at most 60 steps, then a conclusion;
    /// 200,000 bytes of what it saw are shown, older steps as a summary of at most a quarter of that.
    pub fn react() -> Self {
        Self {
            selection: Selection::Linear,
            expansion: Expansion::Chain { shown: count(200_000), retries: 2 },
            evaluation: Evaluation::None,
            pruning: Pruning::None,
            stop: Stop { accept: 1000, rounds: count(60) },
            ..Self::levels(None)
        }
    }

    fn levels(beam: Option<NonZeroU32>) -> Self {
        Self {
            policy: None,
            selection: Selection::Level,
            expansion: Expansion::Planned { nodes: count(50), depth: count(10), retries: 2 },
            evaluation: Evaluation::Judge { retries: 2 },
            backup: Backup::None,
            pruning: Pruning::Flagged { beam },
            stop: Stop { accept: 850, rounds: count(20) },
            width: NonZeroU32::MIN,
            checks: Checks::Full,
            budget: Budget::default(),
            reach: true,
            initial_prompt: None,
        }
    }

    /// The profile that these strategies belong to.
    pub fn profile(&self) -> Profile {
        match (self.selection, self.survivors()) {
            (Selection::Ucb(_), _) => Profile::Lats,
            (Selection::PendingMaxUcb { .. }, _) => Profile::Hypotheses,
            (Selection::Textual { .. }, _) => Profile::TreeSeeker,
            (Selection::Linear, _) => Profile::React,
            (Selection::Level, None) => Profile::Bfs,
            (Selection::Level, Some(_)) => Profile::Beam,
        }
    }
}
