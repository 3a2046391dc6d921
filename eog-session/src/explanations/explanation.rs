//! Why an entity has its label, for a person at a terminal.

use eog::controller::{ActivationRefusal, Reason};
use eog::travel::{Again, Explanation, Part, Step, Unjudged};
use eog::{Belief, Diagnosis, EntityId, StopReason};
use eog_report::clean::clean;
use eog_report::page::{BOLD, DIM, PLAIN, Page, YELLOW};
use eog_report::{Lookup, why, words};

use super::why_not;

/// Why an entity has its label: what it rests on, its history, and what it depends on. Wraps at `width`
/// columns, if given. With `lookup`, the commands that show the evidence are named.
pub fn explanation(
    diagnosis: &Diagnosis,
    explanation: &Explanation,
    lookup: Option<&Lookup>,
    width: Option<usize>,
) -> String {
    let mut page = Page::new(width);
    let label = explanation
        .belief
        .as_ref()
        .map_or("not evaluated".to_owned(), |belief| belief.label.to_string());
    page.line("", BOLD, &format!("{}: {label}", clean(explanation.entity.as_str())));
    if let Some(belief) = &explanation.belief {
        page.line("  ", PLAIN, &clean(&belief.summary));
        evidence(&mut page, diagnosis, belief, lookup);
    }
    page.title("HISTORY");
    for step in &explanation.steps {
        one_step(&mut page, &explanation.entity, step);
    }
    not_named(&mut page, diagnosis, &explanation.entity);
    page.title("WHAT IT DEPENDS ON");
    if explanation.hangs_on.is_empty() {
        page.line("  ", PLAIN, &nothing_single(explanation));
    }
    for dependence in &explanation.hangs_on {
        page.line("  • without ", PLAIN, &part(diagnosis, &dependence.without));
        let then = format!("{}: {}", dependence.label, clean(&dependence.summary));
        page.line("    it would be ", YELLOW, &then);
    }
    for unanswered in &explanation.unanswered {
        page.line("  • unknown for ", PLAIN, &part(diagnosis, &unanswered.without));
        page.line("    ", YELLOW, &clean(&unanswered.reason));
    }
    page.into_text()
}

/// What a belief cites and claims.
pub(super) fn evidence(
    page: &mut Page,
    diagnosis: &Diagnosis,
    belief: &Belief,
    lookup: Option<&Lookup>,
) {
    for finding in diagnosis.cited(belief) {
        let when = words::time(&finding.time);
        page.line("  • ", PLAIN, &format!("{when}  {}", clean(&words::finding(finding))));
        let query = words::query(&finding.source, &finding.query);
        page.line("    ", DIM, &format!("{}  {}", finding.id(), clean(&query)));
        if let Some(command) = lookup.and_then(|lookup| lookup.command(finding)) {
            page.whole("    ", DIM, &command);
        }
    }
    for claim in &belief.claims {
        let claim = format!("claims that {} explains {}", claim.cause, claim.effect);
        page.line("  • ", PLAIN, &clean(&claim));
    }
}

/// Why it is not named as a root cause, unless it is.
pub(super) fn not_named(page: &mut Page, diagnosis: &Diagnosis, entity: &EntityId) {
    let lines = why_not(diagnosis, entity);
    if !lines.is_empty() {
        page.title("WHY IT IS NOT A ROOT CAUSE");
        lines.iter().for_each(|line| page.line("  • ", PLAIN, line));
    }
}

/// A part of a packet, in words.
fn part(diagnosis: &Diagnosis, part: &Part) -> String {
    match part {
        Part::Finding(id) => diagnosis.findings.get(id).map_or_else(
            || id.to_string(),
            |finding| format!("{id}, {}", clean(&words::finding(finding))),
        ),
        Part::Message(sender) => format!("the message of {}", clean(sender.as_str())),
    }
}

/// Why nothing is named that the label depends on.
fn nothing_single(explanation: &Explanation) -> String {
    match &explanation.again {
        Again::Same if !explanation.unanswered.is_empty() => {
            "None known. The policy gave no answer for:"
        }
        Again::Same => {
            "No single finding or message: without any one of them, the label is the same."
        }
        Again::NotAsked => "Unknown: the last evaluation has no decision that could be repeated.",
        Again::JudgeUnknown => {
            "Unknown: the ledger does not name the policy, so none was called again. Set \
             Config::policy to record it."
        }
        Again::Other(label) => {
            return format!(
                "Unknown: for the same packet the policy now answers {label}, unlike the ledger. \
                 It is inconsistent, or another policy wrote this ledger."
            );
        }
        Again::Failed(reason) => {
            let reason = clean(reason);
            return format!("Unknown: for the same packet the policy now fails: {reason}");
        }
    }
    .to_owned()
}

fn one_step(page: &mut Page, entity: &EntityId, step: &Step) {
    for message in &step.received {
        let line = format!("entry {}: message: {}", message.entry, message.in_words(entity));
        page.line("    ", DIM, &clean(&line));
    }
    let change = words::change(step.change);
    let line = format!(
        "{}, {change} ({}): {}",
        step.belief.label,
        why(step.reason, step.activated_by),
        clean(&step.belief.summary)
    );
    page.line(&format!("  entry {}: ", step.entry), PLAIN, &line);
}

/// Why an entity has no label, and the other evidence against it as a cause. Wraps at `width` columns, if given.
pub fn not_judged(
    diagnosis: &Diagnosis,
    entity: &EntityId,
    why: &Unjudged,
    width: Option<usize>,
) -> String {
    let mut page = Page::new(width);
    page.line("", BOLD, &format!("{}: not evaluated", clean(entity.as_str())));
    page.line("  ", PLAIN, &clean(&unjudged(why)));
    not_named(&mut page, diagnosis, entity);
    page.into_text()
}

/// Why an entity has no label, in words.
pub fn unjudged(why: &Unjudged) -> String {
    match why {
        Unjudged::Waiting { reason, stop } => waiting(*reason, *stop),
        Unjudged::Refused { entry, refusal } => {
            let why = match refusal {
                ActivationRefusal::Damped => "it had changed too often",
                ActivationRefusal::VisitLimit => "it had reached its visit limit",
                ActivationRefusal::EntityCap => "the limit of entities was reached",
            };
            format!("Entry {entry} would have queued it, but {why}.")
        }
        Unjudged::BeyondCap { entry } => format!(
            "It was proposed in entry {entry}, beyond the number of proposals that a decision may make."
        ),
        Unjudged::LeftOut(words) => {
            format!("Its alerts were left out at the start: {}.", words.join("; "))
        }
        Unjudged::Outside(claiming) => format!(
            "An outside system, which is not evaluated: evidence of {} names it as the cause.",
            words::list(claiming)
        ),
        Unjudged::NeverReached { declared: false, .. } => {
            "Evidence names it, but the topology has no edge to it, and no decision claimed or \
             proposed it."
                .to_owned()
        }
        Unjudged::NeverReached { judged, .. } if judged.is_empty() => {
            "Never reached: it is not a seed, and none of its neighbours was evaluated.".to_owned()
        }
        Unjudged::NeverReached { judged, .. } => {
            let judged: Vec<String> =
                judged.iter().map(|(name, label)| format!("{name} ({label})")).collect();
            format!(
                "Never reached: it is not a seed, and no decision claimed or proposed it. \
                 Evaluated neighbours: {}.",
                judged.join(", ")
            )
        }
        _ => "The reason is not known to this version of eog.".to_owned(),
    }
}

fn waiting(reason: Reason, stop: Option<StopReason>) -> String {
    let reason = match reason {
        Reason::Seed => "as a seed",
        Reason::Claim => "because it was claimed as a cause",
        Reason::Wake | Reason::LateMessage => "because a neighbour's belief changed",
        Reason::Proposal => "because it was proposed",
        Reason::Page => "because its last decision requested another page",
        Reason::Query => "because its last decision asked a query",
        Reason::Observation => "because of an observation",
        Reason::Settle => "because it has an unread message of a named cause",
        Reason::Check => "because it is next to a named cause",
        Reason::DeadEnd => "because it is an unresolved leaf",
        Reason::Widen => "because it is near an unexplained alert",
        Reason::SecondOpinion => "to re-evaluate a named cause",
    };
    let (end, more) = match stop {
        Some(StopReason::BudgetExhausted { which }) => {
            let budget = words::budget(which);
            (format!("the {budget} was exhausted"), " A larger one may reach it.")
        }
        Some(StopReason::Deadline) => {
            ("the deadline was reached".to_owned(), " The investigation can be resumed.")
        }
        _ => ("the investigation was stopped".to_owned(), ""),
    };
    format!("It was waiting to be evaluated, {reason}, when {end}.{more}")
}
