//! One configuration; the recommended and the paper's behaviour are two values of it.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::budget::Budget;

/// Every choice of the controller.
///
/// [`Config::default`] is what we recommend; [`Config::paper`] is Algorithm 1 of the paper with
/// the visit limit and cooldown of its appendix B.3.
///
/// ```
/// use eog_core::Config;
/// use eog_core::controller::Wake;
/// let config = Config { budget: eog_core::Budget::hops(40), ..Config::default() };
/// assert_eq!(config.wake, Wake::Contradicted);
/// assert_eq!(Config::paper().wake, Wake::All);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The name of the policy, for later readers. Decides nothing: a caller that resumes a ledger
    /// can check whether the same policy does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// When a belief counts as changed.
    pub change: ChangeRule,
    /// Which entities a broadcast wakes.
    pub wake: Wake,
    /// What becomes of an entity's earlier claims when it is evaluated again.
    pub claims: ClaimRule,
    /// What is counted as a flip, and what too many flips do.
    pub damping: Damping,
    /// More flips than this and the entity is damped (`k_thresh`).
    pub flip_threshold: u32,
    /// At most this many evaluations of one entity (`k_max`), if limited.
    pub max_visits: Option<u32>,
    /// At least this many other evaluations before an entity is evaluated again (`k_cool`).
    pub cooldown: u32,
    /// Which eligible entity is next.
    pub order: Order,
    /// Whether an unchanged packet is answered from memory.
    pub decision_memory: bool,
    /// Whether an entity is asked about again without new evidence.
    #[serde(default, skip_serializing_if = "AskAgain::is_always")]
    pub ask_again: AskAgain,
    /// At most this many proposals are taken from one decision, if limited.
    pub max_proposals: Option<u32>,
    /// How strictly decisions are checked.
    pub checks: Checks,
    /// Whether the ends of a new edge receive each other's last message.
    pub late_messages: bool,
    /// Whether beliefs are broadcast at all. Off is the paper's ablation without message passing.
    pub broadcast: bool,
    /// Whether, and how far, to evaluate again before the end. `None` is the paper's end: as soon
    /// as nothing is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widening: Option<Widening>,
    /// Whether a packet shows the anomalies of its entity.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anomalies_in_packets: bool,
    /// What packets include beyond evidence, neighbours and messages. `None` is what the paper's
    /// packets include.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub briefing: Option<Briefing>,
    /// At most this many entities take part.
    pub max_entities: u32,
    /// At most this many cited findings of one entity count as news.
    pub max_evidence: u32,
    /// When to stop early.
    pub budget: Budget,
    /// How many evaluations may be under way at once.
    pub concurrency: Concurrency,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            policy: None,
            change: ChangeRule::Substance,
            wake: Wake::Contradicted,
            claims: ClaimRule::Supersede,
            damping: Damping::LastWord,
            flip_threshold: 3,
            max_visits: Some(5),
            cooldown: 2,
            order: Order::Fifo,
            decision_memory: true,
            ask_again: AskAgain::Always,
            max_proposals: None,
            checks: Checks::Full,
            late_messages: true,
            broadcast: true,
            widening: Some(Widening::default()),
            anomalies_in_packets: true,
            briefing: Some(Briefing::default()),
            max_entities: 10_000,
            max_evidence: 1_000,
            budget: Budget::default(),
            concurrency: Concurrency::sequential(),
        }
    }
}

impl Config {
    /// Algorithm 1 of the paper, with the visit limit and cooldown of B.3.
    pub fn paper() -> Self {
        Self {
            change: ChangeRule::Text,
            wake: Wake::All,
            claims: ClaimRule::Accumulate,
            damping: Damping::LabelOverride,
            decision_memory: false,
            checks: Checks::UnknownEntitiesOnly,
            late_messages: false,
            widening: None,
            anomalies_in_packets: false,
            briefing: None,
            ..Self::default()
        }
    }
}

/// When a belief counts as changed, and is broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeRule {
    /// Its signature changed, or it cites local evidence it never cited before. Wording never
    /// counts.
    Substance,
    /// Its label or its summary text changed (the paper's `B_new ≠ B_old`).
    Text,
}

/// Whether an entity that was judged is asked about again although its packet holds no finding that it was not judged with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskAgain {
    /// Yes: messages alone may change a judgement, as where they carry numbers.
    #[default]
    Always,
    /// No: its last decision stands, as if it were remembered.
    NewEvidence,
}

impl AskAgain {
    fn is_always(&self) -> bool {
        *self == Self::Always
    }
}

/// Which entities a broadcast wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// Neighbours already visited whose belief is at odds with it: one of the two makes a statement
    /// about the other that the other's belief does not support. Others keep the message unread.
    AtOdds,
    /// The same, but a deferral that claims and cites nothing is at odds with no belief: it says no
    /// more than silence.
    Contradicted,
    /// Neighbours already visited; others keep the message for their first visit.
    Visited,
    /// All neighbours.
    All,
}

/// Evaluating again before the end. When nothing is active or under way, the first of these steps that
/// can activate anything does so for all it names, and the investigation goes on:
///
/// 1. [`Reason::Settle`](super::Reason::Settle)
/// 2. [`Reason::Check`](super::Reason::Check)
/// 3. [`Reason::DeadEnd`](super::Reason::DeadEnd)
/// 4. [`Reason::Widen`](super::Reason::Widen)
/// 5. [`Reason::SecondOpinion`](super::Reason::SecondOpinion)
///
/// ```
/// use eog_core::controller::Widening;
/// // What older ledgers do not name is off, so that they are replayed as they were written.
/// let before: Widening = serde_json::from_str(r#"{"origins_read": true}"#)?;
/// let newer = [before.others_named, before.unlinked_named, before.chains_read];
/// assert!(before.origins_read && newer.iter().all(|newer| !newer));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Widening {
    /// How many hops from an unexplained anomaly [`Reason::Widen`](super::Reason::Widen) goes at
    /// most; as far as the adjacency reaches, if not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radius: Option<u32>,
    /// Whether [`Reason::Settle`](super::Reason::Settle) also has origins read their messages that explain
    /// no anomaly. Off in older ledgers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub origins_read: bool,
    /// Whether [`Reason::DeadEnd`](super::Reason::DeadEnd) and [`Reason::SecondOpinion`](super::Reason::SecondOpinion)
    /// list which origins were found elsewhere, and how ([`Notice::others`](crate::contract::Notice::others)), and the
    /// latter asks each origin at least once where there are several.
    /// Off in older ledgers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(rename = "others_told")]
    pub others_named: bool,
    /// Whether the same two list which origins explain no anomaly so far, although their effects can reach the entity or an
    /// anomaly that it explains ([`Notice::unlinked`](crate::contract::Notice::unlinked)); whether the former also asks the
    /// alerting entities that are reached so (those with a claim on them when no other is left to ask), and the latter asks
    /// each origin at least once to which it would list one. What joins such an origin with an anomaly is for policies to judge:
    /// parts that have nothing to do with an alert fail all the time, as pods do. Off in older ledgers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(rename = "unlinked_told")]
    pub unlinked_named: bool,
    /// Whether [`Reason::Settle`](super::Reason::Settle) also has entities that lead to an unexplained anomaly read
    /// the latest message of their own cause. Off in older ledgers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chains_read: bool,
    /// Whether [`Reason::Settle`](super::Reason::Settle) also has every entity read its messages whose own belief has
    /// numbers ([`Belief::measures`](crate::Belief::measures)): these depend on the numbers of its neighbours. Off in
    /// older ledgers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub numbers_read: bool,
}

impl Default for Widening {
    /// As far as the adjacency reaches, with all that may be read and listed.
    fn default() -> Self {
        Self {
            radius: None,
            origins_read: true,
            others_named: true,
            unlinked_named: true,
            chains_read: true,
            numbers_read: true,
        }
    }
}

/// What packets include beyond evidence, neighbours and messages, and how much a decision may ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Briefing {
    /// Whether they include what was believed of the entity before, and whose messages are new.
    pub former: bool,
    /// Whether they list the neighbours of which anomalies and changes are known.
    pub hints: bool,
    /// At most this many findings that messages rest on are quoted.
    pub quotes: u32,
    /// At most this many further pages of one entity's context are given to decisions that ask for
    /// them, in each epoch.
    pub pages: u32,
    /// Whether they list which anomalies effects of the entity can reach. Off in older ledgers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reach: bool,
    /// At most this many [queries](crate::contract::Decision::query) of decisions on one entity are answered, in each epoch.
    /// Pages and queries are counted together, and either is given while the count is below its own limit. None by default:
    /// each costs a decision.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queries: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Default for Briefing {
    fn default() -> Self {
        Self { former: true, hints: true, quotes: 12, pages: 4, reach: true, queries: 0 }
    }
}

/// What becomes of earlier claims when an entity is evaluated again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimRule {
    /// The new claims replace them.
    Supersede,
    /// They stay; claims are only ever added.
    Accumulate,
}

/// What is counted as a flip, and what too many flips do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Damping {
    /// A flip is a change of signature. It is counted, then tested; a damped entity is `Defer`,
    /// keeps the claims of its last decision, and is never evaluated again.
    Absorbing,
    /// The same, but its last decision stands. A damped origin counts as none as long as an entity is left to evaluate, and
    /// is named only if no other origin explains any anomaly.
    LastWord,
    /// A flip is a change of label, tested before counting. The label is overridden to `Defer`,
    /// the policy is still called.
    LabelOverride,
}

/// Which eligible entity is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// First activated, first evaluated.
    Fifo,
    /// Unread label changes first, then near the seeds, then first activated.
    Priority,
    /// A permutation of those that are eligible, another for each seed: to see how far a result
    /// depends on the order.
    Permuted {
        /// Derives every permutation.
        seed: u64,
    },
}

/// How strictly decisions are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checks {
    /// All checks of the specification.
    Full,
    /// Only unknown entities are refused.
    UnknownEntitiesOnly,
}

/// How many evaluations may be under way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Concurrency {
    /// A window of this many dispatched evaluations, committed in dispatch order.
    Window(NonZeroU32),
}

impl Concurrency {
    /// One at a time.
    pub fn sequential() -> Self {
        Self::Window(NonZeroU32::MIN)
    }
}
