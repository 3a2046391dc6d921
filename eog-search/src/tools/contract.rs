//! Tools over any source of local contexts.

use eog_core::contract::{ContextRequest, Failure};
use eog_core::incident::Direction;
use eog_core::{BoxFuture, ContextContract, EntityId};
use eog_evidence::effect_path;

use super::{Arguments, ParameterKind, ToolFailure, ToolSpec, Toolset, checked};
use crate::ask::{CallAsk, Scene};
use crate::lane::{Evidence, Specialist, ToolAnswer};

/// Most lines of an answer in words.
const MAX_LINES: usize = 100;

/// Tools that any [`ContextContract`] gives, together with the case: `get_context`, `neighbours`,
/// `effect_path`, `alerts` and `find_entities`. Of a context, a specialist gets the findings of its own
/// kinds.
#[derive(Clone, Copy, Debug)]
pub struct ContractTools<C> {
    contract: C,
}

impl<C> ContractTools<C> {
    /// Tools over a source.
    pub fn new(contract: C) -> Self {
        Self { contract }
    }
}

/// What every specialist is offered.
fn specs() -> Vec<ToolSpec> {
    let entity = ParameterKind::Entity;
    vec![
        ToolSpec::new(
            "get_context",
            "Evidence on one entity: findings of your kinds, strongest first.",
        )
        .taking("entity", entity, "The entity.")
        .optionally("page", ParameterKind::Whole(1, 20), "Which page, counted from 1."),
        ToolSpec::new(
            "neighbours",
            "The declared neighbours of an entity, and which way effects travel.",
        )
        .taking("entity", entity, "The entity."),
        ToolSpec::new(
            "effect_path",
            "The shortest path on which effects travel between two entities.",
        )
        .taking("cause", entity, "Where effects begin.")
        .taking("affected", entity, "Where they show."),
        ToolSpec::new("alerts", "The alerts that must be explained, oldest first."),
        ToolSpec::new("find_entities", "Entities whose name holds a text.").taking(
            "text",
            ParameterKind::Text,
            "Part of a name; case does not count.",
        ),
    ]
}

impl<C: ContextContract> Toolset for ContractTools<C> {
    fn tools(&self, _agent: Specialist) -> Vec<ToolSpec> {
        specs()
    }

    fn call<'a>(&'a self, ask: &'a CallAsk) -> BoxFuture<'a, Result<ToolAnswer, ToolFailure>> {
        Box::pin(async move {
            let (tool, arguments) = checked(&specs(), &ask.call)?;
            match tool.as_str() {
                "get_context" => self.get_context(ask, &arguments).await,
                "neighbours" => {
                    let entity = entity(&arguments, "entity")?;
                    Ok(bounded(neighbours(&ask.scene, &entity)).into())
                }
                "effect_path" => {
                    let cause = entity(&arguments, "cause")?;
                    let affected = entity(&arguments, "affected")?;
                    Ok(path(&ask.scene, &cause, &affected).into())
                }
                "alerts" => Ok(bounded(alerts(&ask.scene)).into()),
                _ => {
                    let text = arguments.text("text").unwrap_or_default();
                    Ok(bounded(found(&ask.scene, text)).into())
                }
            }
        })
    }
}

impl<C: ContextContract> ContractTools<C> {
    async fn get_context(
        &self,
        ask: &CallAsk,
        arguments: &Arguments,
    ) -> Result<ToolAnswer, ToolFailure> {
        let entity = entity(arguments, "entity")?;
        let around = ask.scene.topology.neighbours(&entity).into_iter().map(|it| it.entity);
        let whole = ContextRequest::whole(entity.clone(), ask.scene.window, around);
        let request = ContextRequest { page: arguments.whole("page").unwrap_or(1), ..whole };
        let context = self.contract.get_context(&request).await.map_err(Failure::of_contract)?;
        let context = ask.agent.sees(context);
        Ok(ToolAnswer { text: String::new(), evidence: Some(Evidence { entity, context }) })
    }
}

fn entity(arguments: &Arguments, name: &str) -> Result<EntityId, ToolFailure> {
    let missing = || ToolFailure::Refused(format!("{name} names no entity"));
    arguments.entity(name).ok_or_else(missing)
}

fn neighbours(scene: &Scene, entity: &EntityId) -> Vec<String> {
    let all = scene.topology.neighbours(entity);
    let line = |neighbour: &eog_core::incident::Neighbour| {
        let way = match neighbour.direction {
            Direction::Upstream => "effects come from it",
            Direction::Downstream => "effects go to it",
            Direction::Both => "effects travel both ways",
        };
        let (from, to) = match neighbour.outgoing {
            true => (entity, &neighbour.entity),
            false => (&neighbour.entity, entity),
        };
        format!("{}: {from} {} {to}; {way}", neighbour.entity, neighbour.relation)
    };
    all.iter().map(line).collect()
}

fn path(scene: &Scene, cause: &EntityId, affected: &EntityId) -> String {
    match effect_path(&scene.topology, cause, affected) {
        Some(hops) => {
            let hops: Vec<&str> = hops.iter().map(EntityId::as_str).collect();
            hops.join(" > ")
        }
        None => format!("no declared path on which effects travel from {cause} to {affected}"),
    }
}

fn alerts(scene: &Scene) -> Vec<String> {
    let mut alerts: Vec<_> = scene.anomalies.iter().collect();
    alerts.sort_by_key(|alert| (alert.onset, &alert.entity, &alert.name));
    let line = |alert: &&eog_core::incident::Anomaly| {
        format!("{} {} on {}: {}", alert.onset, alert.name, alert.entity, alert.description)
    };
    alerts.iter().map(line).collect()
}

fn found(scene: &Scene, text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let holds = |entity: &&EntityId| entity.as_str().to_lowercase().contains(&text);
    scene.topology.entities().filter(holds).map(ToString::to_string).collect()
}

/// As many lines as fit, and how many were left out.
fn bounded(mut lines: Vec<String>) -> String {
    if lines.is_empty() {
        return "none".to_owned();
    }
    let left_out = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    if left_out > 0 {
        lines.push(format!("{left_out} more are left out"));
    }
    lines.join("\n")
}
