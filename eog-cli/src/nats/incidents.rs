//! Incidents that were submitted, unpacked and read here.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use eog_nats::{InvestigationId, NatsError};
use eog_session::source::{OpenError, Opened, ReadOptions, open_folder};

use super::order::Order;
use super::reach::Reached;
use crate::args::Reading;
use crate::error::CliError;
use crate::source::read_options;
use eog_cases::pack::unpack;

/// Reads incidents, and keeps the last one: many investigations may be of one.
pub(super) struct Incidents {
    reading: Reading,
    last: Mutex<Option<(String, Incident)>>,
}

/// An incident, and its folder as long as it is used.
#[derive(Clone)]
pub(super) struct Incident {
    pub(super) opened: Opened,
    /// Where it is unpacked.
    pub(super) folder: PathBuf,
    /// The architecture that it was submitted with.
    pub(super) architecture: Option<PathBuf>,
    _kept: Arc<tempfile::TempDir>,
}

/// Why an incident cannot be read here.
pub(super) enum Unopened {
    /// The cluster does not give it.
    Nats(NatsError),
    /// It is of no use to any worker.
    Unusable(String),
    /// This machine cannot store it.
    Here(String),
}

impl fmt::Display for Unopened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nats(error) => error.fmt(f),
            Self::Unusable(reason) | Self::Here(reason) => f.write_str(reason),
        }
    }
}

impl Incidents {
    /// How incidents are read, with the architecture that one has.
    pub(super) fn options(&self, architecture: Option<&Path>) -> ReadOptions {
        read_options(architecture, &self.reading, None)
    }

    /// What was read, unless all of it is to be usable and is not.
    pub(super) fn checked(&self, opened: Opened) -> Result<Opened, OpenError> {
        match self.reading.strict {
            true => opened.all_usable(),
            false => Ok(opened),
        }
    }

    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, last: Mutex::default() }
    }

    /// The incident of an investigation.
    pub(super) fn open(
        &self,
        reached: &Reached,
        id: &InvestigationId,
        order: &Order,
    ) -> Result<Incident, Unopened> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((incident, opened)) = last.as_ref()
            && *incident == order.incident
        {
            return Ok(opened.clone());
        }
        *last = None;
        let failed = |error: CliError| Unopened::Unusable(error.to_string());
        let bytes = reached.cluster.stored(id, order.block().map_err(failed)?);
        let bytes = bytes.map_err(Unopened::Nats)?;
        let local = |error: io::Error| {
            Unopened::Here(format!("its incident cannot be stored here: {error}"))
        };
        let folder = tempfile::Builder::new().prefix("eog-incident-").tempdir().map_err(local)?;
        let unpacked = unpack(&bytes, &order.folder, folder.path());
        let unpacked = unpacked.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                Unopened::Unusable(format!("its incident cannot be used: {error}"))
            }
            _ => local(error),
        })?;
        let architecture = unpacked.architecture.filter(|_| order.has_architecture);
        let opened = open_folder(&unpacked.folder, &self.options(architecture.as_deref()));
        let opened = opened.and_then(|opened| self.checked(opened));
        let opened = opened.map_err(|error| Unopened::Unusable(error.to_string()))?;
        let (inside, _kept) = (unpacked.folder, Arc::new(folder));
        let incident = Incident { opened, folder: inside, architecture, _kept };
        *last = Some((order.incident.clone(), incident.clone()));
        Ok(incident)
    }
}
