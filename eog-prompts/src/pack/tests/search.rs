//! What the phases of a tree search give, of searches of an incident with everything in it.

use std::sync::{Arc, Mutex};

use eog_core::evidence::PeerRole;
use eog_core::machine::drive;
use eog_core::{
    Claim, ContextPacket, Decision, InMemoryContext, Label, Machine, Proposal, policy_fn,
};
use eog_search::ask::{EvaluateAsk, HypothesizeAsk, LaneAsk, PlanAsk, ProposeAsk, WeighAsk};
use eog_search::{
    Action, LaneAction, PlanAction, PolicyRoles, Reply, Roles, SearchConfig, SearchController,
    SearchResponder, ToolSpec, Verdict,
};
use eog_testkit::{alert, case, entity, finding, topology};
use serde_json::Value;

use super::template_data;
use crate::phases::{Detail, EvaluateInput, PlanInput, ProposeInput};

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
    let told = told.lock().unwrap().clone();
    ["search_propose", "search_act", "search_evaluate", "search_reflect", "search_plan"]
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
        _ => "search_plan.user",
    }
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

    fn hypothesize<'a>(&'a self, _: &'a HypothesizeAsk) -> Reply<'a, Vec<Action>> {
        unreachable!("no prompts ask for hypotheses")
    }

    fn investigate<'a>(&'a self, _: &'a LaneAsk, _: &'a [ToolSpec]) -> Reply<'a, LaneAction> {
        unreachable!("no prompts ask specialists")
    }

    fn weigh<'a>(&'a self, _: &'a WeighAsk) -> Reply<'a, Verdict> {
        unreachable!("no prompts weigh hypotheses")
    }
}
