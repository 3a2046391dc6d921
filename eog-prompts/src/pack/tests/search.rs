//! What the phases of a tree search give, of searches of an incident with everything in it.

use std::sync::{Arc, Mutex};

use eog_core::evidence::PeerRole;
use eog_core::machine::drive;
use eog_core::{
    Claim, ContextPacket, Decision, InMemoryContext, Label, Machine, Proposal, policy_fn,
};
use eog_search::ask::{
    CompactAsk, DecomposeAsk, EvaluateAsk, HypothesizeAsk, LaneAsk, PlanAsk, ProgressAsk,
    ProposeAsk, ReactAsk, SteerAsk, StepAsk, WeighAsk,
};
use eog_search::chain::Deed;
use eog_search::lane::{Acts, Came, Turn};
use eog_search::tools::{Skill, Skills};
use eog_search::{
    Action, ChainAction, Goal, LaneAction, PlanAction, PlanEdit, PolicyRoles, Progress, Reply,
    Roles, SearchConfig, SearchController, SearchResponder, Specialist, Steering, ToolCall,
    ToolSpec, Verdict,
};
use eog_testkit::{alert, case, entity, finding, topology};
use serde_json::{Value, json};

use super::template_data;
use crate::phases::{
    CompactInput, DecomposeInput, Detail, EvaluateInput, HypothesizeInput, Investigate,
    InvestigateInput, PlanInput, ProgressInput, ProposeInput, ReactInput, SteerInput, StrideInput,
    WeighInput,
};
use crate::{Phase as _, Since};

type Given = Vec<(&'static str, Value)>;

/// What the phases give, every field that there is of each at least once.
pub(super) fn real_data() -> Given {
    let given = Arc::new(Mutex::new(Given::new()));
    for config in [SearchConfig::lats(), SearchConfig::bfs()] {
        let world = SearchResponder::new(evidence(), policy_fn(judge));
        let world = world.with_roles(Recording(Arc::clone(&given)));
        let incident = case(topology("web calls db"), [alert("web", "HttpErrors", "10:06")]);
        let mut search = SearchController::open(config, incident);
        drive(&mut search, &world).unwrap();
    }
    investigate(&given);
    go_on(&given);
    let given = given.lock().unwrap().clone();
    [
        "search_propose",
        "search_act",
        "search_evaluate",
        "search_reflect",
        "search_plan",
        "search_hypothesize",
        "search_investigate",
        "search_weigh",
        "search_decompose",
        "search_steer",
        "search_step",
        "search_progress",
        "search_react",
        "search_compact",
        "came",
    ]
    .into_iter()
    .map(|phase| (user(phase), merged(&given, phase)))
    .collect()
}

fn user(phase: &str) -> &'static str {
    match phase {
        "search_propose" => "search_propose.user",
        "search_act" => "search_act.user",
        "search_evaluate" => "search_evaluate.user",
        "search_reflect" => "search_reflect.user",
        "search_hypothesize" => "search_hypothesize.user",
        "search_investigate" => "search_investigate.user",
        "search_weigh" => "search_weigh.user",
        "search_decompose" => "search_decompose.user",
        "search_steer" => "search_steer.user",
        "search_step" => "search_step.user",
        "search_progress" => "search_progress.user",
        "search_react" => "search_react.user",
        "search_compact" => "search_compact.user",
        "came" => "search_investigate.came",
        _ => "search_plan.user",
    }
}

/// A search by hypotheses, in which specialists also do what is refused.
fn investigate(given: &Arc<Mutex<Given>>) {
    let skill = Skill {
        agent: Specialist::Metrics,
        name: "red".to_owned(),
        about: "rate, errors and duration".to_owned(),
        body: "Begin with errors.\nThen go on.".to_owned(),
        at_once: false,
    };
    let world = SearchResponder::new(evidence(), policy_fn(judge));
    let world = world.with_roles(Recording(Arc::clone(given)));
    let world = world.with_tools(Arc::new(Skills::new(vec![skill])));
    let alerts = [alert("web", "HttpErrors", "10:06"), alert("mail", "HttpErrors", "10:06")];
    let incident = case(topology("web calls db; mail calls db"), alerts);
    let mut search = SearchController::open(SearchConfig::hypotheses(), incident);
    drive(&mut search, &world).unwrap();
}

/// A search by goals, and a chain whose agent also does what is refused, calls tools and forgets.
fn go_on(given: &Arc<Mutex<Given>>) {
    let configs = [SearchConfig::treeseeker(), SearchConfig::react().with_shown(1_500).unwrap()];
    for config in configs {
        let world = SearchResponder::new(evidence(), policy_fn(judge));
        let world = world.with_roles(Recording(Arc::clone(given)));
        let alerts = [alert("web", "HttpErrors", "10:06"), alert("mail", "HttpErrors", "10:06")];
        let incident = case(topology("web calls db; mail calls db; db calls disk"), alerts);
        let mut search = SearchController::open(config, incident);
        drive(&mut search, &world).unwrap();
    }
}

/// All that a phase was given, as items of one list for each field that is a list.
fn merged(recorded: &Given, phase: &str) -> Value {
    let mut all = serde_json::Map::new();
    for (_, given) in recorded.iter().filter(|(name, _)| *name == phase) {
        for (field, value) in given.as_object().unwrap() {
            match (all.get_mut(field), value) {
                (Some(Value::Array(known)), Value::Array(more)) => known.extend(more.clone()),
                (Some(_), _) => {}
                (None, value) => {
                    all.insert(field.clone(), value.clone());
                }
            }
        }
    }
    Value::Object(all)
}

fn evidence() -> InMemoryContext {
    let mut evidence = InMemoryContext::default();
    evidence.add(finding("db").change("pool.size", "50", "5").at("10:04").build());
    for (caller, at) in [("web", "10:05"), ("mail", "10:06")] {
        let calls = finding("db").measured(1.0, 2.0, "ms").peer(caller, PeerRole::Caller).at(at);
        evidence.add(calls.build());
    }
    evidence
}

fn judge(packet: &ContextPacket) -> Decision {
    let ids: Vec<_> =
        packet.context.findings.iter().take(2).map(|finding| finding.id().clone()).collect();
    let mut decision = Decision::new(Label::Symptom, "so it is");
    let reason = "might be".to_owned();
    let direction = eog_core::incident::Direction::Upstream;
    decision.proposals.push(Proposal { entity: entity("db"), direction, reason });
    decision.evidence = ids;
    let claim = Claim {
        cause: entity("db"),
        effect: entity("web"),
        condition: "it is slow".to_owned(),
        observed: "so is this".to_owned(),
        evidence: decision.evidence.clone(),
        cause_since: None,
        effect_since: None,
        explains: None,
        outside: false,
    };
    if packet.entity == entity("db") {
        decision.claims.push(claim);
    }
    decision
}

/// The roles by rules, which record what a model would have been given.
struct Recording(Arc<Mutex<Given>>);

impl Recording {
    fn record(&self, phase: &'static str, input: &impl serde::Serialize) {
        self.0.lock().unwrap().push((phase, template_data(input).unwrap()));
    }
}

impl Roles for Recording {
    fn propose<'a>(&'a self, ask: &'a ProposeAsk, tools: &'a [ToolSpec]) -> Reply<'a, Vec<Action>> {
        self.record("search_propose", &ProposeInput::new(ask, tools, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().propose(ask, tools).await })
    }

    fn act<'a>(&'a self, ask: &'a ProposeAsk, tools: &'a [ToolSpec]) -> Reply<'a, Option<Action>> {
        self.record("search_act", &ProposeInput::new(ask, tools, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().act(ask, tools).await })
    }

    fn evaluate<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, Verdict> {
        self.record("search_evaluate", &EvaluateInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().evaluate(ask).await })
    }

    fn plan<'a>(&'a self, ask: &'a PlanAsk) -> Reply<'a, Vec<PlanAction>> {
        self.record("search_plan", &PlanInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().plan(ask).await })
    }

    fn reflect<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, String> {
        self.record("search_reflect", &EvaluateInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().reflect(ask).await })
    }

    fn hypothesize<'a>(&'a self, ask: &'a HypothesizeAsk) -> Reply<'a, Vec<Action>> {
        self.record("search_hypothesize", &HypothesizeInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().hypothesize(ask).await })
    }

    fn investigate<'a>(&'a self, ask: &'a LaneAsk, tools: &'a [ToolSpec]) -> Reply<'a, LaneAction> {
        let input = InvestigateInput::new(ask, tools, Detail::ALL[0]);
        self.record("search_investigate", &input);
        for since in Investigate::since(&input) {
            if let Since::Came(came) = since {
                self.record("came", &came);
            }
        }
        let call =
            |tool: &str, arguments: Value| LaneAction::new("so", ToolCall::new(tool, &arguments));
        let ids = ask.turns.iter().flat_map(|turn| match turn {
            Turn::Acted(Acts { came: Came::Answered(answer), .. }) => {
                let evidence = answer.evidence.clone();
                evidence.map(|it| it.context.findings).unwrap_or_default()
            }
            _ => Vec::new(),
        });
        let ids: Vec<_> = ids.map(|finding| finding.id().clone()).collect();
        let next = match ask.turns.len() {
            0 => call("shell", json!({})),
            1 => call("load_skill", json!({ "name": "red" })),
            2 => call("get_context", json!({ "entity": ask.hypothesis.entity() })),
            3 => LaneAction::record("so", 3, &[ids.clone(), ids].concat()),
            _ => LaneAction::finish("so"),
        };
        Box::pin(async move { Ok(next.into()) })
    }

    fn weigh<'a>(&'a self, ask: &'a WeighAsk) -> Reply<'a, Verdict> {
        self.record("search_weigh", &WeighInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().weigh(ask).await })
    }

    fn decompose<'a>(&'a self, ask: &'a DecomposeAsk) -> Reply<'a, Vec<Goal>> {
        self.record("search_decompose", &DecomposeInput::new(ask, Detail::ALL[0]));
        Box::pin(async move {
            let mut answer = PolicyRoles::default().decompose(ask).await?;
            if ask.refused.is_none() {
                answer.answer.iter_mut().for_each(|goal| goal.needs = vec![1]);
            }
            Ok(answer)
        })
    }

    fn steer<'a>(&'a self, ask: &'a SteerAsk) -> Reply<'a, Steering> {
        self.record("search_steer", &SteerInput::new(ask, Detail::ALL[0]));
        Box::pin(async move {
            if ask.refused.is_none() && !ask.seen.is_empty() {
                return Ok(Steering::default().into());
            }
            PolicyRoles::default().steer(ask).await
        })
    }

    fn step<'a>(&'a self, ask: &'a StepAsk, tools: &'a [ToolSpec]) -> Reply<'a, Option<Action>> {
        self.record("search_step", &StrideInput::new(ask, tools, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().step(ask, tools).await })
    }

    fn progress<'a>(&'a self, ask: &'a ProgressAsk) -> Reply<'a, Progress> {
        self.record("search_progress", &ProgressInput::new(ask, Detail::ALL[0]));
        Box::pin(async move {
            let mut answer = PolicyRoles::default().progress(ask).await?;
            let entity = ask.seen.first().map(|seen| seen.action.entity().clone());
            let because = "it may be".to_owned();
            answer.answer.candidates = entity
                .map(|entity| eog_search::Candidate { entity, because })
                .into_iter()
                .collect();
            answer.answer.goals.iter_mut().for_each(|goal| goal.ratio = 100);
            Ok(answer)
        })
    }

    fn react<'a>(&'a self, ask: &'a ReactAsk, tools: &'a [ToolSpec]) -> Reply<'a, ChainAction> {
        self.record("search_react", &ReactInput::new(ask, tools, Detail::ALL[0]));
        let done = ask.steps.last().map_or(0, |step| step.number);
        Box::pin(async move {
            let mut answer = PolicyRoles::default().react(ask, tools).await?;
            let call = |tool: &str, arguments: Value| Deed::Call(ToolCall::new(tool, &arguments));
            match done {
                1 => answer.answer.deed = call("get_context", json!({ "entity": "db" })),
                2 => answer.answer.deed = call("shell", json!({})),
                3 => {
                    answer.answer.deed = Deed::Look(entity("nobody"));
                    answer.answer.plan.push(PlanEdit::Done(99));
                }
                4 => answer.answer.deed = Deed::Look(entity("web")),
                _ => {}
            }
            Ok(answer)
        })
    }

    fn compact<'a>(&'a self, ask: &'a CompactAsk) -> Reply<'a, String> {
        self.record("search_compact", &CompactInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().compact(ask).await })
    }
}
