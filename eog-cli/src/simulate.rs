//! `eog simulate`: a complete snapshot of an incident, from its ground truth.

use eog_eval::EvalError;
use eog_eval::simulate::{SimulatedTruth, simulate};

use crate::args::Simulate;
use crate::error::{CliError, Exit};
use crate::files;

/// `eog simulate`.
pub(crate) fn run(arguments: &Simulate) -> Result<Exit, CliError> {
    let truths = SimulatedTruth::read_all(&arguments.truth)?;
    let wanted = arguments.scenario.as_ref();
    let chosen = match (wanted, truths.as_slice()) {
        (None, [only]) => Some(only),
        (wanted, all) => all.iter().find(|truth| Some(&truth.scenario) == wanted),
    };
    let Some(truth) = chosen else {
        let known: Vec<&str> = truths.iter().map(|truth| truth.scenario.as_str()).collect();
        let reason = format!("choose one with --scenario: {}", known.join(", "));
        return Err(EvalError::File { path: arguments.truth.clone(), reason }.into());
    };
    let Simulate { architecture, seed, size, out, .. } = arguments;
    let written = simulate(truth, architecture, *seed, *size, out)?;
    files::print(&format!(
        "{}: {} bytes, {} requests, seed {seed}\n",
        out.display(),
        written.bytes,
        written.requests
    ))?;
    Ok(Exit::Diagnosed)
}
