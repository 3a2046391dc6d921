//! Which files of a directory make up a snapshot, and the only way to open one.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use eog_evidence::{FolderHandle, is_absolute_inside, is_ground_truth, leads_outside, masked_json};

use super::SnapshotError;
use super::budget::Budget;
use super::progress::{Meter, Progress, Source};
use crate::warnings::Warnings;

/// Maximum number of files considered in one directory.
pub const MAX_FILES_PER_DIRECTORY: usize = 20_000;

/// Longest JSON file, in bytes.
pub const MAX_JSON_BYTES: u64 = 64 * 1024 * 1024;

/// Directories that may hold the files of a snapshot, best first.
const BASES: [&str; 3] = ["", "raw", "lite"];

/// How the names of tables begin.
const TABLES: [&str; 4] = ["k8s_events", "k8s_objects", "otel_logs", "otel_traces"];

/// Most files that are named as not read.
const MAX_UNREAD: usize = 5;

/// Directories of metric files.
const METRIC_DIRECTORIES: [&str; 3] = ["metrics", "metrics_pod", "metrics_service"];

/// The files of a snapshot, as paths relative to its directory, sorted.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) events: Vec<String>,
    pub(crate) objects: Vec<String>,
    pub(crate) logs: Vec<String>,
    pub(crate) traces: Vec<String>,
    pub(crate) alerts: Vec<String>,
    pub(crate) metrics: Vec<String>,
}

impl Layout {
    /// How many kinds of files there are.
    pub(crate) const KINDS: usize = 6;

    /// Lists the directories that a snapshot may have. Of `raw/` and `lite/` copies of one
    /// kind of file the first found counts, since the second repeats it.
    pub(crate) fn find(folder: &Folder, warnings: &mut Warnings) -> Self {
        let (mut layout, mut unread) = (Self::default(), Vec::new());
        for base in BASES {
            let names = folder.list(base, warnings);
            unread.extend(names.iter().filter(|name| is_unread(name)).cloned());
            let table = |prefix: &str| {
                let matching = names.iter().filter(|name| {
                    let file = name.rsplit('/').next().unwrap_or(name);
                    file.starts_with(prefix) && file.ends_with(".tsv")
                });
                matching.cloned().collect::<Vec<_>>()
            };
            fill(&mut layout.events, || table("k8s_events"));
            fill(&mut layout.objects, || table("k8s_objects"));
            fill(&mut layout.logs, || table("otel_logs"));
            fill(&mut layout.traces, || table("otel_traces"));
            fill(&mut layout.alerts, || {
                let is_json = |name: &String| name.ends_with(".json");
                let alerts = folder.list(&join(base, "alerts"), warnings);
                let at_root = names.iter().filter(|name| {
                    let file = name.rsplit('/').next().unwrap_or(name);
                    file.starts_with("alerts_")
                });
                let mut all: Vec<String> = alerts.iter().chain(at_root).cloned().collect();
                all.retain(is_json);
                all
            });
            fill(&mut layout.metrics, || {
                let mut all = Vec::new();
                for directory in METRIC_DIRECTORIES {
                    all.extend(folder.list(&join(base, directory), warnings));
                }
                all.retain(|name| name.ends_with(".tsv"));
                all
            });
        }
        if let Some(first) = unread.first() {
            let (count, named) = (unread.len(), unread.iter().take(MAX_UNREAD).cloned());
            let named = named.collect::<Vec<_>>().join(", ");
            let more = if count > MAX_UNREAD { ", …" } else { "" };
            let folder = first.rsplit_once('/').map_or(".", |(folder, _)| folder);
            warnings.note(format!(
                "{count} files in {folder} peek like data and are not read, since their names are none of a snapshot: \
                 {named}{more}; `eog import` reads them"
            ));
        }
        layout
    }

    /// All files, by kind.
    pub(crate) fn files(&self) -> impl Iterator<Item = &String> {
        let Self { events, objects, logs, traces, alerts, metrics } = self;
        [alerts, events, objects, logs, traces, metrics].into_iter().flatten()
    }

    /// The kinds of files of which there is none.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let kinds = [
            ("alerts", &self.alerts),
            ("events", &self.events),
            ("objects", &self.objects),
            ("logs", &self.logs),
            ("traces", &self.traces),
            ("metrics", &self.metrics),
        ];
        kinds.into_iter().filter(|(_, files)| files.is_empty()).map(|(name, _)| name).collect()
    }
}

/// Whether a file in the folder of a snapshot looks like data, and is none of it by its name.
fn is_unread(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    let is_data = [".json", ".jsonl", ".tsv", ".csv", ".log", ".yaml", ".yml"]
        .iter()
        .any(|end| file.ends_with(end));
    let is_table = TABLES.iter().any(|prefix| file.starts_with(prefix)) && file.ends_with(".tsv");
    let is_alerts = file.starts_with("alerts_") && file.ends_with(".json");
    is_data && !is_table && !is_alerts && file != "capture.json"
}

fn fill(slot: &mut Vec<String>, found: impl FnOnce() -> Vec<String>) {
    if slot.is_empty() {
        *slot = found();
        slot.sort();
    }
}

fn join(base: &str, name: &str) -> String {
    if base.is_empty() { name.to_owned() } else { format!("{base}/{name}") }
}

/// A directory from which only regular files within it can be opened, and no ground truth.
#[derive(Debug)]
pub(crate) struct Folder {
    handle: FolderHandle,
    opened: Vec<String>,
    meter: Option<Arc<Meter>>,
    budget: Budget,
}

impl Folder {
    /// # Errors
    /// [`SnapshotError::NotADirectory`].
    pub(crate) fn new(directory: &Path) -> Result<Self, SnapshotError> {
        let not_usable = |reason: String| SnapshotError::NotADirectory {
            path: directory.display().to_string(),
            reason,
        };
        let handle = FolderHandle::open(directory).map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => not_usable("it is not a directory".to_owned()),
            _ => not_usable(error.to_string()),
        })?;
        Ok(Self::of(handle))
    }

    /// A directory that is open.
    pub(crate) fn of(handle: FolderHandle) -> Self {
        Self { handle, opened: Vec::new(), meter: None, budget: Budget::new(u64::MAX) }
    }

    /// The files directly in a directory, as relative paths, sorted. Nothing when there is none.
    fn list(&self, directory: &str, warnings: &mut Warnings) -> Vec<String> {
        let entries = match self.handle.below(Path::new(directory)).and_then(|it| it.entries("")) {
            Ok(entries) => entries,
            Err(error) => {
                if is_absolute_inside(&error) {
                    warnings.note(format!("{directory}: {error}; it is skipped"));
                } else if leads_outside(&error) {
                    warnings
                        .note(format!("{directory}: leads outside the snapshot; it is skipped"));
                }
                return Vec::new();
            }
        };
        let mut names: Vec<String> = entries
            .map(|entry| entry.name)
            .filter(|name| !name.starts_with('.') && !is_ground_truth(name))
            .map(|name| join(directory, &name))
            .filter(|name| !self.handle.has_folder(name))
            .collect();
        names.sort();
        if names.len() > MAX_FILES_PER_DIRECTORY {
            names.truncate(MAX_FILES_PER_DIRECTORY);
            warnings.note(format!(
                "{directory}: only the first {MAX_FILES_PER_DIRECTORY} files are used"
            ));
        }
        names
    }

    /// The same directory for another thread, which notes what it opens by itself.
    pub(crate) fn fork(&self) -> Self {
        let (handle, meter, budget) =
            (self.handle.clone(), self.meter.clone(), self.budget.clone());
        Self { handle, opened: Vec::new(), meter, budget }
    }

    /// Bounds from now on what readers keep.
    pub(crate) fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// What readers may keep.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Reports from now on how far the reading of these files has come.
    pub(crate) fn report_to(&mut self, progress: &Progress, layout: &Layout) {
        let total = layout.files().map(|file| self.size(file)).fold(0, u64::saturating_add);
        self.meter = Some(Arc::new(Meter::new(progress.clone(), total)));
    }

    /// The size of a file in bytes; 0 for one that may not be opened.
    pub(crate) fn size(&self, name: &str) -> u64 {
        let file = self.peek(name).ok();
        file.and_then(|file| file.metadata().ok()).map_or(0, |found| found.len())
    }

    /// Takes over what a fork opened.
    pub(crate) fn join(&mut self, fork: Self) {
        self.opened.extend(fork.opened);
    }

    /// Opens a file of the snapshot, or notes why not.
    pub(crate) fn open(&mut self, name: &str, warnings: &mut Warnings) -> Option<Source> {
        match self.try_open(name) {
            Ok(file) => Some(Source::new(file, name, self.meter.clone())),
            Err(reason) => {
                warnings.note(format!("{name}: {reason}; the file is skipped"));
                None
            }
        }
    }

    /// The directory, with all links followed.
    pub(crate) fn root(&self) -> &Path {
        self.handle.path()
    }

    fn try_open(&mut self, name: &str) -> Result<File, String> {
        let file = self.peek(name)?;
        self.opened.push(name.to_owned());
        Ok(file)
    }

    /// Opens a file without noting that.
    ///
    /// # Errors
    /// Why it may not be opened, for people.
    pub(crate) fn peek(&self, name: &str) -> Result<File, String> {
        self.handle.file(name).map_err(|error| {
            match leads_outside(&error) && !is_absolute_inside(&error) {
                true => "a link that leads outside the snapshot, or is absolute".to_owned(),
                false => error.to_string(),
            }
        })
    }

    /// Every file opened so far, in order.
    pub(crate) fn opened(&self) -> &[String] {
        &self.opened
    }
}

/// Reads a JSON file of bounded size, without its secrets.
///
/// # Errors
/// What is wrong with it, for people.
pub(crate) fn read_json(file: impl Read) -> Result<serde_json::Value, String> {
    let mut bytes = Vec::new();
    let mut bounded = file.take(MAX_JSON_BYTES + 1);
    bounded.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_JSON_BYTES {
        return Err(format!("longer than {MAX_JSON_BYTES} bytes"));
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    // Editors on some systems begin a file with a byte order mark.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut value: serde_json::Value =
        masked_json(text).map_err(|error| format!("not valid JSON: {error}"))?;
    // Whether serde_json keeps the order of the file is up to other crates of a build.
    value.sort_all_objects();
    Ok(value)
}
