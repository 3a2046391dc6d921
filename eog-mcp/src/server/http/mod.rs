//! Any number of clients over streamable HTTP, and further routes at the same address.
//!
//! ```text
//! connections (how many, how slow) ─► gate (who, how long) ─┬─► /mcp: endpoint, with its watch
//!                                                           └─► further routes
//! ```

mod connections;
mod endpoint;
mod gate;
mod recency;
mod seen;
mod settings;
mod sign_in;
mod token;
mod unread;
mod watch;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::middleware::from_fn_with_state;
use axum::routing::any;
use rmcp::ServerHandler;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use connections::Connections;
use endpoint::Endpoint;
use gate::Gate;
pub use settings::{HttpSettings, Missing, SignIn};
pub use token::Token;

use super::error::ServeError;
use super::{LAST, Server};

/// Where the endpoint is.
const PATH: &str = "/mcp";

impl Server {
    /// Serves clients on a socket until `stop` resolves. The endpoint is `/mcp`.
    ///
    /// Then it returns within 5 seconds. What was running is cancelled and can be resumed from its
    /// journal. Nothing runs any more, except work that takes longer than that and cannot be cancelled,
    /// such as reading a large bundle.
    ///
    /// # Errors
    /// [`ServeError::Unprotected`] when others can reach the address and no token or no name is set.
    ///
    /// # Panics
    /// If `/mcp` is one of the further [`routes`](HttpSettings::routes).
    pub async fn http(
        &self,
        listener: TcpListener,
        settings: HttpSettings,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        settings.protect(listener.local_addr()?)?;
        let endpoint = Arc::new(Endpoint::new(self.clone(), self.0.stop.child_token(), &settings));
        let routes = routes(&endpoint, &settings);
        let open = Connections::accept(listener, routes, reserve(&settings), &settings, stop).await;
        let by = Instant::now() + LAST;
        self.0.stop.cancel();
        endpoint.stop();
        open.end(by).await;
        self.close_by(by).await;
        Ok(())
    }
}

/// Serves the further [`routes`](HttpSettings::routes) alone until `stop` resolves, behind the same checks
/// as an MCP server. Then it returns within 5 seconds; whatever streams is to end by then.
///
/// # Errors
/// [`ServeError::Unprotected`] when others can reach the address and no token or no name is set.
pub async fn serve_routes(
    listener: TcpListener,
    settings: HttpSettings,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    settings.protect(listener.local_addr()?)?;
    let routes =
        behind_gate(settings.routes.clone(), "there is no such page; begin at /", &settings);
    let open = Connections::accept(listener, routes, reserve(&settings), &settings, stop).await;
    open.end(Instant::now() + LAST).await;
    Ok(())
}

/// As [`Server::http`], for callers that accept connections themselves.
///
/// # Errors
/// As for [`Server::http`].
///
/// # Panics
/// As [`Server::http`].
pub async fn serve_handler<H: ServerHandler + Clone>(
    handler: H,
    listener: TcpListener,
    settings: HttpSettings,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    settings.protect(listener.local_addr()?)?;
    let ends = CancellationToken::new();
    let endpoint = Arc::new(Endpoint::new(handler, ends.clone(), &settings));
    let routes = routes(&endpoint, &settings);
    let open = Connections::accept(listener, routes, reserve(&settings), &settings, stop).await;
    ends.cancel();
    endpoint.stop();
    open.end(Instant::now() + LAST).await;
    Ok(())
}

/// Everything that is served.
fn routes<H: ServerHandler + Clone>(
    endpoint: &Arc<Endpoint<H>>,
    settings: &HttpSettings,
) -> Router {
    let routes = Router::new()
        .route(PATH, any(endpoint::answer::<H>).with_state(endpoint.clone()))
        .merge(settings.routes.clone());
    behind_gate(routes, "the MCP endpoint of this server is /mcp", settings)
}

/// What is served where there are too many connections: signs of life.
fn reserve(settings: &HttpSettings) -> Router {
    settings.open_routes.clone().fallback(async || {
        let full = "the server has reached its limit of connections; try again later";
        ([(RETRY_AFTER, "1")], gate::refusal(StatusCode::SERVICE_UNAVAILABLE, full))
    })
}

/// Routes behind all checks, with what is said of any other.
fn behind_gate(routes: Router, unknown: &'static str, settings: &HttpSettings) -> Router {
    let missing = settings.missing;
    let fallback = move |request: Request| async move {
        match missing {
            Some(page) if sign_in::is_of_a_browser(&request) => {
                sign_in::html(StatusCode::NOT_FOUND, page("There is nothing at this address."))
            }
            _ => gate::refusal(StatusCode::NOT_FOUND, unknown),
        }
    };
    let routes = routes
        // Signing in is answered by the gate, once there is a route for it.
        .route(sign_in::SIGN_IN, any(async || StatusCode::NOT_FOUND))
        // Around all routes above.
        .layer(from_fn_with_state(Arc::new(Gate::new(settings)), gate::pass))
        .merge(settings.open_routes.clone())
        .fallback(fallback);
    match gate::cors(settings) {
        // Browsers ask without a token what they may ask.
        Some(cors) => routes.layer(cors),
        None => routes,
    }
}
