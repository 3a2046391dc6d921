//! Files and folders: reading within bounds, and what can be wrong with them.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Largest JSON or YAML file that is read, in bytes.
const MAX_TEXT_BYTES: u64 = 64 * 1024 * 1024;

/// Why a file or folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It could not be read or written.
    #[error("cannot use {}: {reason}", path.display())]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// It does not have the documented form.
    #[error("{}, {place}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in it: a line, a column, a field.
        place: String,
        /// What is wrong there, and what is expected.
        reason: String,
    },
    /// It contains nothing of what is expected.
    #[error("{} contains nothing to use; expected {expected}", path.display())]
    Nothing {
        /// The file or folder.
        path: PathBuf,
        /// What it should contain.
        expected: &'static str,
    },
}

impl FileError {
    /// A file or folder that could not be read or written.
    pub fn unusable(path: &Path, reason: impl Display) -> Self {
        Self::Unusable { path: path.to_owned(), reason: reason.to_string() }
    }

    /// A file that does not have the documented form.
    pub fn malformed(path: &Path, place: impl Display, reason: impl Display) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            place: place.to_string(),
            reason: reason.to_string(),
        }
    }

    /// A file or folder that contains nothing of what is expected.
    pub fn nothing(path: &Path, expected: &'static str) -> Self {
        Self::Nothing { path: path.to_owned(), expected }
    }
}

/// Reads a text file of at most 64 MiB.
///
/// # Errors
/// [`FileError`] names the file and what is wrong.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    let meta = std::fs::metadata(path).map_err(|error| FileError::unusable(path, error))?;
    if meta.len() > MAX_TEXT_BYTES {
        let reason = format!("it has {} bytes; the limit is {MAX_TEXT_BYTES}", meta.len());
        return Err(FileError::unusable(path, reason));
    }
    std::fs::read_to_string(path).map_err(|error| FileError::unusable(path, error))
}

/// Reads a JSON file of at most 64 MiB.
///
/// # Errors
/// [`FileError`] names the file, the place, and what is wrong.
pub fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    parse_json(&read_text(path)?, path)
}

/// Reads JSON from text; `path` is what errors call it.
pub(crate) fn parse_json<T: serde::de::DeserializeOwned>(
    text: &str,
    path: &Path,
) -> Result<T, FileError> {
    serde_json::from_str(text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        FileError::malformed(path, place, error)
    })
}

/// The entries of a folder, by name.
///
/// # Errors
/// [`FileError`] names the folder and what is wrong.
pub fn list_folder(dir: &Path) -> Result<Vec<PathBuf>, FileError> {
    let listed = std::fs::read_dir(dir).map_err(|error| FileError::unusable(dir, error))?;
    let mut paths: Vec<PathBuf> = listed
        .map(|entry| {
            entry.map(|entry| entry.path()).map_err(|error| FileError::unusable(dir, error))
        })
        .collect::<Result<_, _>>()?;
    paths.sort();
    Ok(paths)
}
