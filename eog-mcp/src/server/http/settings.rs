//! How a server is reached over HTTP, and with which token.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;

use super::token::Token;
use crate::server::error::ServeError;

/// The page that asks for the token, as HTML with the form that posts `token` to `/sign-in`, given what
/// was wrong with the last one.
pub type SignIn = fn(&str) -> String;

/// The page for an address at which there is nothing, as HTML, given what is to be said.
pub type Missing = fn(&str) -> String;

/// How a server is reached over HTTP, and with which token.
///
/// ```
/// use eog_mcp::server::HttpSettings;
/// let settings = HttpSettings::default();
/// assert!(settings.token.is_none() && settings.hosts.is_empty());
/// ```
///
/// Further routes, served beside the endpoint:
///
/// ```
/// use eog_mcp::server::{HttpSettings, axum};
/// let mut settings = HttpSettings::default();
/// settings.routes = axum::Router::new()
///     .route("/health", axum::routing::get(async || "eog serves"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpSettings {
    /// What every request must carry as `Authorization: Bearer …`. Needed where others can reach the
    /// address.
    pub token: Option<Token>,
    /// How browsers are asked for the token, which have no header for it: they keep it in a cookie that
    /// is good for the further [`routes`](HttpSettings::routes) alone.
    pub sign_in: Option<SignIn>,
    /// What browsers are shown where there is nothing. It is shown without a check, so it must not reveal an
    /// incident.
    pub missing: Option<Missing>,
    /// Names by which the server may be called, beside those of this machine alone (`localhost`,
    /// `127.0.0.1`, `[::1]`), such as `eog.example.org` or `eog.example.org:8080`. Needed where
    /// others can reach the address: a name that is not expected may be a web page's.
    pub hosts: Vec<String>,
    /// Web pages that may call, such as `https://inspector.example.org`. A request that no browser
    /// sends has no origin, and passes.
    pub origins: Vec<String>,
    /// Longest body of a request, in bytes.
    pub max_body_bytes: usize,
    /// Most connections at once. A further one takes the place of the one on which a request, its rest or another one
    /// has been waited for longest, or else of one that leaves its answer unread. While all are answered, further
    /// ones are served the [`open_routes`](HttpSettings::open_routes) alone, and are else refused with 503.
    pub max_connections: usize,
    /// Most sessions of clients of older protocols. When one more begins, one in which nothing is open
    /// is closed: one that was never used, otherwise the one that has been silent for longest. Sessions that begin at
    /// the same moment may be more until the next one begins.
    pub max_sessions: usize,
    /// How long a client may take to send the head of a request, from when it has connected or its
    /// last request was answered.
    pub head_time: Duration,
    /// How long a client may take to send the body of a request.
    pub body_time: Duration,
    /// How long a client may leave an answer unread before its connection is cut.
    pub write_time: Duration,
    /// Most bytes of answers that wait for their readers, of all connections together. Beyond it, other connections
    /// are cut to make room for an answer: first those that have taken nothing for a second or more, the longest
    /// silence first. Only where there is none, because more than this came within a second, those with the most
    /// waiting. No answer cuts its own connection: one that is longer by itself, in one part or in several, is
    /// sent.
    pub max_unread_bytes: usize,
    /// Most requests of one session that are under way at once.
    pub max_open: usize,
    /// Most streams of news at once that one session may hold open. Of all sessions together, at most
    /// half of the connections may be such streams, so that there is room for calls.
    pub max_streams: usize,
    /// How long a client that lost its connection in a call may take to come back. After that its
    /// calls are cancelled.
    pub grace: Duration,
    /// What is served at the same address beside `/mcp`. The checks of host, origin, token, length and
    /// time hold for these routes, too; the body of a request is read whole before its route is
    /// called. A fallback among them is not used.
    pub routes: Router,
    /// What may be read without any check by all who can reach the address: signs of life for what runs the server,
    /// which has neither the token nor a name for it. Nothing here may reveal an incident.
    pub open_routes: Router,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            token: None,
            sign_in: None,
            missing: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            max_body_bytes: 1 << 20,
            max_connections: 512,
            max_sessions: 1024,
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            write_time: Duration::from_secs(30),
            max_unread_bytes: 256 << 20,
            max_open: 64,
            max_streams: 4,
            grace: Duration::from_secs(10),
            routes: Router::new(),
            open_routes: Router::new(),
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
            missing.push("set a token of at least 16 characters (HttpSettings::token)");
        }
        if self.hosts.is_empty() {
            missing
                .push("give the host names by which clients call the server (HttpSettings::hosts)");
        }
        match missing.is_empty() {
            true => Ok(()),
            false => Err(ServeError::Unprotected { address, missing }),
        }
    }
}
