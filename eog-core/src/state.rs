//! What the controller remembers: one node per entity, and the edges between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::belief::{Belief, Claim, ClaimEdge, Label};
use crate::contract::packet::{CandidateScore, LocalContext, Reach};
use crate::evidence::{EvidenceTime, Finding, Signal, Trend, Verdict};
use crate::ids::{EntityId, EvidenceId};
use crate::incident::case::{Anomaly, Case, ChangeRecord, Unusable};
use crate::incident::case_file::CaseFile;
use crate::incident::onset::Onset;
use crate::incident::topology::{CLAIM_RELATION, Direction, Neighbour, Topology};
use crate::incident::window::Window;
use crate::live_claims::LiveClaims;

/// Everything about one entity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) belief: Option<Belief>,
    /// The entry of its last evaluation, which holds the belief.
    pub(crate) evaluated: Option<u64>,
    /// Whether the belief came from a decision, not from a failed first visit.
    pub(crate) settled: bool,
    pub(crate) stale: bool,
    pub(crate) damped: bool,
    /// Whether it was ever dispatched, in any epoch.
    pub(crate) visited: bool,
    /// Dispatches in this epoch.
    pub(crate) visits: u32,
    /// Flips in this epoch.
    pub(crate) flips: u32,
    /// Evaluations as a dead end in this epoch, those that wait among them.
    pub(crate) dead_ends: u32,
    /// Second opinions asked for in this epoch, those that wait among them.
    pub(crate) opinions: u32,
    /// Pages of its context beyond the first, and answers to queries, that were seen in this epoch.
    pub(crate) pages: u32,
    /// How often its decisions asked for either in this epoch, granted or not.
    pub(crate) page_turns: u32,
    /// How many of the pages were answers to queries.
    pub(crate) queries: u32,
    /// The entry whose context holds all of them, or the first one when another was asked for.
    pub(crate) paged: Option<u64>,
    /// How many of its last decisions, one after the other, found it an origin.
    pub(crate) origin_in_row: u32,
    /// How many evaluations had been committed right after its own last one.
    pub(crate) last_commit: Option<u64>,
    pub(crate) inbox: BTreeMap<EntityId, Received>,
    /// How many messages of the inbox are new: a conclusion asks every node.
    pub(crate) unread: usize,
    pub(crate) last_broadcast: Option<Broadcast>,
    /// Local evidence ever cited.
    pub(crate) cited: BTreeSet<EvidenceId>,
    /// Local evidence ever seen, with what conclusions read of it.
    pub(crate) seen: BTreeMap<EvidenceId, Seen>,
    /// The entries whose contexts brought it.
    pub(crate) learnt: Vec<u64>,
    /// Findings of others that its packets quoted when it was judged, kept where it is asked again for new evidence alone
    /// ([`AskAgain`](crate::controller::AskAgain)).
    pub(crate) quoted: BTreeSet<EvidenceId>,
    /// The candidate scores of the last decision.
    pub(crate) scores: Vec<CandidateScore>,
}

/// What conclusions read of a finding: small, since every finding ever seen has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) time: EvidenceTime,
    pub(crate) onset: Option<Onset>,
    pub(crate) signal: Signal,
    pub(crate) trend: Trend,
    pub(crate) verdict: Option<Verdict>,
}

impl Seen {
    pub(crate) fn of(finding: &Finding) -> Self {
        let (time, onset) = (finding.time, finding.onset);
        let verdict = finding.verdict();
        Self { time, onset, signal: finding.signal, trend: finding.trend, verdict }
    }
}

/// A belief as it was sent to neighbours.
#[derive(Clone, Debug)]
pub(crate) struct Broadcast {
    pub(crate) belief: Arc<Belief>,
    /// The entry of the evaluation that sent it.
    pub(crate) entry: u64,
}

/// The latest message of one sender.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) broadcast: Broadcast,
    /// Not dispatched with yet.
    pub(crate) new: bool,
    /// Whether it called for another evaluation, or an earlier unread one did that it replaced.
    pub(crate) wakes: bool,
    /// The sender's label as it was last dispatched with, if ever.
    pub(crate) read_label: Option<Label>,
}

impl Received {
    /// Whether the sender has another label than when it was last read.
    pub(crate) fn is_label_change(&self) -> bool {
        self.new && self.read_label != Some(self.broadcast.belief.label)
    }
}

impl Node {
    /// Puts a message into the inbox, in place of the sender's earlier one; `wakes` says whether it
    /// calls for another evaluation.
    pub(crate) fn receive(&mut self, sender: &EntityId, broadcast: &Broadcast, wakes: bool) {
        let earlier = self.inbox.get(sender);
        let read_label = earlier.and_then(|earlier| earlier.read_label);
        let wakes = wakes || earlier.is_some_and(|earlier| earlier.new && earlier.wakes);
        let received = Received { broadcast: broadcast.clone(), new: true, wakes, read_label };
        self.put(sender.clone(), received);
    }

    /// Puts a message into the inbox as it is, and gives back the sender's earlier one.
    pub(crate) fn put(&mut self, sender: EntityId, received: Received) -> Option<Received> {
        self.unread += usize::from(received.new);
        let earlier = self.inbox.insert(sender, received);
        self.unread -= usize::from(earlier.as_ref().is_some_and(|earlier| earlier.new));
        earlier
    }

    /// Takes the new-flags off and gives back the senders, each with the label read before.
    pub(crate) fn read_inbox(&mut self) -> BTreeMap<EntityId, Option<Label>> {
        let mut cleared = BTreeMap::new();
        for (sender, received) in &mut self.inbox {
            if received.new {
                cleared.insert(sender.clone(), received.read_label);
            }
            received.new = false;
            received.read_label = Some(received.broadcast.belief.label);
        }
        self.unread = 0;
        cleared
    }

    /// Marks messages of a failed or discarded dispatch as new again.
    pub(crate) fn unread_inbox(&mut self, cleared: &BTreeMap<EntityId, Option<Label>>) {
        for (sender, read_label) in cleared {
            if let Some(received) = self.inbox.get_mut(sender) {
                self.unread += usize::from(!received.new);
                received.new = true;
                received.read_label = *read_label;
            }
        }
    }

    pub(crate) fn has_unread(&self) -> bool {
        // Counted anew where it is tested: this feature is on there, and `debug_assert!` is not.
        if cfg!(feature = "planted-faults") {
            let counted = self.inbox.values().filter(|message| message.new).count();
            assert_eq!(self.unread, counted, "messages that are new");
        }
        self.unread > 0
    }

    /// Whether a message that called for another evaluation is unread.
    pub(crate) fn needs_evaluation(&self) -> bool {
        self.has_unread() && self.inbox.values().any(|message| message.new && message.wakes)
    }

    /// The verdicts of operators on it, where they agree.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        let mut said = self.seen.values().filter_map(|seen| seen.verdict);
        let first = said.next()?;
        said.all(|other| other == first).then_some(first)
    }

    /// Records the findings in the context of an entry.
    pub(crate) fn remember_evidence(&mut self, context: &LocalContext, entry: u64) {
        let before = self.seen.len();
        for finding in &context.findings {
            self.seen.entry(finding.id().clone()).or_insert_with(|| Seen::of(finding));
        }
        if self.seen.len() > before {
            self.learnt.push(entry);
        }
    }
}

/// The explanatory graph and everything the controller knows beside the queue.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) topology: Topology,
    pub(crate) window: Window,
    pub(crate) anomalies: Vec<Anomaly>,
    pub(crate) seeds: Vec<EntityId>,
    pub(crate) nodes: BTreeMap<EntityId, Node>,
    /// Entities that a seed, a context or an observation named.
    pub(crate) named: BTreeSet<EntityId>,
    /// Entities that were ever activated or joined by a claim.
    pub(crate) admitted: BTreeSet<EntityId>,
    /// The entities ever joined by an accepted claim; true where the key can be the cause.
    claimed: BTreeMap<EntityId, BTreeMap<EntityId, Roles>>,
    /// How many live claims of other entities explain an entity.
    explained: BTreeMap<EntityId, usize>,
    pub(crate) live: LiveClaims,
    /// The changes on record: what `confirmed` is measured against.
    pub(crate) record: Option<Arc<ChangeRecord>>,
    /// How many of them there are of each entity before the end of the window.
    pub(crate) changes: Arc<BTreeMap<EntityId, u32>>,
    pub(crate) unusable: Vec<Unusable>,
    /// What stands out as a whole, if packets show it.
    pub(crate) case_file: Option<Arc<CaseFile>>,
}

/// In which roles an entity has stood to another in accepted claims.
#[derive(Clone, Copy, Debug, Default)]
struct Roles {
    cause: bool,
    effect: bool,
}

/// The outside systems that claims of beliefs call a cause, with these claims, but for those that were judged.
pub(crate) fn outside_systems<'b>(
    beliefs: impl Iterator<Item = &'b Belief>,
    is_judged: impl Fn(&EntityId) -> bool,
) -> BTreeMap<&'b EntityId, Vec<&'b Claim>> {
    let mut systems: BTreeMap<&EntityId, Vec<&Claim>> = BTreeMap::new();
    let claims = beliefs.flat_map(|belief| &belief.claims);
    for claim in claims.filter(|claim| claim.outside && !is_judged(&claim.cause)) {
        systems.entry(&claim.cause).or_default().push(claim);
    }
    systems
}

impl State {
    pub(crate) fn new(case: &Case) -> Self {
        let seeds: Vec<EntityId> = case.seeds.iter().map(|seed| seed.entity.clone()).collect();
        let of_anomalies = case.anomalies.iter().map(|anomaly| anomaly.entity.clone());
        let in_case_file = case.case_file.iter().flat_map(|file| file.named().cloned());
        let named = seeds.iter().cloned().chain(of_anomalies).chain(in_case_file).collect();
        let mut changes: BTreeMap<EntityId, u32> = BTreeMap::new();
        let on_record = case.record.iter().flat_map(|record| &record.changes);
        for change in on_record.filter(|change| change.made.earliest() < case.window.end()) {
            *changes.entry(change.entity.clone()).or_default() += 1;
        }
        Self {
            topology: case.topology.clone(),
            window: case.window,
            anomalies: case.anomalies.clone(),
            seeds,
            nodes: BTreeMap::new(),
            named,
            admitted: BTreeSet::new(),
            claimed: BTreeMap::new(),
            explained: BTreeMap::new(),
            live: LiveClaims::default(),
            record: case.record.clone().map(Arc::new),
            changes: Arc::new(changes),
            unusable: case.bootstrap.unusable.clone(),
            case_file: case.case_file.clone(),
        }
    }

    /// Has packets show what stands out as a whole, and lets claims name what it names.
    pub(crate) fn show(&mut self, case_file: Arc<CaseFile>) {
        self.named.extend(case_file.named().cloned());
        self.case_file = Some(case_file);
    }

    pub(crate) fn node(&mut self, entity: &EntityId) -> &mut Node {
        self.nodes.entry(entity.clone()).or_default()
    }

    pub(crate) fn get(&self, entity: &EntityId) -> Option<&Node> {
        self.nodes.get(entity)
    }

    pub(crate) fn is_visited(&self, entity: &EntityId) -> bool {
        self.get(entity).is_some_and(|node| node.visited)
    }

    pub(crate) fn is_known(&self, entity: &EntityId) -> bool {
        self.named.contains(entity) || self.topology.contains(entity)
    }

    /// Whether the last part of the name of a known entity is an outside system's name, or its first label: `db` of
    /// `shop/Service/db` is the host `db.shop.svc`.
    pub(crate) fn has_namesake(&self, outside: &EntityId) -> bool {
        let name = outside.as_str();
        let label = name.split(['.', ':']).next().unwrap_or(name);
        self.named.iter().chain(self.topology.entities()).any(|known| {
            let last = known.as_str().rsplit('/').next().unwrap_or_default();
            last.eq_ignore_ascii_case(name) || last.eq_ignore_ascii_case(label)
        })
    }

    /// The outside systems that live claims call a cause, with these claims. What was judged is none.
    pub(crate) fn outside(&self) -> BTreeMap<&EntityId, Vec<&Claim>> {
        let beliefs = self.nodes.values().filter_map(|node| node.belief.as_ref());
        outside_systems(beliefs, |entity| self.get(entity).is_some_and(|it| it.belief.is_some()))
    }

    /// The anomalies of an entity among the first ones.
    pub(crate) fn anomalies_of(&self, entity: &EntityId, first: usize) -> Vec<Anomaly> {
        let first = self.anomalies.iter().take(first);
        first.filter(|anomaly| anomaly.entity == *entity).cloned().collect()
    }

    /// Whether messages travel between two entities.
    pub(crate) fn are_joined(&self, a: &EntityId, b: &EntityId) -> bool {
        let claimed = self.claimed.get(a).is_some_and(|others| others.contains_key(b));
        let declared = || {
            self.topology
                .edges_at(a)
                .any(|edge| edge.source != edge.target && (edge.source == *b || edge.target == *b))
        };
        claimed || declared()
    }

    /// Records an accepted claim in the adjacency. A self-claim adds no edge.
    pub(crate) fn join(&mut self, edge: &ClaimEdge) {
        if edge.cause == edge.effect {
            return;
        }
        for (own, other) in [(&edge.cause, &edge.effect), (&edge.effect, &edge.cause)] {
            let roles = self.claimed.entry(own.clone()).or_default();
            let roles = roles.entry(other.clone()).or_default();
            roles.cause |= own == &edge.cause;
            roles.effect |= own == &edge.effect;
        }
    }

    /// Cause and effect of every claim that was ever accepted, but for self-claims; by name.
    pub(crate) fn ever_claimed(&self) -> impl Iterator<Item = (&EntityId, &EntityId)> {
        self.claimed.iter().flat_map(|(own, others)| {
            others.iter().filter(|(_, roles)| roles.cause).map(move |(other, _)| (own, other))
        })
    }

    /// All entities that exchange messages with an entity, by name.
    pub(crate) fn adjacent(&self, entity: &EntityId) -> BTreeSet<EntityId> {
        let declared = self.topology.edges_at(entity).flat_map(|edge| [&edge.source, &edge.target]);
        let claimed = self.claimed.get(entity).into_iter().flat_map(BTreeMap::keys);
        declared.chain(claimed).filter(|other| *other != entity).cloned().collect()
    }

    /// The neighbours as a packet shows them, by name.
    pub(crate) fn neighbours(&self, entity: &EntityId) -> Vec<Neighbour> {
        let mut neighbours = self.topology.neighbours(entity);
        for (other, roles) in self.claimed.get(entity).into_iter().flatten() {
            if neighbours.iter().any(|neighbour| neighbour.entity == *other) {
                continue;
            }
            let direction = match (roles.cause, roles.effect) {
                (true, true) => Direction::Both,
                (true, false) => Direction::Downstream,
                (false, _) => Direction::Upstream,
            };
            neighbours.push(Neighbour {
                entity: other.clone(),
                relation: CLAIM_RELATION.to_owned(),
                outgoing: roles.cause,
                direction,
            });
        }
        neighbours.sort();
        neighbours
    }

    /// How an entity relates to anomalies on these entities, over declared edges and edges ever
    /// claimed.
    pub(crate) fn reach(&self, alerting: &BTreeSet<&EntityId>, entity: &EntityId) -> Reach {
        Reach::over(alerting, entity, |from| {
            let rows = self.neighbours(from).into_iter();
            let affected = rows.filter(|row| row.direction != Direction::Upstream);
            affected.map(|row| row.entity).collect()
        })
    }

    /// Records the claims that replace an owner's earlier ones.
    pub(crate) fn supersede(&mut self, owner: &EntityId, old: &[Claim], new: &[Claim]) {
        self.live.replace(owner, new);
        let by_others = |claim: &&Claim| claim.effect != *owner && claim.effect != claim.cause;
        for claim in new.iter().filter(by_others) {
            *self.explained.entry(claim.effect.clone()).or_default() += 1;
        }
        for claim in old.iter().filter(by_others) {
            if let Some(count) = self.explained.get_mut(&claim.effect) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// Whether a live claim of another entity explains this one.
    pub(crate) fn is_explained_by_others(&self, entity: &EntityId) -> bool {
        self.explained.get(entity).is_some_and(|count| *count > 0)
    }

    /// The edges of all live claims.
    pub(crate) fn live_claims(&self) -> BTreeSet<ClaimEdge> {
        let beliefs = self.nodes.values().filter_map(|node| node.belief.as_ref());
        beliefs.flat_map(|belief| &belief.claims).map(Claim::edge).collect()
    }
}
