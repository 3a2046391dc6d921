//! A machine of about a hundred variables, recorded when they change: switches, states and levels
//! in a cyclic graph of what influences what, and alarms.

use std::collections::{BTreeMap, BTreeSet};

use eog::evidence::Signal;
use eog::incident::EffectDirection;
use eog::{Anomaly, EntityId, EvidenceKind, Timestamp, Window};
use eog_eval::suite::Truth;
use eog_evidence::{BundleWriter, EventRecord, Manifest, ManifestEdge, Series};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Seconds of normal operation, and of the window.
const BASELINE: i64 = 7200;
const WINDOW: i64 = 600;

#[derive(Clone, Copy, PartialEq)]
enum Variable {
    /// On or off, recorded as 0 and 1.
    Switch,
    /// One of a few named states, recorded as events.
    State,
    /// A level, recorded when it changes.
    Level,
    /// Fires when it is reached by an effect.
    Alarm,
    /// Not recorded at all.
    Hidden,
}

/// One to three variables are forced into what they never do; the effects spread along influences.
pub(crate) fn incident(seed: u64) -> (BundleWriter, Truth) {
    let mut random = ChaCha8Rng::seed_from_u64(1000 + seed);
    let count = random.random_range(80..120);
    let kinds: Vec<Variable> = (0..count).map(|_| kind(&mut random)).collect();
    let mut influences: BTreeSet<(usize, usize)> = BTreeSet::new();
    while influences.len() < count * 3 / 2 {
        let (from, to) = (random.random_range(0..count), random.random_range(0..count));
        // Alarms influence nothing.
        if from != to && kinds[from] != Variable::Alarm {
            influences.insert((from, to));
        }
    }
    let causes = loop {
        let wanted = random.random_range(1..=3);
        let picked: BTreeSet<usize> = (0..wanted).map(|_| random.random_range(0..count)).collect();
        let recorded = |v: &usize| !matches!(kinds[*v], Variable::Alarm | Variable::Hidden);
        if picked.iter().all(recorded) && independent(&picked, &influences) {
            break picked;
        }
    };
    let struck = spread(&causes, &influences, &kinds, &mut random);

    let mut manifest = Manifest::new(format!("machine {seed}"));
    manifest.baseline = Window::new(at(0), at(BASELINE)).ok().into();
    manifest.window = Window::new(at(BASELINE), at(BASELINE + WINDOW)).ok();
    manifest.topology.entities = (0..count).map(id).collect();
    manifest.topology.edges = influences
        .iter()
        .map(|(from, to)| ManifestEdge {
            source: id(*from),
            target: id(*to),
            relation: "influences".into(),
            effects: EffectDirection::SourceToTarget,
        })
        .collect();
    let mut writer = BundleWriter::new(manifest);
    for (variable, kind) in kinds.iter().enumerate() {
        record(&mut writer, variable, *kind, struck.get(&variable).copied(), &mut random);
    }
    // A cause that raises no alarm cannot be asked for.
    let alarming: BTreeSet<usize> = causes
        .iter()
        .copied()
        .filter(|cause| {
            let alone = closure(*cause, &influences);
            alone.iter().any(|variable| kinds[*variable] == Variable::Alarm)
        })
        .collect();
    if alarming.is_empty() {
        return incident(seed + 10_000);
    }
    (writer, Truth { causes: alarming.into_iter().map(id).collect(), ..Truth::default() })
}

fn kind(random: &mut ChaCha8Rng) -> Variable {
    match random.random_range(0..20) {
        0..8 => Variable::Switch,
        8..12 => Variable::State,
        12..16 => Variable::Level,
        16..19 => Variable::Alarm,
        _ => Variable::Hidden,
    }
}

/// None of them is reached from another.
fn independent(picked: &BTreeSet<usize>, influences: &BTreeSet<(usize, usize)>) -> bool {
    picked.iter().all(|from| {
        let reached = closure(*from, influences);
        picked.iter().all(|to| to == from || !reached.contains(to))
    })
}

fn closure(from: usize, influences: &BTreeSet<(usize, usize)>) -> BTreeSet<usize> {
    let mut reached = BTreeSet::from([from]);
    let mut stack = vec![from];
    while let Some(at) = stack.pop() {
        for (_, to) in influences.iter().filter(|(source, _)| *source == at) {
            if reached.insert(*to) {
                stack.push(*to);
            }
        }
    }
    reached
}

/// When each variable is struck: every effect takes some seconds.
fn spread(
    causes: &BTreeSet<usize>,
    influences: &BTreeSet<(usize, usize)>,
    kinds: &[Variable],
    random: &mut ChaCha8Rng,
) -> BTreeMap<usize, i64> {
    let mut struck: BTreeMap<usize, i64> = BTreeMap::new();
    let mut queue: BTreeSet<(i64, usize)> =
        causes.iter().map(|cause| (BASELINE + random.random_range(60..120), *cause)).collect();
    while let Some((when, variable)) = queue.pop_first() {
        if struck.contains_key(&variable) {
            continue;
        }
        struck.insert(variable, when);
        if kinds[variable] == Variable::Alarm {
            continue;
        }
        for (_, to) in influences.iter().filter(|(from, _)| *from == variable) {
            queue.insert((when + random.random_range(1..15), *to));
        }
    }
    struck
}

fn record(
    writer: &mut BundleWriter,
    variable: usize,
    kind: Variable,
    struck: Option<i64>,
    random: &mut ChaCha8Rng,
) {
    let metrics = &mut writer.metrics;
    let mut series = |metric: &str, signal, points: Vec<(i64, f64)>, unit: &str| {
        metrics.push(Series {
            entity: id(variable),
            kind: EvidenceKind::Metric,
            metric: metric.into(),
            signal,
            unit: unit.into(),
            peer: None,
            points: points.into_iter().map(|(second, value)| (at(second), value)).collect(),
        });
    };
    let end = struck.unwrap_or(BASELINE + WINDOW);
    match kind {
        Variable::Hidden => {}
        Variable::Alarm => {
            if let Some(when) = struck {
                // Alarms are labelled one way or the other, and recorded themselves.
                let signal =
                    if variable.is_multiple_of(2) { Signal::Availability } else { Signal::Other };
                series("alarm", signal, vec![(0, 0.0), (when, 1.0)], "");
                let name = format!("alarm {variable}");
                writer.alerts.push(Anomaly::new(name, id(variable), signal, at(when)));
            }
        }
        // Half of the switches are at work all the time, the others are never touched.
        Variable::Switch if variable.is_multiple_of(2) => {
            let mut points = Vec::new();
            let (mut when, mut value) = (random.random_range(0..60), 0.0);
            while when < end {
                points.push((when, value));
                value = 1.0 - value;
                when += random.random_range(20..60);
            }
            // Struck, it hangs where it is.
            series("value", Signal::Other, points, "");
        }
        Variable::Switch => {
            let mut points = vec![(0, 1.0)];
            points.extend(struck.map(|when| (when, 0.0)));
            series("value", Signal::Other, points, "");
        }
        Variable::State => {
            let mut when = random.random_range(0..120);
            let mut events = Vec::new();
            while when < end {
                events.push((when, ["ready", "running", "waiting"][random.random_range(0..3)]));
                when += random.random_range(30..300);
            }
            events.extend(struck.map(|when| (when, "fault")));
            for (second, state) in events {
                writer.events.push(EventRecord {
                    time: at(second),
                    entity: id(variable),
                    reason: state.into(),
                    signal: Signal::Other,
                    message: String::new(),
                    peer: None,
                });
            }
        }
        // A set point: recorded when it is changed, which is hardly ever.
        Variable::Level if variable.is_multiple_of(3) => {
            let mut points: Vec<(i64, f64)> = (0..6)
                .map(|change| {
                    (
                        change * 1000 + random.random_range(0..800),
                        20.0 + 0.1 * random.random_range(0..5) as f64,
                    )
                })
                .collect();
            points.extend(struck.map(|when| (when, 35.5)));
            series("value", Signal::Other, points, "degrees");
        }
        Variable::Level => {
            let mut points = Vec::new();
            let mut when = random.random_range(0..10);
            while when < BASELINE + WINDOW {
                let level = if when >= end { 80.0 } else { 50.0 };
                points.push((when, level + random.random_range(-3.0..3.0)));
                when += random.random_range(3..12);
            }
            series("value", Signal::Other, points, "bar");
        }
    }
}

fn id(variable: usize) -> EntityId {
    EntityId::new(format!("v{variable}")).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_774_000_800 + second).unwrap()
}
