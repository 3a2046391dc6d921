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
use eog_sre::AlertForm;
use serde_json::json;

use crate::alert::Notification;
use crate::desk::Refused;
use crate::incident::Repair;
use crate::metrics::Kind;
use crate::service::Shared;
use crate::sns;
use crate::sns::signature::Signed;

/// The routes of the service, behind the checks of the server.
pub(crate) fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/alerts", post(alerts))
        // Where Prometheus and Grafana send alerts if eog stands where an Alertmanager does.
        .route("/api/v2/alerts", post(alerts))
        .route("/incidents", get(incidents))
        .route("/incidents/{id}", get(incident))
        .route("/incidents/{id}/repair", post(repair))
        // The gate of the server bounds bodies, by `--max-body`.
        .layer(DefaultBodyLimit::disable())
        .with_state(shared)
}

/// Figures, for all who can reach the address.
pub(crate) fn metrics(shared: Arc<Shared>) -> Router {
    Router::new().route("/metrics", get(figures)).with_state(shared)
}

type Served = State<Arc<Shared>>;

async fn alerts(State(served): Served, headers: HeaderMap, body: Bytes) -> Response {
    let (kind, answer) = match take_in(&served, &headers, &body).await {
        Ok(words) => ("taken", answer(StatusCode::OK, &words)),
        Err((kind, status, reason)) => {
            served.refusals.log(kind, &reason);
            (kind, answer(status, &reason))
        }
    };
    served.metrics.requests.get_or_create(&Kind::of(kind)).inc();
    answer
}

/// What becomes of a request that is not taken in: for the figures, as a status, and in words.
type NotTaken = (&'static str, StatusCode, String);

async fn take_in(served: &Shared, headers: &HeaderMap, body: &[u8]) -> Result<String, NotTaken> {
    let refused = |status, reason| ("refused", status, reason);
    if !is_json(headers) {
        let reason = "send JSON, as application/json".to_owned();
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    }
    let whole = as_event(headers, body);
    let body = whole.as_deref().unwrap_or(body);
    if let Some(signed) = Signed::of(body) {
        verify(served, &signed).await?;
    }
    let now = served.clock.now();
    let request = Notification::read(body, &served.own, now)
        .map_err(|reason| refused(StatusCode::BAD_REQUEST, reason))?;
    if request.form == AlertForm::SnsSubscription {
        return subscribe(request.subscription).await;
    }
    let words = request.in_words();
    // Alertmanager tries again after 5xx, and not after 4xx.
    served.desk.receive(request, now).await.map_err(|refused| match refused {
        Refused::Full(reason) => ("full", StatusCode::SERVICE_UNAVAILABLE, reason),
        Refused::NotStored(reason) => ("not_stored", StatusCode::INTERNAL_SERVER_ERROR, reason),
    })?;
    Ok(words)
}

/// Verifies that a message of SNS is from SNS, and from a topic that may send.
async fn verify(served: &Shared, signed: &Signed) -> Result<(), NotTaken> {
    let refused = |reason: String| ("refused", StatusCode::FORBIDDEN, reason);
    let topics = &served.sns.topics;
    if !topics.is_empty() && !topics.contains(&signed.topic_arn) {
        let topic = eog_report::clean::clean_up_to(&signed.topic_arn, 300);
        return Err(refused(format!("the topic {topic} is not among sns.topics")));
    }
    if !served.sns.verify {
        return Ok(());
    }
    let certificate = served.certificates.get(signed.certificate().map_err(refused)?).await;
    let certificate = certificate.map_err(|reason| {
        let reason = format!("the certificate of SNS could not be fetched: {reason}");
        ("refused", StatusCode::BAD_GATEWAY, reason)
    })?;
    let verified = signed.verify(&certificate);
    verified.map_err(|reason| refused(format!("the signature of SNS is not valid: {reason}")))
}

/// Whether a body is said to be JSON. SNS sends JSON as plain text.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json"
        || kind.ends_with("+json")
        || kind == "text/plain" && headers.contains_key("x-amz-sns-message-type")
}

/// An event of CloudEvents whose attributes are in headers, as one body.
fn as_event(headers: &HeaderMap, body: &[u8]) -> Option<Vec<u8>> {
    headers.get("ce-specversion")?;
    let data: serde_json::Value = serde_json::from_slice(body).ok()?;
    let mut event = serde_json::Map::new();
    for (name, value) in headers {
        if let (Some(name), Ok(value)) = (name.as_str().strip_prefix("ce-"), value.to_str()) {
            event.insert(name.to_owned(), value.into());
        }
    }
    event.insert("data".to_owned(), data);
    serde_json::to_vec(&event).ok()
}

/// Confirms that a topic of SNS may send.
async fn subscribe(subscription: Option<(String, String)>) -> Result<String, NotTaken> {
    let Some((url, topic)) = subscription else { return Ok("nothing to confirm".to_owned()) };
    let refused = |reason| ("refused", StatusCode::BAD_REQUEST, reason);
    let address = sns::address(&url, &topic).map_err(refused)?;
    sns::confirm(address).await.map_err(|reason| {
        let reason = format!("the subscription could not be confirmed: {reason}");
        ("refused", StatusCode::BAD_GATEWAY, reason)
    })?;
    let topic = eog_report::clean::clean_up_to(&topic, 300);
    tracing::info!(?topic, "subscription to a topic of SNS confirmed");
    Ok(format!("subscription confirmed: {topic}"))
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
        None => answer(StatusCode::NOT_FOUND, "there is no such incident; /incidents lists them"),
    }
}

/// Takes the report of a repair, by which the diagnosis is verified.
async fn repair(
    State(served): Served,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if !is_json(&headers) {
        return answer(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send JSON, as application/json");
    }
    let now = served.clock.now();
    let repair = match serde_json::from_slice::<Repair>(&body) {
        Ok(repair) if repair.at > now => {
            return answer(StatusCode::BAD_REQUEST, "`at` is in the future");
        }
        Ok(repair) => repair.masked(),
        Err(error) => {
            let form = r#"{"at": "2026-01-01T10:00:00Z", "cause": "db", "action": "rolled back"}"#;
            let reason = format!("expected a repair such as {form}: {error}");
            return answer(StatusCode::BAD_REQUEST, &reason);
        }
    };
    match served.desk.report(&id, repair, now).await {
        Some(Ok(())) => {
            answer(StatusCode::OK, "the repair is checked now, and again until there is a verdict")
        }
        Some(Err(reason)) => answer(StatusCode::CONFLICT, &reason),
        None => {
            answer(StatusCode::NOT_FOUND, "there is no such open incident; /incidents lists them")
        }
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

fn answer(status: StatusCode, message: &str) -> Response {
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
