//! What is asked about one entity: for its context, then for a decision on it.

use std::sync::Arc;
use std::time::Duration;

use crate::contract::packet::{ContextPacket, Decision, LocalContext};
use crate::contract::{AbductivePolicy, BoxFuture, ContextContract, ContextRequest, Failure};
use crate::digest::Digest;
use crate::ids::EntityId;
use crate::machine::question::{Question, QuestionKind};
use crate::machine::responder::{Responder, Response};

/// A question about one entity. [`ContextAndPolicy`] answers it.
#[derive(Clone, Debug, PartialEq)]
pub enum Inquiry {
    /// For its local context: ask a [`ContextContract`].
    Context(ContextRequest),
    /// For a decision on what that means: ask an [`AbductivePolicy`].
    Decision(Arc<ContextPacket>),
}

/// The answer to an [`Inquiry`].
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The local context.
    Context(LocalContext),
    /// The decision.
    Decision(Decision),
}

impl Question for Inquiry {
    type Answer = Reply;

    fn key(&self) -> &EntityId {
        match self {
            Self::Context(request) => &request.entity,
            Self::Decision(packet) => &packet.entity,
        }
    }

    fn kind(&self) -> QuestionKind {
        match self {
            Self::Context(_) => QuestionKind::Context,
            Self::Decision(_) => QuestionKind::Policy,
        }
    }

    fn digest(&self) -> Digest {
        match self {
            Self::Context(request) => Digest::of(request),
            Self::Decision(packet) => Digest::of(&**packet),
        }
    }
}

/// Answers inquiries: a context contract gives the contexts, a policy decides.
#[derive(Clone, Debug)]
pub struct ContextAndPolicy<C, P> {
    /// Where contexts come from.
    pub contract: C,
    /// The policy that judges them.
    pub policy: P,
}

impl<C: ContextContract, P: AbductivePolicy> Responder<Inquiry> for ContextAndPolicy<C, P> {
    fn respond<'a>(
        &'a self,
        question: &'a Inquiry,
    ) -> BoxFuture<'a, Result<Response<Reply>, Failure>> {
        Box::pin(async move {
            match question {
                Inquiry::Context(request) => {
                    let context = self.contract.get_context(request).await;
                    context
                        .map(|context| Reply::Context(context).into())
                        .map_err(Failure::of_contract)
                }
                Inquiry::Decision(packet) => {
                    let answer = self.policy.decide(packet).await.map_err(Failure::of_policy)?;
                    Ok(Response {
                        answer: Reply::Decision(answer.decision),
                        usage: answer.usage,
                        model: answer.model,
                        remembered: answer.remembered,
                    })
                }
            }
        })
    }

    fn timeout(&self, question: &Inquiry) -> Option<Duration> {
        match question {
            Inquiry::Context(_) => None,
            Inquiry::Decision(_) => self.policy.timeout(),
        }
    }
}
