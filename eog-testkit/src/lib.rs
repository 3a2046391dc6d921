//! Unit-test what you plug into eog: policies, context contracts, whole investigations.
//!
//! - **Build** a situation in a line: [`entity`], [`window`], [`finding`], [`topology`],
//!   [`alert`], [`case`], [`packet`], [`claim`].
//! - **Answer** like a policy: [`policy_fn`], [`TablePolicy`]; give evidence
//!   with [`MemoryContext`]; disturb either with [`Faulty`]; watch either with [`Recorder`].
//! - **Run** without a runtime: [`ask`] for one policy call, [`run`] for an investigation,
//!   [`drive`] to go on with one. Where waiting matters, use [`eog::Engine`].
//! - **Store** on a disk that fails and crashes on demand: [`SimDisk`], [`SimFolders`].
//! - **Generate** incidents whose origins are known: [`truth`]. Judge and disturb them from one seed: [`sim`].
//!   Run the whole fault simulator: [`sim::simulate`].
//! - **Draw** topologies, cases, evidence and policies that do their worst, in property tests: `prop`.
//! - **Bound** any of it in a line: [`assert_bounds`].
//! - **Assert** on what happened: [`assert_that`]. A failed assertion prints the ledger lines it
//!   is about, as [`render`] writes them.
//!
//! ```
//! use eog_testkit::{
//!     MemoryContext, alert, assert_that, case, finding, origin, policy_fn, run, symptom_of,
//!     topology,
//! };
//! use eog::evidence::Signal;
//! use eog::{Config, EvidenceKind, Label};
//!
//! // The situation: a frontend fails since its database was changed.
//! let case = case(topology("web calls db"), [alert("web", "HttpErrors", "10:05")]);
//! let contract = MemoryContext::default()
//!     .with(finding("web").kind(EvidenceKind::Span).signal(Signal::Errors))
//!     .with(finding("db").change("pool.size", "50", "5").at("10:04"));
//!
//! // The policy under test.
//! let policy = policy_fn(|packet| {
//!     let changed = packet.context.findings.iter().any(|f| f.kind == EvidenceKind::Change);
//!     if changed { origin(packet) } else { symptom_of(packet, "db") }
//! });
//!
//! let run = run(Config::default(), case, &contract, &policy);
//! assert_that(&run)
//!     // Before the end, what web has not read yet is read, and the cause is asked again.
//!     .evaluated(["web", "db", "web", "db"])
//!     .ends_with_label("web", Label::Symptom)
//!     .claims("db", "web")
//!     .frontier(["db"])
//!     .converged()
//!     .is_intact();
//! ```
//!
//! Builders and assertions take literals of a test and panic, at the line of the test, when these
//! make no sense. Nothing here reads a clock; random numbers come from a [`RandomSeed`] alone.

mod assert;
mod bounds;
mod calls;
mod decisions;
mod disk;
mod fault;
mod faulty;
mod findings;
mod folders;
mod memory;
mod names;
mod packets;
#[cfg(feature = "proptest")]
pub mod prop;
mod recorder;
mod render;
mod run;
pub mod sim;
mod table;
mod topologies;

use eog_simulate::random;
pub use eog_simulate::{RandomSeed, Stream, truth};

pub use assert::{Asserted, Assertion, Concluded, assert_that};
pub use bounds::{Bound, BrokenBound, assert_bounds, check_bounds};
pub use calls::Call;
pub use decisions::{claim, deferred, healthy, origin, symptom_of};
pub use disk::SimDisk;
pub use eog::machine::PlainError;
pub use eog::{policy_fn, try_policy_fn};
pub use faulty::Faulty;
pub use findings::{FindingBuilder, finding};
pub use folders::SimFolders;
pub use memory::MemoryContext;
pub use names::{at, entity, hour, window};
pub use packets::{PacketBuilder, belief, packet};
pub use recorder::Recorder;
pub use render::{render, render_entry};
pub use run::{ask, drive, run, try_run};
pub use table::{Rule, TablePolicy, on, on_any};
pub use topologies::{alert, case, seeded, topology};
