//! What will be asked next, if nothing happens before: for whoever wants to ask ahead of time.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use super::{BudgetKind, Controller, message};
use crate::belief::Message;
use crate::config::Order;
use crate::contract::ContextRequest;
use crate::digest::Digest;
use crate::ids::EntityId;
use crate::packet::{ContextPacket, LocalContext};
use crate::topology::Neighbour;

/// An evaluation that was not dispatched yet, as it would be were it dispatched now.
///
/// A guess: a commit in between may change the order, the request and the packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Upcoming {
    /// What would be fetched.
    pub request: ContextRequest,
    neighbours: Vec<Neighbour>,
    inbox: Vec<Message>,
}

impl Upcoming {
    /// The packet that this context would go into.
    pub fn packet(&self, context: LocalContext) -> ContextPacket {
        ContextPacket {
            entity: self.request.entity.clone(),
            window: self.request.window,
            context,
            neighbours: self.neighbours.clone(),
            inbox: self.inbox.clone(),
        }
    }
}

impl Controller {
    /// The evaluations that will be dispatched next, the likeliest first; at most `limit`, and no
    /// more than the budget of policy calls has room for. Nothing changes by looking.
    pub fn upcoming(&self, limit: NonZeroU32) -> Vec<Upcoming> {
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
        waiting.into_iter().take(limit).map(|(_, _, entity)| self.as_upcoming(entity)).collect()
    }

    /// How many evaluations are under way.
    pub fn in_flight(&self) -> u32 {
        u32::try_from(self.in_flight.len()).unwrap_or(u32::MAX)
    }

    /// Whether a packet would be answered from the memory of this run.
    pub fn remembers(&self, packet: &ContextPacket) -> bool {
        self.config.decision_memory && self.memory.contains_key(&Digest::of(packet))
    }

    fn as_upcoming(&self, entity: &EntityId) -> Upcoming {
        let node = self.state.get(entity);
        let inbox = || node.into_iter().flat_map(|node| &node.inbox);
        let new = inbox().filter(|(_, received)| received.new);
        Upcoming {
            request: ContextRequest {
                entity: entity.clone(),
                window: self.state.window,
                page: 1,
                visit: node.map_or(0, |node| node.visits) + 1,
                changed_neighbours: new.map(|(sender, _)| sender.clone()).collect(),
            },
            neighbours: self.state.neighbours(entity),
            inbox: inbox()
                .map(|(sender, received)| message(sender, &received.broadcast.belief))
                .collect(),
        }
    }
}
