//! Answers that come late.

use std::time::Duration;

use eog::{
    AbductivePolicy, Answer, BoxFuture, ContextContract, ContextPacket, ContextRequest, Digest,
    Failure, LocalContext,
};

use super::switch::FaultSwitch;
use crate::fault::Fault;
use crate::random::RandomSeed;

/// Wraps a policy or a context contract and lets every answer come late, by up to `max`.
///
/// The time hangs on seed and question alone and runs on tokio's clock. Under a paused clock, calls
/// that are under way together are answered in an order that the seed shuffles, and waiting costs
/// no time. Needs [`eog::Engine`]. With the [`FaultSwitch`] off, answers come at once.
///
/// ```
/// use std::time::Duration;
///
/// use eog::{Config, Engine};
/// use eog_testkit::sim::Delayed;
/// use eog_testkit::{MemoryContext, assert_that, healthy, policy_fn, seeded, topology};
///
/// // A test would say `#[tokio::test(start_paused = true)]`.
/// #[tokio::main(flavor = "current_thread", start_paused = true)]
/// async fn main() {
///     let policy = Delayed::new(policy_fn(healthy), Duration::from_secs(60), 7);
///     let case = seeded(topology("a; b"), ["a", "b"]);
///     let run = Engine::new(MemoryContext::default(), policy)
///         .investigate(Config::default(), case)
///         .await;
///     assert_that(&run).evaluated(["a", "b"]);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Delayed<T> {
    inner: T,
    max: Duration,
    seed: RandomSeed,
    faults: FaultSwitch,
}

impl<T> Delayed<T> {
    /// Delays a policy or a context contract.
    pub fn new(inner: T, max: Duration, seed: impl Into<RandomSeed>) -> Self {
        Self { inner, max, seed: seed.into(), faults: FaultSwitch::default() }
    }

    /// Obeys a switch that others share.
    #[must_use]
    pub fn with_switch(mut self, faults: FaultSwitch) -> Self {
        self.faults = faults;
        self
    }

    async fn wait(&self, question: Digest) -> Result<(), Failure> {
        if self.faults.is_on() {
            let mut draw = self.seed.about("delayed", &question, 1);
            Fault::Delay(self.max.mul_f64(draw.share())).strike().await?;
        }
        Ok(())
    }
}

impl<T: AbductivePolicy> AbductivePolicy for Delayed<T> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            self.wait(Digest::of(packet)).await?;
            self.inner.decide(packet).await
        })
    }
}

impl<T: ContextContract> ContextContract for Delayed<T> {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(async move {
            self.wait(Digest::of(request)).await?;
            self.inner.get_context(request).await
        })
    }
}
