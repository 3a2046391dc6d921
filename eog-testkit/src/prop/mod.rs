//! Property tests: strategies for [proptest](https://docs.rs/proptest) that draw topologies, cases,
//! evidence and policies that do their worst. With the feature `proptest`, which is on by default.
//!
//! | strategy | draws |
//! |---|---|
//! | [`topologies`] | a dependency graph, with cycles and self-loops |
//! | [`cases`] | one with alerts and starts |
//! | [`worlds`] | one with evidence to show, and a policy that is right or wrong |
//! | [`adversaries`] | a policy and a context contract that keep an investigation busy by every [`Trick`] |
//! | [`configs`] | settings of the controller |
//!
//! One line in a test then checks every bound that the algorithm states:
//! [`assert_bounds`](crate::assert_bounds). A failure shrinks to a small case and is printed in the words
//! that [`topology`](crate::topology) and [`alert`](crate::alert) take, so that it can become a test of its
//! own.
//!
//! ```
//! use eog::Config;
//! use eog_testkit::{assert_bounds, prop, run};
//! use proptest::prelude::*;
//!
//! proptest! {
//!     // With #[test] on it, in a test.
//!     fn no_trick_breaks_a_bound(
//!         case in prop::cases(),
//!         adversary in prop::adversaries(),
//!         config in prop::configs(),
//!     ) {
//!         assert_bounds(&run(config, case.0, &adversary, &adversary));
//!     }
//! }
//! no_trick_breaks_a_bound();
//! ```

mod adversary;
#[doc(hidden)]
pub mod parts;
mod settings;
mod show;
mod world;

pub use adversary::{Adversary, Trick, adversaries};
pub use settings::configs;
pub use show::{DrawnCase, DrawnTopology};
pub use world::{World, worlds};

use eog::Case;
use proptest::prelude::*;

use parts::{anomaly, edges, name, topology, window};

/// Dependency graphs of up to six entities.
///
/// ```
/// use eog_testkit::prop;
/// use proptest::prelude::*;
/// proptest! {
///     fn neighbours_are_mutual(topology in prop::topologies()) {
///         for entity in topology.0.entities() {
///             for row in topology.0.neighbours(entity) {
///                 let back = topology.0.neighbours(&row.entity);
///                 prop_assert!(back.iter().any(|back| back.entity == *entity));
///             }
///         }
///     }
/// }
/// neighbours_are_mutual();
/// ```
pub fn topologies() -> impl Strategy<Value = DrawnTopology> {
    let size = 1..=6usize;
    size.prop_flat_map(|size| {
        edges(size).prop_map(move |edges| DrawnTopology(topology(size, &edges)))
    })
}

/// A topology with up to three alerts, an investigation that starts at them and up to two more starts.
pub fn cases() -> impl Strategy<Value = DrawnCase> {
    let size = 1..=6usize;
    size.prop_flat_map(|size| {
        let alerts = prop::collection::vec((0..size, 1..50u8), 1..4);
        let seeds = prop::collection::vec(0..size, 0..3);
        (edges(size), alerts, seeds).prop_map(move |(edges, alerts, seeds)| {
            let alerts = alerts.into_iter().map(|(entity, minute)| anomaly(name(entity), minute));
            let case = Case::from_anomalies(topology(size, &edges), window(), alerts.collect());
            let seeded = |case: Case, seed| case.with_seed(name(seed), "drawn");
            DrawnCase(seeds.into_iter().fold(case, seeded))
        })
    })
}
