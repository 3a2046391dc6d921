//! `--memory`: decisions of earlier runs in front of the policy, and what they were good for.

use std::path::Path;

use eog::{AbductivePolicy, DecisionMemory, MemoryFigures, Remembering, Usage};
use eog_report::clean::clean_line;

use crate::error::CliError;

/// The memory of a run, if it has one.
pub(crate) struct Memory(Option<DecisionMemory>);

impl Memory {
    /// Puts the memory that the command line names in front of the policy.
    pub(crate) fn before(
        policy: Box<dyn AbductivePolicy>,
        folder: Option<&Path>,
        identity: impl FnOnce() -> Result<String, CliError>,
    ) -> Result<(Box<dyn AbductivePolicy>, Self), CliError> {
        let Some(folder) = folder else { return Ok((policy, Self(None))) };
        let identity = identity()?;
        let memory = DecisionMemory::open(folder)?;
        Ok((Box::new(Remembering::new(policy, memory.clone(), identity)), Self(Some(memory))))
    }

    /// Makes sure that a folder can be used, before anything is spent.
    pub(crate) fn try_out(folder: &Path) -> Result<(), CliError> {
        DecisionMemory::open(folder)?;
        Ok(())
    }

    /// Says on standard error what was known. What could not be stored is said even when quiet.
    pub(crate) fn tell(&self, quiet: bool) {
        let Some(memory) = &self.0 else { return };
        let figures = memory.figures();
        if !quiet {
            eprintln!("{}", in_one_line(figures));
        }
        if let Some(error) = memory.first_write_error() {
            let count = counted(figures.unstored, "decision");
            let line = format!("eog: {count} could not be kept in memory: {error}");
            eprintln!("{}", clean_line(&line));
        }
    }
}

fn in_one_line(figures: MemoryFigures) -> String {
    let MemoryFigures { hits, misses, damaged, saved, .. } = figures;
    let mut line = match hits + misses {
        0 => "memory: nothing was asked".to_owned(),
        asked => format!("memory: {hits} of {} known", were(asked, "decision")),
    };
    if saved != Usage::default() {
        let tokens = saved.tokens_in.saturating_add(saved.tokens_out);
        line += &format!(", which saved {}", counted(tokens, "token"));
    }
    if damaged > 0 {
        let files = were(damaged, "damaged file");
        line += &format!("; {files} not used, and asked for again");
    }
    line
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn were(count: u64, what: &str) -> String {
    format!("{} {}", counted(count, what), if count == 1 { "was" } else { "were" })
}
