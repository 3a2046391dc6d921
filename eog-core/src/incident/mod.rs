//! The input of an investigation: what is abnormal, in which dependency graph, in which window, and where
//! to start.

pub(crate) mod case;
pub(crate) mod topology;
pub(crate) mod window;

pub use case::{Anomaly, Bootstrap, Case, Seed};
pub use topology::{CLAIM_RELATION, Direction, Edge, EffectDirection, Neighbour, Topology};
pub use window::{InvalidWindow, Window, to_the_second};
