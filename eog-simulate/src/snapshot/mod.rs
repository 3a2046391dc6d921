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
mod fault;
mod manifests;
mod measure;
mod names;
mod noise;
mod plan;
mod records;
mod system;
mod table;
mod traffic;

use std::path::Path;

use eog_core::Timestamp;
use jiff::SignedDuration;
use serde::Serialize;

use crate::clock::{Clock, MINUTE, Ms, SECOND};
use crate::files::FileError;
use crate::random::RandomSeed;
use crate::scenario::Scenario;
use crate::yaml;
use cluster::Cluster;
use measure::{Measured, Metrics, Scrape};
use noise::Noise;
use plan::Plan;
use system::System;
use table::{LOG_COLUMNS, TableFile};
use traffic::{SPAN_COLUMNS, Sinks, Traffic};

/// How long the recording lasts, in minutes.
const LENGTH: Ms = 60 * MINUTE;
/// The smallest and the greatest size that can be asked for, in bytes.
pub const SIZES: std::ops::RangeInclusive<u64> = 1_000_000..=1_100_000_000;
/// Fewest requests a minute.
const MIN_RATE: f64 = 12.0;

/// What a simulation wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Written {
    /// All files together, in bytes.
    pub bytes: u64,
    /// Requests from outside.
    pub requests: u64,
    /// Whether it could not have been less: there are as few requests as make sense.
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
    seed: u64,
    size: u64,
    dir: &Path,
) -> Result<Written, FileError> {
    if !SIZES.contains(&size) {
        let reason = format!("{size} bytes were asked for; {SIZES:?} are possible");
        return Err(FileError::unusable(dir, reason));
    }
    let scenario = RandomSeed::from(seed).child(&given.name);
    let system = System::new(given, architecture, scenario)?;
    let plan = Plan::new(given, &system, LENGTH, scenario);
    let noise = Noise::new(&system, &plan, LENGTH, scenario);
    let clock = Clock(start(scenario));
    let mut cluster = Cluster::new(&system, &plan, &noise, clock, LENGTH, scenario);

    let wrong = |path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| FileError::unusable(&path, error)
    };
    std::fs::create_dir(dir).map_err(wrong(dir))?;
    for folder in ["alerts", "metrics"] {
        let folder = dir.join(folder);
        std::fs::create_dir(&folder).map_err(wrong(&folder))?;
    }
    let mut draw = scenario.stream("records");
    let mut bytes =
        alerts::write(&dir.join("alerts"), &system, &plan, &noise, &cluster, clock, LENGTH)?;
    bytes += records::events(&dir.join("k8s_events_raw.tsv"), &cluster, clock, &mut draw)?;
    bytes +=
        records::objects(&dir.join("k8s_objects_raw.tsv"), &mut cluster, &noise, clock, LENGTH)?;
    let text = yaml::write(&given.value);
    let path = dir.join("ground_truth.yaml");
    std::fs::write(&path, text).map_err(wrong(&path))?;

    let (system, plan, noise, cluster) = (&system, &plan, &noise, &cluster);
    let traffic = |purpose: &str| {
        let draw = scenario.stream(purpose);
        Traffic { system, plan, noise, cluster, clock, draw }
    };
    let left = size.saturating_sub(bytes) as f64;
    let interval = interval(left, system.services.len());
    let scraped = scrape_bytes(system.services.len()) * (LENGTH / interval) as f64;
    let mean = request_bytes(traffic("a sample"))?;
    let minutes = (LENGTH / MINUTE) as f64;
    let usual: f64 = {
        let traffic = traffic("the load");
        (0..LENGTH / MINUTE).map(|at| traffic.load(at * MINUTE)).sum::<f64>() / minutes
    };
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
        let count = traffic.draw.around(rate * traffic.load(at) * interval as f64 / MINUTE as f64);
        for number in 0..count {
            let when = at + number as Ms * interval / count as Ms;
            traffic.request(when, &mut sinks)?;
            requests += 1;
        }
        at += interval;
        let scrape = Scrape { at, system, plan, noise, cluster, clock };
        metrics.scrape(&scrape, &mut sinks.measured, &mut draw)?;
    }
    bytes += sinks.spans.finish()? + sinks.logs.finish()? + metrics.finish()?;
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

/// When the recording begins: some hour of January 2026.
fn start(seed: RandomSeed) -> Timestamp {
    let hours = seed.stream("start").below(600) as i64;
    let january = Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH);
    january.checked_add(SignedDuration::from_hours(hours)).unwrap_or(january)
}
