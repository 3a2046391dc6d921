//! One call of a responder: its turn, its time-out, its attempts.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use eog_core::contract::FailureKind;
use eog_core::machine::{Question, QuestionKind, Responder, Response};
use eog_core::{EntityId, Failure, Usage};
use futures_util::FutureExt;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::{Instrument, Span, field::Empty, info_span};

use super::limits::{Limits, POLICY_TIMEOUT, wait};
use crate::side::CallFigures;

/// A call that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Called<T> {
    pub(crate) result: Result<T, Failure>,
    pub(super) figures: CallFigures,
    /// What the attempts before the last cost.
    pub(super) failed_usage: Usage,
}

/// Room for calls, of all who share it.
#[derive(Clone, Debug)]
pub(super) struct Rooms {
    contexts: Option<Arc<Semaphore>>,
    policies: Option<Arc<Semaphore>>,
}

impl Rooms {
    pub(super) fn of(limits: &Limits) -> Self {
        let room = |limit: Option<std::num::NonZeroU32>| {
            limit.map(|limit| Arc::new(Semaphore::new(limit.get() as usize)))
        };
        Self { contexts: room(limits.context_calls), policies: room(limits.policy_calls) }
    }
}

/// Asks questions within the limits.
#[derive(Debug)]
pub(crate) struct Caller<R> {
    responder: Arc<R>,
    limits: Limits,
    rooms: Rooms,
    begun: Instant,
    retries: AtomicU64,
}

/// The fields of traces of a question and its attempts.
fn span_of(kind: QuestionKind, about: &EntityId) -> Span {
    let name = match kind {
        QuestionKind::Context => "get_context",
        QuestionKind::Policy => "evaluate",
    };
    info_span!(
        "ask",
        otel.name = format!("{name} {about}"),
        eog.operation = name,
        eog.entity = %about,
        eog.attempts = Empty,
        "error.type" = Empty,
        otel.status_code = Empty,
    )
}

impl<R> Caller<R> {
    pub(crate) fn new(responder: R, limits: Limits) -> Self {
        Self::sharing(Arc::new(responder), limits, Rooms::of(&limits))
    }

    /// One that has a responder and its limits in common with others.
    pub(super) fn sharing(responder: Arc<R>, limits: Limits, rooms: Rooms) -> Self {
        let (begun, retries) = (Instant::now(), AtomicU64::new(0));
        Self { responder, limits, rooms, begun, retries }
    }

    /// How many attempts followed one that failed.
    pub(super) fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    /// The run time so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Asks a question: until it is answered, fails for good, or was tried often enough.
    pub(crate) async fn ask<Q: Question>(&self, question: &Q) -> Called<Response<Q::Answer>>
    where
        R: Responder<Q>,
    {
        let (room, kinds) = match question.kind() {
            QuestionKind::Context => (&self.rooms.contexts, Kinds::context(&self.limits)),
            QuestionKind::Policy => (
                &self.rooms.policies,
                Kinds::policy(&self.limits, self.responder.timeout(question)),
            ),
        };
        let attempt = || self.responder.respond(question);
        let span = span_of(question.kind(), question.about());
        let called = self.call(question.key(), room.as_deref(), kinds, attempt);
        let called = called.instrument(span.clone()).await;
        span.record("eog.attempts", called.figures.attempts);
        if let Err(failure) = &called.result {
            span.record("error.type", format!("{:?}", failure.kind));
            span.record("otel.status_code", "ERROR");
        }
        called
    }

    async fn call<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        entity: &EntityId,
        room: Option<&Semaphore>,
        kinds: Kinds,
        attempt: impl Fn() -> F,
    ) -> Called<T> {
        let started = self.begun.elapsed();
        let mut delays = self.limits.retry.delays(seed_of(entity));
        let mut figures = CallFigures {
            started_ms: u64::try_from(started.as_millis()).unwrap_or(u64::MAX),
            ..CallFigures::default()
        };
        let mut failed_usage = Usage::default();
        let result = loop {
            let permit = match room {
                // It is never closed.
                Some(room) => room.acquire().await.ok(),
                None => None,
            };
            figures.attempts += 1;
            let result = guarded(&attempt, kinds).await;
            drop(permit);
            let Err(failure) = &result else { break result };
            let Some(delay) = failure.transient.then(|| delays.next()).flatten() else {
                break result;
            };
            let delay = wait(delay, failure.retry_after);
            // Nothing new is begun after the deadline.
            let ends = self.limits.deadline.unwrap_or(Duration::MAX);
            if self.begun.elapsed().saturating_add(delay) >= ends {
                break result;
            }
            figures.failures.push(failure.to_string());
            failed_usage += failure.usage;
            tokio::time::sleep(delay).await;
            self.retries.fetch_add(1, Ordering::Relaxed);
        };
        let took = self.begun.elapsed().saturating_sub(started);
        figures.took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        Called { result, figures, failed_usage }
    }
}

/// The kinds of a call's own failures, and how long an attempt may take.
#[derive(Clone, Copy)]
struct Kinds {
    failed: FailureKind,
    timed_out: FailureKind,
    timeout: Duration,
}

impl Kinds {
    fn context(limits: &Limits) -> Self {
        Self {
            failed: FailureKind::ContextFailed,
            timed_out: FailureKind::ContextTimedOut,
            timeout: limits.context_timeout,
        }
    }

    /// The user's time-out comes before the responder's own.
    fn policy(limits: &Limits, own: Option<Duration>) -> Self {
        Self {
            failed: FailureKind::PolicyFailed,
            timed_out: FailureKind::PolicyTimedOut,
            timeout: limits.policy_timeout.or(own).unwrap_or(POLICY_TIMEOUT),
        }
    }
}

/// Spreads the waits of entities, equally in each run.
fn seed_of(entity: &EntityId) -> u64 {
    let digest = blake3::hash(entity.as_str().as_bytes());
    digest.as_bytes().iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}

/// Runs an attempt with a time-out; a panic in it becomes a failure.
async fn guarded<T, F: Future<Output = Result<T, Failure>>>(
    attempt: impl FnOnce() -> F,
    kinds: Kinds,
) -> Result<T, Failure> {
    let guarded = AssertUnwindSafe(async { attempt().await }).catch_unwind();
    match tokio::time::timeout(kinds.timeout, guarded).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => Err(Failure::new(kinds.failed, describe_panic(panic.as_ref()))),
        Err(_elapsed) => {
            let seconds = kinds.timeout.as_secs_f64();
            Err(Failure::new(kinds.timed_out, format!("no answer within {seconds} s")))
        }
    }
}

/// The message of a panic, if it has one; the first 200 characters.
fn describe_panic(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().copied();
    match words.or_else(|| panic.downcast_ref::<String>().map(String::as_str)) {
        Some(words) => format!("it panicked: {}", words.chars().take(200).collect::<String>()),
        None => "it panicked".to_owned(),
    }
}
