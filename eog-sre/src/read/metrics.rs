//! Metric files: one series for each metric and label set.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::budget::Account;
use super::tsv::Table;
use super::{Folder, MAX_TEXT, SnapshotError, bounded};
use crate::pydict;
use crate::store::{Samples, nanoseconds};
use crate::time;
use crate::warnings::Warnings;

/// Maximum number of series in a snapshot.
pub const MAX_SERIES: usize = 200_000;

/// Bytes of a point, twice, since lists that grow hold a reserve.
const POINT: usize = 2 * (8 + 8);

/// About how many bytes a series needs besides its texts, which count four times: as key, as
/// labels, as text whose labels are remembered, and for the pieces that they are cut into.
const SERIES: usize = 1_000;

/// Labels of who scraped a value and not of what it measures.
const SCRAPE_LABELS: [&str; 14] = [
    "endpoint",
    "exported_instance",
    "exported_job",
    "exported_namespace",
    "id",
    "image",
    "instance",
    "job",
    "le",
    "metrics_path",
    "otel_scope_name",
    "prometheus",
    "prometheus_replica",
    "uid",
];

/// What a series was measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Subject {
    Pod,
    Service,
}

/// One series.
#[derive(Clone, Debug)]
pub(crate) struct MetricSeries {
    pub(crate) subject: Subject,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) metric: Arc<str>,
    /// `duration_p95`, `error_rate`, or empty.
    pub(crate) metric_type: Arc<str>,
    pub(crate) status_code: Arc<str>,
    /// Upper bound of a histogram bucket.
    pub(crate) bucket: Option<f64>,
    pub(crate) labels: Arc<BTreeMap<String, String>>,
    /// Sorted by time, exact repeats taken out.
    pub(crate) points: Samples,
    pub(crate) file: Arc<str>,
}

/// The series of one file, each with the key that identifies it.
#[derive(Default)]
pub(crate) struct MetricFile {
    series: Vec<(Box<[u8]>, MetricSeries)>,
    /// Rows of series beyond [`MAX_SERIES`].
    dropped: u64,
}

/// Reads a metric file. One that lacks a column is left out with a warning, since there are many
/// and each stands alone.
pub(crate) fn read_metric_file(
    folder: &mut Folder,
    file: &str,
    max_rows: usize,
    warnings: &mut Warnings,
) -> MetricFile {
    let mut store = Store::default();
    let Some(source) = folder.open(file, warnings) else { return MetricFile::default() };
    let mut account = folder.budget().account();
    let wanted = ["metric_name", "timestamp", "value", "namespace"];
    let taken = match Table::open(file, source, &wanted, max_rows) {
        Ok(Some(mut table)) => store.take(&mut table, &mut account, warnings),
        Ok(None) => {
            warnings.note(format!("{file}: is empty"));
            Ok(())
        }
        Err(error) => Err(error),
    };
    if let Err(error) = taken {
        // Its rows are not even read: the file counts as one record.
        warnings.unusable(file, 1, || error.to_string());
        warnings.note(format!("{error}; the file is skipped"));
    }
    store.finish()
}

/// Brings the series of several files together, in the order of the files. A series that goes on
/// in another file is one series.
pub(crate) fn join_metrics(files: Vec<MetricFile>, warnings: &mut Warnings) -> Vec<MetricSeries> {
    let mut all: Vec<MetricSeries> = Vec::new();
    let mut index: HashMap<Box<[u8]>, usize> = HashMap::new();
    let mut dropped = 0;
    for file in files {
        dropped += file.dropped;
        for (key, series) in file.series {
            if let Some(known) = index.get(&key).and_then(|at| all.get_mut(*at)) {
                known.points.extend(&series.points);
            } else if all.len() >= MAX_SERIES {
                dropped += 1;
            } else {
                index.insert(key, all.len());
                all.push(series);
            }
        }
    }
    if dropped > 0 {
        warnings.note(format!("metrics: only the first {MAX_SERIES} series are used"));
    }
    for one in &mut all {
        one.points.tidy();
    }
    all
}

#[derive(Default)]
struct Store {
    series: Vec<MetricSeries>,
    /// Look-ups alone, iterated only to be put in the order of the series.
    index: HashMap<Box<[u8]>, usize>,
    labels: HashMap<String, Arc<BTreeMap<String, String>>>,
    /// Names that come up again.
    texts: HashSet<Arc<str>>,
    dropped: u64,
    /// About how many bytes there are by now.
    kept: usize,
}

impl Store {
    fn finish(self) -> MetricFile {
        let mut keys: Vec<(usize, Box<[u8]>)> =
            self.index.into_iter().map(|(key, at)| (at, key)).collect();
        keys.sort_by_key(|(at, _)| *at);
        let keys = keys.into_iter().map(|(_, key)| key);
        MetricFile { series: keys.zip(self.series).collect(), dropped: self.dropped }
    }

    fn take<R: std::io::Read>(
        &mut self,
        table: &mut Table<R>,
        account: &mut Account,
        warnings: &mut Warnings,
    ) -> Result<(), SnapshotError> {
        let (pod, service) = (table.column("pod_name"), table.column("service_name"));
        let (subject, name) = match (pod, service) {
            (Some(_), None) => (Subject::Pod, pod),
            (_, Some(_)) => (Subject::Service, service),
            (None, None) => {
                return Err(SnapshotError::MissingColumns {
                    path: table.file().to_owned(),
                    missing: "pod_name or service_name".into(),
                    wanted: "one of pod_name and service_name".into(),
                    found: "neither".into(),
                });
            }
        };
        let [metric, at, value, namespace] =
            ["metric_name", "timestamp", "value", "namespace"].map(|column| table.column(column));
        let [le, tags, kind, status] =
            ["bucket_le", "tags", "metric_type", "status_code"].map(|column| table.column(column));
        let file: Arc<str> = table.file().into();
        let mut key = Vec::new();
        while table.next_row(warnings) {
            let Some(time) = time::parse(table.unmasked(at)).and_then(nanoseconds) else {
                table.reject(
                    "the timestamp is not a time between the years 1678 and 2261",
                    warnings,
                );
                continue;
            };
            let Ok(number) = table.unmasked(value).trim().parse::<f64>() else {
                table.reject("the value is not a number", warnings);
                continue;
            };
            // What Prometheus gives where there was nothing to divide by: a gap, not a fault.
            if !number.is_finite() {
                table.pass_over("the value is not a finite number", warnings);
                continue;
            }
            let cells = [metric, name, namespace, le, tags, kind, status];
            write_key(&mut key, subject, cells.map(|at| table.unmasked(at)));
            let known = self.index.get(key.as_slice());
            if let Some(known) = known.and_then(|at| self.series.get_mut(*at)) {
                known.points.push(time, number);
                self.kept += POINT;
                if !account.holds(self.kept) {
                    return Ok(());
                }
                continue;
            }
            if self.series.len() >= MAX_SERIES {
                self.dropped += 1;
                continue;
            }
            let tags = table.unmasked(tags).to_owned();
            let [metric, name, namespace, le, kind, status] =
                [metric, name, namespace, le, kind, status].map(|at| table.cell(at));
            self.kept += SERIES + 4 * key.len();
            let labels = self.labels(&tags);
            let le =
                Some(le).filter(|le| !le.is_empty()).or_else(|| pydict::parse(&tags).remove("le"));
            let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
            let status =
                Some(status).filter(|s| !s.is_empty()).unwrap_or_else(|| label("status_code"));
            self.index.insert(key.as_slice().into(), self.series.len());
            let bucket = le.filter(|_| metric.ends_with("_bucket")).and_then(|le| bound(&le));
            let [metric, name, namespace, kind, status] =
                [metric, name, namespace, kind, status].map(|text| self.text(&bounded(text)));
            let mut points = Samples::default();
            points.push(time, number);
            self.series.push(MetricSeries {
                subject,
                namespace,
                name,
                bucket,
                metric,
                metric_type: kind,
                status_code: status,
                labels,
                points,
                file: file.clone(),
            });
            if !account.holds(self.kept) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// One shared copy of a text.
    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let shared: Arc<str> = text.into();
        self.texts.insert(shared.clone());
        shared
    }

    fn labels(&mut self, tags: &str) -> Arc<BTreeMap<String, String>> {
        if let Some(known) = self.labels.get(tags) {
            return known.clone();
        }
        let mut labels = pydict::parse(tags);
        labels.retain(|name, _| name.len() <= MAX_TEXT && !SCRAPE_LABELS.contains(&name.as_str()));
        for value in labels.values_mut() {
            *value = bounded(std::mem::take(value));
        }
        let labels = Arc::new(labels);
        if self.labels.len() < MAX_SERIES {
            self.labels.insert(tags.to_owned(), labels.clone());
        }
        labels
    }
}

/// Everything that identifies a series, with the lengths of the texts, so that no two sets of
/// texts give one key.
fn write_key(key: &mut Vec<u8>, subject: Subject, texts: [&str; 7]) {
    key.clear();
    key.push(subject as u8);
    for text in texts {
        key.extend_from_slice(&(text.len() as u64).to_le_bytes());
        key.extend_from_slice(text.as_bytes());
    }
}

fn bound(le: &str) -> Option<f64> {
    match le.trim() {
        "+Inf" | "inf" | "Inf" => Some(f64::INFINITY),
        number => number.parse().ok().filter(|bound: &f64| !bound.is_nan()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_repeats_of_a_row_count_once() {
        let directory = tempfile::tempdir().unwrap();
        let row = |value: &str| format!("m\t2026-01-01 10:00:00\t{value}\tp\tn\t{{'a': 'b'}}\n");
        let header = "metric_name\ttimestamp\tvalue\tpod_name\tnamespace\ttags\n";
        let rows = [row("1"), row("1"), row("2"), row("1"), row("nan"), row("x")].concat();
        std::fs::write(directory.path().join("pod_p_raw.tsv"), format!("{header}{rows}")).unwrap();
        let mut folder = Folder::new(directory.path()).unwrap();
        let mut warnings = Warnings::default();
        let file = read_metric_file(&mut folder, "pod_p_raw.tsv", 100, &mut warnings);
        let [series] = &join_metrics(vec![file], &mut warnings)[..] else { panic!() };
        assert_eq!(series.points.value, [1.0, 2.0]);
        let [file] = &warnings.unusable_files()[..] else { panic!("a gap is no fault") };
        assert_eq!((file.records, file.unusable), (6, 1));
        assert_eq!(file.reason, "line 7: the value is not a number");
        assert_eq!(warnings.into_lines().len(), 2);
    }
}
