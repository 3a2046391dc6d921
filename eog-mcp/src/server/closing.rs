//! Incidents that are over become cases, with what was true.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use eog::{Diagnosis, EntityId, Timestamp};
use eog_cases::close::{CloseError, Incident, NewCase, ToClose, change_of};
use eog_cases::reliability::Reliability;
use eog_cases::{CaseError, CaseFolder, ClosedCase, Closing, Row, Truth};
use eog_session::store::InvestigationId;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
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
        let closed = self.keep_incident(arguments, cancel)?;
        result(&closed, closed.in_words())
    }

    fn keep_incident(
        &self,
        arguments: &CloseIncident,
        cancel: &CancellationToken,
    ) -> Result<Closed, Problem> {
        let id = self.0.store.find(&arguments.investigation)?;
        let truth_of = |diagnosis: &Diagnosis| truth(diagnosis, arguments);
        let note = arguments.note.clone().unwrap_or_default();
        let closing = Closing { at: Timestamp::now(), by: arguments.by.clone(), note };
        let case = self.case_of(&id, truth_of, closing, cancel)?;
        let case = self.store_case(case, arguments.replace.unwrap_or(false));
        Ok(Closed::new(&case.map_err(|error| wrong(&error))?))
    }

    /// Keeps an investigation as a case whose causes are these, as their repair has shown. The name of the case; nothing
    /// if the investigation was closed before. Blocks.
    ///
    /// # Errors
    /// Why that cannot be.
    pub fn close_verified(
        &self,
        id: &str,
        causes: BTreeSet<EntityId>,
        note: String,
    ) -> Result<Option<String>, String> {
        let id = self.0.store.find(id).map_err(|error| error.to_string())?;
        let truth = Truth { causes, ..Truth::default() };
        let closing = Closing::by_recovery(Timestamp::now(), note);
        let case = self.case_of(&id, |_| Ok(truth), closing, &self.0.stop);
        match self.store_case(case.map_err(|problem| problem.to_string())?, false) {
            Ok(case) => Ok(Some(case.name)),
            Err(CaseError::Taken { .. }) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Closes an incident as the tool `close_incident` does, by its arguments but for the investigation. What it is kept as, in
    /// words. Blocks.
    ///
    /// # Errors
    /// Why it is not kept.
    pub fn close_as(&self, id: &str, mut arguments: Map<String, Value>) -> Result<String, String> {
        let Some((_, offered)) = self.0.catalogue.find(CloseIncident::NAME) else {
            return Err(format!("this server does not offer {}", CloseIncident::NAME));
        };
        arguments.insert("investigation".to_owned(), id.into());
        let arguments = Value::Object(arguments);
        let read = arguments::read(CloseIncident::NAME, &offered.arguments, &arguments);
        let kept = read.and_then(|read: CloseIncident| self.keep_incident(&read, &self.0.stop));
        kept.map(|closed| closed.in_words()).map_err(|problem| problem.to_string())
    }

    /// The closed incidents, the last first, and what their conclusions were worth. Blocks.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub fn closed(&self) -> Result<(Vec<Row>, Reliability), String> {
        if !self.cases().is_dir() {
            return Ok((Vec::new(), Reliability::of(&[])));
        }
        let folder = CaseFolder::open(self.cases()).map_err(|error| error.to_string())?;
        let mut rows = folder.list().map_err(|error| error.to_string())?.rows;
        let worth = Reliability::of(&rows);
        rows.sort_by(|a, b| (b.at, &b.name).cmp(&(a.at, &a.name)));
        Ok((rows, worth))
    }

    fn store_case(&self, case: NewCase, replace: bool) -> Result<ClosedCase, CaseError> {
        let _turn = self.0.closing.lock().unwrap_or_else(PoisonError::into_inner);
        case.store(&CaseFolder::write(self.cases())?, replace)
    }

    fn case_of(
        &self,
        id: &InvestigationId,
        truth: impl FnOnce(&Diagnosis) -> Result<Truth, Problem>,
        closing: Closing,
        cancel: &CancellationToken,
    ) -> Result<NewCase, Problem> {
        if self.0.runner.is_live(id) {
            return Err(Problem::StillRuns(id.clone()));
        }
        let (began, read) = self.recorded(id)?;
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
        let diagnosis = to_close.diagnosis().map_err(|error| wrong(&error))?;
        let closed = to_close.close(&diagnosis, truth(&diagnosis)?, closing);
        let new = tokio::runtime::Handle::current().block_on(closed);
        new.map_err(|error| match error {
            CloseError::Case(error) => wrong(&error),
            CloseError::Run(error) => Problem::run(id, &began.name, error),
            error => Problem::Store(error.to_string()),
        })
    }

    /// The folder of cases.
    pub(super) fn cases(&self) -> std::path::PathBuf {
        let settings = &self.0.settings;
        settings.cases.clone().unwrap_or_else(|| settings.state.join("cases"))
    }
}

fn truth(diagnosis: &Diagnosis, arguments: &CloseIncident) -> Result<Truth, Problem> {
    let change = |id: &String| change_of(diagnosis, id).map_err(|error| wrong(&error));
    let entity = |name: &String| arguments::entity(CloseIncident::NAME, name);
    let all = |names: &Option<Vec<String>>| names.clone().unwrap_or_default();
    Ok(Truth {
        causes: all(&arguments.causes).iter().map(entity).collect::<Result<_, _>>()?,
        changes: all(&arguments.changes).iter().map(change).collect::<Result<_, _>>()?,
        not_in_topology: all(&arguments.not_in_topology).into_iter().collect(),
        nothing_wrong: arguments.nothing_wrong.unwrap_or(false),
        path_wrong: arguments.path_wrong.unwrap_or(false),
    })
}

fn wrong(error: &CaseError) -> Problem {
    Problem::Store(format!("{error}{}", about(error)))
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
