//! Changes and events in the order of their strength, as it shows without a model.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use eog_core::evidence::Signal;
use eog_core::incident::{Direction, Neighbour};
use eog_core::{Anomaly, EntityId, Finding, Timestamp, Topology, Window};
use eog_evidence::{DEMAND_RELATIONS, EffectMap, Incident, MAX_PATH_HOPS};

use crate::phases::{ItemLine, Scope, change_limit};
use crate::reduce::families;
use crate::times::between;

/// At most this many findings of a kind are ranked, strongest first.
const MAX_RANKED: usize = 2_000;

/// So many findings that say the same are shown one by one; the rest stand behind the last.
const EACH: usize = 3;

/// At most so many names are given of those that stand behind a finding.
const MAX_NAMES: usize = 4;

/// Alerts that are listed by number.
const MAX_NUMBERS: usize = 12;

/// Findings in order of strength, each with those it stands for and its line for prompts.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranked {
    /// The finding shown first, then those it stands for.
    pub(super) groups: Vec<Vec<Finding>>,
    pub(super) lines: Vec<ItemLine>,
    /// What was not even ranked, in words.
    pub(super) left_out: Vec<String>,
}

impl Ranked {
    /// The chosen ones, in the given order.
    pub(super) fn pick(&self, positions: &[usize]) -> Self {
        Self {
            groups: positions.iter().map(|at| self.groups[*at].clone()).collect(),
            lines: positions.iter().map(|at| self.lines[*at].clone()).collect(),
            left_out: Vec::new(),
        }
    }
}

/// What findings are ranked against: the alerts, and from where effects reach them.
pub(super) struct Ranking<'a> {
    incident: &'a Incident,
    window: Window,
    scope: &'a Scope,
    /// For each alert shown how far each entity is whose effects reach it.
    effects: Vec<Arc<Distances>>,
    /// The same for load.
    demand: Vec<Arc<Distances>>,
}

/// How many edges away entities are.
type Distances = BTreeMap<EntityId, usize>;

impl<'a> Ranking<'a> {
    pub(super) fn new(incident: &'a Incident, window: Window, scope: &'a Scope) -> Self {
        let distances = |leads: fn(&Neighbour) -> bool| {
            let mut known: BTreeMap<&EntityId, Arc<Distances>> = BTreeMap::new();
            let alerts = scope.alerts.shown().iter();
            let to = |alert: &'a Anomaly| {
                let new = || Arc::new(sources(&incident.topology, &alert.entity, leads));
                Arc::clone(known.entry(&alert.entity).or_insert_with(new))
            };
            alerts.map(to).collect()
        };
        Self {
            incident,
            window,
            scope,
            effects: distances(gives_effects),
            demand: distances(gives_load),
        }
    }

    /// The failures in the window: those with a way to an alert first, then those before an onset,
    /// the closest first.
    pub(super) fn events(&self) -> Ranked {
        let inside =
            self.incident.failures.iter().filter(|event| self.window.contains(event.time.start()));
        let mut events: Vec<&Finding> = inside.collect();
        events.sort_by_cached_key(|event| self.strength(event));
        self.ranked(events, "events")
    }

    /// The changes before the end of the window: those that an alert they reach follows first, the
    /// closest first, as [`EffectMap`] orders them; restarts last.
    pub(super) fn changes(&self) -> Ranked {
        let map = EffectMap::new(
            &self.incident.topology,
            &self.incident.changes,
            self.scope.alerts.shown(),
        );
        let places: BTreeMap<_, usize> = map
            .qualifying()
            .enumerate()
            .map(|(place, change)| (change.id().clone(), place))
            .collect();
        let before = |change: &&Finding| change.time.start() < self.window.end();
        let mut changes: Vec<&Finding> = self.incident.changes.iter().filter(before).collect();
        changes.sort_by_cached_key(|change| {
            let place = places.get(change.id()).copied().unwrap_or(usize::MAX);
            let inside = self.window.contains(change.time.start());
            (place, change.signal == Signal::Restart, !inside, self.strength(change))
        });
        self.ranked(changes, "changes")
    }

    fn ranked(&self, mut findings: Vec<&Finding>, noun: &str) -> Ranked {
        findings.dedup_by(|a, b| a.id() == b.id());
        let all = findings.len();
        findings.truncate(MAX_RANKED);
        let mut ranked = Ranked::default();
        if all > findings.len() {
            let left_out = all - findings.len();
            ranked.left_out.push(format!(
                "{left_out} of {all} {noun}, those with the weakest ties to an alert"
            ));
        }
        let families = families(&findings, EACH);
        let limit = change_limit(families.len());
        for family in families {
            let shown = findings[family.shown];
            let alike: Vec<&Finding> = family.alike.iter().map(|at| findings[*at]).collect();
            let line =
                ItemLine::new(shown, &self.scope.times, self.hint(shown), names_of(&alike), limit);
            ranked.lines.push(line);
            ranked.groups.push(std::iter::once(shown).chain(alike).cloned().collect());
        }
        ranked
    }

    /// A key that is smaller the stronger a finding is tied to an alert.
    fn strength(&self, finding: &Finding) -> impl Ord + use<> {
        let at = finding.time.start();
        let nearest = self.reached(finding).map(|(_, hops)| hops).min();
        let gap = self.next_onset(finding).map(|(_, onset)| onset.as_second() - at.as_second());
        (
            nearest.is_none(),
            gap.is_none(),
            gap,
            nearest,
            at,
            finding.entity.clone(),
            finding.id().clone(),
        )
    }

    /// The alerts that effects of a finding's entity reach, with the number of edges; when its
    /// demand was changed also those that its load reaches.
    fn reached(&self, finding: &Finding) -> impl Iterator<Item = (usize, usize)> {
        let demand = if finding.signal == Signal::Demand { self.demand.as_slice() } else { &[] };
        self.effects.iter().enumerate().filter_map(|(alert, effects)| {
            let by_load = demand.get(alert).and_then(|load| load.get(&finding.entity));
            let hops = effects.get(&finding.entity).into_iter().chain(by_load).min()?;
            Some((alert, *hops))
        })
    }

    /// The first onset after a finding, of an alert that it reaches.
    fn next_onset(&self, finding: &Finding) -> Option<(usize, Timestamp)> {
        let at = finding.time.start();
        let alerts = self.scope.alerts.shown();
        let onsets = self.reached(finding).flat_map(|(alert, _)| {
            alerts.get(alert).into_iter().flat_map(Anomaly::onsets).map(move |onset| (alert, onset))
        });
        onsets.filter(|(_, onset)| *onset > at).min_by_key(|(alert, onset)| (*onset, *alert))
    }

    /// How a finding stands to the alerts, such as `4m 10s before A2; reaches A2, A3`.
    fn hint(&self, finding: &Finding) -> String {
        let reached: Vec<usize> = self.reached(finding).map(|(alert, _)| alert).collect();
        if reached.is_empty() {
            return "no known way to an alert".to_owned();
        }
        let when = match self.next_onset(finding) {
            Some((alert, onset)) => {
                format!("{} before A{}", between(finding.time.start(), onset), alert + 1)
            }
            None => "after the alerts it reaches began".to_owned(),
        };
        format!("{when}; reaches {}", numbers(&reached))
    }

    /// For each alert the alerts of other entities that its effects reach, in words.
    pub(super) fn alerts(&self) -> Vec<String> {
        let alerts = self.scope.alerts.shown();
        let reached = |from: &Anomaly| {
            let others = self.effects.iter().zip(alerts).enumerate();
            let reached = others.filter(|(_, (effects, to))| {
                to.entity != from.entity && effects.contains_key(&from.entity)
            });
            reached.map(|(alert, _)| alert).collect::<Vec<_>>()
        };
        alerts.iter().map(|alert| numbers(&reached(alert))).collect()
    }
}

/// Alerts by their numbers; nothing for none.
fn numbers(alerts: &[usize]) -> String {
    let names: Vec<String> =
        alerts.iter().take(MAX_NUMBERS).map(|alert| format!("A{}", alert + 1)).collect();
    let more = match alerts.len().saturating_sub(MAX_NUMBERS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.join(", ") + &more
}

/// The other entities with the same record, in words.
fn names_of(alike: &[&Finding]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for finding in alike {
        if !names.contains(&finding.entity.as_str()) {
            names.push(finding.entity.as_str());
        }
    }
    let Some(more) = names.len().checked_sub(1) else { return String::new() };
    let shown = names.iter().take(MAX_NAMES).copied().collect::<Vec<_>>().join(", ");
    match (more + 1).saturating_sub(MAX_NAMES) {
        0 => format!("{} on {shown}", alike.len()),
        rest => format!("{} on {shown} and {rest} other entities", alike.len()),
    }
}

fn gives_effects(neighbour: &Neighbour) -> bool {
    matches!(neighbour.direction, Direction::Upstream | Direction::Both)
}

fn gives_load(neighbour: &Neighbour) -> bool {
    !neighbour.outgoing && DEMAND_RELATIONS.contains(&neighbour.relation.as_str())
}

/// Every entity from which something leads to this one, with the number of edges; itself with none.
fn sources(topology: &Topology, reached: &EntityId, leads: fn(&Neighbour) -> bool) -> Distances {
    let mut distances = BTreeMap::from([(reached.clone(), 0)]);
    let mut queue = VecDeque::from([(reached.clone(), 0)]);
    while let Some((entity, hops)) = queue.pop_front() {
        if hops == MAX_PATH_HOPS {
            continue;
        }
        for neighbour in topology.neighbours(&entity) {
            if leads(&neighbour) && !distances.contains_key(&neighbour.entity) {
                distances.insert(neighbour.entity.clone(), hops + 1);
                queue.push_back((neighbour.entity, hops + 1));
            }
        }
    }
    distances
}
