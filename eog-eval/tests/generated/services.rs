//! Services that call each other: time spent adds up along calls.

use std::collections::BTreeSet;

use eog::evidence::Signal;
use eog::incident::EffectDirection;
use eog::{Anomaly, EntityId, EvidenceKind, Timestamp, Window};
use eog_eval::suite::Truth;
use eog_evidence::{BundleWriter, Manifest, ManifestEdge, Series};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Minutes of the baseline, of the window, and of the fault within the window.
const BASELINE: usize = 120;
const WINDOW: usize = 12;
const FAULT_AFTER: usize = 4;

/// A service that takes longer of its own, and an alert at the entry.
pub(crate) fn incident(seed: u64) -> (BundleWriter, Truth) {
    generate(seed, true)
}

/// The same without a fault.
pub(crate) fn quiet(seed: u64) -> (BundleWriter, Truth) {
    generate(seed, false)
}

fn generate(seed: u64, faulty: bool) -> (BundleWriter, Truth) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let count = random.random_range(10..40);
    // Every service is called by at least one that comes before it: service 0 is the entry.
    let mut calls: Vec<(usize, usize, f64)> = Vec::new();
    for callee in 1..count {
        let mut callers = BTreeSet::from([random.random_range(0..callee)]);
        if random.random_bool(0.25) {
            callers.insert(random.random_range(0..callee));
        }
        for caller in callers {
            calls.push((caller, callee, random.random_range(0.3..2.0)));
        }
    }
    // Bystanders: hardly ever called, and far more changed than any other.
    let bystanders: BTreeSet<usize> = (count..count + 3).collect();
    let count = count + bystanders.len();
    for bystander in &bystanders {
        calls.push((random.random_range(0..count - 3), *bystander, 0.01));
    }
    let base: Vec<f64> = (0..count).map(|_| random.random_range(2.0..60.0)).collect();
    let noise: Vec<f64> = (0..count).map(|_| random.random_range(0.02..0.10)).collect();
    let culprit = random.random_range(0..count - bystanders.len());

    let steps = BASELINE + WINDOW;
    let mut latency = vec![vec![0.0; steps]; count];
    let mut requests = vec![vec![0.0; steps]; count];
    let slower = random.random_range(2.0..6.0);
    for step in 0..steps {
        // Load comes in waves.
        let wave = 1.0 + 0.8 * (step as f64 / 23.0).sin();
        requests[0][step] = 200.0 * wave * random.random_range(0.8..1.2);
        for (caller, callee, times) in &calls {
            requests[*callee][step] += requests[*caller][step] * times;
        }
        // Callees come after their callers: from the last to the first.
        for service in (0..count).rev() {
            let wobble = 1.0 + noise[service] * random.random_range(-2.0..2.0);
            let fault = faulty && service == culprit && step >= BASELINE + FAULT_AFTER;
            // A fault that is not noticeable at the entry makes no alert.
            let share = requests[0][step] / requests[service][step].max(1.0);
            let extra = if fault { base[service] * slower + 400.0 * share } else { 0.0 };
            let odd = bystanders.contains(&service) && step >= BASELINE + FAULT_AFTER - 1;
            let extra = if odd { base[service] * 20.0 } else { extra };
            let of_calls = calls.iter().filter(|(caller, _, _)| *caller == service);
            let waiting: f64 = of_calls.map(|(_, callee, n)| latency[*callee][step] * n).sum();
            latency[service][step] = base[service] * wobble + extra + waiting;
        }
    }

    let mut manifest = Manifest::new(format!("services {seed}"));
    manifest.baseline = Window::new(at(0), at(BASELINE)).ok().into();
    manifest.window = Window::new(at(BASELINE), at(steps)).ok();
    manifest.topology.entities = (0..count).map(id).collect();
    manifest.topology.edges = calls
        .iter()
        .map(|(caller, callee, _)| ManifestEdge {
            source: id(*caller),
            target: id(*callee),
            relation: "calls".into(),
            effects: EffectDirection::TargetToSource,
        })
        .collect();
    let mut writer = BundleWriter::new(manifest);
    let onset = at(BASELINE + FAULT_AFTER + 1);
    writer.alerts = vec![Anomaly::new("Slow", id(0), Signal::Latency, onset)];
    for service in 0..count {
        let mut measured = |metric: &str, signal, unit: &str, values: &[f64]| {
            let points = values.iter().enumerate().map(|(step, value)| (at(step), *value));
            // Cells are missing now and then.
            let points = points.filter(|_| !random.random_bool(0.03)).collect();
            writer.metrics.push(Series {
                entity: id(service),
                kind: EvidenceKind::Metric,
                metric: metric.into(),
                signal,
                unit: unit.into(),
                peer: None,
                points,
            });
        };
        measured("mean_latency", Signal::Latency, "ms", &latency[service]);
        measured("requests", Signal::Traffic, "requests", &requests[service]);
    }
    let causes = if faulty { BTreeSet::from([id(culprit)]) } else { BTreeSet::new() };
    (writer, Truth { causes, ..Truth::default() })
}

fn id(service: usize) -> EntityId {
    EntityId::new(format!("s{service}")).unwrap()
}

fn at(minute: usize) -> Timestamp {
    Timestamp::from_second(1_774_000_800 + minute as i64 * 60).unwrap()
}
