//! Clients that vanish: their calls are cancelled when they do not come back.
//!
//! Since 2026-07-28 each request stands alone and is cancelled with its connection. Clients of older protocols have
//! a session and may take a broken stream up again, so their calls go on for a while without a connection.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::seen::{Observer, seen};

pub(super) const SESSION: &str = "mcp-session-id";

const VERSION: &str = "mcp-protocol-version";

/// The first version without sessions.
const STATELESS: &str = "2026-07-28";

/// Knows of each session how many of its requests are under way.
pub(super) struct Watch {
    open: Mutex<BTreeMap<String, Presence>>,
    sessions: Arc<LocalSessionManager>,
    grace: Duration,
    stop: CancellationToken,
    quota: Quota,
    /// Room for streams of news, of all clients together.
    streams: Arc<Semaphore>,
}

/// What one session may have open at once.
#[derive(Clone, Copy)]
pub(super) struct Quota {
    pub(super) requests: usize,
    pub(super) streams: usize,
    /// Streams of all sessions together.
    pub(super) all_streams: usize,
}

/// Why a request is not taken now.
pub(super) enum Full {
    Requests,
    Streams,
}

#[derive(Default)]
struct Presence {
    /// Requests and streams that are open.
    open: usize,
    /// Streams of news among them.
    streams: usize,
    /// Whether a call was broken off; it may go on without its client.
    is_broken: bool,
    /// Counts the times that all were gone after that.
    absences: u64,
}

/// One request, from its head to the end of its answer.
pub(super) struct Exchange {
    watch: Option<(Arc<Watch>, String)>,
    is_over: bool,
    /// A place among the streams of news.
    stream: Option<OwnedSemaphorePermit>,
}

/// Whether a request may begin a session: it has none, and may be of an older protocol.
pub(super) fn may_begin_session(request: &Request) -> bool {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    request.method() == Method::POST
        && header(SESSION).is_none()
        && header(VERSION).is_none_or(|version| version < STATELESS)
}

impl Watch {
    pub(super) fn new(
        sessions: Arc<LocalSessionManager>,
        grace: Duration,
        quota: Quota,
    ) -> Arc<Self> {
        let streams = Arc::new(Semaphore::new(quota.all_streams));
        let stop = CancellationToken::new();
        Arc::new(Self { open: Mutex::default(), sessions, grace, stop, quota, streams })
    }

    /// Stops waiting for requests under way.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Whether nothing of a session is open.
    pub(super) fn is_silent(&self, session: &str) -> bool {
        self.presences().get(session).is_none_or(|presence| presence.open == 0)
    }

    /// A request has come, unless there are too many of its kind.
    pub(super) fn begin(self: &Arc<Self>, request: &Request) -> Result<Exchange, Full> {
        let is_stream = request.method() == Method::GET;
        let stream = match is_stream {
            true => Some(self.streams.clone().try_acquire_owned().map_err(|_| Full::Streams)?),
            false => None,
        };
        let session = request.headers().get(SESSION).and_then(|value| value.to_str().ok());
        if let Some(session) = session {
            let mut presences = self.presences();
            let presence = presences.entry(session.to_owned()).or_default();
            if is_stream && presence.streams >= self.quota.streams {
                return Err(Full::Streams);
            }
            // Closing a session is always possible.
            if request.method() == Method::POST
                && presence.open - presence.streams >= self.quota.requests
            {
                return Err(Full::Requests);
            }
            presence.open += 1;
            presence.streams += usize::from(is_stream);
        }
        let watch = session.map(|session| (self.clone(), session.to_owned()));
        // A message is whole when it is answered; a stream of news may break off anywhere.
        Ok(Exchange { watch, is_over: request.method() != Method::POST, stream })
    }

    /// A request is over. If a call broke off and its client has nothing open any more, the client
    /// may have vanished.
    fn end(self: &Arc<Self>, session: &str, is_over: bool, was_stream: bool) {
        let mut presences = self.presences();
        let Some(presence) = presences.get_mut(session) else { return };
        presence.open -= 1;
        presence.streams -= usize::from(was_stream);
        presence.is_broken |= !is_over;
        if presence.open > 0 {
            return;
        }
        if !presence.is_broken {
            presences.remove(session);
            return;
        }
        presence.absences += 1;
        let absence = presence.absences;
        drop(presences);
        let (watch, session) = (self.clone(), session.to_owned());
        tokio::spawn(async move { watch.wait_for(session, absence).await });
    }

    /// Closes a session if its client does not come back in time. That cancels its calls.
    async fn wait_for(&self, session: String, absence: u64) {
        tokio::select! {
            () = tokio::time::sleep(self.grace) => {}
            () = self.stop.cancelled() => return,
        }
        {
            let mut presences = self.presences();
            match presences.get(&session) {
                Some(presence) if presence.open == 0 && presence.absences == absence => {
                    presences.remove(&session);
                }
                _ => return,
            }
        }
        // One that is closed already is as good.
        let _ = self.sessions.close_session(&session.into()).await;
    }

    fn presences(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Presence>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exchange {
    /// Watches the answer to its end.
    pub(super) fn follow(self, answer: Response) -> Response {
        if self.watch.is_none() && self.stream.is_none() {
            return answer;
        }
        answer.map(|body| seen(body, self))
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some((watch, session)) = self.watch.take() {
            watch.end(&session, self.is_over, self.stream.is_some());
        }
    }
}

impl Observer for Exchange {
    fn end(&mut self) {
        self.is_over = true;
    }
}
