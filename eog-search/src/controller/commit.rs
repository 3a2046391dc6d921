//! Commits: the outcome of a task is recorded, and changes the tree.

use eog_core::ledger::RecordedAnswer;
use eog_core::machine::Judged;

use super::SearchController;
use super::slot::{Outcome, Slot, Task};
use crate::body::{Action, Looked, SearchBody, Used};
use crate::id::Place;
use crate::lane::Came;
use crate::tree::Ix;

/// The outcome of an evaluation.
struct Look {
    entry: u64,
    failed: bool,
}

impl SearchController {
    /// Records the outcome of a task, and queues the tasks that follow.
    pub(super) fn commit(&mut self, slot: Slot) {
        let found = slot.found();
        let Some((task, outcome)) = slot.into_parts() else { return };
        match (task, outcome) {
            (Task::Propose { round, leaf }, Outcome::Actions(actions)) => {
                self.commit_proposed(round, leaf, actions, Vec::new());
            }
            (Task::Look { node, round }, Outcome::Looked { packet, answer }) => {
                let look = self.look_of(node, packet.as_deref(), answer);
                self.tree.node_mut(node).set_entry(look.entry);
                match round {
                    Some(round) => self.commit_child(node, round, look.failed),
                    None => self.commit_task(node, look.failed),
                }
            }
            (Task::Propose { round, leaf }, Outcome::Draws(draws)) => {
                self.commit_draws(round, leaf, draws);
            }
            (Task::Look { node, round: Some(round) }, Outcome::Came(came)) => {
                let look = self.use_of(node, came);
                self.commit_child(node, round, look.failed);
            }
            (Task::Step { round, action }, Outcome::Came(came)) => {
                let at = self.next_step(round);
                let look = self.called(at, &action, came);
                self.commit_step(round, action, look.entry);
            }
            (Task::Stride { node, goal, path }, Outcome::Came(came)) => {
                let look = self.use_of(node, came);
                self.commit_call(node, (goal, path), look.failed);
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

    /// Records the call of a tool at a node.
    fn use_of(&mut self, node: Ix, came: Came) -> Look {
        let action = self.tree.node(node).action().cloned();
        let Some(action) = action else { unreachable!("the root calls no tool") };
        let look = self.called(Place::node(self.tree.id(node)), &action, came);
        self.tree.node_mut(node).set_entry(look.entry);
        look
    }

    /// Records a call of a tool: who is named in what it answers is known from now on.
    fn called(&mut self, at: Place, action: &Action, came: Came) -> Look {
        let entry = self.ledger.next_seq();
        self.learn_from(&came, entry);
        let failed = !matches!(came, Came::Answered(_));
        let call = action.tool().cloned();
        let Some(call) = call else { unreachable!("only calls of tools are answered by tools") };
        self.ledger.append(SearchBody::Used(Box::new(Used { at, call, came })));
        Look { entry, failed }
    }

    /// Learns what a tool answers about an entity.
    pub(super) fn learn_from(&mut self, came: &Came, entry: u64) {
        if let Came::Answered(answer) = came
            && let Some(evidence) = &answer.evidence
            && self.known.is_known(&evidence.entity)
        {
            self.known.learn(&evidence.entity, &evidence.context, entry);
        }
    }

    /// Records the evaluation of a node.
    fn look_of(
        &mut self,
        node: Ix,
        packet: Option<&eog_core::ContextPacket>,
        answer: RecordedAnswer,
    ) -> Look {
        let entity = self.tree.node(node).action().map(|action| action.entity().clone());
        let Some(entity) = entity else { unreachable!("the root is not evaluated") };
        self.look(Place::node(self.tree.id(node)), &entity, packet, answer)
    }

    /// Records an evaluation: what it saw is known from now on, and what it says is checked.
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
        self.spent.evaluations += 1;
        let Judged { belief, refusals, warnings } = match &answer {
            RecordedAnswer::Decided(decision) => {
                self.spent.hops += 1;
                self.known.judge(entity, packet, decision)
            }
            RecordedAnswer::Remembered { entry } => {
                self.spent.remembered += 1;
                let decided = self.looked(*entry).map(|look| look.answer.clone());
                match decided {
                    Some(RecordedAnswer::Decided(decision)) => {
                        self.known.judge(entity, packet, &decision)
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
