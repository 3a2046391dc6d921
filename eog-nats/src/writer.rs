//! The one writer of a subject: how it begins, and how it adds a record.

use std::path::Path;

use bytes::Bytes;

use crate::record::Body;
use crate::{Block, NatsError, Place, Record, Refused, Replay, Subject, Trouble, retry};

/// Longer bodies become blocks. Servers take messages of 1 MiB by default.
pub(crate) const MAX_INLINE_BYTES: usize = 256 << 10;

/// How often a writer begins anew because another one was faster.
const RACES: u32 = 8;

/// The right to add to a subject, until another writer begins.
#[derive(Debug)]
pub(crate) struct Writer<S> {
    pub(crate) subject: S,
    /// A unique name.
    name: String,
    /// Records of this writer so far.
    count: u64,
    /// The sequence of the last record that counts: this writer's, once it has begun.
    head: u64,
    /// That of the last record of the subject, whether it counts or not.
    last: u64,
}

impl<S: Subject> Writer<S> {
    /// Takes a subject over: from here on every other writer is refused. Returns what it holds.
    ///
    /// `name` is one that no other writer has or had.
    pub(crate) fn take_over(subject: S, name: String) -> Result<(Self, Vec<u8>), NatsError> {
        let mut writer = Self { subject, name, count: 0, head: 0, last: 0 };
        for _ in 0..RACES {
            let last = persist(&writer.subject, Subject::last)?;
            if let Some(bytes) = writer.claim(last)? {
                return Ok((writer, bytes));
            }
        }
        Err(NatsError::TakenOver { name: self::name(&writer.subject) })
    }

    /// Takes a subject on which there is nothing. Nothing is returned where there is something.
    pub(crate) fn create(subject: S, name: String) -> Result<Option<Self>, NatsError> {
        let mut writer = Self { subject, name, count: 0, head: 0, last: 0 };
        if persist(&writer.subject, Subject::last)?.is_some() {
            return Ok(None);
        }
        Ok(writer.claim(None)?.map(|_| writer))
    }

    /// Adds the record that begins a writer, after the last one. Returns the bytes that come before, or nothing if
    /// another writer wrote in between: what it wrote has to be read first.
    fn claim(&mut self, last: Option<Place>) -> Result<Option<Vec<u8>>, NatsError> {
        self.last = last.map_or(0, |last| last.sequence);
        let (head, bytes) = replayed(&self.subject, self.last)?;
        self.head = head;
        match self.add(bytes.len() as u64, Body::Inline(Bytes::new())) {
            Ok(()) => Ok(Some(bytes)),
            Err(NatsError::TakenOver { .. } | NatsError::Removed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces everything from `at` on by these bytes. Once this returns, a majority has them.
    pub(crate) fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), NatsError> {
        let body = match bytes.len() <= MAX_INLINE_BYTES {
            true => Body::Inline(Bytes::copy_from_slice(bytes)),
            false => {
                // Before the record that needs it.
                let block = Block::of(bytes);
                persist(&self.subject, |subject| subject.put(block, bytes))?;
                Body::Block(block)
            }
        };
        self.add(at, body)
    }

    /// Adds a record after the last one that counts, and makes sure that it counts. An attempt without an
    /// answer is repeated as it was, so that of all attempts the first that is stored counts.
    fn add(&mut self, at: u64, body: Body) -> Result<(), NatsError> {
        let write = format!("{}.{}", self.name, self.count);
        let record = Record { after: self.head, at, write, body };
        self.count += 1;
        let mut attempt = 0;
        loop {
            let (trouble, refused) = match self.subject.publish(self.last, &record) {
                Ok(()) => (Trouble::Passing("what is stored cannot be read".into()), false),
                Err(Refused::Never(error)) => return Err(error),
                Err(Refused::OutOfTurn) => (Trouble::Passing("out of turn".into()), true),
                Err(Refused::Unknown(trouble)) => (trouble, false),
            };
            match self.successor() {
                Ok(Some(found)) if found.record.write == record.write => {
                    (self.head, self.last) = (found.sequence, found.sequence);
                    return Ok(());
                }
                // Whatever becomes of this record, another writer goes on.
                Ok(Some(_)) => return Err(NatsError::TakenOver { name: name(&self.subject) }),
                // What was read is older than the answer, or nothing was stored: try again.
                Ok(None) | Err(_) => {}
            }
            // Records that do not count may have come in between.
            let last = self.subject.last();
            if let Ok(Some(last)) = &last {
                self.last = self.last.max(last.sequence);
            }
            if !self.subject.wait(attempt) {
                return Err(match (refused, last) {
                    (true, Ok(None)) => NatsError::Removed { name: name(&self.subject) },
                    (_, _) => self.subject.diagnose(trouble),
                });
            }
            attempt += 1;
        }
    }

    /// The record that counts after the head, if there is one that can be read.
    fn successor(&self) -> Result<Option<Place>, Trouble> {
        let mut sequence = self.head;
        while let Some(next) = self.subject.next(sequence)? {
            if next.record.after == self.head {
                return Ok(Some(next));
            }
            sequence = next.sequence;
        }
        Ok(None)
    }

    /// The sequence of the last record that counts.
    pub(crate) fn head(&self) -> u64 {
        self.head
    }
}

/// What a subject holds up to a sequence: that of the last record that counts, and the bytes.
pub(crate) fn replayed(subject: &impl Subject, until: u64) -> Result<(u64, Vec<u8>), NatsError> {
    if until == 0 {
        return Ok((0, Vec::new()));
    }
    match replay(subject, persist(subject, |subject| subject.records(until))?) {
        // They come from any replica. One that is catching up may lack what the others have.
        Err(NatsError::Damaged { .. }) => replay(subject, one_by_one(subject, until)?),
        replayed => replayed,
    }
}

/// The records up to a sequence, each asked of the leader.
fn one_by_one(subject: &impl Subject, until: u64) -> Result<Vec<(u64, Record)>, NatsError> {
    let (mut records, mut at) = (Vec::new(), 0);
    while at < until {
        let next = persist(subject, |subject| {
            let older = || Trouble::Passing("an answer is older than the one before".to_owned());
            subject.next(at)?.ok_or_else(older)
        })?;
        at = next.sequence;
        records.push((at, next.record));
    }
    records.retain(|(sequence, _)| *sequence <= until);
    Ok(records)
}

/// What records lead to, in their order.
fn replay(
    subject: &impl Subject,
    records: Vec<(u64, Record)>,
) -> Result<(u64, Vec<u8>), NatsError> {
    let mut replay = Replay::default();
    for (sequence, record) in records {
        let damaged = |reason| NatsError::Damaged { name: name(subject), sequence, reason };
        if !replay.counts(record.after).map_err(damaged)? {
            continue;
        }
        let body = match &record.body {
            Body::Inline(bytes) => bytes.clone(),
            Body::Block(block) => {
                let bytes = persist(subject, |subject| subject.get(*block))?;
                if !block.is(&bytes) {
                    return Err(damaged(format!("the block {block} was altered")));
                }
                bytes.into()
            }
        };
        replay.apply(sequence, record.at, &body).map_err(damaged)?;
    }
    Ok(replay.end())
}

/// Repeats what changes nothing when it is repeated.
pub(crate) fn persist<S: Subject, T>(
    subject: &S,
    mut what: impl FnMut(&S) -> Result<T, Trouble>,
) -> Result<T, NatsError> {
    let diagnose = |trouble| subject.diagnose(trouble);
    retry::persist(|attempt| subject.wait(attempt), diagnose, || what(subject))
}

pub(crate) fn name(subject: &impl Subject) -> String {
    let path: &Path = subject.path();
    path.display().to_string()
}
