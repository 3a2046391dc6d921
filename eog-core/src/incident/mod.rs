//! The input of an investigation: what is abnormal, in which dependency graph, in which window, and where
//! to start.

pub(crate) mod case;
pub(crate) mod case_file;
pub(crate) mod onset;
pub(crate) mod topology;
pub(crate) mod window;

pub use case::{Anomaly, Bootstrap, Case, ChangeRecord, RecordedChange, Seed, Unusable};
pub use case_file::CaseFile;
pub use onset::{InvalidOnset, Onset};
pub use topology::{
    BACKING_RELATION, CLAIM_RELATION, Direction, Edge, EffectDirection, Neighbour,
    OWNERSHIP_RELATION, REQUEST_RELATIONS, Topology,
};
pub use window::{InvalidWindow, Window, to_the_second};
