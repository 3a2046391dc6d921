//! What becomes of an answer: what is not grounded (an unknown number or name, nothing cited, an impossible time) is
//! refused, and a correction can mend it; all else is accepted. What weakens an accepted answer is a doubt: the decision
//! states it, and a change that is in doubt does not count, so that the controller cannot call its origin confirmed.

use std::collections::BTreeSet;

use eog_core::evidence::Signal;
use eog_core::incident::to_the_second;
use eog_core::{EntityId, EvidenceKind, Label, Timestamp};

use super::subject::{Facts, Subject};
use super::{ExploreAnswer, ExploreClaim};
use crate::phases::lines::label_word;

/// Most proposals of one judgement.
const MAX_PROPOSALS: usize = 2;

/// Most claims of one judgement.
const MAX_CLAIMS: usize = 6;

/// Measurements lag behind what they measure, and are taken at intervals: what begins up to this
/// many seconds before a change may still follow from it.
const SLACK_SECONDS: i64 = 60;

/// What the checks say of an answer.
#[derive(Debug, Default)]
pub(super) struct Grounding {
    /// What is not grounded, each with what to do about it. An answer without any is accepted.
    pub(super) refusals: Vec<String>,
    /// Why an accepted answer is less certain.
    pub(super) doubts: Vec<String>,
    /// Cited changes that are no causes: restarts, and experiments that nothing cited shows to have run.
    pub(super) discounted: BTreeSet<u32>,
}

impl Grounding {
    pub(super) fn of(subject: &Subject, answer: &ExploreAnswer) -> Self {
        let mut grounding = Self::default();
        let refusals = &mut grounding.refusals;
        text("because", &answer.because, refusals);
        if !answer.search.is_empty() {
            search(subject, answer, refusals);
            return grounding;
        }
        if answer.next_page {
            if subject.pages_left == 0 {
                refusals.push("there is no further page; judge by what is shown".to_owned());
            }
            return grounding;
        }
        numbers("evidence", &answer.evidence, subject, refusals);
        label(subject, answer, refusals);
        claims(subject, answer, refusals);
        proposals(subject, answer, refusals);
        let entity = subject.entity.as_str();
        let is_explained = answer.claims.iter().any(|claim| claim.effect == entity);
        match answer.label {
            Label::Origin => {
                origin(subject, answer, &mut grounding);
                if is_explained {
                    grounding.doubts.push("it also claims a cause of its own harm".to_owned());
                }
            }
            Label::Symptom
                if !is_explained && !subject.is_explained && answer.proposals.is_empty() =>
            {
                grounding.doubts.push("it names no cause, and nowhere to look for one".to_owned());
            }
            Label::Symptom | Label::Healthy | Label::Defer => {}
        }
        grounding
    }
}

/// A text that is too long is cut, and costs no request.
fn text(field: &str, text: &str, problems: &mut Vec<String>) {
    if text.trim().is_empty() {
        problems.push(format!("{field} is empty"));
    }
}

fn numbers(field: &str, cited: &[u32], subject: &Subject, problems: &mut Vec<String>) {
    let unknown: Vec<u32> =
        cited.iter().copied().filter(|number| subject.get(*number).is_none()).collect();
    if !unknown.is_empty() {
        let listed = match subject.cited.len() {
            0 => "no evidence is listed".to_owned(),
            last => format!("evidence is listed as 1 to {last}"),
        };
        problems.push(format!("{field}: no evidence has the number {}; {listed}", list(&unknown)));
    }
}

fn label(subject: &Subject, answer: &ExploreAnswer, problems: &mut Vec<String>) {
    let word = label_word(answer.label);
    let cites = |numbers: &[u32]| numbers.iter().any(|number| subject.get(*number).is_some());
    let cites = cites(&answer.evidence) || answer.claims.iter().any(|claim| cites(&claim.evidence));
    if answer.label == Label::Defer || answer.label == Label::Healthy && subject.is_watched {
        // What is not there, and that nothing stands out, have no numbers.
    } else if subject.cited.is_empty() {
        problems.push(format!("no evidence is listed, so {word} has no ground; say defer"));
    } else if !cites && answer.label == Label::Healthy {
        problems.push(
            "healthy cites nothing, and no metrics, logs or spans were recorded of it, so its silence \
             tells nothing; give the numbers that show it works, or say defer"
                .to_owned(),
        );
    } else if !cites {
        problems.push(format!("{word} cites nothing; give the numbers it rests on"));
    }
}

fn claims(subject: &Subject, answer: &ExploreAnswer, problems: &mut Vec<String>) {
    if answer.claims.len() > MAX_CLAIMS {
        let (many, most) = (answer.claims.len(), MAX_CLAIMS);
        problems.push(format!("{many} claims; at most {most} are allowed, give the strongest"));
    }
    for (index, claim) in answer.claims.iter().enumerate().take(MAX_CLAIMS) {
        let place = format!("claim {}", index + 1);
        if answer.label == Label::Healthy {
            problems.push(format!("{place}: what works as usual neither harms nor is harmed"));
            continue;
        }
        for (field, value) in [("condition", &claim.condition), ("observed", &claim.observed)] {
            text(&format!("{place}, {field}"), value, problems);
        }
        if claim.evidence.is_empty() {
            problems.push(format!("{place} cites nothing; give at least one number"));
        }
        numbers(&place, &claim.evidence, subject, problems);
        let cause = subject.cause(claim).map(|(cause, _)| cause);
        let effect = subject.resolve(&claim.effect);
        let faults = [("cause", cause.as_ref().err()), ("effect", effect.as_ref().err())];
        for (field, problem) in faults {
            problems.extend(problem.map(|problem| format!("{place}, {field}: {problem}")));
        }
        let (Ok(cause), Ok(effect)) = (cause, effect) else { continue };
        if !subject.leads(&claim.evidence, &cause, effect) {
            between(subject, &place, &cause, effect, problems);
        }
        if cause == subject.entity {
            in_time(subject, &place, claim, problems);
        }
    }
}

fn between(
    subject: &Subject,
    place: &str,
    cause: &EntityId,
    effect: &EntityId,
    problems: &mut Vec<String>,
) {
    let entity = &subject.entity;
    if cause == effect {
        problems.push(format!("{place}: {cause} cannot explain itself"));
    } else if cause != entity && effect != entity {
        problems.push(format!(
            "{place} is about {cause} and {effect}; one of the two must be {entity}, or \
             both must follow each other on a route that it cites"
        ));
    }
}

/// A claim that rests on an own change must not explain by it what was there before.
fn in_time(subject: &Subject, place: &str, claim: &ExploreClaim, problems: &mut Vec<String>) {
    let own = subject.own(claim.evidence.iter().copied());
    let change = own.iter().filter(|(_, facts)| facts.is_change());
    let Some((number, change)) = change.min_by_key(|(_, facts)| facts.start()) else { return };
    let earlier = harm_before(*change, &own);
    if !earlier.is_empty() {
        problems.push(format!(
            "{place}: the change [{number}] at {} came after {} began, so it cannot explain it",
            to_the_second(change.start()),
            list(&earlier),
        ));
    }
}

/// An origin rests on evidence of its own, and its change, if it cites one, comes before some alert.
fn origin(subject: &Subject, answer: &ExploreAnswer, grounding: &mut Grounding) {
    let claimed = answer.claims.iter().flat_map(|claim| &claim.evidence);
    let numbers: BTreeSet<u32> = answer.evidence.iter().chain(claimed).copied().collect();
    let ran = numbers.iter().any(|number| subject.get(*number).is_some_and(|cited| cited.is_run));
    let is_discounted = |facts: &Facts| match facts.signal {
        Signal::Restart => facts.kind == EvidenceKind::Change,
        Signal::Experiment => facts.is_change() && !ran,
        _ => false,
    };
    let cites_file = numbers
        .iter()
        .any(|number| subject.get(*number).is_some_and(|cited| cited.is_in_case_file));
    let (discounted, own): (Vec<_>, Vec<_>) =
        subject.own(numbers).into_iter().partition(|(_, facts)| is_discounted(facts));
    let Grounding { refusals, doubts, .. } = grounding;
    if own.is_empty() && discounted.is_empty() && cites_file {
        doubts.push("it cites evidence of other entities alone".to_owned());
    } else if own.is_empty() {
        refusals.push(origin_without_evidence(subject, is_discounted));
    }
    for (_, facts) in &discounted {
        let at = to_the_second(facts.start());
        doubts.push(match facts.signal {
            Signal::Restart => {
                format!("the restart at {at} is an effect and does not count as a cause")
            }
            _ => format!(
                "the experiment defined at {at} does not count: nothing cited shows that it ran"
            ),
        });
    }
    let changes = own.iter().filter(|(_, facts)| facts.is_change());
    if let Some((number, first)) = changes.min_by_key(|(_, facts)| facts.start()) {
        let at = to_the_second(first.start());
        if !harm_before(*first, &own).is_empty() {
            doubts.push(format!("harm that it cites began before its change at {at}"));
        }
        if subject.last_onset.is_some_and(|last| seconds(last, first.start()) > SLACK_SECONDS) {
            refusals.push(format!(
                "the change [{number}] at {at} came after every alert and explains none"
            ));
        }
    } else if !own.iter().any(|(_, facts)| facts.is_failure()) {
        doubts.push(
            "it cites neither a change nor a hard failure: no record shows its cause".to_owned(),
        );
    }
    grounding.discounted = discounted.into_iter().map(|(number, _)| number).collect();
}

fn search(subject: &Subject, answer: &ExploreAnswer, problems: &mut Vec<String>) {
    match &answer.search[..] {
        _ if subject.queries_left == 0 => {
            problems.push(
                "no search is left; leave \"search\" empty and judge by what is shown".to_owned(),
            );
        }
        [search] => problems.extend(subject.resolve(&search.entity).err()),
        many => problems.push(format!("{} searches; one at a time is allowed", many.len())),
    }
}

fn origin_without_evidence(subject: &Subject, is_discounted: impl Fn(&Facts) -> bool) -> String {
    let entity = &subject.entity;
    let last = u32::try_from(subject.cited.len()).unwrap_or(u32::MAX);
    let own = subject.own(1..=last).into_iter().filter(|(_, facts)| !is_discounted(facts));
    let own: Vec<u32> = own.map(|(number, _)| number).collect();
    match own.is_empty() {
        true => format!(
            "no evidence of {entity} itself is listed that an origin could rest on; say symptom or defer"
        ),
        false => format!(
            "origin must cite evidence of {entity} itself, and a restart or an experiment that is only defined is not \
             enough; listed are {}",
            list(&own)
        ),
    }
}

/// The harm among evidence that was there before a change.
fn harm_before(change: Facts, own: &[(u32, Facts)]) -> Vec<u32> {
    let before = |(_, facts): &&(u32, Facts)| {
        facts.is_harm() && seconds(facts.start(), change.start()) > SLACK_SECONDS
    };
    own.iter().filter(before).map(|(number, _)| *number).collect()
}

fn seconds(from: Timestamp, to: Timestamp) -> i64 {
    to.as_second() - from.as_second()
}

fn proposals(subject: &Subject, answer: &ExploreAnswer, problems: &mut Vec<String>) {
    let many = answer.proposals.len();
    if many > MAX_PROPOSALS {
        problems.push(format!("{many} proposals; at most {MAX_PROPOSALS} are allowed"));
    }
    let mut seen = BTreeSet::new();
    for (index, proposal) in answer.proposals.iter().enumerate().take(MAX_PROPOSALS) {
        let place = format!("proposal {}", index + 1);
        text(&format!("{place}, reason"), &proposal.reason, problems);
        match subject.resolve(&proposal.entity) {
            Err(problem) => problems.push(format!("{place}: {problem}")),
            Ok(entity) if *entity == subject.entity => {
                problems.push(format!("{place}: {entity} is the entity in question"));
            }
            Ok(entity) if !seen.insert(entity) => {
                problems.push(format!("{place} repeats {entity}"));
            }
            Ok(_) => {}
        }
    }
}

/// Numbers as prompts write them, a dozen at most.
fn list(numbers: &[u32]) -> String {
    const MOST: usize = 12;
    let shown: Vec<String> =
        numbers.iter().take(MOST).map(|number| format!("[{number}]")).collect();
    let more = if numbers.len() > MOST { " …" } else { "" };
    format!("{}{more}", shown.join(" "))
}
