//! Signs of life, for what runs the service.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

/// `/healthz`: the process answers. `/readyz`: it takes alerts in, as `is_ready` says.
pub fn health(is_ready: impl Fn() -> Result<(), String> + Clone + Send + Sync + 'static) -> Router {
    Router::new().route("/healthz", get(async || "ok\n")).route(
        "/readyz",
        get(async move || match is_ready() {
            Ok(()) => (StatusCode::OK, "ready\n".to_owned()),
            Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
        }),
    )
}
