//! Every choice of a tree search, as named strategies that profiles combine.

mod change;
mod fit;
mod most;
mod profiles;
mod strategies;

use std::num::NonZeroU32;

use eog_core::Budget;
use eog_core::controller::Checks;
use eog_core::ledger::Settings;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use change::{MAX_PROMPT, Setting};
pub use fit::Incoherent;
pub use most::MostAsked;
pub use profiles::Profile;
pub use strategies::{Backup, Evaluation, Expansion, Exploration, Lanes, Pruning, Selection, Stop};

/// Every choice of a [`SearchController`](crate::SearchController).
///
/// Profiles are values of it; [`SearchConfig::new`] takes any strategies that fit each other.
///
/// ```
/// use eog_search::{Profile, SearchConfig};
/// let config = SearchConfig::beam().with_depth(4)?.with_branch(2)?;
/// assert_eq!(config.profile(), Profile::Beam);
/// assert_eq!((config.depth(), config.branch()), (4, Some(2)));
/// # Ok::<(), eog_search::Incoherent>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
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
    /// Whether packets show which anomalies effects of the entity can reach. Off in older
    /// ledgers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    reach: bool,
    /// The prompt for planning roles beside the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    initial_prompt: Option<String>,
}

impl SearchConfig {
    /// Whether packets show which anomalies effects of the entity can reach.
    pub(crate) fn shows_reach(&self) -> bool {
        self.reach
    }

    /// The prompt for planning roles beside the case, if any.
    pub fn initial_prompt(&self) -> Option<&str> {
        self.initial_prompt.as_deref()
    }

    /// Where the tree grows next.
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// What a node's children are.
    pub fn expansion(&self) -> Expansion {
        self.expansion
    }

    /// What scores a node.
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

    /// How many questions or evaluations are under way at a time.
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

    /// Whether hypotheses get another score when findings came in; `None` where there are no hypotheses.
    pub fn rescores(&self) -> Option<bool> {
        match self.evaluation {
            Evaluation::Evidence { rescore, .. } => Some(rescore),
            _ => None,
        }
    }

    /// Whether moves are drawn at random; `None` where there are no moves.
    pub fn is_random(&self) -> Option<bool> {
        match self.selection {
            Selection::Textual { random, .. } => Some(random.is_some()),
            _ => None,
        }
    }

    /// Whether roles that propose hypotheses see sibling hypotheses; `None` where there are no hypotheses.
    pub fn shows_siblings(&self) -> Option<bool> {
        match self.expansion {
            Expansion::Hypotheses { siblings, .. } => Some(siblings),
            _ => None,
        }
    }

    /// How many bytes of the contexts of a chain are shown to its agent; `None` where there is no chain.
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

    /// How many of a level survive, if not all of them.
    pub(crate) fn survivors(&self) -> Option<u32> {
        match self.pruning {
            Pruning::Flagged { beam } => beam.map(NonZeroU32::get),
            Pruning::None | Pruning::Unvisited { .. } => None,
        }
    }
}

fn count(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
}

/// Only strategies that fit each other are read.
impl<'de> Deserialize<'de> for SearchConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)?.checked().map_err(D::Error::custom)
    }
}

impl Serialize for SearchConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
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
