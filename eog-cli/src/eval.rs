//! `eog eval`: scores investigations of incidents whose causes are known.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use crate::shown::clean_line;
use eog::DecisionMemory;
use eog_eval::controllers::{self, Incidents};
use eog_eval::fit::{Prior, Tried};
use eog_eval::itbench::ReasoningJudge;
use eog_eval::simulated::{self, Ablation};
use eog_eval::trajectory::Failures;
use eog_eval::{
    Calibration, EvalError, Method, all, fit, generated, itbench, logs, petshop, recorded, suite,
};
use eog_evidence::Weights;
use eog_report::clean::{clean, escape_json};
use eog_report::words;
use eog_session::controllers::ControllerName;
use eog_session::judge::{Options, Policies, read_weights};
use eog_simulate::Scenario;
use eog_sre::Stop;
use serde::Serialize;

use crate::args::{
    Controllers, Eval, EvalBy, EvalFormat, Evaluated, GeneratedSystem, OfSimulated, OnData, Runs,
};
use crate::error::{CliError, Exit};
use crate::files;
use crate::interrupt::is_interrupted;
use crate::progress::Progress;
use crate::reasoning::ModelJudge;
use crate::rules;
use crate::rules::choose;

/// The table that `--prior` names.
fn table_of(prior: &Path) -> Result<Weights, CliError> {
    match prior == Path::new("shipped") {
        true => Ok(Arc::unwrap_or_clone(Weights::shipped())),
        false => Ok(read_weights(prior)?),
    }
}

/// `eog eval`.
pub(crate) fn run(arguments: &Eval) -> Result<Exit, CliError> {
    if let Some(path) = &arguments.csv
        && (path.is_dir() || path.file_name().is_none())
    {
        let path = path.display();
        return Err(CliError::Usage(format!("--csv: {path} is a folder; give a file")));
    }
    let progress = Progress::start(false);
    let mut on_case = |done: usize, all: usize, name: &str| {
        progress.say(&format!("{done} of {all} cases done; investigating {name}"));
    };
    match &arguments.what {
        Evaluated::Suite { dir, runs, by, knock_out, ablations } => {
            let (knock_out, ablations) = (*knock_out, *ablations);
            let options = suite::Options { knock_out, ablations, ..suite_options(runs, by)? };
            let report = suite::evaluate(dir, &options, &mut on_case)?;
            drop(progress);
            print_suite(arguments, &report)
        }
        Evaluated::All { dir, by } => {
            let runs = Runs { count: 1, out: None };
            let report = all::evaluate(dir, &suite_options(&runs, by)?, &mut on_case)?;
            drop(progress);
            note(arguments, &report.notes());
            let exit = print(arguments, &report, &report.to_csv())?;
            if report.sets_left > 0 {
                return Ok(interrupted(report.sets_left, "data set is", "data sets are"));
            }
            if report.not_scored > 0 {
                return Ok(interrupted(report.not_scored, "case is", "cases are"));
            }
            Ok(if report.unusable.is_empty() { exit } else { Exit::BadInput })
        }
        Evaluated::Petshop { dir, runs, by, ablations } => {
            let options = suite::Options { ablations: *ablations, ..suite_options(runs, by)? };
            let report = petshop::evaluate(dir, &options, &mut on_case)?;
            drop(progress);
            print_suite(arguments, &report)
        }
        Evaluated::Itbench { truths, outputs, k, judge } => {
            let truths = itbench::Truths::read(truths)?;
            let judge = ModelJudge::choose(judge, &progress)?;
            let judge = judge.as_ref().map(|judge| judge as &dyn ReasoningJudge);
            let report = itbench::evaluate_outputs(&truths, outputs, *k, judge)?;
            drop(progress);
            note(arguments, &report.notes());
            print(arguments, &report, &report.to_csv())
        }
        Evaluated::Snapshots { truths, dir, architecture, runs, by } => {
            refuse_runs(*runs, by)?;
            let settings = recorded::Settings {
                architecture: architecture.clone(),
                runs: *runs,
                method: method(by)?,
                stop: Some(Stop::when(is_interrupted)),
            };
            let truths = itbench::Truths::read(truths)?;
            let report = recorded::evaluate(&truths, dir, &settings, |case| {
                progress.say(&format!("scenario {}, run {} done", case.scenario, case.seed));
            })?;
            drop(progress);
            print_snapshots(arguments, &report, true)
        }
        Evaluated::Simulated(simulated) => {
            let scenarios = Scenario::read_all(&simulated.truths)?;
            let notes = scenarios.notes();
            notes.iter().for_each(|note| eprintln!("eog: note: {}", clean_line(note)));
            let is_whole = scenarios.left_out.is_empty();
            let scenarios = scenarios.usable;
            let settings = settings_of_simulated(simulated)?;
            let seeds = settings.seeds.clone().count();
            let count = scenarios.len() * seeds * settings.ablations.len();
            let mut done = 0_usize;
            let report =
                simulated::evaluate(&scenarios, &simulated.architecture, &settings, |case| {
                    done += 1;
                    let (scenario, seed) = (&case.scenario, case.seed);
                    progress.say(&format!("{done} of {count}: scenario {scenario}, seed {seed}"));
                })?;
            drop(progress);
            print_snapshots(arguments, &report, is_whole)
        }
        Evaluated::Fit { dirs, shrinkage, prior, prior_incidents, held, generated, out } => {
            let prior = match prior {
                None => Prior::Units { strength: *shrinkage },
                Some(table) => {
                    Prior::Table { weights: table_of(table)?, incidents: *prior_incidents }
                }
            };
            let tried = Tried { held, generated: *generated };
            let mut progressed = |done: usize, all: usize, name: &str| {
                progress.say(&format!("{done} of {all} systems done; reading {name}"));
            };
            let fitted = fit::evaluate(dirs, &prior, tried, &mut progressed)?;
            drop(progress);
            if let Some(path) = out {
                files::write_file(path, &fitted.table.to_toml())?;
            }
            print(arguments, &fitted, &fitted.to_csv())
        }
        Evaluated::Logs { dir } => {
            let report = logs::evaluate(dir)?;
            drop(progress);
            print(arguments, &report, &report.to_csv())
        }
        Evaluated::Generated {
            system,
            seeds,
            first_seed,
            knock_out,
            ablations,
            without_changes,
            bundles,
            out,
            by,
        } => {
            let kind = kind(*system);
            let world = generated::World { kind, without_changes: *without_changes };
            let seeds = *first_seed..=first_seed.saturating_add(seeds - 1);
            if let Some(dir) = bundles {
                generated::write(world, seeds.clone(), dir)?;
            }
            let options = suite::Options {
                method: method(by)?,
                runs: 1,
                knock_out: *knock_out,
                ablations: *ablations,
                out: out.clone(),
                stop: Some(Stop::when(is_interrupted)),
            };
            let report = generated::evaluate(world, seeds, &options, &mut on_case)?;
            drop(progress);
            print_suite(arguments, &report)
        }
        Evaluated::Controllers(compared) => {
            let incidents = incidents(&compared.on)?;
            let settings = controllers::Settings {
                wrong: compared.error,
                runs: compared.runs,
                seed: compared.seed,
                tables: controllers::Tables {
                    by_errors: compared.by_errors,
                    by_calls: compared.by_calls,
                    ablations: compared.ablations,
                    failures: compared.failures,
                },
            };
            make_folder_of_charts(compared)?;
            let report = controllers::compare(&incidents, &settings, &mut on_case)?;
            drop(progress);
            if let Some(folder) = &compared.charts {
                for chart in report.charts()? {
                    files::write(folder, chart.file, &chart.svg)?;
                }
            }
            let exit = print(arguments, &report, &report.to_csv())?;
            Ok(if report.left_out.is_empty() { exit } else { Exit::BadInput })
        }
        Evaluated::Failures { trajectories, cause } => {
            let truth: std::collections::BTreeSet<String> = cause.iter().cloned().collect();
            let truth = (!truth.is_empty()).then_some(&truth);
            let all = trajectories.len();
            let report = Failures::of_files(trajectories, truth, |done, path| {
                on_case(done, all, &path.display().to_string());
            })?;
            drop(progress);
            print(arguments, &report, &report.to_csv())
        }
    }
}

/// Reports a folder that cannot be made, and charts of nothing, before anything is investigated.
fn make_folder_of_charts(compared: &Controllers) -> Result<(), CliError> {
    let Some(folder) = &compared.charts else { return Ok(()) };
    if !(compared.by_errors || compared.by_calls) {
        let reason = "--charts needs --by-errors or --by-calls; add one of them";
        return Err(CliError::Usage(reason.to_owned()));
    }
    files::prepare(folder)
}

/// The report of a suite. Cases that could not be used are an error, reported after the results.
fn print_suite(arguments: &Eval, report: &suite::SuiteReport) -> Result<Exit, CliError> {
    note(arguments, &report.notes());
    keep_calibration(arguments, report.calibration.as_ref())?;
    let exit = print(arguments, report, &report.to_csv())?;
    if report.not_scored > 0 {
        return Ok(interrupted(report.not_scored, "case is", "cases are"));
    }
    Ok(if report.unusable.is_empty() { exit } else { Exit::BadInput })
}

/// The report on snapshots; an error where not all truths could be used.
fn print_snapshots(
    arguments: &Eval,
    report: &simulated::SimulatedReport,
    is_whole: bool,
) -> Result<Exit, CliError> {
    keep_calibration(arguments, report.calibration.as_ref())?;
    let exit = print(arguments, report, &report.to_csv())?;
    if report.not_scored > 0 {
        return Ok(interrupted(report.not_scored, "truth is", "truths are"));
    }
    Ok(if is_whole { exit } else { Exit::BadInput })
}

/// Says that the report is incomplete.
fn interrupted(left: usize, one: &str, many: &str) -> Exit {
    let left = words::count(left as u64, one, many);
    eprintln!("eog: interrupted: the scores cover the completed cases, {left} missing");
    Exit::Interrupted
}

/// Writes the calibration table beside the table of cases, as `FILE.calibration.csv`.
fn keep_calibration(arguments: &Eval, table: Option<&Calibration>) -> Result<(), CliError> {
    let (Some(path), Some(table)) = (&arguments.csv, table) else { return Ok(()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = format!("{name}.calibration.csv");
    files::write(folder.unwrap_or(Path::new(".")), &name, &table.to_csv())
}

fn settings_of_simulated(simulated: &OfSimulated) -> Result<simulated::Settings, CliError> {
    let OfSimulated { seeds, first_seed, size, ablations, knock_out, harmless, by, .. } = simulated;
    let method = method(by)?;
    let whole = vec![Ablation::Whole];
    let mut ablations = if *ablations { Ablation::ALL.to_vec() } else { whole };
    ablations.extend(knock_out.then_some(Ablation::Causes));
    let seeds = *first_seed..=first_seed.saturating_add(seeds - 1);
    if by.controller != ControllerName::Eog {
        // No other controller has messages that could be taken away.
        ablations.retain(|ablation| *ablation != Ablation::Messages);
    }
    let (size, harmless) = (*size, harmless.into());
    let stop = Some(Stop::when(is_interrupted));
    Ok(simulated::Settings { seeds, size, harmless, ablations, method, stop })
}

/// How a suite is evaluated.
fn suite_options(runs: &Runs, by: &EvalBy) -> Result<suite::Options, CliError> {
    refuse_runs(runs.count, by)?;
    let method = method(by)?;
    let stop = Some(Stop::when(is_interrupted));
    Ok(suite::Options { method, out: runs.out.clone(), stop, ..suite::Options::runs(runs.count) })
}

/// Refuses several runs where all would be the same: by a controller with one order, judged by rules.
fn refuse_runs(runs: usize, by: &EvalBy) -> Result<(), CliError> {
    let options = by.judging.options();
    let is_ruled = options.policy.is_none() && options.model.is_none();
    if runs > 1 && is_ruled && by.controller != ControllerName::Eog {
        return Err(CliError::Usage(format!(
            "--runs varies the order of evaluation, and the controller {} has only one; omit it",
            by.controller
        )));
    }
    Ok(())
}

/// How incidents are investigated. The policy is never taken from variables or a file alone: a whole data set
/// costs.
fn method(by: &EvalBy) -> Result<Method, CliError> {
    let settings = rules::of(by.controller, &by.search)?;
    let memory = by.memory.as_deref().map(DecisionMemory::open).transpose()?;
    let options = by.judging.options();
    if options.policy.is_none() && options.model.is_none() {
        let settings = rules::prompted(settings, &by.search, (false, None))?;
        if options != Options::default() {
            let reason = "options of a model or a program need --model or --policy: eog eval takes who judges from \
                          neither variables nor eog.toml";
            return Err(CliError::Usage(reason.to_owned()));
        }
        return Ok(Method { memory, ..settings.into() });
    }
    let chosen = choose(&by.judging)?;
    let settings = rules::prompted(settings, &by.search, chosen.planner())?;
    let settings = settings.judged_by(Some(Policies::name(&chosen)));
    Ok(Method { settings, judge: Arc::new(chosen), memory })
}

fn kind(system: GeneratedSystem) -> generated::Kind {
    match system {
        GeneratedSystem::Services => generated::Kind::Services,
        GeneratedSystem::Pipeline => generated::Kind::Pipeline,
        GeneratedSystem::Chains => generated::Kind::Chains,
        GeneratedSystem::Events => generated::Kind::Events,
        GeneratedSystem::Batch => generated::Kind::Batch,
        GeneratedSystem::Monolith => generated::Kind::Monolith,
        GeneratedSystem::Gateway => generated::Kind::Gateway,
    }
}

/// The sets that the options name; clap requires at least one.
fn incidents(on: &OnData) -> Result<Vec<Incidents>, CliError> {
    let seeds = on.first_seed..=on.first_seed.saturating_add(on.seeds - 1);
    let mut sets: Vec<Incidents> = on.suite.iter().cloned().map(Incidents::Suite).collect();
    sets.extend(on.petshop.clone().map(Incidents::Petshop));
    if let (Some(truths), Some(architecture)) = (&on.simulated, &on.architecture) {
        let scenarios = Scenario::read_all(truths)?.usable;
        let (architecture, size, seeds) = (architecture.clone(), on.size, seeds.clone());
        sets.push(Incidents::Simulated { scenarios, architecture, seeds, size });
    }
    let generated = on.generated.iter().map(|system| kind(*system).into());
    sets.extend(generated.map(|world| Incidents::Generated { world, seeds: seeds.clone() }));
    let (Some(dir), Some(truths)) = (&on.snapshot, &on.truths) else { return Ok(sets) };
    let all = Scenario::read_all(truths)?.usable;
    let named = |it: &&Scenario| on.truth_id.as_ref().is_none_or(|id| it.name == *id);
    let mut fitting = all.iter().filter(named);
    let (Some(scenario), None) = (fitting.next(), fitting.next()) else {
        let (file, of) = (truths.display(), all.len());
        let reason = format!("--truth-id must name one of the {of} ground truths of {file}");
        return Err(CliError::Usage(reason));
    };
    sets.push(Incidents::Snapshot {
        dir: dir.clone(),
        architecture: on.architecture.clone(),
        truth: Box::new(itbench::GroundTruth::of(scenario)?),
    });
    Ok(sets)
}

/// Says beside a table what only the text has room for.
fn note(arguments: &Eval, notes: &[String]) {
    if matches!(arguments.format, EvalFormat::Csv) {
        for note in notes {
            eprintln!("eog: note: {}", clean_line(note));
        }
    }
}

fn print(
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
