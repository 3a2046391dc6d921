//! `eog fetch`: an investigation as files, for all other commands.

use std::io;
use std::path::Path;

use eog::side::SideFile;
use eog_nats::{InvestigationId, Part};
use eog_report::Report;
use eog_session::controllers::AnyLedger;
use eog_session::run::last_stop;

use super::order::Order;
use super::reach::Reached;
use super::state::State;
use crate::args::Fetch;
use crate::error::{CliError, Exit, NOTHING_YET};
use crate::files;
use eog_cases::pack::{ARCHITECTURE, FOLDER, unpack};

pub(super) const JOURNAL: &str = "journal";

/// `eog fetch`.
pub(crate) fn fetch(arguments: &Fetch) -> Result<Exit, CliError> {
    let reached = Reached::connecting(&arguments.nats)?;
    let (id, order) = reached.find(&arguments.id)?;
    let out = arguments.out.as_path();
    files::prepare(out)?;
    if arguments.incident {
        fetch_incident(&reached, &id, &order, out)?;
    }
    // The side file first: what it holds may belong to entries that come with the ledger.
    let (side, ledger) = (reached.bytes(Part::Side, &id)?, reached.bytes(Part::Ledger, &id)?);
    let Some(ledger) = ledger else {
        eprintln!("eog: {id} has no ledger yet: no worker has started it");
        return Ok(Exit::Failed);
    };
    let journal = out.join(JOURNAL);
    files::write_bytes(out, JOURNAL, &ledger)?;
    let beside = SideFile::path_beside(JOURNAL);
    if let Some(side) = side {
        files::write_bytes(out, &beside.to_string_lossy(), &side)?;
    }
    let (ledger, _) = AnyLedger::read_journal(&journal)?;
    if ledger.is_empty() {
        eprintln!("eog: {id}: {NOTHING_YET}");
        return Ok(Exit::Failed);
    }
    let stop = last_stop(&journal, ledger.len())?;
    let unusable = |reason: String| CliError::Input { path: journal.clone(), reason };
    let finished = ledger.restore(|| stop).map_err(|error| unusable(error.to_string()))?;
    let report = Report::new(order.name.as_str(), finished.diagnosis());
    files::write(out, "ledger.jsonl", &finished.to_json_lines())?;
    files::write(out, "graph.dot", &eog_report::dot(&report))?;
    let state = State::read(&reached.register.state(&id)?.unwrap_or_default())?;
    // As the run reported it, which may be in the words of a model.
    let stored = state.and_then(|state| state.report).and_then(|block| block.parse().ok());
    let stored = stored.map(|block| reached.cluster.stored(&id, block)).transpose()?;
    let stored = stored.and_then(|bytes| String::from_utf8(bytes).ok());
    files::write(out, "report.md", &stored.unwrap_or_else(|| eog_report::markdown(&report)))?;
    files::print(&format!("{}\n", journal.display()))?;
    Ok(Exit::Diagnosed)
}

fn failed(path: &Path, source: io::Error) -> CliError {
    CliError::Write { path: path.to_owned(), source }
}

/// Puts the incident, and its architecture if it has one, into a folder where neither is yet. What was packed is
/// untrusted, so it comes near nothing that is there.
fn fetch_incident(
    reached: &Reached,
    id: &InvestigationId,
    order: &Order,
    out: &Path,
) -> Result<(), CliError> {
    let free = |name: &str| {
        let path = out.join(name);
        files::refuse_taken(&path, "remove it, or omit --incident")?;
        Ok::<_, CliError>(path)
    };
    let into = free(FOLDER)?;
    let architecture = order.has_architecture.then(|| free(ARCHITECTURE)).transpose()?;
    let bytes = reached.cluster.stored(id, order.block()?)?;
    let beside = tempfile::Builder::new().prefix(".eog-fetch-").tempdir_in(out);
    let beside = beside.map_err(|error| failed(out, error))?;
    let unpacked = unpack(&bytes, &order.folder, beside.path());
    let unpacked = unpacked.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => {
            let (path, reason) = (into.clone(), format!("it cannot be unpacked: {error}"));
            CliError::Input { path, reason }
        }
        _ => failed(&into, error),
    })?;
    let moved = std::fs::rename(beside.path().join(FOLDER), &into);
    moved.map_err(|error| failed(&into, error))?;
    if let (Some(from), Some(to)) = (unpacked.architecture, architecture) {
        std::fs::rename(from, &to).map_err(|error| failed(&to, error))?;
    }
    Ok(())
}
