//! Which requests are let in: by host, origin, token, and the size and pace of what is sent.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, ORIGIN, WWW_AUTHENTICATE,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use rmcp::model::{ErrorData, ServerJsonRpcMessage};
use tower_http::cors::CorsLayer;

use super::PATH;
use super::settings::{HttpSettings, SignIn};
use super::sign_in;
use super::token::Token;
use crate::server::message::refused;

/// How long browsers may remember what a page may ask.
const PREFLIGHT: Duration = Duration::from_secs(3600);

/// Names that mean this machine alone, and so cannot be those of a web page from elsewhere.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// What requests must be like, whatever they ask for.
pub(super) struct Gate {
    token: Option<Token>,
    sign_in: Option<SignIn>,
    hosts: Vec<String>,
    origins: Vec<String>,
    max_body_bytes: usize,
    body_time: Duration,
}

/// Names as browsers and clients send them.
fn lower(names: &[String]) -> impl Iterator<Item = String> {
    names.iter().map(|name| name.trim().trim_end_matches('/').to_lowercase())
}

/// What browsers ask before they let a page from an allowed origin call, and what they expect in answers. Nothing
/// where no origin is allowed.
pub(super) fn cors(settings: &HttpSettings) -> Option<CorsLayer> {
    let named = lower(&settings.origins);
    let origins: Vec<HeaderValue> = named.filter_map(|origin| origin.parse().ok()).collect();
    let asked = [ACCEPT, AUTHORIZATION, CONTENT_TYPE].into_iter();
    let of_mcp = ["mcp-session-id", "mcp-protocol-version", "last-event-id"];
    let exposed = [WWW_AUTHENTICATE, HeaderName::from_static("mcp-session-id")];
    (!origins.is_empty()).then(|| {
        CorsLayer::new()
            .allow_origin(origins)
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            .allow_headers(asked.chain(of_mcp.map(HeaderName::from_static)).collect::<Vec<_>>())
            .allow_private_network(true)
            .expose_headers(exposed)
            .max_age(PREFLIGHT)
    })
}

/// Lets a request pass to its route with its whole body, or refuses it.
pub(super) async fn pass(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    if let Err(refusal) = gate.check(&request) {
        return *refusal;
    }
    let request = match gate.read(request).await {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    match (&gate.token, gate.sign_in) {
        (Some(token), Some(page)) if sign_in::is_asked(&request) => {
            sign_in::answer(token, page, request).await
        }
        _ => next.run(request).await,
    }
}

impl Gate {
    pub(super) fn new(settings: &HttpSettings) -> Self {
        Self {
            token: settings.token.clone(),
            sign_in: settings.sign_in,
            hosts: lower(&settings.hosts).collect(),
            origins: lower(&settings.origins).collect(),
            max_body_bytes: settings.max_body_bytes,
            body_time: settings.body_time,
        }
    }

    /// Refuses a request by its head, before anything more is read of it.
    fn check(&self, request: &Request) -> Result<(), Box<Response>> {
        let headers = request.headers();
        self.host(request.uri(), headers)?;
        // MCP is for programs; pages call where they came from.
        let is_page = request.uri().path() != PATH;
        if !(is_page && is_same_origin(headers)) {
            self.origin(headers)?;
        }
        match self.sign_in {
            Some(page) if is_page => self.signed_in(page, request)?,
            _ => self.token(headers)?,
        }
        self.size(headers)
    }

    /// Lets a browser pass that has the token in its cookie, or asks for it.
    fn signed_in(&self, page: SignIn, request: &Request) -> Result<(), Box<Response>> {
        let Some(token) = &self.token else { return Ok(()) };
        if sign_in::is_asked(request) || sign_in::has_cookie(token, request.headers()) {
            return Ok(());
        }
        let refused = self.token(request.headers());
        match request.headers().contains_key(AUTHORIZATION) || !sign_in::is_of_a_browser(request) {
            true => refused,
            false => Err(Box::new(sign_in::ask(page, ""))),
        }
    }

    /// A web page can make a browser resolve its own name to this machine; the name then gives it
    /// away.
    fn host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Box<Response>> {
        let mut named = headers.get_all(HOST).iter();
        let host = match (named.next(), named.next()) {
            (Some(one), None) => one.to_str().ok(),
            (None, _) => uri.authority().map(Authority::as_str),
            (Some(_), Some(_)) => None,
        };
        // A whole address in the request line names the host, too (RFC 9112, section 3.2.2).
        let target = uri.authority().map(Authority::as_str);
        if host.into_iter().chain(target).all(|name| self.is_own(name)) && host.is_some() {
            return Ok(());
        }
        Err(Box::new(refusal(
            StatusCode::FORBIDDEN,
            "the Host header is not a name of this server; use localhost or 127.0.0.1, or have the \
             server allow this host",
        )))
    }

    /// Whether a host, with or without its port, is this server. One with a user before it is no host
    /// (RFC 9110, section 7.2).
    fn is_own(&self, host: &str) -> bool {
        let authority = host.to_lowercase().parse::<Authority>().ok();
        authority.filter(|it| !it.as_str().contains('@')).is_some_and(|it| {
            let is_named = |allowed: &String| allowed == it.as_str() || allowed == it.host();
            HERE.contains(&it.host()) || self.hosts.iter().any(is_named)
        })
    }

    fn origin(&self, headers: &HeaderMap) -> Result<(), Box<Response>> {
        let is_allowed = |origin: &HeaderValue| {
            origin.to_str().is_ok_and(|origin| self.origins.contains(&origin.to_lowercase()))
        };
        if headers.get_all(ORIGIN).iter().all(is_allowed) {
            return Ok(());
        }
        Err(Box::new(refusal(
            StatusCode::FORBIDDEN,
            "requests from web pages are refused, unless the server allows their origin",
        )))
    }

    fn token(&self, headers: &HeaderMap) -> Result<(), Box<Response>> {
        let Some(token) = &self.token else { return Ok(()) };
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let bearer = |value: &HeaderValue| {
            let (scheme, given) = value.to_str().ok()?.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| given.trim().to_owned())
        };
        let message = match (given.next(), given.next()) {
            (Some(one), None) => match bearer(one) {
                Some(text) if token.is(&text) => return Ok(()),
                Some(_) => "the token is wrong",
                None => "the Authorization header must be `Bearer TOKEN`",
            },
            (None, _) => {
                "this server requires a token: send the header `Authorization: Bearer TOKEN`"
            }
            (Some(_), Some(_)) => "there is more than one Authorization header",
        };
        let mut answer = refusal(StatusCode::UNAUTHORIZED, message);
        answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        Err(Box::new(answer))
    }

    /// What says itself that it is too long need not be read. The rest is counted while it comes.
    fn size(&self, headers: &HeaderMap) -> Result<(), Box<Response>> {
        let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let length = length.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        if length <= self.max_body_bytes as u64 {
            return Ok(());
        }
        Err(self.too_long())
    }

    /// Reads the body of a request, within bounds of size and time.
    async fn read(&self, request: Request) -> Result<Request, Box<Response>> {
        let (head, body) = request.into_parts();
        let refuse = |status, message: &str| Err(Box::new(refusal(status, message)));
        let body = Limited::new(body, self.max_body_bytes).collect();
        match tokio::time::timeout(self.body_time, body).await {
            Ok(Ok(body)) => Ok(Request::from_parts(head, Body::from(body.to_bytes()))),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(self.too_long()),
            Ok(Err(error)) => refuse(
                StatusCode::BAD_REQUEST,
                &format!("the request body cannot be read: {error}"),
            ),
            Err(_) => refuse(
                StatusCode::REQUEST_TIMEOUT,
                "the request body did not arrive in time; send it without pauses",
            ),
        }
    }

    fn too_long(&self) -> Box<Response> {
        let max = self.max_body_bytes;
        let message = format!(
            "the request body is longer than {max} bytes, the limit of this server; send less at once"
        );
        Box::new(refusal(StatusCode::PAYLOAD_TOO_LARGE, &message))
    }
}

/// Whether a request comes from a page of the host that it is sent to, as browsers say it. The scheme is
/// that of the page: there may be a proxy with TLS in between.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let mut origins = headers.get_all(ORIGIN).iter();
    let (Some(_), None) = (origins.next(), origins.next()) else { return false };
    let origin = text(ORIGIN).and_then(|origin| origin.split_once("://"));
    origin.zip(text(HOST)).is_some_and(|((scheme, from), host)| {
        matches!(scheme, "http" | "https") && from.eq_ignore_ascii_case(host)
    })
}

/// A refusal that clients of MCP can read, and people, too.
pub(super) fn refusal(status: StatusCode, message: &str) -> Response {
    answer(status, &refused(ErrorData::invalid_request(message.to_owned(), None), None))
}

/// A message as the whole answer.
pub(super) fn answer(status: StatusCode, message: &ServerJsonRpcMessage) -> Response {
    let body = serde_json::to_vec(message).unwrap_or_default();
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(gate: &Gate, headers: &[(&str, &str)]) -> u16 {
        status_at(gate, "/mcp", headers)
    }

    fn status_at(gate: &Gate, path: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).expect("a request");
        gate.check(&request).map_or_else(|refusal| refusal.status().as_u16(), |()| 200)
    }

    #[test]
    fn only_names_of_this_server_pass() {
        let hosts = vec!["eog.example.org".to_owned(), "other.example.org:8080".to_owned()];
        let gate = Gate::new(&HttpSettings { hosts, ..HttpSettings::default() });
        for host in ["localhost", "LOCALHOST:9", "127.0.0.1:80", "[::1]:1", "eog.example.org:1"] {
            assert_eq!(status(&gate, &[("host", host)]), 200, "{host}");
        }
        assert_eq!(status(&gate, &[("host", "other.example.org:8080")]), 200);
        for host in [
            "evil.example.org",
            "other.example.org",
            "localhost.evil.org",
            "127.0.0.1.evil.org",
            "eog.example.org@evil.org",
            "evil@localhost:80",
            "",
        ] {
            assert_eq!(status(&gate, &[("host", host)]), 403, "{host}");
        }
        assert_eq!(status(&gate, &[]), 403, "no name at all");
        for (uri, expected) in [("http://localhost:9/mcp", 200), ("http://evil.org/mcp", 403)] {
            let request = Request::builder().uri(uri).header("host", "localhost:9");
            let request = request.body(Body::empty()).expect("a request");
            assert_eq!(gate.check(&request).is_ok(), expected == 200, "{uri}");
        }
        assert_eq!(status(&gate, &[("host", "localhost"), ("host", "evil.org")]), 403);
    }

    #[test]
    fn web_pages_pass_only_if_they_are_named() {
        let origins = vec!["https://pages.example.org/".to_owned()];
        let gate = Gate::new(&HttpSettings { origins, ..HttpSettings::default() });
        let from = |origin| status(&gate, &[("host", "localhost"), ("origin", origin)]);
        assert_eq!(from("https://pages.example.org"), 200);
        for origin in ["https://evil.org", "http://pages.example.org", "null", "http://localhost"] {
            assert_eq!(from(origin), 403, "{origin}");
        }
    }

    #[test]
    fn pages_pass_to_where_they_came_from_and_no_other_page_does() {
        let gate = Gate::new(&HttpSettings::default());
        let from = |path, origin| {
            let host = "localhost:8080";
            status_at(&gate, path, &[("host", host), ("origin", origin)])
        };
        assert_eq!(from("/i/run/stop", "http://localhost:8080"), 200);
        assert_eq!(from("/mcp", "http://localhost:8080"), 403);
        for origin in
            ["http://localhost:9", "https://evil.org", "null", "", "file://localhost:8080"]
        {
            assert_eq!(from("/i/run/stop", origin), 403, "{origin}");
        }
        let two = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "null")];
        assert_eq!(status_at(&gate, "/", &two), 403);
        // A name that resolves to this machine is not one of this server.
        let rebound = [("host", "evil.org"), ("origin", "http://evil.org")];
        assert_eq!(status_at(&gate, "/i/run/stop", &rebound), 403);
    }

    #[test]
    fn only_the_token_passes() {
        let token = Token::new("0123456789abcdef").ok();
        let gate = Gate::new(&HttpSettings { token, ..HttpSettings::default() });
        let with = |value| status(&gate, &[("host", "localhost"), ("authorization", value)]);
        assert_eq!(with("Bearer 0123456789abcdef"), 200);
        assert_eq!(with("bearer  0123456789abcdef "), 200);
        for wrong in ["Bearer 0123456789abcdee", "Bearer", "Basic 0123456789abcdef", ""] {
            assert_eq!(with(wrong), 401, "{wrong}");
        }
        assert_eq!(status(&gate, &[("host", "localhost")]), 401);
    }

    #[test]
    fn what_says_that_it_is_too_long_is_not_read() {
        let gate = Gate::new(&HttpSettings { max_body_bytes: 10, ..HttpSettings::default() });
        let long = |length| status(&gate, &[("host", "localhost"), ("content-length", length)]);
        assert_eq!((long("10"), long("11")), (200, 413));
    }
}
