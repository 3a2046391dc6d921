//! Hypotheses by rules: where to suspect a cause next, what a specialist does, how far what was found
//! supports a hypothesis.

use std::collections::BTreeSet;

use eog_core::belief::Label;
use eog_core::{EntityId, EvidenceId};
use serde_json::json;

use super::policy::{PolicyScores, leads};
use crate::ask::{EvaluateAsk, HypothesizeAsk, LaneAsk, Seen, Tested, WeighAsk};
use crate::body::{Action, Purpose, Verdict};
use crate::lane::{Acts, Came, LaneAction, ToolCall, Turn};

/// Most gaps that are listed.
const MAX_GAPS: usize = 5;

/// Hypotheses at the root or below another: the leads that an action would follow, unless another
/// hypothesis suspects them already.
pub(super) fn hypotheses(ask: &HypothesizeAsk) -> Vec<Action> {
    let path = seen(&ask.path);
    let suspected: BTreeSet<&EntityId> =
        ask.others.iter().map(|other| other.seen.action.entity()).collect();
    let leads = leads(&ask.scene, &path).into_iter();
    let new = leads.filter(|lead| !suspected.contains(lead.entity()));
    let hypothesis = |lead: Action| {
        let entity = lead.entity().clone();
        let focus = match path.last() {
            None => format!("what is wrong with {entity}"),
            Some(above) => format!("whether {entity} causes what {} shows", above.action.entity()),
        };
        Action::test(entity, focus, lead.thought)
    };
    new.take(ask.at_most as usize).map(hypothesis).collect()
}

/// What a specialist does next: fetches the context of the suspected entity, records what it holds of
/// its kinds, finishes.
pub(super) fn next(ask: &LaneAsk) -> LaneAction {
    let entity = ask.hypothesis.entity();
    let calls: Vec<&Turn> = ask.turns.iter().filter(|turn| turn.is_call()).collect();
    let came = |turn: &&Turn| match turn {
        Turn::Acted(Acts { came, .. }) => Some(came.clone()),
        _ => None,
    };
    match calls.last().and_then(came) {
        None => {
            let call = ToolCall::new("get_context", &json!({ "entity": entity }));
            LaneAction::new(format!("what is recorded of {entity}"), call)
        }
        Some(Came::Answered(answer)) => {
            let held = answer.evidence.iter().flat_map(|evidence| &evidence.context.findings);
            let held: Vec<EvidenceId> = held.map(|finding| finding.id().clone()).collect();
            match (held.is_empty(), u32::try_from(calls.len())) {
                (false, Ok(call)) => LaneAction::record("all of my kinds", call, &held),
                _ => LaneAction::finish(format!("{entity} has nothing of my kinds")),
            }
        }
        Some(Came::Recorded { findings, .. }) => {
            LaneAction::finish(format!("{} on {entity}", findings.len()))
        }
        Some(_) => LaneAction::finish(format!("nothing could be had on {entity}")),
    }
}

/// How far the evidence supports a hypothesis: the score of its path, where claims of other hypotheses count,
/// too; less for an origin that another hypothesis explains.
pub(super) fn weigh(scores: &PolicyScores, ask: &WeighAsk) -> Verdict {
    // What other hypotheses brought to light joins an origin to the alerts, too.
    let path = [seen(&ask.others), seen(&ask.path)].concat();
    let Some(last) = path.last().cloned().filter(|_| !ask.path.is_empty()) else {
        return Verdict::new(0, "nothing was evaluated");
    };
    let evaluate = EvaluateAsk {
        scene: ask.scene.clone(),
        path,
        purpose: Purpose::Evidence,
        accept: ask.accept,
    };
    let mut verdict = Verdict { prune: false, ..scores.of(&evaluate) };
    let entity = last.action.entity();
    // It is a symptom, so it is not the cause that the hypothesis suspects; it may still lead to one.
    if last.belief().is_some_and(|belief| belief.label == Label::Symptom) {
        verdict.score = verdict.score.min(scores.symptom);
    }
    if last.is_origin()
        && let Some(cause) = explained_by(entity, &ask.others)
    {
        verdict.score = verdict.score.min(scores.symptom_of);
        verdict.reasoning = format!("{}, but {cause} explains it", verdict.reasoning);
    }
    let known = |id: &&EvidenceId| ask.known.iter().any(|known| known.finding.id() == *id);
    let cited = last.belief().into_iter().flat_map(|belief| &belief.evidence);
    verdict.key_evidence = cited.filter(known).cloned().collect();
    verdict.gaps = gaps(&last, ask);
    verdict
}

/// An origin among other hypotheses that says it causes what an entity shows.
fn explained_by<'a>(entity: &EntityId, others: &'a [Tested]) -> Option<&'a EntityId> {
    let origins = others.iter().filter(|other| other.seen.is_origin());
    let claims = origins.filter_map(|other| other.seen.belief()).flat_map(|belief| &belief.claims);
    let mut causes = claims.filter(|claim| claim.effect == *entity && claim.cause != *entity);
    causes.next().map(|claim| &claim.cause)
}

/// What is missing: causes that are claimed, and proposals, that no hypothesis suspects yet.
fn gaps(last: &Seen, ask: &WeighAsk) -> Vec<String> {
    let entity = last.action.entity();
    let suspected: BTreeSet<&EntityId> =
        ask.path.iter().chain(&ask.others).map(|tested| tested.seen.action.entity()).collect();
    let claims = last.belief().into_iter().flat_map(|belief| &belief.claims);
    let claimed = claims.filter(|claim| claim.effect == *entity).map(|claim| &claim.cause);
    let understood = last.belief().is_some_and(|belief| belief.label != Label::Defer);
    let proposals = last.decision().into_iter().flat_map(|decision| &decision.proposals);
    let proposed = proposals.map(|proposal| &proposal.entity).filter(|_| !understood);
    let mut missing: Vec<&EntityId> = Vec::new();
    for other in claimed.chain(proposed) {
        if !suspected.contains(other) && !missing.contains(&other) {
            missing.push(other);
        }
    }
    let gap = |other: &EntityId| format!("whether {other} causes what {entity} shows");
    missing.into_iter().take(MAX_GAPS).map(gap).collect()
}

fn seen(path: &[Tested]) -> Vec<Seen> {
    path.iter().map(|tested| tested.seen.clone()).collect()
}
