//! Writes a bundle. Equal content gives equal bytes.

use std::fs;
use std::path::Path;

use eog_core::{Anomaly, Digest, EntityId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Bundle;
use super::error::BundleWriteError;
use super::files::{DataFile, EVENTS, LOGS, METRICS, SPANS, peer_fields, word};
use super::intake::Intake;
use super::manifest::{ChangeRecord, Manifest};
use super::table::{Complaints, Tally};
use super::without_secrets;
use crate::events::EventRecord;
use crate::logs::LogLine;
use crate::mask::{MASK, mask_text, masked};
use crate::series::Series;
use crate::spans::SpanRecord;

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
        put_table(dir, &SPANS, &self.span_rows())
    }

    /// The same, with checksums of all files in the manifest, for what nobody is to change by hand. The manifest
    /// is written last.
    ///
    /// # Errors
    /// As for [`BundleWriter::write`].
    pub fn write_checked(&self, dir: &Path) -> Result<(), BundleWriteError> {
        self.write(dir)?;
        let mut manifest = self.manifest.clone();
        for name in Bundle::FILES.into_iter().filter(|name| *name != "bundle.json") {
            let path = dir.join(name);
            match fs::read(&path) {
                Ok(bytes) => drop(manifest.checksums.insert(name.into(), Digest::of_bytes(&bytes))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(&path, error)),
            }
        }
        put_json(&dir.join("bundle.json"), &manifest)
    }

    /// The bundle that reading the written files would give.
    pub fn to_bundle(&self) -> Bundle {
        let mut intake = Intake::default();
        self.metrics.iter().for_each(|series| intake.points(&without_secrets::series(series)));
        self.events.iter().for_each(|event| intake.event(without_secrets::event(event)));
        for (entity, line) in &self.logs {
            intake.log(&without_secrets::entity(entity), &without_secrets::line(line));
        }
        self.spans.iter().for_each(|span| intake.span(without_secrets::span(span)));
        let mut complaints = Complaints::default();
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
        tally.tell("alerts.json", &mut complaints);
        Bundle::assemble(manifest, alerts, &self.changes, intake, complaints)
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
    // Of the columns that few files have, those that nothing fills are not written.
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
