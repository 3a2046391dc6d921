//! Where two runs part, in words.

use eog::Ledger;
use eog::travel::{Difference, Parting};
use eog_core::ForkTaken;
use eog_report::clean::clean;
use eog_report::{brief, words};

/// A line of a comparison: what stands before it, and its words.
pub(crate) type Line = (&'static str, String);

/// How two ledgers compare, line by line.
pub(crate) fn difference(difference: &Difference, first: &Ledger, second: &Ledger) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for setting in &difference.settings {
        lines.push(("", format!("{}: {} | {}", setting.name, setting.first, setting.second)));
    }
    if difference.other_case {
        lines.push(("", "the cases differ: topology, window, alerts or seeds".to_owned()));
    }
    match &difference.parting {
        Parting::Never if difference.is_none() => {
            lines.push(("", "the ledgers are equal".to_owned()));
        }
        Parting::Never => lines.push(("", "the entries are the same".to_owned())),
        Parting::OneGoesOn { shared, first: longer } => {
            let longer = if *longer { "the first" } else { "the second" };
            lines.push(("", format!("identical for {shared} entries; {longer} continues")));
            lines.extend(kinship(first, second, *shared));
        }
        Parting::At { first: a, second: b } => {
            lines.push(("", format!("they diverge at entry {}", a.seq)));
            lines.push(("  first:  ", brief(a)));
            lines.push(("  second: ", brief(b)));
            lines.extend(kinship(first, second, a.seq));
        }
    }
    lines
}

/// What each of two ledgers has to say of itself if it becomes a fork at this entry.
fn kinship(first: &Ledger, second: &Ledger, seq: u64) -> impl Iterator<Item = Line> {
    let forked = |name: &str, ledger: &Ledger, other: &Ledger, others_name: &str| {
        let fork = ForkTaken::all(ledger).into_iter().find(|fork| fork.at + 1 == seq)?;
        // The parent may have gone on since.
        let of_other = other.entries().iter().any(|entry| entry.hash == fork.parent);
        let of = if of_other { format!(" of {others_name}") } else { String::new() };
        Some(("", format!("{name} is a fork{of} {}", clean(&words::fork(&fork)))))
    };
    let a = forked("the first", first, second, "the second");
    let b = forked("the second", second, first, "the first");
    a.into_iter().chain(b)
}
