//! What will happen in one incident, before anything of it is written.

use std::path::Path;

use eog_core::Timestamp;
use jiff::SignedDuration;

use super::Harmless;
use super::noise::Noise;
use super::plan::Plan;
use super::system::System;
use crate::clock::{Clock, Ms};
use crate::files::FileError;
use crate::random::RandomSeed;
use crate::scenario::Scenario;

/// The objects, what is done to them, and what else goes on.
pub(super) struct Course {
    pub(super) system: System,
    pub(super) plan: Plan,
    pub(super) noise: Noise,
    pub(super) clock: Clock,
}

impl Course {
    /// Draws the course of a scenario.
    pub(super) fn new(
        given: &Scenario,
        architecture: &Path,
        harmless: Harmless,
        seed: RandomSeed,
    ) -> Result<Self, FileError> {
        let system = System::new(given, architecture, seed)?;
        let plan = Plan::new(given, &system, seed);
        let noise = Noise::new(&system, &plan, harmless, seed);
        Ok(Self { system, plan, noise, clock: Clock(start(seed)) })
    }

    /// How many times the usual load there is at a time.
    pub(super) fn load(&self, at: Ms) -> f64 {
        let surge = self.plan.surge.filter(|(_, from, _)| *from <= at);
        self.noise.load(at) * surge.map_or(1.0, |(.., factor)| factor)
    }
}

/// When the recording begins: some hour of January 2026.
fn start(seed: RandomSeed) -> Timestamp {
    let hours = seed.stream("start").below(600) as i64;
    let january = Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH);
    january.checked_add(SignedDuration::from_hours(hours)).unwrap_or(january)
}
