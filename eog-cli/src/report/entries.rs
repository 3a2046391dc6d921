//! The entries of a ledger, one a line.

use eog::{
    ActivationRecord, ActivationRefusal, Entry, EntryBody, Evaluation, HaltCause, Ledger,
    Observation, Opened, Reason, RecordedAnswer,
};

use super::clean::{clean, clean_to};
use super::course::{self, Fork};
use super::page::{BOLD, PLAIN, Page};
use super::words;

/// Entities named of a list that can be long.
const MAX_NAMES: usize = 5;
/// Characters shown of a failure.
const MAX_FAILURE: usize = 80;

/// Lists the entries of a ledger with their numbers.
pub(crate) fn entries(ledger: &Ledger, width: Option<usize>) -> String {
    let mut page = Page::new(width);
    let digits = ledger.next_seq().saturating_sub(1).to_string().len();
    let mut forks = course::forks(ledger).into_iter();
    for entry in ledger.entries() {
        let fork = matches!(entry.body, EntryBody::Forked(_)).then(|| forks.next()).flatten();
        page.line(&format!("{:>digits$}  ", entry.seq), PLAIN, &one(entry, fork.as_ref()));
    }
    page.into_text()
}

/// One entry in words.
fn one(entry: &Entry, fork: Option<&Fork>) -> String {
    match &entry.body {
        EntryBody::Opened(opened) => self::opened(opened),
        EntryBody::Evaluated(evaluation) => evaluated(evaluation),
        EntryBody::Observed(observed) => {
            let news = format!("observed: {}", observation(&observed.observation));
            joined(news, activations(&observed.activations))
        }
        EntryBody::Halted(cause) => format!("stopped: {}", halt(*cause)),
        EntryBody::Resumed => "resumed".to_owned(),
        EntryBody::Forked(_) => match fork {
            Some(fork) => format!("forked {}", clean(&fork.in_words())),
            None => "forked".to_owned(),
        },
        _ => "an entry of a kind that this program does not know".to_owned(),
    }
}

fn opened(opened: &Opened) -> String {
    let case = &opened.case;
    let seeds: Vec<&str> = case.seeds.iter().map(|seed| seed.entity.as_str()).collect();
    format!(
        "opened: {}, {}; starts at {}",
        words::count(case.topology.entities().len(), "entity", "entities"),
        words::count(case.anomalies.len(), "alert", "alerts"),
        some(&seeds)
    )
}

fn evaluated(evaluation: &Evaluation) -> String {
    let Evaluation { entity, visit, outcome, .. } = evaluation;
    let why = why(evaluation.reason, evaluation.activated_by);
    let name = clean(entity.as_str());
    let label = outcome.belief.label;
    let mut line = format!("{BOLD}{name}{BOLD:#} {label} ({why}, visit {visit})");
    match &evaluation.answer {
        RecordedAnswer::Decided(_) => {}
        RecordedAnswer::Remembered { entry } => line += &format!(", as in entry {entry}"),
        RecordedAnswer::Failed(failure) => {
            line += &format!(", failed: {}", clean_to(&failure.to_string(), MAX_FAILURE));
        }
    }
    if !matches!(evaluation.answer, RecordedAnswer::Failed(_)) || outcome.change.is_some() {
        line += &format!(": {}", words::change(outcome.change));
    }
    if outcome.damped {
        line += ", for the last time: it changed too often";
    }
    joined(line, activations(&evaluation.activations))
}

/// Why an entity was judged.
pub(super) fn why(reason: Reason, by: u64) -> String {
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

fn joined(first: String, rest: Vec<String>) -> String {
    [first].into_iter().chain(rest).collect::<Vec<_>>().join("; ")
}

/// The first names of a list, and how many more there are.
fn some(names: &[&str]) -> String {
    let shown = names.iter().take(MAX_NAMES).copied().collect::<Vec<_>>().join(", ");
    let shown = clean(&shown);
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown.into_owned(),
        more => format!("{shown} and {more} more"),
    }
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
    let edge = |edge: &eog::Edge| format!("{} {} {}", edge.source, edge.relation, edge.target);
    let news = match observation {
        Observation::Anomaly(anomaly) => format!("alert {} on {}", anomaly.name, anomaly.entity),
        Observation::EdgeAdded(added) => format!("{} from now on", edge(added)),
        Observation::EdgeRemoved(removed) => format!("{} no longer", edge(removed)),
        Observation::NewEvidence(entity) => format!("new evidence on {entity}"),
        _ => "something of a kind that this program does not know".to_owned(),
    };
    clean(&news).into_owned()
}
