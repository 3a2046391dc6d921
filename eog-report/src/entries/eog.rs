//! What the entries of EoG's controller record, in words.

use eog_core::{
    ActivationRecord, ActivationRefusal, Edge, EntryBody, Evaluation, HaltCause, Observation,
    Reason, RecordedAnswer,
};

use super::{Told, answered, joined, named, some};
use crate::clean::clean;
use crate::words;

impl Told for EntryBody {
    fn told(&self) -> String {
        match self {
            Self::Evaluated(evaluation) => evaluated(evaluation),
            Self::Observed(observed) => {
                let news = format!("observed: {}", observation(&observed.observation));
                joined(news, activations(&observed.activations))
            }
            Self::Halted(cause) => format!("stopped: {}", halt(*cause)),
            Self::Resumed => "resumed".to_owned(),
            _ => "an entry of a kind that this program does not know".to_owned(),
        }
    }
}

fn evaluated(evaluation: &Evaluation) -> String {
    let Evaluation { entity, visit, outcome, .. } = evaluation;
    let why = why(evaluation.reason, evaluation.activated_by);
    let mut line = format!(
        "{} ({why}, visit {visit}){}",
        named(entity, outcome.belief.label),
        answered(&evaluation.answer)
    );
    if !matches!(evaluation.answer, RecordedAnswer::Failed(_)) || outcome.change.is_some() {
        line += &format!(": {}", words::change(outcome.change));
    }
    if outcome.damped {
        line += ", for the last time: it changed too often";
    }
    joined(line, activations(&evaluation.activations))
}

/// Why an entity was judged.
pub fn why(reason: Reason, by: u64) -> String {
    match reason {
        Reason::Seed => "a start".to_owned(),
        Reason::Claim => format!("blamed in entry {by}"),
        Reason::Wake => format!("woken by entry {by}"),
        Reason::LateMessage => format!("told late by entry {by}"),
        Reason::Proposal => format!("proposed in entry {by}"),
        Reason::Observation => format!("observed in entry {by}"),
    }
}

/// Who became active, and who did not.
fn activations(records: &[ActivationRecord]) -> Vec<String> {
    let names = |refused: Option<ActivationRefusal>| -> Vec<&str> {
        let chosen = records.iter().filter(|record| record.refused == refused);
        chosen.map(|record| record.entity.as_str()).collect()
    };
    [
        (None, "next"),
        (Some(ActivationRefusal::Damped), "changed too often to be next"),
        (Some(ActivationRefusal::VisitLimit), "visited too often to be next"),
        (Some(ActivationRefusal::EntityCap), "one too many to be next"),
    ]
    .into_iter()
    .map(|(refused, what)| (names(refused), what))
    .filter(|(names, _)| !names.is_empty())
    .map(|(names, what)| format!("{what}: {}", some(&names)))
    .collect()
}

fn halt(cause: HaltCause) -> &'static str {
    match cause {
        HaltCause::Deadline => "the deadline passed",
        HaltCause::ModelCalls => "the budget of model calls was used up",
        HaltCause::Tokens => "the budget of tokens was used up",
        HaltCause::Cost => "the budget of money was used up",
        HaltCause::Cancelled => "interrupted",
    }
}

fn observation(observation: &Observation) -> String {
    let edge = |edge: &Edge| format!("{} {} {}", edge.source, edge.relation, edge.target);
    let news = match observation {
        Observation::Anomaly(anomaly) => format!("alert {} on {}", anomaly.name, anomaly.entity),
        Observation::EdgeAdded(added) => format!("{} from now on", edge(added)),
        Observation::EdgeRemoved(removed) => format!("{} no longer", edge(removed)),
        Observation::NewEvidence(entity) => format!("new evidence on {entity}"),
        _ => "something of a kind that this program does not know".to_owned(),
    };
    clean(&news).into_owned()
}
