//! The roles of a tree search, behind a memory of answers.

use std::time::Duration;

use eog::machine::Response;
use eog::{DecisionMemory, EntityId, Failure};
use eog_search::ask::{
    CompactAsk, DecomposeAsk, EvaluateAsk, HypothesizeAsk, LaneAsk, PlanAsk, ProgressAsk,
    ProposeAsk, ReactAsk, Scene, Seen, SteerAsk, StepAsk, Tested, WeighAsk,
};
use eog_search::{
    Action, ChainAction, Goal, LaneAction, PlanAction, Progress, Reply, Roles, Steering, ToolSpec,
    Verdict,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Roles that are asked only what was not recorded by an earlier run.
pub(crate) struct RememberingRoles {
    roles: Box<dyn Roles>,
    memory: DecisionMemory,
    identity: String,
}

impl RememberingRoles {
    pub(crate) fn new(roles: Box<dyn Roles>, memory: DecisionMemory, identity: String) -> Self {
        Self { roles, memory, identity }
    }

    /// The known answer to a question in a role, or else that of `ask`.
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
fn blamed<'a>(scene: &'a Scene, path: &'a [Tested]) -> Option<&'a EntityId> {
    about(scene, path.last().map_or(&[], |tested| std::slice::from_ref(&tested.seen)))
}

/// Other tools are another question.
fn offered(tools: &[ToolSpec]) -> Vec<serde_json::Value> {
    let tool = |tool: &ToolSpec| serde_json::json!([tool.name, tool.description, tool.schema()]);
    tools.iter().map(tool).collect()
}

/// Each role, with the answer that it gives and what its question is filed under.
macro_rules! remember {
    ($($role:ident($ask:ident: $type:ty) -> $answer:ty: $about:expr;)+) => {$(
        fn $role<'a>(&'a self, $ask: &'a $type) -> Reply<'a, $answer> {
            let about = $about;
            Box::pin(self.answer((stringify!($role), $ask), about, self.roles.$role($ask)))
        }
    )+};
}

/// The same where tools are offered: others make it another question.
macro_rules! remember_with_tools {
    ($($role:ident($ask:ident: $type:ty) -> $answer:ty: $about:expr;)+) => {$(
        fn $role<'a>(&'a self, $ask: &'a $type, tools: &'a [ToolSpec]) -> Reply<'a, $answer> {
            let about = $about;
            let question = ($ask, offered(tools));
            Box::pin(async move {
                let asked = self.roles.$role($ask, tools);
                self.answer((stringify!($role), &question), about, asked).await
            })
        }
    )+};
}

impl Roles for RememberingRoles {
    remember! {
        evaluate(ask: EvaluateAsk) -> Verdict: about(&ask.scene, &ask.path);
        plan(ask: PlanAsk) -> Vec<PlanAction>: about(&ask.scene, &[]);
        reflect(ask: EvaluateAsk) -> String: about(&ask.scene, &ask.path);
        hypothesize(ask: HypothesizeAsk) -> Vec<Action>: blamed(&ask.scene, &ask.path);
        weigh(ask: WeighAsk) -> Verdict: blamed(&ask.scene, &ask.path);
        decompose(ask: DecomposeAsk) -> Vec<Goal>: about(&ask.scene, &[]);
        steer(ask: SteerAsk) -> Steering: about(&ask.scene, &[]);
        progress(ask: ProgressAsk) -> Progress: about(&ask.scene, &[]);
        compact(ask: CompactAsk) -> String: about(&ask.scene, &[]);
    }

    remember_with_tools! {
        propose(ask: ProposeAsk) -> Vec<Action>: about(&ask.scene, &ask.path);
        act(ask: ProposeAsk) -> Option<Action>: about(&ask.scene, &ask.path);
        step(ask: StepAsk) -> Option<Action>: about(&ask.scene, &ask.path.recent);
        investigate(ask: LaneAsk) -> LaneAction: Some(ask.hypothesis.entity());
        react(ask: ReactAsk) -> ChainAction: about(&ask.scene, &[]);
    }

    fn timeout(&self) -> Option<Duration> {
        self.roles.timeout()
    }
}
