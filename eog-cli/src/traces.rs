//! Traces of eog itself, by OTLP: off unless the environment names an endpoint, as OpenTelemetry has it.

#[cfg(feature = "otlp")]
mod export;
#[cfg(not(feature = "otlp"))]
#[path = "traces/no_export.rs"]
mod export;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::log;
pub(crate) use export::Traces;

/// Variables that name an endpoint.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// Begins to export, where the environment says so, and to log what a service does, if the command is one. What
/// cannot be exported is reported, and nothing else changes.
pub(crate) fn begin(is_service: bool) -> Option<Traces> {
    let (traces, layer) = match wanted().then(export::begin).flatten() {
        Some((traces, layer)) => (Some(traces), Some(layer)),
        None => (None, None),
    };
    let lines = is_service.then(log::layer);
    if layer.is_some() || lines.is_some() {
        // Fails if there is one already, which cannot be.
        let _ = tracing_subscriber::registry().with(layer).with(lines).try_init();
    }
    traces
}

/// Whether the environment wants traces.
fn wanted() -> bool {
    let is_set = |name: &&str| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
    let is_off = std::env::var("OTEL_SDK_DISABLED").is_ok_and(|it| it.eq_ignore_ascii_case("true"));
    !is_off && ENDPOINTS.iter().any(is_set)
}
