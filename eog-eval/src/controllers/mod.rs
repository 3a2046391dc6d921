//! Controllers compared on the same simulated incidents with the same simulated judge: the shape of
//! the paper's tables 2 to 4 and figure 2(c), without a language model.
//!
//! Incidents are [`TruthGraph`](eog_simulate::truth::TruthGraph)s, the judge is a [`NoisyOracle`]. For
//! one incident and run, every controller asks the very same oracle about the very same evidence;
//! they differ in whom they ask about, in what they remember, and in what they make of the answers:
//!
//! - [`Contender::Eog`]: the controller of `eog investigate`, recommended or as in the paper, with
//!   messages or without.
//! - [`LinearLoop`]: one thought after the other, with a bounded memory.
//! - [`ToldLoop`]: a loop that does what EoG does, but keeps the lists itself and slips.
//!
//! The loops are models with stated assumptions. They say which shape follows from those, and
//! nothing about any model of language.
//!
//! ```
//! use eog_eval::controllers::{Settings, compare};
//! let settings = Settings { scenarios: 2, entities: 10, ..Settings::default() };
//! let report = compare(&settings)?;
//! assert!(report.to_string().starts_with("SIMULATED"));
//! # Ok::<(), eog_eval::EvalError>(())
//! ```

mod ablation;
mod charts;
mod contender;
mod eog_run;
mod incident;
mod linear;
mod notes;
mod order;
mod report;
mod scene;
mod search;
mod tables;
mod told;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub use ablation::Ablation;
pub use charts::Chart;
pub(crate) use charts::drawn;
pub(crate) use contender::{BUDGETS, RATES};
pub use contender::{Condition, Contender};
pub use eog_run::{EogRun, Profile};
use eog_simulate::RandomSeed;
use eog_simulate::oracle::NoisyOracle;
pub use eog_simulate::oracle::OracleRates;
pub use linear::LinearLoop;
pub use order::Exploration;
pub use report::{CaseResult, ControllersReport, Summary};
use scene::Scene;
pub use search::TreeSearch;
pub use told::ToldLoop;

use crate::error::EvalError;

/// What is compared.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Settings {
    /// How many incidents.
    pub scenarios: usize,
    /// How many runs of each, every one with other errors of the oracle.
    pub runs: usize,
    /// Entities of each incident.
    pub entities: usize,
    /// True causes of each incident.
    pub origins: usize,
    /// The oracle; its base rate is varied where messages are compared.
    pub rates: OracleRates,
    /// Everything random is derived from it.
    pub seed: u64,
}

/// As many scenarios and runs as in the paper.
impl Default for Settings {
    fn default() -> Self {
        Self {
            scenarios: 35,
            runs: 3,
            entities: 30,
            origins: 1,
            rates: OracleRates::default(),
            seed: 1,
        }
    }
}

/// Lets every controller investigate every incident, under all conditions of the tables. Equal
/// settings give equal reports on any machine; all processors are used.
///
/// # Errors
/// [`EvalError::Setting`] when a setting makes no sense.
pub fn compare(settings: &Settings) -> Result<ControllersReport, EvalError> {
    compare_under(settings, Condition::all(settings.rates.wrong))
}

/// The same under some conditions only. The rate of errors is that of the condition; tables show
/// what there is.
///
/// # Errors
/// [`EvalError::Setting`] when a setting makes no sense.
pub fn compare_under(
    settings: &Settings,
    conditions: Vec<Condition>,
) -> Result<ControllersReport, EvalError> {
    compare_told(settings, conditions, &|_, _| ())
}

/// The same; how many incidents are done, of how many, is told as it goes on.
///
/// # Errors
/// [`EvalError::Setting`] when a setting makes no sense.
pub fn compare_told(
    settings: &Settings,
    conditions: Vec<Condition>,
    told: &(dyn Fn(usize, usize) + Sync),
) -> Result<ControllersReport, EvalError> {
    if settings.scenarios == 0 || settings.runs == 0 {
        let reason = "at least one scenario and one run are required".to_owned();
        return Err(EvalError::Setting { reason });
    }
    let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let done = AtomicUsize::new(0);
    let mut cases = thread::scope(|scope| {
        let conditions = &conditions;
        let done = &done;
        // All are started before the first is waited for.
        let running: Vec<_> = (0..workers.min(settings.scenarios))
            .map(|worker| {
                scope.spawn(move || {
                    let mine = (worker..settings.scenarios).step_by(workers);
                    let mut cases = Vec::new();
                    for scenario in mine {
                        cases.extend(investigate(settings, scenario, conditions)?);
                        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                        told(done, settings.scenarios);
                    }
                    Ok::<_, EvalError>(cases)
                })
            })
            .collect();
        let mut cases = Vec::new();
        for worker in running {
            cases.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok::<_, EvalError>(cases)
    })?;
    cases.sort_by_key(|case: &CaseResult| (case.condition, case.scenario, case.run));
    Ok(ControllersReport::new(settings.clone(), conditions, cases))
}

/// All that happens to one incident.
fn investigate(
    settings: &Settings,
    scenario: usize,
    conditions: &[Condition],
) -> Result<Vec<CaseResult>, EvalError> {
    let invalid = |reason: &dyn ToString| EvalError::Setting { reason: reason.to_string() };
    let seed = RandomSeed::from(settings.seed).child(&format!("scenario {scenario}"));
    let truth = incident::draw(settings, seed)?;
    let mut cases = Vec::new();
    for run in 0..settings.runs {
        let seed = seed.child(&format!("run {run}"));
        for (number, condition) in conditions.iter().enumerate() {
            let stubborn = settings.rates.stubborn || condition.stubborn;
            let wrong = condition.wrong;
            let rates = OracleRates { wrong, stubborn, ..settings.rates.clone() };
            let oracle = NoisyOracle::new(&truth, rates, seed).map_err(|error| invalid(&error))?;
            let scene = Scene::new(&truth, &oracle, condition.order, seed).within(condition.budget);
            let outcome = condition.contender.investigate(&scene)?;
            cases.push(CaseResult::new(number, scenario, run, &truth, outcome));
        }
    }
    Ok(cases)
}
