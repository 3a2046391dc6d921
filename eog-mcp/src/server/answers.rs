//! What the tools about investigations answer, for programs.

mod closed;
mod compared;
mod evidence;
mod explained;
mod investigated;
mod list;

use eog_core::Belief;
use eog_report::clean::clean_to;

pub(super) use closed::Closed;
pub(super) use compared::{Compared, Concluded};
pub(super) use explained::Explained;
pub(super) use investigated::Investigated;
pub(super) use list::{Listed, Summary};

/// Most entries of each list; `omitted` says what is left for the report.
const MAX_LISTED: usize = 100;

/// Characters of an excerpt.
const MAX_EXCERPT: usize = 400;

fn summary(belief: Option<&Belief>) -> String {
    belief.map_or("not evaluated".to_owned(), |belief| shorten(&belief.summary))
}

fn shorten(text: &str) -> String {
    clean_to(text, MAX_EXCERPT)
}

/// As much of a list as fits, and what was left out.
fn listed<T>(all: impl IntoIterator<Item = T>, what: &str, omitted: &mut Vec<String>) -> Vec<T> {
    let mut all = all.into_iter();
    let list: Vec<T> = all.by_ref().take(MAX_LISTED).collect();
    let more = all.count();
    if more > 0 {
        omitted.push(format!("{more} more {what}"));
    }
    list
}
