//! Phrases that several forms of the report share.

use eog::{BudgetKind, ChangeCause, ClaimEdge, Finding, Refusal, StopReason};

use super::model::{Report, RunFigures};

pub(super) use eog_prompts::words::{cause, count, finding, instant, list, time, window};

/// The query that gives a finding again, with its source in front unless it says so itself.
pub(super) fn query(finding: &Finding) -> String {
    eog_prompts::words::query(&finding.source, &finding.query)
}

/// A refusal that the author of a policy should know of. Proposals of entities that were visited
/// or wait already are everyday.
pub(super) fn refusal(refusal: &Refusal) -> Option<String> {
    let edge = |edge: &ClaimEdge| format!("{} explains {}", edge.cause, edge.effect);
    Some(match refusal {
        Refusal::OriginWithoutLocalEvidence => {
            "called an origin without citing evidence of its own; taken as Defer".to_owned()
        }
        Refusal::TextCut => "a text of more than 2,000 characters was cut".to_owned(),
        Refusal::UnknownEvidence(id) => format!("evidence {id} is unknown; left out"),
        Refusal::ClaimWithoutEvidence(claim) => {
            format!("claim \"{}\" cites no known evidence; left out", edge(claim))
        }
        Refusal::ClaimBetweenOthers(claim) => {
            format!("claim \"{}\" is about two others; left out", edge(claim))
        }
        Refusal::ClaimOnItself(claim) => {
            format!("claim \"{}\" is about itself; left out", edge(claim))
        }
        Refusal::ClaimOnUnknownEntity(claim) => {
            format!("claim \"{}\" names an unknown entity; left out", edge(claim))
        }
        Refusal::ClaimBeyondEntityCap(claim) => {
            format!("claim \"{}\" would admit too many entities; left out", edge(claim))
        }
        Refusal::ProposalUnknown(entity) => format!("proposed {entity} is unknown; left out"),
        _ => return None,
    })
}

/// What an evaluation changed.
pub(super) fn change(change: Option<ChangeCause>) -> &'static str {
    match change {
        Some(ChangeCause::First) => "first judgement",
        Some(ChangeCause::Signature) => "changed its mind",
        Some(ChangeCause::NewEvidence) => "cites new evidence",
        Some(ChangeCause::Text) => "changed its words",
        None => "unchanged",
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
                BudgetKind::ModelCalls => "model calls",
                BudgetKind::Tokens => "tokens",
                BudgetKind::Cost => "money",
            }
        ),
        StopReason::Cancelled => "interrupted while entities still wait".to_owned(),
        StopReason::Deadline => "stopped: the deadline passed while entities still wait".to_owned(),
    }
}

/// What to add to the result of an investigation that neither came to its end nor reached a limit
/// of its settings.
pub(super) fn early(report: &Report) -> &'static str {
    match report.stop {
        _ if report.is_unstored => ", stopped early",
        StopReason::Cancelled => ", interrupted",
        _ => "",
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
    let usage = &spent.usage;
    if usage.model_calls > 0 {
        parts.push(count_u64(usage.model_calls, "model call", "model calls"));
    }
    if usage.tokens_in > 0 || usage.tokens_out > 0 {
        parts.push(format!("{} tokens in, {} out", usage.tokens_in, usage.tokens_out));
    }
    if usage.cost_micro_usd > 0 {
        parts.push(money(usage.cost_micro_usd));
    }
    let stop = if report.is_unstored {
        "stopped: the journal took no more".to_owned()
    } else {
        stop(&report.stop)
    };
    format!("{}; {stop}", parts.join(", "))
}

/// What a run did beside the result, as far as there is something to tell.
pub(super) fn run(run: &RunFigures) -> Option<String> {
    let mut parts = Vec::new();
    if run.early_calls > 0 {
        let wasted = match run.wasted_calls {
            0 => String::new(),
            wasted => format!(" ({wasted} for nothing)"),
        };
        let calls = count_u64(run.early_calls, "policy call", "policy calls");
        parts.push(format!("{calls} ahead of time{wasted}"));
    }
    if run.wasted_fetches > 0 {
        let fetches = count_u64(run.wasted_fetches, "fetch", "fetches");
        parts.push(format!("{fetches} of evidence for nothing"));
    }
    if run.retries > 0 {
        let attempts = count_u64(run.retries, "further attempt", "further attempts");
        parts.push(format!("{attempts} after failures"));
    }
    (!parts.is_empty()).then(|| format!("in this run {}", parts.join(", ")))
}

/// Millionths of a US dollar as dollars, to the hundredth of a cent, rounded up.
fn money(micro_usd: u64) -> String {
    let parts = micro_usd.div_ceil(100);
    format!("{}.{:04} USD", parts / 10_000, parts % 10_000)
}

fn count_u64(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_never_rounded_down() {
        for (micro_usd, words) in [
            (1, "0.0001 USD"),
            (250, "0.0003 USD"),
            (1_234_500, "1.2345 USD"),
            (u64::MAX, "18446744073709.5517 USD"),
        ] {
            assert_eq!(money(micro_usd), words);
        }
    }

    #[test]
    fn a_run_with_nothing_to_tell_says_nothing() {
        assert_eq!(run(&RunFigures::default()), None);
        let busy = RunFigures { retries: 1, ..RunFigures::default() };
        assert_eq!(run(&busy).as_deref(), Some("in this run 1 further attempt after failures"));
    }
}
