//! Live sources of eog: asks Prometheus, Alertmanager, Kubernetes, Jaeger and Tempo what happened, reads files of the
//! OpenTelemetry collector, and writes what they say as an incident that all of eog reads.
//!
//! ```text
//! source.toml ──► SourceConfig ──► capture ──► a bundle, and capture.json: what was missing
//!                      └─────────► offers: what each source has
//! ```
//!
//! An investigation of live sources is a capture that is then investigated, so that both give the same
//! ledger. Sources are only read. Questions are bounded in time, bytes, series and points; what does not
//! fit is left out and reported. Secrets are masked before anything is written. `docs/live-sources.md`
//! describes the configuration.

mod alertmanager;
mod bundle;
mod capture;
mod changes;
mod config;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod import;
mod jaeger;
mod kubernetes;
mod log_stores;
mod metrics;
mod otlp;
mod period;
mod piece;
mod place;
mod prometheus;
mod received;
#[cfg(feature = "otlp")]
mod receiver;
#[cfg(not(feature = "otlp"))]
#[path = "receiver/absent.rs"]
mod receiver;
mod report;
mod resolve;
mod spans;
mod store;
mod surroundings;
mod tempo;
mod upstreams;

pub use alertmanager::SentAlert;
pub use capture::{Offer, Progress, capture, capture_for, offers};
pub use config::{SourceConfig, expand};
pub use error::{CaptureError, ConfigError};
pub use import::{FileAccount, ImportOptions, ImportReport, import};
pub use received::ReceivedFigures;
pub use receiver::{Received, Receiver};
pub use report::{CaptureReport, SourceReport};
pub use surroundings::Surroundings;
