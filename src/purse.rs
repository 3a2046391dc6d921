//! What several processes may spend together.

use std::fmt;

use eog_core::{BoxFuture, Budget, BudgetKind, Usage};

/// What several processes may spend together on calls of models: a budget, and what was taken of it.
///
/// The most that a call can use is taken before the call is made. What it did not use is put back
/// afterwards. A process that dies in between has taken the most: what the provider did is unknown, and no
/// clock is read, so that the sum is never too small.
pub trait Purse: fmt::Debug + Send + Sync {
    /// Takes the most that a call can use. Once it is taken, it is taken for all.
    ///
    /// Dropped before it ends, it may have been taken.
    ///
    /// # Errors
    /// [`PurseError`]. The call must not be made then.
    fn take(&self, most: Usage) -> BoxFuture<'_, Result<(), PurseError>>;

    /// Says what a call has used for which so much was taken. More than was taken counts, too.
    ///
    /// # Errors
    /// [`PurseError::Unreachable`]: all that was taken counts as used.
    fn settle(&self, taken: Usage, used: Usage) -> BoxFuture<'_, Result<(), PurseError>>;
}

/// Why nothing could be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PurseError {
    /// Not enough is left.
    #[error(transparent)]
    Short(#[from] Short),
    /// It cannot be reached, so what is left is unknown.
    #[error("what all workers have spent cannot be looked up: {0}")]
    Unreachable(String),
}

/// A limit that a call might exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the call may use {most}, but {left} of the {kind} budget of {limit} are left")]
pub struct Short {
    /// Which one.
    pub kind: BudgetKind,
    /// How high it is.
    pub limit: u64,
    /// What is left of it.
    pub left: u64,
    /// The most that the call can use.
    pub most: u64,
}

impl Short {
    /// Makes sure that after so much was taken, a call that may use `most` fits into the limits of model
    /// calls, tokens and money. Hops are for the controller.
    ///
    /// # Errors
    /// The first limit that it might exceed.
    ///
    /// ```
    /// use eog::{Budget, Usage, purse::Short};
    /// let budget = Budget { model_calls: Some(2), ..Budget::default() };
    /// let calls = |model_calls| Usage { model_calls, ..Usage::default() };
    /// assert_eq!(Short::check(&budget, calls(1), calls(1)), Ok(()));
    /// assert_eq!(Short::check(&budget, calls(2), calls(1)).map_err(|short| short.left), Err(0));
    /// ```
    pub fn check(budget: &Budget, taken: Usage, most: Usage) -> Result<(), Self> {
        let tokens = |usage: Usage| usage.tokens_in.saturating_add(usage.tokens_out);
        let Budget { hops: _, model_calls, tokens: all_tokens, cost_micro_usd } = *budget;
        for (kind, limit, taken, most) in [
            (BudgetKind::ModelCalls, model_calls, taken.model_calls, most.model_calls),
            (BudgetKind::Tokens, all_tokens, tokens(taken), tokens(most)),
            (BudgetKind::Cost, cost_micro_usd, taken.cost_micro_usd, most.cost_micro_usd),
        ] {
            if let Some(limit) = limit.filter(|limit| taken.saturating_add(most) > *limit) {
                return Err(Self { kind, limit, left: limit.saturating_sub(taken), most });
            }
        }
        Ok(())
    }
}
