//! Further attempts after failures that may pass.

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

/// Of a wait that is as long as this, somebody is told.
const LONG_WAIT: Duration = Duration::from_secs(5);

/// How often a call is tried that fails in a way which may pass
/// ([`ChatErrorKind::is_transient`](eog_prompts::ChatErrorKind::is_transient)), and how long is
/// waited in between. The wait doubles with each attempt; there is no chance in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all; 1 is never to try again.
    pub attempts: NonZeroU32,
    /// The wait before the second attempt.
    pub first_delay: Duration,
    /// The longest wait, unless the provider asks for a longer one.
    pub max_delay: Duration,
    /// The longest wait that a provider may ask for. If it asks for more, there is no other attempt.
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

/// Whether a host can be reached, as far as calls have shown. Clones know the same.
///
/// A host that was never reached with all attempts of one call is not tried again: its address is
/// wrong, or it is down, and every further question would wait for nothing. One that was reached
/// before is always tried, for it may come back.
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

/// Who is told what goes on while a call is under way, such as a long wait.
#[derive(Clone)]
pub struct Notice(Arc<dyn Fn(&str) + Send + Sync>);

impl Notice {
    /// Tells this function, in one line.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }
}

impl fmt::Debug for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notice")
    }
}

/// A model that is asked again after failures which may pass. What failed attempts cost is part of
/// the usage of the answer.
#[derive(Debug)]
pub struct Retrying<M> {
    inner: M,
    policy: RetryPolicy,
    reach: Reach,
    notice: Option<Notice>,
}

impl<M: ChatModel> Retrying<M> {
    /// Asks a model again as the policy says.
    pub fn new(inner: M, policy: RetryPolicy) -> Self {
        Self { inner, policy, reach: Reach::default(), notice: None }
    }

    /// The same, at a host of which others know, too, whether it can be reached.
    #[must_use]
    pub fn at(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// The same, with somebody who is told of waits of five seconds and more.
    #[must_use]
    pub fn telling(self, notice: Option<Notice>) -> Self {
        Self { notice, ..self }
    }

    /// Asks as often as the policy allows; whoever gets the error need not ask again.
    async fn ask(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let answer = self.try_often(request).await;
        answer.map_err(|error| ChatError { transient: false, ..error })
    }

    async fn try_often(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        if self.reach.is_given_up() {
            return Err(ChatError::new(
                &self.inner.info().name,
                ChatErrorKind::Unreachable,
                "not asked, for its provider could not be reached before",
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
                    "{}; it asks for a wait of {} s, and at most {} s are waited",
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
            self.tell_of(wait, &error);
            tokio::time::sleep(wait).await;
        }
    }

    /// Says why nothing happens for a while.
    fn tell_of(&self, wait: Duration, error: &ChatError) {
        if let Some(Notice(tell)) = self.notice.as_ref().filter(|_| wait >= LONG_WAIT) {
            tell(&format!("{error}; asking again in {} s", wait.as_secs()));
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
