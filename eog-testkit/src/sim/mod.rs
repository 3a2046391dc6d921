//! The fault simulator, and its disturbed world: policies and contexts that go wrong as a seed
//! says. [`simulate`] puts everything together: crashes, disks, time, and all invariants.
//!
//! | wrapper | goes wrong by | how |
//! |---|---|---|
//! | [`Erring`] | seed, packet | decides wrongly; stateless |
//! | [`Rewording`] | packet | says the same in words that hang on the inbox; stateless |
//! | [`Unreliable`] | seed, packet, attempt | fails, hangs, panics, answers nonsense |
//! | [`Delayed`] | seed, question | answers late, on tokio's clock; policies and contracts |
//! | [`World`] | seed, request, attempt | a context contract over a [`TruthGraph`](crate::truth::TruthGraph) that fails, hangs, or shows wrong evidence |
//!
//! Whatever goes wrong hangs on the question and never on the order of calls, so that a run can be
//! repeated at any width. Attempts are counted for each question: asking again may succeed, unless the wrapper is `steady`.
//! [`Unreliable`], [`World`] and [`Delayed`] obey a [`FaultSwitch`]: with faults off, everything
//! is answered well and at once. To make one chosen call of a test go wrong, use
//! [`Faulty`](crate::Faulty).
//!
//! ```
//! use eog::ledger::Observation;
//! use eog::{Config, Input};
//! use eog_testkit::sim::{FaultSwitch, Unreliable, PolicyRates, World, WorldRates};
//! use eog_testkit::truth::{TruthGraph, TruthPolicy, TruthSpec};
//! use eog_testkit::{drive, run};
//!
//! // Three in ten contexts and decisions go wrong (but none hangs: that needs an engine) …
//! let truth = TruthGraph::generate(&TruthSpec::default(), 7)?;
//! let faults = FaultSwitch::default();
//! let rates = WorldRates { hang: 0.0, ..WorldRates::evenly(0.3) };
//! let world = World::new(truth, rates, 7).with_switch(faults.clone());
//! let rates = PolicyRates { fail: 0.15, garbage: 0.15, ..PolicyRates::default() };
//! let policy = Unreliable::new(TruthPolicy, rates, 7).with_switch(faults.clone());
//! let mut run = run(Config::default(), world.truth().case(), &world, &policy);
//!
//! // … then all is well again, and all entities are evaluated anew.
//! faults.turn_off();
//! world.recover();
//! for (entity, _) in world.truth().entities() {
//!     let news = Observation::NewEvidence(entity.clone());
//!     run.machine.handle(Input::Observe(news))?;
//! }
//! drive(&mut run.machine, &world, &policy)?;
//! let found = run.machine.conclusion().frontier.into_iter().flat_map(|group| group.origins);
//! assert_eq!(found.collect::<Vec<_>>(), Vec::from_iter(world.truth().linked_origins()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attempts;
mod delayed;
mod erring;
mod invariants;
mod muted;
mod nonsense;
mod rewording;
mod simulation;
mod switch;
mod unreliable;
mod world;

pub use attempts::Calls;
pub use delayed::Delayed;
pub use erring::Erring;
pub use invariants::Violation;
pub use muted::mute_drawn_panics;
pub use rewording::Rewording;
pub use simulation::{Figures, Summary, simulate};
pub use switch::FaultSwitch;
pub use unreliable::{PolicyRates, Unreliable};
pub use world::{World, WorldRates};
