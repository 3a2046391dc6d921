//! Every choice of a tree search, as named strategies that profiles combine.

use std::num::NonZeroU32;

use eog_core::Budget;
use eog_core::controller::Checks;
use eog_core::ledger::Settings;
use serde::{Deserialize, Serialize};

use crate::arithmetic::SQRT_2;

/// Every choice of a [`SearchController`](crate::SearchController).
///
/// Profiles are values of it; [`SearchConfig::new`] takes any strategies that fit each other.
///
/// ```
/// use eog_search::{Profile, SearchConfig};
/// let config = SearchConfig::beam().with_depth(4).with_branch(2);
/// assert_eq!(config.profile(), Profile::Beam);
/// assert_eq!((config.depth(), config.branch()), (4, Some(2)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct SearchConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    selection: Selection,
    expansion: Expansion,
    evaluation: Evaluation,
    backup: Backup,
    pruning: Pruning,
    stop: Stop,
    width: NonZeroU32,
    checks: Checks,
    budget: Budget,
}

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
        /// Moves are drawn by lot from this seed instead; for comparison.
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
    /// Distinct actions that a model, or whoever plays it, proposes at a leaf.
    Actions {
        /// How many at most.
        count: NonZeroU32,
        /// How many actions lead from the root to the end of a trajectory at most.
        depth: NonZeroU32,
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
        /// Whether those who propose see the hypotheses besides those on the way, also what stands beside.
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
        /// So many bytes of what came of its steps are shown to the agent. Beyond that the oldest steps become
        /// a summary.
        shown: NonZeroU32,
        /// How often an agent, or a tool, that failed is asked again.
        retries: u32,
    },
}

/// How long a specialist may go on with one hypothesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// After so many calls it is told to wrap up.
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

/// Who says how good a node is.
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
    /// After each round somebody says how far each goal is.
    Ratio {
        /// How often they are asked again when they fail.
        retries: u32,
    },
    /// Nobody.
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

/// The most that a search asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostAsked {
    /// Looks at entities, each of which is judged once at most.
    pub looks: u64,
    /// Questions in other roles.
    pub roles: u64,
    /// Calls of tools by specialists.
    pub tools: u64,
}

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
    /// All that there are.
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

/// Strategies that do not fit each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Incoherent {
    /// Selection by bounds needs rewards, and what yields them.
    #[error(
        "selection by upper confidence bounds needs the expansion `actions`, the evaluation `reward` and the \
         backup `mean` or `max`"
    )]
    Bounds,
    /// Levels need a planner.
    #[error(
        "selection by level needs the expansion `planned`, the evaluation `judge` or `planner` and no backup"
    )]
    Levels,
    /// Hypotheses need an evaluator of evidence.
    #[error(
        "selection among pending hypotheses needs the expansion `hypotheses`, the evaluation `evidence`, the \
         backup `mean` or `max`, and no pruning"
    )]
    Hypotheses,
    /// Goals are chosen by signals in words and judged by ratios.
    #[error(
        "the selection `textual` goes with the expansion `goals`, the evaluation `ratio`, no backup and no \
         pruning, and `may` is at most `must`"
    )]
    Goals,
    /// A chain has nothing to select, score or prune.
    #[error(
        "the selection `linear` goes with the expansion `chain`, the evaluation `none`, no backup and no pruning"
    )]
    Chain,
    /// Only what was not visited can be set aside, and visits are counted by bounds alone.
    #[error("this pruning does not fit the selection")]
    Pruning,
    /// A beam compares nodes by what an evaluator says.
    #[error("a beam needs the evaluation `judge`")]
    BeamWithoutEvaluator,
    /// Only hypotheses are proposed with sight of others, or without.
    #[error("whether siblings are seen is a choice of the expansion `hypotheses` alone")]
    Siblings,
    /// Scores go from 0 to 1000.
    #[error("scores go from 0 to 1000, not to {0}")]
    Score(u16),
}

impl SearchConfig {
    /// Language agent tree search (Zhou et al. 2023): 50 rounds, 5 actions a node, 7 deep, C = √2; accepted
    /// from 900 on.
    pub fn lats() -> Self {
        Self {
            selection: Selection::Ucb(Exploration::Fixed(SQRT_2)),
            expansion: Expansion::Actions { count: count(5), depth: count(7) },
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
        }
    }

    /// Any strategies that fit each other.
    ///
    /// # Errors
    /// [`Incoherent`] says which do not.
    pub fn new(
        selection: Selection,
        expansion: Expansion,
        evaluation: Evaluation,
        backup: Backup,
        pruning: Pruning,
        stop: Stop,
    ) -> Result<Self, Incoherent> {
        let rest = Self::bfs();
        Self { selection, expansion, evaluation, backup, pruning, stop, ..rest }.checked()
    }

    fn checked(self) -> Result<Self, Incoherent> {
        let Self { selection, expansion, evaluation, backup, pruning, stop, .. } = &self;
        let below = match pruning {
            Pruning::Unvisited { below } => *below,
            Pruning::None | Pruning::Flagged { .. } => 0,
        };
        let above = match expansion {
            Expansion::Hypotheses { above, .. } => *above,
            _ => 0,
        };
        if let Some(score) = [stop.accept, below, above].into_iter().find(|score| *score > 1000) {
            return Err(Incoherent::Score(score));
        }
        match (selection, expansion, evaluation, backup) {
            (
                Selection::Ucb(_),
                Expansion::Actions { .. },
                Evaluation::Reward { .. },
                Backup::Mean | Backup::Max,
            )
            | (
                Selection::Level,
                Expansion::Planned { .. },
                Evaluation::Judge { .. } | Evaluation::Planner,
                Backup::None,
            )
            | (
                Selection::PendingMaxUcb { .. },
                Expansion::Hypotheses { .. },
                Evaluation::Evidence { .. },
                Backup::Mean | Backup::Max,
            ) => {}
            (
                Selection::Textual { may, must, .. },
                Expansion::Goals { .. },
                Evaluation::Ratio { .. },
                Backup::None,
            ) if may <= must => {}
            (Selection::Linear, Expansion::Chain { .. }, Evaluation::None, Backup::None) => {}
            (Selection::Linear, ..) => return Err(Incoherent::Chain),
            (Selection::Textual { .. }, ..) => return Err(Incoherent::Goals),
            (Selection::PendingMaxUcb { .. }, ..) => return Err(Incoherent::Hypotheses),
            (Selection::Ucb(_), ..) => return Err(Incoherent::Bounds),
            (Selection::Level, ..) => return Err(Incoherent::Levels),
        }
        match (selection, pruning, evaluation) {
            (_, Pruning::None, _)
            | (Selection::Ucb(_), Pruning::Unvisited { .. }, _)
            | (Selection::Level, Pruning::Flagged { beam: None }, _)
            | (Selection::Level, Pruning::Flagged { beam: Some(_) }, Evaluation::Judge { .. }) => {
                Ok(self)
            }
            (Selection::Level, Pruning::Flagged { .. }, _) => Err(Incoherent::BeamWithoutEvaluator),
            (Selection::PendingMaxUcb { .. }, ..) => Err(Incoherent::Hypotheses),
            (Selection::Textual { .. }, ..) => Err(Incoherent::Goals),
            (Selection::Linear, ..) => Err(Incoherent::Chain),
            _ => Err(Incoherent::Pruning),
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

    /// Where the tree grows next.
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// What a node's children are.
    pub fn expansion(&self) -> Expansion {
        self.expansion
    }

    /// Who says how good a node is.
    pub fn evaluation(&self) -> Evaluation {
        self.evaluation
    }

    /// What the result of a node means for those above it.
    pub fn backup(&self) -> Backup {
        self.backup
    }

    /// What is not followed any further.
    pub fn pruning(&self) -> Pruning {
        self.pruning
    }

    /// When the search ends by itself.
    pub fn stop(&self) -> Stop {
        self.stop
    }

    /// How many questions or looks are under way at a time.
    pub fn width(&self) -> NonZeroU32 {
        self.width
    }

    /// How strictly decisions are checked.
    pub fn checks(&self) -> Checks {
        self.checks
    }

    /// When to stop early.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// Whether hypotheses get another score when findings came in; nothing where there are no hypotheses.
    pub fn rescores(&self) -> Option<bool> {
        match self.evaluation {
            Evaluation::Evidence { rescore, .. } => Some(rescore),
            _ => None,
        }
    }

    /// Whether moves are drawn by lot; nothing where there are no moves.
    pub fn is_random(&self) -> Option<bool> {
        match self.selection {
            Selection::Textual { random, .. } => Some(random.is_some()),
            _ => None,
        }
    }

    /// Whether those who propose hypotheses see what stands beside; nothing where there are no hypotheses.
    pub fn shows_siblings(&self) -> Option<bool> {
        match self.expansion {
            Expansion::Hypotheses { siblings, .. } => Some(siblings),
            _ => None,
        }
    }

    /// How many bytes of what a chain saw are shown to its agent; nothing where there is no chain.
    pub fn shown(&self) -> Option<u32> {
        match self.expansion {
            Expansion::Chain { shown, .. } => Some(shown.get()),
            _ => None,
        }
    }

    /// How deep the tree, or a trajectory, can be. With goals, which stand at depth 1 and their paths at
    /// depth 2, as deep as rounds allow.
    pub fn depth(&self) -> u32 {
        match self.expansion {
            Expansion::Goals { .. } => self.stop.rounds.get().saturating_add(2),
            Expansion::Chain { .. } => 1,
            Expansion::Actions { depth, .. }
            | Expansion::Planned { depth, .. }
            | Expansion::Hypotheses { depth, .. } => depth.get(),
        }
    }

    /// How many children a node can have, or how many nodes of a level survive, if either is limited.
    pub fn branch(&self) -> Option<u32> {
        match self.expansion {
            Expansion::Actions { count: most, .. }
            | Expansion::Hypotheses { children: most, .. }
            | Expansion::Goals { paths: most, .. } => Some(most.get()),
            Expansion::Planned { .. } => self.survivors(),
            Expansion::Chain { .. } => None,
        }
    }

    /// The most that a search asks for, whatever the answers; retries of failures in roles included, further
    /// attempts of whoever answers not.
    ///
    /// With `R` rounds, `k` children, trajectories of length `L`, `r` retries: `R·(k + L − 1)` looks and
    /// `R·(L + 1 + (k + 1)·(1 + r))` questions in roles (propose, act, reflect; values and reward). With `R`
    /// plans, `n` nodes, retries `p` of plans: `n − 1` looks, `R·(1 + p)` plans and, where nodes are judged,
    /// `(n − 1)·(1 + r)` scores. With `R` rounds of hypotheses and `m` calls of a specialist: `R`
    /// questions for hypotheses, `3·R·m` for actions, `s = R + R·(R − 1)/2` looks, where hypotheses are scored
    /// again, else `s = R`, `s·(1 + r)` scores, and `3·R·m` calls of tools, each tried `1 + r` times. With `R`
    /// rounds of `g` goals with `p` open paths: `R·g·p` looks and `1 + q` questions for goals, `R·g·p` for
    /// steps, `2·R` for moves, of which half are corrections, and `R·(1 + r)` for progress. With a chain of `R`
    /// steps: `R` looks, `(2·R + 1)·(1 + r)` questions for actions and summaries, `R·(1 + r)` calls of tools.
    pub fn most_asked(&self) -> MostAsked {
        let rounds = u64::from(self.stop.rounds.get());
        let retries = match self.evaluation {
            Evaluation::Reward { retries }
            | Evaluation::Judge { retries }
            | Evaluation::Ratio { retries }
            | Evaluation::Evidence { retries, .. } => u64::from(retries),
            Evaluation::Planner | Evaluation::None => 0,
        };
        match self.expansion {
            Expansion::Chain { retries, .. } => {
                let tries = 1 + u64::from(retries);
                // A summary follows a step at most, and the conclusion the last one.
                let roles = (2 * rounds + 1).saturating_mul(tries);
                MostAsked { looks: rounds, roles, tools: rounds.saturating_mul(tries) }
            }
            Expansion::Actions { count, depth } => {
                let (count, depth) = (u64::from(count.get()), u64::from(depth.get()));
                let scores = (count + 1).saturating_mul(1 + retries);
                MostAsked {
                    looks: rounds.saturating_mul(count + depth - 1),
                    roles: rounds.saturating_mul((depth + 1).saturating_add(scores)),
                    tools: 0,
                }
            }
            Expansion::Planned { nodes, retries: again, .. } => {
                let looks = u64::from(nodes.get()) - 1;
                let is_judged = matches!(self.evaluation, Evaluation::Judge { .. });
                let scores = if is_judged { looks.saturating_mul(1 + retries) } else { 0 };
                let plans = rounds.saturating_mul(1 + u64::from(again));
                MostAsked { looks, roles: plans.saturating_add(scores), tools: 0 }
            }
            Expansion::Goals { goals, paths, retries: again } => {
                let paths = u64::from(goals.get()).saturating_mul(u64::from(paths.get()));
                let looks = rounds.saturating_mul(paths);
                let moves = if self.is_random() == Some(true) { 0 } else { 2 };
                let others = rounds.saturating_mul(moves + 1 + retries);
                let roles = (1 + u64::from(again)).saturating_add(looks).saturating_add(others);
                MostAsked { looks, roles, tools: 0 }
            }
            Expansion::Hypotheses { lanes, .. } => {
                let acts = rounds.saturating_mul(3 * u64::from(lanes.most.get()));
                let scores = match self.evaluation {
                    Evaluation::Evidence { rescore: true, .. } => {
                        rounds.saturating_mul(rounds + 1) / 2
                    }
                    _ => rounds,
                };
                let looks = scores;
                let scores = scores.saturating_mul(1 + retries);
                let roles = acts.saturating_add(scores).saturating_add(rounds);
                let tools = acts.saturating_mul(1 + u64::from(lanes.retries));
                MostAsked { looks, roles, tools }
            }
        }
    }

    /// How many of a level survive, if not all of them.
    pub(crate) fn survivors(&self) -> Option<u32> {
        match self.pruning {
            Pruning::Flagged { beam } => beam.map(NonZeroU32::get),
            Pruning::None | Pruning::Unvisited { .. } => None,
        }
    }

    /// With the name of whoever judges, if somebody wants to know later. Decides nothing.
    #[must_use]
    pub fn with_policy(self, policy: Option<String>) -> Self {
        Self { policy, ..self }
    }

    /// With another number of rounds or plans; 0 counts as 1, as it does below.
    #[must_use]
    pub fn with_rounds(mut self, rounds: u32) -> Self {
        self.stop.rounds = count(rounds);
        self
    }

    /// With another score from which a result is accepted; more than 1000 counts as 1000.
    #[must_use]
    pub fn with_accept(mut self, accept: u16) -> Self {
        self.stop.accept = accept.min(1000);
        self
    }

    /// With another depth; no effect where rounds limit it.
    #[must_use]
    pub fn with_depth(mut self, most: u32) -> Self {
        match &mut self.expansion {
            Expansion::Goals { .. } | Expansion::Chain { .. } => {}
            Expansion::Actions { depth, .. }
            | Expansion::Planned { depth, .. }
            | Expansion::Hypotheses { depth, .. } => *depth = count(most),
        }
        self
    }

    /// With another number of children (LATS, hypotheses), survivors of a level (beam) or open paths of a goal
    /// (TreeSeeker); breadth-first has none of these.
    #[must_use]
    pub fn with_branch(mut self, branch: u32) -> Self {
        match (&mut self.expansion, &mut self.pruning) {
            (
                Expansion::Actions { count: most, .. }
                | Expansion::Hypotheses { children: most, .. }
                | Expansion::Goals { paths: most, .. },
                _,
            ) => *most = count(branch),
            (_, Pruning::Flagged { beam: Some(beam) }) => *beam = count(branch),
            _ => {}
        }
        self
    }

    /// With so much at a time.
    #[must_use]
    pub fn with_width(self, width: NonZeroU32) -> Self {
        Self { width, ..self }
    }

    /// With another factor of exploration, where the selection has one; one that changes over the rounds has
    /// no effect on hypotheses.
    #[must_use]
    pub fn with_exploration(mut self, exploration: Exploration) -> Self {
        if let Selection::Ucb(before) = &mut self.selection {
            *before = exploration;
        }
        if let (Selection::PendingMaxUcb { c }, Exploration::Fixed(fixed)) =
            (&mut self.selection, exploration)
        {
            *c = fixed;
        }
        self
    }

    /// Whether hypotheses get another score when findings came in; has no effect elsewhere.
    #[must_use]
    pub fn with_rescore(mut self, again: bool) -> Self {
        if let Evaluation::Evidence { rescore, .. } = &mut self.evaluation {
            *rescore = again;
        }
        self
    }

    /// With the mean or the maximum of what stands below a node (LATS, hypotheses).
    ///
    /// ```
    /// use eog_search::{Backup, SearchConfig};
    /// assert!(SearchConfig::lats().with_backup(Backup::Max).is_ok());
    /// assert!(SearchConfig::beam().with_backup(Backup::Max).is_err());
    /// ```
    ///
    /// # Errors
    /// [`Incoherent`] where nothing is backed up, and where a selection needs what is.
    pub fn with_backup(self, backup: Backup) -> Result<Self, Incoherent> {
        Self { backup, ..self }.checked()
    }

    /// Whether those who propose hypotheses see what stands beside.
    ///
    /// # Errors
    /// [`Incoherent::Siblings`] where there are no hypotheses.
    pub fn with_siblings(mut self, seen: bool) -> Result<Self, Incoherent> {
        match &mut self.expansion {
            Expansion::Hypotheses { siblings, .. } => *siblings = seen,
            _ => return Err(Incoherent::Siblings),
        }
        Ok(self)
    }

    /// With moves on goals drawn by lot from a seed, or not; has no effect elsewhere.
    #[must_use]
    pub fn with_random(mut self, seed: Option<u64>) -> Self {
        if let Selection::Textual { random, .. } = &mut self.selection {
            *random = seed;
        }
        self
    }

    /// With other numbers of selections without progress after which a path may and must go back; `must` is
    /// at least `may`.
    #[must_use]
    pub fn with_patience(mut self, first: u32, last: u32) -> Self {
        if let Selection::Textual { may, must, .. } = &mut self.selection {
            (*may, *must) = (count(first), count(last.max(first)));
        }
        self
    }

    /// With other limits of specialists, where there are any.
    #[must_use]
    pub fn with_lanes(mut self, limits: Lanes) -> Self {
        if let Expansion::Hypotheses { lanes, .. } = &mut self.expansion {
            *lanes = limits;
        }
        self
    }

    /// With so many bytes of what a chain saw shown to its agent; no effect elsewhere.
    #[must_use]
    pub fn with_shown(mut self, bytes: u32) -> Self {
        if let Expansion::Chain { shown, .. } = &mut self.expansion {
            *shown = count(bytes);
        }
        self
    }

    /// With a budget.
    #[must_use]
    pub fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// With other checks of decisions.
    #[must_use]
    pub fn with_checks(self, checks: Checks) -> Self {
        Self { checks, ..self }
    }
}

fn seen() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_seen(siblings: &bool) -> bool {
    *siblings
}

fn count(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
}

/// The persisted form of a [`SearchConfig`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    policy: Option<String>,
    selection: Selection,
    expansion: Expansion,
    evaluation: Evaluation,
    backup: Backup,
    pruning: Pruning,
    stop: Stop,
    width: NonZeroU32,
    checks: Checks,
    budget: Budget,
}

impl TryFrom<Stored> for SearchConfig {
    type Error = Incoherent;

    fn try_from(stored: Stored) -> Result<Self, Incoherent> {
        let Stored { policy, selection, expansion, evaluation, backup, .. } = stored;
        let Stored { pruning, stop, width, checks, budget, .. } = stored;
        Self {
            policy,
            selection,
            expansion,
            evaluation,
            backup,
            pruning,
            stop,
            width,
            checks,
            budget,
        }
        .checked()
    }
}

impl Settings for SearchConfig {
    fn policy(&self) -> Option<&str> {
        self.policy.as_deref()
    }

    fn to_json(&self) -> serde_json::Value {
        let rules = Self { policy: None, ..self.clone() };
        serde_json::to_value(rules).unwrap_or_default()
    }
}
