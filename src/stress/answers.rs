//! The same answers in every run: each distinct question is asked once, and its answer kept.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use eog_core::machine::{Question, QuestionKind, Responder, Response};
use eog_core::{BoxFuture, Digest, Failure};
use tokio::sync::OnceCell;

use super::draw::Draw;
use super::report::{Asked, Questions};
use crate::engine::Limits;
use crate::engine::call::Caller;

/// A responder with every answer it ever gave: failures, time-outs and panics, too.
pub(super) struct Answers<R, Q: Question> {
    caller: Caller<R>,
    contexts: Kept<Response<Q::Answer>>,
    decisions: Kept<Response<Q::Answer>>,
}

impl<R: Responder<Q>, Q: Question> Answers<R, Q> {
    pub(super) fn new(responder: R, limits: Limits) -> Self {
        let (contexts, decisions) = (Kept::default(), Kept::default());
        Self { caller: Caller::new(responder, limits), contexts, decisions }
    }

    pub(super) fn questions(&self) -> Questions {
        Questions { contexts: self.contexts.asked(), decisions: self.decisions.asked() }
    }

    async fn answer(&self, digest: Digest, question: &Q) -> Result<Response<Q::Answer>, Failure> {
        let kept = match question.kind() {
            QuestionKind::Context => &self.contexts,
            QuestionKind::Policy => &self.decisions,
        };
        let ask = async { self.caller.ask(question).await.result };
        kept.get(digest, ask).await
    }
}

/// Answers by question. Callers that ask while the answer is on its way wait for it.
struct Kept<T> {
    cells: Mutex<BTreeMap<Digest, Cell<T>>>,
    times: AtomicU64,
}

type Cell<T> = Arc<OnceCell<Result<T, Failure>>>;

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { cells: Mutex::default(), times: AtomicU64::new(0) }
    }
}

impl<T: Clone> Kept<T> {
    async fn get(
        &self,
        question: Digest,
        ask: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let cell = {
            let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(cells.entry(question).or_default())
        };
        // It was tried often enough; trying again would bring the same failure.
        let kept = async { ask.await.map_err(|failure| Failure { transient: false, ..failure }) };
        let answer = cell.get_or_init(|| kept).await.clone();
        self.times.fetch_add(1, Ordering::Relaxed);
        answer
    }

    fn asked(&self) -> Asked {
        let cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let distinct = cells.values().filter(|cell| cell.initialized()).count() as u64;
        let times = self.times.load(Ordering::Relaxed);
        Asked { distinct, again: times.saturating_sub(distinct) }
    }
}

/// The answers, each after a delay that follows from the question.
pub(super) struct Delayed<'a, R, Q: Question> {
    answers: &'a Answers<R, Q>,
    delays: Option<u64>,
    longest: Duration,
}

/// Nothing ends before its time: the answers keep the real limits.
pub(super) fn no_limits() -> Limits {
    let (context_timeout, policy_timeout) = (Duration::MAX, Some(Duration::MAX));
    Limits { context_timeout, policy_timeout, ..Limits::default() }
}

impl<'a, R, Q: Question> Delayed<'a, R, Q> {
    pub(super) fn new(answers: &'a Answers<R, Q>, delays: Option<u64>, longest: Duration) -> Self {
        Self { answers, delays, longest }
    }

    async fn wait(&self, kind: QuestionKind, question: Digest) {
        let Some(seed) = self.delays else { return };
        let purpose = match kind {
            QuestionKind::Context => "context",
            QuestionKind::Policy => "decision",
        };
        let longest = u64::try_from(self.longest.as_micros()).unwrap_or(u64::MAX - 1);
        let mut draw = Draw::new(seed, purpose, &question.to_string());
        tokio::time::sleep(Duration::from_micros(draw.below(longest + 1))).await;
    }
}

impl<R: Responder<Q>, Q: Question> Responder<Q> for Delayed<'_, R, Q> {
    fn respond<'a>(
        &'a self,
        question: &'a Q,
    ) -> BoxFuture<'a, Result<Response<Q::Answer>, Failure>> {
        Box::pin(async move {
            let digest = question.digest();
            self.wait(question.kind(), digest).await;
            self.answers.answer(digest, question).await
        })
    }
}
