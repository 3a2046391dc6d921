//! What has happened so far, as flat lists.

use std::collections::BTreeSet;

use eog_core::Timestamp;
use eog_core::belief::ClaimEdge;
use eog_core::contract::Hint;
use eog_core::incident::{Direction, Edge, Neighbour};
use eog_core::{
    Belief, Case, Claim, ContextRequest, EntityId, EvidenceId, Finding, LocalContext, Message,
};

/// A belief that arrived: after how many evaluations, sender, receiver, and whether it was to wake
/// the receiver.
struct Arrival {
    after: usize,
    wakes: bool,
    from: EntityId,
    to: EntityId,
    belief: Belief,
}

/// One finished evaluation.
struct Evaluated {
    entity: EntityId,
    ended: Ended,
}

/// How an evaluation ended.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ended {
    Judged,
    Failed,
    /// It asked for another page, and goes on with it.
    PageTurned,
}

impl Evaluated {
    /// Whether it counts as a visit of this entity.
    fn is_visit(&self, entity: &EntityId) -> bool {
        self.entity == *entity && self.ended != Ended::PageTurned
    }

    /// Whether messages that had come before it were read by it.
    fn read(&self, entity: &EntityId) -> bool {
        self.entity == *entity && self.ended == Ended::Judged
    }
}

pub(crate) struct History {
    case: Case,
    named: BTreeSet<EntityId>,
    evaluated: Vec<Evaluated>,
    arrivals: Vec<Arrival>,
    /// Who said what, and how many contexts had been seen by then.
    broadcasts: Vec<(EntityId, Belief, usize)>,
    claims: Vec<ClaimEdge>,
    contexts: Vec<(EntityId, LocalContext)>,
}

impl History {
    pub(crate) fn new(case: &Case) -> Self {
        Self {
            case: case.clone(),
            named: BTreeSet::new(),
            evaluated: Vec::new(),
            arrivals: Vec::new(),
            broadcasts: Vec::new(),
            claims: Vec::new(),
            contexts: Vec::new(),
        }
    }

    /// How many evaluations have ended.
    pub(crate) fn evaluations(&self) -> u64 {
        self.evaluated.len() as u64
    }

    /// How many evaluations of others came after an entity's latest one.
    pub(crate) fn others_since(&self, entity: &EntityId) -> Option<usize> {
        let last = self.evaluated.iter().rposition(|e| e.is_visit(entity))?;
        Some(self.evaluated.len() - 1 - last)
    }

    /// Ends an evaluation. Its consequences come after it.
    pub(crate) fn finish(&mut self, entity: &EntityId, ended: Ended) {
        self.evaluated.push(Evaluated { entity: entity.clone(), ended });
    }

    pub(crate) fn visits(&self, entity: &EntityId) -> u32 {
        let count = self.evaluated.iter().filter(|e| e.is_visit(entity)).count();
        u32::try_from(count).expect("is small")
    }

    pub(crate) fn request(&self, entity: &EntityId, page: u32) -> ContextRequest {
        ContextRequest {
            entity: entity.clone(),
            window: self.case.window,
            page,
            visit: self.visits(entity) + 1,
            changed_neighbours: self.unread(entity),
            query: None,
        }
    }

    /// Whether some unread message has another label than its sender's message read last.
    pub(crate) fn has_label_change(&self, entity: &EntityId) -> bool {
        let read = self.evaluated.iter().rposition(|e| e.read(entity));
        self.unread(entity).iter().any(|sender| {
            let from_it = |arrival: &&Arrival| arrival.to == *entity && arrival.from == *sender;
            let arrivals = || self.arrivals.iter().filter(from_it);
            let latest = arrivals().next_back().map(|arrival| arrival.belief.label);
            let known = arrivals().rfind(|arrival| read.is_some_and(|read| arrival.after <= read));
            latest != known.map(|arrival| arrival.belief.label)
        })
    }

    /// How far an entity is from the nearest seed over the adjacency as it stands.
    pub(crate) fn distance(&self, entity: &EntityId) -> usize {
        let mut reached: BTreeSet<EntityId> =
            self.case.seeds.iter().map(|seed| seed.entity.clone()).collect();
        let mut hops = 0;
        while !reached.contains(entity) {
            let next: BTreeSet<EntityId> = reached.iter().flat_map(|e| self.adjacent(e)).collect();
            if next.is_subset(&reached) {
                return usize::MAX;
            }
            reached.extend(next);
            hops += 1;
        }
        hops
    }

    /// The senders of messages that came after the entity's last evaluation that did not fail.
    pub(crate) fn unread(&self, entity: &EntityId) -> BTreeSet<EntityId> {
        let read = self.evaluated.iter().rposition(|e| e.read(entity));
        let new = |arrival: &&Arrival| read.is_none_or(|read| arrival.after > read);
        let arrivals = self.arrivals.iter().filter(|arrival| arrival.to == *entity).filter(new);
        arrivals.map(|arrival| arrival.from.clone()).collect()
    }

    /// Visited entities that received something since then that was to wake them, by name.
    pub(crate) fn unread_wakes(&self) -> Vec<EntityId> {
        let visits = self.evaluated.iter().filter(|e| e.is_visit(&e.entity));
        let visited: BTreeSet<&EntityId> = visits.map(|e| &e.entity).collect();
        let calls = |entity: &&&EntityId| {
            let read = self.evaluated.iter().rposition(|e| e.read(entity));
            let mut arrivals = self.arrivals.iter().filter(|arrival| arrival.to == ***entity);
            arrivals.any(|arrival| arrival.wakes && read.is_none_or(|read| arrival.after > read))
        };
        visited.iter().filter(calls).map(|entity| (*entity).clone()).collect()
    }

    /// Whether an entity's last evaluation did not fail.
    pub(crate) fn last_succeeded(&self, entity: &EntityId) -> bool {
        let last = self.evaluated.iter().rfind(|e| e.is_visit(entity));
        last.is_some_and(|last| last.ended == Ended::Judged)
    }

    /// The last onset of an anomaly.
    pub(crate) fn last_onset(&self, at: usize) -> Option<Timestamp> {
        self.case.anomalies[at].onsets().max()
    }

    /// The declared edges.
    pub(crate) fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.case.topology.edges()
    }

    /// The entity of each anomaly.
    pub(crate) fn alerting(&self) -> Vec<EntityId> {
        self.case.anomalies.iter().map(|anomaly| anomaly.entity.clone()).collect()
    }

    /// Entity and name of an anomaly.
    pub(crate) fn anomaly(&self, at: usize) -> (EntityId, String) {
        let anomaly = &self.case.anomalies[at];
        (anomaly.entity.clone(), anomaly.name.clone())
    }

    /// The latest message of each sender, by sender.
    pub(crate) fn inbox(&self, entity: &EntityId) -> Vec<Message> {
        let arrivals = || self.arrivals.iter().filter(|arrival| arrival.to == *entity);
        let senders: BTreeSet<&EntityId> = arrivals().map(|arrival| &arrival.from).collect();
        let latest = |sender: &EntityId| {
            let last = arrivals().rfind(|arrival| arrival.from == *sender);
            last.map(|arrival| Message { sender: sender.clone(), belief: arrival.belief.clone() })
        };
        senders.into_iter().filter_map(latest).collect()
    }

    pub(crate) fn arrive(&mut self, from: &EntityId, to: &EntityId, belief: &Belief, wakes: bool) {
        let (from, to, belief) = (from.clone(), to.clone(), belief.clone());
        self.arrivals.push(Arrival { after: self.evaluated.len(), wakes, from, to, belief });
    }

    pub(crate) fn broadcast(&mut self, from: &EntityId, belief: &Belief) {
        self.broadcasts.push((from.clone(), belief.clone(), self.contexts.len()));
    }

    pub(crate) fn last_broadcast(&self, from: &EntityId) -> Option<Belief> {
        let last = self.broadcasts.iter().rfind(|(sender, ..)| sender == from);
        last.map(|(_, belief, _)| belief.clone())
    }

    /// A finding that a sender had seen when it last said something.
    fn seen_by(&self, sender: &EntityId, id: &EvidenceId) -> Option<Finding> {
        let (.., contexts) = self.broadcasts.iter().rfind(|(from, ..)| from == sender)?;
        let own = self.contexts.iter().take(*contexts).filter(|(owner, _)| owner == sender);
        let mut findings = own.flat_map(|(_, context)| &context.findings);
        findings.find(|finding| finding.id() == id).cloned()
    }

    /// The latest time of findings of an entity that are among some.
    pub(crate) fn last_seen(&self, entity: &EntityId, ids: &[EvidenceId]) -> Option<Timestamp> {
        let own = self.contexts.iter().filter(|(owner, _)| owner == entity);
        let findings = own.flat_map(|(_, context)| &context.findings);
        let ends = findings.filter(|finding| ids.contains(finding.id()));
        ends.map(|finding| finding.time.end()).max()
    }

    /// What packets quote of what messages rest on.
    pub(crate) fn quoted(
        &self,
        entity: &EntityId,
        shown: &LocalContext,
        most: usize,
    ) -> Vec<Finding> {
        let mut inbox = self.inbox(entity);
        let unread = self.unread(entity);
        inbox.sort_by_key(|message| !unread.contains(&message.sender));
        let mut quoted: Vec<Finding> = Vec::new();
        for Message { sender, belief } in inbox {
            let about = |claim: &&Claim| claim.cause == *entity || claim.effect == *entity;
            let claimed = belief.claims.iter().filter(about).flat_map(|claim| &claim.evidence);
            let mut of_sender: Vec<Finding> = Vec::new();
            for id in claimed.chain(&belief.evidence) {
                let mut known = shown.findings.iter().chain(&quoted).chain(&of_sender);
                if !known.any(|finding| finding.id() == id) {
                    of_sender.extend(self.seen_by(&sender, id));
                }
            }
            quoted.extend(of_sender.into_iter().take(3));
        }
        quoted.truncate(most);
        quoted
    }

    /// Of which neighbours anomalies or changes are known.
    pub(crate) fn hints(&self, entity: &EntityId, with_anomalies: bool) -> Vec<Hint> {
        let count = |all: usize| u32::try_from(all).expect("is small");
        let end = self.case.window.end();
        let mut hints = Vec::new();
        for entity in self.adjacent(entity) {
            let anomalies = self.case.anomalies.iter().filter(|it| it.entity == entity).count();
            let anomalies = if with_anomalies { count(anomalies) } else { 0 };
            let on_record = self.case.record.iter().flat_map(|record| &record.changes);
            let own = on_record.filter(|it| it.entity == entity && it.made.earliest() < end);
            let changes = count(own.count());
            if (anomalies, changes) != (0, 0) {
                hints.push(Hint { entity, anomalies, changes });
            }
        }
        hints
    }

    pub(crate) fn learn(&mut self, entity: &EntityId, context: &LocalContext) {
        self.named.extend(context.named());
        self.contexts.push((entity.clone(), context.clone()));
    }

    /// Whether some context of the entity held this id.
    pub(crate) fn is_local(&self, entity: &EntityId, id: &EvidenceId) -> bool {
        let own = self.contexts.iter().filter(|(owner, _)| owner == entity);
        own.flat_map(|(_, context)| &context.findings).any(|finding| finding.id() == id)
    }

    pub(crate) fn is_known(&self, entity: &EntityId) -> bool {
        self.case.topology.contains(entity)
            || self.named.contains(entity)
            || self.case.seeds.iter().any(|seed| seed.entity == *entity)
            || self.case.anomalies.iter().any(|anomaly| anomaly.entity == *entity)
    }

    pub(crate) fn join(&mut self, claims: &[Claim]) {
        self.claims.extend(claims.iter().map(Claim::edge));
    }

    /// `N(v)`: joined by a declared edge or by any claim ever accepted; never itself.
    pub(crate) fn adjacent(&self, entity: &EntityId) -> BTreeSet<EntityId> {
        let declared = self.case.topology.edges().map(|edge| (&edge.source, &edge.target));
        let claimed = self.claims.iter().map(|edge| (&edge.cause, &edge.effect));
        let mut adjacent = BTreeSet::new();
        for (a, b) in declared.chain(claimed) {
            if a == entity && b != entity {
                adjacent.insert(b.clone());
            }
            if b == entity && a != entity {
                adjacent.insert(a.clone());
            }
        }
        adjacent
    }

    /// The neighbours of a packet: declared ones, then those joined by claims alone, sorted.
    pub(crate) fn neighbours(&self, entity: &EntityId) -> Vec<Neighbour> {
        let mut rows = self.case.topology.neighbours(entity);
        let declared: BTreeSet<EntityId> = rows.iter().map(|row| row.entity.clone()).collect();
        for other in self.adjacent(entity).difference(&declared) {
            let explains = |cause: &EntityId, effect: &EntityId| {
                self.claims.iter().any(|edge| edge.cause == *cause && edge.effect == *effect)
            };
            let (out, back) = (explains(entity, other), explains(other, entity));
            rows.push(Neighbour {
                entity: other.clone(),
                relation: "claim".to_owned(),
                outgoing: out,
                direction: match (out, back) {
                    (true, true) => Direction::Both,
                    (true, false) => Direction::Downstream,
                    (false, _) => Direction::Upstream,
                },
            });
        }
        rows.sort();
        rows
    }
}
