//! What was spent on an account, changed by many at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use eog::purse::Short;
use eog::{Budget, Usage};
use serde::{Deserialize, Serialize};

use crate::record::Body;
use crate::writer::{name, persist};
use crate::{NatsError, Place, Record, Refused, Subject, Trouble};

/// The version of the values.
const FORMAT: u32 = 1;

/// How often a change is made anew because another one was faster.
const RACES: u32 = 1_000;

/// What was spent on an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// All of it, with the most that calls can use which have not ended.
    pub total: Usage,
    /// The part of it that was taken for calls which have not ended, or whose worker died. The latter stays spent:
    /// what the provider did is unknown.
    pub open: Usage,
    /// How many calls these are.
    pub open_calls: u64,
}

/// The bytes of a record.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    format: u32,
    total: Usage,
    open: Usage,
    open_calls: u64,
}

/// An account: a subject whose last record that counts says what was spent.
///
/// **Of all records that follow the same one, the first counts**, as in a ledger, but any worker may write the next
/// one. So a change is made after the last record, on the condition that there is no other, and counts if it is
/// found to be the first that follows. Otherwise it is made anew. A server that ignores the condition causes no
/// double spending, nor does an answer that is lost or old.
#[derive(Debug)]
pub struct Account<S> {
    subject: S,
    /// A unique name.
    writer: String,
    /// Records of this writer so far.
    count: AtomicU64,
}

/// What a change is made after.
struct Base {
    /// The last record that counts; 0 for none.
    head: u64,
    /// The last record.
    last: u64,
    spending: Spending,
}

impl<S: Subject> Account<S> {
    /// An account on a subject. `writer` is a unique name.
    pub fn new(subject: S, writer: String) -> Self {
        Self { subject, writer, count: AtomicU64::new(0) }
    }

    /// Takes the most that a call can use, if that fits into the budget after what all have taken.
    ///
    /// # Errors
    /// [`NatsError`]: the call must not be made, though its most may count as spent.
    pub fn take(&self, budget: &Budget, most: Usage) -> Result<Result<(), Short>, NatsError> {
        self.change(|spending| {
            Short::check(budget, spending.total, most)?;
            let Spending { mut total, mut open, open_calls } = *spending;
            total += most;
            open += most;
            Ok(Spending { total, open, open_calls: open_calls.saturating_add(1) })
        })
    }

    /// Says what a call has used for which so much was taken.
    ///
    /// # Errors
    /// [`NatsError`]: what was taken may go on to count as spent.
    pub fn settle(&self, taken: Usage, used: Usage) -> Result<(), NatsError> {
        let settled = self.change(|spending| {
            let mut total = less(spending.total, taken);
            total += used;
            let open_calls = spending.open_calls.saturating_sub(1);
            Ok::<_, std::convert::Infallible>(Spending {
                total,
                open: less(spending.open, taken),
                open_calls,
            })
        });
        settled.map(|Ok(())| ())
    }

    /// What was spent.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn spending(&self) -> Result<Spending, NatsError> {
        Ok(persist(&self.subject, base)?.spending)
    }

    /// Makes a change after the last record, and anew if another one was faster.
    fn change<E>(
        &self,
        change: impl Fn(&Spending) -> Result<Spending, E>,
    ) -> Result<Result<(), E>, NatsError> {
        for race in 0..RACES {
            let base = persist(&self.subject, base)?;
            let next = match change(&base.spending) {
                Ok(next) => next,
                Err(refused) => return Ok(Err(refused)),
            };
            let count = self.count.fetch_add(1, Ordering::Relaxed);
            let write = format!("{}.{count}", self.writer);
            if self.add(&base, next, &write)? {
                return Ok(Ok(()));
            }
            std::thread::sleep(pause(&write, race));
        }
        Err(NatsError::Contended { name: name(&self.subject) })
    }

    /// Adds a record after the base. False if another one follows it.
    fn add(&self, base: &Base, spending: Spending, write: &str) -> Result<bool, NatsError> {
        let body = Body::Inline(bytes_of(spending).into());
        let record = Record { after: base.head, at: 0, write: write.to_owned(), body };
        let (mut last, mut attempt) = (base.last, 0);
        loop {
            let (trouble, refused) = match self.subject.publish(last, &record) {
                Ok(()) => (Trouble::Passing("what is stored cannot be read".into()), false),
                Err(Refused::Never(error)) => return Err(error),
                Err(Refused::OutOfTurn) => (Trouble::Passing("out of turn".into()), true),
                Err(Refused::Unknown(trouble)) => (trouble, false),
            };
            match follower(&self.subject, base.head) {
                Ok(Some(found)) => return Ok(found.record.write == record.write),
                Err(Trouble::Lasting(error)) => return Err(error),
                // What was read is older than the answer, or nothing was stored: try again.
                Ok(None) | Err(Trouble::Passing(_)) => {}
            }
            let seen = self.subject.last();
            if let Ok(Some(seen)) = &seen {
                last = last.max(seen.sequence);
            }
            if !self.subject.wait(attempt) {
                return Err(match (refused, seen) {
                    (true, Ok(None)) => NatsError::Removed { name: name(&self.subject) },
                    (_, _) => self.subject.diagnose(trouble),
                });
            }
            attempt += 1;
        }
    }
}

/// What a change is made after.
///
/// The writer of the last record knew that the one before it counts. Those that follow are replayed from there on.
fn base(subject: &impl Subject) -> Result<Base, Trouble> {
    let Some(last) = subject.last()? else {
        return Ok(Base { head: 0, last: 0, spending: Spending::default() });
    };
    let (mut head, mut found) = (last.record.after, None);
    while let Some(next) = follower(subject, head)? {
        head = next.sequence;
        found = Some(next);
    }
    let older = || Trouble::Passing("an answer is older than the one before".to_owned());
    let spending = spending_of(subject, &found.ok_or_else(older)?)?;
    Ok(Base { head, last: last.sequence.max(head), spending })
}

/// The first record that follows another one, if it can be read.
///
/// A bucket keeps the last values of a key alone. So the one before must still be there when the follower
/// was found: an earlier follower would be there as well.
fn follower(subject: &impl Subject, head: u64) -> Result<Option<Place>, Trouble> {
    let gone = || {
        let reason = "more has changed since than the bucket keeps".to_owned();
        Trouble::Lasting(NatsError::Damaged { name: name(subject), sequence: head, reason })
    };
    let mut at = head;
    let found = loop {
        let Some(next) = subject.next(at)? else { return Ok(None) };
        match next.record.after == head {
            true => break next,
            // The first that is there is not the first there was.
            false if head == 0 => return Err(gone()),
            false => at = next.sequence,
        }
    };
    match head {
        0 => Ok(Some(found)),
        _ => match subject.next(head - 1)? {
            Some(kept) if kept.sequence == head => Ok(Some(found)),
            Some(_) => Err(gone()),
            None => Err(Trouble::Passing("an answer is older than the one before".to_owned())),
        },
    }
}

fn bytes_of(spending: Spending) -> Vec<u8> {
    let Spending { total, open, open_calls } = spending;
    let value = Value { format: FORMAT, total, open, open_calls };
    serde_json::to_vec(&value).unwrap_or_else(|error| unreachable!("numbers are JSON: {error}"))
}

fn spending_of(subject: &impl Subject, place: &Place) -> Result<Spending, Trouble> {
    let damaged = |reason| {
        let (name, sequence) = (name(subject), place.sequence);
        Trouble::Lasting(NatsError::Damaged { name, sequence, reason })
    };
    let Body::Inline(bytes) = &place.record.body else {
        return Err(damaged("what was spent is never a block".to_owned()));
    };
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| damaged(format!("it does not say what was spent: {error}")))?;
    let Value { format, total, open, open_calls } = value;
    match format == FORMAT {
        true => Ok(Spending { total, open, open_calls }),
        false => Err(damaged(format!("it has format {format}, and this program uses {FORMAT}"))),
    }
}

fn less(usage: Usage, taken: Usage) -> Usage {
    Usage {
        model_calls: usage.model_calls.saturating_sub(taken.model_calls),
        tokens_in: usage.tokens_in.saturating_sub(taken.tokens_in),
        tokens_out: usage.tokens_out.saturating_sub(taken.tokens_out),
        cost_micro_usd: usage.cost_micro_usd.saturating_sub(taken.cost_micro_usd),
    }
}

/// So that racing writers do not meet again: up to 1, 2, 4 … 64 ms, by the name of the record.
fn pause(write: &str, race: u32) -> Duration {
    let drawn = u64::from(blake3::hash(write.as_bytes()).as_bytes()[0]);
    Duration::from_micros((drawn << race.min(6)) * 4)
}
