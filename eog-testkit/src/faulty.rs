//! A wrapper that makes chosen calls go wrong.

use std::future::Future;
use std::time::Duration;

use eog::{
    AbductivePolicy, Answer, BoxFuture, ContextContract, ContextPacket, ContextRequest, EntityId,
    Failure, LocalContext,
};

use crate::calls::{Call, Counter};
use crate::fault::Fault;

/// Wraps a policy or a context contract and lets chosen calls fail, hang, come late or panic.
///
/// The first fault that strikes a call decides. All other calls go through. Hanging and late
/// calls need [`eog::Engine`]; delays run on tokio's clock, so a paused clock skips them.
///
/// The test names each call that goes wrong. For faults that are drawn from a seed, see
/// [`sim`](crate::sim).
///
/// ```
/// use eog::{Config, Failure};
/// use eog_testkit::{
///     Call, Faulty, MemoryContext, assert_that, healthy, policy_fn, run, seeded, topology,
/// };
/// let policy = Faulty::new(policy_fn(healthy)).fail(Call::of("S1"), Failure::policy("no reply"));
/// let case = seeded(topology("S1; S2"), ["S1", "S2"]);
/// let run = run(Config::default(), case, &MemoryContext::default(), &policy);
/// assert_that(&run).failed("S1").evaluated(["S1", "S2"]);
/// ```
#[derive(Debug)]
pub struct Faulty<T> {
    inner: T,
    faults: Vec<(Call, Fault)>,
    counter: Counter,
}

impl<T> Faulty<T> {
    /// Wraps a policy or a context contract, without any faults yet.
    pub fn new(inner: T) -> Self {
        Self { inner, faults: Vec::new(), counter: Counter::default() }
    }

    /// These calls fail.
    #[must_use]
    pub fn fail(self, call: Call, failure: Failure) -> Self {
        self.with(call, Fault::Fail(failure))
    }

    /// These calls never answer.
    #[must_use]
    pub fn hang(self, call: Call) -> Self {
        self.with(call, Fault::Hang)
    }

    /// These calls answer after a while.
    #[must_use]
    pub fn delay(self, call: Call, by: Duration) -> Self {
        self.with(call, Fault::Delay(by))
    }

    /// These calls panic.
    #[must_use]
    pub fn panic(self, call: Call, message: &str) -> Self {
        self.with(call, Fault::Panic(message.to_owned()))
    }

    fn with(mut self, call: Call, fault: Fault) -> Self {
        self.faults.push((call, fault));
        self
    }

    async fn disturb<R>(
        &self,
        entity: &EntityId,
        inner: impl Future<Output = Result<R, Failure>>,
    ) -> Result<R, Failure> {
        let numbers = self.counter.count(entity);
        if let Some((_, fault)) = self.faults.iter().find(|(call, _)| call.is(entity, numbers)) {
            fault.strike().await?;
        }
        inner.await
    }
}

impl<T: AbductivePolicy> AbductivePolicy for Faulty<T> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(self.disturb(&packet.entity, async { self.inner.decide(packet).await }))
    }
}

impl<T: ContextContract> ContextContract for Faulty<T> {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(self.disturb(&request.entity, async { self.inner.get_context(request).await }))
    }
}
