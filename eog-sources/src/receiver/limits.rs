//! What a sender may do: the size of a request, how many at once, how long, and with which token.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use tokio::sync::Semaphore;

use crate::config::Otlp as Config;

/// Requests that are read and decoded at once: each holds its body, decompressed and decoded.
const AT_ONCE: usize = 4;

/// How long a request may wait for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a request may take to arrive and to be taken in.
const LONGEST: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Most bytes of a request, as sent and decompressed.
    pub(super) body: usize,
    turns: Arc<Semaphore>,
    token: Option<Arc<str>>,
}

impl Limits {
    pub(super) fn of(config: &Config) -> Self {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        let token = Some(config.token.as_str()).filter(|it| !it.is_empty());
        Self { body: config.max_body, turns, token: token.map(Arc::from) }
    }
}

/// Routes behind the limits. For gRPC, the statuses have the meanings that its clients give them.
pub(super) fn guarded(routes: Router, limits: &Limits) -> Router {
    routes.layer(from_fn_with_state(limits.clone(), guard))
}

async fn guard(State(limits): State<Limits>, request: Request, next: Next) -> Response {
    if let Some(token) = &limits.token {
        let given = request.headers().get(header::AUTHORIZATION);
        let given = given.and_then(|it| it.to_str().ok()?.strip_prefix("Bearer "));
        if !given.is_some_and(|given| is_equal(given, token)) {
            return StatusCode::UNAUTHORIZED.into_response();
        }
    }
    let turn = tokio::time::timeout(PATIENCE, limits.turns.acquire()).await;
    let Ok(Ok(_turn)) = turn else {
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")]).into_response();
    };
    match tokio::time::timeout(LONGEST, next.run(request)).await {
        Ok(response) => response,
        Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
    }
}

/// Compares hashes, so that timing reveals nothing of the token.
fn is_equal(given: &str, token: &str) -> bool {
    blake3::hash(given.as_bytes()) == blake3::hash(token.as_bytes())
}
