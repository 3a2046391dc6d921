//! Investigations in the browser, while they run and after: a list, a page for each, events as they
//! come, and remarks of operators.
//!
//! ```text
//! browser ─► gate of eog-mcp ─► routes ─► Host ─┬─► Single: the run of a command
//!                                  │            └─► Server: the investigations of an MCP server
//!                                  └─► events ─► Watched, which every reader reads at its own pace
//! ```
//!
//! [`Live::routes`] are served by [`serve_routes`](eog_mcp::server::serve_routes) or, beside `/mcp`, by a
//! [`Server`](eog_mcp::server::Server): both check host, origin, token, length and time before a route is
//! called. Everything that is shown enters pages as text or as inert data ([`eog_page`]).

mod events;
mod routes;
mod served;
mod single;

use std::sync::Arc;

use eog::{BoxFuture, EntityId};
use eog_page::{Cases, Charts, Row};
use eog_report::{Report, Step};
use eog_session::source::{Opened, Word};
use eog_session::watched::Watched;

use serde_json::{Map, Value};

pub use routes::{Live, as_page, settings, wants_page};
pub use single::Single;

/// The host of the investigations that are shown.
pub trait Host: Send + Sync + 'static {
    /// The investigations there are, newest first.
    fn rows(&self) -> Vec<Row>;

    /// One of them, if there is one of this id.
    fn watched(&self, id: &str) -> Option<Arc<Watched>>;

    /// The data of it so far. Blocks.
    ///
    /// # Errors
    /// Why there is none.
    fn standing(&self, id: &str) -> Result<Standing, String>;

    /// Stops it; what it has found so far is its result.
    ///
    /// # Errors
    /// Why it cannot be stopped.
    fn stop(&self, id: &str) -> Result<(), String>;

    /// Goes on with it, where something is left to do.
    ///
    /// # Errors
    /// Why it cannot go on.
    fn go_on<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), String>>;

    /// Adds an operator's remark on an entity, and re-opens the investigation if it has ended.
    ///
    /// # Errors
    /// Why the remark cannot be added.
    fn remark<'a>(
        &'a self,
        id: &'a str,
        entity: EntityId,
        word: Word,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// The folders by whose names a page can begin investigations; `None` where pages begin none. Blocks.
    fn startable(&self) -> Option<Vec<String>> {
        None
    }

    /// Begins an investigation, with the arguments of the MCP tool `investigate`. Its id.
    ///
    /// # Errors
    /// Why it cannot begin.
    fn start(&self, _arguments: Map<String, Value>) -> BoxFuture<'_, Result<String, String>> {
        let reason = "no investigation begins here; use `eog investigate`";
        Box::pin(async move { Err(reason.to_owned()) })
    }

    /// The closed incidents. Blocks.
    ///
    /// # Errors
    /// Why they cannot be read.
    fn cases(&self) -> Result<Cases, String> {
        Ok(Cases::default())
    }

    /// Whether incidents are closed here, and listed.
    fn keeps_cases(&self) -> bool {
        false
    }

    /// Closes the incident of an investigation, with the arguments of the MCP tool `close_incident` but for the
    /// investigation. A description of the case, in words. Blocks.
    ///
    /// # Errors
    /// Why it is not kept.
    fn close(&self, _id: &str, _arguments: Map<String, Value>) -> Result<String, String> {
        Err("incidents are not closed here; use `eog close`".to_owned())
    }
}

/// The data of an investigation so far.
#[derive(Debug)]
#[non_exhaustive]
pub struct Standing {
    /// The report.
    pub report: Report,
    /// The entries.
    pub steps: Vec<Step>,
    /// The measured series that it cites.
    pub charts: Charts,
}

impl Standing {
    /// A state with charts of this source, if it is available.
    pub fn new(report: Report, steps: Vec<Step>, source: Option<&Opened>) -> Self {
        let charts = source.map_or(Charts::NoSource, |source| {
            Charts::of(&report, |finding, window| source.chart(finding, window))
        });
        Self { report, steps, charts }
    }
}
