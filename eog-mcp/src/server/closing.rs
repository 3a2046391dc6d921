//! Incidents that are over become cases, with what was true.

use std::collections::BTreeSet;

use eog::{EntityId, Timestamp};
use eog_cases::close::{CloseError, Incident, ToClose, change_of};
use eog_cases::{CaseError, CaseFolder, Closing, Truth};
use rmcp::model::CallToolResult;
use tokio_util::sync::CancellationToken;

use super::Server;
use super::answers::Closed;
use super::arguments::{self, CloseIncident};
use super::error::Problem;
use super::investigations::result;

/// Most bytes of an incident that is kept.
const MAX_INCIDENT: u64 = 1_000_000_000;

impl Server {
    /// Closes an incident. Blocks.
    pub(super) fn close_incident(
        &self,
        arguments: &CloseIncident,
        cancel: &CancellationToken,
    ) -> Result<CallToolResult, Problem> {
        let id = self.0.store.find(&arguments.investigation)?;
        if self.0.runner.is_live(&id) {
            return Err(Problem::StillRuns(id));
        }
        let (began, read) = self.recorded(&id)?;
        // Of an incident that is gone, only the ledger is kept.
        let opened = match began.folder.is_dir() {
            true => {
                let source = self.source(&began, cancel, self.until(None))?;
                Some((source, self.0.roots.folder_at(&began.folder)?))
            }
            false => None,
        };
        let architecture = began.architecture.as_deref();
        let incident =
            opened.as_ref().map(|(opened, folder)| Incident { opened, folder, architecture });
        let to_close = ToClose { read: &read, incident, most: MAX_INCIDENT };
        let wrong = |error: &CaseError| Problem::Store(format!("{error}{}", about(error)));
        let diagnosis = to_close.diagnosis().map_err(|error| wrong(&error))?;
        let change = |id: &String| change_of(&diagnosis, id).map_err(|error| wrong(&error));
        let entity = |name: &String| arguments::entity(CloseIncident::NAME, name);
        let all = |names: &Option<Vec<String>>| names.clone().unwrap_or_default();
        let truth = Truth {
            causes: all(&arguments.causes)
                .iter()
                .map(entity)
                .collect::<Result<BTreeSet<EntityId>, _>>()?,
            changes: all(&arguments.changes).iter().map(change).collect::<Result<_, _>>()?,
            not_in_topology: all(&arguments.not_in_topology).into_iter().collect(),
            nothing_wrong: arguments.nothing_wrong.unwrap_or(false),
            path_wrong: arguments.path_wrong.unwrap_or(false),
        };
        let note = arguments.note.clone().unwrap_or_default();
        let closing = Closing { at: Timestamp::now(), by: arguments.by.clone(), note };
        let closed = to_close.close(&diagnosis, truth, closing);
        let new = tokio::runtime::Handle::current().block_on(closed);
        let new = new.map_err(|error| match error {
            CloseError::Case(error) => wrong(&error),
            CloseError::Run(error) => Problem::run(&id, &began.name, error),
            error => Problem::Store(error.to_string()),
        })?;
        let writer = CaseFolder::write(self.cases()).map_err(|error| wrong(&error))?;
        let case = new.store(&writer, arguments.replace.unwrap_or(false));
        let closed = Closed::new(&case.map_err(|error| wrong(&error))?);
        result(&closed, closed.in_words())
    }

    /// The folder of cases.
    pub(super) fn cases(&self) -> std::path::PathBuf {
        let settings = &self.0.settings;
        settings.cases.clone().unwrap_or_else(|| settings.state.join("cases"))
    }
}

/// What to do, in the words of the arguments.
fn about(error: &CaseError) -> &'static str {
    match error {
        CaseError::Truth(_) => "; give `causes`, `not_in_topology` or `nothing_wrong`",
        CaseError::Taken { .. } => "; `replace` replaces it",
        CaseError::UnknownCause { .. } => {
            "; a cause outside of its topology is given in `not_in_topology`"
        }
        _ => "",
    }
}
