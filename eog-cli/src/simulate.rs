//! `eog simulate`: a complete snapshot of an incident, from its ground truth.

use eog_eval::EvalError;
use eog_eval::simulate::{SimulatedTruth, simulate};

use crate::args::Simulate;
use crate::error::{CliError, Exit};
use crate::files;

/// `eog simulate`.
pub(crate) fn run(arguments: &Simulate) -> Result<Exit, CliError> {
    let truths = SimulatedTruth::read_all(&arguments.truth)?;
    let truth = choose(&truths, arguments)?;
    let Simulate { architecture, seed, size, out, .. } = arguments;
    let written = simulate(truth, architecture, *seed, *size, out)?;
    files::print(&format!(
        "{}: {} bytes, {} requests, seed {seed}\n",
        out.display(),
        written.bytes,
        written.requests
    ))?;
    if written.is_least && written.bytes > size + size / 4 {
        eprintln!(
            "eog: note: {size} bytes were asked for; the least that this scenario needs is {} bytes",
            written.bytes
        );
    }
    Ok(Exit::Diagnosed)
}

/// The truth that is asked for, or the only one.
fn choose<'a>(
    truths: &'a [SimulatedTruth],
    arguments: &Simulate,
) -> Result<&'a SimulatedTruth, EvalError> {
    let wrong = |reason: String| EvalError::File { path: arguments.truth.clone(), reason };
    let mut known: Vec<&str> = truths.iter().map(|truth| truth.scenario.as_str()).collect();
    known.sort_by_cached_key(|id| in_number_order(id));
    if let Some(pair) = known.windows(2).find(|pair| pair[0] == pair[1])
        && arguments.scenario.as_deref().is_none_or(|wanted| wanted == pair[0])
    {
        let reason = format!("several truths have the id {:?}: give each one of its own", pair[0]);
        return Err(wrong(reason));
    }
    match (&arguments.scenario, truths) {
        (None, [only]) => Ok(only),
        (None, _) => Err(wrong(format!("choose one with --scenario: {}", known.join(", ")))),
        (Some(id), _) => truths.iter().find(|truth| truth.scenario == *id).ok_or_else(|| {
            let reason = "is none of the scenarios; choose one with --scenario";
            wrong(format!("{id:?} {reason}: {}", known.join(", ")))
        }),
    }
}

/// A key by which `scenario-10` comes after `scenario-9`: the text before the first number, the
/// number by length and digits, and all.
fn in_number_order(id: &str) -> (String, usize, String, String) {
    let digits = |c: char| c.is_ascii_digit();
    let (before, rest) = id.split_at(id.find(digits).unwrap_or(id.len()));
    let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let number = number.trim_start_matches('0').to_owned();
    (before.to_owned(), number.len(), number, id.to_owned())
}
