//! Commits: what a task came to is recorded, and changes the tree.

use eog_core::ledger::RecordedAnswer;
use eog_core::machine::Judged;

use super::SearchController;
use super::slot::{Outcome, Slot, Task};
use crate::body::{Looked, SearchBody};
use crate::id::Place;
use crate::tree::Ix;

/// What a look came to.
struct Look {
    entry: u64,
    failed: bool,
}

impl SearchController {
    /// Records what a task came to, and lets follow what follows.
    pub(super) fn commit(&mut self, slot: Slot) {
        let found = slot.found();
        let Some((task, outcome)) = slot.into_parts() else { return };
        match (task, outcome) {
            (Task::Propose { round, leaf }, Outcome::Actions(actions)) => {
                self.commit_proposed(round, leaf, actions);
            }
            (Task::Look { node, round }, Outcome::Looked { packet, answer }) => {
                let look = self.look_of(node, packet.as_deref(), answer);
                self.tree.node_mut(node).set_entry(look.entry);
                match round {
                    Some(round) => self.commit_child(node, round, look.failed),
                    None => self.commit_task(node, look.failed),
                }
            }
            (Task::Step { round, action }, Outcome::Looked { packet, answer }) => {
                let at = self.next_step(round);
                let look = self.look(at, &action.entity().clone(), packet.as_deref(), answer);
                self.commit_step(round, action, look.entry);
            }
            (Task::Score { node, round: Some(round) }, Outcome::Score { failures, verdict }) => {
                self.commit_value(node, round, failures, verdict);
            }
            (Task::Score { node, round: None }, Outcome::Score { failures, verdict }) => {
                self.commit_judged(node, failures, verdict);
            }
            (Task::Act { round }, Outcome::Action(action)) => self.commit_acted(round, action),
            (Task::Reward { round }, Outcome::Score { failures, verdict }) => {
                self.commit_reward(round, failures, verdict);
            }
            (Task::Reflect { at, .. }, Outcome::Reflection(text)) => {
                self.commit_reflected(at, text);
            }
            (Task::Plan { cut }, Outcome::Plan(tries)) => self.commit_planned(&cut, tries),
            (Task::Hypothesize { node, round }, Outcome::Actions(actions)) => {
                self.commit_hypotheses(node, round, actions);
            }
            (Task::Lane { node, round, agent }, Outcome::Lane(turns, end)) => {
                self.commit_lane((node, round, agent), turns, end);
            }
            (Task::Examine { node, round, again }, Outcome::Looked { packet, answer }) => {
                let look = self.look_of(node, packet.as_deref(), answer);
                // Without another decision, the one before stands.
                if !(again && look.failed) {
                    self.tree.node_mut(node).set_entry(look.entry);
                }
                self.commit_examined((node, round, again), look.failed);
            }
            (Task::Weigh { node, round, again }, Outcome::Score { failures, verdict }) => {
                self.commit_weighed((node, round, again), found, failures, verdict);
            }
            (Task::Decompose, Outcome::Goals(tries)) => self.commit_decomposed(tries),
            (Task::Steer, Outcome::Steering(tries)) => self.commit_steered(tries),
            (Task::NextStep { goal, path }, Outcome::Action(action)) => {
                self.commit_next_step((goal, path), action);
            }
            (Task::Stride { node, goal, path }, Outcome::Looked { packet, answer }) => {
                let look = self.look_of(node, packet.as_deref(), answer);
                self.tree.node_mut(node).set_entry(look.entry);
                self.commit_stride((node, goal, path), look.entry, look.failed);
            }
            (Task::Progress, Outcome::Progress { failures, progress }) => {
                self.commit_progress(failures, progress);
            }
            (Task::React { step }, Outcome::Chain { failures, action }) => {
                self.commit_reacted(step, failures, action);
            }
            (Task::Glance { node }, Outcome::Looked { packet, answer }) => {
                let look = self.look_of(node, packet.as_deref(), answer);
                self.tree.node_mut(node).set_entry(look.entry);
                self.commit_glance(node, look.entry, look.failed);
            }
            (Task::Use { node, step }, Outcome::Came(came)) => self.commit_used(node, step, came),
            (Task::Compact { through }, Outcome::Summary { failures, text }) => {
                self.commit_compacted(through, failures, text);
            }
            // A slot completes with what its task asks for.
            (_, _) => {}
        }
    }

    /// Records the look of a node.
    fn look_of(
        &mut self,
        node: Ix,
        packet: Option<&eog_core::ContextPacket>,
        answer: RecordedAnswer,
    ) -> Look {
        let entity = self.tree.node(node).action().map(|action| action.entity().clone());
        let Some(entity) = entity else { unreachable!("the root is not looked at") };
        self.look(Place::node(self.tree.id(node)), &entity, packet, answer)
    }

    /// Records a look: what it saw is known from now on, and what it says is checked.
    fn look(
        &mut self,
        at: Place,
        entity: &eog_core::EntityId,
        packet: Option<&eog_core::ContextPacket>,
        answer: RecordedAnswer,
    ) -> Look {
        let entry = self.ledger.next_seq();
        if let Some(packet) = packet {
            self.known.learn(entity, &packet.context, entry);
        }
        let inbox = packet.map_or(&[][..], |packet| &packet.inbox);
        self.spent.evaluations += 1;
        let Judged { belief, refusals, warnings } = match &answer {
            RecordedAnswer::Decided(decision) => {
                self.spent.hops += 1;
                self.known.judge(entity, inbox, decision)
            }
            RecordedAnswer::Remembered { entry } => {
                self.spent.remembered += 1;
                let decided = self.looked(*entry).map(|look| look.answer.clone());
                match decided {
                    Some(RecordedAnswer::Decided(decision)) => {
                        self.known.judge(entity, inbox, &decision)
                    }
                    _ => unreachable!("only decisions are remembered"),
                }
            }
            RecordedAnswer::Failed(failure) => {
                self.spent.hops += 1;
                self.spent.failures += 1;
                self.known.fail(entity, failure)
            }
        };
        let context = packet.map(|packet| self.ledger.record_context(&packet.context));
        let packet = packet.map(eog_core::Digest::of);
        let failed = matches!(answer, RecordedAnswer::Failed(_));
        if let (Some(packet), RecordedAnswer::Decided(_)) = (packet, &answer) {
            self.decided.entry(packet).or_insert(entry);
        }
        let entity = entity.clone();
        let looked = Looked { at, entity, context, packet, answer, refusals, warnings, belief };
        self.ledger.append(SearchBody::Looked(Box::new(looked)));
        Look { entry, failed }
    }
}
