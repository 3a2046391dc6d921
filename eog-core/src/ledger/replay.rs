//! Replaying: a machine rebuilt from its ledger, entry by entry, without a single question.

use crate::ledger::restore_error::{ForkError, RestoreError};
use std::sync::Arc;

use crate::ledger::body::Body;
use crate::ledger::record::{ForkChanges, Forked};
use crate::ledger::{Entry, Ledger};
use crate::machine::{Machine, OfMachine};

/// Steps through a ledger: after each entry, the machine has the state that it had when that entry
/// was recorded. Every entry is derived again and compared; going through n entries costs as much
/// as deriving each of them once.
///
/// ```
/// use eog_core::{Case, Config, Controller, EntityId, Machine, Replay, Seed, Topology, Window};
/// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// # let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
/// # case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "alert".into() });
/// let controller = Controller::new(Config::default(), case);
/// let mut replay = Replay::<Controller>::new(controller.ledger())?;
/// while let Some(entry) = replay.step()? {
///     println!("after entry {}: {} beliefs", entry.seq, replay.machine().beliefs().count());
/// }
/// assert_eq!(replay.into_machine().ledger(), controller.ledger());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Replay<'l, M: Machine> {
    machine: M,
    /// What comes next, oldest first.
    rest: &'l [Arc<Entry<M::Body>>],
}

impl<'l, M: Machine> Replay<'l, M> {
    /// A replay that stands after the first entry of a ledger.
    ///
    /// # Errors
    /// [`RestoreError`] when the ledger does not begin with the input of an investigation.
    pub fn new(ledger: &'l Ledger<M::Body>) -> Result<Self, RestoreError> {
        let (first, rest) = ledger.entries().split_first().ok_or(RestoreError::NotOpened)?;
        Ok(Self { machine: M::reopen(first)?, rest })
    }

    /// Goes on by one entry, and returns it; nothing at the end.
    ///
    /// # Errors
    /// [`RestoreError`] when the entry does not follow by the rules of this program. The replay is
    /// of no further use then.
    pub fn step(&mut self) -> Result<Option<&'l Arc<Entry<M::Body>>>, RestoreError> {
        let Some((entry, rest)) = self.rest.split_first() else { return Ok(None) };
        self.machine.repeat(entry, rest.first())?;
        self.rest = rest;
        Ok(Some(entry))
    }

    /// Goes on to the end.
    ///
    /// # Errors
    /// Those of [`Replay::step`].
    pub fn finish(mut self) -> Result<M, RestoreError> {
        while self.step()?.is_some() {}
        Ok(self.machine)
    }

    /// The entry that comes next.
    pub fn peek(&self) -> Option<&'l Arc<Entry<M::Body>>> {
        self.rest.first()
    }

    /// The machine as it was after the last entry.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The machine as it was after the last entry.
    pub fn into_machine(self) -> M {
        self.machine
    }
}

/// Rebuilds the machine that wrote a ledger. Every entry is derived again from what it records, and
/// compared.
///
/// The machine goes on where the ledger ends: what was under way then is asked for again. What was
/// used beside the chain (tokens, cost) is not known to a ledger and begins at zero.
///
/// # Errors
/// [`RestoreError`] names the first entry that does not follow, and both values.
pub fn restore<B: Body + OfMachine>(ledger: &Ledger<B>) -> Result<B::Machine, RestoreError>
where
    B::Machine: Machine<Body = B>,
{
    Replay::new(ledger)?.finish()
}

/// A new investigation that shares the first entries of another, entry `at` included, and takes its
/// own course from there. What the other had under way at that entry is dropped.
///
/// The new ledger begins with copies of the shared entries, followed by one that records the fork; all
/// of them are handed out to be stored.
///
/// # Errors
/// [`ForkError`] when there is no such entry, or when what stands before it does not follow by the
/// rules of this program.
pub fn fork<B: Body + OfMachine>(
    parent: &Ledger<B>,
    at: u64,
    changes: ForkChanges<<B::Machine as Machine>::Settings>,
) -> Result<B::Machine, ForkError>
where
    B::Machine: Machine<Body = B>,
{
    if at >= parent.next_seq() {
        let last = parent.next_seq().checked_sub(1).ok_or(RestoreError::NotOpened)?;
        return Err(ForkError::NoSuchEntry { at, last });
    }
    let mut machine = restore(&parent.before(at + 1))?;
    machine.depart(Forked { parent: parent.head(), changes });
    Ok(machine)
}

impl<B: Body> Ledger<B> {
    /// Whether the last entry is this recorded one: what a machine that repeats a ledger ends each
    /// step with.
    ///
    /// # Errors
    /// [`RestoreError::Differs`] names both hashes.
    pub fn must_end_with(&self, recorded: &Entry<B>) -> Result<(), RestoreError> {
        let derived = self.entries().last();
        if derived.is_some_and(|derived| **derived == *recorded) {
            return Ok(());
        }
        let expected = derived.map_or("nothing".to_owned(), |derived| derived.hash.to_string());
        let expected = format!("hash {expected}");
        Err(RestoreError::differs(recorded.seq, expected, format!("hash {}", recorded.hash)))
    }
}
