//! How much an engine may do at once, how long calls may take, and how often they are retried.

use std::num::NonZeroU32;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

/// The time-out of one attempt at a policy call if neither the user nor the policy sets one.
pub(super) const POLICY_TIMEOUT: Duration = Duration::from_secs(120);
/// The longest wait between two attempts that a failure may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// How long calls may take, and how many may be under way.
///
/// None of this decides a result: a ledger that ends by [`Converged`](crate::StopReason::Converged)
/// or by hops is the same under any limits, if equal questions get equal answers.
///
/// ```
/// use eog::Limits;
/// use std::num::NonZeroU32;
/// // A model that takes at most four requests at a time.
/// let limits = Limits { policy_calls: NonZeroU32::new(4), ..Limits::default() };
/// assert_eq!(limits.retry.attempts.get(), 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One fetch of a local context.
    pub context_timeout: Duration,
    /// One attempt at a policy call. If `None`, the policy's own value
    /// ([`AbductivePolicy::timeout`](crate::AbductivePolicy::timeout)), else 120 seconds.
    pub policy_timeout: Option<Duration>,
    /// After this time of the run nothing more is begun, if limited: no evaluation, and no further
    /// attempt at a call. What is under way then is still awaited and committed.
    pub deadline: Option<Duration>,
    /// At most this many fetches of contexts at once, if limited.
    pub context_calls: Option<NonZeroU32>,
    /// At most this many calls of the policy at once, if limited.
    pub policy_calls: Option<NonZeroU32>,
    /// How transient failures are retried.
    pub retry: Retry,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            context_timeout: Duration::from_secs(60),
            policy_timeout: None,
            deadline: None,
            context_calls: None,
            policy_calls: None,
            retry: Retry::default(),
        }
    }
}

/// How often a call is retried after a transient failure
/// ([`Failure::transient`](crate::Failure::transient)). Time-outs are not retried.
///
/// The wait doubles with each attempt; a part of it is drawn by the name of the entity, so that
/// calls which fail together do not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in all; 1 is never to try again.
    pub attempts: NonZeroU32,
    /// The wait before the second attempt.
    pub first_delay: Duration,
    /// The longest wait, unless a failure asks for a longer one (at most ten minutes).
    pub max_delay: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: NonZeroU32::MIN.saturating_add(2),
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
        }
    }
}

impl Retry {
    /// Every call is tried once.
    pub fn never() -> Self {
        Self { attempts: NonZeroU32::MIN, ..Self::default() }
    }

    /// The waits before the second attempt, the third, and so on.
    pub(super) fn delays(self, seed: u64) -> impl Iterator<Item = Duration> {
        let further = usize::try_from(self.attempts.get() - 1).unwrap_or(usize::MAX);
        ExponentialBuilder::new()
            .with_min_delay(self.first_delay)
            .with_max_delay(self.max_delay)
            .with_max_times(further)
            .with_jitter()
            .with_jitter_seed(seed)
            .build()
    }
}

/// The wait that a failure asks for, or the one that is due, whichever is longer.
pub(super) fn wait(due: Duration, asked_for: Option<Duration>) -> Duration {
    due.max(asked_for.unwrap_or_default().min(LONGEST_WAIT))
}

/// Asking ahead: what will probably be asked next is asked while earlier answers are awaited.
///
/// An early answer is used only if its question turns out to be the one that is asked at its turn,
/// so the ledger has the same bytes as without. Questions that do not come up are waste: what their
/// answers cost counts against the budgets of tokens and money. A call is cut short when its
/// question is outdated; what it had cost by then is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speculation {
    /// Evaluations that are considered at a time, with the one whose turn it is.
    pub width: NonZeroU32,
    /// At most so many policy calls are wasted: when all early calls that were not used yet would
    /// add up to it, nothing more is asked ahead.
    pub max_wasted_calls: u64,
}

impl Speculation {
    /// This many evaluations at a time, and at most 100 wasted calls.
    pub fn of(width: NonZeroU32) -> Self {
        Self { width, max_wasted_calls: 100 }
    }
}

/// The result of asking ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpeculationFigures {
    /// Policy calls that were made ahead of their turn.
    pub early_calls: u64,
    /// Those whose answer was used.
    pub used_calls: u64,
    /// Those whose answer was not.
    pub wasted_calls: u64,
    /// Fetches of contexts that were made ahead of their turn and not used.
    pub wasted_fetches: u64,
}
