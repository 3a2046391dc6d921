//! Further attempts after failures that may pass.

use std::num::NonZeroU32;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use eog_core::BoxFuture;
use eog_prompts::{ChatError, ChatModel, ChatRequest, ChatResponse, ModelInfo, TokenUsage};

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

/// A model that is asked again after failures which may pass. What failed attempts cost is part of
/// the usage of the answer.
#[derive(Debug)]
pub struct Retrying<M> {
    inner: M,
    policy: RetryPolicy,
}

impl<M: ChatModel> Retrying<M> {
    /// Asks a model again as the policy says.
    pub fn new(inner: M, policy: RetryPolicy) -> Self {
        Self { inner, policy }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let mut delays = self.policy.delays();
        let mut wasted = TokenUsage::default();
        loop {
            let mut error = match self.inner.chat(request).await {
                Ok(mut response) => {
                    response.usage += wasted;
                    return Ok(response);
                }
                Err(error) => error,
            };
            wasted += error.usage;
            error.usage = wasted;
            if !error.kind.is_transient() {
                return Err(error);
            }
            let asked_for = error.retry_after.unwrap_or_default();
            match delays.next() {
                Some(due) if asked_for <= self.policy.longest_wait => {
                    tokio::time::sleep(due.max(asked_for)).await;
                }
                _ => return Err(error),
            }
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
