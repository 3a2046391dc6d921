//! Where an investigation starts: seeds with their reasons.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use eog_core::evidence::Signal;
use eog_core::{Anomaly, EntityId, Finding, Seed, Timestamp, Window};

use crate::alarms::{Alarm, Alarms};
use crate::incident::Incident;
use crate::text::{arrows, change_in_words, shorten, span_between};
use crate::ways::{Number, Ways};

/// At most this many entities are seeds because of a change, and as many because of a failure.
const MAX_SEEDS_OF_A_KIND: usize = 5;

/// Chooses the seeds; [`open_case`](crate::open_case) says how.
pub(crate) fn choose_seeds(incident: &Incident, window: Window, anomalies: &[Anomaly]) -> Start {
    let mut start = Start::default();
    if anomalies.is_empty() {
        start.seed_unlinked(incident, window);
    } else {
        let ways = Ways::of(&incident.topology, &[], anomalies);
        let alarms = Alarms::new(&ways, anomalies, false);
        let targets = Targets { incident, window, ways: &ways, alarms: &alarms };
        start.seed_changes(&targets);
        start.seed_failures(&targets);
        start.seed_alerts(anomalies);
    }
    start
}

/// The findings in the window, grouped by entity in name order.
fn in_window(findings: &[Finding], window: Window) -> Vec<(&EntityId, Vec<&Finding>)> {
    let mut inside: Vec<&Finding> =
        findings.iter().filter(|finding| window.contains(finding.time.start())).collect();
    inside.sort_by_key(|finding| (&finding.entity, finding.time.start(), finding.id()));
    inside
        .chunk_by(|a, b| a.entity == b.entity)
        .filter_map(|group| Some((&group.first()?.entity, group.to_vec())))
        .collect()
}

/// What seeds are chosen for.
struct Targets<'a> {
    incident: &'a Incident,
    window: Window,
    ways: &'a Ways,
    alarms: &'a Alarms<'a>,
}

/// An anomaly that an entity has an effect path to.
#[derive(Clone, Copy)]
struct Hit<'a> {
    alarm: &'a Alarm<'a>,
    entity: Number,
    /// The length of the path.
    hops: usize,
}

impl<'a> Targets<'a> {
    fn hits(&self, entity: &EntityId) -> Vec<Hit<'a>> {
        // An entity that nothing leads to or from, and that has no alert, has no number.
        let Some(entity) = self.ways.number(entity) else { return Vec::new() };
        let alarms = self.alarms.all().iter();
        alarms
            .filter_map(|alarm| Some(Hit { alarm, entity, hops: self.alarms.hops(entity, alarm)? }))
            .collect()
    }

    fn path(&self, hit: Hit<'_>) -> String {
        let path = self.alarms.path(hit.entity, hit.alarm).unwrap_or_default();
        arrows(&self.ways.named(&path))
    }
}

/// Seeds and the evidence they rest on, in order, each once.
#[derive(Default)]
pub(crate) struct Start {
    pub(crate) seeds: Vec<Seed>,
    pub(crate) evidence: Vec<Finding>,
    seeded: BTreeSet<EntityId>,
}

impl Start {
    fn push(&mut self, entity: &EntityId, reason: String, evidence: Option<&Finding>) {
        if self.seeded.insert(entity.clone()) {
            self.seeds.push(Seed { entity: entity.clone(), reason });
        }
        self.evidence.extend(evidence.cloned());
    }

    fn seed_changes(&mut self, targets: &Targets<'_>) {
        let mut found = Vec::new();
        for (entity, changes) in in_window(&targets.incident.changes, targets.window) {
            let hits = targets.hits(entity);
            let candidates = changes.into_iter().filter(|change| change.signal != Signal::Restart);
            let best = candidates
                .flat_map(|change| hits.iter().filter_map(move |hit| follow(change, *hit)))
                .min_by(|a, b| a.key().cmp(&b.key()));
            found.extend(best);
        }
        found.sort_by(|a, b| a.key().cmp(&b.key()));
        for best in found.iter().take(MAX_SEEDS_OF_A_KIND) {
            let change = best.change;
            self.push(&change.entity, best.reason(&targets.path(best.hit)), Some(change));
        }
    }

    fn seed_failures(&mut self, targets: &Targets<'_>) {
        let mut found = Vec::new();
        for (entity, failures) in in_window(&targets.incident.failures, targets.window) {
            let hits = targets.hits(entity);
            let nearest = hits.into_iter().min_by_key(|hit| (hit.hops, hit.alarm.anomaly.onset));
            let last = failures.iter().map(|failure| failure.time.end()).max();
            if let (Some(hit), Some(failure), Some(last)) = (nearest, failures.first(), last) {
                found.push((failure.time.start(), entity, *failure, hit, last));
            }
        }
        // What fails to the end comes before what was over early.
        found.sort_by_key(|(at, entity, .., last)| (Reverse(*last), *at, *entity));
        for (at, entity, failure, hit, _) in found.into_iter().take(MAX_SEEDS_OF_A_KIND) {
            let reason = format!(
                "failed at {at} ({}), with a path to alert {} ({})",
                shorten(&failure.excerpt, 80),
                shorten(&hit.alarm.anomaly.name, 80),
                targets.path(hit)
            );
            self.push(entity, reason, Some(failure));
        }
    }

    fn seed_alerts(&mut self, anomalies: &[Anomaly]) {
        let mut sorted: Vec<&Anomaly> = anomalies.iter().collect();
        sorted.sort_by_key(|anomaly| (anomaly.onset, &anomaly.entity, &anomaly.name));
        for anomaly in sorted {
            let name = shorten(&anomaly.name, 80);
            let reason = format!("alert {name} since {}", anomaly.onset);
            self.push(&anomaly.entity, reason, None);
        }
    }

    /// Seeds of a window without anomalies: what failed, then what changed.
    fn seed_unlinked(&mut self, incident: &Incident, window: Window) {
        let failed = in_window(&incident.failures, window);
        let changed = in_window(&incident.changes, window);
        for (verb, groups) in [("failed", failed), ("changed", changed)] {
            for (entity, findings) in groups.into_iter().take(MAX_SEEDS_OF_A_KIND) {
                let real = findings.into_iter().find(|finding| finding.signal != Signal::Restart);
                if let Some(finding) = real {
                    let at = finding.time.start();
                    self.push(entity, format!("{verb} at {at}, no alert"), Some(finding));
                }
            }
        }
    }
}

/// A change and the first onset after it of an anomaly that it reaches.
struct Followed<'a> {
    change: &'a Finding,
    hit: Hit<'a>,
    onset: Timestamp,
}

fn follow<'a>(change: &'a Finding, hit: Hit<'a>) -> Option<Followed<'a>> {
    Some(Followed { change, hit, onset: hit.alarm.onset_after(change.time.start())? })
}

impl Followed<'_> {
    fn key(&self) -> impl Ord + '_ {
        let gap = self.onset.duration_since(self.change.time.start());
        let alert = &self.hit.alarm.anomaly.name;
        (gap, self.hit.hops, &self.change.entity, self.change.id(), alert)
    }

    fn reason(&self, path: &str) -> String {
        let at = self.change.time.start();
        let what = self.change.change.as_ref();
        let what = what.map_or_else(|| shorten(&self.change.excerpt, 120), change_in_words);
        let alert = self.hit.alarm.anomaly;
        format!(
            "changed {what} at {at}, {} before alert {} on {} ({path})",
            span_between(at, self.onset),
            shorten(&alert.name, 80),
            alert.entity,
        )
    }
}
