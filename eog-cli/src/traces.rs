//! Traces of eog itself, by OTLP: off unless the environment names an endpoint, as OpenTelemetry has it.

use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Variables that name an endpoint.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// How long the end waits for the last spans to be taken in.
const LAST: Duration = Duration::from_secs(5);

/// Traces that are exported until the end.
pub(crate) struct Traces(SdkTracerProvider);

/// Begins to export, where the environment says so. What cannot be exported is told, and nothing else changes.
pub(crate) fn begin() -> Option<Traces> {
    let is_set = |name: &&str| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
    let is_off = std::env::var("OTEL_SDK_DISABLED").is_ok_and(|it| it.eq_ignore_ascii_case("true"));
    if is_off || !ENDPOINTS.iter().any(is_set) {
        return None;
    }
    // Fails if the program has chosen one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let exporter = match SpanExporter::builder().with_http().build() {
        Ok(exporter) => exporter,
        Err(error) => {
            eprintln!("eog: no traces are exported: {error}");
            return None;
        }
    };
    let mut resource = Resource::builder();
    if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name("eog");
    }
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.build())
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("eog"))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false);
    // What the clients of exporters and sources tell of themselves is none of it.
    let own = Targets::new().with_target("eog", LevelFilter::INFO);
    let own = own.with_target("eog_session", LevelFilter::INFO);
    // Fails if there is one already, which cannot be.
    let _ = tracing_subscriber::registry().with(layer.with_filter(own)).try_init();
    Some(Traces(provider))
}

impl Traces {
    /// Exports what is left.
    pub(crate) fn end(self) {
        // Whoever cannot be reached has missed it.
        let _ = self.0.shutdown_with_timeout(LAST);
    }
}
