//! Incidents of machines that a seed makes up: variables of a controller, recorded when they change.
//!
//! A machine is stations that work in chains of steps (command, drive, feedback, interlock), utilities
//! that a controller with two limits keeps up, modes, programs, counters, notices, and variables that
//! move by themselves (`plant`). Its logic is evaluated as a controller does (`run`). A fault begins
//! at one variable (`fault`); alarms follow from the logic: a step that takes too long, a feedback that
//! is not what it was moved to, a value outside its limits. Nothing here knows the rules of any policy.

mod fault;
mod plant;
mod run;

use std::collections::BTreeMap;

use eog::incident::EffectDirection;
use eog::{Anomaly, EvidenceKind, Timestamp, Window};
use eog_evidence::{BundleWriter, EventRecord, Manifest, ManifestEdge, Series};
use eog_simulate::{RandomSeed, Stream};

use crate::generated::Generated;
use crate::suite::Truth;
use fault::Fault;
use plant::{Place, Plant};
use run::{Course, Setting, run};

/// When the first recording begins, in seconds since 1970.
const EPOCH: i64 = 1_774_000_800;

/// The incident of one attempt, if its fault raises an alarm after it began.
pub(crate) fn incident(seed: RandomSeed) -> Option<Generated> {
    let mut draw = seed.stream("machine");
    let plant = plant::draw(&mut draw);
    let pace = |draw: &mut Stream| 0.6 + 0.1 * draw.between(0, 6) as f64;
    let snapshot = draw.chance(0.7);
    let poll = if draw.chance(0.3) { 0.25 * draw.between(1, 4) as f64 } else { 0.0 };
    let setting = |seconds: f64, draw: &mut Stream| Setting {
        seconds,
        pace: pace(draw),
        program: draw.between(1, 6),
        snapshot,
        after_alarm: 5.0 + 40.0 * draw.share(),
    };
    // One in eight has no baseline of other runs: the same run before the window has to do.
    let alone = draw.chance(0.125);
    let runs = if alone { 0 } else { draw.between(1, 4) };
    let mut offset = 0.0;
    let mut parts: Vec<(f64, Course)> = Vec::new();
    for _ in 0..runs {
        let seconds = 200.0 + 1_200.0 * draw.share();
        let course = run(&plant, setting(seconds, &mut draw), None, &mut draw);
        // A normal time has no alarm.
        if !course.alarms.is_empty() {
            return None;
        }
        let length = course.seconds;
        parts.push((offset, course));
        offset += length + 600.0 + 20_000.0 * draw.share();
    }
    let before = if alone { 900.0 } else { 0.0 };
    let at = before + 60.0 + 400.0 * draw.share();
    let fault = Fault::draw(&plant, at, &mut draw);
    let course = run(&plant, setting(at + 400.0, &mut draw), Some(fault), &mut draw);
    let first = course.alarms.first()?.1;
    if first < at {
        return None;
    }
    let (begin, end) = (offset + before, offset + course.seconds);
    let mut course = course;
    if poll > 0.0 {
        // A recorder that asks at intervals tells no order within one.
        for (_, at, _) in &mut course.records {
            *at = (*at / poll).ceil() * poll;
        }
        for (_, at) in &mut course.alarms {
            *at = (*at / poll).ceil() * poll;
        }
        for (_, part) in &mut parts {
            for (_, at, _) in &mut part.records {
                *at = (*at / poll).ceil() * poll;
            }
        }
    }
    parts.push((offset, course));

    let (cause, group) = fault.cause(&plant);
    if plant.variables[cause].hidden {
        return None;
    }
    // An alarm that nothing known leads to cannot be explained.
    if !leads_to(&plant, cause, parts.last()?.1.alarms.first()?.0) {
        return None;
    }
    let mut manifest = Manifest::new("machine".to_owned());
    manifest.window = Window::new(time(begin), time(end)).ok();
    let baselines = parts.iter().take(runs as usize);
    let baselines =
        baselines.map(|(offset, course)| Window::new(time(*offset), time(offset + course.seconds)));
    manifest.baseline = baselines.filter_map(Result::ok).collect();
    manifest.topology.entities = plant.variables.iter().map(|one| one.name.clone()).collect();
    manifest.topology.edges = edges(&plant);
    let mut bundle = BundleWriter::new(manifest);
    bundle.alerts = alerts(&plant, &parts);
    record(&plant, &parts, &mut bundle);
    let truth = Truth {
        causes: [plant.variables[cause].name.clone()].into(),
        group: group.to_owned(),
        without_change: true,
        ..Truth::default()
    };
    Some(Generated { bundle, truth })
}

/// Whether effects lead from one variable to another over known edges.
fn leads_to(plant: &Plant, from: Place, to: Place) -> bool {
    let mut reached = std::collections::BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        let next =
            plant.edges.iter().filter(|(source, _)| *source == at).map(|(_, target)| *target);
        open.extend(next.filter(|target| reached.insert(*target)));
    }
    reached.contains(&to)
}

fn edges(plant: &Plant) -> Vec<ManifestEdge> {
    let edge = |(from, to): &(Place, Place)| ManifestEdge {
        source: plant.variables[*from].name.clone(),
        target: plant.variables[*to].name.clone(),
        relation: "acts_on".into(),
        effects: EffectDirection::SourceToTarget,
    };
    plant.edges.iter().map(edge).collect()
}

fn alerts(plant: &Plant, parts: &[(f64, Course)]) -> Vec<Anomaly> {
    let raised = parts.iter().flat_map(|(offset, course)| {
        course.alarms.iter().map(move |(place, at)| (*place, offset + at))
    });
    let alert = |(place, at): (Place, f64)| {
        let variable = &plant.variables[place];
        Anomaly {
            name: format!("alarm of {}", variable.name),
            entity: variable.name.clone(),
            signal: variable.signal,
            onset: time(at),
            renewed: Vec::new(),
            last_seen: None,
            severity: String::new(),
            description: String::new(),
        }
    };
    raised.map(alert).collect()
}

fn record(plant: &Plant, parts: &[(f64, Course)], bundle: &mut BundleWriter) {
    let mut series: BTreeMap<Place, Vec<(Timestamp, f64)>> = BTreeMap::new();
    for (offset, course) in parts {
        for (place, at, value) in &course.records {
            let variable = &plant.variables[*place];
            let at = time(offset + at);
            if variable.hidden {
                continue;
            }
            if variable.as_events {
                bundle.events.push(EventRecord {
                    time: at,
                    entity: variable.name.clone(),
                    reason: format!("{} {value}", variable.metric),
                    signal: variable.signal,
                    message: String::new(),
                    peer: None,
                });
            } else {
                series.entry(*place).or_default().push((at, *value));
            }
        }
    }
    bundle.metrics = series
        .into_iter()
        .map(|(place, points)| {
            let variable = &plant.variables[place];
            Series {
                entity: variable.name.clone(),
                kind: EvidenceKind::Metric,
                metric: variable.metric.to_owned(),
                signal: variable.signal,
                unit: String::new(),
                peer: None,
                points,
            }
        })
        .collect();
}

fn time(second: f64) -> Timestamp {
    let millis = EPOCH * 1_000 + (second * 1_000.0).round() as i64;
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
}
