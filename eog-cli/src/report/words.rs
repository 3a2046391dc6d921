//! Phrases that several forms of the report share.

use eog::{BudgetKind, EvidenceKind, EvidenceTime, Finding, StopReason, Timestamp, Window};

use super::model::Report;

/// `1 alert`, `2 alerts`.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// An instant to the second, in UTC.
pub(super) fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// A window; the date is said once when it is the same.
pub(super) fn window(window: &Window) -> String {
    let end =
        if window.start().strftime("%F").to_string() == window.end().strftime("%F").to_string() {
            window.end().strftime("%H:%M:%SZ").to_string()
        } else {
            instant(window.end())
        };
    format!("{} to {end}", instant(window.start()))
}

/// When a finding holds.
pub(super) fn time(time: &EvidenceTime) -> String {
    match time {
        EvidenceTime::At(at) => instant(*at),
        EvidenceTime::During(during) => window(during),
    }
}

/// A finding in one line: for a change from what to what, else its excerpt.
pub(super) fn finding(finding: &Finding) -> String {
    match &finding.change {
        Some(change) if finding.kind == EvidenceKind::Change => {
            let old = change.old.as_deref().unwrap_or("(absent)");
            let new = change.new.as_deref().unwrap_or("(removed)");
            format!("{} changed from {old} to {new}", change.path)
        }
        _ => finding.excerpt.clone(),
    }
}

/// The query that gives a finding again, with its source in front unless it says so itself.
pub(super) fn query(finding: &Finding) -> String {
    if finding.query.starts_with(&finding.source) {
        finding.query.clone()
    } else {
        format!("{}: {}", finding.source, finding.query)
    }
}

/// Why the investigation ended.
pub(super) fn stop(stop: &StopReason) -> String {
    match stop {
        StopReason::Converged { refused_wakes: 0 } => "converged".to_owned(),
        StopReason::Converged { refused_wakes } => {
            format!("converged, {} refused", count_u64(*refused_wakes, "activation", "activations"))
        }
        StopReason::BudgetExhausted { which } => format!(
            "stopped: the budget of {} is used up while entities still wait",
            match which {
                BudgetKind::Hops => "policy calls",
                BudgetKind::Tokens => "tokens",
                BudgetKind::Cost => "money",
            }
        ),
        StopReason::Cancelled => "interrupted while entities still wait".to_owned(),
        StopReason::Deadline => "stopped: the deadline passed while entities still wait".to_owned(),
    }
}

/// What it cost, and why it ended.
pub(super) fn cost(report: &Report) -> String {
    let spent = &report.spent;
    let mut parts = vec![
        count_u64(spent.evaluations, "evaluation", "evaluations"),
        count_u64(spent.hops, "policy call", "policy calls"),
    ];
    if spent.remembered > 0 {
        parts.push(format!("{} from memory", spent.remembered));
    }
    if spent.failures > 0 {
        parts.push(count_u64(spent.failures, "failure", "failures"));
    }
    if spent.usage.model_calls > 0 {
        parts.push(count_u64(spent.usage.model_calls, "model call", "model calls"));
        parts.push(format!("{} tokens in, {} out", spent.usage.tokens_in, spent.usage.tokens_out));
    }
    format!("{}; {}", parts.join(", "), stop(&report.stop))
}

fn count_u64(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
