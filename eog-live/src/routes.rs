//! The routes and what they serve.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use eog::EntityId;
use eog_evidence::{mask_text, shorten};
use eog_mcp::server::HttpSettings;
use eog_page::Row;
use eog_session::source::{Verdict, Word};
use eog_session::watched::Watched;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::events::{self, Readers};
use crate::{Host, Standing};

/// Most readers of events at once, of all investigations.
const MAX_READERS: usize = 64;
/// Most pages that are made at once: each replays a ledger.
const MAX_PAGES: usize = 2;
/// The content type of pages.
const HTML: &str = "text/html; charset=utf-8";
/// Most characters of a remark.
const MAX_TEXT: usize = 4_000;
/// Most bytes of a request to an investigation.
const MAX_BODY: usize = 64 << 10;

/// The pages of a host. Clones are the same.
#[derive(Clone)]
pub struct Live(Arc<Shared>);

pub(crate) struct Shared {
    host: Box<dyn Host>,
    /// Further rows, listed first.
    waiting: Box<dyn Fn() -> Vec<Row> + Send + Sync>,
    readers: Arc<Readers>,
    pages: Semaphore,
    stop: CancellationToken,
}

/// How pages are served: as pages, with a form for the token.
pub fn settings(mut settings: HttpSettings, live: &Live) -> HttpSettings {
    settings.sign_in = Some(eog_page::sign_in);
    settings.missing = Some(eog_page::missing);
    settings.routes = settings.routes.merge(live.routes());
    settings
}

impl Live {
    /// The pages of this host.
    pub fn new(host: impl Host) -> Self {
        Self::listing(host, Vec::new)
    }

    /// The pages of this host, with further rows at the head of the list: what waits for an investigation.
    pub fn listing(
        host: impl Host,
        waiting: impl Fn() -> Vec<Row> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared {
            host: Box::new(host),
            waiting: Box::new(waiting),
            readers: Arc::new(Readers::new(MAX_READERS)),
            pages: Semaphore::new(MAX_PAGES),
            stop: CancellationToken::new(),
        }))
    }

    /// Ends all streams: readers are notified that nothing more comes.
    pub fn end(&self) {
        self.0.stop.cancel();
    }

    /// The routes: `/` lists the investigations and begins one, `/i/ID` shows one.
    pub fn routes(&self) -> Router {
        Router::new()
            .route("/", get(list))
            .route("/cases", get(cases))
            .route("/i", post(start))
            .route("/i/{id}", get(page))
            .route("/i/{id}/close", post(close))
            .route("/i/{id}/events/{next}", get(stream))
            .route("/i/{id}/stop", post(stop))
            .route("/i/{id}/go-on", post(go_on))
            .route("/i/{id}/words", post(words))
            .with_state(self.0.clone())
    }
}

type Shown = State<Arc<Shared>>;

async fn list(State(live): Shown) -> Response {
    let rows = move || {
        let mut rows = (live.waiting)();
        rows.extend(live.host.rows());
        let startable = live.host.startable();
        eog_page::list(&rows, startable.as_deref(), live.host.keeps_cases())
    };
    html(aside(rows).await)
}

async fn cases(State(live): Shown) -> Response {
    match aside(move || live.host.cases()).await {
        Some(Ok(cases)) => html(Some(eog_page::cases(&cases))),
        Some(Err(reason)) => as_page(StatusCode::INTERNAL_SERVER_ERROR, eog_page::missing(&reason)),
        None => html(None),
    }
}

/// Begins an investigation. Says where its page is.
async fn start(State(live): Shown, request: Request) -> Response {
    let arguments = match of_json(request).await {
        Ok(arguments) => arguments,
        Err(refused) => return *refused,
    };
    match live.host.start(arguments).await {
        Ok(id) => {
            let begun = serde_json::json!({ "page": format!("/i/{id}") }).to_string();
            answer(StatusCode::CREATED, "application/json", begun)
        }
        Err(reason) => refusal(StatusCode::CONFLICT, &reason),
    }
}

/// Closes the incident of an investigation.
async fn close(State(live): Shown, Path(id): Path<String>, request: Request) -> Response {
    let arguments = match of_json(request).await {
        Ok(arguments) => arguments,
        Err(refused) => return *refused,
    };
    match aside(move || live.host.close(&id, arguments)).await {
        Some(Ok(kept)) => {
            let kept = serde_json::json!({ "status": kept }).to_string();
            answer(StatusCode::OK, "application/json", kept)
        }
        Some(Err(reason)) => refusal(StatusCode::CONFLICT, &reason),
        None => html(None),
    }
}

async fn page(State(live): Shown, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let Some(watched) = find(&live, &id).await else { return unknown_page(&headers) };
    let Ok(_turn) = live.pages.acquire().await else { return unknown() };
    let made = {
        let live = live.clone();
        aside(move || {
            // Before the ledger is read: what comes meanwhile is sent by events, again or for the first
            // time.
            let standing = live.host.standing(&id)?;
            let status = events::state(&watched.status());
            let next = standing.steps.last().map_or(0, |step| step.seq + 1);
            let shown = eog_page::Live {
                base: format!("/i/{id}"),
                next,
                status,
                closes: live.host.keeps_cases(),
            };
            let Standing { report, steps, charts, .. } = &standing;
            Ok::<_, String>(eog_page::live(report, steps, charts, &shown))
        })
    };
    match made.await {
        Some(Ok(page)) => html(Some(page)),
        Some(Err(reason)) => html(Some(eog_page::waiting(&reason))),
        None => html(None),
    }
}

async fn find(live: &Arc<Shared>, id: &str) -> Option<Arc<Watched>> {
    let (live, id) = (live.clone(), id.to_owned());
    aside(move || live.host.watched(&id)).await?
}

async fn stream(
    State(live): Shown,
    Path((id, next)): Path<(String, u64)>,
    headers: HeaderMap,
) -> Response {
    let Some(watched) = find(&live, &id).await else { return unknown() };
    let Some(reader) = live.readers.enter() else {
        let full = format!("{MAX_READERS} pages are open already; close one, then load this one");
        return refusal(StatusCode::SERVICE_UNAVAILABLE, &full);
    };
    // A browser that lost its connection sends the number of its last entry.
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let next = last.map_or(next, |last: u64| next.max(last.saturating_add(1)));
    let events = events::stream(watched, next, live.stop.clone(), reader);
    answer(StatusCode::OK, "text/event-stream", Body::from_stream(events))
}

async fn stop(State(live): Shown, Path(id): Path<String>, headers: HeaderMap) -> Response {
    match is_json(&headers) {
        Ok(()) => done_or_refused(live.host.stop(&id)),
        Err(refused) => *refused,
    }
}

async fn go_on(State(live): Shown, Path(id): Path<String>, headers: HeaderMap) -> Response {
    match is_json(&headers) {
        Ok(()) => done_or_refused(live.host.go_on(&id).await),
        Err(refused) => *refused,
    }
}

/// An operator's remark on an entity.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    entity: String,
    verdict: Option<Verdict>,
    #[serde(default)]
    text: String,
}

async fn words(State(live): Shown, Path(id): Path<String>, request: Request) -> Response {
    let said: Said = match of_json(request).await {
        Ok(said) => said,
        Err(refused) => return *refused,
    };
    let text = mask_text(&shorten(said.text.trim(), MAX_TEXT));
    let Ok(entity) = EntityId::new(said.entity.trim()) else {
        return refusal(StatusCode::BAD_REQUEST, "use the name of an entity on the page");
    };
    if said.verdict.is_none() && text.is_empty() {
        return refusal(StatusCode::BAD_REQUEST, "a remark needs a text");
    }
    done_or_refused(live.host.remark(&id, entity, Word { verdict: said.verdict, text }).await)
}

/// The body of a request that sends JSON.
async fn of_json<T: DeserializeOwned>(request: Request) -> Result<T, Box<Response>> {
    is_json(request.headers())?;
    let refused = |status, reason: &str| Box::new(refusal(status, reason));
    let body = to_bytes(request.into_body(), MAX_BODY).await;
    let body = body.map_err(|_| {
        refused(StatusCode::PAYLOAD_TOO_LARGE, "the text is too long; use fewer words")
    })?;
    serde_json::from_slice(&body)
        .map_err(|error| refused(StatusCode::BAD_REQUEST, &format!("invalid request: {error}")))
}

/// Browsers ask first before they let another site's page send this kind of content, and are
/// refused.
fn is_json(headers: &HeaderMap) -> Result<(), Box<Response>> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    match kind.is_some_and(|kind| kind.trim().to_lowercase().starts_with("application/json")) {
        true => Ok(()),
        false => Err(Box::new(refusal(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send JSON, with the header Content-Type: application/json",
        ))),
    }
}

/// Runs something that blocks on another thread.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

fn done_or_refused(done: Result<(), String>) -> Response {
    match done {
        Ok(()) => answer(StatusCode::OK, "application/json", "{}"),
        Err(reason) => refusal(StatusCode::CONFLICT, &reason),
    }
}

fn unknown() -> Response {
    refusal(StatusCode::NOT_FOUND, "there is no such investigation; / lists them")
}

/// The same for a browser that opened its page: people read no JSON.
fn unknown_page(headers: &HeaderMap) -> Response {
    if !wants_page(headers) {
        return unknown();
    }
    let page = eog_page::missing("There is no such investigation; it may have been deleted.");
    as_page(StatusCode::NOT_FOUND, page)
}

/// Whether the client is a person's browser, which shows no JSON.
pub fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|kinds| kinds.contains("text/html"))
}

/// The answer that holds a page of [`eog_page`]: it is not cached, not framed, and not taken for
/// another type.
pub fn as_page(status: StatusCode, page: String) -> Response {
    answer(status, HTML, page)
}

fn refusal(status: StatusCode, reason: &str) -> Response {
    answer(status, "application/json", serde_json::json!({ "error": reason }).to_string())
}

fn html(page: Option<String>) -> Response {
    match page {
        Some(page) => as_page(StatusCode::OK, page),
        None => refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the page could not be rendered; this is a bug in eog",
        ),
    }
}

/// An answer that is not cached, not framed, and not taken for another type. What its page may do is
/// set in the page.
fn answer(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
        (HeaderName::from_static("referrer-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    (status, headers, body.into()).into_response()
}
