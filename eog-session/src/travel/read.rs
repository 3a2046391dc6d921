//! Reading a ledger of whichever controller: from a file, a journal, or a folder of results.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use eog::Journal;
use eog::journal::{CutTail, JournalError};
use eog::ledger::{LedgerError, RestoreError};
use eog::side::SideError;
use eog_evidence::{Bundle, mask_text, shorten};

use crate::controllers::{AnyFinished, AnyLedger};
use crate::run::last_stop;

/// The most bytes of a ledger that are read.
const MAX_LEDGER_BYTES: u64 = 4 << 30;

/// How every entry begins.
const ENTRY: &str = "{\"seq\":";

/// Most characters of a file that is no ledger that are quoted.
const MAX_BEGIN: usize = 40;

/// The ledger of a folder of results.
const LEDGER: &str = "ledger.jsonl";

/// A ledger that was read, and where it stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Read {
    /// The file.
    pub path: PathBuf,
    /// What it holds.
    pub ledger: AnyLedger,
    /// What a journal lacks at its end, if anything.
    pub cut: Option<CutTail>,
}

/// Why there is no ledger.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A folder without a ledger.
    #[error("{}: this folder holds no ledger; name a folder of results, or the file of a journal",
            path.display())]
    NoLedgerInside {
        /// The folder.
        path: PathBuf,
    },
    /// There is no such file.
    #[error("{}: there is no such file; name a ledger, a folder of results, or the file of a journal",
            path.display())]
    Absent {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is something else.
    #[error("{}: this is {what}, not a ledger; name a ledger (ledger.jsonl), a folder of results, or the file of a \
             journal", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What it is, in words.
        what: String,
    },
    /// It cannot be a ledger.
    #[error("{}: {reason}", path.display())]
    NoLedger {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A line of it cannot be used.
    #[error("{}: {source}", path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// Which line, and why not.
        source: LedgerError,
    },
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Reads a ledger, or the one in a folder of results, or a journal, recognised by its content.
///
/// # Errors
/// [`ReadError`] names the file, and what is wrong with it.
pub fn read(path: &Path) -> Result<Read, ReadError> {
    let file = if path.is_dir() { path.join(LEDGER) } else { path.to_owned() };
    // Opened once: a pipe gives what it holds to its first reader only.
    let open = || Opened::open(&file).and_then(|opened| Ok((opened.file.metadata()?, opened)));
    let (about, opened) = open().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound if path.is_dir() => {
            ReadError::NoLedgerInside { path: path.to_owned() }
        }
        io::ErrorKind::NotFound => ReadError::Absent { path: file.clone() },
        _ => ReadError::Unreadable { path: file.clone(), source },
    })?;
    if about.is_file() && Journal::is_journal(&file) {
        if about.len() > MAX_LEDGER_BYTES {
            return Err(too_large(file));
        }
        return read_journal(&file);
    }
    let is_pipe = opened.is_pipe;
    let mut bytes = Vec::new();
    let read = opened.take(MAX_LEDGER_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|source| ReadError::Unreadable { path: file.clone(), source })?;
    if bytes.len() as u64 > MAX_LEDGER_BYTES {
        return Err(too_large(file));
    }
    if is_pipe && bytes.is_empty() {
        let reason = "a pipe without a writer".to_owned();
        return Err(ReadError::NoLedger { path: file, reason });
    }
    let Ok(text) = String::from_utf8(bytes) else {
        let reason = "not the text of a ledger; a journal must be a regular file".to_owned();
        return Err(ReadError::NoLedger { path: file, reason });
    };
    if let Some(what) = something_else(&file, &text) {
        return Err(ReadError::Other { path: file, what });
    }
    match AnyLedger::from_json_lines(&text) {
        Ok(ledger) => Ok(Read { path: file, ledger, cut: None }),
        Err(source) => Err(ReadError::Ledger { path: file, source }),
    }
}

/// A file that is opened at once: a pipe without a writer is at its end.
struct Opened {
    file: File,
    is_pipe: bool,
}

impl Opened {
    fn open(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true);
        #[cfg(unix)]
        let is_pipe = {
            use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
            const NONBLOCK: i32 =
                if cfg!(any(target_os = "linux", target_os = "android")) { 0o4000 } else { 4 };
            let is_pipe = std::fs::metadata(path)?.file_type().is_fifo();
            if is_pipe {
                options.custom_flags(NONBLOCK);
            }
            is_pipe
        };
        #[cfg(not(unix))]
        let is_pipe = false;
        Ok(Self { file: options.open(path)?, is_pipe })
    }
}

impl io::Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(buffer) {
                // Its writer has not said more yet.
                Err(error) if self.is_pipe && error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                read => return read,
            }
        }
    }
}

/// Reads a journal, which another process may be writing.
///
/// # Errors
/// [`ReadError::Journal`].
pub fn read_journal(path: &Path) -> Result<Read, ReadError> {
    let (ledger, cut) = AnyLedger::read_journal(path)?;
    Ok(Read { path: path.to_owned(), ledger, cut })
}

/// What a file is that does not begin the way every ledger does, in words.
fn something_else(path: &Path, text: &str) -> Option<String> {
    let begins = text.lines().next().filter(|line| !line.starts_with(ENTRY))?;
    let is_of_bundle =
        path.file_name().is_some_and(|name| Bundle::FILES.into_iter().any(|file| name == file));
    Some(match is_of_bundle {
        true => "a file of an incident bundle".to_owned(),
        false => format!("a file that begins with {:?}", shorten(&mask_text(begins), MAX_BEGIN)),
    })
}

fn too_large(path: PathBuf) -> ReadError {
    ReadError::NoLedger {
        path,
        reason: format!("more than {MAX_LEDGER_BYTES} bytes are no ledger"),
    }
}

impl Read {
    /// What an investigation is called by its ledger, which does not hold its name: as the folder of
    /// results, or as the file.
    pub fn name(&self) -> String {
        let path = &self.path;
        let is_result = path.file_name().is_some_and(|name| name == LEDGER);
        let folder = path.parent().and_then(Path::file_name).filter(|_| is_result);
        let name = folder.or(path.file_stem());
        name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// The investigation that wrote it, as it stood at the end. Every entry is derived again and
    /// compared with the recorded one. What the side file of a journal lacks goes to `unknown`.
    ///
    /// # Errors
    /// [`RestoreError`] when the ledger does not follow by the rules of this program.
    pub fn restore(&self, unknown: impl FnOnce(&SideError)) -> Result<AnyFinished, RestoreError> {
        self.ledger.restore(|| self.last_stop(unknown))
    }

    pub(super) fn last_stop(&self, unknown: impl FnOnce(&SideError)) -> Option<eog::StopReason> {
        last_stop(&self.path, self.ledger.len()).unwrap_or_else(|error| {
            unknown(&error);
            None
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_read_if_it_has_a_writer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let error = read(&path).unwrap_err();
        assert!(error.to_string().ends_with("a pipe without a writer"), "{error}");
        let other = path.clone();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let reader = std::thread::spawn(move || read(&other));
        std::thread::sleep(Duration::from_millis(50));
        io::Write::write_all(&mut &file, b"no ledger\n").unwrap();
        drop(file);
        let error = reader.join().unwrap().unwrap_err();
        assert!(error.to_string().contains("begins with \"no ledger\""), "{error}");
    }
}
