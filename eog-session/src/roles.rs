//! The roles of a tree search, behind a memory of answers.

use std::time::Duration;

use eog::machine::Response;
use eog::{DecisionMemory, EntityId, Failure};
use eog_search::ask::{
    CompactAsk, DecomposeAsk, EvaluateAsk, HypothesizeAsk, LaneAsk, PlanAsk, ProgressAsk,
    ProposeAsk, ReactAsk, Scene, Seen, SteerAsk, StepAsk, WeighAsk,
};
use eog_search::{
    Action, ChainAction, Goal, LaneAction, PlanAction, Progress, Reply, Roles, Steering, ToolSpec,
    Verdict,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Roles that are asked only what no run before was told.
pub(crate) struct RememberingRoles {
    roles: Box<dyn Roles>,
    memory: DecisionMemory,
    identity: String,
}

impl RememberingRoles {
    pub(crate) fn new(roles: Box<dyn Roles>, memory: DecisionMemory, identity: String) -> Self {
        Self { roles, memory, identity }
    }

    /// The answer that is known to a question in a role, or else the one that `ask` gives.
    async fn answer<A: Clone + Serialize + DeserializeOwned>(
        &self,
        (role, question): (&str, &impl Serialize),
        about: Option<&EntityId>,
        ask: impl Future<Output = Result<Response<A>, Failure>>,
    ) -> Result<Response<A>, Failure> {
        match about {
            Some(about) => self.memory.answer(&self.identity, about, &(role, question), ask).await,
            // Nothing stands in a case without seeds.
            None => ask.await,
        }
    }
}

/// The entity that a question is filed under: where its path ends, or a search begins.
fn about<'a>(scene: &'a Scene, path: &'a [Seen]) -> Option<&'a EntityId> {
    let last = path.last().map(|seen| seen.action.entity());
    last.or_else(|| scene.seeds.first().map(|seed| &seed.entity))
}

/// The entity that a hypothesis blames, or a search begins with.
fn blamed<'a>(scene: &'a Scene, last: Option<&'a Seen>) -> Option<&'a EntityId> {
    about(scene, last.map_or(&[], std::slice::from_ref))
}

/// Other tools are another question.
fn offered(tools: &[ToolSpec]) -> Vec<serde_json::Value> {
    let tool = |tool: &ToolSpec| serde_json::json!([tool.name, tool.description, tool.schema()]);
    tools.iter().map(tool).collect()
}

impl Roles for RememberingRoles {
    fn propose<'a>(&'a self, ask: &'a ProposeAsk) -> Reply<'a, Vec<Action>> {
        let about = about(&ask.scene, &ask.path);
        Box::pin(self.answer(("propose", ask), about, self.roles.propose(ask)))
    }

    fn act<'a>(&'a self, ask: &'a ProposeAsk) -> Reply<'a, Option<Action>> {
        let about = about(&ask.scene, &ask.path);
        Box::pin(self.answer(("act", ask), about, self.roles.act(ask)))
    }

    fn evaluate<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, Verdict> {
        let about = about(&ask.scene, &ask.path);
        Box::pin(self.answer(("evaluate", ask), about, self.roles.evaluate(ask)))
    }

    fn plan<'a>(&'a self, ask: &'a PlanAsk) -> Reply<'a, Vec<PlanAction>> {
        let about = about(&ask.scene, &[]);
        Box::pin(self.answer(("plan", ask), about, self.roles.plan(ask)))
    }

    fn reflect<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, String> {
        let about = about(&ask.scene, &ask.path);
        Box::pin(self.answer(("reflect", ask), about, self.roles.reflect(ask)))
    }

    fn hypothesize<'a>(&'a self, ask: &'a HypothesizeAsk) -> Reply<'a, Vec<Action>> {
        let about = blamed(&ask.scene, ask.path.last().map(|tested| &tested.seen));
        Box::pin(self.answer(("hypothesize", ask), about, self.roles.hypothesize(ask)))
    }

    fn investigate<'a>(&'a self, ask: &'a LaneAsk, tools: &'a [ToolSpec]) -> Reply<'a, LaneAction> {
        let about = Some(ask.hypothesis.entity());
        let offered = offered(tools);
        Box::pin(async move {
            let question = (ask, offered);
            self.answer(("investigate", &question), about, self.roles.investigate(ask, tools)).await
        })
    }

    fn weigh<'a>(&'a self, ask: &'a WeighAsk) -> Reply<'a, Verdict> {
        let about = blamed(&ask.scene, ask.path.last().map(|tested| &tested.seen));
        Box::pin(self.answer(("weigh", ask), about, self.roles.weigh(ask)))
    }

    fn decompose<'a>(&'a self, ask: &'a DecomposeAsk) -> Reply<'a, Vec<Goal>> {
        let about = about(&ask.scene, &[]);
        Box::pin(self.answer(("decompose", ask), about, self.roles.decompose(ask)))
    }

    fn steer<'a>(&'a self, ask: &'a SteerAsk) -> Reply<'a, Steering> {
        let about = about(&ask.scene, &[]);
        Box::pin(self.answer(("steer", ask), about, self.roles.steer(ask)))
    }

    fn step<'a>(&'a self, ask: &'a StepAsk) -> Reply<'a, Option<Action>> {
        let about = about(&ask.scene, &ask.path.recent);
        Box::pin(self.answer(("step", ask), about, self.roles.step(ask)))
    }

    fn progress<'a>(&'a self, ask: &'a ProgressAsk) -> Reply<'a, Progress> {
        let about = about(&ask.scene, &[]);
        Box::pin(self.answer(("progress", ask), about, self.roles.progress(ask)))
    }

    fn react<'a>(&'a self, ask: &'a ReactAsk, tools: &'a [ToolSpec]) -> Reply<'a, ChainAction> {
        let about = about(&ask.scene, &[]);
        let offered = offered(tools);
        Box::pin(async move {
            let question = (ask, offered);
            self.answer(("react", &question), about, self.roles.react(ask, tools)).await
        })
    }

    fn compact<'a>(&'a self, ask: &'a CompactAsk) -> Reply<'a, String> {
        let about = about(&ask.scene, &[]);
        Box::pin(self.answer(("compact", ask), about, self.roles.compact(ask)))
    }

    fn timeout(&self) -> Option<Duration> {
        self.roles.timeout()
    }
}
