//! Incidents that are over become cases, with what was true.

use std::collections::BTreeSet;

use eog::{EntityId, Timestamp};
use eog_cases::close::{ToClose, change_of};
use eog_cases::{CaseError, CaseFolder, Closing, Truth};
use rmcp::model::CallToolResult;

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
    ) -> Result<CallToolResult, Problem> {
        let id = self.0.store.find(&arguments.investigation)?;
        if self.0.runner.is_live(&id) {
            return Err(Problem::StillRuns(id));
        }
        let (began, read) = self.recorded(&id)?;
        let to_close = ToClose {
            read: &read,
            incident: Some(&began.folder).filter(|it| it.is_dir()).map(std::path::PathBuf::as_path),
            architecture: began.architecture.as_deref(),
            called: &began.name,
            most: MAX_INCIDENT,
        };
        let wrong = |error: &CaseError| Problem::Store(of_arguments(error));
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
        let mut new = new.map_err(|error| match error {
            eog_cases::close::CloseError::Case(error) => wrong(&error),
            error => Problem::Store(error.to_string()),
        })?;
        let writer = CaseFolder::write(self.cases()).map_err(|error| wrong(&error))?;
        if let Some(known) = writer.of_ledger(&new.case).map_err(|error| wrong(&error))? {
            new.case.name = known;
        }
        let replace = arguments.replace.unwrap_or(false);
        writer.add(&new.case, &new.files, replace).map_err(|error| wrong(&error))?;
        let closed = Closed::new(&new.case);
        result(&closed, closed.in_words())
    }

    /// The folder of cases.
    pub(super) fn cases(&self) -> std::path::PathBuf {
        let settings = &self.0.settings;
        settings.cases.clone().unwrap_or_else(|| settings.state.join("cases"))
    }
}

/// What is wrong, with the names of arguments in place of options.
fn of_arguments(error: &CaseError) -> String {
    let text = error.to_string();
    let names = [
        ("--not-in-topology", "not_in_topology"),
        ("--nothing-wrong", "nothing_wrong"),
        ("--path-wrong", "path_wrong"),
        ("--replace", "replace"),
        ("--change", "changes"),
        ("--cause", "causes"),
    ];
    names.into_iter().fold(text, |text, (option, argument)| text.replace(option, argument))
}
