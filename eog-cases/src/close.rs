//! A case is made: from a ledger, the incident that it is of, and what was true.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use eog::{Diagnosis, Digest, EntityId, EvidenceId, EvidenceKind};
use eog_evidence::{FolderHandle, Observations, mask_text, near_entities, shorten};
use eog_session::controllers::AnyLedger;
use eog_session::run::{RunError, same_source};
use eog_session::source::Opened;
use eog_session::travel::Read;

use crate::case::{ClosedCase, Closing, Concluded, FORMAT, Kept, MAX_NOTE, Truth};
use crate::check;
use crate::error::CaseError;
use crate::folder::{INCIDENT, LEDGER, Writer};
use crate::grade::Grade;
use crate::pack::{PackError, pack_masked};

/// Longest part of a name that comes from the incident.
const MAX_STEM: usize = 60;

/// Changes that an error names.
const MAX_NAMED: usize = 5;

/// Shortest beginning of an id that stands for it.
const MIN_PREFIX: usize = 8;

/// An investigation that is to be closed.
#[derive(Clone, Copy, Debug)]
pub struct ToClose<'a> {
    /// The ledger.
    pub read: &'a Read,
    /// The incident, if it is to be kept.
    pub incident: Option<Incident<'a>>,
    /// Most bytes of the packed incident.
    pub most: u64,
}

/// The incident of an investigation.
#[derive(Clone, Copy, Debug)]
pub struct Incident<'a> {
    /// As it was opened.
    pub opened: &'a Opened,
    /// Its folder.
    pub folder: &'a FolderHandle,
    /// The architecture that goes with it.
    pub architecture: Option<&'a Path>,
}

/// A case that is not stored yet.
#[derive(Clone, Debug)]
pub struct NewCase {
    /// `case.json`.
    pub case: ClosedCase,
    /// The other files, by name.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Why no case can be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CloseError {
    /// The ledger or the truth.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The incident cannot be kept.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// It is another incident than that of the ledger.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl NewCase {
    /// Stores the case. An investigation is one case, whatever it is called: one that is known keeps its name.
    ///
    /// # Errors
    /// As for [`Writer::add`].
    pub fn store(mut self, writer: &Writer, replace: bool) -> Result<ClosedCase, CaseError> {
        if let Some(known) = writer.of_ledger(&self.case)? {
            self.case.name = known;
        }
        writer.add(&self.case, &self.files, replace)?;
        Ok(self.case)
    }
}

impl ToClose<'_> {
    /// The diagnosis of the ledger, which is verified.
    ///
    /// # Errors
    /// [`CaseError::Ledger`] when it does not follow.
    pub fn diagnosis(&self) -> Result<Diagnosis, CaseError> {
        let finished = self.read.restore(|_| ());
        Ok(finished.map_err(|error| self.unusable(&error.to_string()))?.diagnosis())
    }

    /// Makes the case. An incident that is judged without a model is investigated again, to see that what is kept gives
    /// the same ledger.
    ///
    /// # Errors
    /// [`CloseError`] says which part cannot be used.
    pub async fn close(
        &self,
        diagnosis: &Diagnosis,
        truth: Truth,
        closing: Closing,
    ) -> Result<NewCase, CloseError> {
        truth.check().map_err(CaseError::from)?;
        check_causes(diagnosis, &truth)?;
        let ledger = &self.read.ledger;
        let text = ledger.to_json_lines().into_bytes();
        let mut files = BTreeMap::from([(LEDGER.to_owned(), text)]);
        let mut folder = None;
        if let Some(incident) = self.incident {
            same_source(incident.opened, ledger)?;
            let packed = pack_masked(incident.folder, incident.architecture, self.most)?;
            folder = Some(packed.folder);
            files.insert(INCIDENT.to_owned(), packed.bytes);
        }
        let concluded = Concluded::of(diagnosis, ledger.controller().name());
        let alert = |alert: &eog::Anomaly| format!("{} on {}", alert.name, alert.entity);
        let called = self
            .incident
            .map_or_else(|| self.read.name(), |incident| incident.opened.incident().name.clone());
        let called = mask_text(&called);
        let mut case = ClosedCase {
            format: FORMAT,
            name: name_of(&called, &digits_of(ledger)),
            incident: called,
            window: diagnosis.window,
            alerts: diagnosis.anomalies.iter().map(alert).collect(),
            closed: Closing {
                by: shorten(&mask_text(&closing.by), 200),
                note: shorten(&mask_text(&closing.note), MAX_NOTE),
                ..closing
            },
            grade: Grade::of(&truth, &concluded),
            observations: Observations::of(diagnosis, &truth.causes),
            truth,
            concluded,
            kept: files.iter().map(|(name, content)| (name.clone(), Kept::of(content))).collect(),
            folder,
            reproduced: None,
        };
        case.reproduced = check::reproduces(&case, &files).await;
        Ok(NewCase { case, files })
    }

    fn unusable(&self, reason: &str) -> CaseError {
        CaseError::Ledger(format!("{}: {reason}", self.read.path.display()))
    }
}

/// Makes sure that causes are in the topology, or were judged.
fn check_causes(diagnosis: &Diagnosis, truth: &Truth) -> Result<(), CaseError> {
    let topology = &diagnosis.topology;
    let is_known =
        |entity: &EntityId| topology.contains(entity) || diagnosis.belief(entity).is_some();
    let Some(unknown) = truth.causes.iter().find(|entity| !is_known(entity)) else { return Ok(()) };
    let near = match near_entities(topology, unknown.as_str()) {
        near if near.is_empty() => String::new(),
        near => format!("; did you mean {}?", near.join(" or ")),
    };
    Err(CaseError::UnknownCause { entity: unknown.clone(), near })
}

/// The change of this id, or of the one id that begins so.
///
/// # Errors
/// [`CaseError::UnknownChange`] with the changes on record.
pub fn change_of(diagnosis: &Diagnosis, id: &str) -> Result<EvidenceId, CaseError> {
    let all = diagnosis.findings.values().filter(|finding| finding.kind == EvidenceKind::Change);
    let all: BTreeSet<&EvidenceId> = all.map(eog::Finding::id).collect();
    let mut meant = all.iter().filter(|known| {
        known.as_str() == id || id.len() >= MIN_PREFIX && known.as_str().starts_with(id)
    });
    match (meant.next(), meant.next()) {
        (Some(one), None) => Ok((*one).clone()),
        _ => {
            let named: Vec<&str> = all.iter().take(MAX_NAMED).map(|id| id.as_str()).collect();
            let near = match named.is_empty() {
                true => String::new(),
                false => format!("; it has {}", named.join(", ")),
            };
            Err(CaseError::UnknownChange { change: shorten(&mask_text(id), 60), near })
        }
    }
}

/// The name of a case: what the incident is called, and which investigation of it this is.
fn name_of(called: &str, digits: &str) -> String {
    let mut stem = String::new();
    for c in called.to_lowercase().chars() {
        match c.is_ascii_alphanumeric() {
            true => stem.push(c),
            false if !stem.is_empty() && !stem.ends_with('-') => stem.push('-'),
            false => {}
        }
    }
    stem.truncate(MAX_STEM);
    let stem = if stem.is_empty() { "incident" } else { stem.trim_end_matches('-') };
    format!("{stem}-{digits}")
}

/// What the name of a case ends with: the first digits of the digest of its ledger.
pub(crate) fn digits_of(ledger: &AnyLedger) -> String {
    let mut digits = Digest::of_bytes(ledger.to_json_lines().as_bytes()).to_string();
    digits.truncate(8);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_incidents() {
        for (called, begin) in [
            ("Flash sale (EU)", "flash-sale-eu-"),
            ("", "incident-"),
            ("übel", "bel-"),
            (&*"long ".repeat(40), "long-long-"),
        ] {
            let name = name_of(called, "0123abcd");
            assert!(name.starts_with(begin) && name.len() <= MAX_STEM + 9, "{name}");
            crate::case::check_name(&name).unwrap();
        }
    }
}
