//! Turns: a bound on what runs at once, and on what waits.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::error::Problem;
use eog_session::store::InvestigationId;

/// A bound on what runs at once, and on what waits. First come, first served.
pub(super) struct Runner {
    turns: Arc<Semaphore>,
    max_running: usize,
    waiting: AtomicUsize,
    max_waiting: usize,
    live: Mutex<BTreeSet<InvestigationId>>,
}

/// One that waits; counted until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An investigation that runs; said to be live until it is dropped.
pub(super) struct Live<'a> {
    runner: &'a Runner,
    id: InvestigationId,
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.runner.lives().remove(&self.id);
    }
}

impl Runner {
    pub(super) fn new(max_running: usize, max_waiting: usize) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(max_running)),
            max_running,
            waiting: AtomicUsize::new(0),
            max_waiting,
            live: Mutex::default(),
        }
    }

    /// Waits for a turn, unless too many wait already.
    pub(super) async fn turn(
        &self,
        cancel: &CancellationToken,
    ) -> Result<OwnedSemaphorePermit, Problem> {
        if let Ok(turn) = self.turns.clone().try_acquire_owned() {
            return Ok(turn);
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        if before >= self.max_waiting {
            return Err(Problem::Busy(before));
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Problem::Cancelled(None)),
            turn = self.turns.clone().acquire_owned() => turn.map_err(|_| Problem::GoingDown),
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(super) fn running(&self) -> usize {
        self.max_running.saturating_sub(self.turns.available_permits())
    }

    /// Says that an investigation runs, until the mark is dropped.
    pub(super) fn mark(&self, id: &InvestigationId) -> Live<'_> {
        self.lives().insert(id.clone());
        Live { runner: self, id: id.clone() }
    }

    pub(super) fn is_live(&self, id: &InvestigationId) -> bool {
        self.lives().contains(id)
    }

    fn lives(&self) -> std::sync::MutexGuard<'_, BTreeSet<InvestigationId>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn more_than_may_wait_are_refused_and_the_cancelled_make_room() {
        let runner = Runner::new(1, 1);
        let never = CancellationToken::new();
        let first = runner.turn(&never).await.expect("free");
        let cancel = CancellationToken::new();
        let mut second = std::pin::pin!(runner.turn(&cancel));
        assert!(is_pending(second.as_mut()).await);
        assert_eq!((runner.running(), runner.waiting()), (1, 1));
        assert!(matches!(runner.turn(&never).await, Err(Problem::Busy(1))));
        cancel.cancel();
        assert!(matches!(second.await, Err(Problem::Cancelled(None))));
        assert_eq!(runner.waiting(), 0);
        drop(first);
        assert!(runner.turn(&never).await.is_ok());
    }

    async fn is_pending<F: Future>(future: std::pin::Pin<&mut F>) -> bool {
        tokio::select! {
            biased;
            _ = future => false,
            () = tokio::task::yield_now() => true,
        }
    }
}
