//! All controllers on the same recorded, simulated or generated incidents, judged by the built-in rules and by
//! rules that err.
//!
//! They get evidence as `eog investigate` reads it: windows, places to start and budgets are those of a user.

mod charts;
mod conditions;
mod erring;
mod failures;
mod incidents;
mod report;
mod tables;

use eog_search::Profile;
use eog_session::controllers::ControllerName;
use eog_simulate::RandomSeed;

use crate::error::EvalError;
use crate::investigation::{Investigation, investigate_judged};
use crate::suite::Progress;
use crate::trajectory::{Counts, Trajectory};
use erring::ErringRules;
use incidents::Incident;

pub use charts::Chart;
pub use conditions::{Condition, Contender};
pub use incidents::Incidents;
pub use report::{CaseResult, Comparison, Judged};

/// The controllers that are compared, in the order of the tables.
pub const CONTROLLERS: [ControllerName; 8] = [
    ControllerName::Eog,
    ControllerName::Search(Profile::Lats),
    ControllerName::Search(Profile::Bfs),
    ControllerName::Search(Profile::Beam),
    ControllerName::Search(Profile::Hypotheses),
    ControllerName::Search(Profile::TreeSeeker),
    ControllerName::Search(Profile::React),
    ControllerName::Linear,
];

/// How controllers are compared on a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The share of errors of the judge that errs. Without errors there is no such judge.
    pub wrong: f64,
    /// How often each incident is investigated with it, each time with other errors.
    pub runs: u64,
    /// Everything random is derived from it.
    pub seed: u64,
    /// What is compared beside the rules with and without errors.
    pub tables: Tables,
}

/// Further comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// Judges that err in 5 to 40 %.
    pub by_errors: bool,
    /// At most 10 to 160 questions.
    pub by_calls: bool,
    /// One choice of a controller changed.
    pub ablations: bool,
    /// Failures by MAST, in runs that were right and in those that were wrong.
    pub failures: bool,
}

/// Lets every controller investigate every incident of some sets. `progress` is called before each incident.
/// Incidents that cannot be used are left out, with the reason in the report.
///
/// # Errors
/// [`EvalError`] when a set cannot be read, or nothing can be used.
pub fn compare(
    sets: &[Incidents],
    settings: &Settings,
    progress: &mut Progress<'_>,
) -> Result<Comparison, EvalError> {
    let opened: Vec<_> = sets.iter().map(Incidents::open).collect::<Result<_, _>>()?;
    let all = opened.iter().map(|(count, _)| count).sum();
    let conditions = Condition::of(settings);
    let mut results = Vec::new();
    let mut left_out: Vec<EvalError> = Vec::new();
    let named = sets.iter().zip(opened).flat_map(|(set, (_, incidents))| {
        let name = (sets.len() > 1).then(|| set.name());
        incidents.map(move |incident| {
            incident.map(|it| Incident { set: it.set.or_else(|| name.clone()), ..it })
        })
    });
    for (done, incident) in named.enumerate() {
        let investigated = incident.and_then(|incident| {
            progress(done, all, &incident.name);
            investigate(&incident, settings, &conditions)
        });
        match investigated {
            Ok(of_incident) => results.extend(of_incident),
            Err(error) => left_out.push(error),
        }
    }
    let reasons = left_out.iter().map(ToString::to_string).collect();
    match left_out.into_iter().next() {
        Some(first) if results.is_empty() => Err(first),
        _ => Ok(Comparison::new(settings, all, results, reasons)),
    }
}

/// Every controller with every judge; or nothing of the incident, so that all have the same incidents.
fn investigate(
    incident: &Incident,
    settings: &Settings,
    conditions: &[Condition],
) -> Result<Vec<CaseResult>, EvalError> {
    let mut results = Vec::new();
    for condition in conditions {
        // Nothing is drawn where no policy errs.
        let runs = if condition.wrong > 0.0 { 1..=settings.runs } else { 0..=0 };
        for run in runs {
            let seed =
                RandomSeed::from(settings.seed).child(&format!("{} run {run}", incident.name));
            let rules = ErringRules::new(condition.wrong, seed);
            let ended = investigate_judged(&incident.source, condition.settings()?, &rules)?;
            let (named, chosen) = (ended.named(), ended.choice());
            let worth = incident.worth(&named, &ended);
            let counts = settings.tables.failures && condition.most.is_none();
            results.push(CaseResult {
                set: incident.set.clone(),
                incident: incident.name.clone(),
                is_normal: incident.is_normal(),
                condition: *condition,
                run,
                is_chosen: incident.worth(&chosen, &ended).recall >= 1.0,
                chosen,
                confidence: ended.diagnosis.conclusion.confidence,
                named,
                precision: worth.precision,
                recall: worth.recall,
                f1: worth.f1,
                questions: ended.diagnosis.spent.hops,
                characters: rules.shown(),
                failures: if counts { Some(failures_of(incident, &ended)?) } else { None },
            });
        }
    }
    Ok(results)
}

fn failures_of(incident: &Incident, ended: &Investigation) -> Result<Counts, EvalError> {
    let trajectory = Trajectory::of_investigation(ended, &incident.name)?;
    Ok(Counts::of(&trajectory, Some(&incident.truth_of(&trajectory.named))))
}
