//! `eog eval`: scores investigations of incidents whose causes are known.

use std::fmt::Display;
use std::path::Path;

use eog_eval::controllers::{self, OracleRates, Settings};
use eog_eval::itbench::ReasoningJudge;
use eog_eval::simulated::{self, Ablation};
use eog_eval::{EvalError, itbench, petshop, suite};
use eog_report::clean::{clean, clean_line, escape_json};
use eog_simulate::Scenario;
use serde::Serialize;

use crate::args::{Controllers, Eval, EvalFormat, Evaluated};
use crate::error::{CliError, Exit};
use crate::files;
use crate::progress::Progress;
use crate::reasoning::ModelJudge;

/// `eog eval`.
pub(crate) fn run(arguments: &Eval) -> Result<Exit, CliError> {
    if let Some(path) = &arguments.csv
        && (path.is_dir() || path.file_name().is_none())
    {
        let path = path.display();
        return Err(CliError::Usage(format!("--csv: {path} is a folder; give the name of a file")));
    }
    let progress = Progress::start(false);
    let mut told = |done: usize, all: usize, name: &str| {
        progress.say(&format!("{done} of {all} cases done; investigating {name}"));
    };
    match &arguments.what {
        Evaluated::Suite { dir, runs } => {
            let report = suite::evaluate(dir, runs.count, &mut told)?;
            drop(progress);
            note(arguments, &report.notes());
            tell(arguments, &report, &report.to_csv())
        }
        Evaluated::Petshop { dir, runs } => {
            let report = petshop::evaluate(dir, runs.count, &mut told)?;
            drop(progress);
            note(arguments, &report.notes());
            tell(arguments, &report, &report.to_csv())
        }
        Evaluated::Itbench { truths, outputs, k, judge } => {
            let truths = itbench::Truths::read(truths)?;
            let judge = ModelJudge::choose(judge, &progress)?;
            let judge = judge.as_ref().map(|judge| judge as &dyn ReasoningJudge);
            let report = itbench::evaluate_outputs(&truths, outputs, *k, judge)?;
            drop(progress);
            note(arguments, &report.notes());
            tell(arguments, &report, &report.to_csv())
        }
        Evaluated::Simulated { truths, architecture, seeds, size, ablations } => {
            let scenarios = Scenario::read_all(truths)?;
            let all = if *ablations { &Ablation::ALL[..] } else { &[Ablation::Whole][..] };
            let count = scenarios.len().saturating_mul(all.len()) as u64 * *seeds;
            let mut done = 0_u64;
            let report =
                simulated::evaluate(&scenarios, architecture, *seeds, *size, all, |case| {
                    done += 1;
                    let (scenario, seed) = (&case.scenario, case.seed);
                    progress.say(&format!("{done} of {count}: scenario {scenario}, seed {seed}"));
                })?;
            drop(progress);
            tell(arguments, &report, &report.to_csv())
        }
        Evaluated::Controllers(simulated) => {
            let report = controllers::compare(&settings(simulated))?;
            tell(arguments, &report, &report.to_csv())
        }
    }
}

fn settings(simulated: &Controllers) -> Settings {
    let Controllers { scenarios, runs, entities, origins, seed, .. } = *simulated;
    // The ranges of the arguments are small.
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Settings {
        scenarios: count(scenarios),
        runs: count(runs),
        entities: count(entities),
        origins: count(origins),
        rates: OracleRates {
            shrink: simulated.shrink,
            stubborn: simulated.stubborn,
            ..OracleRates::wrong(simulated.error)
        },
        seed,
    }
}

/// Says beside a table what only the text has room for.
fn note(arguments: &Eval, notes: &[String]) {
    if matches!(arguments.format, EvalFormat::Csv) {
        for note in notes {
            eprintln!("eog: note: {}", clean_line(note));
        }
    }
}

fn tell(
    arguments: &Eval,
    report: &(impl Display + Serialize),
    csv: &str,
) -> Result<Exit, CliError> {
    if let Some(path) = &arguments.csv {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        files::write(folder.unwrap_or(Path::new(".")), &name, csv)?;
    }
    let text = match arguments.format {
        EvalFormat::Text => {
            report.to_string().lines().map(|line| format!("{}\n", clean(line))).collect()
        }
        EvalFormat::Json => {
            let json = serde_json::to_string_pretty(report).unwrap_or_default();
            format!("{}\n", escape_json(&json))
        }
        EvalFormat::Csv => csv.to_owned(),
    };
    files::print(&text)?;
    Ok(Exit::Diagnosed)
}

impl From<EvalError> for CliError {
    fn from(error: EvalError) -> Self {
        match error {
            EvalError::Runs { .. } => Self::Usage(format!("-k: {error}")),
            error => Self::Eval(error),
        }
    }
}
