//! What agents read beside results.

use eog::{BudgetKind, EntityId, LocalContext, StopReason};
use eog_report::clean::clean_to;
use eog_report::words::{count, time};

/// Characters shown of a finding or an entry.
const MAX_WORDS: usize = 200;

/// Whether `resume` goes on where a run ended. A budget of policy calls is part of the ledger, and
/// would end it again at once.
pub(super) fn is_unfinished(reason: StopReason) -> bool {
    let is_out_of_hops = matches!(reason, StopReason::BudgetExhausted { which: BudgetKind::Hops });
    !reason.is_at_rest() && !is_out_of_hops
}

/// A step of a run: what an entry records, in one line.
pub(super) fn step(seq: u64, words: &str) -> String {
    format!("entry {seq}: {}", clean_to(words, MAX_WORDS))
}

/// The evidence on one entity, one finding a line.
pub(super) fn context(entity: &EntityId, context: &LocalContext) -> String {
    let mut lines =
        vec![format!("{entity}: {}", count(context.findings.len(), "finding", "findings"))];
    for finding in &context.findings {
        let excerpt = clean_to(&finding.excerpt, MAX_WORDS);
        lines.push(format!("{}  {}  {excerpt}", finding.id(), time(&finding.time)));
    }
    lines.extend(context.omitted.iter().map(|what| format!("left out: {what}")));
    lines.join("\n")
}
