//! `eog stress`: how far a result depends on the order.

mod text;

use std::num::NonZeroU32;
use std::path::Path;

use eog::DecisionMemory;
use eog::stress::{Side, Stress, StressReport};
use eog_session::judge::Policies as _;
use eog_session::run::Steering;
use eog_session::stress::{StressError, Stressed, stress};

use crate::args::{self, StressFormat};
use crate::error::{CliError, Exit};
use crate::interrupt::interrupted;
use crate::progress::Progress;
use crate::runtime::runtime;
use crate::{files, investigate, memory, rules};
use text::Ledgers;

/// The file of the run as given.
const BASELINE: &str = "baseline.jsonl";
/// The file of the run that differs.
const DIFFERING: &str = "differing.jsonl";

/// Runs one investigation in many orders and says how far the results agree.
pub(crate) fn run(arguments: &args::Stress) -> Result<Exit, CliError> {
    rules::refuse_roles(arguments.start.controller, &arguments.judging)?;
    if let Some(folder) = &arguments.out {
        files::prepare(folder)?;
    }
    let chosen = rules::choose(&arguments.judging)?;
    let limits = arguments.calls.limits(arguments.policy_timeout);
    let chosen = chosen.with_limits(limits);
    let kept = arguments.memory.as_deref().map(DecisionMemory::open).transpose()?;
    let progress = Progress::start(arguments.quiet);
    // As `eog investigate` names the policy, so that the baseline is its ledger.
    let settings = rules::settings(&arguments.start, Some(NonZeroU32::MIN), Some(chosen.name()))?;
    let settings = rules::prompted(settings, &arguments.start.search, chosen.planner())?;
    let (source, start) = investigate::begin(&progress, &arguments.start, settings, None, None)?;
    let (steering, cancel) = Steering::new();
    let stressed = runtime()?.block_on(async {
        let interrupt = async {
            interrupted().await;
            cancel.cancel();
            std::future::pending().await
        };
        let (source, listener) = (source.clone(), progress.listener());
        let kept = kept.as_ref();
        tokio::select! {
            done = stress(&chosen, source, start, kept, how(arguments), steering, listener) => done,
            never = interrupt => never,
        }
    });
    drop(progress);
    let Stressed { report, memory, .. } = stressed.map_err(|error| match error {
        StressError::Run(error) => CliError::run(error, &source, None, || None),
        error => CliError::Usage(error.to_string()),
    })?;
    memory::print(memory.as_ref(), arguments.quiet);
    match report {
        Some(report) => print(arguments, &source.incident().name, &report),
        None => {
            eprintln!("eog: interrupted before the first run ended; there is nothing to compare");
            Ok(Exit::Interrupted)
        }
    }
}

fn how(arguments: &args::Stress) -> Stress {
    Stress {
        runs: arguments.runs,
        seed: arguments.seed,
        widths: arguments.width.clone(),
        max_delay: arguments.max_delay,
        max_shrink_runs: arguments.shrink_runs,
        ..Stress::default()
    }
}

/// Prints the result and writes the ledgers of the pair.
fn print(arguments: &args::Stress, name: &str, found: &StressReport) -> Result<Exit, CliError> {
    let mut outputs = vec![files::print(&match arguments.format {
        StressFormat::Text => {
            let ledgers = arguments.out.as_deref().map(ledgers);
            text::text(name, found, ledgers.as_ref(), files::terminal_width())
        }
        StressFormat::Json => text::json(name, found),
    })];
    if let Some(folder) = &arguments.out {
        if let Some(pair) = &found.pair {
            let ledger = |side: &Side| side.ledger.to_json_lines();
            outputs.push(files::write(folder, BASELINE, &ledger(&found.baseline)));
            outputs.push(files::write(folder, DIFFERING, &ledger(&pair.differing)));
        } else {
            // Those of an earlier test would be taken for a pair of this one.
            outputs.extend([BASELINE, DIFFERING].map(|name| files::remove(folder, name)));
        }
    }
    files::all(outputs)?;
    Ok(exit(found))
}

fn exit(found: &StressReport) -> Exit {
    let given = &found.baseline;
    let is_undecided = given.evaluations > 0 && given.failures == given.evaluations;
    if found.interrupted {
        Exit::Interrupted
    } else if is_undecided || !found.delays_alone.defects.is_empty() {
        Exit::Failed
    } else if found.same_outcome == found.runs {
        Exit::Diagnosed
    } else {
        Exit::Inconclusive
    }
}

/// Where both ledgers are written, for commands that a person can copy.
fn ledgers(folder: &Path) -> Ledgers {
    let path = |name| folder.join(name).display().to_string();
    Ledgers { baseline: path(BASELINE), differing: path(DIFFERING) }
}

#[cfg(test)]
pub(crate) mod tests {
    use eog::Config;
    use eog::stress::DelayDefect;
    use eog_session::judge::Evidence;
    use eog_session::run::Start;
    use eog_session::source::{ReadOptions, open_folder};
    use std::sync::Arc;

    use super::*;

    /// A short stress test of the incident that ships with the project.
    pub(crate) fn of_the_shipped_incident() -> StressReport {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
        let source = open_folder(&path, &ReadOptions::default()).unwrap();
        let start = Start::of(&source, Config::default(), None).unwrap();
        let how = Stress { runs: 4, delay_runs: 2, ..Stress::default() };
        let (steering, _cancel) = Steering::new();
        let run = stress(&Evidence, source, start, None, how, steering, Arc::new(()));
        runtime().unwrap().block_on(run).unwrap().report.unwrap()
    }

    #[test]
    fn a_defect_weighs_more_than_a_difference_and_an_interruption_more_than_both() {
        let mut found = of_the_shipped_incident();
        assert_eq!(exit(&found), Exit::Diagnosed);
        found.same_outcome = 3;
        assert_eq!(exit(&found), Exit::Inconclusive);
        found.delays_alone.defects.push(DelayDefect { run: 1, parting: None });
        assert_eq!(exit(&found), Exit::Failed);
        found.interrupted = true;
        assert_eq!(exit(&found), Exit::Interrupted);
    }
}
