//! Any policy, with the evidence policy behind it.

use std::time::Duration;

use eog_core::contract::FALLBACK_RULE;
use eog_core::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Failure};

use super::EvidencePolicy;
use super::explain::MAX_SUMMARY;
use crate::text::shorten;

/// A policy behind which the [`EvidencePolicy`] judges what it gives no decision on: a weak or absent model still ends in a
/// diagnosis. Such decisions say so, with the reason. What a budget does not allow is not judged in its place: it is asked again
/// when the investigation goes on.
///
/// ```
/// use eog_core::{Decision, Failure, try_policy_fn};
/// use eog_evidence::OrEvidence;
/// let absent = try_policy_fn(|_| Err::<Decision, _>(Failure::policy("the model does not answer")));
/// let policy = OrEvidence(absent);
/// # let _ = policy;
/// ```
#[derive(Clone, Debug)]
pub struct OrEvidence<P>(pub P);

impl<P: AbductivePolicy> AbductivePolicy for OrEvidence<P> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            match self.0.decide(packet).await {
                Err(failure) if failure.exhausted.is_none() => Ok(in_place(packet, &failure)),
                answered => answered,
            }
        })
    }

    fn timeout(&self) -> Option<Duration> {
        self.0.timeout()
    }
}

fn in_place(packet: &ContextPacket, failure: &Failure) -> Answer {
    let mut decision = EvidencePolicy::default().judge(packet);
    let reason = shorten(&failure.message, 120);
    let summary = format!("{} [judged without a model: {reason}]", decision.summary);
    decision.summary = shorten(&summary, MAX_SUMMARY);
    decision.rule = Some(FALLBACK_RULE.to_owned());
    Answer { usage: failure.usage, ..decision.into() }
}
