//! What a program says, without secrets.

use std::time::Duration;

use eog::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, Failure};
use eog_evidence::mask_text;

/// A policy whose words are masked before anybody stores or shows them. Packets hold no secrets, but a
/// program may have others at hand, and quote them in a summary or on standard error.
#[derive(Clone, Debug)]
pub(super) struct Masked<P>(pub(super) P);

impl<P: AbductivePolicy> AbductivePolicy for Masked<P> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            match self.0.decide(packet).await {
                Ok(answer) => Ok(Answer { decision: masked(answer.decision), ..answer }),
                Err(failure) => Err(Failure { message: mask_text(&failure.message), ..failure }),
            }
        })
    }

    fn timeout(&self) -> Option<Duration> {
        self.0.timeout()
    }
}

fn masked(mut decision: Decision) -> Decision {
    let claims = decision.claims.iter_mut();
    let claims = claims.flat_map(|claim| [&mut claim.condition, &mut claim.observed]);
    let proposals = decision.proposals.iter_mut().map(|proposal| &mut proposal.reason);
    let others = decision.alternatives.iter_mut();
    let others = others.flat_map(|other| [&mut other.summary, &mut other.lost]);
    let rules = decision.rule.iter_mut();
    for text in claims.chain(proposals).chain(others).chain(rules) {
        *text = mask_text(text);
    }
    decision.summary = mask_text(&decision.summary);
    decision
}
