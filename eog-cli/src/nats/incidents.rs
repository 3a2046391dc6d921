//! Incidents that were submitted, unpacked and read here.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use eog_nats::InvestigationId;
use eog_session::source::{Opened, open_folder};

use super::order::Order;
use super::pack::unpack;
use super::reach::Reached;
use super::work::{OTHERS, Trouble};
use crate::args::Reading;
use crate::error::CliError;
use crate::source::read_options;

/// Reads incidents, and keeps the last one: many investigations may be of one.
pub(super) struct Incidents {
    reading: Reading,
    last: Mutex<Option<(String, Incident)>>,
}

/// An incident, and its folder as long as it is used.
#[derive(Clone)]
pub(super) struct Incident {
    pub(super) opened: Opened,
    _folder: Arc<tempfile::TempDir>,
}

impl Incidents {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, last: Mutex::default() }
    }

    /// The incident of an investigation.
    pub(super) fn open(
        &self,
        reached: &Reached,
        id: &InvestigationId,
        order: &Order,
    ) -> Result<Incident, Trouble> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((incident, opened)) = last.as_ref()
            && *incident == order.incident
        {
            return Ok(opened.clone());
        }
        *last = None;
        let failed = |error: CliError| Trouble::Failed(error.to_string());
        let bytes = reached.cluster.stored(id, order.block().map_err(failed)?)?;
        let local = |error: io::Error| {
            Trouble::Later(format!("its incident cannot be stored here: {error}"), OTHERS)
        };
        let folder = tempfile::Builder::new().prefix("eog-incident-").tempdir().map_err(local)?;
        let unpacked = unpack(&bytes, &order.folder, folder.path());
        let unpacked = unpacked.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                Trouble::Failed(format!("its incident cannot be used: {error}"))
            }
            _ => local(error),
        })?;
        let architecture = unpacked.architecture.filter(|_| order.has_architecture);
        let options = read_options(architecture.as_deref(), &self.reading, None);
        let opened =
            open_folder(&unpacked.folder, &options).and_then(|opened| match self.reading.strict {
                true => opened.all_usable(),
                false => Ok(opened),
            });
        let opened = opened.map_err(|error| Trouble::Failed(error.to_string()))?;
        let incident = Incident { opened, _folder: Arc::new(folder) };
        *last = Some((order.incident.clone(), incident.clone()));
        Ok(incident)
    }
}
