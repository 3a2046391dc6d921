//! A wrapper that writes down what was asked.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use eog::{
    AbductivePolicy, Answer, BoxFuture, ContextContract, ContextPacket, ContextRequest, EntityId,
    Failure, LocalContext,
};

/// Wraps a policy or a context contract and records what it is asked, in order.
///
/// ```
/// use eog::Config;
/// use eog_testkit::{MemoryContext, Recorder, healthy, policy_fn, run, seeded, topology};
/// let policy = Recorder::new(policy_fn(healthy));
/// let case = seeded(topology("S1 calls S2"), ["S2", "S1"]);
/// let config = Config { wake: eog::controller::Wake::Visited, ..Config::default() };
/// run(config, case, &MemoryContext::default(), &policy);
/// // What S1 says wakes S2 once more.
/// assert_eq!(policy.asked(), ["S2", "S1", "S2"]);
/// assert_eq!(policy.packets_of("S2")[1].inbox.len(), 1);
/// ```
#[derive(Debug)]
pub struct Recorder<T> {
    inner: T,
    packets: Mutex<Vec<ContextPacket>>,
    requests: Mutex<Vec<ContextRequest>>,
}

impl<T> Recorder<T> {
    /// Wraps a policy or a context contract.
    pub fn new(inner: T) -> Self {
        Self { inner, packets: Mutex::default(), requests: Mutex::default() }
    }

    /// Every packet the policy was asked about.
    pub fn packets(&self) -> Vec<ContextPacket> {
        self.packets.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The packets of one entity.
    pub fn packets_of(&self, name: &str) -> Vec<ContextPacket> {
        let mut packets = self.packets();
        packets.retain(|packet| packet.entity.as_str() == name);
        packets
    }

    /// The names of the entities the policy was asked about.
    pub fn asked(&self) -> Vec<String> {
        self.packets().into_iter().map(|packet| name(&packet.entity)).collect()
    }

    /// Every request the context contract was given.
    pub fn requests(&self) -> Vec<ContextRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The names of the entities whose context was fetched.
    pub fn fetched(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| name(&request.entity)).collect()
    }
}

fn name(entity: &EntityId) -> String {
    entity.as_str().to_owned()
}

impl<T: AbductivePolicy> AbductivePolicy for Recorder<T> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            self.packets.lock().unwrap_or_else(PoisonError::into_inner).push(packet.clone());
            self.inner.decide(packet).await
        })
    }

    fn timeout(&self) -> Option<Duration> {
        self.inner.timeout()
    }
}

impl<T: ContextContract> ContextContract for Recorder<T> {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(async move {
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
            self.inner.get_context(request).await
        })
    }
}
