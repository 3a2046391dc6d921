//! A part of an investigation as it grows, for watchers.

use std::sync::Arc;

use crate::record::Body;
use crate::writer::persist;
use crate::{Cluster, InvestigationId, JetStreamSubject, NatsError, Part, Place, Replay, Subject};

/// Follows a part of an investigation, whichever process writes it. It reads each record once.
#[derive(Debug)]
pub struct Tail {
    subject: Arc<JetStreamSubject>,
    replay: Replay,
    seen: u64,
}

impl Tail {
    pub(crate) fn new(cluster: Cluster, part: Part, id: &InvestigationId) -> Self {
        let subject = Arc::new(JetStreamSubject::new(cluster, part, id));
        Self { subject, replay: Replay::default(), seen: 0 }
    }

    /// Reads what has been added since the last call. Whether anything was.
    ///
    /// # Errors
    /// [`NatsError`]; the next call goes on where this one failed.
    pub fn advance(&mut self) -> Result<bool, NatsError> {
        let mut is_new = false;
        loop {
            let seen = self.seen;
            let Some(Place { sequence, record }) = persist(&*self.subject, |it| it.next(seen))?
            else {
                return Ok(is_new);
            };
            let name = self.subject.path().display().to_string();
            let damaged = |reason| NatsError::Damaged { name: name.clone(), sequence, reason };
            if self.replay.counts(record.after).map_err(damaged)? {
                let body = match &record.body {
                    Body::Inline(bytes) => bytes.to_vec(),
                    Body::Block(block) => persist(&*self.subject, |it| it.get(*block))?,
                };
                self.replay.apply(sequence, record.at, &body).map_err(damaged)?;
                is_new = true;
            }
            self.seen = sequence;
        }
    }

    /// The bytes so far.
    pub fn bytes(&self) -> &[u8] {
        self.replay.bytes()
    }
}
