//! Cancelling a run, whatever it is doing.

use eog::{Controls, Handle};
use tokio_util::sync::CancellationToken;

/// Cancels a run. Clones cancel the same one.
#[derive(Clone, Debug)]
pub struct Cancel {
    handle: Handle,
    /// For what is done before the engine begins and after it has ended.
    beside: CancellationToken,
}

impl Cancel {
    /// Ends the run as soon as possible. What it has found so far is its result.
    pub fn cancel(&self) {
        self.handle.cancel();
        self.beside.cancel();
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
        let cancel = Cancel { handle, beside: CancellationToken::new() };
        (Self { cancel: cancel.clone(), controls }, cancel)
    }

    pub(crate) async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    pub(crate) fn handle(&self) -> Handle {
        self.cancel.handle.clone()
    }

    pub(crate) fn into_parts(self) -> (Cancel, Controls) {
        (self.cancel, self.controls)
    }
}
