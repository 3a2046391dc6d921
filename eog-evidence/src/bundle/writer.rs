//! Writes a bundle. Equal content gives equal bytes.

use std::fs;
use std::io;
use std::path::Path;

use eog_core::{Anomaly, Digest, EntityId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Bundle;
use super::error::{BundleError, BundleWriteError};
use super::files::{DATA_FILES, DataFile, EVENTS, LOGS, METRICS, SPANS, STATES, peer_fields, word};
use super::intake::Intake;
use super::limits::MAX_ROWS;
use super::manifest::{BUNDLE_FORMAT, BUNDLE_VERSION, ChangeRecord, Manifest};
use super::table::{Complaints, Row, Tally, read_rows};
use crate::events::EventRecord;
use crate::logs::LogLine;
use crate::mask::{MASK, mask_text, masked};
use crate::series::Series;
use crate::spans::SpanRecord;
use crate::states::StateRecord;

/// The content of a bundle to be written, or used without a directory.
///
/// ```
/// use eog_evidence::{Bundle, BundleWriter, Manifest};
/// let dir = tempfile::tempdir()?;
/// let writer = BundleWriter::new(Manifest::new("quiet night"));
/// writer.write(dir.path())?;
/// assert_eq!(Bundle::read(dir.path())?, writer.to_bundle());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BundleWriter {
    /// The manifest.
    pub manifest: Manifest,
    /// Alerts, for `alerts.json`.
    pub alerts: Vec<Anomaly>,
    /// Changes, for `changes.json`.
    pub changes: Vec<ChangeRecord>,
    /// Series, for `metrics.csv`.
    pub metrics: Vec<Series>,
    /// Events, for `events.csv`.
    pub events: Vec<EventRecord>,
    /// Log lines with their entity, for `logs.csv`.
    pub logs: Vec<(EntityId, LogLine)>,
    /// Spans, for `spans.csv`.
    pub spans: Vec<SpanRecord>,
    /// States of objects, for `states.csv`.
    pub states: Vec<StateRecord>,
}

impl BundleWriter {
    /// A bundle that holds nothing but a manifest.
    pub fn new(manifest: Manifest) -> Self {
        Self {
            manifest,
            alerts: Vec::new(),
            changes: Vec::new(),
            metrics: Vec::new(),
            events: Vec::new(),
            logs: Vec::new(),
            spans: Vec::new(),
            states: Vec::new(),
        }
    }

    /// Writes the files into a directory, which is made if it is not there. Files of the same
    /// name are replaced; an empty list gives no file and removes an old one.
    ///
    /// # Errors
    /// [`BundleWriteError`] names the file that could not be written.
    pub fn write(&self, dir: &Path) -> Result<(), BundleWriteError> {
        let Self { manifest, alerts, changes, .. } = self;
        fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
        put_json(&dir.join("bundle.json"), manifest)?;
        put_list(&dir.join("alerts.json"), alerts)?;
        let changes: Vec<ChangeRecord> = changes.iter().map(ChangeRecord::masked).collect();
        put_list(&dir.join("changes.json"), &changes)?;
        put_table(dir, &METRICS, &self.metric_rows())?;
        put_table(dir, &EVENTS, &self.event_rows())?;
        put_table(dir, &LOGS, &self.log_rows())?;
        put_table(dir, &SPANS, &self.span_rows())?;
        put_table(dir, &STATES, &self.state_rows())
    }

    /// The same, with checksums of all files in the manifest, for files that are not to be changed by hand. The manifest
    /// is written last.
    ///
    /// # Errors
    /// As for [`BundleWriter::write`].
    pub fn write_checked(&self, dir: &Path) -> Result<(), BundleWriteError> {
        self.write(dir)?;
        Self::add_checksums(dir)
    }

    /// Writes the manifest in a directory again, with checksums of all files of a bundle that are there.
    ///
    /// # Errors
    /// [`BundleWriteError`] names the file that could not be read or written.
    pub fn add_checksums(dir: &Path) -> Result<(), BundleWriteError> {
        let path = dir.join("bundle.json");
        let text = fs::read(&path).map_err(|error| failed(&path, error))?;
        let mut manifest: Manifest =
            serde_json::from_slice(&text).map_err(|error| failed(&path, error))?;
        for name in Bundle::FILES.into_iter().filter(|name| *name != "bundle.json") {
            let path = dir.join(name);
            match fs::read(&path) {
                Ok(bytes) => drop(manifest.checksums.insert(name.into(), Digest::of_bytes(&bytes))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(&path, error)),
            }
        }
        put_json(&path, &manifest)
    }

    /// The bundle that reading the written files would give, of content that a reader finds nothing wrong with: where
    /// [`Bundle::of`] refuses it, one without telemetry that says why.
    pub fn to_bundle(&self) -> Bundle {
        Bundle::of(self).unwrap_or_else(|error| {
            let mut complaints = Complaints::default();
            complaints.warnings.push(error.to_string());
            self.assemble(Intake::default(), complaints)
        })
    }

    fn assemble(&self, intake: Intake, mut complaints: Complaints) -> Bundle {
        let (manifest, alerts) = self.masked_parts(&mut complaints);
        Bundle::assemble(manifest, alerts, &self.changes, intake, complaints)
    }

    /// The manifest and the alerts without secrets.
    fn masked_parts(&self, complaints: &mut Complaints) -> (Manifest, Vec<Anomaly>) {
        let manifest = masked(&self.manifest).unwrap_or_else(|error| {
            complaints.warnings.push(format!("bundle.json: {error}"));
            Manifest::new(MASK)
        });
        let mut tally = Tally::default();
        let mut alerts = Vec::new();
        for alert in &self.alerts {
            match masked(alert) {
                Ok(alert) => alerts.push(alert),
                Err(error) => tally.unusable(&error.to_string()),
            }
        }
        tally.report("alerts.json", complaints);
        (manifest, alerts)
    }

    fn metric_rows(&self) -> Vec<Vec<String>> {
        let row = |series: &Series, (at, value): &(_, f64)| {
            let [peer, role] = peer_fields(series.peer.as_ref());
            vec![
                jiff::Timestamp::to_string(at),
                series.entity.to_string(),
                series.metric.clone(),
                value.to_string(),
                series.unit.clone(),
                word(&series.signal),
                peer,
                role,
            ]
        };
        self.metrics
            .iter()
            .flat_map(|series| series.points.iter().map(move |point| row(series, point)))
            .collect()
    }

    fn state_rows(&self) -> Vec<Vec<String>> {
        let row = |record: &StateRecord| {
            vec![
                record.time.to_string(),
                record.entity.to_string(),
                word(&record.state),
                record.reason.clone(),
            ]
        };
        self.states.iter().map(row).collect()
    }

    /// The rows of one of the data files.
    fn rows(&self, file: &DataFile) -> Vec<Vec<String>> {
        match file.name {
            name if name == METRICS.name => self.metric_rows(),
            name if name == EVENTS.name => self.event_rows(),
            name if name == LOGS.name => self.log_rows(),
            name if name == SPANS.name => self.span_rows(),
            _ => self.state_rows(),
        }
    }

    fn event_rows(&self) -> Vec<Vec<String>> {
        let row = |event: &EventRecord| {
            let [peer, role] = peer_fields(event.peer.as_ref());
            vec![
                event.time.to_string(),
                event.entity.to_string(),
                event.reason.clone(),
                word(&event.signal),
                event.message.clone(),
                peer,
                role,
            ]
        };
        self.events.iter().map(row).collect()
    }

    fn log_rows(&self) -> Vec<Vec<String>> {
        let row = |(entity, line): &(EntityId, LogLine)| {
            let [peer, role] = peer_fields(line.peer.as_ref());
            vec![
                line.time.to_string(),
                entity.to_string(),
                line.level.clone(),
                line.message.clone(),
                line.signal.as_ref().map_or_else(String::new, word),
                peer,
                role,
                line.trace.clone().unwrap_or_default(),
            ]
        };
        self.logs.iter().map(row).collect()
    }

    fn span_rows(&self) -> Vec<Vec<String>> {
        let row = |span: &SpanRecord| {
            let [peer, role] = peer_fields(span.peer.as_ref());
            let ids = span.ids.clone();
            let [trace, id, parent] = ids
                .map(|ids| [ids.trace, ids.span, ids.parent.unwrap_or_default()])
                .unwrap_or_default();
            vec![
                span.time.to_string(),
                span.entity.to_string(),
                span.duration_ms.to_string(),
                match span.failed {
                    Some(true) => "error",
                    Some(false) => "ok",
                    None => "unknown",
                }
                .to_owned(),
                peer,
                role,
                span.operation.clone().unwrap_or_default(),
                trace,
                id,
                parent,
            ]
        };
        self.spans.iter().map(row).collect()
    }
}

impl Bundle {
    /// A bundle from rows and series of a program, with the same checks as one from a folder: records of no use are skipped
    /// and counted in [`Incident::unusable`](crate::Incident::unusable), and bounds hold. `baseline_from` names folders, and
    /// is not followed here.
    ///
    /// ```
    /// use eog_core::{EntityId, evidence::Signal};
    /// use eog_evidence::{Bundle, BundleWriter, EventRecord, Manifest};
    /// let mut rows = BundleWriter::new(Manifest::new("from a program"));
    /// rows.events.push(EventRecord {
    ///     time: "2026-01-01T10:00:00Z".parse()?,
    ///     entity: EntityId::new("cart")?,
    ///     reason: "Killed".into(),
    ///     signal: Signal::Availability,
    ///     message: String::new(),
    ///     peer: None,
    /// });
    /// assert_eq!(Bundle::of(&rows)?.events().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BundleError`] when the manifest is of another format or version, or a bound is passed. Files in it are named as
    /// they would be in a folder.
    pub fn of(rows: &BundleWriter) -> Result<Self, BundleError> {
        let Manifest { format, version, .. } = &rows.manifest;
        if format != BUNDLE_FORMAT || *version != BUNDLE_VERSION {
            let (file, version) = ("bundle.json".into(), u64::from(*version));
            return Err(BundleError::Unsupported { file, format: format.clone(), version });
        }
        for (name, count) in
            [("alerts.json", rows.alerts.len()), ("changes.json", rows.changes.len())]
        {
            if count > MAX_ROWS {
                return Err(BundleError::TooManyRows { file: name.into(), limit: MAX_ROWS });
            }
        }
        let (mut intake, mut complaints) = (Intake::default(), Complaints::default());
        for file in DATA_FILES {
            let all = rows.rows(&file);
            if all.is_empty() {
                continue;
            }
            let path = Path::new(file.name);
            let text = as_csv(&file, &all)
                .map_err(|source| BundleError::Unreadable { file: path.into(), source })?;
            let take = |row: &Row<'_>| (file.take)(row, &mut intake);
            read_rows(path, text.as_slice(), file.columns, &mut complaints, take)?;
        }
        Ok(rows.assemble(intake, complaints))
    }
}

fn as_csv(file: &DataFile, rows: &[Vec<String>]) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(file.columns.all())?;
    for row in rows {
        writer.write_record(row)?;
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error)
}

fn put_list<T: Clone + Serialize + DeserializeOwned>(
    path: &Path,
    list: &[T],
) -> Result<(), BundleWriteError> {
    if list.is_empty() { remove(path) } else { put_json(path, &list.to_vec()) }
}

fn put_json<T: Serialize + DeserializeOwned>(
    path: &Path,
    value: &T,
) -> Result<(), BundleWriteError> {
    let text = masked(value).and_then(|value| serde_json::to_vec_pretty(&value));
    let mut text = text.map_err(|error| failed(path, error))?;
    text.push(b'\n');
    fs::write(path, text).map_err(|error| failed(path, error))
}

fn put_table(dir: &Path, file: &DataFile, rows: &[Vec<String>]) -> Result<(), BundleWriteError> {
    let path = dir.join(file.name);
    if rows.is_empty() {
        return remove(&path);
    }
    let mut writer = csv::Writer::from_path(&path).map_err(|error| failed(&path, error))?;
    // Columns that few files have are not written if nothing fills them.
    let all: Vec<&str> = file.columns.all().collect();
    let filled =
        |place: usize| rows.iter().any(|row| row.get(place).is_some_and(|f| !f.is_empty()));
    let is_written: Vec<bool> = all
        .iter()
        .enumerate()
        .map(|(place, name)| !file.columns.rare.contains(name) || filled(place))
        .collect();
    let kept = |place: &usize| is_written.get(*place).copied().unwrap_or(false);
    let header = all.iter().enumerate().filter(|(place, _)| kept(place)).map(|(_, name)| name);
    writer.write_record(header).map_err(|error| failed(&path, error))?;
    for row in rows {
        let fields = row.iter().enumerate().filter(|(place, _)| kept(place));
        let fields = fields.map(|(_, field)| mask_text(field));
        writer.write_record(fields).map_err(|error| failed(&path, error))?;
    }
    writer.flush().map_err(|error| failed(&path, error))
}

fn remove(path: &Path) -> Result<(), BundleWriteError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(path, error)),
        _ => Ok(()),
    }
}

fn failed(path: &Path, error: impl std::fmt::Display) -> BundleWriteError {
    BundleWriteError { file: path.to_owned(), reason: error.to_string() }
}
