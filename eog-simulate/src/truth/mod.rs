//! Generated incidents whose truth is known: who failed first, which entities that reached, and when.
//!
//! [`TruthGraph::generate`] makes one from a [`TruthSpec`] and a seed. It is plain data: the
//! declared topology, the alerts, the true origins, the true causes of everything affected, and the
//! local evidence of every entity. The same seed and spec give the same bytes on any machine.
//!
//! # What happens in a generated incident
//!
//! Entities call each other, and effects travel from callee to caller. Time is counted in whole
//! seconds from the start of the window.
//!
//! 1. Each origin is changed and fails a few seconds later.
//! 2. An entity that fails strikes each of its callers with the probability `propagation`, 1 to 10 seconds
//!    later. A caller may be struck through several callees; its first time counts as its onset.
//! 3. An origin that is struck by others after it failed shows that (an *echo*), but it fails for
//!    its own reason, and its echoes explain nothing. What would strike it before that is left out.
//! 4. Some alerts fire on affected entities and origins, half a minute to two minutes after their
//!    onset.
//!
//! # What the evidence means
//!
//! Each entity has the findings of its role, and no others. A source that is written from them
//! (metrics, traces, a change log) tells the same story.
//!
//! | finding | kind, signal, trend | peer | time | on |
//! |---|---|---|---|---|
//! | the change that broke it | `Change`, `Configuration` | – | instant, before its errors | origins |
//! | a decoy: a harmless change | `Change`, `Configuration` | – | instant, anywhere | any but origins |
//! | calls to a failing callee fail or are slow | `Span`, `Errors` or `Latency`, rising | the callee | from when the callee struck it to the end | affected entities; origins with echoes |
//! | a misleading blame: slow calls to a healthy callee | `Span`, `Latency`, rising | the callee | from after its onset to the end | some affected entities |
//! | its own error ratio or latency | `Metric`, `Errors` or `Latency`, rising | – | from its onset to the end | origins, affected entities |
//! | the other one of these two, or both, normal | `Metric`, steady | – | the whole window | everybody |
//!
//! So a *healthy* entity shows two normal metrics; an *origin* shows a change, then errors of its
//! own that precede all it could blame on others; an *affected* entity blames at least one callee
//! no later than its own errors begin. Every affected entity's evidence names all its true causes
//! as peers, declared edge or not. A change is listed first whether it is a decoy or not.
//!
//! [`TruthPolicy`] judges by just this.

pub mod evidence;
mod graph;
mod policy;
mod shape;
mod spec;
mod spread;

pub use graph::stranger;
pub use graph::{Cause, Role, TruthEntity, TruthGraph};
pub use policy::TruthPolicy;
pub use spec::{InvalidSpec, MAX_ENTITIES, Shape, TruthSpec};
