//! Questions that are open, or were answered ahead of their turn: at most one of a kind for each key.

use std::collections::BTreeMap;

use eog_core::EntityId;
use eog_core::machine::{Question, QuestionKind, Ticket};
use futures_util::future::AbortHandle;

use super::Answered;

/// One question.
pub(super) struct Asked<Q: Question> {
    /// The name of the call.
    call: u64,
    pub(super) question: Q,
    ticket: Option<Ticket>,
    /// Asked when no ticket waited.
    early: bool,
    pub(super) state: State<Q>,
    abort: AbortHandle,
}

pub(super) enum State<Q: Question> {
    Running,
    Ready(Answered<Q>),
    /// An early answer that failed is no answer: it is asked for again at its turn.
    Failed,
}

impl<Q: Question> Asked<Q> {
    pub(super) fn new(call: u64, question: Q, ticket: Option<Ticket>, abort: AbortHandle) -> Self {
        Self { call, question, ticket, early: ticket.is_none(), state: State::Running, abort }
    }
}

pub(super) struct Questions<Q: Question>(BTreeMap<(EntityId, QuestionKind), Asked<Q>>);

impl<Q: Question> Default for Questions<Q> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

/// The state of a question whose turn has come.
pub(super) struct Claimed<Q: Question> {
    pub(super) answer: Claim<Q>,
    /// An early question of the same key and kind that was not this one.
    pub(super) outdated: Option<Asked<Q>>,
}

pub(super) enum Claim<Q: Question> {
    Ready(Answered<Q>),
    Running,
    Unasked,
}

/// The state after a call that ended.
pub(super) enum Finish<Q: Question> {
    For(Ticket, Answered<Q>),
    /// It was early and failed. The machine does not wait for it yet.
    Lost(Answered<Q>),
    /// It was early and failed, and a ticket waits.
    Again(Ticket, Q, Answered<Q>),
}

impl<Q: Question> Questions<Q> {
    pub(super) fn start(&mut self, asked: Asked<Q>) {
        self.0.insert(place(&asked.question), asked);
    }

    /// The state of exactly this question.
    pub(super) fn state(&self, question: &Q) -> Option<&State<Q>> {
        let asked = self.0.get(&place(question)).filter(|asked| asked.question == *question)?;
        Some(&asked.state)
    }

    pub(super) fn remove(&mut self, key: &EntityId, kind: QuestionKind) -> Option<Asked<Q>> {
        self.0.remove(&(key.clone(), kind)).inspect(|asked| asked.abort.abort())
    }

    pub(super) fn claim(&mut self, question: &Q, ticket: Ticket) -> Claimed<Q> {
        if let Some(asked) = self.0.get_mut(&place(question))
            && asked.question == *question
            && matches!(asked.state, State::Running)
        {
            asked.ticket = Some(ticket);
            return Claimed { answer: Claim::Running, outdated: None };
        }
        match self.remove(question.key(), question.kind()) {
            Some(Asked { question: other, state: State::Ready(called), .. })
                if other == *question =>
            {
                Claimed { answer: Claim::Ready(called), outdated: None }
            }
            outdated => Claimed { answer: Claim::Unasked, outdated },
        }
    }

    pub(super) fn finish(
        &mut self,
        key: &EntityId,
        kind: QuestionKind,
        call: u64,
        called: Answered<Q>,
    ) -> Option<Finish<Q>> {
        let place = (key.clone(), kind);
        // A missing one was outdated before it ended, and counted then.
        let asked = self.0.get_mut(&place).filter(|asked| asked.call == call)?;
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
                let asked = self.0.remove(&place)?;
                Some(if early && failed {
                    Finish::Again(ticket, asked.question, called)
                } else {
                    Finish::For(ticket, called)
                })
            }
        }
    }

    pub(super) fn take_early(&mut self) -> Vec<Asked<Q>> {
        let early: Vec<(EntityId, QuestionKind)> = self
            .0
            .iter()
            .filter(|(_, asked)| asked.ticket.is_none())
            .map(|(place, _)| place.clone())
            .collect();
        early.iter().filter_map(|(key, kind)| self.remove(key, *kind)).collect()
    }
}

fn place<Q: Question>(question: &Q) -> (EntityId, QuestionKind) {
    (question.key().clone(), question.kind())
}
