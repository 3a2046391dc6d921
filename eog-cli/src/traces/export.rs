//! Exports spans over HTTP.

use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Array, Value};
use opentelemetry_otlp::SpanExporter as OtlpExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::{Layer, Registry};

/// How long the end waits for the last spans to be taken in.
const LAST: Duration = Duration::from_secs(5);

/// Attributes that the semantic conventions have as lists, which spans of `tracing` cannot hold.
const LISTS: [&str; 1] = ["gen_ai.response.finish_reasons"];

/// Exports spans as the semantic conventions have them.
#[derive(Debug)]
struct Conventional(OtlpExporter);

impl SpanExporter for Conventional {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        for attribute in batch.iter_mut().flat_map(|span| &mut span.attributes) {
            if LISTS.contains(&attribute.key.as_str())
                && let Value::String(one) = &attribute.value
            {
                attribute.value = Value::Array(Array::String(vec![one.clone()]));
            }
        }
        self.0.export(batch).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

/// Traces that are exported until the end.
pub(crate) struct Traces(SdkTracerProvider);

/// What is exported, and how it is come by.
pub(super) fn begin() -> Option<(Traces, impl Layer<Registry>)> {
    // Fails if the program has chosen one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let exporter = match OtlpExporter::builder().with_http().build() {
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
        .with_batch_exporter(Conventional(exporter))
        .with_resource(resource.build())
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("eog"))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false);
    // Events of the clients of exporters and sources are none of it.
    let own = Targets::new().with_target("eog", LevelFilter::INFO);
    let own = own.with_target("eog_session", LevelFilter::INFO);
    Some((Traces(provider), layer.with_filter(own)))
}

impl Traces {
    /// Exports what is left.
    pub(crate) fn end(self) {
        // A collector that cannot be reached misses it.
        let _ = self.0.shutdown_with_timeout(LAST);
    }
}
