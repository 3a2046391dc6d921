//! What people say to an investigation that runs here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use eog::{CallRecorder, EntityId, Failure, Topology, Usage};
use eog_nats::{InvestigationId, NatsError, Register};
use eog_session::controllers::AnyLedger;
use eog_session::run::Cancel;
use eog_session::source::{Word, Words, keep_words};

use super::order::Saying;

/// How often the register is asked for more.
const ASKED: Duration = Duration::from_millis(500);

/// All that was said so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    /// The place of the last that was said.
    pub(super) last: u64,
    /// Whether it is to end, as far as people say: what was said last counts.
    pub(super) is_cancelled: bool,
    words: Vec<(u64, EntityId, Word)>,
}

impl Received {
    /// Reads the register.
    pub(super) fn read(
        register: &Register,
        id: &InvestigationId,
        topology: &Topology,
    ) -> Result<Self, NatsError> {
        let mut received = Self::default();
        while let Some(saying) = register.said(id, received.last)? {
            received.last = saying.sequence;
            // Input that this version does not know is for another version.
            match serde_json::from_slice(&saying.bytes) {
                Ok(Saying::Cancel) => received.is_cancelled = true,
                Ok(Saying::GoOn) => received.is_cancelled = false,
                Ok(Saying::Word { entity, word }) if topology.contains(&entity) => {
                    received.is_cancelled = false;
                    received.words.push((saying.sequence, entity, word));
                }
                Ok(Saying::Word { .. }) | Err(_) => {}
            }
        }
        Ok(received)
    }

    /// The last word on each entity, of those until this place.
    pub(super) fn words(&self, until: u64) -> Words {
        let words = self.words.iter().filter(|(at, ..)| *at <= until);
        words.map(|(_, entity, word)| (entity.clone(), word.clone())).collect()
    }

    /// Entities of which something was said since this place that a ledger has not taken in. `offered` holds
    /// what was offered to the run before, which had its reasons.
    pub(super) fn pending(
        &self,
        since: u64,
        ledger: &AnyLedger,
        offered: &mut BTreeSet<u64>,
    ) -> Vec<EntityId> {
        let mut taken: BTreeMap<EntityId, usize> = ledger.news();
        let mut pending = Vec::new();
        for (at, entity, _) in self.words.iter().filter(|(at, ..)| *at > since) {
            match taken.get_mut(entity).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None if offered.insert(*at) => pending.push(entity.clone()),
                None => {}
            }
        }
        pending
    }
}

/// Up to where people had spoken when the investigation began: that is asked once, and stored beside the
/// ledger. What they said until then is part of the beginning, and what they say later is news.
pub(super) async fn began_after(
    recorder: &CallRecorder,
    last: Option<u64>,
) -> Result<u64, eog::side::RecordError> {
    let now = async || match last {
        Some(last) => Ok((last, Usage::default())),
        None => Err(Failure::context("not recorded")),
    };
    match recorder.call::<u64, _>("said", &(), now).await {
        Err(eog::side::RecordError::Failed { .. }) => Ok(0),
        after => after,
    }
}

/// Hands on what is said from this place on, until it is dropped.
pub(super) struct Following<'a> {
    pub(super) register: &'a Register,
    pub(super) id: &'a InvestigationId,
    pub(super) topology: &'a Topology,
    pub(super) recorder: &'a CallRecorder,
    pub(super) cancel: &'a Cancel,
    pub(super) takes_words: bool,
    /// The place of the last that was handed on.
    pub(super) last: AtomicU64,
}

impl Following<'_> {
    /// Never returns.
    pub(super) async fn follow(&self) -> std::convert::Infallible {
        loop {
            let (register, id) = (self.register.clone(), self.id.clone());
            let last = self.last.load(Ordering::Relaxed);
            // It waits for the cluster on a thread.
            let asked = tokio::task::spawn_blocking(move || register.said(&id, last)).await;
            let Ok(Ok(Some(saying))) = asked else {
                tokio::time::sleep(ASKED).await;
                continue;
            };
            match serde_json::from_slice(&saying.bytes) {
                Ok(Saying::Cancel) => self.cancel.cancel(),
                Ok(Saying::Word { entity, word })
                    if self.takes_words && self.topology.contains(&entity) =>
                {
                    let words = Words::from([(entity.clone(), word.clone())]);
                    // What cannot be kept is handled when the run has ended, since the ledger lacks it.
                    if keep_words(self.recorder, words).await.is_ok() {
                        self.cancel.add_word(entity, word).await;
                    }
                }
                Ok(Saying::Word { .. } | Saying::GoOn) | Err(_) => {}
            }
            self.last.store(saying.sequence, Ordering::Relaxed);
        }
    }
}
