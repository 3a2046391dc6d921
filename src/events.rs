//! What an engine tells while it works.

use std::sync::Arc;

use eog_core::{EntityId, Entry, StopReason};
use tokio::sync::mpsc;

/// One step of progress.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A local context is being fetched.
    Fetching {
        /// Of which entity.
        entity: EntityId,
        /// For which visit, counted from 1.
        visit: u32,
    },
    /// The policy is being asked.
    Deciding {
        /// About which entity.
        entity: EntityId,
    },
    /// An entry was stored in the ledger.
    Appended(Arc<Entry>),
    /// An observation did not fit and was left out, with the reason.
    Refused(String),
    /// The investigation has ended.
    Stopped(StopReason),
}

/// The engine's end of an event stream.
#[derive(Clone, Debug)]
pub struct EventSender(mpsc::UnboundedSender<Event>);

impl EventSender {
    /// Sends an event; nobody listening is fine.
    pub(crate) fn send(&self, event: Event) {
        let _ = self.0.send(event);
    }
}

/// The listener's end of an event stream.
#[derive(Debug)]
pub struct EventStream(mpsc::UnboundedReceiver<Event>);

impl EventStream {
    /// The next event; nothing once the engine has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }
}

/// A new event stream: the first end goes to [`Engine::with_events`](crate::Engine::with_events).
///
/// It holds at most what the ledger holds, so a slow listener never stops the engine.
pub fn events() -> (EventSender, EventStream) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (EventSender(sender), EventStream(receiver))
}
