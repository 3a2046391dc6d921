//! All roles of a tree search, as one responder.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use eog_core::contract::{Failure, FailureKind};
use eog_core::machine::{Responder, Response};
use eog_core::{AbductivePolicy, BoxFuture, ContextContract};

use super::{PolicyRoles, Roles};
use crate::ask::{Answer, Ask, CallAsk, Role};
use crate::lane::{FINISH, RECORD_FINDING, Specialist, ToolAnswer};
use crate::tools::{ContractTools, ToolFailure, ToolSpec, Toolset};

/// Answers every question of a tree search: a context contract gives contexts, a policy decides on
/// entities, and [`Roles`] do the rest. Specialists call the tools of the contract ([`ContractTools`]), and
/// further ones.
#[derive(Clone, Debug)]
pub struct SearchResponder<C, P, R = PolicyRoles> {
    contract: C,
    policy: P,
    roles: R,
    further: Further,
}

/// Tools beside those of the contract.
#[derive(Clone, Default)]
struct Further(Vec<Arc<dyn Toolset>>);

impl fmt::Debug for Further {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} toolsets", self.0.len())
    }
}

impl<C, P> SearchResponder<C, P> {
    /// With rules for roles.
    pub fn new(contract: C, policy: P) -> Self {
        Self { contract, policy, roles: PolicyRoles::default(), further: Further::default() }
    }

    /// The same with others for the roles.
    pub fn with_roles<R: Roles>(self, roles: R) -> SearchResponder<C, P, R> {
        let Self { contract, policy, further, .. } = self;
        SearchResponder { contract, policy, roles, further }
    }
}

impl<C, P, R> SearchResponder<C, P, R> {
    /// The same with further tools for specialists. Of equal names the first counts.
    #[must_use]
    pub fn with_tools(mut self, tools: Arc<dyn Toolset>) -> Self {
        self.further.0.push(tools);
        self
    }
}

impl<C: ContextContract, P, R> SearchResponder<C, P, R> {
    /// What a specialist is offered, beside what the controller itself does for it.
    fn tools(&self, agent: Specialist) -> Vec<ToolSpec> {
        let mut tools = ContractTools::new(&self.contract).tools(agent);
        for tool in self.further.0.iter().flat_map(|further| further.tools(agent)) {
            let is_taken = [RECORD_FINDING, FINISH].contains(&tool.name.as_str());
            if !is_taken && !tools.iter().any(|other| other.name == tool.name) {
                tools.push(tool);
            }
        }
        tools
    }

    async fn call(&self, ask: &CallAsk) -> Result<Result<ToolAnswer, String>, Failure> {
        let own = ContractTools::new(&self.contract);
        let offers = |tools: &dyn Toolset| {
            tools.tools(ask.agent).iter().any(|tool| tool.name == ask.call.tool)
        };
        let further = self.further.0.iter().find(|further| offers(&***further));
        let answer = match further {
            _ if offers(&own) => own.call(ask).await,
            Some(further) => further.call(ask).await,
            None => {
                let mut tools = self.tools(ask.agent);
                tools.extend([RECORD_FINDING, FINISH].map(|own| ToolSpec::new(own, "")));
                crate::tools::checked(&tools, &ask.call).map(|_| ToolAnswer::default())
            }
        };
        match answer {
            Ok(answer) => Ok(Ok(answer)),
            Err(ToolFailure::Refused(reason)) => Ok(Err(reason)),
            Err(ToolFailure::Failed(failure)) if failure.kind.is_context() => Err(failure),
            Err(ToolFailure::Failed(failure)) => {
                Err(Failure { kind: FailureKind::ContextFailed, ..failure })
            }
        }
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
                Role::Propose(ask) => {
                    let tools = self.tools(Specialist::Generalist);
                    with(self.roles.propose(ask, &tools).await?, Answer::Actions)
                }
                Role::Act(ask) => {
                    let tools = self.tools(Specialist::Generalist);
                    with(self.roles.act(ask, &tools).await?, Answer::Action)
                }
                Role::Evaluate(ask) => with(self.roles.evaluate(ask).await?, Answer::Verdict),
                Role::Plan(ask) => with(self.roles.plan(ask).await?, Answer::Plan),
                Role::Reflect(ask) => with(self.roles.reflect(ask).await?, Answer::Reflection),
                Role::Hypothesize(ask) => with(self.roles.hypothesize(ask).await?, Answer::Actions),
                Role::Investigate(ask) => {
                    let tools = self.tools(ask.agent);
                    with(self.roles.investigate(ask, &tools).await?, Answer::Lane)
                }
                Role::Call(ask) => Answer::Tool(self.call(ask).await?).into(),
                Role::Weigh(ask) => with(self.roles.weigh(ask).await?, Answer::Verdict),
                Role::Decompose(ask) => with(self.roles.decompose(ask).await?, Answer::Goals),
                Role::Steer(ask) => with(self.roles.steer(ask).await?, Answer::Steering),
                Role::Step(ask) => {
                    let tools = self.tools(Specialist::Generalist);
                    with(self.roles.step(ask, &tools).await?, Answer::Action)
                }
                Role::Progress(ask) => with(self.roles.progress(ask).await?, Answer::Progress),
                Role::React(ask) => {
                    let tools = self.tools(Specialist::Generalist);
                    with(self.roles.react(ask, &tools).await?, Answer::Chain)
                }
                Role::Compact(ask) => with(self.roles.compact(ask).await?, Answer::Summary),
            })
        })
    }

    fn timeout(&self, ask: &Ask) -> Option<Duration> {
        match ask.role {
            Role::Context(_) | Role::Call(_) => None,
            Role::Decide(_) => self.policy.timeout(),
            _ => self.roles.timeout(),
        }
    }
}

fn with<T>(response: Response<T>, answer: impl FnOnce(T) -> Answer) -> Response<Answer> {
    let Response { answer: given, usage, model, remembered } = response;
    Response { answer: answer(given), usage, model, remembered }
}
