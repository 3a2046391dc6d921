//! No budget is exceeded, and what was paid is accounted for.

use eog::ledger::RecordedAnswer;
use eog::{StopReason, Usage};

use super::{Checked, Finding};
use crate::sim::simulation::answering::{DEAREST, Happening, OUTSIDE};
use crate::sim::simulation::history::{End, History, Life, Process};
use crate::sim::simulation::plan::Plan;

/// Hops never; tokens and money by no more than what was under way when they ran out.
pub(super) fn check(history: &History) -> Checked {
    for life in history.lives() {
        for (number, process) in life.processes.iter().enumerate() {
            check_hops(life, number, process)?;
            check_usage(&history.plan, life, number, process)?;
            check_file(life, number, process)?;
        }
    }
    Ok(())
}

fn check_hops(life: &Life, number: usize, process: &Process) -> Checked {
    let Some(limit) = life.config.budget.hops else { return Ok(()) };
    let found = process.found.iter().flat_map(|found| found.ledger.evaluations());
    let before = found.filter(|evaluation| is_hop(&evaluation.answer)).count() as u64;
    let stored = process.stored().filter_map(|entry| entry.evaluation());
    let spent = before + stored.filter(|evaluation| is_hop(&evaluation.answer)).count() as u64;
    if spent > limit {
        let expected = format!("at most {limit} policy calls in the ledger");
        return Err(Finding::in_process(life, number, expected, spent.to_string()));
    }
    // What is asked ahead may be waste, and has a limit of its own.
    let attempts = u64::from(life.limits.retry.attempts.get());
    let asked = process.count(|happening| matches!(happening, Happening::Decided { .. }));
    let may = (limit - before) * attempts;
    if life.ahead == 0 && asked > may {
        let expected = format!("at most {may} attempts at decisions");
        return Err(Finding::in_process(life, number, expected, asked.to_string()));
    }
    Ok(())
}

fn is_hop(answer: &RecordedAnswer) -> bool {
    !matches!(answer, RecordedAnswer::Remembered { .. })
}

fn check_usage(plan: &Plan, life: &Life, number: usize, process: &Process) -> Checked {
    let (End::Finished { stop, controller, journal_failed }, Some(found)) =
        (&process.end, &process.found)
    else {
        return Ok(());
    };
    let accounted = controller.spent().usage;
    let mut paid = found.usage;
    paid += process.paid();
    // The last call comes after the engine has said what was spent.
    let last = process.count(|happening| matches!(happening, Happening::Stored(_)));
    let after = after_the_end(process);
    let expected = Usage {
        model_calls: paid.model_calls - after,
        tokens_in: paid.tokens_in - after * OUTSIDE.tokens_in,
        tokens_out: paid.tokens_out - after * OUTSIDE.tokens_out,
        cost_micro_usd: paid.cost_micro_usd - after * OUTSIDE.cost_micro_usd,
    };
    // A call that is dropped between two attempts takes along what the first one cost, and so does
    // an answer that waits for its turn when the journal fails.
    let is_dropped = life.ahead > 0 || *stop == StopReason::Cancelled;
    let may_lose = *journal_failed || (is_dropped && life.limits.retry.attempts.get() > 1);
    let fits = if may_lose { is_within(accounted, expected) } else { accounted == expected };
    if !fits {
        let found = format!("{accounted:?} after {last} entries");
        return Err(Finding::in_process(life, number, format!("{expected:?} accounted"), found));
    }
    let under_way = match life.ahead {
        0 => u64::from(plan.window()),
        _ => u64::from(plan.window()) + plan.truth.entities().len() as u64,
    };
    let calls = under_way * u64::from(life.limits.retry.attempts.get());
    let outside = 2 * process.count(|happening| matches!(happening, Happening::OutsideAsked(_)));
    let within = |what: &str, limit: Option<u64>, before: u64, spent: u64, call: u64, one: u64| {
        let Some(limit) = limit else { return Ok(()) };
        let most = before.max(limit.saturating_sub(1)) + calls * call + outside * one;
        if spent <= most {
            return Ok(());
        }
        let expected = format!("at most {most} {what} with a budget of {limit}");
        Err(Finding::in_process(life, number, expected, spent.to_string()))
    };
    let tokens = |usage: Usage| usage.tokens_in + usage.tokens_out;
    let budget = life.config.budget;
    let cost = |usage: Usage| usage.cost_micro_usd;
    let model_calls = |usage: Usage| usage.model_calls;
    let (before, one) = (found.usage, OUTSIDE);
    within(
        "model calls",
        budget.model_calls,
        model_calls(before),
        model_calls(accounted),
        model_calls(DEAREST),
        model_calls(one),
    )?;
    within(
        "tokens",
        budget.tokens,
        tokens(before),
        tokens(accounted),
        tokens(DEAREST),
        tokens(one),
    )?;
    within("µ$", budget.cost_micro_usd, cost(before), cost(accounted), cost(DEAREST), cost(one))
}

/// What the engine accounted for, the next process finds in the side file, unless a disk failed or
/// the machine lost what was not synced: the budgets hold over all processes.
fn check_file(life: &Life, number: usize, process: &Process) -> Checked {
    let next = life.processes.get(number + 1).map(|next| next.found.as_ref());
    let found = next.unwrap_or(life.left.as_ref().ok());
    let (Some(found), End::Finished { controller, .. }, false) =
        (found, &process.end, process.disk_fault)
    else {
        return Ok(());
    };
    let mut expected = controller.spent().usage;
    for _ in 0..after_the_end(process) {
        expected += OUTSIDE;
    }
    if found.usage != expected {
        let expected = format!("{expected:?} in the side file");
        return Err(Finding::in_process(life, number, expected, format!("{:?}", found.usage)));
    }
    Ok(())
}

fn is_within(part: Usage, whole: Usage) -> bool {
    part.model_calls <= whole.model_calls
        && part.tokens_in <= whole.tokens_in
        && part.tokens_out <= whole.tokens_out
        && part.cost_micro_usd <= whole.cost_micro_usd
}

/// How many calls outside the loop were paid for after it.
fn after_the_end(process: &Process) -> u64 {
    use crate::sim::simulation::answering::Outside;
    process.count(|happening| matches!(happening, Happening::OutsideAsked(Outside::AFTER)))
}
