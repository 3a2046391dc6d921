//! What a checkpoint holds. Entities are written once and then named by their position; beliefs,
//! evidence and decisions by the entry that holds them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::belief::Label;
use crate::contract::packet::{CandidateScore, EvidenceQuery, Notice, Reach};
use crate::controller::Controller;
use crate::controller::active::{Activation, Reason};
use crate::controller::dispatch::Slot;
use crate::controller::entry_body::HaltCause;
use crate::ids::{EntityId, EvidenceId};
use crate::incident::topology::Neighbour;
use crate::state::Node;

/// The state of a controller, as far as its ledger does not show it directly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredState {
    /// Every known entity, by name.
    pub(super) entities: Vec<StoredEntity>,
    /// Cause and effect of every claim that was ever accepted.
    pub(super) claimed: Vec<(u32, u32)>,
    /// In order of activation.
    pub(super) active: Vec<StoredActivation>,
    /// In order of dispatch.
    pub(super) in_flight: Vec<StoredSlot>,
    /// The entries whose decisions are remembered, in order.
    pub(super) memory: Vec<u64>,
    pub(super) refused_wakes: u64,
    /// The halt that the ledger records and that still holds.
    pub(super) halted: Option<HaltCause>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredEntity {
    pub(super) name: EntityId,
    /// Whether a seed, a context or an observation named it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) named: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) admitted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<StoredNode>,
}

/// A [`Node`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct StoredNode {
    /// The entry of its last evaluation, which holds its belief.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) evaluated: Option<u64>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) settled: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) stale: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) damped: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) visited: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) visits: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) flips: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) dead_ends: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) opinions: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) pages: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) page_turns: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) queries: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) paged: Option<u64>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) origin_in_row: u32,
    /// By sender.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) inbox: Vec<StoredMessage>,
    /// The entry of its last broadcast.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) broadcast: Option<u64>,
    /// The entries whose contexts brought evidence.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) learnt: Vec<u64>,
    /// Findings of others that its packets quoted.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) quoted: BTreeSet<EvidenceId>,
    /// Which pieces of its evidence it has cited: their positions by id.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) cited: Vec<u32>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) scores: Vec<CandidateScore>,
}

/// The entry that sent it, whether it is new, whether it calls for an evaluation, and the label read before.
pub(super) type StoredMessage = (u64, bool, bool, Option<Label>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredActivation {
    pub(super) entity: u32,
    pub(super) reason: Reason,
    pub(super) cause: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) notice: Option<Notice>,
}

/// What a dispatch fixed. Its number follows from its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredSlot {
    pub(super) activation: StoredActivation,
    pub(super) visit: u32,
    pub(super) after: u64,
    pub(super) cleared: Vec<(u32, Option<Label>)>,
    /// The entries that sent the messages, by sender.
    pub(super) inbox: Vec<u64>,
    pub(super) neighbours: Vec<Neighbour>,
    /// Of how many anomalies its packet may show those of its entity.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) anomalies: usize,
    /// Which anomalies effects of its entity can reach.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) reach: Option<Reach>,
    /// How many pages come before the one that was asked for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) pages_before: u32,
    /// The entry whose context holds the other pages.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) other_pages: Option<u64>,
    /// What is searched for in place of a page.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) query: Option<EvidenceQuery>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl StoredState {
    pub(super) fn of(controller: &Controller) -> Self {
        let state = &controller.state;
        let ends = state.ever_claimed().flat_map(|(cause, effect)| [cause, effect]);
        let waiting = controller.active.iter().map(|waiting| &waiting.entity);
        let known = state.nodes.keys().chain(&state.named).chain(&state.admitted);
        let names: BTreeSet<&EntityId> = known.chain(ends).chain(waiting).collect();
        let places = Places(names.iter().copied().zip(0..).collect());
        let entity = |name: &EntityId| StoredEntity {
            name: name.clone(),
            named: state.named.contains(name),
            admitted: state.admitted.contains(name),
            node: state.get(name).map(StoredNode::of),
        };
        let claimed = state.ever_claimed();
        let mut memory: Vec<u64> = controller.memory.values().copied().collect();
        memory.sort_unstable();
        Self {
            entities: names.into_iter().map(entity).collect(),
            claimed: claimed.map(|(cause, effect)| (places.of(cause), places.of(effect))).collect(),
            active: controller.active.iter().map(|waiting| places.activation(waiting)).collect(),
            in_flight: controller.in_flight.iter().map(|slot| places.slot(slot)).collect(),
            memory,
            refused_wakes: controller.refused_wakes,
            halted: controller.halt.recorded(),
        }
    }
}

impl StoredNode {
    fn of(node: &Node) -> Self {
        let inbox = node.inbox.values();
        let cited = (0..).zip(node.seen.keys()).filter(|(_, id)| node.cited.contains(*id));
        Self {
            evaluated: node.evaluated,
            settled: node.settled,
            stale: node.stale,
            damped: node.damped,
            visited: node.visited,
            visits: node.visits,
            flips: node.flips,
            dead_ends: node.dead_ends,
            opinions: node.opinions,
            pages: node.pages,
            page_turns: node.page_turns,
            queries: node.queries,
            paged: node.paged,
            origin_in_row: node.origin_in_row,
            inbox: inbox
                .map(|one| (one.broadcast.entry, one.new, one.wakes, one.read_label))
                .collect(),
            broadcast: node.last_broadcast.as_ref().map(|sent| sent.entry),
            learnt: node.learnt.clone(),
            quoted: node.quoted.clone(),
            cited: cited.map(|(position, _)| position).collect(),
            scores: node.scores.clone(),
        }
    }
}

/// The position of each entity among those written.
struct Places<'s>(BTreeMap<&'s EntityId, u32>);

impl Places<'_> {
    fn of(&self, entity: &EntityId) -> u32 {
        // An entity that is asked for has a place here; a place that does not exist would not be
        // read back.
        self.0.get(entity).copied().unwrap_or(u32::MAX)
    }

    fn activation(&self, waiting: &Activation) -> StoredActivation {
        let Activation { entity, reason, cause, notice } = waiting;
        let (reason, cause, notice) = (*reason, *cause, notice.clone());
        StoredActivation { entity: self.of(entity), reason, cause, notice }
    }

    fn slot(&self, slot: &Slot) -> StoredSlot {
        let cleared = slot.cleared.iter();
        StoredSlot {
            activation: self.activation(&slot.activation),
            visit: slot.visit,
            after: slot.after,
            // Every sender was evaluated, and has a node.
            cleared: cleared.map(|(sender, label)| (self.of(sender), *label)).collect(),
            inbox: slot.inbox.iter().map(|(_, sent)| sent.entry).collect(),
            neighbours: slot.neighbours().to_vec(),
            anomalies: slot.anomalies,
            reach: slot.reach,
            pages_before: slot.page.before,
            other_pages: slot.page.others,
            query: slot.page.query.clone(),
        }
    }
}
