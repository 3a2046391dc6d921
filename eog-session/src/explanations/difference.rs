//! Where two runs part, in words.

use eog_report::clean::clean;
use eog_report::words;

use crate::controllers::AnyLedger;
use crate::travel::{Compared, Parted};

/// A line of a comparison: what stands before it, and its words.
pub type Line = (&'static str, String);

/// How two ledgers compare, line by line.
pub fn difference(compared: &Compared, first: &AnyLedger, second: &AnyLedger) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for setting in &compared.settings {
        lines.push(("", format!("{}: {} | {}", setting.name, setting.first, setting.second)));
    }
    if compared.other_case {
        lines.push(("", "the cases differ: topology, window, alerts or seeds".to_owned()));
    }
    match &compared.parting {
        Parted::Never if compared.equal => {
            lines.push(("", "the ledgers are equal".to_owned()));
        }
        Parted::Never => lines.push(("", "the entries are the same".to_owned())),
        Parted::OneGoesOn { shared, first } => {
            let longer = if *first { "the first" } else { "the second" };
            lines.push(("", format!("identical for {shared} entries; {longer} continues")));
        }
        Parted::At { seq, first, second } => {
            lines.push(("", format!("they diverge at entry {seq}")));
            lines.push(("  first:  ", first.clone()));
            lines.push(("  second: ", second.clone()));
        }
    }
    lines.extend(compared.parting.seq().into_iter().flat_map(|seq| kinship(first, second, seq)));
    lines
}

/// What each of two ledgers has to say of itself if it becomes a fork at this entry.
fn kinship(first: &AnyLedger, second: &AnyLedger, seq: u64) -> impl Iterator<Item = Line> {
    let forked = |name: &str, ledger: &AnyLedger, other: &AnyLedger, others_name: &str| {
        let fork = ledger.forks().into_iter().find(|fork| fork.at + 1 == seq)?;
        // The parent may have gone on since.
        let of =
            if other.holds(fork.parent) { format!(" of {others_name}") } else { String::new() };
        Some(("", format!("{name} is a fork{of} {}", clean(&words::fork(&fork)))))
    };
    let a = forked("the first", first, second, "the second");
    let b = forked("the second", second, first, "the first");
    a.into_iter().chain(b)
}
