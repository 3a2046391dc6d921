//! Limits on requests and tokens per minute, and on concurrent requests.

use std::collections::VecDeque;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

use eog_core::BoxFuture;
use eog_prompts::{ChatError, ChatModel, ChatRequest, ChatResponse, ModelInfo};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;

use crate::tokens;

const MINUTE: Duration = Duration::from_secs(60);

/// Limits set by a provider or by yourself. `None` is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Requests in any minute.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens in any minute, of prompts and of the longest possible answers.
    pub tokens_per_minute: Option<NonZeroU64>,
    /// Concurrent requests.
    pub concurrent: Option<NonZeroU32>,
}

/// Delays calls until the limits allow them, in the order in which they arrived. Clones share the
/// limits.
#[derive(Clone, Debug)]
pub struct RateLimiter {
    limits: RateLimits,
    at_once: Option<Arc<Semaphore>>,
    last_minute: Arc<Mutex<VecDeque<(Instant, u64)>>>,
}

impl RateLimiter {
    /// A limiter with these limits.
    pub fn new(limits: RateLimits) -> Self {
        let at_once = limits.concurrent.map(|many| {
            let many = usize::try_from(many.get()).unwrap_or(usize::MAX);
            Arc::new(Semaphore::new(many.min(Semaphore::MAX_PERMITS)))
        });
        Self { limits, at_once, last_minute: Arc::default() }
    }

    /// Waits until a call of so many tokens may be made. A call of more tokens than a minute allows
    /// gets a minute of its own.
    async fn turn(&self, tokens: u64) {
        if self.limits.requests_per_minute.is_none() && self.limits.tokens_per_minute.is_none() {
            return;
        }
        // Held while waiting, so that calls keep their order.
        let mut last_minute = self.last_minute.lock().await;
        loop {
            let now = Instant::now();
            while last_minute.front().is_some_and(|(at, _)| now.duration_since(*at) >= MINUTE) {
                last_minute.pop_front();
            }
            match last_minute.front() {
                Some((first, _)) if !self.fits(&last_minute, tokens) => {
                    tokio::time::sleep_until(*first + MINUTE).await;
                }
                _ => break,
            }
        }
        last_minute.push_back((Instant::now(), tokens));
    }

    fn fits(&self, last_minute: &VecDeque<(Instant, u64)>, tokens: u64) -> bool {
        let requests = last_minute.len() as u64 + 1;
        let tokens = last_minute.iter().map(|(_, tokens)| tokens).sum::<u64>() + tokens;
        self.limits.requests_per_minute.is_none_or(|most| requests <= u64::from(most.get()))
            && self.limits.tokens_per_minute.is_none_or(|most| tokens <= most.get())
    }
}

/// A model whose calls are delayed until the limits allow them.
#[derive(Debug)]
pub struct RateLimited<M> {
    inner: M,
    limiter: RateLimiter,
}

impl<M: ChatModel> RateLimited<M> {
    /// Delays the calls of a model.
    pub fn new(inner: M, limiter: RateLimiter) -> Self {
        Self { inner, limiter }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let _permit = match &self.limiter.at_once {
            // The semaphore is never closed.
            Some(at_once) => at_once.acquire().await.ok(),
            None => None,
        };
        let info = self.inner.info();
        let tokens = tokens::prompt(info, request) + u64::from(tokens::output(info, request));
        self.limiter.turn(tokens).await;
        self.inner.chat(request).await
    }
}

impl<M: ChatModel> ChatModel for RateLimited<M> {
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
