//! What the entries of a tree search record, in words.

use std::sync::Arc;

use eog_core::contract::Failure;
use eog_search::{
    Acted, Action, Ended, Investigated, Looked, NodeId, Place, PlanAction, PlanTry, Planned,
    Proposed, Purpose, Reflected, Scored, SearchBody, Used,
};

use eog_search::lane::{Came, Turn};
use eog_search::{Called, Compacted, Decomposed, Deed, Progressed, Reacted, Steered, Try};

use super::{Described, MAX_FAILURE, answered, named, some};
use crate::clean::{clean, clean_to};
use crate::steps::{Grown, Trail};
use crate::words;

/// Characters shown of a reason.
const MAX_REASON: usize = 120;

impl Described for SearchBody {
    fn described(&self) -> String {
        match self {
            Self::Proposed(proposed) => describe_proposed(proposed),
            Self::Acted(acted) => describe_acted(acted),
            Self::Looked(looked) => describe_looked(looked),
            Self::Scored(scored) => describe_scored(scored),
            Self::Investigated(investigated) => describe_investigated(investigated),
            Self::Planned(planned) => describe_planned(planned),
            Self::Reflected(reflected) => describe_reflected(reflected),
            Self::Decomposed(decomposed) => describe_decomposed(decomposed),
            Self::Steered(steered) => describe_steered(steered),
            Self::Stepped(acted) => describe_stepped(acted),
            Self::Progressed(progressed) => describe_progressed(progressed),
            Self::Reacted(reacted) => describe_reacted(reacted),
            Self::Called(called) => describe_called(called),
            Self::Used(used) => describe_used(used),
            Self::Compacted(compacted) => describe_compacted(compacted),
            Self::Ended(ended) => describe_ended(ended),
            _ => "an entry of an unknown kind".to_owned(),
        }
    }

    fn trail(&self) -> Trail {
        let why = match self {
            Self::Looked(looked) => format!("node {}", looked.at),
            _ => String::new(),
        };
        Trail { why, grown: grown(self), ..Trail::default() }
    }
}

/// What an entry did to the tree. A node is in it from its evaluation on.
fn grown(body: &SearchBody) -> Vec<Grown> {
    let fate = |node: &NodeId, fate| Grown { fate: Some(fate), ..Grown::at(node) };
    match body {
        SearchBody::Looked(looked) => {
            vec![Grown { below: Some(below(&looked.at)), ..Grown::at(&looked.at) }]
        }
        SearchBody::Used(used) => {
            vec![Grown { below: Some(below(&used.at)), ..Grown::at(&used.at) }]
        }
        // Three specialists investigate a hypothesis before a policy decides on it.
        SearchBody::Investigated(investigated) => {
            let at = Place::node(investigated.node.clone());
            vec![Grown { below: Some(below(&at)), ..Grown::at(&at) }]
        }
        SearchBody::Scored(scored) => {
            let Scored { at, verdict: Some(verdict), .. } = &**scored else { return Vec::new() };
            let fate = verdict.prune.then_some("pruned");
            vec![Grown { score: Some(verdict.score), fate, ..Grown::at(at) }]
        }
        SearchBody::Planned(planned) => {
            let Planned { cut, tries, .. } = &**planned;
            let applied = tries.iter().filter_map(|tried| match tried {
                PlanTry::Applied(actions) => Some(actions),
                _ => None,
            });
            let done = applied.flatten().filter_map(|action| match action {
                PlanAction::Hold { node, .. } => Some(fate(node, "held")),
                PlanAction::Prune { node, .. } => Some(fate(node, "pruned")),
                PlanAction::Converge { node } => Some(fate(node, "chosen")),
                _ => None,
            });
            cut.iter().map(|node| fate(node, "cut by the beam")).chain(done).collect()
        }
        SearchBody::Ended(Ended { best: Some(best), .. }) => {
            vec![Grown { fate: Some("best"), ..Grown::at(best) }]
        }
        _ => Vec::new(),
    }
}

/// The parent of a place: of a step of a simulation the step before, of a node its parent.
fn below(place: &Place) -> String {
    let node = place.at().clone();
    match place.step_number() {
        0 => node.parent().unwrap_or_else(NodeId::root).to_string(),
        step => Place::step(node, step - 1).to_string(),
    }
}

fn entities<'a>(actions: impl Iterator<Item = &'a Arc<Action>>) -> String {
    let names: Vec<&str> = actions.map(|action| action.entity().as_str()).collect();
    some(&names)
}

fn failed(failure: Option<&Failure>) -> String {
    let why = failure.map_or_else(|| "no result".to_owned(), ToString::to_string);
    format!("failed: {}", clean_to(&why, MAX_FAILURE))
}

fn describe_proposed(proposed: &Proposed) -> String {
    let Proposed { node, round, actions, failure, refused, .. } = proposed;
    let what = match actions {
        None => failed(failure.as_ref()),
        Some(actions) if actions.is_empty() => "nothing left to propose".to_owned(),
        Some(actions) => format!("proposed {}", entities(actions.iter())),
    };
    let refused = match refused.first() {
        None => String::new(),
        Some((_, reason)) => format!("; {} rejected: {reason}", refused.len()),
    };
    format!("round {round} at {node}: {what}{refused}")
}

fn describe_acted(acted: &Acted) -> String {
    let Acted { at, action, failure, refused } = acted;
    let what = match (action, failure, refused) {
        (_, Some(failure), _) => failed(Some(failure)),
        (Some(action), _, None) => format!("continues to {}", clean(action.entity().as_str())),
        (Some(action), _, Some(reason)) => {
            format!("{} was rejected: {reason}", clean(action.entity().as_str()))
        }
        (None, ..) => "the trajectory answers".to_owned(),
    };
    format!("{at}: {what}")
}

fn describe_looked(looked: &Looked) -> String {
    let Looked { at, entity, answer, belief, .. } = looked;
    format!("{at}: {}{}", named(entity, belief.label), answered(answer))
}

fn describe_scored(scored: &Scored) -> String {
    let Scored { at, purpose, failures, verdict, .. } = scored;
    let what = match purpose {
        Purpose::Value => "value",
        Purpose::Reward => "reward",
        Purpose::Judgement | Purpose::Evidence => "score",
        Purpose::Again => "another score",
    };
    match verdict {
        Some(verdict) => {
            let prune = if verdict.prune { ", pruned" } else { "" };
            let why = clean_to(&verdict.reasoning, MAX_REASON);
            format!("{at}: {what} {}{prune}: {why}", verdict.score)
        }
        None => format!("{at}: no {what}, {}", failed(failures.last())),
    }
}

fn describe_investigated(investigated: &Investigated) -> String {
    let Investigated { node, agent, turns, end, .. } = investigated;
    let calls = turns.iter().filter(|turn| turn.is_call()).count();
    let came = turns.iter().filter_map(|turn| match turn {
        Turn::Acted(acts) => Some(&acts.came),
        _ => None,
    });
    let recorded = came.map(|came| match came {
        Came::Recorded { findings, .. } => findings.len(),
        _ => 0,
    });
    let found = words::count(recorded.sum::<usize>(), "finding", "findings");
    let calls = words::count(calls, "call", "calls");
    format!("{node}: {agent}, {found}, {calls}, {end}")
}

fn describe_planned(planned: &Planned) -> String {
    let Planned { iteration, cut, tries } = planned;
    let mut parts = Vec::new();
    if !cut.is_empty() {
        let names: Vec<String> = cut.iter().map(ToString::to_string).collect();
        parts.push(format!("cut {}", some(&names.iter().map(String::as_str).collect::<Vec<_>>())));
    }
    for tried in tries {
        parts.push(match tried {
            PlanTry::Applied(actions) => describe_actions(actions),
            PlanTry::Refused { reason, .. } => format!("refused: {}", clean_to(reason, MAX_REASON)),
            PlanTry::Failed(failure) => failed(Some(failure)),
        });
    }
    format!("plan {iteration}: {}", parts.join("; "))
}

fn describe_actions(actions: &[PlanAction]) -> String {
    let mut parts = Vec::new();
    let expanded = actions.iter().filter_map(|action| match action {
        PlanAction::Expand { action, .. } => Some(action),
        _ => None,
    });
    let expanded: Vec<&Arc<Action>> = expanded.collect();
    if !expanded.is_empty() {
        parts.push(format!("evaluate {}", entities(expanded.into_iter())));
    }
    for action in actions {
        match action {
            PlanAction::Hold { node, .. } => parts.push(format!("hold {node}")),
            PlanAction::Prune { node, .. } => parts.push(format!("prune {node}")),
            PlanAction::Converge { node } => parts.push(format!("converge on {node}")),
            _ => {}
        }
    }
    parts.join(", ")
}

fn describe_reflected(reflected: &Reflected) -> String {
    let Reflected { at, text, failure } = reflected;
    match text {
        Some(text) => format!("reflected on {at}: {}", clean_to(text, MAX_REASON)),
        None => format!("reflected on {at}: {}", failed(failure.as_ref())),
    }
}

fn describe_decomposed(decomposed: &Decomposed) -> String {
    let tries = decomposed.tries.iter().map(|tried| match tried {
        Try::Applied(goals) => {
            let paths: usize = goals.iter().map(|goal| goal.paths.len()).sum();
            let goals = words::count(goals.len(), "goal", "goals");
            format!("{goals} with {}", words::count(paths, "path", "paths"))
        }
        Try::Refused { reason, .. } => format!("refused: {}", clean_to(reason, MAX_REASON)),
        Try::Failed(failure) => failed(Some(failure)),
    });
    format!("goals: {}", tries.collect::<Vec<_>>().join("; "))
}

fn describe_steered(steered: &Steered) -> String {
    let Steered { round, tries, finished, taken } = steered;
    let mut parts: Vec<String> = Vec::new();
    parts.extend(tries.iter().filter_map(|tried| match tried {
        Try::Applied(_) => None,
        Try::Refused { reason, .. } => Some(format!("refused: {}", clean_to(reason, MAX_REASON))),
        Try::Failed(failure) => Some(failed(Some(failure))),
    }));
    parts.extend(finished.then(|| "finished".to_owned()));
    parts.extend(taken.iter().map(|taken| {
        let paths: Vec<String> = taken.paths.iter().map(ToString::to_string).collect();
        format!("{} {} ({})", taken.kind, paths.join(", "), taken.by)
    }));
    format!("round {round}: {}", parts.join("; "))
}

fn describe_stepped(acted: &Acted) -> String {
    let Acted { at, action, failure, .. } = acted;
    match (action, failure) {
        (None, None) => format!("{at}: nothing left to do"),
        _ => describe_acted(acted),
    }
}

fn describe_progressed(progressed: &Progressed) -> String {
    let Progressed { round, failures, progress, refused } = progressed;
    let Some(progress) = progress else {
        return format!("round {round}: no progress report, {}", failed(failures.last()));
    };
    let mut parts: Vec<String> = Vec::new();
    let ratio = |goal: &eog_search::GoalProgress| format!("goal {} at {}", goal.goal, goal.ratio);
    parts.extend(progress.goals.iter().map(ratio));
    let facts = progress.facts.len();
    parts.extend((facts > 0).then(|| words::count(facts, "fact", "facts")));
    let named: Vec<&str> = progress.candidates.iter().map(|it| it.entity.as_str()).collect();
    parts.extend((!named.is_empty()).then(|| format!("candidates {}", some(&named))));
    let changes = progress.plan.len();
    parts.extend(
        (changes > 0).then(|| words::count(changes, "path rewritten", "paths rewritten or added")),
    );
    parts.extend(
        refused.first().map(|(what, why)| format!("{} refused: {what}: {why}", refused.len())),
    );
    format!("after round {round}: {}", parts.join(", "))
}

fn describe_reacted(reacted: &Reacted) -> String {
    let Reacted { step, failures, action, refused, not_done } = reacted;
    let Some(action) = action else {
        return format!("step {step}: {}", failed(failures.last()));
    };
    let what = match &action.deed {
        Deed::Look(entity) => format!("evaluate {}", clean(entity.as_str())),
        Deed::Call(call) => format!("call {}", clean_to(&call.tool, MAX_REASON)),
        Deed::Conclude { causes, .. } => {
            let causes: Vec<&str> = causes.iter().map(eog_core::EntityId::as_str).collect();
            match causes.is_empty() {
                true => "conclude without a cause".to_owned(),
                false => format!("conclude with {}", some(&causes)),
            }
        }
    };
    let mut text = format!("step {step}, {}: {what}", action.phase);
    if let Some(of) = action.step {
        text += &format!(" (plan {of})");
    }
    if let Some(why) = not_done {
        text += &format!(", not done: {why}");
    }
    if let Some((part, why)) = refused.first() {
        text += &format!("; {} refused: {part}: {why}", refused.len());
    }
    text
}

fn describe_called(called: &Called) -> String {
    let Called { step, call, came } = called;
    format!("step {step}: {} {}", clean_to(&call.tool, MAX_REASON), describe_came(came))
}

fn describe_used(used: &Used) -> String {
    let Used { at, call, came } = used;
    format!("{at}: {} {}", clean_to(&call.tool, MAX_REASON), describe_came(came))
}

fn describe_came(came: &Came) -> String {
    match came {
        Came::Answered(_) => "answered".to_owned(),
        Came::Refused(reason) => format!("refused: {}", clean_to(reason, MAX_REASON)),
        Came::Failed(failures) => failed(failures.last()),
        _ => "done".to_owned(),
    }
}

fn describe_compacted(compacted: &Compacted) -> String {
    let Compacted { through, failures, text } = compacted;
    match text {
        Some(text) => {
            format!("steps up to {through} summarised: {}", clean_to(text, MAX_REASON))
        }
        None => format!("steps up to {through} forgotten, {}", failed(failures.last())),
    }
}

fn describe_ended(ended: &Ended) -> String {
    let Ended { reason, best, score } = ended;
    match (best, score) {
        (Some(best), Some(score)) => format!("ended, {reason}; best is {best} with {score}"),
        _ => format!("ended, {reason}"),
    }
}
