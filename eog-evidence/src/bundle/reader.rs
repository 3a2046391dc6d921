//! Reads a bundle from a directory. Only files of fixed names in it, and in bundles beside it that it
//! names, are opened, links never.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use eog_core::Window;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::Bundle;
use super::error::BundleError;
use super::files::DATA_FILES;
use super::intake::{Held, Intake};
use super::limits::{
    MAX_BORROWED, MAX_CSV_BYTES, MAX_JSON_BYTES, MAX_ROWS, MEMORY_PER_JSON_BYTE, USE_PERCENT,
};
use super::manifest::{BUNDLE_FORMAT, BUNDLE_VERSION, Manifest};
use super::table::{Complaints, Row, Tally, read_rows};
use super::time::NO_ZONE;
use crate::folder::{FolderHandle, is_irregular};
use crate::mask::masked_json;
use crate::text::shorten;

impl Bundle {
    /// Reads the bundle in a directory, and the normal times of those that it names as a baseline.
    /// Data files may be missing; rows and entries of no use are
    /// skipped and counted in [`Incident::unusable`](crate::Incident::unusable).
    ///
    /// # Errors
    /// [`BundleError`] when the manifest is missing or malformed, a file is not readable or not a
    /// regular file, a header lacks a column, or a bound is passed.
    pub fn read(dir: &Path) -> Result<Self, BundleError> {
        let folder = FolderHandle::open(dir).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                BundleError::NoManifest { dir: dir.to_owned() }
            }
            _ => unreadable(dir, source),
        })?;
        Self::read_from(&folder, None, &|| false)
    }

    /// The same from a folder that is open, until it is cancelled, or it needs more than so many
    /// bytes of memory: what is kept is counted while it is read.
    ///
    /// # Errors
    /// As for [`Bundle::read`], and [`BundleError::Cancelled`] and [`BundleError::NeedsMemory`].
    pub fn read_from(
        folder: &FolderHandle,
        max_memory: Option<u64>,
        is_gone: &dyn Fn() -> bool,
    ) -> Result<Self, BundleError> {
        let allowed = max_memory.unwrap_or(u64::MAX);
        let dir = &Watched { folder, is_gone, allowed, held: Held::default(), read: &Cell::new(0) };
        let read = Self::read_watched(dir);
        // A reader that is ended fails in some way.
        match read {
            _ if is_gone() => Err(BundleError::Cancelled),
            _ if dir.needs() > allowed => Err(BundleError::NeedsMemory {
                dir: folder.called().to_owned(),
                needed: dir.needed_by_all(),
                allowed,
            }),
            read => read,
        }
    }

    fn read_watched(dir: &Watched<'_>) -> Result<Self, BundleError> {
        let mut manifest = read_manifest(dir)?;
        check(dir, &manifest)?;
        let mut complaints = Complaints::default();
        let alerts = read_list(dir, "alerts.json", &mut complaints)?;
        let changes = read_list(dir, "changes.json", &mut complaints)?;
        let mut intake = Intake::counting(dir.held.clone());
        read_telemetry(dir, &mut intake, &mut complaints)?;
        borrow_baselines(dir, &mut manifest, &mut intake, &mut complaints)?;
        Ok(Self::assemble(manifest, alerts, &changes, intake, complaints))
    }
}

/// A folder that is read until it is cancelled.
struct Watched<'a> {
    folder: &'a FolderHandle,
    is_gone: &'a dyn Fn() -> bool,
    /// The memory that may be used, what is held of it, and how much of the files was read, in bytes.
    allowed: u64,
    held: Held,
    read: &'a Cell<u64>,
}

/// A file of it.
struct WatchedFile<'a> {
    file: File,
    dir: &'a Watched<'a>,
}

impl Read for WatchedFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.dir.is_gone)() || self.dir.needs() > self.dir.allowed {
            return Err(io::Error::other("it is not read on"));
        }
        let count = self.file.read(buffer)?;
        self.dir.read.set(self.dir.read.get() + count as u64);
        Ok(count)
    }
}

impl Watched<'_> {
    /// What errors call a file of it.
    fn called(&self, name: &str) -> PathBuf {
        self.folder.called().join(name)
    }

    /// Memory that is needed for what was read so far.
    fn needs(&self) -> u64 {
        self.held.get() / 100 * USE_PERCENT
    }

    /// About how much is needed for all files of the folder, if the rest is as what was read.
    fn needed_by_all(&self) -> u64 {
        let sizes = Bundle::FILES.into_iter().filter_map(|name| self.folder.stamp(name).ok());
        let all = sizes.fold(0, |sum: u64, (bytes, _)| sum.saturating_add(bytes));
        let read = self.read.get().max(1);
        let rate = self.needs().div_ceil(read);
        self.needs().saturating_add(all.saturating_sub(read).saturating_mul(rate))
    }

    /// Counts what is held of JSON by its size.
    fn holds_json(&self, bytes: u64) {
        self.held.set(self.held.get().saturating_add(bytes.saturating_mul(MEMORY_PER_JSON_BYTE)));
    }

    /// Opens a regular file within its bound; nothing when it does not exist.
    fn open(&self, name: &str, limit: u64) -> Result<Option<WatchedFile<'_>>, BundleError> {
        let irregular = || BundleError::NotRegular { file: self.called(name) };
        // A link that takes its place now leads to a file of the same folder.
        if self.folder.has_irregular(name) {
            return Err(irregular());
        }
        let opened = self.folder.file(name).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = match opened {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if is_irregular(&error) => return Err(irregular()),
            Err(source) => return Err(unreadable(&self.called(name), source)),
        };
        if bytes > limit {
            return Err(BundleError::TooLarge { file: self.called(name), bytes, limit });
        }
        Ok(Some(WatchedFile { file, dir: self }))
    }
}

/// Compares the files with the checksums that the manifest has of them.
fn check(dir: &Watched<'_>, manifest: &Manifest) -> Result<(), BundleError> {
    for name in Bundle::FILES {
        let Some(wanted) = manifest.checksums.get(name) else { continue };
        let file = || dir.called(name);
        let Some(mut opened) = dir.open(name, MAX_CSV_BYTES)? else {
            return Err(BundleError::Damaged { file: file(), reason: "it is not there" });
        };
        let mut hasher = blake3::Hasher::new();
        let mut buffer = [0; 16 * 1024];
        loop {
            match opened.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => drop(hasher.update(buffer.get(..count).unwrap_or_default())),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(unreadable(&file(), source)),
            }
        }
        if *hasher.finalize().to_hex() != *wanted.to_string() {
            return Err(BundleError::Damaged { file: file(), reason: "its content was changed" });
        }
    }
    Ok(())
}

fn read_telemetry(
    dir: &Watched<'_>,
    intake: &mut Intake,
    complaints: &mut Complaints,
) -> Result<(), BundleError> {
    for data in DATA_FILES {
        if let Some(file) = dir.open(data.name, MAX_CSV_BYTES)? {
            let take = |row: &Row<'_>| (data.take)(row, intake);
            read_rows(&dir.called(data.name), file, data.columns, complaints, take)?;
        }
    }
    Ok(())
}

/// Adds what other bundles say is normal. What those borrow themselves is not followed.
fn borrow_baselines(
    dir: &Watched<'_>,
    manifest: &mut Manifest,
    intake: &mut Intake,
    complaints: &mut Complaints,
) -> Result<(), BundleError> {
    let file = || dir.called("bundle.json");
    let named = std::mem::take(&mut manifest.baseline_from);
    if named.len() > MAX_BORROWED {
        let (name, file) = (String::from("the list"), file());
        let reason = format!("it has {} names, at most {MAX_BORROWED} are read", named.len());
        return Err(BundleError::Baseline { file, name, reason });
    }
    let own = manifest.window.or(intake.extent());
    let mut all: Vec<Window> = manifest.baseline.iter().collect();
    for sibling in &named {
        let unfit = |reason: &str| BundleError::Baseline {
            file: file(),
            name: String::from(sibling.clone()),
            reason: reason.to_owned(),
        };
        let other = dir.folder.beside(sibling.as_str());
        let other = other.ok_or_else(|| unfit("there is no such directory beside this one"))?;
        let Watched { is_gone, allowed, held, read, .. } = dir;
        let other = Watched {
            folder: &other,
            is_gone: *is_gone,
            allowed: *allowed,
            held: held.clone(),
            read,
        };
        let borrowed = read_manifest(&other)?;
        check(&other, &borrowed)?;
        let normal = borrowed.baseline;
        let read = |intake: &mut Intake| read_telemetry(&other, intake, complaints);
        let periods = intake.borrow(normal, read)?;
        let overlaps = |one: &Window| {
            own.is_some_and(|own| one.start() < own.end() && own.start() < one.end())
        };
        if periods.iter().any(|one| overlaps(&one)) {
            return Err(unfit("its normal time overlaps the window of this bundle"));
        }
        if periods.is_empty() {
            return Err(unfit("it has no telemetry"));
        }
        all.extend(periods.iter());
    }
    manifest.baseline = all.into_iter().collect();
    manifest.baseline_from = named;
    Ok(())
}

fn read_manifest(dir: &Watched<'_>) -> Result<Manifest, BundleError> {
    let path = dir.called("bundle.json");
    let Some(text) = read_json(dir, "bundle.json")? else {
        return Err(BundleError::NoManifest { dir: dir.folder.called().to_owned() });
    };
    // First what every version has, to distinguish a newer one from a malformed one.
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
    dir: &Watched<'_>,
    name: &str,
    complaints: &mut Complaints,
) -> Result<Vec<T>, BundleError> {
    let Some(text) = read_json(dir, name)? else { return Ok(Vec::new()) };
    let path = &dir.called(name);
    let text = without_mark(&text);
    let count = parse::<Vec<IgnoredAny>>(path, text)?.len();
    if count > MAX_ROWS {
        return Err(BundleError::TooManyRows { file: path.to_owned(), limit: MAX_ROWS });
    }
    let mut tally = Tally::default();
    let mut list = Vec::new();
    for entry in entries(text) {
        match masked_json(entry.text) {
            Ok(one) => {
                tally.usable();
                list.push(one);
            }
            Err(error) => tally.unusable(&entry.fault(&error)),
        }
    }
    tally.report(name, complaints);
    Ok(list)
}

/// An entry of a JSON list, and where it begins, both from 1.
struct Entry<'t> {
    text: &'t [u8],
    line: usize,
    column: usize,
}

impl Entry<'_> {
    /// What is wrong with it, with the place in the file.
    fn fault(&self, error: &serde_json::Error) -> String {
        let line = self.line + error.line().saturating_sub(1);
        // Where it has no place, the entry as a whole is meant.
        let column = match error.line() {
            0 | 1 => self.column + error.column().saturating_sub(1),
            _ => error.column(),
        };
        let reason = shorten(&reason(error), 200);
        format!("line {line}, column {column}: {reason}")
    }
}

/// The entries of a valid JSON list.
fn entries(text: &[u8]) -> Vec<Entry<'_>> {
    let mut cursor = Cursor { rest: text, line: 1, column: 1 };
    cursor.pass_while(|byte| byte != b'[');
    cursor.pass(1);
    let mut entries = Vec::new();
    loop {
        cursor.pass_while(|byte| byte == b',' || byte.is_ascii_whitespace());
        let values = serde_json::Deserializer::from_slice(cursor.rest);
        let mut values = values.into_iter::<IgnoredAny>();
        let Some(Ok(_)) = values.next() else { return entries };
        let Cursor { line, column, .. } = cursor;
        entries.push(Entry { text: cursor.pass(values.byte_offset()), line, column });
    }
}

/// A place in a text, with line and column.
struct Cursor<'t> {
    rest: &'t [u8],
    line: usize,
    column: usize,
}

impl<'t> Cursor<'t> {
    fn pass(&mut self, count: usize) -> &'t [u8] {
        let (passed, rest) = self.rest.split_at_checked(count).unwrap_or((self.rest, &[]));
        for byte in passed {
            let is_break = *byte == b'\n';
            self.line += usize::from(is_break);
            self.column = if is_break { 1 } else { self.column + 1 };
        }
        self.rest = rest;
        passed
    }

    fn pass_while(&mut self, matches: impl Fn(u8) -> bool) {
        self.pass(self.rest.iter().take_while(|byte| matches(**byte)).count());
    }
}

fn read_json(dir: &Watched<'_>, name: &str) -> Result<Option<Vec<u8>>, BundleError> {
    let Some(file) = dir.open(name, MAX_JSON_BYTES)? else { return Ok(None) };
    let mut text = Vec::new();
    // The file may grow after it was measured.
    file.take(MAX_JSON_BYTES)
        .read_to_end(&mut text)
        .map_err(|source| unreadable(&dir.called(name), source))?;
    dir.holds_json(text.len() as u64);
    Ok(Some(text))
}

/// A text without the byte order mark with which editors on some systems begin a file.
fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

fn parse<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T, BundleError> {
    let text = without_mark(text);
    masked_json(text).map_err(|error| BundleError::Malformed {
        file: path.to_owned(),
        line: error.line(),
        column: error.column(),
        reason: shorten(&reason(&error), 300),
    })
}

/// What is wrong, without the place.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    // In the words of jiff, which say what is missing and not what to write.
    match reason {
        _ if reason.contains("offset component") => format!("a time {NO_ZONE}"),
        _ if reason.starts_with("failed to parse") || reason.contains("datetime") => {
            format!("this is no time such as 2026-01-01T10:00:00Z ({reason})")
        }
        _ => plain_json(reason),
    }
}

/// What the JSON parser says, without the words of its makers.
fn plain_json(reason: &str) -> String {
    let words = [
        ("invalid type: map", "found an object"),
        ("invalid type: sequence", "found a list"),
        ("invalid type: string", "found the text"),
        ("invalid type: integer", "found the number"),
        ("invalid type: floating point", "found the number"),
        ("invalid type: boolean", "found"),
        ("invalid type: null", "found null"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected an object"),
        ("expected a string", "expected a text"),
        ("expected a borrowed string", "expected a text"),
        ("EOF while parsing a list", "the file ends within a list"),
        ("EOF while parsing an object", "the file ends within an object"),
        ("EOF while parsing a string", "the file ends within a text"),
        ("EOF while parsing a value", "the file ends where a value should stand"),
        ("expected value", "this is not JSON: a value should stand here"),
        ("expected ident", "this is not JSON: a value should stand here"),
        ("trailing characters", "something stands behind the end of the JSON"),
        ("unknown field", "there is no field"),
        ("unknown variant", "there is no choice"),
        ("missing field", "it lacks the field"),
        ("expected struct", "expected an object:"),
    ];
    let plain =
        words.iter().fold(reason.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours));
    // A type of a program says nothing to who writes a file.
    match plain.rsplit_once(", expected an object: ") {
        Some((found, _)) => format!("{found}, expected an object"),
        None => plain,
    }
}

fn unreadable(path: &Path, source: io::Error) -> BundleError {
    BundleError::Unreadable { file: path.to_owned(), source }
}
