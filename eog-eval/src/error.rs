//! What can be wrong with the input of an evaluation.

use std::path::{Path, PathBuf};

/// Why an evaluation could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A file or directory could not be read or written.
    #[error("cannot use {}: {reason}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A file does not have the documented form.
    #[error("{}, {place}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in it: a line, a column, a field.
        place: String,
        /// What is wrong there, and what is expected.
        reason: String,
    },
    /// A directory holds nothing to evaluate.
    #[error("{} holds nothing to evaluate: {expected}", dir.display())]
    Nothing {
        /// The directory.
        dir: PathBuf,
        /// What it should hold.
        expected: &'static str,
    },
    /// There are not as many runs as are to be looked at.
    #[error(
        "k is {k}, but scenario {scenario} has {runs} runs; k must be at least 1 and at most the fewest runs \
         of a scenario"
    )]
    Runs {
        /// How many runs of each scenario are to be looked at.
        k: usize,
        /// The scenario with the fewest runs.
        scenario: String,
        /// How many it has.
        runs: usize,
    },
    /// A setting makes no sense.
    #[error("{reason}")]
    Setting {
        /// Which, why, and what would do.
        reason: String,
    },
    /// A case could not be investigated.
    #[error("{case}: {reason}")]
    Case {
        /// The case.
        case: String,
        /// Why not.
        reason: String,
    },
}

impl EvalError {
    pub(crate) fn file(path: &Path, reason: impl std::fmt::Display) -> Self {
        Self::File { path: path.to_owned(), reason: reason.to_string() }
    }

    pub(crate) fn malformed(
        path: &Path,
        place: impl std::fmt::Display,
        reason: impl std::fmt::Display,
    ) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            place: place.to_string(),
            reason: reason.to_string(),
        }
    }
}

/// Largest JSON or YAML file that is read, in bytes.
const MAX_TEXT_BYTES: u64 = 64 * 1024 * 1024;

/// Reads a text file within its bound.
pub(crate) fn read_text(path: &Path) -> Result<String, EvalError> {
    let meta = std::fs::metadata(path).map_err(|error| EvalError::file(path, error))?;
    if meta.len() > MAX_TEXT_BYTES {
        let reason = format!("{} bytes are more than the {MAX_TEXT_BYTES} allowed", meta.len());
        return Err(EvalError::file(path, reason));
    }
    std::fs::read_to_string(path).map_err(|error| EvalError::file(path, error))
}

/// Reads a JSON file.
pub(crate) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, EvalError> {
    let text = read_text(path)?;
    serde_json::from_str(&text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        EvalError::malformed(path, place, error)
    })
}

/// The entries of a directory, by name.
pub(crate) fn entries(dir: &Path) -> Result<Vec<PathBuf>, EvalError> {
    let listed = std::fs::read_dir(dir).map_err(|error| EvalError::file(dir, error))?;
    let mut paths: Vec<PathBuf> = listed
        .map(|entry| entry.map(|entry| entry.path()).map_err(|error| EvalError::file(dir, error)))
        .collect::<Result<_, _>>()?;
    paths.sort();
    Ok(paths)
}
