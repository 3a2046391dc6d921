//! The conditions of `confirmed` beside need and order: a measured onset, an observed path, and a
//! change that is not there by chance.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::claims::{ClaimGraph, wide};
use super::coverage::{
    OnsetOf, Target, earliest_floors, explains_itself, is_explained, latest_floors,
};
use super::frontier::Found;
use super::{Chance, CitedChange, Doubt, MeasuredHarm};
use crate::belief::Belief;
use crate::evidence::{EvidenceKind, EvidenceTime, Signal, Trend};
use crate::ids::{EntityId, EvidenceId};
use crate::incident::case::{RecordedChange, Unusable};
use crate::incident::onset::Onset;
use crate::incident::topology::{OWNERSHIP_RELATION, REQUEST_RELATIONS};
use crate::state::{Seen, State};

/// The chance of error that `confirmed` admits, in hundredths of a percent: 5 %, the usual level.
pub(super) const ADMITTED: u32 = 500;

/// Most changes of a group that are listed as open.
const MAX_OPEN_CHANGES: usize = 8;

/// A source of which more than 1 in this many records could not be used may hide a rival, or an earlier
/// onset, with more than the chance that `confirmed` admits.
const MAX_UNUSABLE: u64 = 20;

/// Weighs the groups of one frontier, and keeps what several of them ask for.
pub(super) struct Promises<'s> {
    state: &'s State,
    graph: &'s ClaimGraph<'s>,
    /// Made when it is first asked for.
    calls: Option<Calls>,
    /// The entities that can affect an entity over declared directions and live claims.
    upstream: BTreeMap<EntityId, BTreeSet<EntityId>>,
}

/// What is known of the calls that claims cross.
struct Calls {
    /// The callee of the call that each claim crosses, if it crosses one.
    callees: Vec<Option<u32>>,
    /// Since when each entity shows dated harm of its own.
    harmed: Vec<Option<Timestamp>>,
}

impl Calls {
    fn new(state: &State, graph: &ClaimGraph<'_>) -> Self {
        let callees = graph.claims().map(|claim| callee(state, graph, claim)).collect();
        Self { callees, harmed: harmed(state, graph) }
    }

    /// The callee of the call that a claim crosses, if it shows no harm by a time.
    fn unseen(&self, claim: u32, by: Timestamp) -> Option<u32> {
        let shows = |callee: u32| self.harmed[wide(callee)].is_some_and(|since| since <= by);
        self.callees[wide(claim)].filter(|callee| !shows(*callee))
    }
}

/// A cited change with the interval in which it was made.
struct Cited {
    change: CitedChange,
    made: Onset,
}

impl<'s> Promises<'s> {
    pub(super) fn new(state: &'s State, graph: &'s ClaimGraph<'s>) -> Self {
        Self { state, graph, calls: None, upstream: BTreeMap::new() }
    }

    /// Finds the change that is put forward for a group, and every doubt that follows from times, paths
    /// and the record.
    pub(super) fn weigh(&mut self, found: &mut Found) {
        let cited = self.cited(found);
        found.group.change = cited.first().map(|cited| cited.change.clone());
        if found.group.covers.is_empty() {
            return;
        }
        if cited.is_empty() {
            let none = self.without_change(found);
            found.group.doubts.push(none);
            return;
        }
        let harm = self.harm(found);
        let chosen = best(&cited, harm.as_ref());
        found.group.change = Some(chosen.change.clone());
        match &harm {
            None => found.group.doubts.push(Doubt::NoMeasuredOnset),
            Some(harm) if !chosen.made.can_precede(&harm.onset) => {
                found.group.doubts.push(Doubt::AfterOnset {
                    entity: harm.entity.clone(),
                    harm: harm.onset,
                    change: chosen.made,
                });
            }
            Some(harm) => self.compare(found, chosen, harm),
        }
        if let Some(doubt) = harm.as_ref().and_then(|harm| self.sibling(found, chosen, harm)) {
            found.group.doubts.push(doubt);
        }
        if let Some(doubt) = self.moved_before(found, chosen) {
            found.group.doubts.push(doubt);
        }
        if let Some(doubt) = self.unseen(found) {
            found.group.doubts.push(doubt);
        }
        found.group.harm = harm;
    }

    fn without_change(&self, found: &Found) -> Doubt {
        let origins = &found.group.origins;
        let outside = self.state.outside();
        if let Some(system) = origins.iter().find(|origin| outside.contains_key(*origin)) {
            return Doubt::OutsideOfTopology { system: system.clone() };
        }
        match &self.state.record {
            Some(record) if !record.changes.iter().any(|c| origins.contains(&c.entity)) => {
                Doubt::NoChangeOnRecord { origins: origins.clone() }
            }
            _ => Doubt::CitesNoChange,
        }
    }

    /// The changes that the members cite, earliest first.
    fn cited(&self, found: &Found) -> Vec<Cited> {
        let nodes = found.group.origins.iter().filter_map(|origin| self.state.get(origin));
        let mut cited: Vec<Cited> = nodes
            .flat_map(|node| {
                let ids = node.belief.iter().flat_map(Belief::cited);
                ids.filter(|id| id.kind() == EvidenceKind::Change).filter_map(|id| {
                    let seen = node.seen.get(&id)?;
                    let at = seen.time.start();
                    Some(Cited { change: CitedChange { id, at }, made: interval(seen) })
                })
            })
            .collect();
        cited.sort_by(|a, b| (a.change.at, &a.change.id).cmp(&(b.change.at, &b.change.id)));
        cited
    }

    /// The earliest measured onset of harm on a path to a covered anomaly of the same signal: that
    /// which ended first.
    fn harm(&self, found: &Found) -> Option<MeasuredHarm> {
        let floors = earliest_floors(self.graph, &found.members, |_| true);
        let signal_of = |onset: &OnsetOf| self.state.anomalies.get(onset.0).map(|a| a.signal);
        let signals: BTreeSet<Signal> = found.onsets.iter().filter_map(signal_of).collect();
        let measured = signals.into_iter().flat_map(|signal| {
            let of_signal = found.onsets.iter().filter(|it| signal_of(it) == Some(signal));
            let targets = targets_of(self.state, self.graph, of_signal.copied());
            self.harm_on(&self.path(&found.members, &floors, &targets), signal)
        });
        measured.min_by(|a, b| {
            let key = |harm: &MeasuredHarm| (harm.onset.latest(), harm.onset.earliest());
            key(a).cmp(&key(b)).then_with(|| a.finding.cmp(&b.finding))
        })
    }

    /// The entities on consistent chains from the members to the targets.
    fn path(
        &self,
        members: &[u32],
        floors: &[Option<Timestamp>],
        targets: &[Target<'_>],
    ) -> BTreeSet<u32> {
        let limits = latest_floors(self.graph, targets, |_| true);
        let mut path = BTreeSet::new();
        for claim in self.graph.claims() {
            let link = self.graph.claim(claim);
            let floor = floors[wide(link.cause)].and_then(|f| self.graph.forward(claim, f));
            let Some(floor) = floor else { continue };
            let ends = targets.iter().any(|target| {
                target.entity == link.effect
                    && floor <= target.onset
                    && target.is_among(link.explains())
            });
            if ends || limits[wide(link.effect)].is_some_and(|limit| floor <= limit) {
                path.extend([link.cause, link.effect]);
            }
        }
        for (&member, target) in members.iter().flat_map(|m| targets.iter().map(move |t| (m, t))) {
            if explains_itself(self.state, self.graph, member, target) {
                path.insert(member);
            }
        }
        path
    }

    /// Harm of a kind with a measured onset that the beliefs of a path cite, or their claims within it.
    fn harm_on(&self, path: &BTreeSet<u32>, signal: Signal) -> Vec<MeasuredHarm> {
        let mut measured = Vec::new();
        for &entity in path {
            let node = self.state.get(self.graph.name(entity));
            let Some(belief) = node.and_then(|node| node.belief.as_ref()) else { continue };
            let own = belief.evidence.iter().map(|id| (entity, id));
            let number = |end: &EntityId| self.graph.number(end).filter(|end| path.contains(end));
            let claimed = belief.claims.iter().flat_map(|claim| {
                let ends = number(&claim.cause).zip(number(&claim.effect));
                let ends = ends.into_iter().flat_map(|(cause, effect)| [cause, effect]);
                ends.flat_map(|end| claim.evidence.iter().map(move |id| (end, id)))
            });
            for (holder, id) in own.chain(claimed) {
                let holder = self.graph.name(holder);
                let seen = self.state.get(holder).and_then(|node| node.seen.get(id));
                if let Some(seen) = seen.filter(|seen| seen.signal == signal && is_harm(id, seen))
                    && let Some(onset) = seen.onset
                {
                    measured.push(MeasuredHarm {
                        entity: holder.clone(),
                        finding: id.clone(),
                        onset,
                    });
                }
            }
        }
        measured
    }

    /// The first call, by name, that a covered anomaly is explained across and whose callee shows no
    /// harm before that anomaly.
    fn unseen(&mut self, found: &Found) -> Option<Doubt> {
        let mut anomalies: BTreeMap<usize, OnsetOf> = BTreeMap::new();
        for onset in &found.onsets {
            anomalies.entry(onset.0).or_insert(*onset);
        }
        let (state, graph) = (self.state, self.graph);
        let calls = &*self.calls.get_or_insert_with(|| Calls::new(state, graph));
        for (anomaly, onset) in anomalies {
            let targets = targets_of(state, graph, [onset]);
            let Some(target) = targets.first() else { continue };
            let seen = |claim: u32| calls.unseen(claim, target.onset).is_none();
            let labels = latest_floors(graph, &targets, seen);
            let is_seen = |&member: &u32| is_explained(state, graph, member, target, &labels);
            if found.members.iter().any(is_seen) {
                continue;
            }
            let floors = earliest_floors(graph, &found.members, seen);
            let limits = latest_floors(graph, &targets, |_| true);
            let blocks = |claim: u32| {
                let callee = calls.unseen(claim, target.onset)?;
                let link = graph.claim(claim);
                let floor = graph.forward(claim, floors[wide(link.cause)]?)?;
                let leads = link.effect == target.entity
                    || limits[wide(link.effect)].is_some_and(|limit| floor <= limit);
                leads.then(|| graph.name(callee))
            };
            let anomaly = &state.anomalies[anomaly];
            let callee = graph.claims().filter_map(blocks).min().unwrap_or(&anomaly.entity);
            return Some(Doubt::PathNotSeen {
                callee: callee.clone(),
                name: anomaly.name.clone(),
                entity: anomaly.entity.clone(),
            });
        }
        None
    }

    /// Compares the change with the others on record.
    fn compare(&mut self, found: &mut Found, chosen: &Cited, harm: &MeasuredHarm) {
        let Some(record) = self.state.record.clone() else {
            return found.group.doubts.push(Doubt::NoRecord);
        };
        let made_by: BTreeSet<EntityId> =
            found.group.origins.iter().flat_map(|origin| self.makes(origin)).collect();
        let makers: Vec<EntityId> =
            found.group.origins.iter().flat_map(|o| self.makers(o)).collect();
        let mut acts: BTreeSet<(&EntityId, Onset)> = BTreeSet::new();
        let mut others: Vec<&RecordedChange> = Vec::new();
        for change in &record.changes {
            let own = found.group.origins.contains(&change.entity);
            let is_shared = found.group.shared_change.as_ref().is_some_and(|it| it.is(change));
            let is_chosen = is_shared || own && overlap(&change.made, &chosen.made);
            let is_made =
                !own && made_by.contains(&change.entity) && chosen.made.can_precede(&change.made);
            let makes = makers.contains(&change.entity) && overlap(&change.made, &chosen.made);
            if is_chosen || is_made || makes || !self.reaches_all(&found.group.covers, change) {
                continue;
            }
            // What one act changes of one entity is one change.
            if acts.insert((&change.entity, change.made)) {
                others.push(change);
            }
        }
        let changes = u32::try_from(others.len()).unwrap_or(u32::MAX).saturating_add(1);
        let span = seconds(record.span.start(), record.span.end());
        let delay = |made: &Onset| seconds(made.earliest(), harm.onset.latest());
        let chance = Chance::new(changes, delay(&chosen.made), span);
        if chance.basis_points > ADMITTED {
            found.group.doubts.push(Doubt::ByChance(chance));
        }
        found.group.chance = Some(chance);
        // Between the two alone: by all of them, one more change would take the doubt away.
        let fits = |other: &&&RecordedChange| {
            other.made.can_precede(&harm.onset)
                && Chance::new(2, delay(&other.made), span).basis_points <= ADMITTED
        };
        // Of two that fit, the entity is as certain where both are its own.
        let is_own = |change: &&RecordedChange| found.group.origins.contains(&change.entity);
        let (own, rivals): (Vec<&RecordedChange>, Vec<_>) =
            others.iter().filter(fits).copied().partition(is_own);
        found.group.open_changes = own.into_iter().take(MAX_OPEN_CHANGES).cloned().collect();
        if let Some(rival) = rivals.first() {
            found.group.doubts.push(Doubt::FitsAlike {
                entity: rival.entity.clone(),
                what: rival.what.clone(),
                made: rival.made,
            });
        }
    }

    /// A sibling of a changed member that shows harm of the same kind no later than harm began on the way, though it was not
    /// changed then: the first by name. What befalls one of several alike is their own; what befalls others as early
    /// is not of its change.
    fn sibling(&self, found: &Found, chosen: &Cited, harm: &MeasuredHarm) -> Option<Doubt> {
        let signal = |holder: &EntityId, id: &EvidenceId| {
            self.state.get(holder).and_then(|node| node.seen.get(id)).map(|seen| seen.signal)
        };
        let kind = signal(&harm.entity, &harm.finding)?;
        let changes = self.state.record.as_ref().map_or(&[][..], |record| &record.changes);
        let changed_then = |entity: &EntityId| {
            let mut own = changes.iter().filter(|change| change.entity == *entity);
            own.any(|change| overlap(&change.made, &chosen.made))
        };
        let since = |entity: &EntityId| {
            let seen = self.state.get(entity)?.seen.iter();
            let onsets = seen.filter(|(id, seen)| seen.signal == kind && is_harm(id, seen));
            let onsets = onsets.filter_map(|(_, seen)| seen.onset);
            let first = onsets.min_by_key(|onset| (onset.latest(), onset.earliest()))?;
            first.can_precede(&harm.onset).then_some(first)
        };
        let siblings: BTreeSet<EntityId> = found
            .group
            .origins
            .iter()
            .filter(|origin| self.cites_change(origin, &chosen.change.id))
            .flat_map(|origin| self.siblings(origin))
            .filter(|sibling| !found.group.origins.contains(sibling) && !changed_then(sibling))
            .collect();
        let alike = siblings.into_iter().find_map(|entity| Some((since(&entity)?, entity)));
        alike.map(|(harm, entity)| Doubt::SiblingAlike { entity, harm })
    }

    /// Load on a member that rose, or harm of an entity upstream of one that began, surely before the change was made: the
    /// first by name. The harm that the change stands for may have come with it.
    fn moved_before(&mut self, found: &Found, chosen: &Cited) -> Option<Doubt> {
        let (state, graph) = (self.state, self.graph);
        let mut behind: BTreeSet<EntityId> = BTreeSet::new();
        for origin in &found.group.origins {
            let upstream = self.upstream.entry(origin.clone());
            behind.extend(
                upstream.or_insert_with(|| upstream_of(state, graph, origin)).iter().cloned(),
            );
        }
        behind.into_iter().find_map(|entity| {
            let is_member = found.group.origins.contains(&entity);
            let counts = |id: &EvidenceId, seen: &Seen| match is_member {
                true => is_load(id, seen),
                false => is_measured(id) && is_harm(id, seen) && !is_load(id, seen),
            };
            let seen = state.get(&entity)?.seen.iter();
            let onsets = seen.filter(|(id, seen)| counts(id, seen)).filter_map(|(_, it)| it.onset);
            let mut before = onsets.filter(|onset| !chosen.made.can_precede(onset));
            let since = before.next()?;
            Some(Doubt::MovedBefore { entity, is_load: is_member, since, change: chosen.made })
        })
    }

    fn cites_change(&self, origin: &EntityId, change: &EvidenceId) -> bool {
        self.state.get(origin).is_some_and(|node| node.seen.contains_key(change))
    }

    /// Others that stand to the same whole as an entity does: by the same relation, over which their state becomes that of
    /// the whole. Callees of the same caller are no siblings.
    fn siblings(&self, entity: &EntityId) -> BTreeSet<EntityId> {
        let topology = &self.state.topology;
        let wholes = topology.edges_at(entity).filter(|edge| {
            let is_part = edge.target == *entity && edge.carries(entity, &edge.source);
            is_part && !REQUEST_RELATIONS.contains(&edge.relation.as_str())
        });
        let parts = wholes.flat_map(|whole| {
            let edges = topology.edges_at(&whole.source);
            edges.filter(|edge| edge.source == whole.source && edge.relation == whole.relation)
        });
        parts.map(|edge| edge.target.clone()).filter(|part| part != entity).collect()
    }

    fn reaches_all(&mut self, covers: &[usize], change: &RecordedChange) -> bool {
        let (state, graph) = (self.state, self.graph);
        covers.iter().filter_map(|&anomaly| state.anomalies.get(anomaly)).all(|anomaly| {
            let found = self.upstream.entry(anomaly.entity.clone());
            found
                .or_insert_with(|| upstream_of(state, graph, &anomaly.entity))
                .contains(&change.entity)
        })
    }

    /// All that an entity owns, and what that owns.
    fn makes(&self, owner: &EntityId) -> BTreeSet<EntityId> {
        closure(owner, |entity| {
            let edges = self.state.topology.edges_at(entity);
            let owned = edges.filter(|e| e.relation == OWNERSHIP_RELATION && e.source == *entity);
            owned.map(|edge| edge.target.clone()).collect()
        })
    }

    /// The owners of an entity, and theirs.
    fn makers(&self, owned: &EntityId) -> BTreeSet<EntityId> {
        let mut makers = closure(owned, |entity| {
            let edges = self.state.topology.edges_at(entity);
            let owners = edges.filter(|e| e.relation == OWNERSHIP_RELATION && e.target == *entity);
            owners.map(|edge| edge.source.clone()).collect()
        });
        makers.remove(owned);
        makers
    }
}

/// The doubts about sources of which a considerable share could not be used.
pub(super) fn unusable(state: &State) -> impl Iterator<Item = Doubt> + '_ {
    let considerable = |it: &&Unusable| it.unusable.saturating_mul(MAX_UNUSABLE) > it.records;
    state.unusable.iter().filter(considerable).map(|it| Doubt::Unusable {
        source: it.source.clone(),
        records: it.records,
        unusable: it.unusable,
    })
}

/// The cited change that fits the onset best: the last that can precede it. Without an
/// onset, or where all come after it, the earliest.
fn best<'c>(cited: &'c [Cited], harm: Option<&MeasuredHarm>) -> &'c Cited {
    let before = |cited: &&Cited| harm.is_some_and(|harm| cited.made.can_precede(&harm.onset));
    let fitting = cited.iter().filter(before).max_by_key(|cited| cited.made.earliest());
    fitting.unwrap_or(&cited[0])
}

fn targets_of<'s>(
    state: &'s State,
    graph: &ClaimGraph<'_>,
    onsets: impl IntoIterator<Item = OnsetOf>,
) -> Vec<Target<'s>> {
    let target = |(anomaly, number): OnsetOf| {
        let anomaly = state.anomalies.get(anomaly)?;
        Target::of(graph, anomaly, anomaly.onsets().nth(number)?)
    };
    onsets.into_iter().filter_map(target).collect()
}

fn interval(seen: &Seen) -> Onset {
    seen.onset.unwrap_or(match seen.time {
        EvidenceTime::At(at) => Onset::at(at),
        EvidenceTime::During(window) => Onset::between(window.start(), window.end()),
    })
}

fn overlap(a: &Onset, b: &Onset) -> bool {
    a.can_precede(b) && b.can_precede(a)
}

/// Whether a finding is a measured series, and not a record of single occurrences.
fn is_measured(id: &EvidenceId) -> bool {
    matches!(id.kind(), EvidenceKind::Metric | EvidenceKind::Span)
}

/// Whether a finding shows more load than usual.
fn is_load(id: &EvidenceId, seen: &Seen) -> bool {
    let is_rate = matches!(seen.signal, Signal::Traffic | Signal::Demand);
    is_measured(id) && is_rate && seen.trend == Trend::Rising
}

/// Whether a finding shows harm: alerts speak of their threshold, notes and changes of something
/// else, and a fall is harm only of what should be much.
fn is_harm(id: &EvidenceId, seen: &Seen) -> bool {
    let speaks = match id.kind() {
        EvidenceKind::Change | EvidenceKind::Alert | EvidenceKind::Note => false,
        EvidenceKind::Event => seen.trend != Trend::Falling,
        // More lines of the usual kind are no harm.
        EvidenceKind::Log if seen.signal == Signal::Other => false,
        EvidenceKind::Metric | EvidenceKind::Log | EvidenceKind::Span => match seen.signal {
            Signal::Output => seen.trend == Trend::Falling,
            Signal::Traffic => seen.trend != Trend::Steady,
            _ => seen.trend == Trend::Rising,
        },
    };
    let is_quantity_of_harm = !matches!(
        seen.signal,
        Signal::Configuration
            | Signal::Demand
            | Signal::Restart
            | Signal::Experiment
            | Signal::Route
            | Signal::Impact
    );
    speaks && is_quantity_of_harm
}

/// Since when each entity shows dated harm of its own: by findings with an onset, by events, by its own
/// alerts.
fn harmed(state: &State, graph: &ClaimGraph<'_>) -> Vec<Option<Timestamp>> {
    let mut harmed: Vec<Option<Timestamp>> = vec![None; graph.entities()];
    let mut note = |entity: u32, at: Timestamp| {
        let since = &mut harmed[wide(entity)];
        *since = Some(since.map_or(at, |since| since.min(at)));
    };
    for (entity, node) in &state.nodes {
        let Some(number) = graph.number(entity) else { continue };
        for (id, seen) in node.seen.iter().filter(|(id, seen)| is_harm(id, seen)) {
            let instant = match seen.time {
                EvidenceTime::At(at) if id.kind() == EvidenceKind::Event => Some(at),
                _ => None,
            };
            let since = seen.onset.map(|onset| onset.earliest()).or(instant);
            since.into_iter().for_each(|since| note(number, since));
        }
    }
    for anomaly in &state.anomalies {
        if let Some(number) = graph.number(&anomaly.entity) {
            note(number, anomaly.onset);
        }
    }
    harmed
}

/// The callee of the call that a claim crosses. Where a declared relation of another kind carries the
/// effect, it crosses none; where nothing is declared, it may be a call, and the cause would be
/// the callee.
fn callee(state: &State, graph: &ClaimGraph<'_>, claim: u32) -> Option<u32> {
    let link = graph.claim(claim);
    let (cause, effect) = (graph.name(link.cause), graph.name(link.effect));
    let mut called = None;
    // Of a hub and its neighbour, the neighbour has fewer edges.
    let is_hub = state.topology.edges_at(effect).nth(64).is_some();
    for edge in state.topology.edges_at(if is_hub { cause } else { effect }) {
        let joins = (edge.source == *cause && edge.target == *effect)
            || (edge.source == *effect && edge.target == *cause);
        let is_request = REQUEST_RELATIONS.contains(&edge.relation.as_str());
        if joins && !is_request && edge.carries(cause, effect) {
            return None;
        }
        if joins && is_request && called != Some(link.cause) {
            called = Some(if edge.target == *cause { link.cause } else { link.effect });
        }
    }
    called.or(Some(link.cause))
}

/// All entities that can affect an entity, itself included, over declared directions and live
/// claims.
fn upstream_of(state: &State, graph: &ClaimGraph<'_>, entity: &EntityId) -> BTreeSet<EntityId> {
    closure(entity, |affected| {
        let edges = state.topology.edges_at(affected);
        let declared = edges.flat_map(|edge| {
            let other = if edge.source == *affected { &edge.target } else { &edge.source };
            edge.carries(other, affected).then(|| other.clone())
        });
        let claims = graph.number(affected).map(|number| graph.claims_to(number));
        let claimed = claims.into_iter().flatten();
        declared.chain(claimed.map(|&claim| graph.name(graph.claim(claim).cause).clone())).collect()
    })
}

fn closure(start: &EntityId, next: impl Fn(&EntityId) -> Vec<EntityId>) -> BTreeSet<EntityId> {
    let mut reached = BTreeSet::from([start.clone()]);
    let mut queue = vec![start.clone()];
    while let Some(entity) = queue.pop() {
        for other in next(&entity) {
            if reached.insert(other.clone()) {
                queue.push(other);
            }
        }
    }
    reached
}

/// Whole seconds from one instant to a later one, rounded up; 0 if it is not later.
fn seconds(from: Timestamp, to: Timestamp) -> u64 {
    let nanos = u128::try_from(to.as_nanosecond() - from.as_nanosecond()).unwrap_or(0);
    u64::try_from(nanos.div_ceil(1_000_000_000)).unwrap_or(u64::MAX)
}
