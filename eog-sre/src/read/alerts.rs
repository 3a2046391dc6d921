//! Alert dumps, in any form of alerts.

use std::collections::BTreeMap;
use std::io::Read;

use eog_core::Timestamp;
use eog_evidence::shorten;
use serde_json::Value;

use super::{Folder, MAX_JSON_BYTES, MAX_TEXT, read_json};
use crate::notice::{AlertState, Notice, Notices, read_notices};
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
    /// Everything that it says about itself, where it comes from included.
    pub(crate) said: Vec<String>,
    /// `firing` or `pending`.
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

/// Reads one alert dump, in any form of alerts.
pub(crate) fn read_dump(
    file: &str,
    source: impl Read,
    records: &mut Vec<AlertRecord>,
    warnings: &mut Warnings,
) {
    let read = read_json(source).and_then(|value| Ok((read_notices(&value)?, value)));
    match read {
        Ok((notices, value)) => collect(file, &value, notices, records, warnings),
        Err(reason) => {
            // How many alerts it holds is unknown: the file counts as one record.
            warnings.unusable(file, 1, || reason.clone());
            warnings.note(format!("{file}: {reason}; the file is skipped"));
        }
    }
}

fn collect(
    file: &str,
    dump: &Value,
    mut notices: Notices,
    records: &mut Vec<AlertRecord>,
    warnings: &mut Warnings,
) {
    let inside = dump.get("timestamp").and_then(Value::as_str).and_then(time::parse);
    let seen_at = inside.or_else(|| time::from_file_name(file.rsplit('/').next().unwrap_or(file)));
    if notices.alerts.len() > MAX_ALERTS_PER_FILE {
        let more = notices.alerts.len() - MAX_ALERTS_PER_FILE;
        notices.alerts.truncate(MAX_ALERTS_PER_FILE);
        let reason = || format!("beyond the first {MAX_ALERTS_PER_FILE} alerts");
        warnings.unusable(file, more as u64, reason);
        warnings.note(format!("{file}: only the first {MAX_ALERTS_PER_FILE} alerts are used"));
    }
    let mut broken = notices.unusable;
    for (at, alert) in notices.alerts.into_iter().enumerate() {
        match alert.starts_at {
            Some(active_at) => {
                warnings.used(file, 1);
                records.push(record(file, alert, active_at, seen_at));
            }
            None => broken.push(format!("alert {}: it has no start time", at + 1)),
        }
    }
    if let Some(first) = broken.first() {
        warnings.unusable(file, broken.len() as u64, || first.clone());
        let count = broken.len();
        warnings.note(format!("{file}: {count} alerts cannot be used, the first: {first}"));
    }
}

fn record(
    file: &str,
    alert: Notice,
    active_at: Timestamp,
    seen_at: Option<Timestamp>,
) -> AlertRecord {
    let bounded = |texts: BTreeMap<String, String>| -> BTreeMap<String, String> {
        let entries = texts.into_iter().take(64);
        entries
            .map(|(key, value)| {
                let value = shorten(&mask_named(&key, &value), MAX_TEXT);
                (key, value)
            })
            .collect()
    };
    let Notice { labels, annotations, state, ends_at, value, .. } = alert;
    let (labels, annotations) = (bounded(labels), bounded(annotations));
    let description = ["description", "message", "summary"];
    let description = description.iter().find_map(|name| annotations.get(*name).cloned());
    AlertRecord {
        name: labels.get("alertname").cloned().unwrap_or_default(),
        description: description.unwrap_or_default(),
        state: if state == AlertState::Pending { "pending" } else { "firing" }.to_owned(),
        active_at,
        value,
        // One that is over was seen until then.
        seen_at: if state == AlertState::Resolved { ends_at.or(seen_at) } else { seen_at },
        file: file.to_owned(),
        labels,
        said: annotations.into_values().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_are_read_in_every_form_in_which_people_save_them() {
        let labels =
            r#""labels":{"alertname":"KubePodCrashLooping","pod":"pay-1","password":"hunter2"}"#;
        let cases = [
            format!(
                "[{{{labels},\"startsAt\":\"2026-01-01T10:00:00Z\",\"status\":{{\"state\":\"active\"}}}}]"
            ),
            format!(
                "{{\"version\":\"4\",\"groupKey\":\"g\",\"alerts\":[{{{labels},\"status\":\"firing\",\"startsAt\":\"2026-01-01T10:00:00Z\"}}]}}"
            ),
            format!(
                "{{\"version\":\"1\",\"orgId\":1,\"alerts\":[{{{labels},\"status\":\"resolved\",\"startsAt\":\"2026-01-01T10:00:00Z\",\"endsAt\":\"2026-01-01T10:09:00Z\"}}]}}"
            ),
            format!(
                "{{\"data\":{{\"alerts\":[{{{labels},\"state\":\"firing\",\"activeAt\":\"2026-01-01T10:00:00Z\",\"value\":\"1e+00\"}}]}}}}"
            ),
        ];
        for text in cases {
            let (mut records, mut warnings) = (Vec::new(), Warnings::default());
            read_dump("alerts/a.json", text.as_bytes(), &mut records, &mut warnings);
            let [record] = &records[..] else { panic!("{text}: {:?}", warnings.into_lines()) };
            assert_eq!(
                (record.name.as_str(), record.state.as_str()),
                ("KubePodCrashLooping", "firing")
            );
            assert_eq!(record.active_at, "2026-01-01T10:00:00Z".parse().unwrap());
            assert!(!format!("{record:?}").contains("hunter2"));
        }
        let (mut records, mut warnings) = (Vec::new(), Warnings::default());
        let text = format!("[{{{labels}}}, {{{labels},\"startsAt\":\"2026-01-01T10:00:00Z\"}}]");
        read_dump("a.json", text.as_bytes(), &mut records, &mut warnings);
        assert_eq!(records.len(), 1);
        let files = warnings.unusable_files();
        assert_eq!(
            (files[0].records, files[0].unusable, files[0].reason.as_str()),
            (2, 1, "alert 1: it has no start time")
        );
    }
}
