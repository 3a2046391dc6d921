//! The incidents that are investigated.

use eog_simulate::RandomSeed;
use eog_simulate::truth::{TruthGraph, TruthSpec};

use super::Settings;
use crate::error::EvalError;

/// Alerts of each incident, as far as so many entities fail.
const ALERTS: usize = 3;
/// How many incidents are drawn until one will do.
const ATTEMPTS: usize = 1_000;

/// An incident of a seed: shape, calls, decoys and undeclared calls drawn as in
/// [`TruthSpec::drawn`]. None whose origin has an alert itself, for there would be nothing to walk;
/// the next one is drawn instead.
pub(super) fn draw(settings: &Settings, seed: RandomSeed) -> Result<TruthGraph, EvalError> {
    let invalid = |reason: String| EvalError::Setting { reason };
    for attempt in 0..ATTEMPTS {
        let seed = seed.child(&format!("attempt {attempt}"));
        let drawn = TruthSpec::drawn(settings.entities, seed);
        let spec = TruthSpec { origins: settings.origins, alerts: ALERTS, ..drawn };
        let truth =
            TruthGraph::generate(&spec, seed).map_err(|error| invalid(error.to_string()))?;
        let origins = truth.origins();
        if truth.linked_origins() == origins
            && truth.anomalies().iter().all(|alert| !origins.contains(&alert.entity))
        {
            return Ok(truth);
        }
    }
    Err(invalid(format!(
        "none of {ATTEMPTS} generated incidents with {} entities and {} causes has alerts that all \
         causes reach and none of them carries; use more entities or fewer causes",
        settings.entities, settings.origins
    )))
}
