//! Where an investigation starts: seeds with their reasons.

use std::collections::BTreeSet;

use eog_core::{Anomaly, EntityId, Finding, Seed, Signal, Timestamp, Window};

use crate::incident::Incident;
use crate::paths::{Reach, Travel};
use crate::text::{arrows, change_in_words, shorten, span_between};

/// At most this many entities are seeds because of a change, and as many because of a failure.
const MAX_SEEDS_OF_A_KIND: usize = 5;

/// Chooses the seeds; [`open_case`](crate::open_case) says how.
pub(crate) fn choose_seeds(incident: &Incident, window: Window, anomalies: &[Anomaly]) -> Start {
    let mut start = Start::default();
    let targets = Targets { incident, window, anomalies };
    if anomalies.is_empty() {
        start.seed_unlinked(&targets);
    } else {
        start.seed_changes(&targets);
        start.seed_failures(&targets);
        start.seed_alerts(anomalies);
    }
    start
}

/// What seeds are chosen for.
struct Targets<'a> {
    incident: &'a Incident,
    window: Window,
    anomalies: &'a [Anomaly],
}

/// An anomaly that an entity has an effect path to.
struct Hit<'a> {
    anomaly: &'a Anomaly,
    path: Vec<EntityId>,
}

impl<'a> Targets<'a> {
    /// The findings in the window, grouped by entity in name order.
    fn in_window<'f>(&self, findings: &'f [Finding]) -> Vec<(&'f EntityId, Vec<&'f Finding>)> {
        let mut inside: Vec<&Finding> =
            findings.iter().filter(|finding| self.window.contains(finding.time.start())).collect();
        inside.sort_by_key(|finding| (&finding.entity, finding.time.start(), finding.id()));
        inside
            .chunk_by(|a, b| a.entity == b.entity)
            .filter_map(|group| Some((&group.first()?.entity, group.to_vec())))
            .collect()
    }

    fn hits(&self, entity: &EntityId) -> Vec<Hit<'a>> {
        let reach = Reach::new(&self.incident.topology, entity, Travel::Effects);
        let path_to = |anomaly| Some(Hit { anomaly, path: reach.path_to(&anomaly.entity)? });
        self.anomalies.iter().filter_map(path_to).collect()
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
        for (entity, changes) in targets.in_window(&targets.incident.changes) {
            let hits = targets.hits(entity);
            let candidates = changes.into_iter().filter(|change| change.signal != Signal::Restart);
            let best = candidates
                .flat_map(|change| hits.iter().filter_map(move |hit| follow(change, hit)))
                .min_by(|a, b| a.key().cmp(&b.key()));
            found.extend(best);
        }
        found.sort_by(|a, b| a.key().cmp(&b.key()));
        for best in found.iter().take(MAX_SEEDS_OF_A_KIND) {
            let change = best.change;
            self.push(&change.entity, best.reason(), Some(change));
        }
    }

    fn seed_failures(&mut self, targets: &Targets<'_>) {
        let mut found = Vec::new();
        for (entity, failures) in targets.in_window(&targets.incident.failures) {
            let hits = targets.hits(entity);
            let nearest = hits.into_iter().min_by_key(|hit| (hit.path.len(), hit.anomaly.onset));
            if let (Some(hit), Some(failure)) = (nearest, failures.first().copied()) {
                let reason = format!(
                    "failed at {} ({}), with a path to alert {} ({})",
                    failure.time.start(),
                    shorten(&failure.excerpt, 80),
                    shorten(&hit.anomaly.name, 80),
                    arrows(&hit.path)
                );
                found.push((failure.time.start(), entity, failure, reason));
            }
        }
        found.sort_by_key(|(at, entity, _, _)| (*at, *entity));
        for (_, entity, failure, reason) in found.into_iter().take(MAX_SEEDS_OF_A_KIND) {
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
    fn seed_unlinked(&mut self, targets: &Targets<'_>) {
        let failed = targets.in_window(&targets.incident.failures);
        let changed = targets.in_window(&targets.incident.changes);
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
    anomaly: &'a Anomaly,
    path: Vec<EntityId>,
    onset: Timestamp,
}

fn follow<'a>(change: &'a Finding, hit: &Hit<'a>) -> Option<Followed<'a>> {
    let at = change.time.start();
    let onset = hit.anomaly.onsets().filter(|onset| *onset > at).min()?;
    Some(Followed { change, anomaly: hit.anomaly, path: hit.path.clone(), onset })
}

impl Followed<'_> {
    fn key(&self) -> impl Ord + '_ {
        let gap = self.onset.duration_since(self.change.time.start());
        (gap, self.path.len(), &self.change.entity, self.change.id(), &self.anomaly.name)
    }

    fn reason(&self) -> String {
        let at = self.change.time.start();
        let what = self.change.change.as_ref();
        let what = what.map_or_else(|| shorten(&self.change.excerpt, 120), change_in_words);
        format!(
            "changed {what} at {at}, {} before alert {} on {} ({})",
            span_between(at, self.onset),
            shorten(&self.anomaly.name, 80),
            self.anomaly.entity,
            arrows(&self.path)
        )
    }
}
