//! What happens, in words for agents and people.

use eog::{BudgetKind, EntityId, EvidenceTime, LocalContext, StopReason, to_the_second};
use eog_session::travel::Parted;

/// Characters of telemetry in one line of progress.
const MAX_WORDS: usize = 200;

/// Why a run ended.
pub(super) fn stop(reason: StopReason) -> String {
    match reason {
        StopReason::Converged { .. } => "nothing is left to look at",
        StopReason::BudgetExhausted { which } => match which {
            BudgetKind::Hops => "the budget of policy calls is used up",
            BudgetKind::ModelCalls => "the budget of model calls is used up",
            BudgetKind::Tokens => "the budget of tokens is used up",
            BudgetKind::Cost => "the budget of money is used up",
        },
        StopReason::Cancelled => "cancelled",
        StopReason::Deadline => "time was up",
    }
    .to_owned()
}

/// Whether `resume` goes on where a run ended. A budget of policy calls is part of the ledger, and
/// would end it again at once.
pub(super) fn is_unfinished(reason: StopReason) -> bool {
    !matches!(
        reason,
        StopReason::Converged { .. } | StopReason::BudgetExhausted { which: BudgetKind::Hops }
    )
}

/// A step of a run: what an entry records, in one line.
pub(super) fn step(seq: u64, words: &str) -> String {
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("entry {seq}: {}", eog_evidence::shorten(&words, MAX_WORDS))
}

/// When a finding holds.
pub(super) fn time(time: &EvidenceTime) -> String {
    match time {
        EvidenceTime::At(at) => to_the_second(*at),
        EvidenceTime::During(window) => {
            format!("{}/{}", to_the_second(window.start()), to_the_second(window.end()))
        }
    }
}

/// The evidence on one entity, one finding a line.
pub(super) fn context(entity: &EntityId, context: &LocalContext) -> String {
    let mut lines = vec![format!("{entity}: {} findings", context.findings.len())];
    for finding in &context.findings {
        let excerpt = finding.excerpt.split_whitespace().collect::<Vec<_>>().join(" ");
        let excerpt = eog_evidence::shorten(&excerpt, MAX_WORDS);
        lines.push(format!("{}  {}  {excerpt}", finding.id(), time(&finding.time)));
    }
    lines.extend(context.omitted.iter().map(|what| format!("left out: {what}")));
    lines.join("\n")
}

/// Where two courses part.
pub(super) fn parting(parting: &Parted) -> String {
    match parting {
        Parted::Never => "what happened is the same".to_owned(),
        Parted::OneGoesOn { shared, first } => {
            let longer = if *first { "first" } else { "second" };
            format!("the same for {shared} entries; the {longer} goes on")
        }
        Parted::At { seq, first, second } => format!(
            "they part at entry {seq}\n  first:  {}\n  second: {}",
            step(*seq, &first.words),
            step(*seq, &second.words)
        ),
    }
}
