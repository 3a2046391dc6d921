//! What has nothing to do with the fault.

use std::collections::{BTreeMap, BTreeSet};

use crate::random::{RandomSeed, Stream};

use super::Harmless;
use super::plan::Plan;
use super::system::{Role, System};
use crate::clock::{LENGTH, MINUTE, Ms, SECOND};

/// Harmless happenings, drawn from the seed alone.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    /// New versions of workloads that do the same: service, time, and which field changes.
    pub(super) rollouts: Vec<(usize, Ms, u64)>,
    /// Edits of ConfigMaps that the service of that number mounts.
    pub(super) edits: Vec<(usize, Ms)>,
    /// Containers that end and start again.
    pub(super) restarts: Vec<(usize, Ms)>,
    /// Alerts that come and go.
    pub(super) flapping: Vec<Flap>,
    /// A service without spans.
    pub(super) silent: Option<usize>,
    /// Metrics that are missing: service, from, to.
    pub(super) gaps: Vec<(usize, Ms, Ms)>,
    /// Bystanders that get slower by a factor, without an alert.
    pub(super) slower: Vec<(usize, Ms, f64)>,
    /// Bystanders that fail more often, without an alert, and whose callers cope.
    pub(super) failing: Vec<(usize, Ms, f64)>,
    /// Load: amplitude as a share, period, and phase.
    pub(super) wave: (f64, Ms, Ms),
    /// The round of object dumps that is missing.
    pub(super) missing_round: usize,
}

/// An alert that comes and goes.
#[derive(Clone, Debug)]
pub(super) struct Flap {
    pub(super) name: &'static str,
    pub(super) service: usize,
    pub(super) episodes: Vec<(Ms, Ms)>,
}

/// The harmless changes of a recording, by time: those of the process, and the decoys.
fn harmless_changes(
    changeable: &[usize],
    plan: &Plan,
    harmless: Harmless,
    draw: &mut Stream,
) -> Vec<(usize, Ms)> {
    if changeable.is_empty() {
        return Vec::new();
    }
    let mut changes: Vec<(usize, Ms)> = Vec::new();
    // A Poisson process, by the second: equal draws on any machine, since nothing but comparisons
    // and products is computed.
    let chance = f64::from(harmless.per_hour) / 3_600.0;
    for second in 0..LENGTH / SECOND {
        if draw.chance(chance) {
            let service = changeable[draw.position(changeable.len())];
            changes.push((service, second * SECOND + draw.below(1_000) as Ms));
        }
    }
    let harm = plan.hits.values().map(|hit| hit.onset).min();
    let alert = plan.alerts.iter().map(|alert| alert.active).min();
    if let (Some(harm), Some(alert)) = (harm, alert) {
        for number in 0..harmless.decoys {
            let service = changeable[draw.position(changeable.len())];
            // In turn shortly before the first alert, and anywhere from the harm to it.
            let earliest = if number % 2 == 0 { (alert - 45 * SECOND).max(harm) } else { harm };
            let latest = (alert - 3 * SECOND).max(earliest);
            changes.push((service, draw.between(earliest as u64, latest as u64) as Ms));
        }
    }
    // Nothing is rolled out on a service whose pods cannot run.
    let is_down = |(service, at): &(usize, Ms)| plan.hit(*service, *at).is_some_and(|hit| hit.down);
    changes.retain(|change| !is_down(change));
    changes.sort_by_key(|(_, at)| *at);
    // A rollout takes some seconds; the next one of the same service waits for it.
    let mut last: BTreeMap<usize, Ms> = BTreeMap::new();
    changes.retain(|(service, at)| {
        let is_free = last.get(service).is_none_or(|before| at - before > MINUTE);
        last.extend(is_free.then_some((*service, *at)));
        is_free
    });
    changes
}

/// A moment of the recording, each as likely as any other.
fn moment(draw: &mut Stream) -> Ms {
    draw.below(LENGTH as u64) as Ms
}

/// The share of requests that fail always.
pub(super) const USUAL_ERRORS: f64 = 0.004;

impl Noise {
    pub(super) fn new(system: &System, plan: &Plan, harmless: Harmless, seed: RandomSeed) -> Self {
        let mut draw = seed.stream("noise");
        let own: BTreeSet<usize> = plan.roots.iter().filter_map(|root| root.service).collect();
        let involved: BTreeSet<usize> = plan
            .hits
            .keys()
            .copied()
            .chain(plan.holder)
            .chain(plan.surge.map(|(sender, ..)| sender))
            .chain(own.iter().copied())
            .collect();
        let all: Vec<usize> = (0..system.services.len()).collect();
        let bystanders: Vec<usize> =
            all.iter().copied().filter(|at| !involved.contains(at)).collect();
        let changeable: Vec<usize> = all
            .iter()
            .copied()
            .filter(|at| !own.contains(at) && plan.holder != Some(*at))
            .collect();
        let mut several = |from: &[usize], low: u64, high: u64| -> Vec<(usize, Ms)> {
            let count = draw.between(low, high) as usize;
            let drawn = draw.sample(from.len(), count);
            drawn.into_iter().map(|at| (from[at], moment(&mut draw))).collect()
        };
        let restarts = several(&bystanders, 2, 3);
        let serving: Vec<usize> = bystanders
            .iter()
            .copied()
            .filter(|at| system.services[*at].role == Role::Serving)
            .collect();
        let slower = several(&serving, 2, 3);
        let failing = several(&serving, 1, 2);
        let gaps = several(&all, 3, 5);
        let flapping = several(&bystanders, 2, 3);
        let mut draw = seed.stream("harmless changes");
        let changes = harmless_changes(&changeable, plan, harmless, &mut draw);
        let (edits, rollouts): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|_| draw.chance(0.4));
        let mut draw = seed.stream("noise details");
        let names = ["CPUThrottlingHigh", "KubePodNotReady", "RequestLatency"];
        Self {
            rollouts: rollouts.into_iter().map(|(at, when)| (at, when, draw.below(3))).collect(),
            edits,
            restarts,
            flapping: flapping
                .into_iter()
                .enumerate()
                .map(|(number, (service, begin))| {
                    let count = draw.between(1, 3) as Ms;
                    let length = |draw: &mut Stream| draw.between(60, 200) as Ms * SECOND;
                    let episodes = (0..count).map(|turn| {
                        let from = begin + turn * 7 * MINUTE;
                        (from, from + length(&mut draw))
                    });
                    let episodes = episodes.collect();
                    Flap { name: names[number % names.len()], service, episodes }
                })
                .collect(),
            silent: serving.get(draw.position(serving.len())).copied().filter(|_| draw.chance(0.5)),
            gaps: gaps
                .into_iter()
                .map(|(at, from)| (at, from, from + draw.between(2, 5) as Ms * MINUTE))
                .collect(),
            slower: slower
                .into_iter()
                .map(|(at, from)| (at, from, 4.0 + 16.0 * draw.share()))
                .collect(),
            failing: failing
                .into_iter()
                .map(|(at, from)| (at, from, 0.05 + 0.25 * draw.share()))
                .collect(),
            wave: (
                0.15 + 0.25 * draw.share(),
                draw.between(15, 40) as Ms * MINUTE,
                draw.between(0, 40) as Ms * MINUTE,
            ),
            missing_round: 1 + draw.position(4),
        }
    }

    /// Load at a time, as a factor of the usual: a triangular wave.
    pub(super) fn load(&self, at: Ms) -> f64 {
        let (amplitude, period, phase) = self.wave;
        let place = ((at + phase).rem_euclid(period)) as f64 / period as f64;
        1.0 + amplitude * ((place * 2.0 - 1.0).abs() * 2.0 - 1.0)
    }

    /// Whether the metrics of a service are missing.
    pub(super) fn is_gap(&self, service: usize, at: Ms) -> bool {
        self.gaps.iter().any(|(of, from, to)| *of == service && (*from..*to).contains(&at))
    }
}
