//! Simulated incidents: complete snapshots in the ITBench layout, made from a ground truth.
//!
//! [`simulate`] writes alerts, events, object dumps, traces, logs and metrics of one incident: the
//! truth's fault is done to its root cause, and what follows spreads along the truth's chain, among
//! much that has nothing to do with it.
//!
//! Nothing depends on the names of a truth. Names are made from its filters; what the fault is
//! follows from the kind of the root cause and from general words (image, quota, replicas, …).
//! Equal inputs and seeds give equal bytes.

mod alerts;
mod cluster;
mod course;
mod fault;
mod manifests;
mod metrics;
mod names;
mod noise;
mod plan;
mod records;
mod system;
mod table;
mod traffic;

use std::path::Path;

use serde::Serialize;

use crate::clock::{LENGTH, MINUTE, Ms, SECOND};
use crate::files::FileError;
use crate::random::{RandomSeed, Stream};
use crate::scenario::Scenario;
use crate::yaml;
use cluster::Cluster;
use course::Course;
use metrics::{Measured, Metrics, Scrape};
use table::{LOG_COLUMNS, TableFile};
use traffic::{SPAN_COLUMNS, Sinks, Traffic};

/// The smallest and the greatest size that can be asked for, in bytes.
pub const SIZES: std::ops::RangeInclusive<u64> = 1_000_000..=1_100_000_000;
/// Fewest requests a minute.
const MIN_RATE: f64 = 12.0;

/// Harmless changes of a recording: rollouts that change nothing that matters, and edits of
/// ConfigMaps. They happen to all services but the root cause, also on the path of the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Harmless {
    /// How many there are an hour on average. They are a Poisson process over the recording and the
    /// services: every moment is as likely as any other.
    pub per_hour: u32,
    /// How many more there are between the first harm and the first alert, every other one in the
    /// last 45 seconds before the alert.
    pub decoys: u32,
}

impl Default for Harmless {
    fn default() -> Self {
        Self { per_hour: 8, decoys: 1 }
    }
}

/// What a simulation wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Written {
    /// All files together, in bytes.
    pub bytes: u64,
    /// Requests from outside.
    pub requests: u64,
    /// Whether the snapshot could not have been smaller: it contains the fewest requests that make
    /// sense.
    pub is_least: bool,
}

/// Writes the snapshot of an incident with this truth into a new folder, with its
/// `ground_truth.yaml`. `size` is about how many bytes it will have; below some 8 to 14 MB the object
/// dumps and the fewest requests that make sense decide.
///
/// # Errors
/// [`FileError`] when the architecture cannot be used, the size is out of [`SIZES`], the folder
/// exists, or cannot be written.
pub fn simulate(
    given: &Scenario,
    architecture: &Path,
    harmless: Harmless,
    seed: u64,
    size: u64,
    dir: &Path,
) -> Result<Written, FileError> {
    if !SIZES.contains(&size) {
        let (least, most) = (SIZES.start(), SIZES.end());
        let reason =
            format!("{size} bytes were requested; the size must be {least} to {most} bytes");
        return Err(FileError::unusable(dir, reason));
    }
    let seed = RandomSeed::from(seed).child(&given.name);
    let course = Course::new(given, architecture, harmless, seed)?;
    let mut cluster = Cluster::new(&course, seed);
    for folder in [dir.to_owned(), dir.join("alerts"), dir.join("metrics")] {
        std::fs::create_dir(&folder).map_err(|error| FileError::unusable(&folder, error))?;
    }
    let mut draw = seed.stream("records");
    let alerts = alerts::write(&dir.join("alerts"), &course, &cluster)?;
    let path = dir.join("k8s_events_raw.tsv");
    let events = records::events(&path, &cluster, course.clock, &mut draw)?;
    let objects = records::objects(&dir.join("k8s_objects_raw.tsv"), &mut cluster, &course)?;
    let path = dir.join("ground_truth.yaml");
    std::fs::write(&path, yaml::write(&given.value))
        .map_err(|error| FileError::unusable(&path, error))?;
    let written = alerts + events + objects;
    let left = size.saturating_sub(written) as f64;
    let telemetry = telemetry(dir, &course, &cluster, left, seed, &mut draw)?;
    Ok(Written { bytes: written + telemetry.bytes, ..telemetry })
}

/// Writes traces, logs and metrics of about `left` bytes.
fn telemetry(
    dir: &Path,
    course: &Course,
    cluster: &Cluster<'_>,
    left: f64,
    seed: RandomSeed,
    draw: &mut Stream,
) -> Result<Written, FileError> {
    let traffic = |purpose: &str| Traffic { course, cluster, draw: seed.stream(purpose) };
    let services = course.system.services.len();
    let interval = interval(left, services);
    let scraped = scrape_bytes(services) * (LENGTH / interval) as f64;
    let mean = request_bytes(traffic("a sample"))?;
    let minutes = (LENGTH / MINUTE) as f64;
    let usual = (0..LENGTH / MINUTE).map(|at| course.load(at * MINUTE)).sum::<f64>() / minutes;
    let wanted = (left - scraped) / mean / minutes / usual;
    let rate = wanted.max(MIN_RATE);

    let mut sinks = Sinks {
        spans: TableFile::create(&dir.join("otel_traces_raw.tsv"), &SPAN_COLUMNS)?,
        logs: TableFile::create(&dir.join("otel_logs_raw.tsv"), &LOG_COLUMNS)?,
        measured: Measured::default(),
    };
    let mut metrics = Metrics::new(&dir.join("metrics"));
    let mut traffic = traffic("requests");
    let mut requests = 0;
    let mut at: Ms = 0;
    while at < LENGTH {
        let count = traffic.draw.around(rate * course.load(at) * interval as f64 / MINUTE as f64);
        for number in 0..count {
            let when = at + number as Ms * interval / count as Ms;
            traffic.request(when, &mut sinks)?;
            requests += 1;
        }
        at += interval;
        metrics.scrape(&Scrape { at, course, cluster }, &mut sinks.measured, draw)?;
    }
    let bytes = sinks.spans.finish()? + sinks.logs.finish()? + metrics.finish()?;
    Ok(Written { bytes, requests, is_least: wanted <= MIN_RATE })
}

/// Time between two scrapes: short where there is much to write.
fn interval(left: f64, services: usize) -> Ms {
    let choices = [5, 10, 15, 30, 60];
    let fits = |seconds: &&Ms| {
        scrape_bytes(services) * (LENGTH / (**seconds * SECOND)) as f64 <= 0.4 * left
    };
    choices.iter().find(fits).copied().unwrap_or(60) * SECOND
}

/// What one scrape of all services takes, roughly.
fn scrape_bytes(services: usize) -> f64 {
    3_600.0 * services as f64
}

/// What a request leaves in traces and logs on average, in bytes.
fn request_bytes(mut traffic: Traffic<'_>) -> Result<f64, FileError> {
    const SAMPLE: u64 = 100;
    let mut sinks = Sinks {
        spans: TableFile::nowhere(&SPAN_COLUMNS)?,
        logs: TableFile::nowhere(&LOG_COLUMNS)?,
        measured: Measured::default(),
    };
    for number in 0..SAMPLE {
        traffic.request(LENGTH / SAMPLE as Ms * number as Ms, &mut sinks)?;
    }
    Ok((sinks.spans.bytes() + sinks.logs.bytes()) as f64 / SAMPLE as f64)
}
