//! The result of a stress test.

use eog_core::controller::EntryBody;
use eog_core::{EntityId, Label, Ledger, StopReason};
use serde::Serialize;

use super::setting::{Factor, Setting};

/// How far the result depends on the order. Depends on input, answers and [`Stress`](super::Stress)
/// alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(bound = "")]
pub struct StressReport<B = EntryBody> {
    /// The seed of everything.
    pub seed: u64,
    /// How many runs besides the baseline were wanted.
    pub planned: u32,
    /// How many were made.
    pub runs: u32,
    /// Whether it was cancelled on the way.
    pub interrupted: bool,
    /// Runs that have both frontier and minimum cover of the baseline.
    pub same_outcome: u32,
    /// Runs that have the frontier of the baseline.
    pub same_frontier: u32,
    /// Runs that have the minimum cover of the baseline.
    pub same_cover: u32,
    /// Every outcome: that of the baseline first, then by number of runs, most first.
    pub frontiers: Vec<FrontierCount>,
    /// The effect of delays alone, which must be none.
    pub delays_alone: DelaysAlone,
    /// The run of the input as given.
    pub baseline: Side<B>,
    /// The smallest change of order that was found to change the outcome, if one did.
    pub pair: Option<Pair<B>>,
    /// How the pair was made small.
    pub shrinking: Shrinking,
    /// The questions.
    pub questions: Questions,
}

/// What a run concluded, as far as it is compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct StressOutcome {
    /// The frontier: the origins of each group, by name.
    pub frontier: Vec<Vec<EntityId>>,
    /// The groups of the minimum cover, as positions in the frontier.
    pub cover: Vec<usize>,
}

impl StressOutcome {
    /// The origins of the minimum cover, group by group.
    pub fn cover_groups(&self) -> Vec<&[EntityId]> {
        self.cover.iter().filter_map(|&at| Some(self.frontier.get(at)?.as_slice())).collect()
    }
}

/// How often an outcome was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FrontierCount {
    /// The outcome.
    pub outcome: StressOutcome,
    /// Runs with it, the baseline not counted.
    pub runs: u32,
    /// The first run with it; 0 is the baseline.
    pub first_run: u32,
    /// The fewest evaluations that led to it, the baseline included.
    pub fewest_evaluations: u64,
    /// The most evaluations that led to it, the baseline included.
    pub most_evaluations: u64,
    /// Runs that a budget ended, the baseline not counted.
    pub ended_by_budget: u32,
}

/// Runs made once more with other delays and nothing else changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DelaysAlone {
    /// How many were made once more.
    pub runs: u32,
    /// How many of them have byte for byte the same ledger.
    pub identical: u32,
    /// Those that have not. Each is a defect of eog.
    pub defects: Vec<DelayDefect>,
}

/// A ledger that changed with the delays alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DelayDefect {
    /// The number of the run; 0 is the baseline.
    pub run: u32,
    /// The first entry that differs. Nothing when only the outcomes were compared.
    pub parting: Option<Parting>,
}

/// One run of a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(bound = "")]
pub struct Side<B = EntryBody> {
    /// Its setting.
    pub setting: Setting,
    /// The seeds in its order.
    pub seeds: Vec<EntityId>,
    /// What it concluded.
    pub outcome: StressOutcome,
    /// Why it ended.
    pub stop: StopReason,
    /// Its evaluations.
    pub evaluations: u64,
    /// Evaluations without a context or a decision.
    pub failures: u64,
    /// Its ledger.
    #[serde(skip)]
    pub ledger: Ledger<B>,
}

/// A run that differs from the baseline in as little as possible, and yet in the outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(bound = "")]
pub struct Pair<B = EntryBody> {
    /// The number of the run that it was made from.
    pub run: u32,
    /// In what it differs from the baseline.
    pub factors: Vec<Factor>,
    /// The differing run.
    pub differing: Side<B>,
    /// Where the courses part.
    pub parting: Option<Parting>,
    /// Entities that end with another label or role, those of the frontiers first.
    pub entities: Vec<Disagreement>,
}

/// Where the courses of two runs part. A run that has ended before has no step here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parting {
    /// The number of the entry.
    pub entry: u64,
    /// The entry of the first run.
    pub first: Option<PartingStep>,
    /// The entry of the second run.
    pub second: Option<PartingStep>,
}

/// An evaluation in a few words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartingStep {
    /// The evaluated entity.
    pub entity: EntityId,
    /// The label that followed.
    pub label: Label,
    /// Why, in the policy's words.
    pub summary: String,
    /// How many neighbours were notified.
    #[serde(rename = "told")]
    pub notified: usize,
}

/// An entity on which two runs disagree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    /// The entity.
    pub entity: EntityId,
    /// Whether it is in one frontier and not in the other.
    pub in_one_frontier: bool,
    /// How the baseline ends for it.
    pub baseline: LastWord,
    /// How the differing run ends for it.
    pub differing: LastWord,
}

/// How a run ends for an entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastWord {
    /// Its label; nothing if it was never evaluated.
    pub label: Option<Label>,
    /// The entry of its last evaluation.
    pub entry: Option<u64>,
    /// Its evaluations.
    pub visits: u64,
    /// The messages it had received by then: the label of each sender, by name.
    #[serde(rename = "heard")]
    pub received: Vec<(EntityId, Label)>,
    /// Whether messages came that it was never evaluated with.
    pub unread: bool,
    /// Whether its label changed too often and it was not evaluated again.
    pub damped: bool,
}

/// How a differing run was made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shrinking {
    /// How many runs it took.
    pub runs: u32,
    /// How many were allowed.
    pub at_most: u32,
    /// Whether it was given up because no more runs were allowed.
    pub gave_up: bool,
}

/// The questions to the contract and the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Questions {
    /// Local contexts.
    pub contexts: Asked,
    /// Decisions.
    pub decisions: Asked,
}

/// Questions of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Distinct questions: so often was it asked.
    pub distinct: u64,
    /// Questions that had been answered before: no calls were made.
    pub again: u64,
}
