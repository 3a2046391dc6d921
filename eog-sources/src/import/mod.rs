//! Imports: files as people have them, each recognized by its content, become one bundle.
//!
//! ```text
//! files, folders, archives ──► inputs ──► kind by content ──► records ──► a bundle, and what became of each file
//!                                             └── log lines ──► a spool on disk ──► as many as a bundle may hold
//! ```
//!
//! Nothing is dropped silently: every file has an account of what was taken of it, and why the rest was not. Log lines are
//! never in memory all at once.

mod connections;
mod files;
mod json;
mod logs;
pub(crate) mod records;
mod text;
mod yaml;

use std::path::{Path, PathBuf};

use eog_core::{Timestamp, Window};
use eog_evidence::BundleWriter;

use crate::capture;
use crate::config::SourceConfig;
use crate::error::CaptureError;
use crate::kubernetes::Collected;
use crate::metrics::{Points, series};
use crate::period::Period;
use crate::piece::{Line, Link, Millis, Piece, Who};
use crate::report::{CaptureReport, REPORT};
use crate::store::write;
use crate::upstreams::{Mentions, Names, in_words, link, owners};
use files::Input;
use logs::{BOUNDS, Spool};

/// Most records of each kind but log lines that are kept: points, spans, and so on.
const MAX_RECORDS: usize = 2_000_000;

/// How much before the end is investigated where there are no alerts, and how much before a window is kept, in milliseconds.
const RECENT: Millis = 2 * 3_600_000;

/// Most reasons that are named of one file.
const MAX_REASONS: usize = 3;

/// How files are imported.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// What the incident is called.
    pub name: String,
    /// The time to investigate; by default it is chosen from the alerts.
    pub window: Option<Window>,
    /// The writer of log lines and files that do not name one.
    pub entity: Option<String>,
}

/// What became of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileAccount {
    /// The file, with its place in an archive.
    pub file: String,
    /// What it is; empty where it was not understood.
    pub kind: String,
    /// How many records of what were taken.
    pub taken: Vec<(String, u64)>,
    /// How many records could not be used.
    pub lost: u64,
    /// Why records, or all of it, could not be used; the first reasons.
    pub reasons: Vec<String>,
}

impl FileAccount {
    fn new(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// Whether all of it was taken.
    pub fn is_whole(&self) -> bool {
        self.is_understood() && self.lost == 0
    }

    /// Whether it is of a known kind and holds anything of use.
    pub fn is_understood(&self) -> bool {
        !self.kind.is_empty()
    }

    fn lose(&mut self, records: u64, reason: impl Into<String>) {
        self.lost += records;
        let reason = reason.into();
        if self.reasons.len() < MAX_REASONS && !self.reasons.contains(&reason) {
            self.reasons.push(eog_evidence::shorten(&eog_evidence::mask_text(&reason), 300));
        }
    }

    fn is(&mut self, kind: &str) {
        if !self.kind.split(", ").any(|known| known == kind) {
            if !self.kind.is_empty() {
                self.kind.push_str(", ");
            }
            self.kind.push_str(kind);
        }
    }

    fn take(&mut self, what: &str, count: usize) {
        if count == 0 {
            return;
        }
        match self.taken.iter_mut().find(|(known, _)| known == what) {
            Some((_, known)) => *known += count as u64,
            None => self.taken.push((what.to_owned(), count as u64)),
        }
    }
}

/// What became of all files.
#[derive(Clone, Debug)]
pub struct ImportReport {
    /// Each file.
    pub files: Vec<FileAccount>,
    /// What the bundle holds, and what else is to be known.
    pub capture: CaptureReport,
}

/// Reads files, folders and archives, and writes what they say as one bundle.
///
/// # Errors
/// [`CaptureError`] when the folder is taken or cannot be written, or nothing of any file can be used; the reasons are in it.
pub fn import(
    inputs: &[PathBuf],
    options: &ImportOptions,
    out: &Path,
) -> Result<ImportReport, CaptureError> {
    let folder = |reason: String| CaptureError::Folder { path: out.to_owned(), reason };
    if out.exists() && out.read_dir().map_err(|it| folder(it.to_string()))?.next().is_some() {
        return Err(folder("it is not empty; name a new folder".to_owned()));
    }
    // What lies before the window is what it is compared with.
    let only = options.window.map(|window| {
        let start = window.start().as_millisecond().saturating_sub(RECENT);
        (start, window.end().as_millisecond())
    });
    let spool =
        Spool::new(only).map_err(|error| folder(format!("no room for log lines: {error}")))?;
    let mut importing = Importing {
        options,
        all: Piece::default(),
        points: Points::new(),
        cluster: Collected::default(),
        spool,
        mentions: Mentions::default(),
        accounts: Vec::new(),
        compose: Vec::new(),
    };
    files::each(inputs, &mut |input| importing.file(input));
    importing.end(out)
}

/// An import under way.
struct Importing<'a> {
    options: &'a ImportOptions,
    all: Piece,
    /// Points of OTLP.
    points: Points,
    cluster: Collected,
    spool: Spool,
    /// Whom log lines name as called.
    mentions: Mentions,
    accounts: Vec<FileAccount>,
    /// Services of compose files, which are joined when all are known.
    compose: Vec<connections::Declared>,
}

impl Importing<'_> {
    fn file(&mut self, input: Result<Input<'_>, (String, String)>) {
        let account = match input {
            Ok(mut input) => {
                let mut account = FileAccount::new(&input.name);
                if let Err(error) = self.read(&mut input, &mut account) {
                    account.lose(1, error.to_string());
                }
                if !account.is_understood() && account.reasons.is_empty() {
                    account.lose(1, "nothing in it is known; docs/bundle.md lists what is");
                }
                account
            }
            Err((name, reason)) => {
                let mut account = FileAccount::new(&name);
                account.lose(1, reason);
                account
            }
        };
        self.accounts.push(account);
    }

    fn read(&mut self, input: &mut Input<'_>, account: &mut FileAccount) -> std::io::Result<()> {
        let head = input.head()?.to_vec();
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).trim_ascii_start();
        if text.is_empty() {
            account.is("empty");
            return Ok(());
        }
        if head.contains(&0) || head.first() == Some(&0x0a) && std::str::from_utf8(&head).is_err() {
            return self.protobuf(input, account);
        }
        if matches!(text.first(), Some(b'{' | b'[')) {
            return self.json(input, account);
        }
        let text = String::from_utf8_lossy(text).into_owned();
        if yaml::is_one(&text) {
            return self.yaml(input, account);
        }
        self.text(&text, input, account)
    }

    /// Requests of OTLP as protobuf.
    fn protobuf(
        &mut self,
        input: &mut Input<'_>,
        account: &mut FileAccount,
    ) -> std::io::Result<()> {
        let Some(bytes) = input.whole(files::MAX_WHOLE)? else {
            account.lose(1, format!("binary, and longer than {} bytes", files::MAX_WHOLE));
            return Ok(());
        };
        match crate::receiver::decoded(&bytes) {
            Some((piece, points)) => {
                account.is("OTLP protobuf");
                self.add(piece, account);
                self.add_points(points, account);
            }
            None => account.lose(1, crate::receiver::NOT_DECODED),
        }
        Ok(())
    }

    /// Adds what was read, within bounds.
    fn add(&mut self, mut piece: Piece, account: &mut FileAccount) {
        for reason in std::mem::take(&mut piece.missing) {
            account.lose(count_of(&reason), reason);
        }
        let lines = std::mem::take(&mut piece.lines);
        account.take("log lines", lines.len());
        for line in lines {
            if let Err(error) = self.put(&line) {
                account.lose(1, error.to_string());
            }
        }
        let room = |used: usize| MAX_RECORDS.saturating_sub(used);
        let over = |count: usize, room: usize| count.saturating_sub(room);
        let spans = over(piece.spans.len(), room(self.all.spans.len()));
        let events = over(piece.events.len(), room(self.all.events.len()));
        let points = room(self.all.points());
        let mut left = 0;
        let mut kept = 0;
        piece.series.retain(|series| {
            kept += series.points.len();
            let fits = kept <= points;
            left += if fits { 0 } else { series.points.len() };
            fits
        });
        piece.spans.truncate(piece.spans.len() - spans);
        piece.events.truncate(piece.events.len() - events);
        for (count, what) in [(spans, "spans"), (events, "events"), (left, "points")] {
            if count > 0 {
                let reason = format!("{count} {what} beyond {MAX_RECORDS} in all");
                account.lose(count as u64, reason);
            }
        }
        account.take("alerts", piece.alerts.len());
        account.take("changes", piece.changes.len());
        account.take("events", piece.events.len());
        account.take("states", piece.states.len());
        account.take("series", piece.series.len());
        account.take("points", piece.points());
        account.take("spans", piece.spans.len());
        account.take("edges", piece.links.len());
        self.all.join(piece);
    }

    /// Adds points of OTLP, which become series when those of all files are known.
    fn add_points(&mut self, mut points: Points, account: &mut FileAccount) {
        let room = MAX_RECORDS.saturating_sub(self.points.len());
        let beyond = points.len().saturating_sub(room);
        if beyond > 0 {
            account.lose(beyond as u64, format!("{beyond} points beyond {MAX_RECORDS} in all"));
        }
        points.truncate(room);
        account.take("points", points.len());
        self.points.append(&mut points);
    }

    /// The entity of a file that does not name one.
    fn of(&self, input: &Input<'_>) -> Who {
        match &self.options.entity {
            Some(name) => Who::service(name.as_str()),
            None => text::who_of_path(&input.name),
        }
    }

    fn end(mut self, out: &Path) -> Result<ImportReport, CaptureError> {
        let points = std::mem::take(&mut self.points);
        series(points.iter().map(|(key, point)| (key, *point)), json::ALWAYS, &mut self.all);
        let until = self.latest();
        let period = Period { from: 0, until };
        let whole = self.cluster.piece(period);
        self.all.join(whole);
        let inferred = self.infer();
        if self.accounts.iter().all(|account| account.taken.is_empty()) {
            let reasons = self.accounts.iter().map(|account| {
                let reason = account.reasons.first().map_or("it holds nothing", String::as_str);
                format!("{}: {reason}", account.file)
            });
            return Err(CaptureError::Nothing(reasons.collect()));
        }
        let mut config = SourceConfig::default().called(&self.options.name);
        let spool = self.spool;
        config.topology.entities.extend(spool.entities());
        let captured = spool
            .extent()
            .into_iter()
            .chain(extent(&self.all))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let (first, last) = captured.unwrap_or((0, 1000));
        let at = |at: Millis| Timestamp::from_millisecond(at).unwrap_or_default();
        let captured = Window::new(at(first), at(last.saturating_add(1000))).map_err(|error| {
            CaptureError::Folder { path: out.to_owned(), reason: error.to_string() }
        })?;
        let mut window = self.options.window;
        if window.is_none() && self.all.alerts.is_empty() {
            let start = captured.start().max(at(last.saturating_sub(RECENT)));
            window = Window::new(start, captured.end()).ok();
        }
        let mut report = CaptureReport::new(&self.options.name, window, captured);
        if window != self.options.window {
            report.notes.push(
                "there are no alerts: what failed or was changed in the last two hours is where to start; --window \
                 names another time"
                    .to_owned(),
            );
        }
        for account in self.accounts.iter().filter(|account| !account.is_whole()) {
            report.missing.push(account.in_words());
        }
        if spool.outside() > 0 {
            let count = spool.outside();
            report.notes.push(format!(
                "{count} log lines lie outside of the window and the two hours before it, and are left out"
            ));
        }
        report.notes.extend(inferred);
        report.notes.append(&mut self.all.notes);
        report.missing.append(&mut self.all.missing);
        std::fs::create_dir_all(out).map_err(|error| CaptureError::Folder {
            path: out.to_owned(),
            reason: error.to_string(),
        })?;
        capture::finish(&config, &mut report, self.all, out)?;
        let kept = spool.write(&out.join("logs.csv"), BOUNDS);
        let thinned = kept.map_err(|error| CaptureError::File {
            path: out.join("logs.csv"),
            reason: error.to_string(),
        })?;
        BundleWriter::add_checksums(out).map_err(|error| CaptureError::File {
            path: error.file.clone(),
            reason: error.reason.clone(),
        })?;
        report.count("log lines", thinned.kept);
        report.missing.extend(thinned.in_words());
        write(&out.join(REPORT), &report)?;
        Ok(ImportReport { files: self.accounts, capture: report })
    }

    /// Adds the calls that environments, compose files and log lines tell of; says which.
    fn infer(&mut self) -> Vec<String> {
        let mut names = Names::of(&self.all);
        connections::add_names(&self.cluster, &self.compose, &mut names);
        self.mentions.writers().for_each(|who| names.add(who));
        let owners = owners(&self.all);
        let declared = connections::calls(&self.cluster, &self.compose, &names, &owners);
        let mut links: Vec<Link> = declared.iter().cloned().map(link).collect();
        let mut notes = Vec::new();
        if !declared.is_empty() {
            notes.push(in_words(&declared, "connection strings and names"));
        }
        links.extend(self.all.links.iter().cloned());
        let stands_for = |who| owners.get(who).copied().unwrap_or(who);
        notes.extend(self.mentions.infer(&names, stands_for, &mut links));
        self.all.links = links;
        notes
    }

    /// Puts a log line aside.
    fn put(&mut self, line: &Line) -> std::io::Result<()> {
        self.mentions.note(&line.who, &line.text);
        self.spool.put(line)
    }

    /// The latest time of anything: when the dump of a cluster was taken, about.
    fn latest(&self) -> Millis {
        let all = [
            self.cluster.latest(),
            extent(&self.all).map(|it| it.1),
            self.spool.extent().map(|it| it.1),
        ];
        all.into_iter().flatten().max().unwrap_or(0)
    }
}

/// How many records a reason speaks of, where it says so first.
fn count_of(reason: &str) -> u64 {
    let number = reason.split(' ').next().and_then(|word| word.parse().ok());
    number.unwrap_or(1)
}

impl FileAccount {
    /// What became of it, in one line.
    pub fn in_words(&self) -> String {
        let taken = self.taken.iter().map(|(what, count)| format!("{count} {what}"));
        let taken = taken.collect::<Vec<_>>().join(", ");
        let lost = match (self.lost, self.reasons.is_empty()) {
            (0, true) => String::new(),
            (0, false) => format!("; {}", self.reasons.join("; ")),
            (lost, _) => format!("; {lost} not used: {}", self.reasons.join("; ")),
        };
        let file = &self.file;
        match (self.is_understood(), self.lost) {
            (false, _) => format!("not understood: {file}: {}", self.reasons.join("; ")),
            (true, 0) => format!("taken: {file}: {}: {taken}{lost}", self.kind),
            (true, _) => format!("in part: {file}: {}: {taken}{lost}", self.kind),
        }
    }
}

/// The end of the calendar, in milliseconds since 1970: what lies past it is no time.
const LAST: Millis = 253_402_300_799_000;

/// From the first to the last record that was measured.
fn extent(all: &Piece) -> Option<(Millis, Millis)> {
    let points = all.series.iter().flat_map(|series| series.points.iter().map(|(at, _)| *at));
    let spans = all.spans.iter().map(|span| span.start / 1_000_000);
    let events = all.events.iter().map(|event| event.at);
    let alerts = all.alerts.iter().flat_map(|alert| &alert.runs).map(|run| run.last);
    let changes = all.changes.iter().map(|change| change.at);
    let lines = all.lines.iter().map(|line| line.at / 1_000_000);
    let times = points.chain(spans).chain(events).chain(alerts).chain(changes).chain(lines);
    times.filter(|at| (1..LAST).contains(at)).fold(None, |found, at| {
        let (first, last) = found.unwrap_or((at, at));
        Some((first.min(at), last.max(at)))
    })
}

#[cfg(test)]
mod tests;
