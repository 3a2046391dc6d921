//! `eog simulate`: a complete snapshot of an incident, from its ground truth.

use crate::shown::clean_line;
use eog_simulate::Scenario;
use eog_simulate::files::FileError;
use eog_simulate::snapshot::simulate;

use crate::args::Simulate;
use crate::error::{CliError, Exit};
use crate::files;

/// `eog simulate`.
pub(crate) fn run(arguments: &Simulate) -> Result<Exit, CliError> {
    let scenarios = Scenario::read_all(&arguments.truth)?;
    for note in scenarios.notes() {
        eprintln!("eog: note: {}", clean_line(&note));
    }
    let scenario = choose(&scenarios.usable, arguments)?;
    files::refuse_taken(&arguments.out, "give another folder")?;
    let Simulate { architecture, seed, size, out, harmless, .. } = arguments;
    let written = simulate(scenario, architecture, harmless.into(), *seed, *size, out)?;
    files::print(&format!(
        "{}: {} bytes, {} requests, seed {seed}\n",
        out.display(),
        written.bytes,
        written.requests
    ))?;
    if written.is_least && written.bytes > size + size / 4 {
        eprintln!(
            "eog: note: {size} bytes were requested, but this scenario needs at least {} bytes",
            written.bytes
        );
    }
    Ok(Exit::Diagnosed)
}

/// The truth that is asked for, or the only one.
fn choose<'a>(scenarios: &'a [Scenario], arguments: &Simulate) -> Result<&'a Scenario, FileError> {
    let wrong = |reason: String| FileError::unusable(&arguments.truth, reason);
    let mut known: Vec<&str> = scenarios.iter().map(|one| one.name.as_str()).collect();
    known.sort_by_cached_key(|id| in_number_order(id));
    if let Some(pair) = known.windows(2).find(|pair| pair[0] == pair[1])
        && arguments.scenario.as_deref().is_none_or(|wanted| wanted == pair[0])
    {
        let reason = format!("several ground truths have the id {:?}; ids must be unique", pair[0]);
        return Err(wrong(reason));
    }
    match (&arguments.scenario, scenarios) {
        (None, [only]) => Ok(only),
        (None, _) => Err(wrong(format!(
            "it has several scenarios; choose one with --scenario: {}",
            known.join(", ")
        ))),
        (Some(id), _) => scenarios.iter().find(|one| one.name == *id).ok_or_else(|| {
            let known = known.join(", ");
            wrong(format!("it has no scenario {id:?}; choose one with --scenario: {known}"))
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

impl From<FileError> for CliError {
    fn from(error: FileError) -> Self {
        Self::Eval(error.into())
    }
}
