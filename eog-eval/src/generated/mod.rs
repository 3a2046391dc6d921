//! Incidents of systems that a seed makes up: names, topology, size, load, cause and noise.
//!
//! Unlike the simulated snapshots they stem from no ground truth of a data set. A system is a network
//! of queues: load flows from callers to callees, time and errors flow back, with time-outs, retries
//! and full pools (`flow`); what goes wrong is a change of one part's work, errors, pool or load
//! (`trouble`); what is recorded of it is scraped, sampled and noisy (`record`). Alerts follow
//! from what was recorded, by fixed rules. Nothing here knows the rules of any policy.

mod flow;
mod incident;
mod kinds;
mod names;
mod record;
mod system;
mod trouble;

use std::ops::RangeInclusive;
use std::path::Path;

use eog_evidence::BundleWriter;
use eog_simulate::RandomSeed;

use self::flow::Timing;
use self::system::System;
use crate::error::EvalError;
use crate::suite::{
    Options, Progress, SuiteCase, SuiteReport, TRUTH_SUFFIX, Truth, evaluate_cases,
};

/// What kind of system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Services on nodes, in layers, with stores and outside services.
    Services,
    /// Web, API, queue, workers and database: most causes that are changes are bad migrations.
    Pipeline,
    /// Deep chains of calls, 6 to 12 hops, some of them over a queue.
    Chains,
    /// Event-driven: producers, topics, consumers that emit further events, dead letters.
    Events,
    /// A scheduler, and jobs that run in steps over stores.
    Batch,
    /// One large application: a proxy, instances, one database, a cache.
    Monolith,
    /// Some forty services behind a gateway with a dozen callees, short recordings, complaints of
    /// users for alerts, nothing on record that was changed.
    Gateway,
}

/// Which incidents are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct World {
    /// The kind of system.
    pub kind: Kind,
    /// No change causes anything; the harmless ones stay. Gateways are the same either way.
    pub without_changes: bool,
}

impl From<Kind> for World {
    fn from(kind: Kind) -> Self {
        Self { kind, without_changes: false }
    }
}

/// One incident, with its causes apart.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The incident.
    pub bundle: BundleWriter,
    /// Its causes; the group is the kind of cause.
    pub truth: Truth,
}

impl Kind {
    /// All kinds.
    pub(crate) const ALL: [Self; 7] = [
        Self::Services,
        Self::Pipeline,
        Self::Chains,
        Self::Events,
        Self::Batch,
        Self::Monolith,
        Self::Gateway,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Services => "services",
            Self::Pipeline => "pipeline",
            Self::Chains => "chains",
            Self::Events => "events",
            Self::Batch => "batch",
            Self::Monolith => "monolith",
            Self::Gateway => "gateway",
        }
    }

    fn system(self, seed: RandomSeed) -> System {
        match self {
            Self::Services => kinds::services::system(seed),
            Self::Pipeline => kinds::pipeline::system(seed),
            Self::Chains => kinds::chains::system(seed),
            Self::Events => kinds::events::system(seed),
            Self::Batch => kinds::batch::system(seed),
            Self::Monolith => kinds::monolith::system(seed),
            Self::Gateway => kinds::gateway::system(seed),
        }
    }

    fn timing(self) -> Timing {
        if self == Self::Batch { Timing::JOBS } else { Timing::REQUESTS }
    }
}

/// The incident of a seed. Equal seeds give equal bytes.
///
/// # Errors
/// [`EvalError::Case`] when no draw of this seed leads to an alert.
pub fn incident(world: impl Into<World>, seed: u64) -> Result<Generated, EvalError> {
    let World { kind, without_changes } = world.into();
    let seed = RandomSeed::from(seed).child(kind.name());
    let drawn = match kind {
        Kind::Gateway => incident::gateway(seed),
        _ => incident::whole(kind, without_changes, seed),
    };
    let case = seed.to_string();
    drawn.ok_or_else(|| EvalError::Case { case, reason: "no draw leads to an alert".into() })
}

/// Writes the incidents of some seeds as `case-SEED` with `case-SEED.truth.json` beside it, which
/// [`suite::evaluate`](crate::suite::evaluate) reads.
///
/// # Errors
/// [`EvalError`] when one cannot be made or written.
pub fn write(
    world: impl Into<World>,
    seeds: RangeInclusive<u64>,
    dir: &Path,
) -> Result<(), EvalError> {
    let world = world.into();
    seeds.into_iter().try_for_each(|seed| write_one(world, seed, dir).map(drop))
}

/// Writes the incident of a seed, and says what it is called.
pub(crate) fn write_one(world: World, seed: u64, dir: &Path) -> Result<String, EvalError> {
    let name = format!("case-{seed:05}");
    let Generated { bundle, truth } = incident(world, seed)?;
    let folder = dir.join(&name);
    std::fs::create_dir_all(&folder).map_err(|error| EvalError::file(&folder, error))?;
    bundle.write(&folder).map_err(|error| EvalError::file(&folder, error))?;
    truth.write(&dir.join(format!("{name}{TRUTH_SUFFIX}")))?;
    Ok(name)
}

/// Generates, investigates and scores the incidents of some seeds, one at a time, over files in a
/// temporary folder. `progress` is called before each case.
///
/// # Errors
/// [`EvalError`] when no incident can be made or investigated.
pub fn evaluate(
    world: impl Into<World>,
    seeds: RangeInclusive<u64>,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<SuiteReport, EvalError> {
    let (world, all) = (world.into(), seeds.clone().count());
    let cases = seeds.map(|seed| case(world, seed, options.knock_out));
    evaluate_cases(cases, all, options, progress)
}

/// The incident of a seed, as it is read from files.
pub(crate) fn case(world: World, seed: u64, knock_out: bool) -> Result<SuiteCase, EvalError> {
    let folder =
        tempfile::tempdir().map_err(|error| EvalError::file(&std::env::temp_dir(), error))?;
    let name = write_one(world, seed, folder.path())?;
    SuiteCase::read(folder.path(), &name, knock_out)
}
