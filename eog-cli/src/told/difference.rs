//! Where two runs part, in words.

use eog_report::clean::clean;
use eog_report::words;
use eog_session::controllers::{AnyLedger, Pause};
use eog_session::travel::{Compared, Parted, Recorded, What};

/// A line of a comparison: what stands before it, and its words.
pub(crate) type Line = (&'static str, String);

/// How two ledgers compare, line by line.
pub(crate) fn difference(compared: &Compared, first: &AnyLedger, second: &AnyLedger) -> Vec<Line> {
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
        Parted::Never => lines.push(("", "what happened is the same".to_owned())),
        Parted::OneGoesOn { shared, first } => {
            let longer = if *first { "the first" } else { "the second" };
            lines.push(("", format!("the same for {shared} entries; {longer} goes on")));
        }
        Parted::At { seq, first, second } => {
            lines.push(("", format!("they part at entry {seq}")));
            lines.push(("  first:  ", describe(first)));
            lines.push(("  second: ", describe(second)));
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

fn describe(recorded: &Recorded) -> String {
    match &recorded.what {
        What::Judged { entity, label, summary, told } => {
            format!("{} is {label}, {told} told: {}", clean(entity.as_str()), clean(summary))
        }
        What::Observation => "an observation".to_owned(),
        What::Pause(Pause::Stopped) => "a stop from outside".to_owned(),
        What::Pause(Pause::GoesOn) => "going on after a stop".to_owned(),
        What::Fork => "a fork".to_owned(),
        _ => "something else".to_owned(),
    }
}
