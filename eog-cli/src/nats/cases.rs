//! Closed cases on a cluster.

use std::collections::BTreeSet;
use std::path::Path;

use eog::{EntityId, Timestamp};
use eog_cases::archive::{import_from, packed};
use eog_cases::close::{Incident, ToClose};
use eog_cases::{CaseError, CaseFolder, Closing, Truth};
use eog_nats::Part;
use eog_session::source::FolderHandle;

use super::fetch::JOURNAL;
use super::host::ClusterHost;
use super::reach::Reached;
use super::serve::MAX_INCIDENT;
use crate::args::{NatsArgs, NatsMaking};
use crate::error::CliError;
use crate::{files, travel};

/// Stores cases of a folder on the cluster: how many are new there, and how many were there already.
pub(crate) fn push(
    folder: &CaseFolder,
    names: &[String],
    replace: bool,
    nats: &NatsMaking,
) -> Result<(usize, usize), CliError> {
    let cluster = Reached::preparing(nats)?.cluster;
    let mut same = 0;
    for name in names {
        let archive = packed(folder, name)?;
        match cluster.case(name)? {
            Some(there) if there == archive => same += 1,
            Some(_) if !replace => {
                let how = " on the cluster, with another truth or of another time";
                return Err(CaseError::Taken { name: name.clone(), how }.into());
            }
            _ => cluster.put_case(name, &archive)?,
        }
    }
    Ok((names.len() - same, same))
}

/// Adds cases of the cluster to a folder; all of them unless any are named.
pub(crate) fn pull(
    into: &Path,
    names: &[String],
    replace: bool,
    nats: &NatsArgs,
) -> Result<(usize, usize), CliError> {
    let cluster = Reached::connecting(nats)?.cluster;
    let writer = CaseFolder::write(into)?;
    let names = if names.is_empty() { cluster.cases()? } else { names.to_vec() };
    let (mut added, mut same) = (0, 0);
    for name in &names {
        let Some(archive) = cluster.case(name)? else {
            return Err(CliError::Usage(format!("there is no case {name:?} on the cluster")));
        };
        let called = Path::new("nats:").join(name);
        let imported = import_from(&writer, &called, &*archive, replace)?;
        added += imported.added.len();
        same += imported.same.len();
    }
    Ok((added, same))
}

impl ClusterHost {
    /// Keeps an investigation on the cluster as a case whose causes are these, as their repair has shown. The name of the
    /// case; nothing if it was kept before. Blocks.
    pub(super) fn keep_case(
        &self,
        id: &str,
        causes: BTreeSet<EntityId>,
        note: String,
    ) -> Result<Option<String>, CliError> {
        let reached = &self.0.reached;
        let (id, order) = reached.find(id)?;
        let unusable = |reason: String| CliError::NotRecorded(format!("{id}: {reason}"));
        let place = tempfile::tempdir().map_err(|error| unusable(error.to_string()))?;
        let ledger = reached.bytes(Part::Ledger, &id)?;
        files::write_bytes(place.path(), JOURNAL, &ledger.unwrap_or_default())?;
        let read = travel::read(&place.path().join(JOURNAL))?;
        let incident = self.0.incidents.open(reached, &id, &order);
        let incident = incident.map_err(|error| unusable(error.to_string()))?;
        let folder = FolderHandle::open(&incident.folder);
        let folder = folder.map_err(|error| unusable(error.to_string()))?;
        let kept = Incident {
            opened: &incident.opened,
            folder: &folder,
            architecture: incident.architecture.as_deref(),
        };
        let to_close = ToClose { read: &read, incident: Some(kept), most: MAX_INCIDENT };
        let diagnosis = to_close.diagnosis()?;
        let truth = Truth { causes, ..Truth::default() };
        let closing = Closing::by_recovery(Timestamp::now(), note);
        let closed = to_close.close(&diagnosis, truth, closing);
        let new = tokio::runtime::Handle::current().block_on(closed)?;
        // Written as in any folder, and carried as an archive of it.
        let writer = CaseFolder::write(place.path().join("cases"))?;
        let case = new.store(&writer, false)?;
        if reached.cluster.case(&case.name)?.is_some() {
            return Ok(None);
        }
        reached.cluster.put_case(&case.name, &packed(&writer, &case.name)?)?;
        Ok(Some(case.name))
    }
}
