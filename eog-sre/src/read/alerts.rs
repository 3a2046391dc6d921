//! Alert dumps: a bare array, or the answer of an alert manager's interface.

use std::collections::BTreeMap;
use std::io::Read;

use eog_core::Timestamp;
use eog_evidence::shorten;
use serde_json::Value;

use super::{Folder, MAX_JSON_BYTES, MAX_TEXT, read_json};
use crate::time;
use crate::warnings::Warnings;
use eog_evidence::mask_named;

/// Most alerts used of one file.
pub(crate) const MAX_ALERTS_PER_FILE: usize = 20_000;

/// One alert in one dump.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AlertRecord {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) description: String,
    pub(crate) state: String,
    pub(crate) active_at: Timestamp,
    pub(crate) value: Option<f64>,
    /// When the dump was taken, if its name or content says so.
    pub(crate) seen_at: Option<Timestamp>,
    pub(crate) file: String,
}

impl AlertRecord {
    pub(crate) fn label(&self, name: &str) -> &str {
        self.labels.get(name).map(String::as_str).unwrap_or_default()
    }
}

/// About how many times its text an alert needs as a tree and as a record.
const TREE: usize = 4;

/// Reads every alert dump. Files that hold something else are left out with a warning.
pub(crate) fn read_alerts(
    folder: &mut Folder,
    files: &[String],
    warnings: &mut Warnings,
) -> Vec<AlertRecord> {
    let mut records = Vec::new();
    let mut account = folder.budget().account();
    let mut kept = 0;
    for file in files {
        let size = folder.size(file).min(MAX_JSON_BYTES);
        kept += usize::try_from(size).unwrap_or(usize::MAX).saturating_mul(TREE);
        if !account.holds(kept) {
            return Vec::new();
        }
        let Some(source) = folder.open(file, warnings) else { continue };
        read_dump(file, source, &mut records, warnings);
    }
    records
}

/// Reads one alert dump.
pub(crate) fn read_dump(
    file: &str,
    source: impl Read,
    records: &mut Vec<AlertRecord>,
    warnings: &mut Warnings,
) {
    match read_json(source) {
        Ok(value) => match list(&value) {
            Some(alerts) => collect(file, &value, alerts, records, warnings),
            None => warnings.note(format!("{file}: no list of alerts; the file is skipped")),
        },
        Err(reason) => {
            // How many alerts it holds cannot be told: the file counts as one record.
            warnings.unusable(file, 1, || reason.clone());
            warnings.note(format!("{file}: {reason}; the file is skipped"));
        }
    }
}

/// The alerts in either form, or nothing when the file is about something else.
fn list(value: &Value) -> Option<&Vec<Value>> {
    let alerts = match value {
        Value::Array(alerts) => alerts,
        other => other.pointer("/data/alerts").or_else(|| other.get("alerts"))?.as_array()?,
    };
    let is_alert = |alert: &Value| alert.pointer("/labels/alertname").is_some();
    (alerts.is_empty() || alerts.iter().any(is_alert)).then_some(alerts)
}

fn collect(
    file: &str,
    dump: &Value,
    alerts: &[Value],
    records: &mut Vec<AlertRecord>,
    warnings: &mut Warnings,
) {
    let inside = dump.get("timestamp").and_then(Value::as_str).and_then(time::parse);
    let seen_at = inside.or_else(|| time::from_file_name(file.rsplit('/').next().unwrap_or(file)));
    if alerts.len() > MAX_ALERTS_PER_FILE {
        warnings.note(format!("{file}: only the first {MAX_ALERTS_PER_FILE} alerts are used"));
    }
    let mut broken = 0_usize;
    for (index, alert) in alerts.iter().take(MAX_ALERTS_PER_FILE).enumerate() {
        match record(file, alert, seen_at) {
            Some(record) => {
                warnings.used(file, 1);
                records.push(record);
            }
            None => {
                broken += 1;
                let number = index + 1;
                let told = || format!("alert {number}: it has no name or no start time");
                warnings.unusable(file, 1, told);
            }
        }
    }
    if broken > 0 {
        warnings.note(format!("{file}: {broken} alerts without a name or start time are skipped"));
    }
}

fn record(file: &str, alert: &Value, seen_at: Option<Timestamp>) -> Option<AlertRecord> {
    let texts = |field: &str| -> BTreeMap<String, String> {
        let map = alert.get(field).and_then(Value::as_object);
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let entries = map.into_iter().flatten().take(64);
        entries
            .map(|(key, value)| (key.clone(), shorten(&mask_named(key, &text(value)), MAX_TEXT)))
            .collect()
    };
    let labels = texts("labels");
    let annotations = texts("annotations");
    let active_at = time::parse(alert.get("activeAt")?.as_str()?)?;
    let value = match alert.get("value") {
        Some(Value::String(text)) => text.parse().ok(),
        Some(number) => number.as_f64(),
        None => None,
    };
    let description = ["description", "message", "summary"];
    let description = description.iter().find_map(|name| annotations.get(*name).cloned());
    let state =
        alert.get("state").and_then(Value::as_str).or(labels.get("alertstate").map(String::as_str));
    Some(AlertRecord {
        name: labels.get("alertname").filter(|name| !name.trim().is_empty())?.trim().to_owned(),
        description: description.unwrap_or_default(),
        state: state.unwrap_or("firing").to_lowercase(),
        active_at,
        value,
        seen_at,
        file: file.to_owned(),
        labels,
    })
}
