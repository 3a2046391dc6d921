//! Retries after transient failures.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use eog_core::BoxFuture;
use eog_prompts::{
    ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, ModelInfo, TokenUsage,
};

/// Delays of this length and more are reported.
const LONG_WAIT: Duration = Duration::from_secs(5);

/// How often a call that fails with a transient error
/// ([`ChatError::transient`](eog_prompts::ChatError::transient)) is attempted, and the delays in
/// between. The delay doubles with each attempt, without jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in total; 1 means no retries.
    pub attempts: NonZeroU32,
    /// The delay before the second attempt.
    pub first_delay: Duration,
    /// The longest delay, unless the provider asks for a longer one.
    pub max_delay: Duration,
    /// The longest delay that a provider may ask for. If it asks for more, the call is not retried.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: NonZeroU32::MIN.saturating_add(2),
            first_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
            longest_wait: Duration::from_secs(120),
        }
    }
}

impl RetryPolicy {
    fn delays(&self) -> impl Iterator<Item = Duration> + use<> {
        ExponentialBuilder::new()
            .with_min_delay(self.first_delay)
            .with_max_delay(self.max_delay)
            .with_max_times(usize::try_from(self.attempts.get() - 1).unwrap_or(usize::MAX))
            .build()
    }
}

/// Whether a host has proved reachable so far. Clones share what is known.
///
/// If all attempts of a call fail to reach a host that was never reached before, the host is not
/// tried again: its address is wrong or it is down, and every further request would only wait. A
/// host that was reached before is always tried, since it may come back.
#[derive(Clone, Debug, Default)]
pub struct Reach(Arc<AtomicU8>);

impl Reach {
    const UNKNOWN: u8 = 0;
    const REACHED: u8 = 1;
    const GIVEN_UP: u8 = 2;

    fn is_given_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Self::GIVEN_UP
    }

    fn reached(&self) {
        self.0.store(Self::REACHED, Ordering::Relaxed);
    }

    fn give_up_unless_reached(&self) {
        let order = Ordering::Relaxed;
        // Fails where it was reached, which is as well.
        let _ = self.0.compare_exchange(Self::UNKNOWN, Self::GIVEN_UP, order, order);
    }
}

/// A callback for messages about calls in progress, such as long delays.
#[derive(Clone)]
pub struct Notice(Arc<dyn Fn(&str) + Send + Sync>);

impl Notice {
    /// Calls this function with each message, a single line.
    pub fn new(notify: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(notify))
    }
}

impl fmt::Debug for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notice")
    }
}

/// A model whose calls are retried after transient errors. The usage of an answer includes that of
/// failed attempts.
///
/// The errors it returns are not transient: the retries are used up, and callers need
/// not retry.
#[derive(Debug)]
pub struct Retrying<M> {
    inner: M,
    policy: RetryPolicy,
    reach: Reach,
    notice: Option<Notice>,
}

impl<M: ChatModel> Retrying<M> {
    /// Retries the calls of a model.
    pub fn new(inner: M, policy: RetryPolicy) -> Self {
        Self { inner, policy, reach: Reach::default(), notice: None }
    }

    /// Shares what is known about the host with other models.
    #[must_use]
    pub fn at(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Reports delays of five seconds and more.
    #[must_use]
    pub fn notifying(self, notice: Option<Notice>) -> Self {
        Self { notice, ..self }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let answer = self.try_often(request).await;
        answer.map_err(|error| ChatError { transient: false, ..error })
    }

    async fn try_often(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        if self.reach.is_given_up() {
            return Err(ChatError::new(
                &self.inner.info().name,
                ChatErrorKind::Unreachable,
                "not called, because its provider could not be reached before",
            ));
        }
        let mut delays = self.policy.delays();
        let mut wasted = TokenUsage::default();
        loop {
            let mut error = match self.inner.chat(request).await {
                Ok(mut response) => {
                    self.reach.reached();
                    response.usage += wasted;
                    return Ok(response);
                }
                Err(error) => error,
            };
            wasted += error.usage;
            error.usage = wasted;
            if matches!(error.kind, ChatErrorKind::RateLimited | ChatErrorKind::Unavailable) {
                self.reach.reached();
            }
            if !error.transient {
                return Err(error);
            }
            let asked_for = error.retry_after.unwrap_or_default();
            let longest = self.policy.longest_wait;
            if asked_for > longest {
                error.message = format!(
                    "{}; the provider asks for a delay of {} s, and the limit is {} s",
                    error.message,
                    asked_for.as_secs(),
                    longest.as_secs()
                );
                return Err(error);
            }
            let Some(due) = delays.next() else {
                if error.kind == ChatErrorKind::Unreachable {
                    self.reach.give_up_unless_reached();
                }
                return Err(error);
            };
            let wait = due.max(asked_for);
            self.report(wait, &error);
            tokio::time::sleep(wait).await;
        }
    }

    fn report(&self, wait: Duration, error: &ChatError) {
        if let Some(Notice(notify)) = self.notice.as_ref().filter(|_| wait >= LONG_WAIT) {
            notify(&format!("{error}; retrying in {} s", wait.as_secs()));
        }
    }
}

impl<M: ChatModel> ChatModel for Retrying<M> {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(self.ask(request))
    }
}
