//! Simulated incidents whose causes are known.
//!
//! - [`truth`]: incidents on a generated call graph, as plain data, with a policy that finds their
//!   causes. [`TruthGraph::generate`](truth::TruthGraph::generate) makes one from a spec and a seed.
//! - [`snapshot`]: complete Kubernetes snapshots in the ITBench layout, written from a ground truth.
//! - [`Scenario`]: a ground truth as its file gives it.
//! - [`random`]: everything random, derived from one seed.
//!
//! Nothing here reads a clock. Equal inputs and seeds give equal bytes on any machine.

mod clock;
pub mod files;
pub mod random;
mod reach;
mod scenario;
pub mod snapshot;
pub mod truth;
mod yaml;

pub use random::{RandomSeed, Stream};
pub use scenario::{Scenario, ScenarioEntity, ScenarioGroup, ScenarioPropagation, Scenarios};
