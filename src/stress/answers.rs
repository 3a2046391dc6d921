//! The same answers in every run: each distinct question is asked once, and its answer kept.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use eog_core::{
    AbductivePolicy, Answer, BoxFuture, ContextContract, ContextPacket, ContextRequest, Digest,
    Failure, LocalContext,
};
use tokio::sync::OnceCell;

use super::draw::Draw;
use super::report::{Asked, Questions};
use crate::engine::Limits;
use crate::engine::call::Caller;

/// A contract and a policy, with everything they ever answered: failures, time-outs and panics, too.
pub(super) struct Answers<C, P> {
    caller: Caller<C, P>,
    contexts: Kept<LocalContext>,
    decisions: Kept<Answer>,
}

impl<C: ContextContract, P: AbductivePolicy> Answers<C, P> {
    pub(super) fn new(contract: C, policy: P, limits: Limits) -> Self {
        let (contexts, decisions) = (Kept::default(), Kept::default());
        Self { caller: Caller::new(contract, policy, limits), contexts, decisions }
    }

    pub(super) fn questions(&self) -> Questions {
        Questions { contexts: self.contexts.asked(), decisions: self.decisions.asked() }
    }

    async fn context(
        &self,
        question: Digest,
        request: &ContextRequest,
    ) -> Result<LocalContext, Failure> {
        let ask = async { self.caller.fetch(request).await.result };
        self.contexts.get(question, ask).await
    }

    async fn decision(&self, question: Digest, packet: &ContextPacket) -> Result<Answer, Failure> {
        let ask = async { self.caller.decide(packet).await.result };
        self.decisions.get(question, ask).await
    }
}

/// Answers by question. Whoever asks while the answer is on its way waits for it.
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
pub(super) struct Delayed<'a, C, P> {
    answers: &'a Answers<C, P>,
    delays: Option<u64>,
    longest: Duration,
}

impl<'a, C, P> Delayed<'a, C, P> {
    /// Nothing ends before its time: the answers keep the real limits.
    pub(super) fn limits() -> Limits {
        let (context_timeout, policy_timeout) = (Duration::MAX, Duration::MAX);
        Limits { context_timeout, policy_timeout, ..Limits::default() }
    }

    pub(super) fn new(answers: &'a Answers<C, P>, delays: Option<u64>, longest: Duration) -> Self {
        Self { answers, delays, longest }
    }

    async fn wait(&self, purpose: &str, question: Digest) {
        let Some(seed) = self.delays else { return };
        let longest = u64::try_from(self.longest.as_micros()).unwrap_or(u64::MAX - 1);
        let mut draw = Draw::new(seed, purpose, &question.to_string());
        tokio::time::sleep(Duration::from_micros(draw.below(longest + 1))).await;
    }
}

impl<C: ContextContract, P: AbductivePolicy> ContextContract for Delayed<'_, C, P> {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(async move {
            let question = Digest::of(request);
            self.wait("context", question).await;
            self.answers.context(question, request).await
        })
    }
}

impl<C: ContextContract, P: AbductivePolicy> AbductivePolicy for Delayed<'_, C, P> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let question = Digest::of(packet);
            self.wait("decision", question).await;
            self.answers.decision(question, packet).await
        })
    }
}
