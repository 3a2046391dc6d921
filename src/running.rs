//! A run of its own: one of any number that an engine serves at once.

use eog_core::Machine;
use eog_core::machine::Responder;
use tokio::task::JoinHandle;

use crate::engine::{Engine, Finished};
use crate::events::{EventStream, WeakSender};
use crate::handle::{Handle, handle};
use crate::side::RunStart;

/// An investigation that runs as a task of its own; see [`Engine::start`].
///
/// Dropped before its end, it is cancelled: its outcome could not be read. Its journal, if it has
/// one, holds what was done.
#[derive(Debug)]
#[must_use = "the run is cancelled when this is dropped"]
pub struct Running<M: Machine> {
    handle: Handle,
    sender: WeakSender<M::Body>,
    /// Listens to the run from its beginning.
    first: Option<EventStream<M::Body>>,
    /// Taken by the caller that awaits the outcome.
    task: Option<JoinHandle<Finished<M>>>,
}

/// A run whose outcome is lost: the runtime that it ran in shut down, or it panicked, which is a defect of
/// this crate.
#[derive(Debug, thiserror::Error)]
#[error("the run did not come to its end: {0}")]
pub struct Lost(#[source] tokio::task::JoinError);

impl<M: Machine + Send + Sync + 'static> Running<M> {
    pub(crate) fn of<R>(engine: Engine<R, M::Body>, machine: M, start: RunStart) -> Self
    where
        R: Responder<M::Question> + 'static,
    {
        let (handle, controls) = handle();
        let mut engine = engine.with_controls(controls);
        let (sender, first) = engine.listen();
        let task = tokio::spawn(engine.drive(machine, start));
        Self { handle, sender, first: Some(first), task: Some(task) }
    }

    /// Waits for the end. Dropping the future cancels the run.
    ///
    /// # Errors
    /// [`Lost`] when the runtime shuts down before.
    pub async fn outcome(mut self) -> Result<Finished<M>, Lost> {
        // There are no listeners any more but those requested; one that is handed out receives the
        // end.
        self.first = None;
        let ended = match &mut self.task {
            Some(task) => task.await,
            None => unreachable!("only this takes the task, and takes it once"),
        };
        self.task = None;
        ended.map_err(Lost)
    }
}

impl<M: Machine> Running<M> {
    /// Cancels the run, or adds observations. Clones outlive this.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// A listener. The first one receives the run from its beginning; later ones, from now on.
    pub fn progress(&mut self) -> EventStream<M::Body> {
        self.first.take().unwrap_or_else(|| self.sender.subscribe())
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.task.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl<M: Machine> Drop for Running<M> {
    fn drop(&mut self) {
        if self.task.is_some() {
            self.handle.cancel();
        }
    }
}
