//! What is served: alerts in, incidents and figures out.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use eog_live::{as_page, wants_page};
use jiff::Timestamp;
use serde_json::json;

use crate::alert::Notification;
use crate::desk::Refused;
use crate::metrics::Kind;
use crate::service::Shared;

/// The routes of the service, behind the checks of the server.
pub(crate) fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/alerts", post(alerts))
        .route("/incidents", get(incidents))
        .route("/incidents/{id}", get(incident))
        // The gate of the server bounds bodies, by `--max-body`.
        .layer(DefaultBodyLimit::disable())
        .with_state(shared)
}

/// Figures, for whoever reaches the address.
pub(crate) fn metrics(shared: Arc<Shared>) -> Router {
    Router::new().route("/metrics", get(figures)).with_state(shared)
}

type Served = State<Arc<Shared>>;

async fn alerts(State(served): Served, headers: HeaderMap, body: Bytes) -> Response {
    let (kind, answer) = match take_in(&served, &headers, &body).await {
        Ok(()) => ("taken", told(StatusCode::OK, "taken in")),
        Err((kind, status, reason)) => {
            served.refusals.tell(kind, &reason);
            (kind, told(status, &reason))
        }
    };
    served.metrics.requests.get_or_create(&Kind::of(kind)).inc();
    answer
}

/// What becomes of a request that is not taken in: for the figures, as a status, and in words.
type NotTaken = (&'static str, StatusCode, String);

async fn take_in(served: &Shared, headers: &HeaderMap, body: &[u8]) -> Result<(), NotTaken> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        let reason = "send application/json, as Alertmanager does";
        return Err(("refused", StatusCode::UNSUPPORTED_MEDIA_TYPE, reason.to_owned()));
    }
    let request = Notification::read(body, &served.own)
        .map_err(|reason| ("refused", StatusCode::BAD_REQUEST, reason))?;
    // Alertmanager tries again after 5xx, and not after 4xx.
    served.desk.receive(request, Timestamp::now()).await.map_err(|refused| match refused {
        Refused::Full(reason) => ("full", StatusCode::SERVICE_UNAVAILABLE, reason),
        Refused::NotStored(reason) => ("not_stored", StatusCode::INTERNAL_SERVER_ERROR, reason),
    })
}

async fn incidents(State(served): Served) -> Response {
    body(StatusCode::OK, &served.desk.list())
}

/// One incident: as JSON, and as a page for people.
async fn incident(State(served): Served, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let desk = served.desk.clone();
    let found = tokio::task::spawn_blocking(move || desk.one(&id)).await.ok().flatten();
    if wants_page(&headers) {
        return match found {
            Some(found) => as_page(StatusCode::OK, eog_page::incident(&found.shown())),
            None => {
                let why = "There is no such incident; it may have been removed.";
                as_page(StatusCode::NOT_FOUND, eog_page::missing(why))
            }
        };
    }
    match found.and_then(|it| serde_json::to_value(it).ok()) {
        Some(found) => body(StatusCode::OK, &found),
        None => told(StatusCode::NOT_FOUND, "there is no such incident; /incidents lists all"),
    }
}

async fn figures(State(served): Served) -> Response {
    let measured = served.clone();
    let text = tokio::task::spawn_blocking(move || {
        measured.desk.measure();
        measured.outbox.measure();
        if let Some(received) = &measured.received {
            measured.metrics.measure_otlp(received.figures());
        }
        measured.metrics.text()
    });
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let headers = [(CONTENT_TYPE, HeaderValue::from_static(kind))];
    (headers, text.await.unwrap_or_default()).into_response()
}

fn told(status: StatusCode, message: &str) -> Response {
    let key = if status.is_success() { "status" } else { "error" };
    body(status, &json!({ key: message }))
}

fn body(status: StatusCode, value: &serde_json::Value) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (axum::http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (status, headers, format!("{value:#}\n")).into_response()
}
