//! The answering side: who is asked writes down what was asked, and what was paid.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use eog::side::RecordError;
use eog::{
    AbductivePolicy, Answer, BoxFuture, CallRecorder, ContextContract, ContextPacket,
    ContextRequest, Digest, EntityId, Entry, Failure, LocalContext, Usage,
};

use super::plan::Plan;
use crate::random::RandomSeed;

/// The most that one attempt at a decision costs.
pub(in crate::sim) const DEAREST: Usage =
    Usage { model_calls: 1, tokens_in: 300, tokens_out: 100, cost_micro_usd: 200 };

/// What one call outside the loop costs.
pub(in crate::sim) const OUTSIDE: Usage =
    Usage { model_calls: 1, tokens_in: 10, tokens_out: 10, cost_micro_usd: 10 };

/// Something that happened to a process, as seen from outside.
#[derive(Clone, Debug)]
pub(in crate::sim) enum Happening {
    /// A context was asked for.
    Fetched { entity: EntityId, visit: u32 },
    /// A decision was asked for.
    Decided { entity: EntityId, packet: Digest },
    /// An entry was acknowledged.
    Stored(Arc<Entry>),
    /// A call outside the loop was answered.
    OutsideAsked(&'static str),
    /// The answer of a call outside the loop came back from the recorder.
    OutsideUsed(&'static str, u64),
    /// An answer was paid for.
    Paid(Usage),
}

/// What happened to the process that lives now. Clones share it.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Log(Arc<Mutex<Vec<Happening>>>);

impl Log {
    pub(in crate::sim) fn note(&self, happening: Happening) {
        self.lock().push(happening);
    }

    pub(in crate::sim) fn take(&self) -> Vec<Happening> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Happening>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wraps a policy or a contract: writes down each attempt before anything comes of it, and charges
/// for decisions.
pub(in crate::sim) struct Watched<T> {
    inner: T,
    log: Log,
    seed: RandomSeed,
}

impl<T> Watched<T> {
    pub(in crate::sim) fn new(inner: T, log: &Log, seed: RandomSeed) -> Self {
        Self { inner, log: log.clone(), seed }
    }

    /// What an attempt at this packet costs.
    fn price(&self, packet: Digest) -> Usage {
        let mut draw = self.seed.about("price", &packet, 1);
        Usage {
            model_calls: 1,
            tokens_in: draw.between(1, DEAREST.tokens_in),
            tokens_out: draw.between(1, DEAREST.tokens_out),
            cost_micro_usd: draw.between(0, DEAREST.cost_micro_usd),
        }
    }
}

impl<T: ContextContract> ContextContract for Watched<T> {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        let (entity, visit) = (request.entity.clone(), request.visit);
        self.log.note(Happening::Fetched { entity, visit });
        self.inner.get_context(request)
    }
}

impl<T: AbductivePolicy> AbductivePolicy for Watched<T> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let (entity, digest) = (packet.entity.clone(), Digest::of(packet));
            self.log.note(Happening::Decided { entity, packet: digest });
            let answered = self.inner.decide(packet).await;
            let usage = self.price(digest);
            self.log.note(Happening::Paid(usage));
            match answered {
                Ok(answer) => Ok(Answer { usage, ..answer }),
                Err(failure) => Err(Failure { usage, ..failure }),
            }
        })
    }
}

/// Answers calls outside the loop, after the drawn number of failures.
#[derive(Debug)]
pub(in crate::sim) struct Outside {
    log: Log,
    fails: Mutex<BTreeMap<&'static str, u64>>,
    seed: RandomSeed,
}

impl Outside {
    /// Calls before and after the investigation.
    pub(in crate::sim) const BEFORE: [&'static str; 2] = ["window", "bootstrap"];
    pub(in crate::sim) const AFTER: &'static str = "finalize";

    pub(in crate::sim) fn new(plan: &Plan, log: &Log) -> Self {
        let names = Self::BEFORE.into_iter().chain([Self::AFTER]);
        let fails = names.map(|name| (name, plan.outside_fails)).collect();
        Self { log: log.clone(), fails: Mutex::new(fails), seed: plan.seed }
    }

    /// Makes a call through the recorder.
    pub(in crate::sim) async fn call(
        &self,
        recorder: &CallRecorder,
        name: &'static str,
    ) -> Result<(), RecordError> {
        let answer = recorder.call(name, &self.seed, async || self.answer(name).await).await?;
        self.log.note(Happening::OutsideUsed(name, answer));
        Ok(())
    }

    async fn answer(&self, name: &'static str) -> Result<(u64, Usage), Failure> {
        self.log.note(Happening::OutsideAsked(name));
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.log.note(Happening::Paid(OUTSIDE));
        let mut fails = self.fails.lock().unwrap_or_else(PoisonError::into_inner);
        let left = fails.entry(name).or_default();
        if *left > 0 {
            *left -= 1;
            return Err(Failure { usage: OUTSIDE, ..Failure::policy("fails as the seed says") });
        }
        let answers = self.seed.child(name);
        Ok((answers.stream("answer").bits(), OUTSIDE))
    }
}
