//! What will be asked next, if nothing happens before: for callers that ask ahead of time.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use super::packets::{Asked, Page};
use super::{Controller, message};
use crate::belief::Message;
use crate::budget::BudgetKind;
use crate::contract::ContextRequest;
use crate::contract::packet::{ContextPacket, LocalContext};
use crate::controller::config::Order;
use crate::digest::Digest;
use crate::ids::EntityId;
use crate::state::Broadcast;

/// A message that an evaluation was dispatched with.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadMessage {
    /// The message.
    pub message: Message,
    /// The entry that sent it.
    pub entry: u64,
    /// Whether it had come since the evaluation before.
    pub new: bool,
}

impl Controller {
    /// The contexts of the evaluations that will be dispatched next, the likeliest first; at most
    /// `limit`, and no more than the budget of policy calls has room for. A guess: a commit in
    /// between may change the order and the request. Changes nothing.
    pub fn upcoming(&self, limit: NonZeroU32) -> Vec<ContextRequest> {
        let exhausted = self.exhausted_budget();
        if self.halt.cause().is_some() || exhausted.is_some_and(|which| which != BudgetKind::Hops) {
            return Vec::new();
        }
        let mut limit = limit.get() as usize;
        if let Some(hops) = self.config.budget.hops {
            let reserved = self.spent.hops + self.in_flight.len() as u64;
            let left = usize::try_from(hops.saturating_sub(reserved)).unwrap_or(usize::MAX);
            limit = limit.min(left);
        }
        let in_flight: BTreeSet<&EntityId> =
            self.in_flight.iter().map(|slot| &slot.activation.entity).collect();
        let mut waiting: Vec<(u64, usize, &EntityId)> = Vec::new();
        for (position, activation) in self.active.iter().enumerate() {
            if !in_flight.contains(&activation.entity) {
                waiting.push((self.cools_in(activation), position, &activation.entity));
            }
            // In order of activation the rest would come after these, cooled or not.
            if self.config.order == Order::Fifo && waiting.len() >= limit.saturating_mul(4) {
                break;
            }
        }
        waiting.sort_by_cached_key(|(cools_in, position, entity)| {
            (*cools_in, self.rank(entity), *position)
        });
        waiting
            .into_iter()
            .take(limit)
            .map(|(_, _, entity)| self.upcoming_request(entity))
            .collect()
    }

    /// How many evaluations are under way.
    pub fn in_flight(&self) -> u32 {
        u32::try_from(self.in_flight.len()).unwrap_or(u32::MAX)
    }

    /// Whether a packet would be answered from the memory of this run.
    pub fn remembers(&self, packet: &ContextPacket) -> bool {
        self.config.decision_memory && self.memory.contains_key(&Digest::of(packet))
    }

    /// The packet that a context would go into, were its entity dispatched now.
    pub fn upcoming_packet(&self, entity: &EntityId, context: LocalContext) -> ContextPacket {
        let inbox = || self.state.get(entity).into_iter().flat_map(|node| &node.inbox);
        let new = inbox().filter(|(_, received)| received.new);
        let waiting = self.active.get(entity);
        let asked = Asked {
            config: &self.config,
            state: &self.state,
            ledger: &self.ledger,
            entity,
            notice: waiting.and_then(|waiting| waiting.notice.as_ref()),
            neighbours: self.state.neighbours(entity),
            inbox: inbox().map(|(sender, received)| (sender, &received.broadcast)).collect(),
            new_from: new.map(|(sender, _)| sender.clone()).collect(),
            anomalies: self.shown_anomalies(),
            reach: self.reach(entity),
            page: self.next_page(entity),
        };
        asked.packet(context)
    }

    /// The messages that the evaluation of an entity was dispatched with, by sender, without later
    /// ones. `None` when the entity is not under way.
    pub fn dispatched_with(&self, entity: &EntityId) -> Option<Vec<ReadMessage>> {
        let slot = self.in_flight.iter().find(|slot| slot.activation.entity == *entity)?;
        let read = |(sender, sent): &(EntityId, Broadcast)| ReadMessage {
            message: message(sender, &sent.belief),
            entry: sent.entry,
            new: slot.cleared.contains_key(sender),
        };
        Some(slot.inbox.iter().map(read).collect())
    }

    /// The packet that a context goes into, of an evaluation that is under way: with what its dispatch
    /// fixed, without later changes. `None` when the entity is not under way.
    pub fn dispatched_packet(
        &self,
        entity: &EntityId,
        context: LocalContext,
    ) -> Option<ContextPacket> {
        let slot = self.in_flight.iter().find(|slot| slot.activation.entity == *entity)?;
        Some(slot.packet(&self.config, &self.state, &self.ledger, context))
    }

    fn next_page(&self, entity: &EntityId) -> Page {
        let waiting = self.active.get(entity).map(|waiting| waiting.reason);
        Page::next(self.state.get(entity), waiting, &self.ledger)
    }

    fn upcoming_request(&self, entity: &EntityId) -> ContextRequest {
        let node = self.state.get(entity);
        let inbox = node.into_iter().flat_map(|node| &node.inbox);
        let new = inbox.filter(|(_, received)| received.new);
        let new = new.map(|(sender, _)| sender.clone()).collect();
        let visit = node.map_or(0, |node| node.visits) + 1;
        self.request(entity, &self.next_page(entity), visit, new)
    }
}
