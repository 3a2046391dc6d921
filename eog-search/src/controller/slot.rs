//! Tasks, and the slots in which they wait for answers.

use std::sync::Arc;

use eog_core::belief::Message;
use eog_core::contract::{ContextPacket, ContextRequest, Failure, LocalContext, Reach};
use eog_core::incident::{Anomaly, Neighbour};
use eog_core::ledger::RecordedAnswer;
use eog_core::machine::{InputError, Ticket};
use eog_core::{Digest, EntityId, EvidenceId};

use super::SearchController;
use super::lane::{Lane, Next};
use super::result::Done;
use crate::ask::{Answer, Ask, CallAsk, EvaluateAsk, PlanAsk, ProposeAsk, Role, Sample, Scene};
use crate::body::{Action, PlanTry, Purpose, Verdict};
use crate::chain::ChainAction;
use crate::config::{Evaluation, Expansion};
use crate::id::Place;
use crate::lane::{Came, LaneEnd, Specialist, Turn};
#[cfg(feature = "planted-faults")]
use crate::planted::{PlantedFault, is_planted};
use crate::seek::{Goal, Progress, Steering, Try};
use crate::tree::Ix;

/// One step of a search, with one entry.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// The actions of a leaf, in a round.
    Propose { round: u32, leaf: Ix },
    /// The evaluation of a node; in a round, or for a planner.
    Look { node: Ix, round: Option<u32> },
    /// The score of a node; in a round, or for a planner.
    Score { node: Ix, round: Option<u32> },
    /// The next action of a simulation.
    Act { round: u32 },
    /// The evaluation of a step of a simulation.
    Step { round: u32, action: Arc<Action> },
    /// The reward of a trajectory.
    Reward { round: u32 },
    /// What a trajectory teaches.
    Reflect { at: Place, way: Vec<Done> },
    /// What to do with the tree.
    Plan { cut: Vec<Ix> },
    /// Hypotheses at the root, or below one that was investigated in this round.
    Hypothesize { node: Ix, round: u32 },
    /// A specialist on a hypothesis.
    Lane { node: Ix, round: u32, agent: Specialist },
    /// The decision on what specialists found: that of the round, or another one.
    Examine { node: Ix, round: u32, again: bool },
    /// The score of a hypothesis: that of the round, or another one.
    Weigh { node: Ix, round: u32, again: bool },
    /// Goals.
    Decompose,
    /// A move on each active goal.
    Steer,
    /// The next step of a path.
    NextStep { goal: usize, path: usize },
    /// The evaluation of a step of a path.
    Stride { node: Ix, goal: usize, path: usize },
    /// The outcome of a round.
    Progress,
    /// What the agent of a chain does next: which step, counted from 1.
    React { step: u32 },
    /// An evaluation of a chain.
    Glance { node: Ix },
    /// A call of a tool, in this step of a chain.
    Use { node: Ix, step: u32 },
    /// A summary of so many of the first steps of a chain.
    Compact { through: usize },
}

/// A task under way.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) task: Task,
    key: EntityId,
    /// How many entries there were at dispatch: nothing later is known to it.
    after: u64,
    /// The first question.
    first: Role,
    /// What goes into the packet of an evaluation beside its context.
    rest: Option<Rest>,
    /// The lane of a specialist.
    lane: Option<Box<Lane>>,
    /// Which question of a lane comes next, counted from 1; 0 elsewhere.
    step: u32,
    /// The question that is to be asked now.
    pending: Option<Role>,
    open: Option<Ticket>,
    is_begun: bool,
    failures: Vec<Failure>,
    tries: Vec<PlanTry>,
    goals: Vec<Try<Vec<Goal>>>,
    steerings: Vec<Try<Steering>>,
    /// What the draws so far gave, where candidates are drawn apart.
    draws: Vec<Result<Vec<Action>, Failure>>,
    /// How many findings were recorded at dispatch.
    found: usize,
    outcome: Option<Outcome>,
}

/// What was known of an entity at dispatch.
#[derive(Clone, Debug)]
struct Rest {
    neighbours: Vec<Neighbour>,
    inbox: Vec<Message>,
    anomalies: Vec<Anomaly>,
}

/// The outcome of a task.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Looked { packet: Option<Arc<ContextPacket>>, answer: RecordedAnswer },
    Actions(Result<Vec<Action>, Failure>),
    Draws(Vec<Result<Vec<Action>, Failure>>),
    Action(Result<Option<Action>, Failure>),
    Score { failures: Vec<Failure>, verdict: Option<Verdict> },
    Plan(Vec<PlanTry>),
    Reflection(Result<String, Failure>),
    Lane(Vec<Turn>, LaneEnd),
    Goals(Vec<Try<Vec<Goal>>>),
    Steering(Vec<Try<Steering>>),
    Progress { failures: Vec<Failure>, progress: Option<Progress> },
    Chain { failures: Vec<Failure>, action: Option<ChainAction> },
    Came(Came),
    Summary { failures: Vec<Failure>, text: Option<String> },
}

impl Slot {
    /// The ticket is the one that it waits for.
    pub(super) fn has(&self, ticket: Ticket) -> bool {
        self.open == Some(ticket)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.outcome.is_some()
    }

    /// Whether a question was handed out.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    pub(super) fn is_look(&self) -> bool {
        self.rest.is_some()
    }

    pub(super) fn waits_to_ask(&self) -> bool {
        self.open.is_none() && self.pending.is_some()
    }

    pub(super) fn hand_out(&mut self, ticket: Ticket) -> Option<Ask> {
        let role = self.pending.clone()?;
        (self.open, self.is_begun) = (Some(ticket), true);
        Some(Ask { key: self.key.clone(), after: self.after, step: self.step, role })
    }

    /// Forgets what was asked and answered.
    pub(super) fn reset(&mut self) {
        self.pending = Some(self.first.clone());
        (self.open, self.is_begun, self.outcome) = (None, false, None);
        self.failures.clear();
        self.tries.clear();
        self.goals.clear();
        self.steerings.clear();
        self.draws.clear();
        // A lane, and draws, count from 1.
        self.step = self.step.min(1);
        if let Some(lane) = &mut self.lane {
            **lane = lane.again();
        }
    }

    /// The question that it waits for an answer to.
    pub(super) fn asks(&self) -> Option<&Role> {
        self.pending.as_ref()
    }

    /// How many findings were recorded when it began.
    pub(super) fn found(&self) -> usize {
        self.found
    }

    pub(super) fn into_parts(self) -> Option<(Task, Outcome)> {
        Some((self.task, self.outcome?))
    }

    fn next(&mut self, role: Role) {
        self.pending = Some(role);
    }

    fn follow(&mut self, next: Next) {
        match next {
            Next::Ask(role) => {
                self.step += 1;
                self.next(role);
            }
            Next::End(turns, end) => self.complete(Outcome::Lane(turns, end)),
        }
    }

    fn complete(&mut self, outcome: Outcome) {
        (self.pending, self.outcome) = (None, Some(outcome));
    }
}

/// What the questions of a task are keyed by: no two tasks that can be under way at once share a key.
fn key(task: &Task, place: &Place, first: &Role) -> EntityId {
    let named = match first {
        Role::Context(_) | Role::Decide(_) => None,
        // Two rounds may each give a hypothesis another score.
        Role::Weigh(_) => match task {
            Task::Weigh { round, again: true, .. } => {
                EntityId::new(format!("weigh {place} in round {round}")).ok()
            }
            _ => EntityId::new(format!("weigh {place}")).ok(),
        },
        Role::Investigate(ask) => EntityId::new(format!("{} {place}", ask.agent)).ok(),
        role => EntityId::new(format!("{} {place}", role.name())).ok(),
    };
    named.unwrap_or_else(|| place.key().clone())
}

impl SearchController {
    /// Puts a task into a slot, with all that is known now.
    pub(super) fn dispatch(&mut self, task: Task) -> Slot {
        let lane = match &task {
            Task::Lane { node, agent, .. } => self.lane(*node, *agent).map(Box::new),
            _ => None,
        };
        let (place, first) = match &lane {
            Some(lane) => (self.place_of(&task), lane.question()),
            None => self.first_question(&task),
        };
        let rest = match &first {
            Role::Context(request) => Some(self.rest(&task, &request.entity)),
            Role::Decide(packet) => Some(self.rest(&task, &packet.entity)),
            _ => None,
        };
        let is_drawn = matches!(&first, Role::Propose(ask) if ask.sample.is_some());
        Slot {
            key: key(&task, &place, &first),
            after: self.ledger.next_seq(),
            pending: Some(first.clone()),
            first,
            rest,
            step: u32::from(lane.is_some() || is_drawn),
            lane,
            task,
            open: None,
            is_begun: false,
            failures: Vec::new(),
            tries: Vec::new(),
            goals: Vec::new(),
            steerings: Vec::new(),
            draws: Vec::new(),
            found: self.count_findings(),
            outcome: None,
        }
    }

    fn first_question(&mut self, task: &Task) -> (Place, Role) {
        let place = |search: &Self, ix: Ix| Place::node(search.tree.id(ix));
        match task {
            Task::Propose { leaf, .. } => {
                let way = self.way_to(*leaf);
                (place(self, *leaf), Role::Propose(self.candidates_after(&way)))
            }
            Task::Look { node, .. }
            | Task::Stride { node, .. }
            | Task::Glance { node }
            | Task::Use { node, .. } => {
                self.tree.node_mut(*node).phase = crate::Phase::Running;
                let action = self.tree.node(*node).action().cloned();
                let Some(action) = action else { unreachable!("the root is not evaluated") };
                (place(self, *node), self.deed(&action))
            }
            Task::Score { node, round } => {
                let purpose = round.map_or(Purpose::Judgement, |_| Purpose::Value);
                let way = self.way_to(*node);
                (place(self, *node), Role::Evaluate(self.evaluate(&way, purpose)))
            }
            Task::Act { round } => {
                let (at, way) = (self.next_step(*round), self.trajectory(*round));
                (at, Role::Act(self.propose(&way)))
            }
            Task::Step { round, action } => (self.next_step(*round), self.deed(action)),
            Task::Reward { round } => {
                let (at, way) = (self.last_step(*round), self.trajectory(*round));
                (at, Role::Evaluate(self.evaluate(&way, Purpose::Reward)))
            }
            Task::Reflect { at, way } => {
                (at.clone(), Role::Reflect(self.evaluate(way, Purpose::Reward)))
            }
            Task::Plan { .. } => (Place::root(), Role::Plan(self.plan(None))),
            Task::Hypothesize { node, .. } => {
                (place(self, *node), Role::Hypothesize(self.hypothesize(*node)))
            }
            Task::Examine { node, again, .. } => {
                let role = match self.unseen(*node).filter(|_| !again) {
                    Some(entity) => Role::Context(self.request(entity)),
                    None => Role::Decide(self.packet_of(task, *node)),
                };
                (place(self, *node), role)
            }
            Task::Weigh { node, .. } => (place(self, *node), Role::Weigh(self.weigh(*node))),
            Task::Decompose => (Place::root(), Role::Decompose(self.decompose(None))),
            Task::Steer => (Place::root(), Role::Steer(self.steer(None))),
            Task::NextStep { goal, path } => {
                let ask = self.step_ask(*goal, *path);
                (Place::node(ask.path.path.clone()), Role::Step(ask))
            }
            Task::Progress => (Place::root(), Role::Progress(self.progress_ask())),
            Task::React { step } => (Place::root(), Role::React(self.react_ask(*step))),
            Task::Compact { through } => (Place::root(), Role::Compact(self.compact_ask(*through))),
            Task::Lane { node, .. } => unreachable!("node {} has a lane", self.tree.id(*node)),
        }
    }

    fn place_of(&self, task: &Task) -> Place {
        match task {
            Task::Lane { node, .. } => Place::node(self.tree.id(*node)),
            _ => Place::root(),
        }
    }

    /// What a hypothesis is judged by: all that was recorded of the entity that it suspects.
    pub(super) fn packet_of(&self, task: &Task, node: Ix) -> Arc<ContextPacket> {
        let entity = self.tree.node(node).action().map(|action| action.entity().clone());
        let Some(entity) = entity else { unreachable!("the root is no hypothesis") };
        let Rest { neighbours, inbox, anomalies } = self.rest(task, &entity);
        let context = self.gathered(&entity);
        let shows_reach = self.config.shows_reach();
        packet((&*self.scene, shows_reach), entity, context, (neighbours, inbox, anomalies))
    }

    fn request(&self, entity: EntityId) -> ContextRequest {
        let around = self.known.neighbours(&entity).into_iter().map(|it| it.entity);
        ContextRequest::whole(entity, self.scene.window, around)
    }

    /// The question that carries out an evaluation, or a call of a tool.
    fn deed(&self, action: &Action) -> Role {
        match action.tool() {
            None => Role::Context(self.request(action.entity().clone())),
            Some(call) => {
                let (scene, agent) = (Arc::clone(&self.scene), Specialist::Generalist);
                Role::Call(Arc::new(CallAsk { scene, agent, call: call.clone() }))
            }
        }
    }

    /// The first question for the actions of a leaf: for all of them, or for the first where they are drawn apart.
    fn candidates_after(&self, way: &[Done]) -> Arc<ProposeAsk> {
        let ask = self.propose(way);
        match self.config.expansion() {
            Expansion::Actions { count, apart: true, .. } => {
                let sample = Some(Sample { index: 1, of: count.get() });
                Arc::new(ProposeAsk { sample, at_most: 1, ..(*ask).clone() })
            }
            _ => ask,
        }
    }

    fn propose(&self, way: &[Done]) -> Arc<ProposeAsk> {
        let at_most = match self.config.expansion() {
            Expansion::Actions { count, .. } => count.get(),
            _ => u32::MAX,
        };
        Arc::new(ProposeAsk {
            scene: Arc::clone(&self.scene),
            path: self.seen(way),
            at_most,
            reflections: self.reflections.iter().cloned().collect(),
            sample: None,
        })
    }

    fn evaluate(&self, way: &[Done], purpose: Purpose) -> Arc<EvaluateAsk> {
        Arc::new(EvaluateAsk {
            scene: Arc::clone(&self.scene),
            path: self.seen(way),
            purpose,
            accept: self.config.stop().accept,
        })
    }

    pub(super) fn plan(&self, refused: Option<String>) -> Arc<PlanAsk> {
        Arc::new(PlanAsk {
            scene: Arc::clone(&self.scene),
            nodes: self.planned_nodes(),
            expandable: self.expandable().into_iter().map(|ix| self.tree.id(ix)).collect(),
            room: self.room(),
            scores: self.config.evaluation() == Evaluation::Planner,
            accept: self.config.stop().accept,
            refused,
        })
    }

    /// What an entity is judged with beside its context: the beliefs of its neighbours and of the
    /// entities that were evaluated on the way there.
    fn rest(&self, task: &Task, entity: &EntityId) -> Rest {
        let way = match task {
            Task::Look { node, .. } | Task::Examine { node, .. } | Task::Stride { node, .. } => {
                self.way_to(*node)
            }
            Task::Step { round, .. } => self.trajectory(*round),
            _ => Vec::new(),
        };
        let before = match task {
            Task::Glance { .. } => self.remembered_looks(),
            _ => Vec::new(),
        };
        let neighbours = self.known.neighbours(entity);
        let around = neighbours.iter().map(|neighbour| neighbour.entity.clone());
        let way = way.iter().filter(|done| done.action.is_done());
        let way = way.map(|done| done.action.entity().clone());
        let others: std::collections::BTreeSet<EntityId> =
            around.chain(way).chain(before).collect();
        let message = |sender: EntityId| {
            let belief = self.known.belief(&sender)?.clone();
            Some(Message { sender, belief })
        };
        let inbox = others.into_iter().filter(|other| other != entity).filter_map(message);
        let anomalies = self.scene.anomalies.iter().filter(|anomaly| anomaly.entity == *entity);
        Rest { neighbours, inbox: inbox.collect(), anomalies: anomalies.cloned().collect() }
    }

    /// Takes an answer into a slot: the next question follows, or the task is complete.
    pub(super) fn receive(
        &mut self,
        slot: usize,
        result: Result<Answer, Failure>,
    ) -> Result<(), InputError> {
        let refused = match (&result, &self.slots[slot].pending) {
            (Ok(Answer::Plan(actions)), Some(Role::Plan(_))) => self.refusal(actions),
            _ => None,
        };
        let retries = self.retries(&self.slots[slot].task);
        let again = refused.clone().map(|reason| self.plan(Some(reason)));
        let further = match (&result, &self.slots[slot].pending) {
            (Ok(Answer::Goals(goals)), Some(Role::Decompose(_))) => {
                let reason = self.goals_refusal(goals);
                reason.map(|reason| (Role::Decompose(self.decompose(Some(reason.clone()))), reason))
            }
            (Ok(Answer::Steering(steering)), Some(Role::Steer(_))) => {
                let reason = self.steering_refusal(steering);
                reason.map(|reason| (Role::Steer(self.steer(Some(reason.clone()))), reason))
            }
            _ => None,
        };
        #[cfg(feature = "planted-faults")]
        if is_planted(PlantedFault::SharesLanes) {
            let known = self.known_findings();
            if let Some(lane) = self.slots.get_mut(slot).and_then(|slot| slot.lane.as_mut()) {
                lane.share(known);
            }
        }
        let Some(it) = self.slots.get_mut(slot) else { return Ok(()) };
        let Some(role) = it.pending.clone() else { return Ok(()) };
        let is_context = matches!(role, Role::Context(_) | Role::Call(_));
        let fits = match (&role, &result) {
            (_, Err(failure)) => failure.kind.is_context() == is_context,
            (Role::Context(_), Ok(Answer::Context(_)))
            | (Role::Decide(_), Ok(Answer::Decision(_)))
            | (Role::Propose(_), Ok(Answer::Actions(_)))
            | (Role::Act(_), Ok(Answer::Action(_)))
            | (Role::Evaluate(_), Ok(Answer::Verdict(_)))
            | (Role::Plan(_), Ok(Answer::Plan(_)))
            | (Role::Hypothesize(_), Ok(Answer::Actions(_)))
            | (Role::Investigate(_), Ok(Answer::Lane(_)))
            | (Role::Call(_), Ok(Answer::Tool(_)))
            | (Role::Weigh(_), Ok(Answer::Verdict(_)))
            | (Role::Reflect(_), Ok(Answer::Reflection(_)))
            | (Role::Decompose(_), Ok(Answer::Goals(_)))
            | (Role::Steer(_), Ok(Answer::Steering(_)))
            | (Role::Step(_), Ok(Answer::Action(_)))
            | (Role::Progress(_), Ok(Answer::Progress(_)))
            | (Role::React(_), Ok(Answer::Chain(_)))
            | (Role::Compact(_), Ok(Answer::Summary(_))) => true,
            _ => false,
        };
        if !fits {
            let given = result.as_ref().map_or("failure of this kind", Answer::name);
            return Err(InputError::NotExpected { entity: it.key.clone(), given });
        }
        #[cfg(feature = "planted-faults")]
        let keeps_ticket = is_planted(PlantedFault::TakesTwice);
        #[cfg(not(feature = "planted-faults"))]
        let keeps_ticket = false;
        if !keeps_ticket {
            it.open = None;
        }
        // Whether the answer is of this kind was asked above.
        macro_rules! came {
            ($result:ident, $kind:ident) => {
                $result.map(|answer| match answer {
                    Answer::$kind(came) => came,
                    other => unreachable!("a {} does not fit", other.name()),
                })
            };
        }
        let as_recorded = |failure: Failure| failure.as_recorded();
        match (role, result) {
            (Role::Context(request), Ok(Answer::Context(context))) => {
                self.take_context(slot, request, context);
            }
            (Role::Context(_), Err(failure)) => {
                let answer = RecordedAnswer::Failed(failure.as_recorded());
                it.complete(Outcome::Looked { packet: None, answer });
            }
            (Role::Decide(packet), result) => {
                let failed = |failure: Failure| RecordedAnswer::Failed(failure.as_recorded());
                let answer = came!(result, Decision).map_or_else(failed, RecordedAnswer::Decided);
                it.complete(Outcome::Looked { packet: Some(packet), answer });
            }
            (Role::Propose(ask), result) if ask.sample.is_some() => {
                it.draws.push(came!(result, Actions).map_err(as_recorded));
                match next_sample(&ask) {
                    Some(next) => {
                        it.step += 1;
                        it.next(Role::Propose(Arc::new(next)));
                    }
                    None => {
                        let draws = std::mem::take(&mut it.draws);
                        it.complete(Outcome::Draws(draws));
                    }
                }
            }
            (Role::Propose(_) | Role::Hypothesize(_), result) => {
                it.complete(Outcome::Actions(came!(result, Actions).map_err(as_recorded)));
            }
            (Role::Decompose(ask), result) => {
                let (again, reason) = further.unzip();
                if is_last(&mut it.goals, came!(result, Goals), reason, retries) {
                    let tries = std::mem::take(&mut it.goals);
                    it.complete(Outcome::Goals(tries));
                } else {
                    it.next(again.unwrap_or(Role::Decompose(ask)));
                }
            }
            (Role::Steer(ask), result) => {
                let (again, reason) = further.unzip();
                if is_last(&mut it.steerings, came!(result, Steering), reason, retries) {
                    let tries = std::mem::take(&mut it.steerings);
                    it.complete(Outcome::Steering(tries));
                } else {
                    it.next(again.unwrap_or(Role::Steer(ask)));
                }
            }
            (Role::Progress(ask), result) => match it.had(came!(result, Progress), retries) {
                Some((progress, failures)) => it.complete(Outcome::Progress { failures, progress }),
                None => it.next(Role::Progress(ask)),
            },
            (Role::React(ask), result) => match it.had(came!(result, Chain), retries) {
                Some((action, failures)) => it.complete(Outcome::Chain { failures, action }),
                None => it.next(Role::React(ask)),
            },
            (Role::Compact(ask), result) => match it.had(came!(result, Summary), retries) {
                Some((text, failures)) => it.complete(Outcome::Summary { failures, text }),
                None => it.next(Role::Compact(ask)),
            },
            (Role::Step(_) | Role::Act(_), result) => {
                it.complete(Outcome::Action(came!(result, Action).map_err(as_recorded)));
            }
            (role @ (Role::Evaluate(_) | Role::Weigh(_)), result) => {
                it.take_score(role, result, retries);
            }
            (Role::Investigate(_), result) => {
                if let Some(next) = it.lane.as_mut().map(|lane| lane.acts(came!(result, Lane))) {
                    it.follow(next);
                }
            }
            (Role::Call(ask), result) => {
                let result = came!(result, Tool);
                if it.lane.is_none() {
                    let came = match result {
                        Ok(Ok(answer)) => Some(Came::Answered(answer)),
                        Ok(Err(reason)) => Some(Came::Refused(reason)),
                        Err(failure) => it
                            .had::<()>(Err(failure), retries)
                            .map(|(_, failures)| Came::Failed(failures)),
                    };
                    match came {
                        Some(came) => it.complete(Outcome::Came(came)),
                        None => it.next(Role::Call(ask)),
                    }
                } else if let Some(next) = it.lane.as_mut().map(|lane| lane.answered(ask, result)) {
                    it.follow(next);
                }
            }
            (Role::Plan(_), Ok(Answer::Plan(actions))) => match (refused, again) {
                (Some(reason), Some(again)) => {
                    it.tries.push(PlanTry::Refused { actions, reason });
                    it.plan_again(Role::Plan(again), retries);
                }
                _ => {
                    it.tries.push(PlanTry::Applied(actions));
                    let tries = std::mem::take(&mut it.tries);
                    it.complete(Outcome::Plan(tries));
                }
            },
            (Role::Plan(ask), Err(failure)) => {
                it.tries.push(PlanTry::Failed(failure.as_recorded()));
                it.plan_again(Role::Plan(ask), retries);
            }
            (Role::Reflect(_), result) => {
                it.complete(Outcome::Reflection(came!(result, Reflection).map_err(as_recorded)));
            }
            _ => {}
        }
        Ok(())
    }

    /// A context has come: the entity is to be judged, unless an equal packet was decided on before the
    /// task was dispatched.
    fn take_context(&mut self, slot: usize, request: ContextRequest, context: LocalContext) {
        let Some(it) = self.slots.get_mut(slot) else { return };
        let Some(Rest { neighbours, inbox, anomalies }) = it.rest.clone() else { return };
        let scene = (&*self.scene, self.config.shows_reach());
        let packet = packet(scene, request.entity, context, (neighbours, inbox, anomalies));
        let before = self.decided.get(&Digest::of(&*packet)).filter(|entry| **entry < it.after);
        match before {
            Some(entry) => {
                let answer = RecordedAnswer::Remembered { entry: *entry };
                it.complete(Outcome::Looked { packet: Some(packet), answer });
            }
            None => it.next(Role::Decide(packet)),
        }
    }

    /// How often a task may be asked for again.
    fn retries(&self, task: &Task) -> usize {
        let retries = match (task, self.config.evaluation(), self.config.expansion()) {
            (Task::Plan { .. }, _, Expansion::Planned { retries, .. })
            | (Task::Decompose, _, Expansion::Goals { retries, .. }) => retries,
            // One correction.
            (Task::Steer, ..) => 1,
            (_, _, Expansion::Chain { retries, .. }) => retries,
            (
                _,
                Evaluation::Reward { retries }
                | Evaluation::Judge { retries }
                | Evaluation::Ratio { retries }
                | Evaluation::Evidence { retries, .. },
                _,
            ) => retries,
            _ => 0,
        };
        retries as usize
    }
}

impl Slot {
    fn take_score(&mut self, ask: Role, result: Result<Answer, Failure>, retries: usize) {
        match result {
            Ok(Answer::Verdict(verdict)) => match unusable(&ask, &verdict) {
                None => {
                    let failures = std::mem::take(&mut self.failures);
                    return self.complete(Outcome::Score { failures, verdict: Some(verdict) });
                }
                Some(why) => self.failures.push(Failure::policy(why)),
            },
            Ok(_) => {}
            Err(failure) => self.failures.push(failure.as_recorded()),
        }
        if self.failures.len() > retries {
            let failures = std::mem::take(&mut self.failures);
            #[cfg(feature = "planted-faults")]
            if is_planted(PlantedFault::UnreadableIsHalf) {
                let verdict = Some(Verdict::new(500, "cannot be read"));
                return self.complete(Outcome::Score { failures, verdict });
            }
            return self.complete(Outcome::Score { failures, verdict: None });
        }
        self.next(ask);
    }

    /// What came back, with the failures before it; nothing if it is to be asked for again.
    fn had<T>(
        &mut self,
        result: Result<T, Failure>,
        retries: usize,
    ) -> Option<(Option<T>, Vec<Failure>)> {
        let came = match result {
            Ok(came) => Some(came),
            Err(failure) => {
                self.failures.push(failure.as_recorded());
                if self.failures.len() <= retries {
                    return None;
                }
                None
            }
        };
        Some((came, std::mem::take(&mut self.failures)))
    }

    fn plan_again(&mut self, ask: Role, retries: usize) {
        if self.tries.len() > retries {
            let tries = std::mem::take(&mut self.tries);
            return self.complete(Outcome::Plan(tries));
        }
        self.next(ask);
    }
}

/// The question for the next of several candidates, if there is one.
fn next_sample(ask: &ProposeAsk) -> Option<ProposeAsk> {
    let Sample { index, of } = ask.sample.filter(|sample| sample.index < sample.of)?;
    Some(ProposeAsk { sample: Some(Sample { index: index + 1, of }), ..ask.clone() })
}

/// Keeps an answer that had to be admissible. Whether it is the last: it is, or there were enough.
fn is_last<T>(
    tries: &mut Vec<Try<T>>,
    result: Result<T, Failure>,
    refused: Option<String>,
    retries: usize,
) -> bool {
    let (tried, sound) = match (result, refused) {
        (Ok(answer), None) => (Try::Applied(answer), true),
        (Ok(answer), Some(reason)) => (Try::Refused { answer, reason }, false),
        (Err(failure), _) => (Try::Failed(failure.as_recorded()), false),
    };
    tries.push(tried);
    sound || tries.len() > retries
}

/// Why a score cannot be used.
fn unusable(ask: &Role, verdict: &Verdict) -> Option<String> {
    if verdict.score > 1000 {
        return Some(format!("the score is {}; scores go from 0 to 1000", verdict.score));
    }
    if let Some(problem) = verdict.metadata.problem() {
        return Some(problem);
    }
    let known = match ask {
        Role::Weigh(ask) => &ask.known[..],
        _ => &[],
    };
    let is_known = |id: &&EvidenceId| known.iter().any(|known| known.finding.id() == *id);
    let unknown = verdict.key_evidence.iter().find(|id| !is_known(id))?;
    Some(format!("nobody recorded the finding {unknown}"))
}

fn packet(
    (scene, shows_reach): (&Scene, bool),
    entity: EntityId,
    context: LocalContext,
    (neighbours, inbox, anomalies): (Vec<Neighbour>, Vec<Message>, Vec<Anomaly>),
) -> Arc<ContextPacket> {
    let alerting = scene.anomalies.iter().map(|anomaly| &anomaly.entity).collect();
    let reach = shows_reach.then(|| Reach::of(&scene.topology, &alerting, &entity));
    let window = scene.window;
    Arc::new(ContextPacket {
        entity,
        window,
        context,
        neighbours,
        inbox,
        anomalies,
        notice: None,
        former: None,
        hints: Vec::new(),
        quoted: Vec::new(),
        reach,
        case_file: scene.case_file.clone(),
        queries_left: 0,
    })
}
