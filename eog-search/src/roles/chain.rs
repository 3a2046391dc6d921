//! A chain by rules: it follows the newest lead, and ends with the first origins that explain an alert.

use std::collections::BTreeSet;

use eog_core::EntityId;
use eog_evidence::shorten;

use super::policy::onward;
use crate::ask::{CompactAsk, ReactAsk, Seen, explained};
use crate::body::Action;
use crate::chain::{
    ChainAction, ChainCame, ChainPhase, ChainStep, Deed, PlanEdit, PlanStatus, PlanStep,
};

/// Most steps of the plan.
const MAX_STEPS: usize = 5;

/// What the agent does next: the newest lead that it did not evaluate or that what was found since concerns, else the
/// next place to start from; it concludes with the first origins that explain an alert, or when nothing is left with
/// those that explain none. Its plan has a step for each place to start
/// from, at most five; a step is done when the next one begins.
pub(super) fn react(ask: &ReactAsk) -> ChainAction {
    let mut plan: Vec<PlanEdit> = Vec::new();
    if ask.plan.is_empty() {
        let seeds = ask.scene.seeds.iter().take(MAX_STEPS);
        plan.extend(seeds.map(|seed| PlanEdit::Add(format!("find what causes {}", seed.entity))));
    }
    let looks: Vec<&Seen> = ask.steps.iter().filter_map(look).collect();
    let tried: BTreeSet<&EntityId> = ask.steps.iter().filter_map(aimed).collect();
    let open = ask.plan.iter().find(|step| step.status == PlanStatus::Open);
    let step = open.map_or(1, |open| open.number);
    let seen: Vec<Seen> = looks.iter().map(|seen| (*seen).clone()).collect();
    let conclusion = ask.scene.conclusion(&seen);
    let causes: Vec<EntityId> = explained(&conclusion).into_keys().cloned().collect();
    if !causes.is_empty() {
        plan.extend(open.map(|open| PlanEdit::Done(open.number)));
        let named: Vec<&str> = causes.iter().map(EntityId::as_str).collect();
        let summary = format!("the first that explains an alert: {}", named.join(", "));
        return conclude(plan, causes, summary);
    }
    if ask.left == 0 {
        return conclude(plan, unjoined(&looks), "nothing explains an alert so far".to_owned());
    }
    let is_worth =
        |entity: &EntityId| !tried.contains(entity) || ask.scene.is_concerned(&seen, entity);
    let mut newest = (0..seen.len()).rev().flat_map(|at| onward(&ask.scene, &seen[..=at]));
    if let Some(lead) = newest.find(|lead| is_worth(lead.entity())) {
        let planned = open.map(|open| open.number).or(ask.plan.is_empty().then_some(1));
        let phase = ChainPhase::Evidence;
        return act(plan, phase, planned.filter(|_| !ask.scene.seeds.is_empty()), lead);
    }
    let seeds = ask.scene.seeds.iter();
    match seeds.clone().position(|seed| !tried.contains(&seed.entity)) {
        None => conclude(plan, unjoined(&looks), "nothing explains an alert".to_owned()),
        Some(at) => {
            let seed = &ask.scene.seeds[at];
            // With the first place to start from nothing is done yet.
            let done = open.filter(|_| !tried.is_empty()).map(|open| PlanEdit::Done(open.number));
            let next = if done.is_some() { next_open(&ask.plan, step) } else { Some(step) };
            plan.extend(done);
            let look = Action::look(seed.entity.clone(), seed.reason.clone());
            act(plan, ChainPhase::Symptoms, next, look)
        }
    }
}

/// The origins among the evaluated entities.
fn unjoined(looks: &[&Seen]) -> Vec<EntityId> {
    let mut origins: Vec<EntityId> = Vec::new();
    for seen in looks.iter().rev().filter(|seen| seen.is_origin()) {
        if !origins.contains(seen.action.entity()) {
            origins.push(seen.action.entity().clone());
        }
    }
    origins
}

fn next_open(plan: &[PlanStep], after: u32) -> Option<u32> {
    let open = |step: &&PlanStep| step.status == PlanStatus::Open && step.number > after;
    plan.iter().find(open).map(|step| step.number)
}

fn act(plan: Vec<PlanEdit>, phase: ChainPhase, step: Option<u32>, look: Action) -> ChainAction {
    let deed = Deed::Look(look.entity().clone());
    ChainAction { thought: look.thought, phase, plan, step, deed }
}

fn conclude(plan: Vec<PlanEdit>, causes: Vec<EntityId>, summary: String) -> ChainAction {
    let deed = Deed::Conclude { causes, summary: summary.clone() };
    ChainAction { thought: summary, phase: ChainPhase::Conclusion, plan, step: None, deed }
}

fn look(step: &ChainStep) -> Option<&Seen> {
    match &step.came {
        ChainCame::Looked(seen) => Some(seen),
        _ => None,
    }
}

/// The entity that a step was about, whether it came to anything or not.
fn aimed(step: &ChainStep) -> Option<&EntityId> {
    match &step.action.deed {
        Deed::Look(entity) => Some(entity),
        _ => None,
    }
}

/// What the oldest steps found, a line each.
pub(super) fn compact(ask: &CompactAsk) -> String {
    let mut lines: Vec<String> = Vec::new();
    if !ask.summary.is_empty() {
        lines.push(ask.summary.clone());
    }
    for step in &ask.steps {
        let Some(seen) = look(step) else { continue };
        let label = seen.belief().map_or("not judged".to_owned(), |it| it.label.to_string());
        lines.push(format!("step {}: {} {label}", step.number, seen.action.entity()));
    }
    shorten(&lines.join("; "), (ask.at_most as usize).saturating_sub(1))
}
