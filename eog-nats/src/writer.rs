//! The one writer of a subject: how it begins, and how it adds a record.

use std::path::Path;

use bytes::Bytes;

use crate::record::Body;
use crate::{Block, Last, NatsError, Record, Refused, Replay, Subject, Trouble};

/// Longer bodies become blocks. Servers take messages of 1 MiB unless told otherwise.
pub(crate) const MAX_INLINE_BYTES: usize = 256 << 10;

/// How often a writer begins anew because another one was faster.
const RACES: u32 = 8;

/// The right to add to a subject, until another writer begins.
#[derive(Debug)]
pub(crate) struct Writer<S> {
    pub(crate) subject: S,
    /// What nobody else is called.
    name: String,
    /// Records of this writer so far.
    count: u64,
    /// The sequence of the last record.
    last: u64,
}

impl<S: Subject> Writer<S> {
    /// Takes a subject over: from here on every other writer is refused. Returns what it holds.
    ///
    /// `name` is one that no other writer has or had.
    pub(crate) fn take_over(subject: S, name: String) -> Result<(Self, Vec<u8>), NatsError> {
        let mut writer = Self { subject, name, count: 0, last: 0 };
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
        let mut writer = Self { subject, name, count: 0, last: 0 };
        if persist(&writer.subject, Subject::last)?.is_some() {
            return Ok(None);
        }
        Ok(writer.claim(None)?.map(|_| writer))
    }

    /// Adds the record that begins a writer, after the last one. Returns the bytes that come before, or
    /// nothing if somebody wrote in between: what they wrote has to be read first.
    fn claim(&mut self, last: Option<Last>) -> Result<Option<Vec<u8>>, NatsError> {
        self.last = last.map_or(0, |last| last.sequence);
        let bytes = replayed(&self.subject, self.last)?;
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

    /// Adds a record after the last one. An attempt without an answer is repeated under the same name and
    /// after the same record, so at most one of all attempts is ever stored.
    fn add(&mut self, at: u64, body: Body) -> Result<(), NatsError> {
        let record = Record { at, write: format!("{}.{}", self.name, self.count), body };
        self.count += 1;
        let mut attempt = 0;
        loop {
            let (trouble, refused) = match self.subject.publish(self.last, &record) {
                Ok(sequence) => {
                    self.last = sequence;
                    return Ok(());
                }
                Err(Refused::Never(error)) => return Err(error),
                Err(Refused::OutOfTurn) => (Trouble::Passing("out of turn".into()), true),
                Err(Refused::Unknown(trouble)) => (trouble, false),
            };
            let last = self.subject.last();
            match &last {
                Ok(Some(last)) if last.write == record.write => {
                    self.last = last.sequence;
                    return Ok(());
                }
                // Sequences only grow: whatever this record became, another writer goes on.
                Ok(Some(last)) if last.sequence > self.last => {
                    return Err(NatsError::TakenOver { name: name(&self.subject) });
                }
                // What was read is older than the refusal, or nothing was stored: try again.
                Ok(_) | Err(_) => {}
            }
            if !self.subject.wait(attempt) {
                return Err(match (refused, last) {
                    (true, Ok(None)) => NatsError::Removed { name: name(&self.subject) },
                    (true, Ok(Some(_))) => NatsError::TakenOver { name: name(&self.subject) },
                    (_, _) => self.subject.diagnose(trouble),
                });
            }
            attempt += 1;
        }
    }

    /// The sequence of the last record.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }
}

/// The bytes that a subject holds up to a sequence.
pub(crate) fn replayed(subject: &impl Subject, until: u64) -> Result<Vec<u8>, NatsError> {
    if until == 0 {
        return Ok(Vec::new());
    }
    let mut replay = Replay::default();
    for (sequence, record) in persist(subject, |subject| subject.records(until))? {
        let damaged = |reason| NatsError::Damaged { name: name(subject), sequence, reason };
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
        replay.apply(record.at, &body).map_err(damaged)?;
    }
    Ok(replay.into_bytes())
}

/// Repeats what changes nothing when it is repeated.
pub(crate) fn persist<S: Subject, T>(
    subject: &S,
    mut what: impl FnMut(&S) -> Result<T, Trouble>,
) -> Result<T, NatsError> {
    let mut attempt = 0;
    loop {
        match what(subject) {
            Ok(done) => return Ok(done),
            Err(Trouble::Lasting(error)) => return Err(error),
            Err(trouble) if !subject.wait(attempt) => return Err(subject.diagnose(trouble)),
            Err(Trouble::Passing(_)) => attempt += 1,
        }
    }
}

pub(crate) fn name(subject: &impl Subject) -> String {
    let path: &Path = subject.path();
    path.display().to_string()
}
