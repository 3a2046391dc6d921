//! The endpoint of MCP: sessions, messages, and answers that are watched to their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use http_body_util::Full as Whole;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::gate;
use super::recency::Recency;
use super::settings::HttpSettings;
use super::watch::{Full, Quota, SESSION, Watch, may_begin_session};
use crate::server::message;

/// A session in which nothing happens for this long is closed.
const IDLE: Duration = Duration::from_secs(1800);

/// How often a stream on which nothing happens is written to, at least and at most.
const PING: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// What all requests share.
pub(super) struct Endpoint<H> {
    service: StreamableHttpService<H, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    max_sessions: usize,
    recency: Recency,
    /// How many sessions are about to begin.
    beginning: AtomicUsize,
    watch: Arc<Watch>,
}

impl<H: ServerHandler + Clone> Endpoint<H> {
    /// An endpoint for a handler; `stop` ends what is under way.
    pub(super) fn new(handler: H, stop: CancellationToken, settings: &HttpSettings) -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(IDLE);
        // Answers that were made would be kept for a minute, read or not, however many and long they are.
        config.completed_cache_ttl = Duration::ZERO;
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = config;
        let sessions = Arc::new(sessions);
        // Host and origin are checked by the gate, whose refusals say what to do.
        let config = StreamableHttpServerConfig::default()
            .with_max_request_body_bytes(settings.max_body_bytes)
            .with_cancellation_token(stop)
            // That a client has vanished shows in what cannot be sent to it, at the second time at the latest.
            .with_sse_keep_alive(Some((settings.grace / 2).clamp(PING.0, PING.1)))
            .disable_allowed_hosts();
        let service =
            StreamableHttpService::new(move || Ok(handler.clone()), sessions.clone(), config);
        let quota = Quota {
            requests: settings.max_open,
            streams: settings.max_streams,
            all_streams: (settings.max_connections / 2).max(1),
        };
        let watch = Watch::new(sessions.clone(), settings.grace, quota);
        let (max_sessions, recency) = (settings.max_sessions, Recency::default());
        Self { service, sessions, max_sessions, recency, beginning: AtomicUsize::new(0), watch }
    }

    /// No client is waited for any more.
    pub(super) fn stop(&self) {
        self.watch.stop();
    }

    /// Whether one more session may begin. If there are too many, those in which nothing is open have to go; their
    /// clients are asked to begin anew when they come back. All in excess go, not one: sessions that begin at once
    /// have found the same room, and would stay beyond the bound.
    async fn has_room(&self) -> bool {
        let mut closed = Vec::new();
        let has_room = {
            let mut sessions = self.sessions.sessions.write().await;
            if self.recency.known() >= 2 * self.max_sessions {
                self.recency.keep(|session| sessions.contains_key(session));
            }
            loop {
                if sessions.len() < self.max_sessions {
                    break true;
                }
                let silent =
                    sessions.keys().map(AsRef::as_ref).filter(|it| self.watch.is_silent(it));
                let one_begins = self.beginning.load(Ordering::Relaxed) > 0;
                let least = self.recency.least(silent, one_begins).map(str::to_owned);
                let Some(least) = least else { break false };
                closed.extend(sessions.remove(least.as_str()));
            }
        };
        for session in closed {
            // One that is closed already is as good.
            let _ = session.close().await;
        }
        has_room
    }
}

/// A session that is about to begin, until its client is answered or gone.
struct Beginning<'a>(&'a AtomicUsize);

impl<'a> Beginning<'a> {
    fn new(all: &'a AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all)
    }
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The session that headers name.
fn session(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION).and_then(|value| value.to_str().ok())
}

/// Answers a request that has passed the gate, which has read its body.
pub(super) async fn answer<H: ServerHandler + Clone>(
    State(endpoint): State<Arc<Endpoint<H>>>,
    request: Request,
) -> Response {
    if may_begin_session(&request) && !endpoint.has_room().await {
        return gate::refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "the server has reached its limit of sessions; try again later",
        );
    }
    let exchange = match endpoint.watch.begin(&request) {
        Ok(exchange) => exchange,
        Err(full) => {
            let message = match full {
                Full::Requests => {
                    "this session has too many requests under way; read their answers"
                }
                Full::Streams => "too many streams of news are open; calls are still answered",
            };
            return gate::refusal(StatusCode::TOO_MANY_REQUESTS, message);
        }
    };
    if let Some(session) = session(request.headers()) {
        endpoint.recency.used(session);
    }
    let (head, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if head.method == Method::POST
        && let Err(complaint) = message::read(&bytes)
    {
        return exchange.follow(gate::answer(StatusCode::BAD_REQUEST, &complaint));
    }
    let begins = session(&head.headers).is_none();
    let beginning = begins.then(|| Beginning::new(&endpoint.beginning));
    let answer = endpoint.service.handle(Request::from_parts(head, Whole::new(bytes))).await;
    if begins && let Some(session) = session(answer.headers()) {
        endpoint.recency.begun(session);
    }
    drop(beginning);
    exchange.follow(answer.map(Body::new))
}
