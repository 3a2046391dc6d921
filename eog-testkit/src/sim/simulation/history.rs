//! What came of a plan: the record that every invariant is checked on.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use eog::{Config, Controller, Entry, Ledger, Limits, StopReason, Usage};

use super::answering::Happening;
use super::plan::Plan;

/// All lives of one incident.
pub(in crate::sim) struct History {
    pub(in crate::sim) plan: Plan,
    /// Nothing happens to it: what the others are compared with.
    pub(in crate::sim) straight: Life,
    /// Other delays and speculation.
    pub(in crate::sim) delayed: Life,
    /// Crashes and disk faults, and nothing else.
    pub(in crate::sim) crashing: Life,
    /// Crashes, cancellations, deadlines, observations, budgets of tokens and money.
    pub(in crate::sim) rough: Life,
    /// The rough life goes on without faults.
    pub(in crate::sim) healed: Life,
    /// The straight life, taken up from each place at which its journal can end.
    pub(in crate::sim) cuts: Vec<Life>,
}

impl History {
    pub(in crate::sim) fn lives(&self) -> impl Iterator<Item = &Life> {
        let lives = [&self.straight, &self.delayed, &self.crashing, &self.rough, &self.healed];
        lives.into_iter().chain(&self.cuts)
    }
}

/// One investigation over all its processes.
#[derive(Debug)]
pub(in crate::sim) struct Life {
    pub(in crate::sim) name: String,
    pub(in crate::sim) config: Config,
    pub(in crate::sim) limits: Limits,
    pub(in crate::sim) ahead: u32,
    pub(in crate::sim) processes: Vec<Process>,
    /// What the disks held when all was over and the machine had crashed once more; or why they
    /// could not be read.
    pub(in crate::sim) left: Result<Held, String>,
}

impl Life {
    /// The last process that ended by itself.
    pub(in crate::sim) fn last(&self) -> Option<(&Controller, StopReason)> {
        self.processes.last().and_then(Process::finished)
    }

    /// The bytes of the whole ledger, if it ended by itself.
    pub(in crate::sim) fn bytes(&self) -> Option<String> {
        Some(self.last()?.0.ledger().to_json_lines())
    }
}

/// What the disks held at one time.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Held {
    pub(in crate::sim) ledger: Ledger,
    pub(in crate::sim) usage: Usage,
    /// The recorded calls outside the loop, with their answers.
    pub(in crate::sim) outside: BTreeSet<(String, u64)>,
}

/// One process, from the opening of its files to its end.
#[derive(Debug)]
pub(in crate::sim) struct Process {
    /// What it found, if it got as far as that.
    pub(in crate::sim) found: Option<Held>,
    pub(in crate::sim) happened: Vec<Happening>,
    pub(in crate::sim) polls: u64,
    /// Whether a disk fault was due.
    pub(in crate::sim) disk_fault: bool,
    pub(in crate::sim) end: End,
}

/// How a process ended.
#[derive(Debug)]
pub(in crate::sim) enum End {
    /// The engine came to an end.
    Finished { stop: StopReason, controller: Box<Controller>, journal_failed: bool },
    /// It died.
    Crashed,
    /// It said that it cannot go on.
    GaveUp(String),
    /// It neither ended nor went on.
    Hung,
}

impl Process {
    pub(in crate::sim) fn finished(&self) -> Option<(&Controller, StopReason)> {
        match &self.end {
            End::Finished { stop, controller, .. } => Some((controller, *stop)),
            End::Crashed | End::GaveUp(_) | End::Hung => None,
        }
    }

    /// The entries that were acknowledged, in order.
    pub(in crate::sim) fn stored(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.happened.iter().filter_map(|happening| match happening {
            Happening::Stored(entry) => Some(entry),
            _ => None,
        })
    }

    /// What the answering side was paid.
    pub(in crate::sim) fn paid(&self) -> Usage {
        let mut paid = Usage::default();
        for happening in &self.happened {
            if let Happening::Paid(usage) = happening {
                paid += *usage;
            }
        }
        paid
    }

    /// How many happenings are of this kind.
    pub(in crate::sim) fn count(&self, is_meant: impl Fn(&Happening) -> bool) -> u64 {
        self.happened.iter().filter(|happening| is_meant(happening)).count() as u64
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.found.as_ref().map_or(0, |found| found.ledger.next_seq());
        let fetched = self.count(|h| matches!(h, Happening::Fetched { .. }));
        let decided = self.count(|h| matches!(h, Happening::Decided { .. }));
        let outside = self.count(|h| matches!(h, Happening::OutsideAsked(_)));
        let stored = self.stored().count();
        write!(
            f,
            "began with {entries} entries; asked for {fetched} contexts, {decided} decisions and \
             {outside} answers outside the loop; stored {stored} entries; "
        )?;
        match &self.end {
            End::Finished { stop, journal_failed, .. } => {
                let journal = if *journal_failed { ", as the journal failed" } else { "" };
                write!(f, "ended with {stop:?}{journal}")
            }
            End::Crashed => write!(f, "died after {} polls", self.polls),
            End::GaveUp(why) => write!(f, "gave up: {why}"),
            End::Hung => write!(f, "neither ended nor went on"),
        }
    }
}
