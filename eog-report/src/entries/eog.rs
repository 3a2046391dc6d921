//! What the entries of EoG's controller record, in words.

use eog_core::controller::{
    ActivationRecord, ActivationRefusal, EntryBody, Evaluation, HaltCause, Reason,
};
use eog_core::incident::Edge;
use eog_core::ledger::{Observation, RecordedAnswer};
use eog_core::{BudgetKind, EntityId};

use super::{Described, answered, joined, named, some};
use crate::clean::clean;
use crate::steps::Trail;
use crate::words;

impl Described for EntryBody {
    fn described(&self) -> String {
        match self {
            Self::Evaluated(evaluation) => evaluated(evaluation),
            Self::Observed(observed) => {
                let news = format!("observed: {}", observation(&observed.observation));
                joined(news, activations(&observed.activations))
            }
            Self::Halted(cause) => format!("stopped: {}", halt(*cause)),
            Self::Resumed => "resumed".to_owned(),
            _ => "an entry of an unknown kind".to_owned(),
        }
    }

    fn trail(&self) -> Trail {
        let queued = |records: &[ActivationRecord]| -> Vec<EntityId> {
            let queued = records.iter().filter(|record| record.refused.is_none());
            queued.map(|record| record.entity.clone()).collect()
        };
        match self {
            Self::Evaluated(evaluation) => Trail {
                why: why(evaluation.reason, evaluation.activated_by),
                grew_from: Some(evaluation.activated_by),
                queued: queued(&evaluation.activations),
                changed: match evaluation.asks_for_more() {
                    true => TURNS.to_owned(),
                    false => words::change(evaluation.outcome.change).to_owned(),
                },
                grown: Vec::new(),
            },
            Self::Observed(observed) => {
                Trail { queued: queued(&observed.activations), ..Trail::default() }
            }
            _ => Trail::default(),
        }
    }
}

/// The request of an entity for one more page.
const TURNS: &str = "requests the next page of its evidence";

fn evaluated(evaluation: &Evaluation) -> String {
    let Evaluation { entity, visit, outcome, .. } = evaluation;
    let why = why(evaluation.reason, evaluation.activated_by);
    if evaluation.asks_for_more() {
        return format!("{} ({why}, visit {visit}) {TURNS}", clean(entity.as_str()));
    }
    let mut line = format!(
        "{} ({why}, visit {visit}){}",
        named(entity, outcome.belief.label),
        answered(&evaluation.answer)
    );
    if !matches!(evaluation.answer, RecordedAnswer::Failed(_)) || outcome.change.is_some() {
        line += &format!(": {}", words::change(outcome.change));
    }
    if outcome.damped {
        line += "; not evaluated again, because it changed too often";
    }
    joined(line, activations(&evaluation.activations))
}

/// Why an entity was judged.
pub fn why(reason: Reason, by: u64) -> String {
    match reason {
        Reason::Seed => "seed".to_owned(),
        Reason::Claim => format!("claimed as a cause in entry {by}"),
        Reason::Wake => format!("activated by entry {by}"),
        Reason::LateMessage => format!("late message of entry {by}"),
        Reason::Proposal => format!("proposed in entry {by}"),
        Reason::Page => format!("for the page requested in entry {by}"),
        Reason::Query => format!("for the query of entry {by}"),
        Reason::Observation => format!("observation in entry {by}"),
        Reason::Settle => format!("unread message of a named cause, after entry {by}"),
        Reason::Check => format!("next to a named cause, after entry {by}"),
        Reason::DeadEnd => format!("unresolved leaf, after entry {by}"),
        Reason::Widen => format!("near an unexplained alert, after entry {by}"),
        Reason::SecondOpinion => format!("re-evaluation of a named cause, after entry {by}"),
    }
}

/// Entities that became active, and those that did not.
fn activations(records: &[ActivationRecord]) -> Vec<String> {
    let names = |refused: Option<ActivationRefusal>| -> Vec<&str> {
        let chosen = records.iter().filter(|record| record.refused == refused);
        chosen.map(|record| record.entity.as_str()).collect()
    };
    [
        (None, "queued"),
        (Some(ActivationRefusal::Damped), "not queued, because it changed too often"),
        (Some(ActivationRefusal::VisitLimit), "not queued, because of the visit limit"),
        (Some(ActivationRefusal::EntityCap), "not queued, because of the entity limit"),
    ]
    .into_iter()
    .map(|(refused, what)| (names(refused), what))
    .filter(|(names, _)| !names.is_empty())
    .map(|(names, what)| format!("{what}: {}", some(&names)))
    .collect()
}

fn halt(cause: HaltCause) -> String {
    let exhausted = |which| format!("{} exhausted", words::budget(which));
    match cause {
        HaltCause::Deadline => "deadline reached".to_owned(),
        HaltCause::ModelCalls => exhausted(BudgetKind::ModelCalls),
        HaltCause::Tokens => exhausted(BudgetKind::Tokens),
        HaltCause::Cost => exhausted(BudgetKind::Cost),
        HaltCause::Cancelled => "interrupted".to_owned(),
    }
}

fn observation(observation: &Observation) -> String {
    let edge = |edge: &Edge| format!("{} {} {}", edge.source, edge.relation, edge.target);
    let news = match observation {
        Observation::Anomaly(anomaly) => format!("alert {} on {}", anomaly.name, anomaly.entity),
        Observation::EdgeAdded(added) => format!("edge added: {}", edge(added)),
        Observation::EdgeRemoved(removed) => format!("edge removed: {}", edge(removed)),
        Observation::NewEvidence(entity) => format!("new evidence for {entity}"),
        _ => "an observation of an unknown kind".to_owned(),
    };
    clean(&news).into_owned()
}
