//! OTLP over HTTP, as protobuf: `/v1/traces`, `/v1/logs`, `/v1/metrics`.

use std::io::Read as _;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use prost::Message;

use super::Received;
use super::intake::{Intake, Taken};
use super::limits::Limits;
use crate::metrics::is_known;

const PROTOBUF: &str = "application/x-protobuf";

/// The error of a request: `google.rpc.Status`, of which only the message is used.
#[derive(Clone, PartialEq, Message)]
struct Refusal {
    #[prost(string, tag = "2")]
    message: String,
}

pub(super) fn routes(received: Received, limits: Limits) -> Router {
    use opentelemetry_proto::tonic::collector::{logs, metrics, trace};
    Router::new()
        .route("/v1/traces", post(take::<trace::v1::ExportTraceServiceRequest>))
        .route("/v1/logs", post(take::<logs::v1::ExportLogsServiceRequest>))
        .route("/v1/metrics", post(take::<metrics::v1::ExportMetricsServiceRequest>))
        .with_state((received, limits))
}

async fn take<R: Intake>(
    State((received, limits)): State<(Received, Limits)>,
    request: Request,
) -> Response {
    let headers = request.headers().clone();
    let body = match read(&headers, request.into_body(), limits.body).await {
        Ok(body) => body,
        Err((status, reason)) => return refused(status, &reason),
    };
    // Decoding and masking take time: not on the threads that serve.
    let decoded = tokio::task::spawn_blocking(move || {
        let request = R::decode(body.as_slice()).map_err(|error| error.to_string())?;
        Ok::<Taken, String>(request.take(is_known, &received))
    });
    match decoded.await {
        Ok(Ok(taken)) => {
            let answer = R::answer(taken).encode_to_vec();
            (StatusCode::OK, [(header::CONTENT_TYPE, PROTOBUF)], answer).into_response()
        }
        Ok(Err(reason)) => refused(StatusCode::BAD_REQUEST, &reason),
        Err(_) => refused(StatusCode::INTERNAL_SERVER_ERROR, "the request could not be taken in"),
    }
}

async fn read(
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Vec<u8>, (StatusCode, String)> {
    let of = |name| headers.get(name).and_then(|it: &axum::http::HeaderValue| it.to_str().ok());
    let kind = of(header::CONTENT_TYPE).unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some(PROTOBUF) {
        let reason = format!("only {PROTOBUF} is taken, not {}", eog_evidence::shorten(kind, 100));
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    }
    let too_long = || {
        (StatusCode::PAYLOAD_TOO_LARGE, format!("longer than {most} bytes (max_body of [otlp])"))
    };
    let body = to_bytes(body, most).await.map_err(|_| too_long())?;
    match of(header::CONTENT_ENCODING).unwrap_or("identity") {
        "identity" | "" => Ok(body.into()),
        "gzip" => {
            let mut plain = Vec::new();
            // One byte more than allowed shows that there is more.
            let mut bounded = flate2::read::GzDecoder::new(&body[..]).take(most as u64 + 1);
            bounded
                .read_to_end(&mut plain)
                .map_err(|error| (StatusCode::BAD_REQUEST, format!("gzip: {error}")))?;
            if plain.len() > most { Err(too_long()) } else { Ok(plain) }
        }
        other => {
            let reason = format!("only gzip is taken, not {}", eog_evidence::shorten(other, 100));
            Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, reason))
        }
    }
}

fn refused(status: StatusCode, reason: &str) -> Response {
    let body = Refusal { message: reason.to_owned() }.encode_to_vec();
    (status, [(header::CONTENT_TYPE, PROTOBUF)], body).into_response()
}
