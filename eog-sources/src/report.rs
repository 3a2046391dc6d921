//! What a capture holds and what was missing: the file `capture.json`.

use std::io::{self, Read};
use std::path::Path;

use eog_core::{Timestamp, Window};
use eog_evidence::FolderHandle;
use serde::{Deserialize, Serialize};

use crate::bundle::NO_PLACE;

/// The name of the file.
pub(crate) const REPORT: &str = "capture.json";

/// What the field `format` says.
const FORMAT: &str = "eog-capture";

/// The version of the format that this program reads and writes.
const VERSION: u32 = 1;

/// Longest report that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// What was captured, and what could not be: the file `capture.json` beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureReport {
    format: String,
    version: u32,
    /// What the incident is called.
    pub name: String,
    /// The window that was asked for, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// The time that was captured.
    pub captured: Window,
    /// What was asked, by source.
    pub sources: Vec<SourceReport>,
    /// How many alerts, changes and so on there are.
    pub counts: Vec<(String, u64)>,
    /// What could not be had, and why.
    pub missing: Vec<String>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

/// One source of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceReport {
    /// The name of its table in the configuration.
    pub source: String,
    /// Where it is, without credentials.
    pub place: String,
    /// How many questions it was asked.
    pub asked: u64,
    /// How many of them it answered, at least in part.
    pub answered: u64,
}

impl CaptureReport {
    pub(crate) fn new(name: &str, window: Option<Window>, captured: Window) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            name: name.to_owned(),
            window,
            captured,
            sources: Vec::new(),
            counts: Vec::new(),
            missing: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The report of a capture in a folder; nothing where there is none.
    ///
    /// # Errors
    /// Why it cannot be used, for people.
    pub fn of(folder: &Path) -> Result<Option<Self>, String> {
        match FolderHandle::open(folder) {
            Ok(folder) => Self::from(&folder),
            Err(_) => Ok(None),
        }
    }

    /// The same from a folder that is open.
    ///
    /// # Errors
    /// As for [`CaptureReport::of`].
    pub fn from(folder: &FolderHandle) -> Result<Option<Self>, String> {
        let place = |reason: String| format!("{REPORT}: {reason}");
        let unreadable = |error: io::Error| place(error.to_string());
        if !folder.has(REPORT) {
            return Ok(None);
        }
        if folder.has_irregular(REPORT) {
            return Err(place("not a regular file".to_owned()));
        }
        let mut bytes = Vec::new();
        let file = folder.file(REPORT).map_err(unreadable)?;
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(place(format!("longer than {MAX_BYTES} bytes")));
        }
        let report: Self =
            serde_json::from_slice(&bytes).map_err(|error| place(error.to_string()))?;
        if report.format != FORMAT || report.version != VERSION {
            return Err(place(format!("not of format {FORMAT} {VERSION}")));
        }
        Ok(Some(report))
    }

    /// What an investigation says of it: everything that could not be had.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.missing.iter().map(|missing| format!("missing in the capture: {missing}"))
    }

    /// What is said of alerts that are on nothing that a source knows.
    pub fn without_place(&self) -> impl Iterator<Item = &str> {
        let all = self.missing.iter().map(String::as_str);
        all.filter(|missing| missing.starts_with(NO_PLACE))
    }

    /// Whether everything that was asked was answered.
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty()
    }

    pub(crate) fn count(&mut self, what: &str, count: usize) {
        if count > 0 {
            self.counts.push((what.to_owned(), count as u64));
        }
    }

    /// When it was captured until.
    pub fn until(&self) -> Timestamp {
        self.captured.end()
    }
}
