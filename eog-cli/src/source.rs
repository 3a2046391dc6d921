//! Opening the input, with its progress on the terminal.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::shown::clean_line;
use eog::incident::Unusable;
use eog::{Timestamp, Window};
use eog_session::controllers::AnySettings;
use eog_session::run::Start;
use eog_session::source::{self, Capturing, Kind, OfLive, OpenError, Opened, ReadOptions};
use eog_sources::CaptureReport;
use eog_sre::{CacheAt, Stop};

use crate::args::Reading;
use crate::error::{CliError, Exit};
use crate::interrupt::{EndsAtOnce, interrupted};
use crate::progress::Progress;
use crate::runtime::runtime;
use crate::{bundle_files, strangers};

/// Files named of which records could not be used.
const MAX_FILES: usize = 5;

/// When and where live sources are captured.
#[derive(Clone, Copy, Default)]
pub(crate) struct At<'a> {
    /// The window that is asked for.
    pub(crate) window: Option<Window>,
    /// The journal of the run, beside which the capture is kept for those that go on with it.
    pub(crate) journal: Option<&'a Path>,
    /// When reading ends, whatever is missing.
    pub(crate) until: Option<Instant>,
}

/// What a path leads to, determined once.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    path: &'a Path,
    kind: Kind,
}

impl<'a> Input<'a> {
    /// Determines what a path leads to. A cache is refused for what is none: only snapshots take long enough to be
    /// read.
    pub(crate) fn of(path: &'a Path, reading: &Reading) -> Result<Self, CliError> {
        let kind = Kind::of(path)?;
        let what = match kind {
            Kind::Bundle if reading.cache.is_some() => "is a bundle",
            Kind::Live if reading.cache.is_some() => {
                "names live sources, which are captured as a bundle"
            }
            _ => return Ok(Self { path, kind }),
        };
        let path = path.display();
        Err(CliError::Usage(format!(
            "--cache is for snapshots, but {path} {what}; omit the option"
        )))
    }

    fn is_folder(self) -> bool {
        matches!(self.kind, Kind::Bundle | Kind::Snapshot)
    }

    /// Whether it is opened by reading alone: a folder, or live sources of which a finished capture is beside a journal.
    pub(crate) fn is_at_rest(self, journal: &Path) -> bool {
        match self.kind {
            Kind::Bundle | Kind::Snapshot => true,
            Kind::Live => finished_capture(journal).is_some(),
            Kind::Servers => false,
        }
    }

    /// Refuses live sources of which an unfinished capture is beside a journal, for commands that only read:
    /// opening them goes on with the capture.
    pub(crate) fn refuse_unfinished(self, journal: &Path) -> Result<(), CliError> {
        if self.kind != Kind::Live || !is_captured(journal) {
            return Ok(());
        }
        let capture = captured(journal);
        let reason = match CaptureReport::of(&capture) {
            Ok(Some(_)) => return Ok(()),
            Ok(None) => format!(
                "the capture there is not finished; finish it with `eog resume`, or omit {}: the \
                 page then has no charts",
                self.path.display()
            ),
            Err(reason) => reason,
        };
        Err(CliError::Input { path: capture, reason })
    }

    /// Opens it, and says what of it cannot be used.
    pub(crate) fn open(
        self,
        progress: &Progress,
        architecture: Option<&Path>,
        reading: &Reading,
        at: At<'_>,
    ) -> Result<Opened, CliError> {
        let opened = self.read(progress, architecture, reading, at)?;
        let incident = opened.incident();
        progress.bar().suspend(|| {
            if !self.is_folder() {
                say_missing(&incident.warnings);
            } else if self.kind == Kind::Bundle {
                bundle_files::say_unread(self.path);
            }
            strangers::say(incident);
            say_unusable(&incident.unusable);
        });
        Ok(opened)
    }

    /// Opens it, and leaves to its caller to say what it lacks.
    fn read(
        self,
        progress: &Progress,
        architecture: Option<&Path>,
        reading: &Reading,
        at: At<'_>,
    ) -> Result<Opened, CliError> {
        progress.say(&format!("reading {}", self.path.display()));
        let stop = at.until.map(|until| Stop::when(move || Instant::now() >= until));
        let options = ReadOptions { stop, ..read_options(architecture, reading, Some(progress)) };
        let time_is_up =
            || CliError::NotBegun { why: "the deadline passed", exit: Exit::Failed, onward: None };
        let opened = if self.is_folder() {
            // Files are read in one go.
            let _ends = EndsAtOnce::with(progress.bar());
            source::open_folder(self.path, &options).map_err(|error| {
                match error.is_cancelled() {
                    true => time_is_up(),
                    false => error.into(),
                }
            })?
        } else {
            runtime()?.block_on(async {
                tokio::select! {
                    opened = self.ask(&options, at, progress) => Ok(opened?),
                    () = interrupted() => {
                        let (why, exit) = ("interrupted", Exit::Interrupted);
                        Err(CliError::NotBegun { why, exit, onward: None })
                    }
                    () = reached(at.until) => Err(time_is_up()),
                }
            })?
        };
        if reading.strict {
            return Ok(opened.all_usable()?);
        }
        Ok(opened)
    }

    /// Opens a file that names live sources or MCP servers.
    async fn ask(
        self,
        options: &ReadOptions,
        at: At<'_>,
        progress: &Progress,
    ) -> Result<Opened, OpenError> {
        if self.kind != Kind::Live {
            return source::open(self.path, options).await;
        }
        let into = at.journal.map(captured);
        let say = |line: &str| progress.say(line);
        let (into, now) = (into.as_deref(), Timestamp::now());
        let capturing = Capturing { window: at.window, now, into, progress: &say };
        Ok(Opened::new(self.path, OfLive::open(self.path, options, capturing).await?))
    }
}

/// Opens whatever a path leads to, and says what of it cannot be used.
pub(crate) fn open(
    progress: &Progress,
    path: &Path,
    architecture: Option<&Path>,
    reading: &Reading,
    at: At<'_>,
) -> Result<Opened, CliError> {
    Input::of(path, reading)?.open(progress, architecture, reading, at)
}

/// Opens whatever a path leads to, and leaves to its caller to say what it lacks.
pub(crate) fn read(
    progress: &Progress,
    path: &Path,
    architecture: Option<&Path>,
    reading: &Reading,
    at: At<'_>,
) -> Result<Opened, CliError> {
    Input::of(path, reading)?.read(progress, architecture, reading, at)
}

/// Resolves at a time; never without one.
async fn reached(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until.into()).await,
        None => std::future::pending().await,
    }
}

/// Where a capture is kept beside a journal.
fn captured(journal: &Path) -> PathBuf {
    let mut name = journal.as_os_str().to_owned();
    name.push(".capture");
    PathBuf::from(name)
}

/// The finished capture beside a journal, if there is one.
pub(crate) fn finished_capture(journal: &Path) -> Option<PathBuf> {
    Some(captured(journal)).filter(|folder| matches!(CaptureReport::of(folder), Ok(Some(_))))
}

/// Whether there is a capture beside a journal.
pub(crate) fn is_captured(journal: &Path) -> bool {
    captured(journal).is_dir()
}

/// Says at once what live sources lacked: it may be why nothing is found.
fn say_missing(warnings: &[String]) {
    for line in warnings.iter().filter(|line| line.starts_with("missing in")) {
        eprintln!("{}", clean_line(&format!("eog: note: {line}")));
    }
}

/// Says how much of which file could not be used; the report says it, too, and of every file.
fn say_unusable(parts: &[Unusable]) {
    for part in parts.iter().take(MAX_FILES) {
        let text = eog_report::words::unusable(part);
        eprintln!("{}", clean_line(&format!("eog: warning: {text}")));
    }
    if let Some(more) = parts.len().checked_sub(MAX_FILES).filter(|more| *more > 0) {
        eprintln!("eog: warning: and records of {more} more files");
    }
}

/// What an investigation of a source begins with.
pub(crate) fn start(
    source: &Opened,
    settings: AnySettings,
    window: Option<Window>,
) -> Result<Start, CliError> {
    Start::of(source, settings, window).map_err(|error| CliError::start(source, error))
}

pub(crate) fn read_options(
    architecture: Option<&Path>,
    reading: &Reading,
    progress: Option<&Progress>,
) -> ReadOptions {
    ReadOptions {
        architecture: architecture.map(Path::to_owned),
        cache: reading.cache.clone().map(CacheAt::Folder),
        max_memory: reading.max_memory,
        progress: progress.map(Progress::of_reading),
        ..ReadOptions::default()
    }
}

impl From<OpenError> for CliError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::NeedsNoArchitecture { path, kind: Kind::Servers } => Self::Usage(format!(
                "--architecture is for snapshots, but {} names MCP servers; omit the option, and \
                 set `architecture` in that file if it names a snapshot",
                path.display()
            )),
            OpenError::NeedsNoArchitecture { path, .. } => Self::Usage(format!(
                "--architecture is for snapshots, but {} is a bundle, which has its own topology; \
                 omit the option",
                path.display()
            )),
            error => Self::Open(error),
        }
    }
}
