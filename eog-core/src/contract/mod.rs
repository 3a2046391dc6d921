//! The two traits that connect the controller to the world: the source of contexts, and the
//! policy that judges them. Async in form, free of any runtime.

mod in_memory;
pub(crate) mod packet;
mod policy_fn;

pub use in_memory::InMemoryContext;
pub use packet::{
    Alternative, CandidateScore, ContextPacket, Coverage, Decision, EvidenceQuery, FALLBACK_RULE,
    FormerBelief, Hint, LocalContext, NamedOrigin, Notice, NoticeReason, Proposal, Reach, Route,
    Term,
};
pub use policy_fn::{policy_fn, try_policy_fn};

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::belief::{Belief, Label};
use crate::budget::{BudgetKind, Usage};
use crate::ids::EntityId;
use crate::incident::window::Window;

/// A boxed future that any runtime can drive.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the controller asks of a context contract.
///
/// The paper's tool takes the first three fields; a source that cannot use the others ignores
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextRequest {
    /// The entity to describe.
    pub entity: EntityId,
    /// The window under investigation.
    pub window: Window,
    /// Which page of the context, counted from 1; 0 asks for all of them at once.
    pub page: u32,
    /// How often the entity is being visited, counted from 1.
    pub visit: u32,
    /// Neighbours whose messages are new since the last visit. A contract may return more about
    /// exactly these relations (paper §4.4, t=4).
    pub changed_neighbours: BTreeSet<EntityId>,
    /// What to search for in place of a page, if a decision asked for that and
    /// [`Briefing::queries`](crate::controller::Briefing::queries) allows it. [`EvidenceQuery::answer`] makes the answer
    /// from findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<EvidenceQuery>,
}

impl ContextRequest {
    /// Everything in one context: what a first visit shows, and what later ones add on the relations
    /// with these neighbours. For callers that evaluate an entity once, and would never see the rest.
    pub fn whole(
        entity: EntityId,
        window: Window,
        neighbours: impl IntoIterator<Item = EntityId>,
    ) -> Self {
        Self {
            entity,
            window,
            page: 1,
            visit: 2,
            changed_neighbours: neighbours.into_iter().collect(),
            query: None,
        }
    }
}

/// The only way evidence reaches a policy (paper §4.1: the Context Contract).
///
/// ```
/// use eog_core::{BoxFuture, ContextContract, ContextRequest, Failure, LocalContext};
/// struct Nothing;
/// impl ContextContract for Nothing {
///     fn get_context<'a>(
///         &'a self,
///         _request: &'a ContextRequest,
///     ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
///         Box::pin(async { Ok(LocalContext::default()) })
///     }
/// }
/// ```
pub trait ContextContract: Send + Sync {
    /// Local evidence on one entity, bounded and ordered by relevance.
    ///
    /// # Errors
    /// A [`Failure`] is recorded in the ledger and the investigation goes on.
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>>;
}

/// Decides what one entity's local evidence means (paper §4.1: the Abductive Policy).
///
/// Stateless: it sees the packet alone, and equal packets should get equal decisions.
///
/// ```
/// use eog_core::{
///     AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, Failure, Label,
/// };
/// struct Optimist;
/// impl AbductivePolicy for Optimist {
///     fn decide<'a>(
///         &'a self,
///         _packet: &'a ContextPacket,
///     ) -> BoxFuture<'a, Result<Answer, Failure>> {
///         Box::pin(async { Ok(Decision::new(Label::Healthy, "all is well").into()) })
///     }
/// }
/// ```
pub trait AbductivePolicy: Send + Sync {
    /// Judges one packet.
    ///
    /// # Errors
    /// A [`Failure`] is recorded in the ledger and the investigation goes on.
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>>;

    /// How long one attempt at a decision may take, if the policy overrides the engine's default. A
    /// limit that the user sets takes precedence.
    ///
    /// A policy that sends several requests for one decision, each with its own time-out, returns
    /// [`Duration::MAX`]. A policy that wraps another one returns that one's value.
    fn timeout(&self) -> Option<Duration> {
        None
    }
}

macro_rules! forward_to_inner {
    ($($outer:ty),*) => {$(
        impl<T: ContextContract + ?Sized> ContextContract for $outer {
            fn get_context<'a>(
                &'a self,
                request: &'a ContextRequest,
            ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
                (**self).get_context(request)
            }
        }

        impl<T: AbductivePolicy + ?Sized> AbductivePolicy for $outer {
            fn decide<'a>(
                &'a self,
                packet: &'a ContextPacket,
            ) -> BoxFuture<'a, Result<Answer, Failure>> {
                (**self).decide(packet)
            }

            fn timeout(&self) -> Option<Duration> {
                (**self).timeout()
            }
        }
    )*};
}

forward_to_inner!(&T, Box<T>, std::sync::Arc<T>);

/// A decision and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The decision.
    pub decision: Decision,
    /// What it cost.
    pub usage: Usage,
    /// The author of the decision, such as the name of a model. Operational, like the usage.
    pub model: Option<String>,
    /// Whether the decision was made in an earlier run and only looked up now. Operational.
    pub remembered: bool,
}

impl From<Decision> for Answer {
    fn from(decision: Decision) -> Self {
        Self { decision, usage: Usage::default(), model: None, remembered: false }
    }
}

/// Why there is no context or no decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(deny_unknown_fields)]
#[error("{kind}: {message}")]
pub struct Failure {
    /// What failed.
    pub kind: FailureKind,
    /// What went wrong, for people.
    pub message: String,
    /// What the failed attempt cost all the same.
    #[serde(skip)]
    pub usage: Usage,
    /// Whether another attempt may help, as when a service is busy. Operational, like the usage.
    #[serde(skip)]
    pub transient: bool,
    /// The budget that forbids the call, if that is the reason: the investigation ends with what it
    /// has found, and this question is asked again when it goes on with more. Operational.
    #[serde(skip)]
    pub exhausted: Option<BudgetKind>,
    /// How long to wait before asking again, if the failing side said so.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure that cost nothing, and that another attempt would not fix.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            usage: Usage::default(),
            transient: false,
            exhausted: None,
            retry_after: None,
        }
    }

    /// The same failure, which another attempt may fix: the engine tries again after a while.
    ///
    /// ```
    /// use eog_core::Failure;
    /// use std::time::Duration;
    /// let busy = Failure::policy("too many requests").transient();
    /// assert!(busy.transient);
    /// let until = Failure { retry_after: Some(Duration::from_secs(20)), ..busy };
    /// ```
    #[must_use]
    pub fn transient(self) -> Self {
        Self { transient: true, ..self }
    }

    /// The same failure, for want of budget: the investigation ends with what it has found.
    #[must_use]
    pub fn for_want_of(self, budget: BudgetKind) -> Self {
        Self { exhausted: Some(budget), ..self }
    }

    /// What belongs into the ledger: what failed and why, and nothing operational.
    pub fn as_recorded(&self) -> Self {
        Self::new(self.kind, self.message.clone())
    }

    /// The belief about an entity without any evidence.
    pub(crate) fn as_belief(&self) -> Belief {
        let what = if self.kind.is_context() { "context" } else { "decision" };
        let summary = format!("not evaluated: no {what} could be had");
        Belief {
            label: Label::Defer,
            summary,
            evidence: Vec::new(),
            claims: Vec::new(),
            since: None,
            explains: None,
            rule: None,
            measures: None,
        }
    }

    /// A failure of the context source.
    pub fn context(message: impl Into<String>) -> Self {
        Self::new(FailureKind::ContextFailed, message)
    }

    /// A failure of the policy.
    pub fn policy(message: impl Into<String>) -> Self {
        Self::new(FailureKind::PolicyFailed, message)
    }

    /// The same failure as one of a context contract, whatever it calls itself: a contract cannot
    /// report a failure of the policy.
    #[must_use]
    pub fn of_contract(self) -> Self {
        if self.kind.is_context() {
            self
        } else {
            Self { kind: FailureKind::ContextFailed, ..self }
        }
    }

    /// The same failure as one of a policy, whatever it calls itself: a policy cannot report a
    /// failure of the contract.
    #[must_use]
    pub fn of_policy(self) -> Self {
        if self.kind.is_context() { Self { kind: FailureKind::PolicyFailed, ..self } } else { self }
    }
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The context could not be fetched.
    ContextFailed,
    /// The context did not come in time.
    ContextTimedOut,
    /// The policy returned an error, or output that stayed invalid after its one correction.
    PolicyFailed,
    /// The policy did not answer in time.
    PolicyTimedOut,
}

impl FailureKind {
    /// Whether there was no context, rather than no decision.
    pub fn is_context(self) -> bool {
        matches!(self, Self::ContextFailed | Self::ContextTimedOut)
    }
}

impl std::fmt::Display for FailureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ContextFailed => "no context",
            Self::ContextTimedOut => "no context in time",
            Self::PolicyFailed => "no decision",
            Self::PolicyTimedOut => "no decision in time",
        })
    }
}
