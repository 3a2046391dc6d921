//! The file of a cassette: a header, then one line of JSON for each call.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eog_prompts::{ChatRequest, ChatResponse};

use super::difference;
use super::entry::{Asked, Entry, without_secrets};
use crate::Masker;

const HEADER: &str = "{\"eog_cassette\":1}";

/// A longer cassette is not read.
const MOST_BYTES: u64 = 512 << 20;

/// Recorded calls in a file. Clones share it, and so may several processes.
///
/// Secrets are not written: known keys, and what looks like a secret, are masked in requests and
/// answers, and headers are not part of a cassette. Requests are identified by their masked content.
#[derive(Clone, Debug)]
pub struct Cassette {
    path: PathBuf,
    masker: Masker,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    file: File,
    /// Up to where whole lines were read.
    read: u64,
    lines: usize,
    entries: BTreeMap<String, Entry>,
}

/// A cassette that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The file cannot be opened, read or written.
    #[error("the cassette {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("the cassette {path}, line {line}: {reason}; remove the file to record it again")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

impl Cassette {
    /// Opens a cassette to replay it. The masker must be as it was for recording.
    ///
    /// # Errors
    /// [`CassetteError`] if the file does not exist or is not a cassette.
    pub fn open(path: impl AsRef<Path>, masker: Masker) -> Result<Self, CassetteError> {
        Self::with(path.as_ref(), masker, OpenOptions::new().read(true))
    }

    /// Opens a cassette for recording, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`CassetteError`] if the file cannot be written or is not a cassette.
    pub fn create(path: impl AsRef<Path>, masker: Masker) -> Result<Self, CassetteError> {
        let path = path.as_ref();
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        private(&mut options);
        let cassette = Self::with(path, masker, &options)?;
        let mut state = cassette.state();
        cassette.locked(&mut state, |state| match state.read {
            0 => state.write(HEADER).map_err(|error| cassette.file(error)),
            _ => Ok(()),
        })?;
        cassette.refresh(&mut state)?;
        drop(state);
        Ok(cassette)
    }

    /// How many calls are recorded, as of the last read.
    pub fn len(&self) -> usize {
        self.state().entries.len()
    }

    /// Whether no call is recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn with(path: &Path, masker: Masker, options: &OpenOptions) -> Result<Self, CassetteError> {
        let path = path.to_owned();
        let file = options
            .open(&path)
            .map_err(|source| CassetteError::File { path: path.clone(), source })?;
        let state = State { file, read: 0, lines: 0, entries: BTreeMap::new() };
        let cassette = Self { path, masker, state: Arc::new(Mutex::new(state)) };
        cassette.refresh(&mut cassette.state())?;
        Ok(cassette)
    }

    /// The request as it is known here.
    pub(super) fn asked(&self, model: &str, request: &ChatRequest) -> Asked {
        Asked::of(model, request, &self.masker)
    }

    /// The recorded answer, of this process or another.
    pub(super) fn find(&self, asked: &Asked) -> Result<Option<ChatResponse>, CassetteError> {
        let mut state = self.state();
        if !state.entries.contains_key(&asked.key) {
            self.refresh(&mut state)?;
        }
        Ok(state.entries.get(&asked.key).map(|entry| entry.response.clone()))
    }

    /// Records an answer. If it shall not replace a recorded one, that is what is returned.
    pub(super) fn record(
        &self,
        asked: Asked,
        response: &ChatResponse,
        replace: bool,
    ) -> Result<ChatResponse, CassetteError> {
        let response = without_secrets(response, &self.masker);
        let Asked { key, model, request } = asked;
        let entry = Entry { key: key.clone(), model, request, response: response.clone() };
        let line = serde_json::to_string(&entry).map_err(|error| self.file(error.into()))?;
        let mut state = self.state();
        self.locked(&mut state, |state| {
            state.read_on(&self.path)?;
            if !replace && state.entries.contains_key(&key) {
                return Ok(());
            }
            state.write(&line).map_err(|error| self.file(error))
        })?;
        self.refresh(&mut state)?;
        Ok(state.entries.get(&key).map_or(response, |entry| entry.response.clone()))
    }

    /// Why there is no answer to a request.
    pub(super) fn miss(&self, asked: &Asked) -> String {
        let state = self.state();
        let nearest = match difference::nearest(asked, state.entries.values()) {
            Some((entry, difference)) => format!(
                "the most similar recorded request, of the phase {:?} with the key {}, differs in \
                 {difference}",
                entry.request.phase, entry.key
            ),
            None => "nothing is recorded".to_owned(),
        };
        format!(
            "the cassette {} has no answer to this request of the phase {:?} with the key {}: \
             {nearest}; record it with the cassette mode \"auto\", or revert what changed the request",
            self.path.display(),
            asked.request.phase,
            asked.key
        )
    }

    fn refresh(&self, state: &mut State) -> Result<(), CassetteError> {
        state.read_on(&self.path)
    }

    /// Does something while no other process writes.
    fn locked(
        &self,
        state: &mut State,
        act: impl FnOnce(&mut State) -> Result<(), CassetteError>,
    ) -> Result<(), CassetteError> {
        state.file.lock().map_err(|error| self.file(error))?;
        let result = act(state);
        state.file.unlock().map_err(|error| self.file(error))?;
        result
    }

    fn file(&self, source: io::Error) -> CassetteError {
        CassetteError::File { path: self.path.clone(), source }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Reads the whole lines that were not read yet.
    fn read_on(&mut self, path: &Path) -> Result<(), CassetteError> {
        let text = self
            .new_lines()
            .map_err(|source| CassetteError::File { path: path.to_owned(), source })?;
        for line in text.split_inclusive('\n') {
            self.lines += 1;
            self.take(line.trim_end()).map_err(|reason| CassetteError::Invalid {
                path: path.to_owned(),
                line: self.lines,
                reason,
            })?;
            self.read += line.len() as u64;
        }
        Ok(())
    }

    fn new_lines(&mut self) -> io::Result<String> {
        let length = self.file.metadata()?.len();
        if length < self.read {
            return Err(io::Error::other("it was truncated while it was in use"));
        }
        if length > MOST_BYTES {
            return Err(io::Error::other(format!("it is longer than {MOST_BYTES} bytes")));
        }
        self.file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        (&self.file).take(length - self.read).read_to_end(&mut bytes)?;
        // What follows the last line end is being written, or was when its process died.
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        if self.lines == 1 {
            return match line == HEADER {
                true => Ok(()),
                false => Err(format!("not a cassette of this version: {HEADER} is missing")),
            };
        }
        let entry: Entry = serde_json::from_str(line).map_err(|error| error.to_string())?;
        // Of equal requests, the last one recorded counts.
        self.entries.insert(entry.key.clone(), entry);
        Ok(())
    }

    /// Appends one line. To be called under the lock, with all whole lines read.
    fn write(&mut self, line: &str) -> io::Result<()> {
        // Half a line of a process that died.
        if self.file.metadata()?.len() > self.read {
            self.file.set_len(self.read)?;
        }
        let written = self.file.write_all(format!("{line}\n").as_bytes());
        let written = written.and_then(|()| self.file.sync_data());
        if written.is_err() {
            // The failure says more than that it cannot be undone either.
            let _ = self.file.set_len(self.read);
        }
        written
    }
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn private(_: &mut OpenOptions) {}
