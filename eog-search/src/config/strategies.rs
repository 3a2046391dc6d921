//! The choices that a tree search is made of.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::count;

/// Where the tree grows next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Selection {
    /// Descends from the root, at each node to the child with the highest upper confidence bound; unvisited
    /// ones first, by value.
    Ucb(Exploration),
    /// A planner chooses among the nodes of one level.
    Level,
    /// Of all hypotheses that were not investigated yet, the one with the highest bound, over the highest
    /// score seen around it; the first ones before all others.
    PendingMaxUcb {
        /// How much it explores: the factor C, in Q32.
        c: u64,
    },
    /// Goals whose needs are met each exploit a path, explore several or go back, by value, uncertainty and
    /// risk in words.
    Textual {
        /// From so many selections without progress on, a path may go back.
        may: NonZeroU32,
        /// From so many on, it must.
        must: NonZeroU32,
        /// Moves are drawn at random from this seed instead; for comparison.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        random: Option<u64>,
    },
    /// One step after the other.
    Linear,
}

/// How much a search by bounds explores: the factor C, in Q32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exploration {
    /// The same in each round.
    Fixed(u64),
    /// From the first value in the first round towards the second in the last.
    Linear(u64, u64),
}

impl Exploration {
    /// From 2.0 to 0.5 over the rounds.
    pub const ADAPTIVE: Self = Self::Linear(2 << 32, 1 << 31);

    /// C in this round, counted from 0, of so many.
    pub fn at(self, round: u32, rounds: u32) -> u64 {
        match self {
            Self::Fixed(c) => c,
            Self::Linear(first, last) => {
                let part = |from: u64, to: u64| {
                    let share =
                        u128::from(from - to) * u128::from(round) / u128::from(rounds.max(1));
                    u64::try_from(share).unwrap_or(u64::MAX)
                };
                if first >= last { first - part(first, last) } else { first + part(last, first) }
            }
        }
    }
}

/// What a node's children are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Expansion {
    /// Distinct actions that a model proposes at a leaf.
    Actions {
        /// How many at most.
        count: NonZeroU32,
        /// How many actions lead from the root to the end of a trajectory at most.
        depth: NonZeroU32,
        /// Whether each is drawn by a question of its own, instead of all by one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        apart: bool,
    },
    /// Tasks that a planner gives to nodes.
    Planned {
        /// How many nodes at most, with the root.
        nodes: NonZeroU32,
        /// How deep at most.
        depth: NonZeroU32,
        /// How often a planner whose answer is refused is asked again.
        retries: u32,
    },
    /// Hypotheses, each of which is investigated by three specialists.
    Hypotheses {
        /// How many at first, at most.
        initial: NonZeroU32,
        /// How many below another, at most.
        children: NonZeroU32,
        /// How deep at most; the first ones have depth 1.
        depth: NonZeroU32,
        /// Only what has a score above this is expanded.
        above: u16,
        /// Whether roles that propose see the hypotheses besides those on the way, also siblings.
        #[serde(default = "seen", skip_serializing_if = "is_seen")]
        siblings: bool,
        /// How long a specialist may go on.
        lanes: Lanes,
    },
    /// Goals with alternative paths, which make a step a round.
    Goals {
        /// How many goals at most.
        goals: NonZeroU32,
        /// How many open paths a goal has at most.
        paths: NonZeroU32,
        /// How often a planner whose goals are refused is asked again.
        retries: u32,
    },
    /// What a single agent does next, until it concludes.
    Chain {
        /// So many bytes of the outcomes of its steps are shown to the agent. Beyond that the oldest steps
        /// become a summary.
        shown: NonZeroU32,
        /// How often an agent, or a tool, that failed is asked again.
        retries: u32,
    },
}

/// How long a specialist may go on with one hypothesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// After so many calls it is asked to wrap up.
    pub wrap_up: NonZeroU32,
    /// After so many calls its lane ends.
    pub most: NonZeroU32,
    /// How often a tool that failed, or a specialist who gave no answer, is asked again.
    pub retries: u32,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { wrap_up: count(10), most: count(15), retries: 2 }
    }
}

/// What scores a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Evaluation {
    /// An evaluator gives each child a value, and each trajectory a reward.
    Reward {
        /// How often it is asked again when it fails or its answer cannot be used.
        retries: u32,
    },
    /// An evaluator judges each node once.
    Judge {
        /// How often it is asked again when it fails or its answer cannot be used.
        retries: u32,
    },
    /// The planner gives each task a score; it counts once the node has run.
    Planner,
    /// An evaluator says how well the evidence supports a hypothesis.
    Evidence {
        /// How often it is asked again when it fails or its answer cannot be used.
        retries: u32,
        /// Whether hypotheses that have a score get another one when findings came in.
        rescore: bool,
    },
    /// After each round the progress of each goal is assessed.
    Ratio {
        /// How often they are asked again when they fail.
        retries: u32,
    },
    /// None.
    None,
}

/// What the result of a node means for those above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Backup {
    /// The mean: of all rewards from there on; of hypotheses, of the scores of its own and of all that stands
    /// below it, as scores stand now.
    Mean,
    /// The highest of these.
    Max,
    /// Nothing.
    None,
}

/// What is not followed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Pruning {
    /// Nothing.
    None,
    /// Leaves that no simulation went through and whose value is below this are set aside until there is
    /// nothing else.
    Unvisited {
        /// The value.
        below: u16,
    },
    /// What planner or evaluator say; with a beam, all but the best few of each level.
    Flagged {
        /// How many survive on each level; all of them if absent.
        beam: Option<NonZeroU32>,
    },
}

/// When the search ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The score, from 0 to 1000, with which a result is accepted.
    pub accept: u16,
    /// How many rounds, or plans, at most.
    pub rounds: NonZeroU32,
}

fn seen() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_seen(siblings: &bool) -> bool {
    *siblings
}
