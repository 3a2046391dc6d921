//! `eog stress`: how far a result hangs on the order.

use std::path::Path;

use eog::stress::{Progress as Step, Report, Side, Stress, Watch};
use eog::{CallRecorder, Config, ContextAndPolicy, Usage};

use crate::args::{self, StressFormat};
use crate::error::{CliError, Exit};
use crate::judge::{Judge, Models};
use crate::memory::Memory;
use crate::progress::Progress;
use crate::{files, investigate, told};

/// The file of the run as given.
const BASELINE: &str = "baseline.jsonl";
/// The file of the run that differs.
const DIFFERING: &str = "differing.jsonl";

/// Runs one investigation in many orders and says how far the results agree.
pub(crate) fn run(arguments: &args::Stress) -> Result<Exit, CliError> {
    if let Some(folder) = &arguments.out {
        files::prepare(folder)?;
    }
    let judge = Judge::choose(&arguments.judging)?;
    let folder = arguments.memory.as_deref();
    folder.map(Memory::try_out).transpose()?;
    let progress = Progress::start(arguments.quiet);
    let (source, case) = investigate::begin(&progress, &arguments.start)?;
    let models = judge.models(&CallRecorder::in_memory(), Usage::default(), &progress)?;
    let policy = judge.policy(models.as_ref(), &case);
    let (policy, memory) = Memory::before(policy, folder, || judge.identity(&case))?;
    let config = Config {
        // As `eog investigate` names it, so that the baseline is its ledger.
        policy: Some(judge.name()),
        ..investigate::config(&arguments.start)
    };
    let how = how(arguments);
    let (handle, controls) = eog::handle();
    let world = ContextAndPolicy { contract: source.contract, policy };
    let mut told = |step| progress.say(&words(step));
    let watch = Watch::default().with_progress(&mut told).with_controls(controls);
    let stressed = investigate::runtime()?.block_on(async {
        let interrupt = async {
            crate::interrupt::interrupted().await;
            handle.cancel();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            report = eog::stress::stress(config, case, world, &how, watch) => {
                report.ok()
            }
            () = interrupt => None,
        }
    });
    drop(progress);
    memory.tell(arguments.quiet);
    models.as_ref().map_or(Ok(()), Models::must_be_recorded)?;
    match stressed {
        Some(report) => tell(arguments, &source.incident.name, &report),
        None => {
            eprintln!(
                "eog: interrupted before the first run had ended, so there is nothing to compare"
            );
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
        limits: arguments.calls.limits(arguments.policy_timeout),
        ..Stress::default()
    }
}

fn words(step: Step) -> String {
    match step {
        Step::Baseline => "running it as given".to_owned(),
        Step::Run { number, of, differing } => {
            format!("run {number} of {of}; {differing} with another result")
        }
        Step::Shrinking { number, at_most } => {
            format!("making the difference smaller: run {number} of at most {at_most}")
        }
        _ => "working".to_owned(),
    }
}

/// Prints the result and writes the ledgers of the pair.
fn tell(arguments: &args::Stress, name: &str, found: &Report) -> Result<Exit, CliError> {
    let mut outputs = vec![files::print(&match arguments.format {
        StressFormat::Text => {
            let ledgers = arguments.out.as_deref().map(ledgers);
            told::stress(name, found, ledgers.as_ref(), files::terminal_width())
        }
        StressFormat::Json => told::stress_json(name, found),
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

fn exit(found: &Report) -> Exit {
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
fn ledgers(folder: &Path) -> told::Ledgers {
    let path = |name| folder.join(name).display().to_string();
    told::Ledgers { baseline: path(BASELINE), differing: path(DIFFERING) }
}

#[cfg(test)]
pub(crate) mod tests {
    use eog::stress::DelayDefect;
    use eog_evidence::EvidencePolicy;

    use super::*;
    use crate::args::Reading;

    /// A short stress test of the incident that ships with the project.
    pub(crate) fn of_the_shipped_incident() -> Report {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
        let source = crate::source::open(&path, None, &Reading::default(), None).unwrap();
        let case = source.case(&path, None).unwrap();
        let how = Stress { runs: 4, delay_runs: 2, ..Stress::default() };
        let policy = EvidencePolicy::default();
        let world = ContextAndPolicy { contract: source.contract, policy };
        let run = eog::stress::stress(Config::default(), case, world, &how, Watch::default());
        investigate::runtime().unwrap().block_on(run).unwrap()
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
