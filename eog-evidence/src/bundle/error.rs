//! What can be wrong with a bundle.

use std::io;
use std::path::PathBuf;

use crate::text::bytes_in_words;

/// Why a bundle could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// The directory has no manifest.
    #[error("{} is no bundle: it has no bundle.json; name a directory that has one", dir.display())]
    NoManifest {
        /// The directory.
        dir: PathBuf,
    },
    /// Reading was cancelled.
    #[error("the bundle was not read on")]
    Cancelled,
    /// A file could not be read.
    #[error("cannot read {}: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is a link, a pipe or a directory. Links could lead out of the bundle.
    #[error("{} is not a regular file; put a copy of the file itself into the bundle", file.display())]
    NotRegular {
        /// The file.
        file: PathBuf,
    },
    /// A file is larger than the bound.
    #[error("{} has {bytes} bytes, more than the {limit} allowed; keep only the time around the incident", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// Its size.
        bytes: u64,
        /// The bound.
        limit: u64,
    },
    /// A file is not what was written, by the checksum in the manifest.
    #[error(
        "{}: {reason}, but bundle.json has a checksum of it as it was written; get it again, or remove its \
         entry from checksums if it was changed on purpose",
        file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A record has no end within a bound.
    #[error(
        "{}, line {line}: a quote that is opened there is not closed within {}; close it, or double it \
         where it is meant",
        file.display(),
        bytes_in_words(*limit)
    )]
    Endless {
        /// The file.
        file: PathBuf,
        /// The line on which the record begins, from 1.
        line: u64,
        /// The bound, in bytes.
        limit: u64,
    },
    /// It needs more memory than is allowed.
    #[error(
        "{} needs about {} of memory, by what was read of it, but only {} may be used; keep only the time \
         around the incident, or raise the limit, max_memory",
        dir.display(),
        bytes_in_words(*needed),
        bytes_in_words(*allowed)
    )]
    NeedsMemory {
        /// The directory.
        dir: PathBuf,
        /// The estimate for all files, in bytes.
        needed: u64,
        /// What may be used, in bytes.
        allowed: u64,
    },
    /// A file has more rows or entries than the bound.
    #[error("{} has more than {limit} rows; keep only the time around the incident", file.display())]
    TooManyRows {
        /// The file.
        file: PathBuf,
        /// The bound.
        limit: usize,
    },
    /// A JSON file does not have the documented form.
    #[error("{}, line {line}, column {column}: {reason}; docs/bundle.md describes the format", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The manifest is of another format or a version that this program does not know.
    #[error("{} says format {format:?}, version {version}; this program reads format \"eog-bundle\", version 1", file.display())]
    Unsupported {
        /// The manifest.
        file: PathBuf,
        /// The format it names.
        format: String,
        /// The version it names.
        version: u64,
    },
    /// A bundle that the manifest names as a baseline cannot be one.
    #[error("{}, baseline_from: {name}: {reason}", file.display())]
    Baseline {
        /// The manifest that names it.
        file: PathBuf,
        /// The name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// The header of a CSV file lacks a column or names it twice.
    #[error("{}, line 1: {reason}; expected columns: {expected}", file.display())]
    Columns {
        /// The file.
        file: PathBuf,
        /// What is wrong with the header.
        reason: String,
        /// The documented columns.
        expected: String,
    },
}

/// Why a bundle could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {reason}", file.display())]
pub struct BundleWriteError {
    /// The file or directory.
    pub file: PathBuf,
    /// Why not.
    pub reason: String,
}
