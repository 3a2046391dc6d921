//! Incidents without their cause: the test of what an investigation says when it cannot be right.
//!
//! A knock-out takes the change of the true cause out of an incident, and what the cause made,
//! and leaves everything else: the harm, its traces, and the harmless changes. It is done to a copy
//! of the files, before they are read, so that the investigation that follows is an ordinary one.

mod bundle;
mod objects;
mod snapshot;

pub(crate) use bundle::without_cause as bundle_without_cause;
pub(crate) use snapshot::without_cause as snapshot_without_cause;
