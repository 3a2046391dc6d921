//! The endpoint of MCP: sessions, messages, and answers that are watched to their end.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use http_body_util::Full as Whole;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::gate;
use super::settings::HttpSettings;
use super::watch::{Full, Quota, Watch, may_begin_session};
use crate::server::{Server, message};

/// A session in which nothing happens for this long is closed.
const IDLE: Duration = Duration::from_secs(1800);

/// What all requests share.
pub(super) struct Endpoint {
    service: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    max_sessions: usize,
    watch: Arc<Watch>,
}

impl Endpoint {
    pub(super) fn new(server: &Server, settings: &HttpSettings) -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(IDLE);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = config;
        let sessions = Arc::new(sessions);
        // Host and origin are looked at by the gate, whose refusals say what to do.
        let config = StreamableHttpServerConfig::default()
            .with_max_request_body_bytes(settings.max_body_bytes)
            .with_cancellation_token(server.0.stop.child_token())
            .disable_allowed_hosts();
        let server = server.clone();
        let service =
            StreamableHttpService::new(move || Ok(server.clone()), sessions.clone(), config);
        let quota = Quota {
            requests: settings.max_open,
            streams: settings.max_streams,
            all_streams: (settings.max_connections / 2).max(1),
        };
        let watch = Watch::new(sessions.clone(), settings.grace, quota);
        Self { service, sessions, max_sessions: settings.max_sessions, watch }
    }

    /// No client is waited for any more.
    pub(super) fn stop(&self) {
        self.watch.stop();
    }

    async fn has_room(&self) -> bool {
        self.sessions.sessions.read().await.len() < self.max_sessions
    }
}

/// Answers a request that has passed the gate, which has read its body.
pub(super) async fn answer(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
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
    let (head, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if head.method == Method::POST
        && let Err(complaint) = message::read(&bytes)
    {
        return exchange.follow(gate::answer(StatusCode::BAD_REQUEST, &complaint));
    }
    let answer = endpoint.service.handle(Request::from_parts(head, Whole::new(bytes))).await;
    exchange.follow(answer.map(Body::new))
}
