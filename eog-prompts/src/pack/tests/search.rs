//! What the phases of a tree search give, of searches of an incident with everything in it.

use std::sync::{Arc, Mutex};

use eog_core::evidence::PeerRole;
use eog_core::machine::drive;
use eog_core::{
    Claim, ContextPacket, Decision, InMemoryContext, Label, Machine, Proposal, policy_fn,
};
use eog_search::ask::{EvaluateAsk, HypothesizeAsk, LaneAsk, PlanAsk, ProposeAsk, WeighAsk};
use eog_search::lane::{Acts, Came, Turn};
use eog_search::tools::{Skill, Skills};
use eog_search::{
    Action, LaneAction, PlanAction, PolicyRoles, Reply, Roles, SearchConfig, SearchController,
    SearchResponder, Specialist, ToolCall, ToolSpec, Verdict,
};
use eog_testkit::{alert, case, entity, finding, topology};
use serde_json::{Value, json};

use super::template_data;
use crate::phases::{
    Detail, EvaluateInput, HypothesizeInput, Investigate, InvestigateInput, PlanInput,
    ProposeInput, WeighInput,
};
use crate::{Phase as _, Since};

type Given = Vec<(&'static str, Value)>;

/// What the phases give, every field that there is of each at least once.
pub(super) fn real_data() -> Given {
    let told = Arc::new(Mutex::new(Given::new()));
    for config in [SearchConfig::lats(), SearchConfig::bfs()] {
        let world = SearchResponder::new(evidence(), policy_fn(judge));
        let world = world.with_roles(Telling(Arc::clone(&told)));
        let incident = case(topology("web calls db"), [alert("web", "HttpErrors", "10:06")]);
        let mut search = SearchController::open(config, incident);
        drive(&mut search, &world).unwrap();
    }
    investigate(&told);
    let told = told.lock().unwrap().clone();
    [
        "search_propose",
        "search_act",
        "search_evaluate",
        "search_reflect",
        "search_plan",
        "search_hypothesize",
        "search_investigate",
        "search_weigh",
        "came",
    ]
    .into_iter()
    .map(|phase| (user(phase), merged(&told, phase)))
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
        "came" => "search_investigate.came",
        _ => "search_plan.user",
    }
}

/// A search by hypotheses, in which specialists also do what is refused.
fn investigate(told: &Arc<Mutex<Given>>) {
    let skill = Skill {
        agent: Specialist::Metrics,
        name: "red".to_owned(),
        about: "rate, errors and duration".to_owned(),
        body: "Begin with errors.\nThen go on.".to_owned(),
    };
    let world = SearchResponder::new(evidence(), policy_fn(judge));
    let world = world.with_roles(Telling(Arc::clone(told)));
    let world = world.with_tools(Arc::new(Skills::new(vec![skill])));
    let alerts = [alert("web", "HttpErrors", "10:06"), alert("mail", "HttpErrors", "10:06")];
    let incident = case(topology("web calls db; mail calls db"), alerts);
    let mut search = SearchController::open(SearchConfig::hypotheses(), incident);
    drive(&mut search, &world).unwrap();
}

/// All that a phase was given, as items of one list for each field that is a list.
fn merged(told: &Given, phase: &str) -> Value {
    let mut all = serde_json::Map::new();
    for (_, given) in told.iter().filter(|(name, _)| *name == phase) {
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
    };
    if packet.entity == entity("db") {
        decision.claims.push(claim);
    }
    decision
}

/// The roles by rules, which tell what a model would have been given.
struct Telling(Arc<Mutex<Given>>);

impl Telling {
    fn tell(&self, phase: &'static str, input: &impl serde::Serialize) {
        self.0.lock().unwrap().push((phase, template_data(input).unwrap()));
    }
}

impl Roles for Telling {
    fn propose<'a>(&'a self, ask: &'a ProposeAsk) -> Reply<'a, Vec<Action>> {
        self.tell("search_propose", &ProposeInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().propose(ask).await })
    }

    fn act<'a>(&'a self, ask: &'a ProposeAsk) -> Reply<'a, Option<Action>> {
        self.tell("search_act", &ProposeInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().act(ask).await })
    }

    fn evaluate<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, Verdict> {
        self.tell("search_evaluate", &EvaluateInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().evaluate(ask).await })
    }

    fn plan<'a>(&'a self, ask: &'a PlanAsk) -> Reply<'a, Vec<PlanAction>> {
        self.tell("search_plan", &PlanInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().plan(ask).await })
    }

    fn reflect<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, String> {
        self.tell("search_reflect", &EvaluateInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().reflect(ask).await })
    }

    fn hypothesize<'a>(&'a self, ask: &'a HypothesizeAsk) -> Reply<'a, Vec<Action>> {
        self.tell("search_hypothesize", &HypothesizeInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().hypothesize(ask).await })
    }

    fn investigate<'a>(&'a self, ask: &'a LaneAsk, tools: &'a [ToolSpec]) -> Reply<'a, LaneAction> {
        let input = InvestigateInput::new(ask, tools, Detail::ALL[0]);
        self.tell("search_investigate", &input);
        for since in Investigate::since(&input) {
            if let Since::Came(came) = since {
                self.tell("came", &came);
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
        self.tell("search_weigh", &WeighInput::new(ask, Detail::ALL[0]));
        Box::pin(async move { PolicyRoles::default().weigh(ask).await })
    }
}
