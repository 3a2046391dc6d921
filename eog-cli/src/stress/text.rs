//! What a stress test found, for a person at a terminal and for programs.

use eog::controller::{Concurrency, Order};
use eog::stress::{
    Disagreement, Factor, FrontierCount, LastWord, Pair, Side, StressOutcome, StressReport,
};
use eog::{BudgetKind, EntityId, StopReason};
use eog_report::clean::{clean, clean_to};
use eog_report::page::{BOLD, DIM, GREEN, PLAIN, Page, RED, YELLOW};
use eog_report::pretty;
use eog_report::words::{count, list};
use serde::Serialize;

use eog_report::shell_word as quoted;

/// The version of the JSON form.
const VERSION: u32 = 1;
/// Lines shown of a list that can be long.
const MAX_LINES: usize = 8;
/// Seeds shown of an order.
const MAX_SEEDS: usize = 12;
/// Characters shown of a policy's words.
const MAX_REASON: usize = 110;

/// Where both ledgers of the pair are written.
pub(super) struct Ledgers {
    pub(super) baseline: String,
    pub(super) differing: String,
}

#[derive(Serialize)]
struct StressFile<'r> {
    format: &'static str,
    version: u32,
    name: &'r str,
    result: &'r StressReport,
}

/// The whole result as indented JSON.
pub(super) fn json(name: &str, report: &StressReport) -> String {
    pretty(&StressFile { format: "eog-stress", version: VERSION, name, result: report })
}

/// The result as text, wrapped at `width` columns, if given.
pub(super) fn text(
    name: &str,
    report: &StressReport,
    ledgers: Option<&Ledgers>,
    width: Option<usize>,
) -> String {
    let mut page = Page::new(width);
    page.line("", BOLD, &clean(name));
    verdict(&mut page, report);
    delays(&mut page, report);
    results(&mut page, report);
    if let Some(pair) = &report.pair {
        smallest(&mut page, report, pair);
        entities(&mut page, pair);
        advice(&mut page, report, pair, ledgers);
    }
    notes(&mut page, report, ledgers);
    page.title("");
    page.line("", DIM, &questions(report));
    page.into_text()
}

fn verdict(page: &mut Page, report: &StressReport) {
    let (style, verdict) = if report.runs == 0 {
        (YELLOW, "no run was made to compare with the baseline".to_owned())
    } else if report.baseline.evaluations > 0
        && report.baseline.failures == report.baseline.evaluations
    {
        let words = "no result: every evaluation of the baseline failed; `eog investigate` with \
                     the same options shows why";
        (RED, words.to_owned())
    } else if report.same_outcome == report.runs && report.interrupted {
        let runs = count(report.runs, "run", "runs");
        (YELLOW, format!("inconclusive: interrupted; the first {runs} had the same result"))
    } else if report.same_outcome == report.runs {
        let runs = count(report.runs, "run", "runs");
        (
            GREEN,
            format!("the order does not matter: {runs}, all with the same result as the baseline"),
        )
    } else {
        let differing = report.runs - report.same_outcome;
        (
            RED,
            format!(
                "the order matters: {differing} of {} runs have a different result",
                report.runs
            ),
        )
    };
    page.line("", style, &verdict);
    let what = format!(
        "same frontier in {} of {}, same minimum cover in {} of {}; seed {}",
        report.same_frontier, report.runs, report.same_cover, report.runs, report.seed
    );
    page.line("", DIM, &what);
    if report.interrupted {
        let planned = format!("interrupted after {} of {} runs", report.runs, report.planned);
        page.line("", YELLOW, &planned);
    }
}

fn delays(page: &mut Page, report: &StressReport) {
    let delays = &report.delays_alone;
    if delays.runs == 0 {
        page.line("", DIM, "delays alone: not tried");
        return;
    }
    let words = format!("delays alone: {} of {} ledgers identical", delays.identical, delays.runs);
    if delays.defects.is_empty() {
        page.line("", DIM, &words);
        return;
    }
    page.line("", RED, &words);
    page.title("DEFECT: delays alone changed the ledger, which must never happen");
    for defect in delays.defects.iter().take(MAX_LINES) {
        let at = match &defect.parting {
            Some(parting) => format!("the ledgers diverge at entry {}", parting.entry),
            None => "without its delays it has a different result".to_owned(),
        };
        page.line("  ", RED, &format!("run {}: {at}", defect.run));
    }
    more(page, delays.defects.len(), "runs");
    let please = "Please report this with the input and the seed: it is an error in eog, not in \
                  the policy.";
    page.line("  ", PLAIN, please);
}

fn results(page: &mut Page, report: &StressReport) {
    page.title("RESULTS");
    for (position, result) in report.frontiers.iter().take(MAX_LINES).enumerate() {
        let style = if position == 0 { GREEN } else { YELLOW };
        let lead = format!("  {:>5} × ", result.runs);
        page.line(&lead, style, &origins(&result.outcome));
        page.line("          ", DIM, &effort(result, position == 0));
    }
    more(page, report.frontiers.len(), "results");
}

fn effort(result: &FrontierCount, is_baseline: bool) -> String {
    let (fewest, most) = (result.fewest_evaluations, result.most_evaluations);
    let mut parts = Vec::new();
    if is_baseline {
        parts.push("the result of the baseline".to_owned());
    } else {
        parts.push(format!("first in run {}", result.first_run));
    }
    parts.push(if fewest == most {
        format!("{fewest} evaluations")
    } else {
        format!("{fewest} to {most} evaluations")
    });
    if result.ended_by_budget > 0 {
        parts.push(format!("{} ended by the budget", result.ended_by_budget));
    }
    parts.join(", ")
}

/// The frontier, with those marked that the minimum cover can do without.
fn origins(outcome: &StressOutcome) -> String {
    if outcome.frontier.is_empty() {
        return "no origin".to_owned();
    }
    let group = |(position, origins): (usize, &Vec<EntityId>)| {
        let mutual = if origins.len() > 1 { " (explaining each other)" } else { "" };
        let spare =
            if outcome.cover.contains(&position) { "" } else { " (not in the minimum cover)" };
        format!("{}{mutual}{spare}", clean(&list(origins)))
    };
    outcome.frontier.iter().enumerate().map(group).collect::<Vec<_>>().join("; ")
}

fn smallest(page: &mut Page, report: &StressReport, pair: &Pair) {
    page.title("THE SMALLEST DIFFERENCE FOUND");
    for factor in &pair.factors {
        match factor {
            Factor::Seeds => seeds(page, &report.baseline, &pair.differing),
            Factor::Width => {
                let width = |side: &Side| match side.setting.concurrency {
                    Concurrency::Window(width) => width.to_string(),
                    ref other => format!("{other:?}"),
                };
                let (from, to) = (width(&report.baseline), width(&pair.differing));
                page.line(
                    "  ",
                    PLAIN,
                    &format!("up to {to} evaluations in flight instead of {from}"),
                );
            }
            Factor::Order => {
                let (from, to) = (&report.baseline.setting.order, &pair.differing.setting.order);
                let words =
                    format!("the next entity is chosen {} instead of {}", order(to), order(from));
                page.line("  ", PLAIN, &words);
            }
            Factor::Delays => page.line("  ", PLAIN, "answers arrive after injected delays"),
        }
    }
    page.line("  baseline:  ", GREEN, &conclusion(&report.baseline));
    page.line("  differing: ", YELLOW, &conclusion(&pair.differing));
    if let Some(parting) = &pair.parting {
        page.line("  ", PLAIN, &format!("The runs diverge at entry {}:", parting.entry));
        for (lead, step) in
            [("    baseline:  ", &parting.first), ("    differing: ", &parting.second)]
        {
            let words = step.as_ref().map_or("it has ended".to_owned(), |step| {
                let summary = clean_to(&step.summary, MAX_REASON);
                format!("{} is {}: {summary}", clean(step.entity.as_str()), step.label)
            });
            page.line(lead, DIM, &words);
        }
    }
}

fn seeds(page: &mut Page, baseline: &Side, differing: &Side) {
    let name = |place: usize| baseline.seeds.get(place).map_or("", EntityId::as_str);
    let displaced = differing.setting.displaced();
    let words = match displaced[..] {
        [one, other] => format!(
            "two seeds are swapped: {} (position {}) and {} (position {})",
            name(one),
            one + 1,
            name(other),
            other + 1
        ),
        _ => format!("{} of {} seeds are moved", displaced.len(), baseline.seeds.len()),
    };
    page.line("  ", PLAIN, &clean(&words));
    let order = |side: &Side| {
        let cut = if side.seeds.len() > MAX_SEEDS { ", …" } else { "" };
        format!("{}{cut}", clean(&list(side.seeds.iter().take(MAX_SEEDS))))
    };
    page.line("    baseline:  ", DIM, &order(baseline));
    page.line("    differing: ", DIM, &order(differing));
}

fn order(order: &Order) -> String {
    match order {
        Order::Fifo => "in order of activation".to_owned(),
        Order::Priority => "by priority (unread label changes, then near the seeds)".to_owned(),
        Order::Permuted { seed } => format!("by a permutation (seed {seed})"),
    }
}

fn conclusion(side: &Side) -> String {
    let stop = side.stop.to_string();
    format!("{} ({} evaluations, {stop})", origins(&side.outcome), side.evaluations)
}

fn entities(page: &mut Page, pair: &Pair) {
    page.title("ENTITIES THAT DIFFER");
    if pair.entities.is_empty() {
        page.line("  ", PLAIN, "None: the labels are the same, but the live claims differ.");
    }
    for entity in pair.entities.iter().take(MAX_LINES) {
        let style = if entity.in_one_frontier { BOLD } else { PLAIN };
        page.line("  ", style, &clean(entity.entity.as_str()));
        page.line("    baseline:  ", PLAIN, &last_word(&entity.baseline));
        page.line("    differing: ", PLAIN, &last_word(&entity.differing));
    }
    more(page, pair.entities.len(), "entities");
}

fn last_word(last: &LastWord) -> String {
    let (Some(label), Some(entry)) = (last.label, last.entry) else {
        return "not evaluated".to_owned();
    };
    let mut words = format!("{label}, last evaluated in entry {entry}");
    if last.heard.is_empty() {
        words.push_str(", without messages");
    } else {
        let received = last.heard.iter().take(MAX_LINES);
        let received: Vec<String> =
            received.map(|(sender, label)| format!("{sender} ({label})")).collect();
        words.push_str(&format!(", with messages from {}", received.join(", ")));
        if last.heard.len() > MAX_LINES {
            words.push_str(&format!(" and {} more", last.heard.len() - MAX_LINES));
        }
    }
    if last.damped {
        words.push_str("; it changed too often and was not evaluated again");
    }
    if last.unread {
        words.push_str("; it has unread messages");
    }
    clean(&words).into_owned()
}

fn advice(page: &mut Page, report: &StressReport, pair: &Pair, ledgers: Option<&Ledgers>) {
    page.title("WHAT TO DO");
    let sides = [&report.baseline, &pair.differing];
    let words = if sides.iter().any(|side| is_by_budget(&side.stop)) {
        format!("A budget ended a run shown here: try a larger {} first.", budget_option(report))
    } else {
        "Do not rely on either result: the same answers in a different order lead to the other one."
            .to_owned()
    };
    page.line("  ", PLAIN, &words);
    let Some(ledgers) = ledgers else {
        let words = "With --out DIR both ledgers are written: `eog diff` compares them, and \
                     `eog explain` shows what a label depends on.";
        page.line("  ", PLAIN, words);
        return;
    };
    page.line("  ", PLAIN, "Compare the two, and see what a label depends on:");
    let (one, other) = (quoted(&ledgers.baseline), quoted(&ledgers.differing));
    page.line("    ", PLAIN, &format!("eog diff {one} {other}"));
    if let Some(Disagreement { entity, baseline, differing, .. }) = pair.entities.first() {
        for (ledger, last) in [(one, baseline), (other, differing)] {
            if last.entry.is_some() {
                let entity = quoted(entity.as_str());
                page.line("    ", PLAIN, &format!("eog explain {ledger} {entity}"));
            }
        }
    }
}

fn is_by_budget(stop: &StopReason) -> bool {
    matches!(stop, StopReason::BudgetExhausted { .. })
}

/// The option that sets the budget which ended a run: that of a model, if one did.
fn budget_option(report: &StressReport) -> &'static str {
    let shown = report.pair.as_ref().map(|pair| &pair.differing);
    let stops = [&report.baseline].into_iter().chain(shown).map(|side| &side.stop);
    let mut which = stops.filter_map(|stop| match stop {
        StopReason::BudgetExhausted { which } if *which != BudgetKind::Hops => Some(*which),
        _ => None,
    });
    match which.next() {
        Some(BudgetKind::ModelCalls) => "--max-model-calls",
        Some(BudgetKind::Tokens) => "--max-tokens",
        Some(BudgetKind::Cost) => "--max-usd",
        _ => "--budget",
    }
}

fn notes(page: &mut Page, report: &StressReport, ledgers: Option<&Ledgers>) {
    let mut notes = Vec::new();
    if report.baseline.failures > 0 {
        let failures = report.baseline.failures as usize;
        let words = count(failures, "evaluation", "evaluations");
        notes.push(format!("{words} of the baseline failed; failures are repeated like answers"));
    }
    let by_budget: u32 = report.frontiers.iter().map(|count| count.ended_by_budget).sum();
    let also_given = is_by_budget(&report.baseline.stop);
    if by_budget > 0 || also_given {
        let also = if also_given { " and the baseline" } else { "" };
        let runs = count(by_budget, "run", "runs");
        notes.push(format!(
            "the budget ended {runs}{also}: a larger {} separates the effect of order from that of the budget",
            budget_option(report)
        ));
    }
    if report.shrinking.gave_up {
        notes.push(format!(
            "a smaller difference may exist: the search stopped after {} runs (--shrink-runs)",
            report.shrinking.runs
        ));
    } else if report.pair.is_some() {
        let runs = count(report.shrinking.runs, "further run", "further runs");
        notes.push(format!("the difference was reduced to this with {runs}"));
    }
    if report.pair.is_none() && ledgers.is_some() {
        notes.push("no run differs, so no ledgers were written".to_owned());
    }
    if notes.is_empty() {
        return;
    }
    page.title("NOTES");
    for note in notes {
        page.line("  ", DIM, &note);
    }
}

fn questions(report: &StressReport) -> String {
    let (decisions, contexts) = (report.questions.decisions, report.questions.contexts);
    format!(
        "distinct calls: {}, {}; answered from the cache: {} and {}",
        count(decisions.distinct, "decision", "decisions"),
        count(contexts.distinct, "context", "contexts"),
        decisions.again,
        contexts.again
    )
}

fn more(page: &mut Page, total: usize, what: &str) {
    if total > MAX_LINES {
        let words = format!("… {} more {what} (--format json shows all)", total - MAX_LINES);
        page.line("    ", DIM, &words);
    }
}

#[cfg(test)]
mod tests {
    use eog::stress::DelayDefect;

    use super::*;

    #[test]
    fn a_ledger_that_changed_with_the_delays_is_said_aloud() {
        let mut report = crate::stress::tests::of_the_shipped_incident();
        let sound = text("x", &report, None, None);
        assert!(sound.contains("delays alone: 2 of 2 ledgers identical"), "{sound}");
        assert!(!sound.contains("DEFECT"));
        report.delays_alone.identical = 1;
        report.delays_alone.defects.push(DelayDefect { run: 3, parting: None });
        let broken = text("x", &report, None, None);
        assert!(broken.contains("delays alone: 1 of 2 ledgers identical"), "{broken}");
        assert!(broken.contains("DEFECT: delays alone changed the ledger"), "{broken}");
        assert!(broken.contains("run 3: without its delays"), "{broken}");
    }

    #[test]
    fn what_was_interrupted_is_not_settled() {
        let mut found = crate::stress::tests::of_the_shipped_incident();
        assert!(text("x", &found, None, None).contains("the order does not matter"));
        found.interrupted = true;
        let shown = text("x", &found, None, None);
        assert!(!shown.contains("does not matter"), "{shown}");
        assert!(
            shown.contains("inconclusive: interrupted; the first 4 runs had the same result"),
            "{shown}"
        );
    }
}
