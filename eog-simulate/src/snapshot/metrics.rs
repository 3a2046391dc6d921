//! Metrics: what services and pods are seen to do at intervals.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::random::Stream;

use super::cluster::Cluster;
use super::course::Course;
use super::system::Role;
use super::table::{TableFile, python};
use crate::clock::Ms;
use crate::files::FileError;

const SERVICE_COLUMNS: [&str; 9] = [
    "metric_name",
    "timestamp",
    "value",
    "service_name",
    "namespace",
    "bucket_le",
    "tags",
    "metric_type",
    "status_code",
];
const POD_COLUMNS: [&str; 6] =
    ["metric_name", "timestamp", "value", "pod_name", "namespace", "tags"];

/// Upper bounds of the buckets, in milliseconds.
const BOUNDS: [f64; 8] = [5.0, 10.0, 25.0, 50.0, 100.0, 500.0, 2_000.0, 10_000.0];

/// Counters of one service since the recording began.
#[derive(Clone, Debug, Default)]
struct Counters {
    done: u64,
    failed: u64,
    /// Cumulative, the last is of all.
    buckets: [u64; 9],
    /// Since the last scrape: for the load of the pod.
    recent: u64,
}

/// The counters of all services.
#[derive(Debug, Default)]
pub(super) struct Measured(BTreeMap<usize, Counters>);

impl Measured {
    /// Counts a request.
    pub(super) fn count(&mut self, service: usize, took: f64, failed: bool) {
        let counters = self.0.entry(service).or_default();
        if failed {
            counters.failed += 1;
        } else {
            counters.done += 1;
        }
        for (bucket, bound) in
            counters.buckets.iter_mut().zip(BOUNDS.iter().chain([&f64::INFINITY]))
        {
            *bucket += u64::from(took <= *bound);
        }
        counters.recent += 1;
    }
}

/// The metric files of a snapshot.
pub(super) struct Metrics {
    folder: PathBuf,
    services: BTreeMap<usize, TableFile>,
    pods: BTreeMap<String, TableFile>,
    processor: BTreeMap<String, f64>,
}

/// What a scrape reads.
pub(super) struct Scrape<'a> {
    pub(super) at: Ms,
    pub(super) course: &'a Course,
    pub(super) cluster: &'a Cluster<'a>,
}

impl Metrics {
    /// Begins the files in a folder that is there.
    pub(super) fn new(folder: &Path) -> Self {
        let (services, pods, processor) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { folder: folder.to_owned(), services, pods, processor }
    }

    /// Writes the values at a time.
    pub(super) fn scrape(
        &mut self,
        scrape: &Scrape<'_>,
        measured: &mut Measured,
        draw: &mut Stream,
    ) -> Result<(), FileError> {
        for at in 0..scrape.course.system.services.len() {
            if scrape.course.noise.is_gap(at, scrape.at) {
                continue;
            }
            let counters = measured.0.entry(at).or_default();
            let counted = counters.clone();
            counters.recent = 0;
            let is_measured = scrape.course.system.services[at].role == Role::Serving;
            if is_measured && counted.buckets.iter().any(|count| *count > 0) {
                self.service(scrape, at, &counted)?;
            }
            self.pod(scrape, at, &counted, draw)?;
        }
        Ok(())
    }

    fn service(
        &mut self,
        scrape: &Scrape<'_>,
        at: usize,
        counted: &Counters,
    ) -> Result<(), FileError> {
        let service = &scrape.course.system.services[at].name;
        if !self.services.contains_key(&at) {
            let path = self.folder.join(format!("service_{service}_raw.tsv"));
            self.services.insert(at, TableFile::create(&path, &SERVICE_COLUMNS)?);
        }
        let Some(file) = self.services.get_mut(&at) else { return Ok(()) };
        let time = scrape.course.clock.table(scrape.at);
        let space = &scrape.course.system.namespace;
        let tags = |status: &str, le: &str| {
            let mut tags = vec![
                ("namespace", space.as_str()),
                ("service_name", service),
                ("span_kind", "SPAN_KIND_SERVER"),
                ("span_name", "handle"),
                ("status_code", status),
            ];
            if !le.is_empty() {
                tags.push(("le", le));
            }
            python(&tags)
        };
        for (status, count) in
            [("STATUS_CODE_UNSET", counted.done), ("STATUS_CODE_ERROR", counted.failed)]
        {
            let (value, tags) = (format!("{count}.0"), tags(status, ""));
            file.row(&[
                "traces_span_metrics_calls_total",
                &time,
                &value,
                service,
                space,
                "",
                &tags,
                "error_rate",
                status,
            ])?;
        }
        for (at, count) in counted.buckets.iter().enumerate() {
            let bound = BOUNDS.get(at).map_or("+Inf".to_owned(), |bound| format!("{bound:.1}"));
            let (value, tags) = (format!("{count}.0"), tags("STATUS_CODE_UNSET", &bound));
            let name = "traces_span_metrics_duration_milliseconds_bucket";
            file.row(&[name, &time, &value, service, space, &bound, &tags, "duration_p95", ""])?;
        }
        Ok(())
    }

    fn pod(
        &mut self,
        scrape: &Scrape<'_>,
        at: usize,
        counted: &Counters,
        draw: &mut Stream,
    ) -> Result<(), FileError> {
        let hit = scrape.course.plan.hit(at, scrape.at).copied().unwrap_or_default();
        if hit.down {
            return Ok(());
        }
        let pod = scrape.cluster.pod(at, scrape.at).to_owned();
        if !self.pods.contains_key(&pod) {
            let path = self.folder.join(format!("pod_{pod}_raw.tsv"));
            self.pods.insert(pod.clone(), TableFile::create(&path, &POD_COLUMNS)?);
        }
        let busy = 0.02 + 0.002 * counted.recent as f64 + if hit.slower > 0.0 { 0.4 } else { 0.0 };
        let busy = busy * (0.8 + 0.4 * draw.share());
        let used = self.processor.entry(pod.clone()).or_default();
        *used += busy * 30.0;
        let used = *used;
        let memory = (90.0 + 10.0 * draw.share() + if hit.slower > 0.0 { 60.0 } else { 0.0 }) * 1e6;
        let ended = scrape.course.noise.restarts.iter();
        let restarts = ended.filter(|(of, when)| *of == at && *when <= scrape.at).count();
        let Some(file) = self.pods.get_mut(&pod) else { return Ok(()) };
        let time = scrape.course.clock.table(scrape.at);
        let space = &scrape.course.system.namespace;
        let container = &scrape.course.system.services[at].name;
        let tags = python(&[("container", container), ("namespace", space), ("pod", &pod)]);
        let mut row =
            |name: &str, value: String| file.row(&[name, &time, &value, &pod, space, &tags]);
        row("container_cpu_usage_seconds_total", format!("{used:.4}"))?;
        row("container_memory_working_set_bytes", format!("{memory:.0}"))?;
        row("kube_pod_container_status_restarts_total", format!("{restarts}.0"))?;
        row("container_network_receive_packets_total", format!("{}.0", counted.buckets[8] * 3))?;
        let is_queue = scrape.course.system.consumers(at).next().is_some();
        if is_queue {
            let backlog = scrape
                .course
                .plan
                .hit(at, scrape.at)
                .map_or(0.0, |hit| (scrape.at - hit.onset) as f64 / 1_000.0);
            row("consumer_group_lag", format!("{:.0}", 2.0 + 3.0 * draw.share() + backlog))?;
        }
        Ok(())
    }

    /// Closes all files; how much they hold, in bytes.
    pub(super) fn finish(self) -> Result<u64, FileError> {
        let files = self.services.into_values().chain(self.pods.into_values());
        files.map(TableFile::finish).sum()
    }
}
