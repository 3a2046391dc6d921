//! What is recorded of a course: scrapes, samples, log lines, changes, and the alerts that follow.

mod alerts;
mod changes;
mod events;
mod gaps;
pub(super) mod gateway;
mod lines;
mod manifest;
mod relations;
mod scrape;
mod traces;
pub(super) mod whole;

use std::collections::BTreeMap;

use eog::evidence::{Peer, PeerRole, Signal};
use eog::{EntityId, EvidenceKind, Timestamp};
use eog_evidence::{BundleWriter, ChangeRecord, LogLine, Series};
use eog_simulate::Stream;
use jiff::SignedDuration;

use super::flow::{Course, STEP, State};
use super::names::Words;
use super::system::System;

struct Recorder<'a> {
    system: &'a System,
    course: &'a Course,
    start: Timestamp,
    interval: f64,
    bundle: BundleWriter,
    series: BTreeMap<(EntityId, String, Option<EntityId>), Series>,
}

/// What a scrape measures.
struct Measure<'a> {
    metric: &'a str,
    signal: Signal,
    unit: &'a str,
    peer: Option<Peer>,
}

impl<'a> Recorder<'a> {
    fn new(system: &'a System, course: &'a Course, start: Timestamp, interval: f64) -> Self {
        let bundle = BundleWriter::new(manifest::of(system));
        Self { system, course, start, interval, bundle, series: BTreeMap::new() }
    }
}

impl Recorder<'_> {
    fn at(&self, seconds: f64) -> Timestamp {
        let offset = SignedDuration::from_millis((seconds * 1_000.0) as i64);
        self.start.checked_add(offset).unwrap_or(self.start)
    }

    /// A time given in milliseconds, to the microsecond.
    fn at_micros(&self, millis: f64) -> Timestamp {
        let offset = SignedDuration::from_micros((millis * 1_000.0) as i64);
        self.start.checked_add(offset).unwrap_or(self.start)
    }

    fn name(&self, part: usize) -> &EntityId {
        &self.system.parts[part].name
    }

    fn peer(&self, part: usize, role: PeerRole) -> Option<Peer> {
        Some(Peer { entity: self.name(part).clone(), role })
    }

    fn state(&self, part: usize, seconds: f64) -> State {
        self.course.state(part, seconds)
    }

    /// The mean of something over the interval that ends at a scrape.
    fn mean(&self, part: usize, until: f64, of: impl Fn(&State) -> f64) -> f64 {
        let count = (self.interval / STEP) as usize;
        let states = (0..count).map(|back| self.state(part, until - STEP * (back + 1) as f64));
        states.map(|state| of(&state)).sum::<f64>() / count as f64
    }

    fn put(&mut self, part: usize, at: f64, measure: &Measure<'_>, value: f64) {
        let entity = self.name(part).clone();
        let peer = measure.peer.as_ref().map(|peer| peer.entity.clone());
        let at = self.at(at);
        let key = (entity.clone(), measure.metric.to_owned(), peer);
        let series = self.series.entry(key).or_insert_with(|| Series {
            entity,
            kind: EvidenceKind::Metric,
            metric: measure.metric.to_owned(),
            signal: measure.signal,
            unit: measure.unit.to_owned(),
            peer: measure.peer.clone(),
            points: Vec::new(),
        });
        // Three digits are enough for any scrape.
        series.points.push((at, (value * 1_000.0).round() / 1_000.0));
    }

    fn say(&mut self, part: usize, at: f64, level: &str, message: String, peer: Option<Peer>) {
        let line = LogLine {
            time: self.at(at),
            level: level.into(),
            message,
            signal: None,
            peer,
            trace: None,
        };
        self.bundle.logs.push((self.name(part).clone(), line));
    }

    fn put_change(&mut self, part: usize, at: f64, words: Words) {
        let Words { path, old, new, description } = words;
        let (time, entity) = (self.at(at), self.name(part).clone());
        let (signal, old, new) = (Signal::Configuration, Some(old), Some(new));
        self.bundle.changes.push(ChangeRecord {
            time,
            entity,
            signal,
            path,
            old,
            new,
            description,
        });
    }
}

/// A draw of about a standard normal distribution: the sum of twelve shares.
fn normal(draw: &mut Stream) -> f64 {
    (0..12).map(|_| draw.share()).sum::<f64>() - 6.0
}

/// A count whose mean is given: as a Poisson variable where that is large, else a draw by share.
fn counted(mean: f64, draw: &mut Stream) -> f64 {
    if mean < 4.0 {
        draw.around(mean) as f64
    } else {
        (mean + mean.sqrt() * normal(draw)).max(0.0).round()
    }
}
