//! From a checkpoint and its ledger back to a controller. The checkpoint is not trusted: what
//! does not fit the ledger is refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::prefix::Prefix;
use super::stored::{StoredActivation, StoredEntity, StoredNode, StoredSlot, StoredState};
use crate::belief::ClaimEdge;
use crate::controller::Controller;
use crate::controller::active::Activation;
use crate::controller::config::Concurrency;
use crate::controller::dispatch::Dispatched;
use crate::controller::entry_body::Evaluation;
use crate::controller::halt::Halt;
use crate::controller::packets::Page;
use crate::controller::widening::{DEAD_END_VISITS, OPINIONS};
use crate::ids::EntityId;
use crate::ledger::Ledger;
use crate::ledger::restore_error::RestoreError;
use crate::state::{Broadcast, Node, Received, Seen};

/// What is wrong with a checkpoint.
type Flaw = String;

/// The controller after these entries, led on through the rest of the ledger.
pub(super) fn rebuild(
    stored: &StoredState,
    entries: u64,
    ledger: &Ledger,
) -> Result<Controller, RestoreError> {
    let head = ledger.before(entries);
    let (before, after) = ledger.entries().split_at(head.entries().len());
    let prefix = Prefix::read(before)?;
    let refused = prefix.refused;
    let mut controller = Controller::idle(prefix.config, prefix.state, head);
    controller.spent = prefix.spent;
    // Those under way are counted as they are taken in.
    controller.dispatched = prefix.spent.evaluations;
    let damaged = |reason| RestoreError::DamagedCheckpoint { reason };
    if !refused.contains(&stored.refused_wakes) {
        return Err(damaged(format!("it counts {} refused wakes", stored.refused_wakes)));
    }
    let mut rebuilding = Rebuilding { controller, broadcasts: BTreeMap::new() };
    rebuilding.take_in(stored).map_err(damaged)?;
    let mut controller = rebuilding.controller;
    controller.advance(after.first());
    controller.follow(after)?;
    Ok(controller)
}

struct Rebuilding {
    controller: Controller,
    /// Those met so far, by entry: inboxes share them.
    broadcasts: BTreeMap<u64, (EntityId, Broadcast)>,
}

impl Rebuilding {
    fn take_in(&mut self, stored: &StoredState) -> Result<(), Flaw> {
        let names: Vec<&EntityId> = stored.entities.iter().map(|entity| &entity.name).collect();
        if !names.is_sorted_by(|a, b| a < b) {
            return Err("its entities are not sorted".to_owned());
        }
        let underway = self.controller.dispatched + stored.in_flight.len() as u64;
        let mut nodes = Vec::new();
        for StoredEntity { name, node, .. } in &stored.entities {
            if let Some(stored) = node {
                if u64::from(stored.visits) > underway || u64::from(stored.flips) > underway {
                    return Err(format!("{name} was evaluated less often than it says"));
                }
                check_repeats(name, stored, underway)?;
                nodes.push((name.clone(), self.node(name, stored)?));
            }
        }
        let state = &mut self.controller.state;
        state.nodes = nodes.into_iter().collect();
        let named = stored.entities.iter().filter(|entity| entity.named);
        state.named = named.map(|entity| entity.name.clone()).collect();
        let admitted = stored.entities.iter().filter(|entity| entity.admitted);
        state.admitted = admitted.map(|entity| entity.name.clone()).collect();
        for (cause, effect) in &stored.claimed {
            let (cause, effect) = (at(&names, *cause)?, at(&names, *effect)?);
            self.controller.state.join(&ClaimEdge { cause, effect });
        }
        for waiting in &stored.active {
            let waiting = self.activation(&names, waiting)?;
            let entity = waiting.entity.clone();
            if !self.controller.active.push(waiting) {
                return Err(format!("{entity} waits twice"));
            }
        }
        for slot in &stored.in_flight {
            self.launch(&names, slot)?;
        }
        self.remember(&stored.memory)?;
        self.controller.refused_wakes = stored.refused_wakes;
        self.controller.halt = Halt::as_recorded(stored.halted);
        Ok(())
    }

    fn node(&mut self, name: &EntityId, stored: &StoredNode) -> Result<Node, Flaw> {
        let mut node = Node {
            evaluated: stored.evaluated,
            settled: stored.settled,
            stale: stored.stale,
            damped: stored.damped,
            visited: stored.visited,
            visits: stored.visits,
            flips: stored.flips,
            dead_ends: stored.dead_ends,
            opinions: stored.opinions,
            pages: stored.pages,
            page_turns: stored.page_turns,
            queries: stored.queries,
            paged: stored.paged,
            origin_in_row: stored.origin_in_row,
            scores: stored.scores.clone(),
            learnt: stored.learnt.clone(),
            quoted: stored.quoted.clone(),
            ..Node::default()
        };
        if let Some(entry) = stored.evaluated {
            let evaluation = self.evaluation_of(name, entry)?;
            if evaluation.number > self.controller.spent.evaluations {
                return Err(format!("entry {entry} has the number of a later evaluation"));
            }
            node.last_commit = Some(evaluation.number);
            node.belief = Some(evaluation.outcome.belief.clone());
        }
        if let (true, Some(belief)) = (node.settled, &node.belief) {
            self.controller.state.supersede(name, &[], &belief.claims);
        }
        if let Some(entry) = stored.paged {
            self.evaluation_of(name, entry)?;
        }
        if let Some(entry) = stored.broadcast {
            self.evaluation_of(name, entry)?;
            node.last_broadcast = Some(self.broadcast(entry)?.1);
        }
        for &(entry, new, wakes, read_label) in &stored.inbox {
            let (sender, broadcast) = self.broadcast(entry)?;
            let received = Received { broadcast, new, wakes, read_label };
            if node.put(sender, received).is_some() {
                return Err(format!("the inbox of {name} holds two messages of one sender"));
            }
        }
        self.learn(name, stored, &mut node)?;
        Ok(node)
    }

    /// Gives back the evidence that the entity has seen and cited.
    fn learn(&self, name: &EntityId, stored: &StoredNode, node: &mut Node) -> Result<(), Flaw> {
        if !stored.learnt.is_sorted_by(|a, b| a < b) {
            return Err(format!("the evidence of {name} is not in order"));
        }
        for &entry in &stored.learnt {
            let evaluation = self.evaluation_of(name, entry)?;
            let record = evaluation.context.as_ref();
            let context = record.and_then(|record| self.controller.ledger.context(&record.digest));
            let context = context.ok_or_else(|| format!("entry {entry} has no context"))?;
            let findings = context.findings.iter();
            node.seen.extend(findings.map(|finding| (finding.id().clone(), Seen::of(finding))));
        }
        if !stored.cited.is_sorted_by(|a, b| a < b) {
            return Err(format!("the citations of {name} are not in order"));
        }
        let mut seen = (0..).zip(node.seen.keys());
        for &position in &stored.cited {
            let found = seen.find(|(at, _)| *at == position);
            let (_, id) = found.ok_or_else(|| format!("{name} cites what it has not seen"))?;
            node.cited.insert(id.clone());
        }
        Ok(())
    }

    /// A belief as it was sent, and its sender.
    fn broadcast(&mut self, entry: u64) -> Result<(EntityId, Broadcast), Flaw> {
        if let Some(known) = self.broadcasts.get(&entry) {
            return Ok(known.clone());
        }
        let sent = self.evaluation(entry)?;
        if sent.outcome.change.is_none() {
            return Err(format!("entry {entry} broadcasts nothing"));
        }
        let broadcast = Broadcast { belief: Arc::new(sent.outcome.belief.clone()), entry };
        let known = (sent.entity.clone(), broadcast);
        self.broadcasts.insert(entry, known.clone());
        Ok(known)
    }

    fn activation(
        &self,
        names: &[&EntityId],
        stored: &StoredActivation,
    ) -> Result<Activation, Flaw> {
        let StoredActivation { entity, reason, cause, ref notice } = *stored;
        if cause >= self.controller.ledger.next_seq() {
            return Err(format!("there is no entry {cause} to make anything active"));
        }
        Ok(Activation { entity: at(names, entity)?, reason, cause, notice: notice.clone() })
    }

    fn launch(&mut self, names: &[&EntityId], stored: &StoredSlot) -> Result<(), Flaw> {
        let activation = self.activation(names, &stored.activation)?;
        let entity = &activation.entity;
        let mut inbox = Vec::new();
        for &entry in &stored.inbox {
            inbox.push(self.broadcast(entry)?);
        }
        let Concurrency::Window(width) = self.controller.config.concurrency;
        let in_flight = &self.controller.in_flight;
        if in_flight.len() >= width.get() as usize {
            return Err("more is under way than may be".to_owned());
        } else if in_flight.iter().any(|slot| slot.activation.entity == *entity) {
            return Err(format!("{entity} is under way twice"));
        } else if !self.controller.state.is_visited(entity) {
            return Err(format!("{entity} is under way, and was never dispatched"));
        } else if stored.after > self.controller.ledger.next_seq() {
            return Err(format!("{entity} was dispatched later"));
        } else if stored.anomalies > self.controller.state.anomalies.len() {
            return Err(format!("{entity} is shown more anomalies than there are"));
        } else if !inbox.is_sorted_by(|(a, _), (b, _)| a < b) {
            return Err(format!("{entity} is shown messages out of order"));
        }
        let mut cleared = BTreeMap::new();
        for (sender, label) in &stored.cleared {
            cleared.insert(at(names, *sender)?, *label);
        }
        let (visit, after) = (stored.visit, stored.after);
        let (neighbours, anomalies) = (stored.neighbours.clone(), stored.anomalies);
        let page = Page {
            before: stored.pages_before,
            others: stored.other_pages,
            query: stored.query.clone(),
        };
        if let Some(entry) = page.others {
            self.evaluation_of(entity, entry)?;
        }
        self.controller.launch(Dispatched {
            activation,
            visit,
            after,
            cleared,
            inbox,
            neighbours,
            anomalies,
            reach: stored.reach,
            page,
        });
        Ok(())
    }

    fn remember(&mut self, entries: &[u64]) -> Result<(), Flaw> {
        for &entry in entries {
            let packet = self.evaluation(entry)?.packet;
            let decided = packet.filter(|_| self.controller.ledger.decision(entry).is_some());
            let packet = decided.ok_or_else(|| format!("entry {entry} holds no decision"))?;
            if self.controller.memory.insert(packet, entry).is_some() {
                return Err(format!("the question of entry {entry} is remembered twice"));
            }
        }
        Ok(())
    }

    fn evaluation(&self, entry: u64) -> Result<&Evaluation, Flaw> {
        let found = self.controller.ledger.evaluation(entry);
        found.ok_or_else(|| format!("entry {entry} is no evaluation"))
    }

    fn evaluation_of(&self, name: &EntityId, entry: u64) -> Result<&Evaluation, Flaw> {
        let found = self.evaluation(entry)?;
        let fits = found.entity == *name;
        fits.then_some(found).ok_or_else(|| format!("entry {entry} is no evaluation of {name}"))
    }
}

/// Whether an entity may have been evaluated again so often.
fn check_repeats(name: &EntityId, stored: &StoredNode, underway: u64) -> Result<(), Flaw> {
    if stored.dead_ends > DEAD_END_VISITS || stored.opinions > OPINIONS {
        Err(format!("{name} was evaluated again too often"))
    } else if u64::from(stored.pages.max(stored.page_turns).max(stored.queries)) > underway {
        Err(format!("{name} was given more pages than were seen"))
    } else if u64::from(stored.origin_in_row) > underway {
        Err(format!("{name} was found an origin more often than it was evaluated"))
    } else {
        Ok(())
    }
}

fn at(names: &[&EntityId], position: u32) -> Result<EntityId, Flaw> {
    let name = usize::try_from(position).ok().and_then(|position| names.get(position));
    name.copied().cloned().ok_or_else(|| format!("there is no entity {position}"))
}
