//! The roles of a tree search over a language model.

use std::sync::Arc;
use std::time::Duration;

use eog_core::Failure;
use eog_core::machine::Response;
use eog_search::ask::{EvaluateAsk, HypothesizeAsk, LaneAsk, PlanAsk, ProposeAsk, WeighAsk};
use eog_search::{Action, LaneAction, PlanAction, PolicyRoles, Reply, Roles, ToolSpec, Verdict};

use crate::phases::{
    Act, Detail, Evaluate, EvaluateInput, Plan, PlanInput, Propose, ProposeInput, Reflect,
};
use crate::{Phase, Prompter, policy};

/// Plays the roles of a tree search with a language model: where to look next, how good a path is, what to
/// do with the tree, what is to be learnt.
///
/// Stateless: one question, one prompt, and at most one correction for each model of the chain. Where a
/// path or a tree is too long for the first model, less is shown of each look.
///
/// The roles of a search by hypotheses have no prompts: rules play them ([`PolicyRoles`]).
///
/// What entities are looked at is judged by a policy, such as [`LlmPolicy`](crate::LlmPolicy).
///
/// ```
/// use std::sync::Arc;
/// use eog_core::machine::drive;
/// use eog_core::{Decision, InMemoryContext, Label, Machine, policy_fn};
/// use eog_prompts::{LlmRoles, MockModel, Pack, Prompter};
/// use eog_search::{SearchConfig, SearchController, SearchResponder};
/// use eog_testkit::{alert, case, topology};
///
/// let model = MockModel::new("mock/small")
///     .when_phase("search_propose", r#"{ "looks": [{ "entity": "web", "why": "It alerts." }] }"#)
///     .when_phase("search_act", r#"{ "entity": null, "why": "Nothing is left." }"#)
///     .when_phase("search_evaluate", r#"{ "because": "Calm.", "dead_end": true, "score": 50 }"#)
///     .when_phase("search_reflect", r#"{ "lesson": "Look elsewhere than at web." }"#);
/// let roles = LlmRoles::new(Prompter::new(Arc::new(Pack::sre()), vec![Arc::new(model)]));
/// let policy = policy_fn(|_| Decision::new(Label::Healthy, "nothing unusual"));
///
/// let incident = case(topology("web calls db"), [alert("web", "HttpErrors", "10:06")]);
/// let mut search = SearchController::open(SearchConfig::lats(), incident);
/// let responder = SearchResponder::new(InMemoryContext::default(), policy).with_roles(roles);
/// drive(&mut search, &responder)?;
/// assert_eq!(search.tree().len(), 2, "the root, and one look at web");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LlmRoles {
    prompter: Arc<Prompter>,
    /// Play the roles of a search by hypotheses.
    rules: PolicyRoles,
}

impl LlmRoles {
    /// Roles that ask these models.
    pub fn new(prompter: Prompter) -> Self {
        Self { prompter: Arc::new(prompter), rules: PolicyRoles::default() }
    }

    /// Asks for an answer, with as much detail as the first model takes.
    async fn ask<P: Phase, T>(
        &self,
        input: impl Fn(Detail) -> P::Input,
        read: impl FnOnce(&P::Input, &P::Answer) -> T,
    ) -> Result<Response<T>, Failure> {
        let input = self.sized::<P>(input)?;
        let asked = self.prompter.ask::<P>(&input).await?;
        Ok(Response {
            answer: read(&input, &asked.answer),
            usage: asked.usage.into(),
            model: Some(asked.model),
            remembered: false,
        })
    }

    fn sized<P: Phase>(&self, input: impl Fn(Detail) -> P::Input) -> Result<P::Input, Failure> {
        let room = self.prompter.room();
        let [all @ .., least] = Detail::ALL;
        for detail in all {
            let input = input(detail);
            let tokens = self.prompter.tokens::<P>(&input);
            if tokens.map_err(|error| Failure::policy(error.to_string()))? <= room {
                return Ok(input);
            }
        }
        Ok(input(least))
    }
}

impl Roles for LlmRoles {
    fn propose<'a>(&'a self, ask: &'a ProposeAsk) -> Reply<'a, Vec<Action>> {
        let input = |detail| ProposeInput::new(ask, detail);
        Box::pin(self.ask::<Propose, _>(input, |input, answer| answer.actions(input)))
    }

    fn act<'a>(&'a self, ask: &'a ProposeAsk) -> Reply<'a, Option<Action>> {
        let input = |detail| ProposeInput::new(ask, detail);
        Box::pin(self.ask::<Act, _>(input, |input, answer| answer.action(input)))
    }

    fn evaluate<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, Verdict> {
        let input = |detail| EvaluateInput::new(ask, detail);
        Box::pin(self.ask::<Evaluate, _>(input, |_, answer| answer.verdict()))
    }

    fn plan<'a>(&'a self, ask: &'a PlanAsk) -> Reply<'a, Vec<PlanAction>> {
        let input = |detail| PlanInput::new(ask, detail);
        Box::pin(self.ask::<Plan, _>(input, |input, answer| answer.actions(input)))
    }

    fn reflect<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, String> {
        let input = |detail| EvaluateInput::new(ask, detail);
        Box::pin(self.ask::<Reflect, _>(input, |_, answer| answer.text()))
    }

    fn hypothesize<'a>(&'a self, ask: &'a HypothesizeAsk) -> Reply<'a, Vec<Action>> {
        self.rules.hypothesize(ask)
    }

    fn investigate<'a>(&'a self, ask: &'a LaneAsk, tools: &'a [ToolSpec]) -> Reply<'a, LaneAction> {
        self.rules.investigate(ask, tools)
    }

    fn weigh<'a>(&'a self, ask: &'a WeighAsk) -> Reply<'a, Verdict> {
        self.rules.weigh(ask)
    }

    fn timeout(&self) -> Option<Duration> {
        policy::timeout(&self.prompter)
    }
}
