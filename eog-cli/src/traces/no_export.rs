//! In place of the exporter, in builds without OTLP.

use std::convert::Infallible;

use tracing_subscriber::layer::Identity;

/// Traces that cannot be exported.
pub(crate) struct Traces(Infallible);

/// Says what this build lacks.
pub(super) fn begin() -> Option<(Traces, Identity)> {
    eprintln!(
        "eog: no traces are exported: this eog was built without OTLP; build it with --features otlp, \
         or full"
    );
    None
}

impl Traces {
    pub(crate) fn end(self) {
        match self.0 {}
    }
}
