//! The deterministic, I/O-free controllers of eog, and the vocabulary they speak.
//!
//! An investigation starts at the alerts, walks a dependency graph, keeps a belief for each entity,
//! passes belief messages between neighbours, revises what was wrong, and ends with the irreducible
//! origins that explain the alerts. [`Controller`] implements *Explanations over Graphs* (Jha et al.,
//! 2026), with every choice that the paper leaves open made once, in [`Config`].
//!
//! # How to read this
//!
//! 1. Input: a [`Case`] ([`incident`]) with its alerts and topology.
//! 2. Questions: a [`ContextContract`] for the [evidence](`evidence`) on one entity, then an
//!    [`AbductivePolicy`] for a [`Decision`] on what it means ([`contract`]).
//! 3. What to evaluate next and what follows is decided by a [`Machine`] ([`machine`]), such as the
//!    [`Controller`] ([`controller`]) or the [`Linear`] loop ([`linear`]).
//! 4. Record: a [`Ledger`] of entries, which can be replayed step by step ([`ledger`]).
//! 5. Result: a [`Diagnosis`] ([`diagnosis`]).
//!
//! ```
//! use eog_core::{
//!     Case, Config, ContextAndPolicy, Controller, Decision, EntityId, InMemoryContext, Label, Machine,
//!     Seed, Topology, Window, machine, policy_fn,
//! };
//!
//! let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
//! let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
//! case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "a hunch".into() });
//!
//! let world = ContextAndPolicy {
//!     contract: InMemoryContext::default(),
//!     policy: policy_fn(|packet| {
//!         Decision::new(Label::Healthy, format!("nothing unusual on {}", packet.entity))
//!     }),
//! };
//! let mut controller = Controller::open(Config::default(), case);
//! machine::drive(&mut controller, &world)?;
//!
//! let diagnosis = controller.diagnosis();
//! assert_eq!(diagnosis.beliefs[&EntityId::new("cart")?].summary, "nothing unusual on cart");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Package `eog` drives machines on tokio, with a journal, time-outs and retries.
//!
//! With the feature `petgraph`, the module `graph` makes a [`Topology`] of any graph of that crate, and
//! gives topologies and explanations as such graphs.
//!
//! # The one rule for callers
//!
//! Feed one [`Input`], then drain [`Machine::poll`] until it returns [`Output::Idle`] or
//! [`Output::Done`]. The example on [`Controller`] is a whole driver.
//!
//! - [`Output::Append`]: store the entry, then say [`Input::Appended`]. Nothing that follows from an
//!   entry leaves the machine before that.
//! - [`Output::Ask`]: answer the question, then say [`Input::Answer`] or [`Input::Failed`].
//!
//! # Literal and open structs
//!
//! What callers build is a plain struct with public fields ([`Case`], [`Config`], [`Decision`], …),
//! with [`Default`] where there is one: a further field is a breaking change. What this crate hands
//! out and may grow is `#[non_exhaustive]` ([`Diagnosis`], errors). [`Input`], [`Output`] and
//! [`Label`] are exhaustive on purpose: a driver that does not know one of them would never finish.
//!
//! # The frontier
//!
//! An origin is *irreducible* when no origin of another strongly connected component of live claims
//! explains it over a chain of claims that is consistent in time. Such chains do not compose: what
//! explains an origin need not explain what that one does. So an origin that another one explains stays in
//! the frontier if it alone explains an alert, and the frontier explains all that any origin does
//! ([`Conclusion`]). Without times there is none that has to stay. Origins that were damped
//! ([`Damping::LastWord`](controller::Damping::LastWord)) are none of this as long as another origin explains an alert.
//!
//! # Termination
//!
//! Let `V` be the entities that were ever activated, `deg(v)` the number of entities that `v` is
//! joined with at the end (edges that were removed on the way count), and `c(v)` how often `v`
//! broadcast its belief. Without observations, [`Config::default`] without a visit limit performs
//! at most
//!
//! ```text
//! |V| + Σ_v c(v) · deg(v) + 5 · |V|   evaluations,
//!                       with   c(v) ≤ 1 + (k_thresh + 1) + |evidence of v|.
//! ```
//!
//! *Proof.* An entity waits at most once, so each evaluation uses up one activation. Seeds, claims,
//! proposals, `Check` and `Widen` activate only entities never evaluated before: at most `|V|`
//! activations. A wake and a late message come from a message that has just reached an entity
//! evaluated before. `Settle` comes from an unread message to an entity whose last evaluation did not
//! fail; that message has caused no activation yet, for an evaluation that does not fail reads all
//! there are, and after one that fails there is no `Settle`. One broadcast of `v` reaches each
//! neighbour at most once: at once, or late, when an edge first joins the two. So the broadcasts of
//! `v` cause at most `c(v) · deg(v)` activations of these three kinds. `DeadEnd` activates an entity
//! at most twice, `SecondOpinion` at most three times: at most `5 · |V|` activations.
//!
//! A belief is broadcast when it is the first one (once), when its signature changed, or when it
//! cites local evidence never cited before. A changed signature is a flip; the flip that exceeds
//! `k_thresh` damps the entity, which is never evaluated again, so there are at most `k_thresh + 1`.
//! Each broadcast for new evidence uses up at least one id, so there are at most as many as `v` has
//! evidence, and at most [`Config::max_evidence`]. A failed evaluation broadcasts nothing. ∎
//!
//! A decision that asks for the next page of its context or for a search is no judgement: it is no visit,
//! changes no belief and sends nothing, and the same evaluation goes on. Each of them adds one evaluation, at most
//! the larger of [`Briefing::pages`](controller::Briefing::pages) and
//! [`Briefing::queries`](controller::Briefing::queries) for an entity, to this bound and to the next.
//!
//! Without [`Config::widening`] the last term is gone. Which entities a broadcast wakes
//! ([`Wake::AtOdds`](controller::Wake::AtOdds) or [`Wake::Visited`](controller::Wake::Visited)) makes
//! no difference to the bound.
//!
//! With a visit limit `k_max` there are at most `k_max · |V|` evaluations, whatever the policy does;
//! with a budget of `H` hops, at most `H` that are not answered from memory. Observations begin a
//! new epoch for the entities they touch: the bounds hold for each epoch, plus one evaluation for
//! each re-activation. [`Config::paper`] without a visit limit has no bound: a policy that rewords
//! its summary is broadcast without end. The property tests check all of this as numbers.

pub mod belief;
mod budget;
mod checks;
pub mod contract;
pub mod controller;
pub mod diagnosis;
mod digest;
pub mod evidence;
#[cfg(feature = "petgraph")]
pub mod graph;
mod ids;
pub mod incident;
pub mod ledger;
pub mod linear;
mod live_claims;
pub mod machine;
#[cfg(feature = "planted-faults")]
#[doc(hidden)]
pub mod planted;
#[cfg(feature = "schema")]
mod schema;
mod state;
mod stop;

pub use belief::{Belief, Claim, Label, Measures, Message};
pub use budget::{Budget, BudgetKind, Spent, Usage};
pub use contract::{
    AbductivePolicy, Answer, BoxFuture, ContextContract, ContextPacket, ContextRequest, Decision,
    Failure, InMemoryContext, LocalContext, Proposal, policy_fn, try_policy_fn,
};
pub use controller::{Config, Controller};
pub use diagnosis::{Conclusion, Confidence, Diagnosis};
pub use digest::Digest;
pub use evidence::{EvidenceKind, Finding};
pub use ids::{EntityId, EvidenceId, InvalidId, MAX_ENTITY_ID_BYTES};
pub use incident::{Anomaly, Case, Seed, Topology, Window};
pub use jiff::Timestamp;
pub use ledger::{Entry, Ledger, Replay};
pub use linear::{Linear, LinearConfig};
pub use machine::{ContextAndPolicy, Input, Machine, Output};
#[cfg(feature = "schema")]
pub use schema::json_schema;
pub use stop::{StopReason, Unreachable};
