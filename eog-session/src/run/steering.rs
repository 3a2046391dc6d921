//! Steering a run, whatever it is doing: cancelling it, or adding what people know.

use eog::ledger::Observation;
use eog::{Controls, EntityId, Handle};
use tokio_util::sync::CancellationToken;

use crate::source::{SharedWords, Word};

/// Cancels a run, or adds what people know. Clones steer the same one.
#[derive(Clone, Debug)]
pub struct Cancel {
    handle: Handle,
    words: SharedWords,
    /// For what is done before the engine begins and after it has ended.
    beside: CancellationToken,
}

impl Cancel {
    /// Ends the run as soon as possible. What it has found so far is its result.
    pub fn cancel(&self) {
        self.handle.cancel();
        self.beside.cancel();
    }

    /// Adds what a person said of an entity: the entity is evaluated again with it, which the
    /// ledger records. Returns whether the run took it; one that has ended is to be resumed with it.
    ///
    /// Keep the word first ([`keep_words`](crate::source::keep_words)): the ledger holds what was seen of
    /// it, not what was said.
    pub async fn add_word(&self, entity: EntityId, word: Word) -> bool {
        self.words.add(entity.clone(), word);
        self.handle.observe(Observation::NewEvidence(entity)).await.is_ok()
    }

    pub(crate) async fn cancelled(&self) {
        self.beside.cancelled().await;
    }
}

/// A run's end of [`Cancel`].
#[derive(Debug)]
pub struct Steering {
    cancel: Cancel,
    controls: Controls,
}

impl Steering {
    /// Both ends.
    pub fn new() -> (Self, Cancel) {
        let (handle, controls) = eog::handle();
        let (words, beside) = (SharedWords::default(), CancellationToken::new());
        let cancel = Cancel { handle, words, beside };
        (Self { cancel: cancel.clone(), controls }, cancel)
    }

    /// The other end.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    pub(crate) async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    pub(crate) fn handle(&self) -> Handle {
        self.cancel.handle.clone()
    }

    pub(crate) fn words(&self) -> SharedWords {
        self.cancel.words.clone()
    }

    pub(crate) fn into_parts(self) -> (Cancel, Controls) {
        (self.cancel, self.controls)
    }
}
