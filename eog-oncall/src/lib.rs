//! eog on call: alerts come in, are investigated, and what was found goes out.
//!
//! ```text
//! senders ──────► routes ─► Desk: incidents, each a file ─► runner ─► capture ─► Investigations
//!                             ▲                                │
//!                             └──── seen, result ──────────────┴─► Outbox ─► webhooks
//! ```
//!
//! - [`Config`] is `oncall.toml`; `docs/on-call.md` describes it.
//! - An [`Incident`](incident::Incident) is a group of alerts: what follows from one more, and when, without
//!   a clock or a disk.
//! - [`Investigations`] are made by a [`Server`](eog_mcp::server::Server) of this process, or by others.
//! - What was acknowledged is on disk: alerts, incidents and messages that are still to be delivered survive
//!   the end of the process, and a run that was cut off goes on from its journal.
//!
//! - What happens is reported as events of `tracing`, with the target `eog_oncall`: a line each of incidents, runs and
//!   messages that did not arrive, none of single alerts, so that a storm of these is no storm of lines. Texts
//!   from outside are quoted.
//!
//! Alerts are untrusted: they are bounded and masked when they are read, and data in every template.

mod alert;
mod captures;
mod check;
mod clock;
mod config;
mod desk;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod health;
pub mod incident;
mod investigations;
mod message;
mod metrics;
mod outbox;
mod own;
mod refusals;
mod retention;
mod routes;
mod runner;
mod service;
mod sign;
mod sns;
mod template;
mod watch;

pub use config::{Config, ConfigError};
pub use health::health;
pub use investigations::Investigations;
pub use message::{AlertView, CandidateView, Cause, Event, IncidentView, Message, ResultView};
pub use service::{OnCall, OpenError};
