//! The desk: every question that is open or was answered ahead of its turn. Whether a question is
//! early is only whether a ticket waits for its answer.

mod questions;

use std::collections::BTreeMap;

use eog_core::machine::{Question, QuestionKind, Responder, Response, Ticket};
use eog_core::{EntityId, Input, Machine, Usage};
use futures_util::FutureExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::call::{Called, Caller};
use super::limits::{Speculation, SpeculationFigures};
use crate::side::CallFigures;
use questions::{Asked, Claim, Finish, Questions, State};

/// What the calls for one entry took and cost.
#[derive(Clone, Debug, Default)]
pub(super) struct EntryFigures {
    pub(super) context: Option<CallFigures>,
    pub(super) policy: Option<CallFigures>,
    pub(super) usage: Usage,
    pub(super) model: Option<String>,
    pub(super) remembered: bool,
}

/// The waste.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waste {
    pub(super) calls: u64,
    pub(super) usage: Usage,
}

/// The answer to a question.
type Answered<Q> = Called<Response<<Q as Question>::Answer>>;

pub(super) struct Desk<'e, R, Q: Question> {
    caller: &'e Caller<R>,
    ahead: Option<Speculation>,
    running: FuturesUnordered<BoxFuture<'e, Option<Ended<Q>>>>,
    open: Questions<Q>,
    /// Gives each call its own name.
    calls: u64,
    /// The figures of what is not committed yet, by the key of the questions.
    figures: BTreeMap<EntityId, EntryFigures>,
    speculation: SpeculationFigures,
    waste: Waste,
    /// Usage that no answer carries to the machine.
    unaccounted: Usage,
}

/// A call that has ended, by key, kind and name.
pub(super) struct Ended<Q: Question> {
    key: EntityId,
    kind: QuestionKind,
    call: u64,
    called: Box<Answered<Q>>,
}

impl<'e, R: Responder<Q>, Q: Question> Desk<'e, R, Q> {
    pub(super) fn new(caller: &'e Caller<R>, ahead: Option<Speculation>) -> Self {
        Self {
            caller,
            ahead,
            running: FuturesUnordered::new(),
            open: Questions::default(),
            calls: 0,
            figures: BTreeMap::new(),
            speculation: SpeculationFigures::default(),
            waste: Waste::default(),
            unaccounted: Usage::default(),
        }
    }

    /// Asks a question, unless it was asked ahead: then the answer is there at once.
    pub(super) fn ask(&mut self, ticket: Ticket, question: Q) -> Option<Input<Q::Answer>> {
        let claimed = self.open.claim(&question, ticket);
        self.count_outdated(claimed.outdated);
        let is_call = u64::from(question.kind() == QuestionKind::Policy);
        match claimed.answer {
            Claim::Ready(called) => {
                self.speculation.used_calls += is_call;
                Some(self.came(question.key().clone(), question.kind(), ticket, called))
            }
            Claim::Running => {
                self.speculation.used_calls += is_call;
                None
            }
            Claim::Unasked => {
                self.start(question, Some(ticket));
                None
            }
        }
    }

    /// Asks what will probably be asked next, as far as there is room.
    pub(super) fn look_ahead<M: Machine<Question = Q>>(&mut self, machine: &M) {
        let Some(ahead) = self.ahead else { return };
        let room = ahead.width.get().saturating_sub(machine.in_flight());
        let Some(room) = std::num::NonZeroU32::new(room) else { return };
        for upcoming in machine.upcoming(room) {
            let mut next = Some(upcoming);
            while let Some(question) = next.take() {
                // Every early call that was not used yet may become waste.
                let unused = self.speculation.early_calls - self.speculation.used_calls;
                if unused >= ahead.max_wasted_calls {
                    return;
                }
                match self.open.state(&question) {
                    Some(State::Ready(called)) => {
                        if let Ok(response) = &called.result {
                            next = machine.follow_up(&question, &response.answer);
                        }
                    }
                    Some(State::Running | State::Failed) => {}
                    None => {
                        let outdated = self.open.remove(question.key(), question.kind());
                        self.count_outdated(outdated);
                        self.start(question, None);
                    }
                }
            }
        }
    }

    /// The next call that ends; `None` while none is under way.
    pub(super) async fn next(&mut self) -> Option<Ended<Q>> {
        loop {
            // An aborted call ends with nothing.
            if let Some(ended) = self.running.next().await? {
                return Some(ended);
            }
        }
    }

    /// The input for the machine from a call that ended, if the machine waits for it.
    pub(super) fn finish(&mut self, ended: Ended<Q>) -> Option<Input<Q::Answer>> {
        let Ended { key, kind, call, called } = ended;
        match self.open.finish(&key, kind, call, *called)? {
            Finish::For(ticket, called) => Some(self.came(key, kind, ticket, called)),
            Finish::Lost(called) => {
                self.count_waste(kind, usage_of_failed(&called));
                None
            }
            Finish::Again(ticket, question, called) => {
                self.speculation.used_calls -= u64::from(kind == QuestionKind::Policy);
                self.count_waste(kind, usage_of_failed(&called));
                self.start(question, Some(ticket));
                None
            }
        }
    }

    /// Drops every answer that the machine does not wait for: the investigation went on, or it is
    /// over.
    pub(super) fn forget_early(&mut self) {
        for outdated in self.open.take_early() {
            self.count_outdated(Some(outdated));
        }
    }

    /// Drops everything, open questions included.
    pub(super) fn clear(&mut self) {
        self.forget_early();
        self.open = Questions::default();
        self.running = FuturesUnordered::new();
        // The machine knows what they cost; no entry will say it in the side file.
        for dropped in std::mem::take(&mut self.figures).into_values() {
            self.waste.calls += u64::from(dropped.policy.is_some());
            self.waste.usage += dropped.usage;
        }
    }

    /// The figures of what was committed.
    pub(super) fn take_figures(&mut self, key: &EntityId) -> EntryFigures {
        self.figures.remove(key).unwrap_or_default()
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

    fn start(&mut self, question: Q, ticket: Option<Ticket>) {
        self.calls += 1;
        let (caller, call) = (self.caller, self.calls);
        let (key, kind) = (question.key().clone(), question.kind());
        let (abort, registration) = AbortHandle::new_pair();
        let early = ticket.is_none();
        if early && kind == QuestionKind::Policy {
            self.speculation.early_calls += 1;
        }
        self.open.start(Asked::new(call, question.clone(), ticket, abort));
        let ask = async move {
            let mut called = caller.ask(&question).await;
            called.figures.early = early;
            Ended { key, kind, call, called: Box::new(called) }
        };
        self.running.push(Abortable::new(ask, registration).map(Result::ok).boxed());
    }

    fn came(
        &mut self,
        key: EntityId,
        kind: QuestionKind,
        ticket: Ticket,
        called: Answered<Q>,
    ) -> Input<Q::Answer> {
        let figures = self.figures.entry(key).or_default();
        match kind {
            QuestionKind::Context => {
                *figures = EntryFigures { context: Some(called.figures), ..Default::default() };
            }
            QuestionKind::Policy => figures.policy = Some(called.figures),
        }
        match called.result {
            Ok(response) => {
                let mut usage = response.usage;
                usage += called.failed_usage;
                figures.usage += usage;
                if kind == QuestionKind::Policy {
                    figures.model = response.model;
                    figures.remembered = response.remembered;
                }
                Input::Answer(ticket, response.answer, usage)
            }
            Err(mut failure) => {
                failure.usage += called.failed_usage;
                figures.usage += failure.usage;
                Input::Failed(ticket, failure)
            }
        }
    }

    fn count_outdated(&mut self, outdated: Option<Asked<Q>>) {
        let Some(asked) = outdated else { return };
        let kind = asked.question.kind();
        match asked.state {
            // One that failed was counted when it did.
            State::Failed => {}
            State::Running => self.count_waste(kind, Usage::default()),
            State::Ready(called) => {
                let mut usage = usage_of_failed(&called);
                usage += called.result.map_or_else(|_| Usage::default(), |answer| answer.usage);
                self.count_waste(kind, usage);
            }
        }
    }

    fn count_waste(&mut self, kind: QuestionKind, usage: Usage) {
        match kind {
            QuestionKind::Context => self.speculation.wasted_fetches += 1,
            QuestionKind::Policy => {
                self.speculation.wasted_calls += 1;
                self.waste.calls += 1;
            }
        }
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
