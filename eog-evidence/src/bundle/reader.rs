//! Reads a bundle from a directory. Only files of fixed names in it are opened, links never.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Bundle;
use super::error::BundleError;
use super::files::DATA_FILES;
use super::intake::Intake;
use super::limits::{MAX_CSV_BYTES, MAX_JSON_BYTES, MAX_ROWS};
use super::manifest::{BUNDLE_FORMAT, BUNDLE_VERSION, Manifest};
use super::table::{Row, Skipped, read_rows};
use crate::text::shorten;

impl Bundle {
    /// Reads the bundle in a directory. Data files may be missing; rows and entries of no use are
    /// skipped and counted in [`Incident::warnings`](crate::Incident::warnings).
    ///
    /// # Errors
    /// [`BundleError`] when the manifest is missing or malformed, a file is not readable or not a
    /// regular file, a header lacks a column, or a bound is passed.
    pub fn read(dir: &Path) -> Result<Self, BundleError> {
        let manifest = read_manifest(dir)?;
        let mut warnings = Vec::new();
        let alerts = read_list(&dir.join("alerts.json"), &mut warnings)?;
        let changes = read_list(&dir.join("changes.json"), &mut warnings)?;
        let mut intake = Intake::default();
        for data in DATA_FILES {
            let path = dir.join(data.name);
            if let Some(file) = open(&path, MAX_CSV_BYTES)? {
                let take = |row: &Row<'_>| (data.take)(row, &mut intake);
                read_rows(&path, file, data.columns, &mut warnings, take)?;
            }
        }
        Ok(Self::assemble(manifest, alerts, &changes, intake, warnings))
    }
}

fn read_manifest(dir: &Path) -> Result<Manifest, BundleError> {
    let path = dir.join("bundle.json");
    let Some(text) = read_json(&path)? else {
        return Err(BundleError::NoManifest { dir: dir.to_owned() });
    };
    // First what every version has, so that a newer one is told from a malformed one.
    let probe: Probe = parse(&path, &text)?;
    if probe.format != BUNDLE_FORMAT || probe.version != u64::from(BUNDLE_VERSION) {
        let format = shorten(&probe.format, 60);
        return Err(BundleError::Unsupported { file: path, format, version: probe.version });
    }
    parse(&path, &text)
}

#[derive(Deserialize)]
struct Probe {
    format: String,
    version: u64,
}

/// A JSON list whose entries of no use are skipped. A missing file is an empty list.
fn read_list<T: DeserializeOwned>(
    path: &Path,
    warnings: &mut Vec<String>,
) -> Result<Vec<T>, BundleError> {
    let Some(text) = read_json(path)? else { return Ok(Vec::new()) };
    let values: Vec<serde_json::Value> = parse(path, &text)?;
    if values.len() > MAX_ROWS {
        return Err(BundleError::TooManyRows { file: path.to_owned(), limit: MAX_ROWS });
    }
    let mut skipped = Skipped::default();
    let mut list = Vec::new();
    for (index, value) in values.into_iter().enumerate() {
        match serde_json::from_value(value) {
            Ok(entry) => list.push(entry),
            Err(error) => {
                skipped.note(&format!("entry {}", index + 1), &shorten(&error.to_string(), 200));
            }
        }
    }
    let name = path.file_name().map_or_else(String::new, |name| name.display().to_string());
    warnings.extend(skipped.warning(&name));
    Ok(list)
}

fn read_json(path: &Path) -> Result<Option<Vec<u8>>, BundleError> {
    let Some(file) = open(path, MAX_JSON_BYTES)? else { return Ok(None) };
    let mut text = Vec::new();
    // The file may grow after it was measured.
    file.take(MAX_JSON_BYTES).read_to_end(&mut text).map_err(|source| unreadable(path, source))?;
    Ok(Some(text))
}

fn parse<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T, BundleError> {
    // Editors on some systems begin a file with a byte order mark.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    serde_json::from_slice(text).map_err(|error| BundleError::Malformed {
        file: path.to_owned(),
        line: error.line(),
        column: error.column(),
        reason: shorten(&without_position(&error), 300),
    })
}

fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

/// Opens a regular file within its bound; nothing when it does not exist.
fn open(path: &Path, limit: u64) -> Result<Option<File>, BundleError> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(unreadable(path, source)),
    };
    if !meta.is_file() {
        return Err(BundleError::NotRegular { file: path.to_owned() });
    }
    if meta.len() > limit {
        let file = PathBuf::from(path);
        return Err(BundleError::TooLarge { file, bytes: meta.len(), limit });
    }
    File::open(path).map(Some).map_err(|source| unreadable(path, source))
}

fn unreadable(path: &Path, source: io::Error) -> BundleError {
    BundleError::Unreadable { file: path.to_owned(), source }
}
