//! A finished run as text: one line per ledger entry, then the conclusion.

use std::fmt::Write as _;

use eog_core::belief::ClaimEdge;
use eog_core::controller::{
    ActivationRecord, ActivationRefusal, ChangeCause, EntryBody, Evaluation,
};
use eog_core::ledger::{Observation, RecordedAnswer, Refusal, Warning};
use eog_core::{Belief, BudgetKind, Conclusion, Controller, EntityId, EvidenceId, StopReason};

use super::drive::Finished;
use super::script::Script;

/// Everything a case is judged by.
pub(crate) fn render(script: &Script, finished: &Finished) -> String {
    let controller = &finished.controller;
    let names = Names { script, controller };
    let mut lines: Vec<String> = Vec::new();
    for entry in controller.ledger().entries() {
        let text = match &entry.body {
            EntryBody::Opened(opened) => {
                let seeds: Vec<&str> =
                    opened.case.seeds.iter().map(|seed| seed.entity.as_str()).collect();
                format!("opened: seeds {}", seeds.join(" "))
            }
            EntryBody::Evaluated(evaluation) => names.evaluation(evaluation),
            EntryBody::Observed(observed) => {
                let mut text = format!("observed: {}", observation(&observed.observation));
                push(&mut text, "active", &activations(&observed.activations));
                text
            }
            EntryBody::Halted(cause) => format!("halted: {cause:?}").to_lowercase(),
            EntryBody::Resumed => "resumed".to_owned(),
            other => format!("{other:?}"),
        };
        lines.push(format!("{} {text}", entry.seq));
    }
    lines.extend(finished.stops.iter().map(|stop| format!("stop: {}", stop_reason(stop))));
    names.conclusion(&controller.conclusion(), &mut lines);
    let waiting: Vec<String> =
        controller.active().map(|(entity, reason)| format!("{entity} ({reason})")).collect();
    if !waiting.is_empty() {
        lines.push(format!("still active: {}", waiting.join(", ")));
    }
    let spent = controller.spent();
    lines.push(format!(
        "spent: {} evaluations, {} hops, {} remembered, {} failed",
        spent.evaluations, spent.hops, spent.remembered, spent.failures
    ));
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}

/// Puts names on evidence and anomalies.
struct Names<'r> {
    script: &'r Script,
    controller: &'r Controller,
}

impl Names<'_> {
    fn id(&self, id: &EvidenceId) -> String {
        self.script.names.get(id).cloned().unwrap_or_else(|| id.to_string())
    }

    fn evaluation(&self, evaluation: &Evaluation) -> String {
        let outcome = &evaluation.outcome;
        let mut text = format!(
            "{} visit {} ({} by {}): {}",
            evaluation.entity,
            evaluation.visit,
            evaluation.reason,
            evaluation.activated_by,
            self.belief(&outcome.belief)
        );
        match &evaluation.answer {
            RecordedAnswer::Decided(_) => {}
            RecordedAnswer::Remembered { entry } => {
                let _ = write!(text, "; remembered from {entry}");
            }
            RecordedAnswer::Failed(failure) => {
                let _ = write!(text, "; failed: {}", failure.kind);
            }
        }
        let refusals: Vec<String> = evaluation.refusals.iter().map(|r| self.refusal(r)).collect();
        push(&mut text, "refused", &refusals);
        let warnings: Vec<String> = evaluation.warnings.iter().map(warning).collect();
        push(&mut text, "warning", &warnings);
        if outcome.flips > 0 {
            let _ = write!(text, "; flips {}", outcome.flips);
        }
        for (holds, word) in [(outcome.damped, "damped"), (outcome.stale, "stale")] {
            if holds {
                let _ = write!(text, "; {word}");
            }
        }
        if let Some(cause) = outcome.change {
            let notified: Vec<&str> = outcome.broadcast_to.iter().map(EntityId::as_str).collect();
            let notified = if notified.is_empty() { "none".to_owned() } else { notified.join(" ") };
            let _ = write!(text, "; changed ({}), notified {notified}", change_cause(cause));
        }
        push(&mut text, "active", &activations(&evaluation.activations));
        text
    }

    fn belief(&self, belief: &Belief) -> String {
        let mut text = belief.label.to_string();
        if !belief.evidence.is_empty() {
            let ids: Vec<String> = belief.evidence.iter().map(|id| self.id(id)).collect();
            let _ = write!(text, " citing {}", ids.join(" "));
        }
        for claim in &belief.claims {
            let ids: Vec<String> = claim.evidence.iter().map(|id| self.id(id)).collect();
            let outside = if claim.outside { "outside " } else { "" };
            let _ =
                write!(text, " [{outside}{}>{} by {}]", claim.cause, claim.effect, ids.join(" "));
        }
        text
    }

    fn refusal(&self, refusal: &Refusal) -> String {
        match refusal {
            Refusal::OriginWithoutLocalEvidence => "origin without local evidence".to_owned(),
            Refusal::UnknownEvidence(id) => format!("unknown evidence {}", self.id(id)),
            Refusal::ClaimWithoutEvidence(e) => format!("{} without evidence", edge(e)),
            Refusal::ClaimBetweenOthers(e) => format!("{} between others", edge(e)),
            Refusal::ClaimOnItself(e) => format!("{} on itself", edge(e)),
            Refusal::ClaimOnUnknownEntity(e) => format!("{} on an unknown entity", edge(e)),
            Refusal::ClaimBeyondEntityCap(e) => format!("{} beyond the entity cap", edge(e)),
            Refusal::ProposalUnknown(e) => format!("proposal {e} unknown"),
            Refusal::ProposalVisited(e) => format!("proposal {e} visited"),
            Refusal::ProposalQueued(e) => format!("proposal {e} queued"),
            Refusal::ProposalRepeated(e) => format!("proposal {e} repeated"),
            Refusal::ProposalBeyondCap(e) => format!("proposal {e} beyond the cap"),
            Refusal::NoFurtherPage => "no further page".to_owned(),
            Refusal::NoFurtherQuery => "no further query".to_owned(),
            other => format!("{other:?}"),
        }
    }

    fn anomalies(&self, positions: &[usize]) -> String {
        let name = |position: &usize| match self.controller.anomalies().get(*position) {
            Some(anomaly) => format!("{}@{}", anomaly.name, anomaly.entity),
            None => format!("no anomaly {position}"),
        };
        positions.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    fn conclusion(&self, conclusion: &Conclusion, lines: &mut Vec<String>) {
        let group = |position: &usize| match conclusion.frontier.get(*position) {
            Some(group) => format!("{{{}}}", entities(&group.origins)),
            None => format!("no group {position}"),
        };
        if conclusion.frontier.is_empty() {
            lines.push("frontier: empty".to_owned());
        }
        for found in &conclusion.frontier {
            let mutual = if found.mutual { " mutual" } else { "" };
            let covers = match found.covers.as_slice() {
                [] => "unlinked".to_owned(),
                covers => format!("covers {}", self.anomalies(covers)),
            };
            let mut line = format!(
                "frontier: {{{}}}{mutual} {covers}, {}",
                entities(&found.origins),
                found.confidence
            );
            if let Some(change) = &found.change {
                let _ = write!(
                    line,
                    ", change {} at {}",
                    self.id(&change.id),
                    change.at.strftime("%H:%M")
                );
            }
            let doubts: Vec<String> = found.doubts.iter().map(ToString::to_string).collect();
            push(&mut line, "doubt", &doubts);
            lines.push(line);
        }
        let mut list = |title: &str, text: String| {
            if !text.is_empty() {
                lines.push(format!("{title}: {text}"));
            }
        };
        list("derived", entities(&conclusion.derived_origins));
        list("unexplained", self.anomalies(&conclusion.unexplained));
        list("earlier onset", self.anomalies(&conclusion.earlier_onset));
        let cover: Vec<String> = conclusion.cover.iter().map(group).collect();
        let kind = if conclusion.cover_is_exact { "cover" } else { "greedy cover" };
        list(kind, cover.join(" "));
        list("confidence", conclusion.confidence.to_string());
        for ranked in &conclusion.ranking {
            let s = ranked.score;
            let parts = [s.judged, s.reach, s.change, s.label].map(|part| part.to_string());
            list(
                "ranked",
                format!("{} {} {} = {}", ranked.entity, ranked.label, s.total(), parts.join("+")),
            );
        }
        list("unread", entities(&conclusion.unread));
        list("damped", entities(&conclusion.damped));
        list("stale", entities(&conclusion.stale));
    }
}

fn push(text: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = write!(text, "; {title}: {}", items.join(", "));
    }
}

fn entities(entities: &[EntityId]) -> String {
    entities.iter().map(EntityId::as_str).collect::<Vec<_>>().join(" ")
}

fn edge(edge: &ClaimEdge) -> String {
    format!("{}>{}", edge.cause, edge.effect)
}

fn activations(records: &[ActivationRecord]) -> Vec<String> {
    let text = |record: &ActivationRecord| match record.refused {
        None => format!("{} ({})", record.entity, record.reason),
        Some(refusal) => {
            let why = match refusal {
                ActivationRefusal::Damped => "damped",
                ActivationRefusal::VisitLimit => "visit limit",
                ActivationRefusal::EntityCap => "entity cap",
            };
            format!("not {} ({}: {why})", record.entity, record.reason)
        }
    };
    records.iter().map(text).collect()
}

fn observation(observation: &Observation) -> String {
    let edge = |e: &eog_core::incident::Edge| format!("{} {} {}", e.source, e.relation, e.target);
    match observation {
        Observation::Anomaly(anomaly) => format!("alert {} on {}", anomaly.name, anomaly.entity),
        Observation::EdgeAdded(added) => format!("edge {}", edge(added)),
        Observation::EdgeRemoved(removed) => format!("no edge {}", edge(removed)),
        Observation::NewEvidence(entity) => format!("new evidence for {entity}"),
        other => format!("{other:?}"),
    }
}

fn change_cause(cause: ChangeCause) -> &'static str {
    match cause {
        ChangeCause::First => "first",
        ChangeCause::Signature => "signature",
        ChangeCause::NewEvidence => "new evidence",
        ChangeCause::Measures => "numbers",
        ChangeCause::Text => "text",
    }
}

fn warning(warning: &Warning) -> String {
    match warning {
        Warning::Uncited => "uncited".to_owned(),
        Warning::SymptomWithoutCause => "symptom without cause".to_owned(),
        other => format!("{other:?}"),
    }
}

fn stop_reason(stop: &StopReason) -> String {
    match stop {
        StopReason::Converged { refused_wakes: 0 } => "converged".to_owned(),
        StopReason::SourceUnreachable { .. } | StopReason::SearchExhausted { .. } => {
            stop.to_string()
        }
        StopReason::Converged { refused_wakes } => {
            format!("converged, {refused_wakes} activations refused")
        }
        StopReason::BudgetExhausted { which } => {
            let which = match which {
                BudgetKind::Hops => "hops",
                BudgetKind::ModelCalls => "calls",
                BudgetKind::Tokens => "tokens",
                BudgetKind::Cost => "cost",
            };
            format!("budget of {which} exhausted")
        }
        StopReason::Cancelled => "cancelled".to_owned(),
        StopReason::Deadline => "deadline".to_owned(),
    }
}
