//! What `--memory` was good for, in words.

use crate::shown::clean_line;
use eog::Usage;
use eog::memory::MemoryFigures;
use eog_session::run::Remembered;

/// Says on standard error what was known. What could not be stored is said even when quiet.
pub(crate) fn print(memory: Option<&Remembered>, quiet: bool) {
    let Some(Remembered { figures, first_write_error, first_damage }) = memory else { return };
    if !quiet {
        eprintln!("{}", in_one_line(*figures));
        if let Some(damage) = first_damage {
            eprintln!("{}", clean_line(&format!("memory: {damage}")));
        }
    }
    if let Some(error) = first_write_error {
        let count = counted(figures.unstored, "decision");
        let line = format!("eog: {count} could not be stored in the memory: {error}");
        eprintln!("{}", clean_line(&line));
    }
}

fn in_one_line(figures: MemoryFigures) -> String {
    let MemoryFigures { hits, misses, damaged, saved, .. } = figures;
    let mut line = match hits + misses {
        0 => "memory: no calls".to_owned(),
        asked => format!("memory: {hits} of {} known", were(asked, "decision")),
    };
    if saved != Usage::default() {
        let tokens = saved.tokens_in.saturating_add(saved.tokens_out);
        line += &format!(", which saved {}", counted(tokens, "token"));
    }
    if damaged > 0 {
        let files = were(damaged, "damaged decision");
        line += &format!("; {files} ignored, and requested again");
    }
    line
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn were(count: u64, what: &str) -> String {
    format!("{} {}", counted(count, what), if count == 1 { "was" } else { "were" })
}
