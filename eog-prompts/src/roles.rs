//! The roles of a tree search over a language model.

use std::sync::Arc;
use std::time::Duration;

use eog_core::Failure;
use eog_core::machine::Response;
use eog_search::ask::{
    CompactAsk, DecomposeAsk, EvaluateAsk, HypothesizeAsk, LaneAsk, PlanAsk, ProgressAsk,
    ProposeAsk, ReactAsk, Sample, SteerAsk, StepAsk, WeighAsk,
};
use eog_search::{
    Action, ChainAction, Goal, LaneAction, PlanAction, Progress, Reply, Roles, Steering, ToolSpec,
    Verdict,
};

use crate::phases::{
    Act, Compact, CompactAnswer, CompactInput, Decompose, DecomposeAnswer, DecomposeInput, Detail,
    Evaluate, EvaluateInput, Hypothesize, HypothesizeAnswer, HypothesizeInput, Investigate,
    InvestigateAnswer, InvestigateInput, Plan, PlanInput, ProgressAnswer, ProgressInput, Propose,
    ProposeAnswer, ProposeInput, React, ReactAnswer, ReactInput, Reflect, Steer, SteerInput,
    Stride, StrideAnswer, StrideInput, TakeStock, Weigh, WeighAnswer, WeighInput,
};
use crate::{Drawn, Phase, Prompter, policy};

/// Plays the roles of a tree search with language models. The planner says what to evaluate next, what to do with
/// the tree and what may be the cause; the executor acts as the specialists do; the evaluator says how good a
/// path is, how far evidence supports a hypothesis, and what is to be learnt.
///
/// Stateless: one question, one prompt, and at most one correction for each model of the chain. Where a
/// path or a tree is too long for the first model, less is shown of each evaluation.
///
/// The evaluated entities are judged by a policy, such as [`LlmPolicy`](crate::LlmPolicy).
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
/// assert_eq!(search.tree().len(), 2, "the root, and one evaluation of web");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LlmRoles {
    planner: Arc<Prompter>,
    executor: Arc<Prompter>,
    evaluator: Arc<Prompter>,
}

impl LlmRoles {
    /// Roles that ask these models.
    pub fn new(prompter: Prompter) -> Self {
        let prompter = Arc::new(prompter);
        let (planner, executor) = (Arc::clone(&prompter), Arc::clone(&prompter));
        Self { planner, executor, evaluator: prompter }
    }

    /// The same with other models for what to evaluate, for hypotheses and for plans.
    #[must_use]
    pub fn with_planner(self, planner: Prompter) -> Self {
        Self { planner: Arc::new(planner), ..self }
    }

    /// The same with other models for specialists, and for the steps of simulations.
    #[must_use]
    pub fn with_executor(self, executor: Prompter) -> Self {
        Self { executor: Arc::new(executor), ..self }
    }

    /// The same with other models for scores and lessons.
    #[must_use]
    pub fn with_evaluator(self, evaluator: Prompter) -> Self {
        Self { evaluator: Arc::new(evaluator), ..self }
    }
}

/// Asks for an answer, with as much detail as the first model takes.
async fn question<P: Phase, T>(
    prompter: &Prompter,
    input: impl Fn(Detail) -> P::Input,
    read: impl FnOnce(&P::Input, &P::Answer) -> T,
) -> Result<Response<T>, Failure> {
    drawn_question::<P, T>(prompter, None, input, read).await
}

/// The same of an answer that is drawn, one of several.
async fn drawn_question<P: Phase, T>(
    prompter: &Prompter,
    drawn: Option<Drawn>,
    input: impl Fn(Detail) -> P::Input,
    read: impl FnOnce(&P::Input, &P::Answer) -> T,
) -> Result<Response<T>, Failure> {
    let input = sized::<P>(prompter, input)?;
    let asked = prompter.ask_drawn::<P>(&input, drawn).await?;
    Ok(Response {
        answer: read(&input, &asked.answer),
        usage: asked.usage.into(),
        model: Some(asked.model),
        remembered: false,
    })
}

fn sized<P: Phase>(
    prompter: &Prompter,
    input: impl Fn(Detail) -> P::Input,
) -> Result<P::Input, Failure> {
    let room = prompter.room();
    let [all @ .., least] = Detail::ALL;
    for detail in all {
        let input = input(detail);
        let tokens = prompter.tokens::<P>(&input);
        if tokens.map_err(|error| Failure::policy(error.to_string()))? <= room {
            return Ok(input);
        }
    }
    Ok(input(least))
}

impl Roles for LlmRoles {
    fn propose<'a>(&'a self, ask: &'a ProposeAsk, tools: &'a [ToolSpec]) -> Reply<'a, Vec<Action>> {
        let input = |detail| ProposeInput::new(ask, tools, detail);
        let read = |input: &ProposeInput, answer: &ProposeAnswer| answer.actions(input);
        let drawn = ask.sample.map(|Sample { index, .. }| Drawn {
            index,
            temperature: f64::from(Sample::TEMPERATURE) / 1e3,
        });
        Box::pin(drawn_question::<Propose, _>(&self.planner, drawn, input, read))
    }

    fn act<'a>(&'a self, ask: &'a ProposeAsk, tools: &'a [ToolSpec]) -> Reply<'a, Option<Action>> {
        let input = |detail| ProposeInput::new(ask, tools, detail);
        Box::pin(question::<Act, _>(&self.executor, input, |input, answer| answer.action(input)))
    }

    fn evaluate<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, Verdict> {
        let input = |detail| EvaluateInput::new(ask, detail);
        Box::pin(question::<Evaluate, _>(&self.evaluator, input, |_, answer| answer.verdict()))
    }

    fn plan<'a>(&'a self, ask: &'a PlanAsk) -> Reply<'a, Vec<PlanAction>> {
        let input = |detail| PlanInput::new(ask, detail);
        Box::pin(question::<Plan, _>(&self.planner, input, |input, answer| answer.actions(input)))
    }

    fn reflect<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, String> {
        let input = |detail| EvaluateInput::new(ask, detail);
        Box::pin(question::<Reflect, _>(&self.evaluator, input, |_, answer| answer.text()))
    }

    fn hypothesize<'a>(&'a self, ask: &'a HypothesizeAsk) -> Reply<'a, Vec<Action>> {
        let input = |detail| HypothesizeInput::new(ask, detail);
        let read = |input: &HypothesizeInput, answer: &HypothesizeAnswer| answer.actions(input);
        Box::pin(question::<Hypothesize, _>(&self.planner, input, read))
    }

    fn investigate<'a>(&'a self, ask: &'a LaneAsk, tools: &'a [ToolSpec]) -> Reply<'a, LaneAction> {
        let input = |detail| InvestigateInput::new(ask, tools, detail);
        let read = |input: &InvestigateInput, answer: &InvestigateAnswer| answer.action(input);
        Box::pin(question::<Investigate, _>(&self.executor, input, read))
    }

    fn weigh<'a>(&'a self, ask: &'a WeighAsk) -> Reply<'a, Verdict> {
        let input = |detail| WeighInput::new(ask, detail);
        let read = |input: &WeighInput, answer: &WeighAnswer| answer.verdict(input);
        Box::pin(question::<Weigh, _>(&self.evaluator, input, read))
    }

    fn decompose<'a>(&'a self, ask: &'a DecomposeAsk) -> Reply<'a, Vec<Goal>> {
        let input = |detail| DecomposeInput::new(ask, detail);
        let read = |input: &DecomposeInput, answer: &DecomposeAnswer| answer.goals(input);
        Box::pin(question::<Decompose, _>(&self.planner, input, read))
    }

    fn steer<'a>(&'a self, ask: &'a SteerAsk) -> Reply<'a, Steering> {
        let input = |detail| SteerInput::new(ask, detail);
        Box::pin(question::<Steer, _>(&self.planner, input, |_, answer| answer.steering()))
    }

    fn step<'a>(&'a self, ask: &'a StepAsk, tools: &'a [ToolSpec]) -> Reply<'a, Option<Action>> {
        let input = |detail| StrideInput::new(ask, tools, detail);
        let read = |input: &StrideInput, answer: &StrideAnswer| answer.action(input);
        Box::pin(question::<Stride, _>(&self.executor, input, read))
    }

    fn progress<'a>(&'a self, ask: &'a ProgressAsk) -> Reply<'a, Progress> {
        let input = |detail| ProgressInput::new(ask, detail);
        let read = |input: &ProgressInput, answer: &ProgressAnswer| answer.progress(input);
        Box::pin(question::<TakeStock, _>(&self.evaluator, input, read))
    }

    fn react<'a>(&'a self, ask: &'a ReactAsk, tools: &'a [ToolSpec]) -> Reply<'a, ChainAction> {
        let input = |detail| ReactInput::new(ask, tools, detail);
        let read = |input: &ReactInput, answer: &ReactAnswer| answer.action(input);
        Box::pin(async move {
            let asked = question::<React, _>(&self.executor, input, read).await?;
            let Response { answer, usage, model, remembered } = asked;
            let answer = answer.ok_or_else(|| Failure::policy("the answer names no entity"))?;
            Ok(Response { answer, usage, model, remembered })
        })
    }

    fn compact<'a>(&'a self, ask: &'a CompactAsk) -> Reply<'a, String> {
        let input = |detail| CompactInput::new(ask, detail);
        let read = |input: &CompactInput, answer: &CompactAnswer| answer.text(input);
        Box::pin(question::<Compact, _>(&self.evaluator, input, read))
    }

    /// None of its own unless each request to any of the models has one.
    fn timeout(&self) -> Option<Duration> {
        let all = [&self.planner, &self.executor, &self.evaluator];
        all.into_iter().map(|prompter| policy::timeout(prompter)).min().flatten()
    }
}
