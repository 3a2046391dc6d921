//! The entries of a ledger, one a line.

mod eog;
mod linear;
mod search;

use eog_core::diagnosis::ForkTaken;
use eog_core::ledger::{Body, Opening, RecordedAnswer};
use eog_core::{EntityId, Entry, Label, Ledger};

pub use self::eog::why;
use crate::clean::{clean, clean_to};
use crate::page::{BOLD, PLAIN, Page, plain};
use crate::steps::Trail;
use crate::words;

/// Most entities named of a list that can be long.
const MAX_NAMES: usize = 5;
/// Characters shown of a failure.
const MAX_FAILURE: usize = 80;

/// Bodies of ledger entries that can be described in words. Implement it for a machine whose
/// ledgers are to be listed.
pub trait Described: Body {
    /// What was recorded, in one line that may hold styles. Openings and forks, which are the same
    /// for every machine, are not asked for.
    fn described(&self) -> String;

    /// How the entry came about, as far as this machine records it: for a replay.
    fn trail(&self) -> Trail {
        Trail::default()
    }
}

/// Lists the entries of a ledger with their numbers.
pub fn entries<B: Described>(ledger: &Ledger<B>, width: Option<usize>) -> String {
    let mut page = Page::new(width);
    let digits = ledger.next_seq().saturating_sub(1).to_string().len();
    let forks = ForkTaken::all(ledger);
    let mut forks = forks.iter();
    for entry in ledger.entries() {
        let words = one(entry, &mut forks);
        page.line(&format!("{:>digits$}  ", entry.seq), PLAIN, &words);
    }
    page.into_text()
}

/// What an entry records, in a few words: for progress, or to compare it with another.
pub fn brief<B: Described>(entry: &Entry<B>) -> String {
    let body = &entry.body;
    if let Some(look) = body.look() {
        let notified = match look.notified.len() {
            0 => String::new(),
            count => format!(", {} notified", words::count(count, "neighbour", "neighbours")),
        };
        let (entity, why) = (clean(look.entity.as_str()), clean(&look.belief.summary));
        return format!("{entity} {}{notified}: {why}", words::said_of(look.belief.label));
    }
    match body.opening() {
        Some(opening) => opened(&opening),
        None if body.fork().is_some() => "forked".to_owned(),
        None => plain(&body.described()),
    }
}

/// One entry in words.
pub(crate) fn one<'f, B: Described>(
    entry: &Entry<B>,
    forks: &mut impl Iterator<Item = &'f ForkTaken>,
) -> String {
    if let Some(opening) = entry.body.opening() {
        return opened(&opening);
    }
    match entry.body.fork().and_then(|_| forks.next()) {
        Some(fork) => format!("forked {}", clean(&words::fork(fork))),
        None => entry.body.described(),
    }
}

fn opened(opening: &Opening<'_>) -> String {
    let case = opening.case;
    let seeds: Vec<&str> = case.seeds.iter().map(|seed| seed.entity.as_str()).collect();
    format!(
        "opened: {}, {}; starts at {}",
        words::count(case.topology.entities().len(), "entity", "entities"),
        words::count(case.anomalies.len(), "alert", "alerts"),
        some(&seeds)
    )
}

/// An evaluated entity, and what is believed of it from then on.
fn named(entity: &EntityId, label: Label) -> String {
    format!("{BOLD}{}{BOLD:#} {label}", clean(entity.as_str()))
}

/// Where an answer came from, unless it is new.
fn answered(answer: &RecordedAnswer) -> String {
    match answer {
        RecordedAnswer::Decided(_) => String::new(),
        RecordedAnswer::Remembered { entry } => format!(", remembered from entry {entry}"),
        RecordedAnswer::Failed(failure) => {
            format!(", failed: {}", clean_to(&failure.to_string(), MAX_FAILURE))
        }
    }
}

fn joined(first: String, rest: Vec<String>) -> String {
    [first].into_iter().chain(rest).collect::<Vec<_>>().join("; ")
}

/// The first names of a list, and how many more there are.
fn some(names: &[&str]) -> String {
    let shown = names.iter().take(MAX_NAMES).copied().collect::<Vec<_>>().join(", ");
    let shown = clean(&shown);
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown.into_owned(),
        more => format!("{shown} and {more} more"),
    }
}
