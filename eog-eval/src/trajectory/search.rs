//! Steps of tree searches, lanes and chains.

use eog::Machine;
use eog::ledger::{Ledger, restore};
use eog_search::chain::RefusedDeed;
use eog_search::lane::{Acts, Came, FINISH, Turn};
use eog_search::{
    Deed, PlanStatus, PlanTry, Profile, Reacted, SearchBody, SearchController, ToolCall, Try,
};

use super::ledger::evaluation_step;
use super::{Outcome, Step};

/// The one agent of a chain.
const AGENT: &str = "agent";

/// The steps of an entry: one, but for the lane of a specialist.
pub(super) fn steps(body: &SearchBody) -> Vec<Step> {
    let one = |who: &str, refused: usize| {
        let refused = u32::try_from(refused).unwrap_or(u32::MAX);
        vec![Step { refused, ..Step::other(who) }]
    };
    match body {
        SearchBody::Looked(_) => {
            eog::ledger::Body::look(body).map(evaluation_step).into_iter().collect()
        }
        SearchBody::Proposed(it) => {
            // Draws that failed, or else the one answer.
            let failed = it.drawn.iter().filter(|draw| draw.failure.is_some()).count();
            one("planner", it.refused.len() + failed.max(usize::from(it.failure.is_some())))
        }
        SearchBody::Acted(it) | SearchBody::Stepped(it) => {
            one("executor", usize::from(it.refused.is_some()) + usize::from(it.failure.is_some()))
        }
        SearchBody::Scored(it) => one("evaluator", it.failures.len()),
        SearchBody::Reflected(it) => one("evaluator", usize::from(it.failure.is_some())),
        SearchBody::Planned(it) => {
            let refused = |tried: &&PlanTry| !matches!(tried, PlanTry::Applied(_));
            one("planner", it.tries.iter().filter(refused).count())
        }
        SearchBody::Decomposed(it) => one("planner", unused(&it.tries)),
        SearchBody::Steered(it) => one("planner", unused(&it.tries)),
        SearchBody::Progressed(it) => one("evaluator", it.refused.len() + it.failures.len()),
        SearchBody::Investigated(it) => {
            let who = format!("{} on {}", it.agent, it.node);
            it.turns.iter().filter_map(|turn| lane_step(&who, turn)).collect()
        }
        SearchBody::Reacted(it) => vec![chain_step(it)],
        SearchBody::Called(it) => vec![tool_step(AGENT, &it.call, &it.came)],
        SearchBody::Used(it) => vec![tool_step("executor", &it.call, &it.came)],
        SearchBody::Compacted(it) => {
            let refused = u32::try_from(it.failures.len()).unwrap_or(u32::MAX);
            vec![Step { compacted: true, refused, ..Step::other(AGENT) }]
        }
        _ => Vec::new(),
    }
}

fn tool_step(who: &str, call: &ToolCall, came: &Came) -> Step {
    let step = Step::call(who, call.tool.clone(), call.arguments.clone());
    Step { entity: named(&call.arguments), came: outcome(came), ..step }
}

fn unused<T>(tries: &[Try<T>]) -> usize {
    tries.iter().filter(|tried| !matches!(tried, Try::Applied(_))).count()
}

fn lane_step(who: &str, turn: &Turn) -> Option<Step> {
    match turn {
        Turn::Acted(Acts { action, came }) => {
            let (tool, arguments) = (&action.call.tool, &action.call.arguments);
            // What ends a lane is no call of a tool.
            let tool = if tool == FINISH { "" } else { tool };
            let refused = match came {
                Came::Recorded { refused, .. } => u32::try_from(refused.len()).unwrap_or(u32::MAX),
                _ => 0,
            };
            let step = Step::call(who, tool, arguments.clone());
            Some(Step { entity: named(arguments), came: outcome(came), refused, ..step })
        }
        Turn::Failed(_) => Some(Step { refused: 1, ..Step::other(who) }),
        Turn::Message(_) | Turn::Closed(_) => None,
    }
}

fn outcome(came: &Came) -> Outcome {
    match came {
        Came::Refused(_) => Outcome::Syntactic,
        Came::Failed(_) => Outcome::Semantic,
        Came::Answered(_) | Came::Recorded { .. } | Came::Finished => Outcome::Answered,
    }
}

fn named(arguments: &str) -> Option<String> {
    let arguments: serde_json::Value = serde_json::from_str(arguments).ok()?;
    Some(arguments.get("entity")?.as_str()?.to_owned())
}

/// What an agent wants. Evaluations and calls are steps of their own, unless they were not done.
fn chain_step(reacted: &Reacted) -> Step {
    let is_step = |part: &&(String, RefusedDeed)| part.0 == "step";
    let elsewhere = reacted.refused.iter().any(|part| is_step(&part));
    // Causes that were not checked are another mode.
    let unseen = |part: &&(String, RefusedDeed)| part.1 == RefusedDeed::NotLookedAt;
    let parts = reacted.refused.iter().filter(|part| !is_step(part) && !unseen(part)).count();
    let refused = parts + reacted.failures.len();
    let action = reacted.action.as_deref();
    let planned = action.and_then(|action| action.step).map(|_| !elsewhere);
    let refused = u32::try_from(refused).unwrap_or(u32::MAX);
    let step = match (action.map(|action| &action.deed), &reacted.not_done) {
        (Some(Deed::Look(entity)), Some(_)) => {
            let entity = entity.to_string();
            let step = Step::call(AGENT, "look", entity.clone());
            Step { entity: Some(entity), came: Outcome::Syntactic, ..step }
        }
        _ => Step::other(AGENT),
    };
    Step { refused, planned, ..step }
}

/// The steps of the plan of a chain that were neither done nor withdrawn; other searches have no such plan.
pub(super) fn open_plan(ledger: &Ledger<SearchBody>) -> Result<Option<u32>, String> {
    let search: SearchController = restore(ledger).map_err(|error| error.to_string())?;
    let open = search.plan_of_chain().iter().filter(|step| step.status == PlanStatus::Open);
    let open = u32::try_from(open.count()).unwrap_or(u32::MAX);
    Ok((search.settings().profile() == Profile::React).then_some(open))
}

/// In a chain the agent chooses what to evaluate: equal evaluations are those of one entity, whatever is known by then
/// and whether a call was made.
pub(super) fn by_agent(step: &mut Step) {
    if step.tool != "look" {
        return;
    }
    AGENT.clone_into(&mut step.who);
    step.arguments = step.entity.clone().unwrap_or_default();
}
