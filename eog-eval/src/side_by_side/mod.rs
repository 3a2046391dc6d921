//! All controllers on the same recorded, simulated or generated incidents, judged by the built-in rules and by
//! rules that err.
//!
//! [`controllers`](crate::controllers) compares them on graphs, where a judge knows the truth. Here they get
//! evidence as `eog investigate` reads it: windows, places to start and budgets are those of a user.

mod erring;
mod incidents;
mod report;

use eog_session::controllers::{AnySettings, ControllerName};
use eog_simulate::RandomSeed;

use crate::error::EvalError;
use crate::investigation::investigate_judged;
use crate::suite::Told;
use erring::ErringRules;
use incidents::Incident;

pub use incidents::Incidents;
pub use report::{Judged, SideBySide, SideBySideResult};

/// Who is compared, in the order of the tables.
pub const CONTROLLERS: [ControllerName; 8] = [
    ControllerName::Eog,
    ControllerName::Lats,
    ControllerName::Bfs,
    ControllerName::Beam,
    ControllerName::Hypotheses,
    ControllerName::TreeSeeker,
    ControllerName::React,
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
}

/// Lets every controller investigate every incident. `told` hears of progress. What cannot be used is left
/// out, with the reason in the report.
///
/// # Errors
/// [`EvalError`] when the set cannot be read, or nothing of it can be used.
pub fn side_by_side(
    incidents: &Incidents,
    settings: &Settings,
    told: &mut Told<'_>,
) -> Result<SideBySide, EvalError> {
    let (all, opened) = incidents.open()?;
    let mut results = Vec::new();
    let mut left_out: Vec<EvalError> = Vec::new();
    for (done, incident) in opened.enumerate() {
        let investigated = incident.and_then(|incident| {
            told(done, all, &incident.name);
            investigate(&incident, settings)
        });
        match investigated {
            Ok(of_incident) => results.extend(of_incident),
            Err(error) => left_out.push(error),
        }
    }
    let reasons = left_out.iter().map(ToString::to_string).collect();
    match left_out.into_iter().next() {
        Some(first) if results.is_empty() => Err(first),
        _ => Ok(SideBySide::new(settings, all, results, reasons)),
    }
}

/// Every controller with every judge; or nothing of the incident, so that all have the same incidents.
fn investigate(
    incident: &Incident,
    settings: &Settings,
) -> Result<Vec<SideBySideResult>, EvalError> {
    let runs = if settings.wrong > 0.0 { settings.runs } else { 0 };
    let mut results = Vec::new();
    for controller in CONTROLLERS {
        for run in 0..=runs {
            // The first is without errors.
            let wrong = if run == 0 { 0.0 } else { settings.wrong };
            let seed =
                RandomSeed::from(settings.seed).child(&format!("{} run {run}", incident.name));
            let rules = ErringRules::new(wrong, seed);
            let ended = investigate_judged(&incident.source, settings_of(controller), &rules)?;
            let worth = incident.worth(&ended);
            results.push(SideBySideResult {
                incident: incident.name.clone(),
                is_normal: incident.is_normal(),
                controller,
                run,
                named: ended.named().into_iter().collect(),
                precision: worth.precision,
                recall: worth.recall,
                f1: worth.f1,
                questions: ended.diagnosis.spent.hops,
                characters: rules.shown(),
            });
        }
    }
    Ok(results)
}

/// A controller with its default settings.
fn settings_of(controller: ControllerName) -> AnySettings {
    match controller.profile() {
        Some(profile) => profile.config().into(),
        None if controller == ControllerName::Linear => eog::LinearConfig::default().into(),
        None => eog::Config::default().into(),
    }
}
