//! Control over a running investigation from outside: cancel it, or add observations.

use eog_core::ledger::Observation;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How many observations may wait to be taken in.
const WAITING_OBSERVATIONS: usize = 64;

/// Cancels a running investigation or feeds it observations. Clones control the same one.
#[derive(Clone, Debug)]
pub struct Handle {
    cancel: CancellationToken,
    observations: mpsc::Sender<Observation>,
}

impl Handle {
    /// Stops the investigation: what is under way is discarded, the ledger stays whole.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Hands an observation to the investigation. Waits while many observations are ahead; gives
    /// the observation back when the investigation has ended. A call that still waits at a
    /// cancellation, or when time is up, is dropped.
    ///
    /// # Errors
    /// The observation, when the investigation takes no more.
    pub async fn observe(&self, observation: Observation) -> Result<(), Observation> {
        self.observations.send(observation).await.map_err(|refused| refused.0)
    }
}

/// The engine's end of a [`Handle`].
#[derive(Debug)]
pub struct Controls {
    cancel: CancellationToken,
    observations: mpsc::Receiver<Observation>,
}

impl Controls {
    /// Resolves on cancellation.
    pub(crate) fn cancellation(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// The next observation; never resolves when there can be none.
    pub(crate) async fn observation(&mut self) -> Observation {
        match self.observations.recv().await {
            Some(observation) => observation,
            None => std::future::pending().await,
        }
    }

    /// An observation that waits already. When there is none, no more are taken, so that one that
    /// comes too late goes back to its sender. Cancelling an ended investigation has no effect.
    pub(crate) fn last_call(&mut self) -> Option<Observation> {
        let mut waiting = self.observations.try_recv().ok();
        if waiting.is_none() {
            self.observations.close();
            waiting = self.observations.try_recv().ok();
        }
        waiting
    }
}

/// A new handle: the second end goes to [`Engine::with_controls`](crate::Engine::with_controls).
pub fn handle() -> (Handle, Controls) {
    let (sender, receiver) = mpsc::channel(WAITING_OBSERVATIONS);
    let cancel = CancellationToken::new();
    let controls = Controls { cancel: cancel.clone(), observations: receiver };
    (Handle { cancel, observations: sender }, controls)
}
