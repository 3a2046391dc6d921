//! The desk: every question that is open or was answered ahead of its turn. Whether a question is
//! early is only whether a ticket waits for its answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use eog_core::{
    AbductivePolicy, Answer, ContextContract, ContextPacket, ContextRequest, Controller, EntityId,
    Input, LocalContext, Ticket, Usage,
};
use futures_util::FutureExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::call::{Called, Caller};
use super::limits::{Speculation, SpeculationFigures};
use crate::side::CallFigures;

/// What the calls of one evaluation took and cost.
#[derive(Clone, Debug, Default)]
pub(super) struct EvaluationFigures {
    pub(super) context: Option<CallFigures>,
    pub(super) policy: Option<CallFigures>,
    pub(super) usage: Usage,
    pub(super) model: Option<String>,
    pub(super) remembered: bool,
}

/// What was not used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waste {
    pub(super) calls: u64,
    pub(super) usage: Usage,
}

pub(super) struct Desk<'e, C, P> {
    caller: &'e Caller<C, P>,
    ahead: Option<Speculation>,
    running: FuturesUnordered<BoxFuture<'e, Option<Ended>>>,
    contexts: Questions<ContextRequest, LocalContext>,
    decisions: Questions<Arc<ContextPacket>, Answer>,
    /// Gives each call a name of its own.
    calls: u64,
    /// Of evaluations that are not committed yet.
    figures: BTreeMap<EntityId, EvaluationFigures>,
    speculation: SpeculationFigures,
    waste: Waste,
    /// Usage that no answer carries to the controller.
    unaccounted: Usage,
}

/// A call that has ended, by entity and name.
pub(super) enum Ended {
    Context(EntityId, u64, Called<LocalContext>),
    Decision(EntityId, u64, Box<Called<Answer>>),
}

impl<'e, C: ContextContract, P: AbductivePolicy> Desk<'e, C, P> {
    pub(super) fn new(caller: &'e Caller<C, P>, ahead: Option<Speculation>) -> Self {
        Self {
            caller,
            ahead,
            running: FuturesUnordered::new(),
            contexts: Questions::default(),
            decisions: Questions::default(),
            calls: 0,
            figures: BTreeMap::new(),
            speculation: SpeculationFigures::default(),
            waste: Waste::default(),
            unaccounted: Usage::default(),
        }
    }

    /// Fetches a context, unless it was fetched ahead: then it is there at once.
    pub(super) fn fetch(&mut self, ticket: Ticket, request: ContextRequest) -> Option<Input> {
        let claimed = self.contexts.claim(&request.entity, &request, ticket);
        self.count_fetch(claimed.outdated);
        match claimed.answer {
            Claim::Ready(called) => Some(self.context_came(request.entity, ticket, called)),
            Claim::Running => None,
            Claim::Unasked => {
                self.start_fetch(request, Some(ticket));
                None
            }
        }
    }

    /// Asks the policy, unless it was asked ahead: then the answer is there at once.
    pub(super) fn decide(&mut self, ticket: Ticket, packet: Arc<ContextPacket>) -> Option<Input> {
        let claimed = self.decisions.claim(&packet.entity, &packet, ticket);
        self.count_call(claimed.outdated);
        match claimed.answer {
            Claim::Ready(called) => {
                self.speculation.used_calls += 1;
                Some(self.decision_came(packet.entity.clone(), ticket, called))
            }
            Claim::Running => {
                self.speculation.used_calls += 1;
                None
            }
            Claim::Unasked => {
                self.start_decision(packet, Some(ticket));
                None
            }
        }
    }

    /// Asks what will probably be asked next, as far as there is room.
    pub(super) fn look_ahead(&mut self, controller: &Controller) {
        let Some(ahead) = self.ahead else { return };
        let room = ahead.width.get().saturating_sub(controller.in_flight());
        let Some(room) = std::num::NonZeroU32::new(room) else { return };
        for upcoming in controller.upcoming(room) {
            // Every early call that was not used yet may turn out to be waste.
            let unused = self.speculation.early_calls - self.speculation.used_calls;
            if unused >= ahead.max_wasted_calls {
                return;
            }
            let entity = &upcoming.request.entity;
            match self.contexts.state(entity, &upcoming.request) {
                Some(State::Ready(called)) => {
                    let Ok(context) = &called.result else { continue };
                    let packet = Arc::new(upcoming.packet(context.clone()));
                    let known = self.decisions.state(entity, &packet).is_some();
                    if !known && !controller.remembers(&packet) {
                        let outdated = self.decisions.remove(entity);
                        self.count_call(outdated);
                        self.start_decision(packet, None);
                    }
                }
                Some(State::Running | State::Failed) => {}
                None => {
                    let outdated = self.contexts.remove(entity);
                    self.count_fetch(outdated);
                    self.start_fetch(upcoming.request, None);
                }
            }
        }
    }

    /// The next call that ends; nothing while none is under way.
    pub(super) async fn next(&mut self) -> Option<Ended> {
        loop {
            // An aborted call ends with nothing.
            if let Some(ended) = self.running.next().await? {
                return Some(ended);
            }
        }
    }

    /// What the controller is to be told of a call that ended, if somebody waits for it.
    pub(super) fn finish(&mut self, ended: Ended) -> Option<Input> {
        match ended {
            Ended::Context(entity, call, called) => {
                match self.contexts.finish(&entity, call, called)? {
                    Finish::For(ticket, called) => Some(self.context_came(entity, ticket, called)),
                    Finish::Lost(called) => {
                        self.waste_fetch(usage_of_failed(&called));
                        None
                    }
                    Finish::Again(ticket, request, called) => {
                        self.waste_fetch(usage_of_failed(&called));
                        self.start_fetch(request, Some(ticket));
                        None
                    }
                }
            }
            Ended::Decision(entity, call, called) => {
                match self.decisions.finish(&entity, call, *called)? {
                    Finish::For(ticket, called) => Some(self.decision_came(entity, ticket, called)),
                    Finish::Lost(called) => {
                        self.waste_call(usage_of_failed(&called));
                        None
                    }
                    Finish::Again(ticket, packet, called) => {
                        self.speculation.used_calls -= 1;
                        self.waste_call(usage_of_failed(&called));
                        self.start_decision(packet, Some(ticket));
                        None
                    }
                }
            }
        }
    }

    /// Drops every answer that nobody waits for: the world went on, or it is over.
    pub(super) fn forget_early(&mut self) {
        for outdated in self.contexts.take_early() {
            self.count_fetch(Some(outdated));
        }
        for outdated in self.decisions.take_early() {
            self.count_call(Some(outdated));
        }
    }

    /// Drops everything, open questions included.
    pub(super) fn clear(&mut self) {
        self.forget_early();
        self.contexts = Questions::default();
        self.decisions = Questions::default();
        self.running = FuturesUnordered::new();
        // The controller knows what they cost; no entry will say it in the side file.
        for dropped in std::mem::take(&mut self.figures).into_values() {
            self.waste.calls += u64::from(dropped.policy.is_some());
            self.waste.usage += dropped.usage;
        }
    }

    /// The figures of an evaluation that was committed.
    pub(super) fn take_figures(&mut self, entity: &EntityId) -> EvaluationFigures {
        self.figures.remove(entity).unwrap_or_default()
    }

    /// What was wasted since this was last asked.
    pub(super) fn take_waste(&mut self) -> Waste {
        std::mem::take(&mut self.waste)
    }

    /// What was spent since this was last asked, and is in no answer.
    pub(super) fn take_unaccounted(&mut self) -> Usage {
        std::mem::take(&mut self.unaccounted)
    }

    pub(super) fn speculation(&self) -> SpeculationFigures {
        self.speculation
    }

    fn start_fetch(&mut self, request: ContextRequest, ticket: Option<Ticket>) {
        self.calls += 1;
        let (caller, call, entity) = (self.caller, self.calls, request.entity.clone());
        let (abort, registration) = AbortHandle::new_pair();
        let early = ticket.is_none();
        self.contexts.start(entity.clone(), Asked::new(call, request.clone(), ticket, abort));
        let fetch = async move {
            let mut called = caller.fetch(&request).await;
            called.figures.early = early;
            Ended::Context(entity, call, called)
        };
        self.running.push(Abortable::new(fetch, registration).map(Result::ok).boxed());
    }

    fn start_decision(&mut self, packet: Arc<ContextPacket>, ticket: Option<Ticket>) {
        self.calls += 1;
        let (caller, call, entity) = (self.caller, self.calls, packet.entity.clone());
        let (abort, registration) = AbortHandle::new_pair();
        let early = ticket.is_none();
        self.speculation.early_calls += u64::from(early);
        let asked = Asked::new(call, Arc::clone(&packet), ticket, abort);
        self.decisions.start(entity.clone(), asked);
        let decide = async move {
            let mut called = caller.decide(&packet).await;
            called.figures.early = early;
            Ended::Decision(entity, call, Box::new(called))
        };
        self.running.push(Abortable::new(decide, registration).map(Result::ok).boxed());
    }

    fn context_came(
        &mut self,
        entity: EntityId,
        ticket: Ticket,
        called: Called<LocalContext>,
    ) -> Input {
        let figures = self.figures.entry(entity).or_default();
        *figures = EvaluationFigures { context: Some(called.figures), ..Default::default() };
        figures.usage += called.failed_usage;
        // A context carries no usage; that of a final failure the controller counts itself.
        self.unaccounted += called.failed_usage;
        match called.result {
            Ok(context) => Input::Context(ticket, context),
            Err(failure) => {
                figures.usage += failure.usage;
                Input::Failed(ticket, failure)
            }
        }
    }

    fn decision_came(&mut self, entity: EntityId, ticket: Ticket, called: Called<Answer>) -> Input {
        let figures = self.figures.entry(entity).or_default();
        figures.policy = Some(called.figures);
        match called.result {
            Ok(answer) => {
                let mut usage = answer.usage;
                usage += called.failed_usage;
                figures.usage += usage;
                figures.model = answer.model;
                figures.remembered = answer.remembered;
                Input::Decision(ticket, answer.decision, usage)
            }
            Err(mut failure) => {
                failure.usage += called.failed_usage;
                figures.usage += failure.usage;
                Input::Failed(ticket, failure)
            }
        }
    }

    fn count_fetch(&mut self, outdated: Option<Asked<ContextRequest, LocalContext>>) {
        match outdated.map(|asked| asked.state) {
            // One that failed was counted when it did.
            None | Some(State::Failed) => {}
            Some(State::Running) => self.waste_fetch(Usage::default()),
            Some(State::Ready(called)) => self.waste_fetch(usage_of_failed(&called)),
        }
    }

    fn count_call(&mut self, outdated: Option<Asked<Arc<ContextPacket>, Answer>>) {
        match outdated.map(|asked| asked.state) {
            // One that failed was counted when it did.
            None | Some(State::Failed) => {}
            Some(State::Running) => self.waste_call(Usage::default()),
            Some(State::Ready(called)) => {
                let mut usage = usage_of_failed(&called);
                usage += called.result.map_or_else(|_| Usage::default(), |answer| answer.usage);
                self.waste_call(usage);
            }
        }
    }

    fn waste_fetch(&mut self, usage: Usage) {
        self.speculation.wasted_fetches += 1;
        self.waste.usage += usage;
        self.unaccounted += usage;
    }

    fn waste_call(&mut self, usage: Usage) {
        self.speculation.wasted_calls += 1;
        self.waste.calls += 1;
        self.waste.usage += usage;
        self.unaccounted += usage;
    }
}

/// What all attempts that failed have cost.
fn usage_of_failed<T>(called: &Called<T>) -> Usage {
    let mut usage = called.failed_usage;
    if let Err(failure) = &called.result {
        usage += failure.usage;
    }
    usage
}

/// One question about an entity.
struct Asked<Q, A> {
    /// The name of the call.
    call: u64,
    question: Q,
    ticket: Option<Ticket>,
    /// Asked when no ticket waited.
    early: bool,
    state: State<A>,
    abort: AbortHandle,
}

enum State<A> {
    Running,
    Ready(Called<A>),
    /// An early answer that failed is no answer: it is asked for again at its turn.
    Failed,
}

impl<Q, A> Asked<Q, A> {
    fn new(call: u64, question: Q, ticket: Option<Ticket>, abort: AbortHandle) -> Self {
        Self { call, question, ticket, early: ticket.is_none(), state: State::Running, abort }
    }
}

/// At most one open or early question for each entity.
struct Questions<Q, A>(BTreeMap<EntityId, Asked<Q, A>>);

impl<Q, A> Default for Questions<Q, A> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

/// What there is for a question whose turn has come.
struct Claimed<Q, A> {
    answer: Claim<A>,
    /// An early question about the same entity that was not this one.
    outdated: Option<Asked<Q, A>>,
}

enum Claim<A> {
    Ready(Called<A>),
    Running,
    Unasked,
}

/// What becomes of a call that ended.
enum Finish<Q, A> {
    For(Ticket, Called<A>),
    /// It was early and failed. Nobody waits yet.
    Lost(Called<A>),
    /// It was early and failed, and a ticket waits.
    Again(Ticket, Q, Called<A>),
}

impl<Q: PartialEq, A> Questions<Q, A> {
    fn start(&mut self, entity: EntityId, asked: Asked<Q, A>) {
        self.0.insert(entity, asked);
    }

    /// How it stands with exactly this question.
    fn state(&self, entity: &EntityId, question: &Q) -> Option<&State<A>> {
        self.0.get(entity).filter(|asked| asked.question == *question).map(|asked| &asked.state)
    }

    fn remove(&mut self, entity: &EntityId) -> Option<Asked<Q, A>> {
        self.0.remove(entity).inspect(|asked| asked.abort.abort())
    }

    fn claim(&mut self, entity: &EntityId, question: &Q, ticket: Ticket) -> Claimed<Q, A> {
        if let Some(asked) = self.0.get_mut(entity)
            && asked.question == *question
            && matches!(asked.state, State::Running)
        {
            asked.ticket = Some(ticket);
            return Claimed { answer: Claim::Running, outdated: None };
        }
        match self.remove(entity) {
            Some(Asked { question: other, state: State::Ready(called), .. })
                if other == *question =>
            {
                Claimed { answer: Claim::Ready(called), outdated: None }
            }
            outdated => Claimed { answer: Claim::Unasked, outdated },
        }
    }

    fn finish(&mut self, entity: &EntityId, call: u64, called: Called<A>) -> Option<Finish<Q, A>> {
        // What is not there was outdated before it ended, and counted then.
        let asked = self.0.get_mut(entity).filter(|asked| asked.call == call)?;
        let failed = called.result.is_err();
        match asked.ticket {
            None if failed => {
                asked.state = State::Failed;
                Some(Finish::Lost(called))
            }
            None => {
                asked.state = State::Ready(called);
                None
            }
            Some(ticket) => {
                let early = asked.early;
                let asked = self.0.remove(entity)?;
                Some(if early && failed {
                    Finish::Again(ticket, asked.question, called)
                } else {
                    Finish::For(ticket, called)
                })
            }
        }
    }

    fn take_early(&mut self) -> Vec<Asked<Q, A>> {
        let early: Vec<EntityId> = self
            .0
            .iter()
            .filter(|(_, asked)| asked.ticket.is_none())
            .map(|(entity, _)| entity.clone())
            .collect();
        early.iter().filter_map(|entity| self.remove(entity)).collect()
    }
}
