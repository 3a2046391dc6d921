//! What is hit, when, and how it shows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::random::RandomSeed;

use super::fault::{Fault, Root, roots};
use super::names::key;
use super::system::{Role, System};
use crate::clock::{LENGTH, MINUTE, Ms, SECOND};
use crate::scenario::Scenario;

/// The course of a simulated fault.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// When it is done.
    pub(super) at: Ms,
    pub(super) roots: Vec<Root>,
    /// By service: what is wrong with it from when on.
    pub(super) hits: BTreeMap<usize, Hit>,
    /// Services that read the changed configuration over the network: the reader, and its clients.
    pub(super) holder: Option<usize>,
    /// The sender of more load: who, from when, how many times as much.
    pub(super) surge: Option<(usize, Ms, f64)>,
    /// Alerts: name, group, and when they begin.
    pub(super) alerts: Vec<Alert>,
}

/// What is wrong with a service.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hit {
    pub(super) onset: Ms,
    /// Probability of failures of its own.
    pub(super) errors: f64,
    /// Time of its own that requests take more, in milliseconds.
    pub(super) slower: f64,
    /// It takes no requests.
    pub(super) down: bool,
    /// Probability that it fails when a call fails.
    pub(super) carries: f64,
}

/// An alert of the truth.
#[derive(Clone, Debug)]
pub(super) struct Alert {
    pub(super) name: String,
    /// Kind of the group: a Service or a Pod.
    pub(super) kind: String,
    pub(super) service: Option<usize>,
    pub(super) active: Ms,
}

/// What the alerts of a service speak of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Style {
    errors: bool,
    latency: bool,
}

impl Plan {
    pub(super) fn new(given: &Scenario, system: &System, seed: RandomSeed) -> Self {
        let mut draw = seed.stream("plan");
        let at = LENGTH / 2 + draw.between(0, (LENGTH / 12) as u64) as Ms;
        let roots = roots(given, system, seed);
        let words = given.fault_words();
        let holder = roots.iter().find_map(|root| holder(root, given, system));
        let surge = surge(given, &roots, system).map(|sender| {
            (sender, at + 5 * SECOND + draw.between(0, 10_000) as Ms, 3.0 + 3.0 * draw.share())
        });
        let depths = depths(given, system, &roots);
        let styles = styles(given, system);
        let any = styles.values().fold(Style::default(), |all, one| Style {
            errors: all.errors || one.errors,
            latency: all.latency || one.latency,
        });
        let speaks_of_requests = any != Style::default();
        let affected: BTreeMap<usize, u32> = depths
            .into_iter()
            .filter(|(service, _)| holder != Some(*service))
            .filter(|(service, _)| surge.is_none_or(|(sender, ..)| sender != *service))
            .collect();
        let sinks: BTreeSet<usize> = affected
            .keys()
            .filter(|one| {
                let reached = system.reached_by_calls(**one);
                !affected.keys().any(|other| other != *one && reached.contains(other))
            })
            .copied()
            .collect();
        let nearest = affected.values().min().copied();
        let mut hits = BTreeMap::new();
        for (&service, &depth) in &affected {
            let is_local = sinks.contains(&service) || (sinks.is_empty() && Some(depth) == nearest);
            let own = styles.get(&service).copied();
            let hop = depth as Ms * (4 * SECOND + draw.between(0, 6_000) as Ms);
            let onset = at + 12 * SECOND + draw.between(0, 15_000) as Ms + hop;
            let (chance, slower) = (0.3 + 0.4 * draw.share(), 400.0 + 1_600.0 * draw.share());
            let style = own.unwrap_or(any);
            let hit = if is_local {
                let down = speaks_of_requests
                    && roots.iter().any(|root| root.fault.takes_down(&words))
                    && system.services[service].role != Role::Sending;
                let errors = style.errors || (any.errors && own.is_none());
                let latency = style.latency || any.latency;
                Hit {
                    onset,
                    errors: if errors { chance } else { 0.0 },
                    slower: if latency { slower } else { 0.0 },
                    down,
                    carries: 0.0,
                }
            } else {
                let carries = if style.errors { 0.9 } else { 0.0 };
                Hit { onset, carries, ..Hit::default() }
            };
            hits.insert(service, hit);
        }
        let onset = |service: usize| hits.get(&service).map_or(at + 20 * SECOND, |hit| hit.onset);
        let mut alerts: Vec<Alert> = given
            .alert_pairs()
            .into_iter()
            .map(|(name, group)| {
                let service = group.as_ref().and_then(|id| system.of_group.get(id).copied());
                let group = given.groups.iter().find(|one| Some(&one.id) == group.as_ref());
                let kind = group.map_or("Service".to_owned(), |group| group.kind.clone());
                let active = service.map_or(at + 20 * SECOND, onset);
                let active = active + MINUTE + draw.between(0, 90_000) as Ms;
                Alert { name, kind, service, active }
            })
            .collect();
        if !alerts.iter().any(|alert| alert.service.is_some()) {
            // A truth without usable alerts: those who are hit are alerted on.
            alerts = hits
                .iter()
                .map(|(service, hit)| Alert {
                    name: "RequestErrorRate".to_owned(),
                    kind: "Service".to_owned(),
                    service: Some(*service),
                    active: hit.onset + MINUTE + draw.between(0, 90_000) as Ms,
                })
                .collect();
        }
        Self { at, roots, hits, holder, surge, alerts }
    }

    /// What is wrong with a service at a time.
    pub(super) fn hit(&self, service: usize, at: Ms) -> Option<&Hit> {
        self.hits.get(&service).filter(|hit| hit.onset <= at)
    }
}

/// The service that reads a changed ConfigMap and tells others: its name begins that of the map.
fn holder(root: &Root, given: &Scenario, system: &System) -> Option<usize> {
    if !matches!(root.fault, Fault::Data(..)) {
        return None;
    }
    let begins = |name: &str| {
        root.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let named = system.services.iter().enumerate().filter(|(_, service)| begins(&service.name));
    let longest = named.max_by_key(|(_, service)| service.name.len()).map(|(at, _)| at);
    // A service that fails itself reads its own map.
    let alerted = system.alerted(given);
    longest.filter(|at| !alerted.contains(at))
}

/// A sender of load in the chain, or that is the root cause.
fn surge(given: &Scenario, roots: &[Root], system: &System) -> Option<usize> {
    let by_root = roots.iter().find(|root| root.fault == Fault::Demand).and_then(|r| r.service);
    let in_chain = given
        .propagations
        .iter()
        .flat_map(|edge| [&edge.source, &edge.target])
        .filter_map(|group| system.of_group.get(group))
        .find(|at| system.services[**at].role == Role::Sending);
    by_root.or(in_chain.copied())
}

/// How many steps of the truth's chain lead to each service; without a chain, callers of the
/// services that the root causes reach first.
fn depths(given: &Scenario, system: &System, roots: &[Root]) -> BTreeMap<usize, u32> {
    let mut depths: BTreeMap<usize, u32> = BTreeMap::new();
    let mut queue: VecDeque<(&str, u32)> = given
        .groups
        .iter()
        .filter(|group| group.root_cause)
        .map(|group| (group.id.as_str(), 0))
        .collect();
    let mut seen: BTreeSet<&str> = queue.iter().map(|(id, _)| *id).collect();
    while let Some((id, depth)) = queue.pop_front() {
        if let Some(service) = system.of_group.get(id) {
            depths.entry(*service).or_insert(depth);
        }
        let aliases = given.aliases.iter().filter(|class| class.iter().any(|other| other == id));
        for other in aliases.flatten() {
            if seen.insert(other) {
                queue.push_front((other, depth));
            }
        }
        for edge in given.propagations.iter().filter(|edge| edge.source == id) {
            if seen.insert(&edge.target) {
                queue.push_back((&edge.target, depth + 1));
            }
        }
    }
    if given.propagations.is_empty() {
        let mut open: VecDeque<(usize, u32)> =
            roots.iter().flat_map(|root| root.first.iter().map(|at| (*at, 1))).collect();
        while let Some((at, depth)) = open.pop_front() {
            if depths.contains_key(&at) && depth > 1 {
                continue;
            }
            depths.insert(at, depth);
            let callers = system.calls.iter().filter(|c| c.to == at && !c.consumes);
            let callers = callers.filter(|c| system.services[c.from].role != Role::Sending);
            open.extend(callers.map(|c| (c.from, depth + 1)));
        }
    }
    depths
}

/// What the alerts of each service speak of.
fn styles(given: &Scenario, system: &System) -> BTreeMap<usize, Style> {
    let mut styles: BTreeMap<usize, Style> = BTreeMap::new();
    for (name, group) in given.alert_pairs() {
        let service = group.and_then(|group| system.of_group.get(&group).copied());
        let Some(service) = service else { continue };
        let word = key(&name);
        let is_request = ["error", "latency", "request", "duration", "closure", "lag", "fail"]
            .iter()
            .any(|part| word.contains(part))
            && !word.contains("pod");
        if is_request {
            let style = styles.entry(service).or_default();
            let slow = word.contains("latency") || word.contains("duration");
            style.latency |= slow;
            style.errors |= !slow;
        }
    }
    if given.alerts.is_empty() {
        let all = (0..system.services.len())
            .map(|service| (service, Style { errors: true, latency: false }));
        styles.extend(all);
    }
    styles
}
