//! Which files of a directory make up a snapshot, and the only way to open one.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SnapshotError;
use super::budget::Budget;
use super::progress::{Meter, Progress, Source};
use crate::warnings::Warnings;

/// Maximum number of files considered in one directory.
pub const MAX_FILES_PER_DIRECTORY: usize = 20_000;

/// Longest JSON file, in bytes.
pub const MAX_JSON_BYTES: u64 = 64 * 1024 * 1024;

/// What no reader may see: the answer to the question.
const FORBIDDEN_PREFIX: &str = "ground_truth";

/// Directories that may hold the files of a snapshot, best first.
const BASES: [&str; 3] = ["", "raw", "lite"];

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

    /// Looks into the directories that a snapshot may have. Of `raw/` and `lite/` copies of one
    /// kind of file the first found counts, since the second repeats it.
    pub(crate) fn find(folder: &Folder, warnings: &mut Warnings) -> Self {
        let mut layout = Self::default();
        for base in BASES {
            let names = folder.list(base, warnings);
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
    root: PathBuf,
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
        let root = fs::canonicalize(directory).map_err(|error| not_usable(error.to_string()))?;
        if !root.is_dir() {
            return Err(not_usable("it is not a directory".to_owned()));
        }
        Ok(Self { root, opened: Vec::new(), meter: None, budget: Budget::new(u64::MAX) })
    }

    /// The files directly in a directory, as relative paths, sorted. Nothing when there is none.
    fn list(&self, directory: &str, warnings: &mut Warnings) -> Vec<String> {
        let path = self.root.join(directory);
        if !fs::canonicalize(&path).is_ok_and(|path| path.starts_with(&self.root)) {
            if path.is_dir() {
                warnings.note(format!("{directory}: leads outside the snapshot; it is skipped"));
            }
            return Vec::new();
        }
        let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names
            .filter(|name| !name.starts_with('.') && !is_forbidden(name))
            .map(|name| join(directory, &name))
            .filter(|name| !self.root.join(name).is_dir())
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
        let (root, meter, budget) = (self.root.clone(), self.meter.clone(), self.budget.clone());
        Self { root, opened: Vec::new(), meter, budget }
    }

    /// Bounds from now on what readers keep.
    pub(crate) fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// What readers may keep.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Tells from now on how far the reading of these files has come.
    pub(crate) fn tell(&mut self, progress: &Progress, layout: &Layout) {
        let total = layout.files().map(|file| self.size(file)).fold(0, u64::saturating_add);
        self.meter = Some(Arc::new(Meter::new(progress.clone(), total)));
    }

    /// The size of a file in bytes; 0 for one that may not be opened.
    pub(crate) fn size(&self, name: &str) -> u64 {
        let path = self.locate(name).ok();
        path.and_then(|path| fs::metadata(path).ok()).map_or(0, |found| found.len())
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
        &self.root
    }

    fn try_open(&mut self, name: &str) -> Result<File, String> {
        let file = File::open(self.locate(name)?).map_err(|error| error.to_string())?;
        self.opened.push(name.to_owned());
        Ok(file)
    }

    /// The real path of a file that may be opened.
    ///
    /// # Errors
    /// Why it may not, for people.
    pub(crate) fn locate(&self, name: &str) -> Result<PathBuf, String> {
        let path = fs::canonicalize(self.root.join(name)).map_err(|error| error.to_string())?;
        if !path.starts_with(&self.root) {
            return Err("a link that leads outside the snapshot".to_owned());
        }
        let parts = path.strip_prefix(&self.root).into_iter().flat_map(Path::components);
        if parts.map(|part| part.as_os_str().to_string_lossy()).any(|part| is_forbidden(&part)) {
            return Err("ground truth, which must not be read".to_owned());
        }
        if !path.is_file() {
            return Err("not a regular file".to_owned());
        }
        Ok(path)
    }

    /// Every file opened so far, in order.
    pub(crate) fn opened(&self) -> &[String] {
        &self.opened
    }
}

/// Whether a file or directory name is one that no reader opens.
pub(crate) fn is_forbidden(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with(FORBIDDEN_PREFIX)
}

/// Reads a JSON file of bounded size.
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
        serde_json::from_slice(text).map_err(|error| format!("not valid JSON: {error}"))?;
    // Whether serde_json keeps the order of the file is up to other crates of a build.
    value.sort_all_objects();
    Ok(value)
}
