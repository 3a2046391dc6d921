//! What an engine reports while it works.

use std::sync::Arc;

use eog_core::controller::EntryBody;
use eog_core::machine::QuestionKind;
use eog_core::{EntityId, Entry, Spent, StopReason};
use tokio::sync::broadcast;

/// How many events a listener may lag behind before it misses some.
pub const EVENT_BUFFER: usize = 1_024;

/// One step of progress.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<B = EntryBody> {
    /// A question is being asked, for the first time or again.
    Asking {
        /// What it is about: an entity, or anything else that the machine names.
        about: EntityId,
        /// The recipient.
        kind: QuestionKind,
    },
    /// An entry was stored in the ledger.
    Appended(Arc<Entry<B>>),
    /// The total cost so far, when it grew. Follows the entries that it was spent for.
    Spent(Spent),
    /// An observation did not fit and was left out, with the reason.
    Refused(String),
    /// So many events were missed, because the listener was slow. The ledger has every entry.
    Missed(u64),
    /// The investigation has ended.
    Stopped(StopReason),
}

/// The engine's end of an event stream.
#[derive(Clone, Debug)]
pub struct EventSender<B = EntryBody>(broadcast::Sender<Event<B>>);

impl<B: Clone> EventSender<B> {
    /// A further listener. It receives events from now on.
    pub fn subscribe(&self) -> EventStream<B> {
        EventStream(self.0.subscribe())
    }

    /// A sender that does not keep listeners waiting for the end of an engine that has ended.
    pub(crate) fn downgrade(&self) -> WeakSender<B> {
        WeakSender(self.0.downgrade())
    }

    /// Sends an event; without listeners, this does nothing.
    pub(crate) fn send(&self, event: Event<B>) {
        let _ = self.0.send(event);
    }
}

/// A sender that goes with the engine's.
#[derive(Clone, Debug)]
pub(crate) struct WeakSender<B>(broadcast::WeakSender<Event<B>>);

impl<B: Clone> WeakSender<B> {
    /// A further listener. It receives events from now on; none where the engine has ended.
    pub(crate) fn subscribe(&self) -> EventStream<B> {
        match self.0.upgrade() {
            Some(sender) => EventStream(sender.subscribe()),
            None => events().1,
        }
    }
}

/// A listener's end of an event stream.
#[derive(Debug)]
pub struct EventStream<B = EntryBody>(broadcast::Receiver<Event<B>>);

impl<B: Clone> EventStream<B> {
    /// The next event; `None` once the engine has ended. A listener that lags more than
    /// [`EVENT_BUFFER`] events behind gets the number of events it missed ([`Event::Missed`]), and
    /// goes on with the oldest that are left.
    pub async fn next(&mut self) -> Option<Event<B>> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Event::Missed(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// A new event stream: the first end goes to [`Engine::with_events`](crate::Engine::with_events), the
/// second listens. [`EventSender::subscribe`] makes further listeners.
///
/// At most [`EVENT_BUFFER`] events are held, whatever the listeners do: a slow one misses events,
/// gets their number, and never stops the engine.
///
/// ```
/// use eog::{Config, Decision, Engine, Event, InMemoryContext, Label, StopReason, policy_fn};
/// # use eog::{Case, Topology, Window};
/// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// # let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// let policy = policy_fn(|_| Decision::new(Label::Healthy, "nothing unusual"));
/// let (sender, mut terminal) = eog::events();
/// let mut page = sender.subscribe();
/// let engine = Engine::new(InMemoryContext::default(), policy).with_events(sender);
/// engine.investigate(Config::default(), case).await;
/// for listener in [&mut terminal, &mut page] {
///     assert!(matches!(listener.next().await, Some(Event::Appended(entry)) if entry.seq == 0));
///     assert!(matches!(listener.next().await, Some(Event::Stopped(StopReason::Converged { .. }))));
///     assert!(listener.next().await.is_none());
/// }
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn events<B: Clone>() -> (EventSender<B>, EventStream<B>) {
    let (sender, receiver) = broadcast::channel(EVENT_BUFFER);
    (EventSender(sender), EventStream(receiver))
}
