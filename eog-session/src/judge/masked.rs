//! What a program says, without secrets.

use std::time::Duration;

use eog::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Failure};
use eog_evidence::{mask_text, masked};

/// A policy whose words are masked before they are stored or shown. Packets hold no secrets, but a
/// program may have others at hand, and quote them in a summary or on standard error.
#[derive(Clone, Debug)]
pub(super) struct Masked<P>(pub(super) P);

impl<P: AbductivePolicy> AbductivePolicy for Masked<P> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            match self.0.decide(packet).await {
                Ok(answer) => match masked(&answer.decision) {
                    Ok(decision) => Ok(Answer { decision, ..answer }),
                    Err(error) => {
                        Err(Failure::policy(format!("its decision cannot be kept: {error}")))
                    }
                },
                Err(failure) => Err(Failure { message: mask_text(&failure.message), ..failure }),
            }
        })
    }

    fn timeout(&self) -> Option<Duration> {
        self.0.timeout()
    }
}
