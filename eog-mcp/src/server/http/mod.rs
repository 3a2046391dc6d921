//! Any number of clients over streamable HTTP.

mod gate;
mod token;
mod watch;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use gate::Gate;
pub use token::Token;
use watch::Watch;

use super::message;
use super::{LAST, ServeError, Server};

/// Where the endpoint is.
const PATH: &str = "/mcp";

/// How long a client may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// How long a client may take to send the body of a request.
const BODY_TIME: Duration = Duration::from_secs(30);

/// A session in which nothing happens for this long is closed.
const IDLE: Duration = Duration::from_secs(1800);

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// How a server is reached over HTTP, and by whom.
///
/// ```
/// use eog_mcp::server::HttpSettings;
/// let settings = HttpSettings::default();
/// assert!(settings.token.is_none() && settings.hosts.is_empty());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpSettings {
    /// What every request must carry as `Authorization: Bearer …`. Needed where others can reach the
    /// address.
    pub token: Option<Token>,
    /// Names by which the server may be called, beside those of this machine alone (`localhost`,
    /// `127.0.0.1`, `[::1]`), such as `eog.example.org` or `eog.example.org:8080`. Needed where
    /// others can reach the address: a name that is not expected may be a web page's.
    pub hosts: Vec<String>,
    /// Web pages that may call, such as `https://inspector.example.org`. A request that no browser
    /// sends has no origin, and passes.
    pub origins: Vec<String>,
    /// Longest body of a request, in bytes.
    pub max_body_bytes: usize,
    /// Most connections at once; further ones wait.
    pub max_connections: usize,
    /// Most sessions of clients of older protocols.
    pub max_sessions: usize,
    /// How long a client that lost its connection in a call may take to come back. After that its
    /// calls are cancelled.
    pub grace: Duration,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            token: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            max_body_bytes: 1 << 20,
            max_connections: 512,
            max_sessions: 1024,
            grace: Duration::from_secs(10),
        }
    }
}

impl HttpSettings {
    /// Whether these settings protect an address that others can reach.
    ///
    /// # Errors
    /// [`ServeError::Unprotected`] says all that is missing.
    pub fn protect(&self, address: SocketAddr) -> Result<(), ServeError> {
        if address.ip().is_loopback() {
            return Ok(());
        }
        let mut missing = Vec::new();
        if self.token.is_none() {
            missing.push(
                "clients need a token: put one of at least 16 characters into the environment variable \
                 EOG_MCP_TOKEN or a file (--token-file)",
            );
        }
        if self.hosts.is_empty() {
            missing
                .push("the names by which it is called must be known: give them with --allow-host");
        }
        match missing.is_empty() {
            true => Ok(()),
            false => Err(ServeError::Unprotected { address, missing }),
        }
    }
}

type Sessions = LocalSessionManager;

/// What all connections share.
struct Entry {
    service: StreamableHttpService<Server, Sessions>,
    gate: Gate,
    watch: Arc<Watch>,
    sessions: Arc<Sessions>,
    max_sessions: usize,
    max_body_bytes: usize,
}

impl Server {
    /// Serves clients on a socket until `stop` resolves. The endpoint is `/mcp`.
    ///
    /// It returns within 5 seconds then: what ran is cancelled, and can be resumed from its journal.
    /// Nothing works for any client any more, but for what takes longer than that and cannot be
    /// cancelled, such as reading a large folder.
    ///
    /// # Errors
    /// [`ServeError::Unprotected`] when others can reach the address and no token or no name is set.
    pub async fn http(
        &self,
        listener: TcpListener,
        settings: HttpSettings,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        settings.protect(listener.local_addr()?)?;
        let entry = Arc::new(self.entry(&settings));
        let connections = Arc::new(Semaphore::new(settings.max_connections));
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
        let open = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let (stream, room) = tokio::select! {
                () = &mut stop => break,
                accepted = accept(&listener, &connections) => accepted,
            };
            let entry = entry.clone();
            let answer = service_fn(move |request| {
                let entry = entry.clone();
                async move { Ok::<_, Infallible>(entry.answer(request).await) }
            });
            let connection = builder.serve_connection(TokioIo::new(stream), answer);
            let connection = open.watch(connection);
            tokio::spawn(async move {
                let _room = room;
                // How a client breaks off is its own affair.
                let _ = connection.await;
            });
        }
        let by = Instant::now() + LAST;
        self.0.stop.cancel();
        entry.watch.stop();
        let _ = timeout_at(by, open.shutdown()).await;
        self.close(by).await;
        Ok(())
    }

    fn entry(&self, settings: &HttpSettings) -> Entry {
        let mut sessions = Sessions::default();
        let mut config = SessionConfig::default();
        config.keep_alive = Some(IDLE);
        sessions.session_config = config;
        let sessions = Arc::new(sessions);
        // Host and origin are looked at by the gate, whose refusals say what to do.
        let config = StreamableHttpServerConfig::default()
            .with_max_request_body_bytes(settings.max_body_bytes)
            .with_cancellation_token(self.0.stop.child_token())
            .disable_allowed_hosts();
        let server = self.clone();
        Entry {
            service: StreamableHttpService::new(
                move || Ok(server.clone()),
                sessions.clone(),
                config,
            ),
            gate: Gate::new(settings),
            watch: Watch::new(sessions.clone(), settings.grace),
            sessions,
            max_sessions: settings.max_sessions,
            max_body_bytes: settings.max_body_bytes,
        }
    }
}

impl Entry {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        if request.uri().path() != PATH {
            return gate::refusal(StatusCode::NOT_FOUND, "the MCP endpoint of this server is /mcp");
        }
        if let Err(refusal) = self.gate.check(&request) {
            return *refusal;
        }
        if watch::may_begin_session(&request)
            && self.sessions.sessions.read().await.len() >= self.max_sessions
        {
            return gate::refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                "there are as many sessions as this server takes; try again later",
            );
        }
        let exchange = self.watch.begin(&request);
        let response = match self.read(request).await {
            Ok(request) => self.service.handle(request).await,
            Err(refusal) => *refusal,
        };
        exchange.follow(response)
    }

    /// Reads the body of a request, within bounds of size and time, and makes sure that it is a
    /// message.
    async fn read(&self, request: Request<Incoming>) -> Result<Request<Full<Bytes>>, Box<Answer>> {
        let (head, body) = request.into_parts();
        let refuse = |status, message: &str| Box::new(gate::refusal(status, message));
        let body = Limited::new(body, self.max_body_bytes).collect();
        let bytes = match tokio::time::timeout(BODY_TIME, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return Err(Box::new(gate::too_long(self.max_body_bytes)));
            }
            Ok(Err(error)) => {
                let message = format!("the body cannot be read: {error}");
                return Err(refuse(StatusCode::BAD_REQUEST, &message));
            }
            Err(_) => {
                let message = "the body did not come in time; send it without waiting";
                return Err(refuse(StatusCode::REQUEST_TIMEOUT, message));
            }
        };
        if head.method == Method::POST
            && let Err(complaint) = message::read(&bytes)
        {
            return Err(Box::new(gate::answer(StatusCode::BAD_REQUEST, &complaint)));
        }
        Ok(Request::from_parts(head, Full::new(bytes)))
    }
}

/// The next connection, once there is room for it. A connection that breaks off at once, or a lack
/// of descriptors that passes, is not the end of a server.
async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> (tokio::net::TcpStream, Option<tokio::sync::OwnedSemaphorePermit>) {
    let room = connections.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                return (stream, room);
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
