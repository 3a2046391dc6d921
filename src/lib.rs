//! Root causes of an incident by explanations over graphs: the async engine.
//!
//! It drives the controller of [`eog_core`], whose whole vocabulary this crate exports again: asks a
//! [`ContextContract`] for evidence and an [`AbductivePolicy`] for decisions, within [`Limits`], and stores
//! every step before its effect.
//!
//! - **Run** one investigation: [`Engine::investigate`]. Any number at once over one contract and policy,
//!   each with its own [`Running`]: [`Engine::share`] and [`Engine::start`].
//! - **Watch and steer**: [`events`], [`handle`].
//! - **Store, resume, fork**: [`Journal`], [`Engine::resume`], [`Engine::fork`]. What calls took and cost:
//!   [`side`].
//! - **Look back**: [`travel`] explains labels and compares ledgers; [`stress`] measures how much depends on the order.
//! - **Policies** of other kinds: [`CommandPolicy`] asks a program, [`DecisionMemory`] remembers answers.
//! - **Several processes**: [`purse`] is what they may spend together, [`memory::DecisionStore`] what they remember together.
//!
//! ```
//! use eog::{Case, Config, Decision, Engine, InMemoryContext, Label, Topology, Window, policy_fn};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
//! let case = Case::from_anomalies(Topology::default(), window, vec![])
//!     .with_seed("cart".parse()?, "a hunch");
//! let policy = policy_fn(|_| Decision::new(Label::Healthy, "nothing unusual"));
//! let finished =
//!     Engine::new(InMemoryContext::default(), policy).investigate(Config::default(), case).await;
//! println!("{}: {}", finished.stop, finished.conclusion());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the feature `petgraph`, the module `graph` makes topologies of its graphs, and graphs of explanations.

mod command;
/// For the crates of this workspace.
#[doc(hidden)]
pub mod durable;
mod engine;
mod events;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod handle;
pub mod journal;
pub mod memory;
/// For the crates of this workspace.
#[doc(hidden)]
pub mod processes;
pub mod purse;
mod running;
pub mod side;
pub mod stress;
pub mod travel;

pub use command::CommandPolicy;
pub use engine::{Engine, Finished, Limits, Retry, Speculation, SpeculationFigures};
pub use eog_core::*;
pub use events::{EVENT_BUFFER, Event, EventSender, EventStream, events};
pub use handle::{Controls, Handle, handle};
pub use journal::Journal;
pub use memory::{DecisionMemory, Remembering};
pub use purse::Purse;
pub use running::{Lost, Running};
pub use side::CallRecorder;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Compiles the guide to embedding.
#[cfg(doctest)]
#[doc = include_str!("../docs/embedding.md")]
struct Embedding;
