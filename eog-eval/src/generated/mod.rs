//! Incidents of systems that a seed makes up: names, topology, size, load, cause and noise.
//!
//! Unlike the simulated snapshots they stem from no ground truth of a data set. A system is a network
//! of queues: load flows from callers to callees, time and errors flow back, with time-outs, retries
//! and full pools (`flow`); what goes wrong is a change of one part's work, errors, pool or load
//! (`trouble`); what is recorded of it is scraped, sampled and noisy (`record`). Alerts follow
//! from what was recorded, by fixed rules. Nothing here knows the rules of any policy.

mod flow;
mod names;
mod record;
mod system;
mod trouble;

use std::ops::RangeInclusive;
use std::path::Path;

use eog_evidence::BundleWriter;
use eog_simulate::RandomSeed;

use crate::error::EvalError;
use crate::machines;
use crate::suite::{Options, SuiteCase, SuiteReport, TRUTH_SUFFIX, Told, Truth, evaluate_cases};

/// What kind of system, and what happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Services on nodes, with stores and outside services: deploys, flag flips and edits of
    /// configuration that do harm, or, in three of ten, a cause that is no change.
    Services,
    /// Web, API, queue, workers and database: mostly a bad migration of the database.
    Pipeline,
    /// A machine with its controller: variables recorded when they change, a fault at one of them.
    Machine,
}

/// One incident, with its causes apart.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The incident.
    pub bundle: BundleWriter,
    /// Its cause; the group is the kind of cause.
    pub truth: Truth,
}

/// How many draws are made until an incident raises an alert.
const ATTEMPTS: u64 = 40;

/// The incident of a seed. Equal seeds give equal bytes.
///
/// # Errors
/// [`EvalError::Case`] when no draw of this seed leads to an alert.
pub fn incident(kind: Kind, seed: u64) -> Result<Generated, EvalError> {
    let seed = RandomSeed::from(seed).child(match kind {
        Kind::Services => "services",
        Kind::Pipeline => "pipeline",
        Kind::Machine => "machine",
    });
    let drawn = (0..ATTEMPTS).find_map(|attempt| {
        let seed = seed.child(&format!("attempt {attempt}"));
        let system = match kind {
            Kind::Services => system::services(seed),
            Kind::Pipeline => system::pipeline(seed),
            Kind::Machine => return machines::incident(seed),
        };
        let trouble = trouble::draw(kind, &system, seed);
        let course = flow::run(&system, &trouble, seed);
        record::record(kind, &system, &trouble, &course, seed)
    });
    let case = seed.to_string();
    drawn.ok_or_else(|| EvalError::Case { case, reason: "no draw leads to an alert".into() })
}

/// Writes the incidents of some seeds as `case-SEED` with `case-SEED.truth.json` beside it, which
/// [`suite::evaluate`](crate::suite::evaluate) reads.
///
/// # Errors
/// [`EvalError`] when one cannot be made or written.
pub fn write(kind: Kind, seeds: RangeInclusive<u64>, dir: &Path) -> Result<(), EvalError> {
    seeds.into_iter().try_for_each(|seed| write_one(kind, seed, dir).map(drop))
}

fn write_one(kind: Kind, seed: u64, dir: &Path) -> Result<String, EvalError> {
    let name = format!("case-{seed:05}");
    let Generated { bundle, truth } = incident(kind, seed)?;
    let folder = dir.join(&name);
    std::fs::create_dir_all(&folder).map_err(|error| EvalError::file(&folder, error))?;
    bundle.write(&folder).map_err(|error| EvalError::file(&folder, error))?;
    truth.write(&dir.join(format!("{name}{TRUTH_SUFFIX}")))?;
    Ok(name)
}

/// Generates, investigates and scores the incidents of some seeds, one at a time, over files in a
/// temporary folder. `told` hears of progress.
///
/// # Errors
/// [`EvalError`] when no incident can be made or investigated.
pub fn evaluate(
    kind: Kind,
    seeds: RangeInclusive<u64>,
    options: &Options,
    told: &mut Told<'_>,
) -> Result<SuiteReport, EvalError> {
    let all = seeds.clone().count();
    let cases = seeds.map(|seed| {
        let folder =
            tempfile::tempdir().map_err(|error| EvalError::file(&std::env::temp_dir(), error))?;
        let name = write_one(kind, seed, folder.path())?;
        SuiteCase::read(folder.path(), &name, options.knock_out)
    });
    evaluate_cases(cases, all, options, told)
}
