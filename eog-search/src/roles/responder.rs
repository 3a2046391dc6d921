//! Everybody whom a tree search asks, as one responder.

use std::time::Duration;

use eog_core::contract::Failure;
use eog_core::machine::{Responder, Response};
use eog_core::{AbductivePolicy, BoxFuture, ContextContract};

use super::{PolicyRoles, Roles};
use crate::ask::{Answer, Ask, Role};

/// Answers every question of a tree search: a context contract gives contexts, a policy decides on
/// entities, and [`Roles`] do the rest.
#[derive(Clone, Debug)]
pub struct SearchResponder<C, P, R = PolicyRoles> {
    contract: C,
    policy: P,
    roles: R,
}

impl<C, P> SearchResponder<C, P> {
    /// With rules for roles.
    pub fn new(contract: C, policy: P) -> Self {
        Self { contract, policy, roles: PolicyRoles::default() }
    }

    /// The same with others for the roles.
    pub fn with_roles<R: Roles>(self, roles: R) -> SearchResponder<C, P, R> {
        let Self { contract, policy, .. } = self;
        SearchResponder { contract, policy, roles }
    }
}

impl<C: ContextContract, P: AbductivePolicy, R: Roles> Responder<Ask> for SearchResponder<C, P, R> {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Response<Answer>, Failure>> {
        Box::pin(async move {
            Ok(match &ask.role {
                Role::Context(request) => {
                    let context = self.contract.get_context(request).await;
                    Answer::Context(context.map_err(Failure::of_contract)?).into()
                }
                Role::Decide(packet) => {
                    let answer = self.policy.decide(packet).await.map_err(Failure::of_policy)?;
                    Response {
                        answer: Answer::Decision(answer.decision),
                        usage: answer.usage,
                        model: answer.model,
                        remembered: answer.remembered,
                    }
                }
                Role::Propose(ask) => with(self.roles.propose(ask).await?, Answer::Actions),
                Role::Act(ask) => with(self.roles.act(ask).await?, Answer::Action),
                Role::Evaluate(ask) => with(self.roles.evaluate(ask).await?, Answer::Verdict),
                Role::Plan(ask) => with(self.roles.plan(ask).await?, Answer::Plan),
                Role::Reflect(ask) => with(self.roles.reflect(ask).await?, Answer::Reflection),
            })
        })
    }

    fn timeout(&self, ask: &Ask) -> Option<Duration> {
        match ask.role {
            Role::Context(_) => None,
            Role::Decide(_) => self.policy.timeout(),
            _ => self.roles.timeout(),
        }
    }
}

fn with<T>(response: Response<T>, answer: impl FnOnce(T) -> Answer) -> Response<Answer> {
    let Response { answer: given, usage, model, remembered } = response;
    Response { answer: answer(given), usage, model, remembered }
}
