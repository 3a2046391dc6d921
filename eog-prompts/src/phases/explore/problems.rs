//! What an answer must not say: the rules of the prompt that can be checked. They follow the checks
//! of the controller, which would refuse or demote what a correction can still mend.

use std::collections::BTreeSet;

use eog_core::evidence::Signal;
use eog_core::incident::to_the_second;
use eog_core::{EntityId, Label, Timestamp};

use super::subject::{Facts, Subject};
use super::{ExploreAnswer, ExploreClaim, Step};
use crate::phases::lines::label_word;

/// Most proposals of one judgement.
const MAX_PROPOSALS: usize = 2;

/// Most claims of one judgement.
const MAX_CLAIMS: usize = 6;

/// Measurements lag behind what they measure, and are taken at intervals: what begins up to this
/// many seconds before a change may still follow from it.
const SLACK_SECONDS: i64 = 60;

pub(super) fn problems(subject: &Subject, answer: &ExploreAnswer) -> Vec<String> {
    let mut problems = Vec::new();
    text("because", &answer.because, &mut problems);
    if answer.next_page {
        if subject.pages_left == 0 {
            problems.push("there is no further page; judge by what is shown".to_owned());
        }
        return problems;
    }
    numbers("evidence", &answer.evidence, subject, &mut problems);
    label(subject, answer, &mut problems);
    claims(subject, answer, &mut problems);
    if answer.label == Label::Origin {
        origin(subject, answer, &mut problems);
    }
    proposals(subject, answer, &mut problems);
    problems
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
        problems.push(format!("no evidence is listed, so {word} cannot be told; say defer"));
    } else if !cites && answer.label == Label::Healthy {
        problems.push(
            "healthy cites nothing, and no metrics, logs or spans were recorded of it, so its silence \
             tells nothing; give the numbers that show it works, or say defer"
                .to_owned(),
        );
    } else if !cites {
        problems.push(format!("{word} cites nothing; give the numbers it rests on"));
    }
    if answer.label == Label::Healthy && !answer.claims.is_empty() {
        problems.push(
            "healthy makes no claims: what works as usual neither harms nor is harmed".to_owned(),
        );
    }
    let entity = subject.entity.as_str();
    let explained = answer.claims.iter().any(|claim| claim.effect == entity);
    let searched = subject.is_explained || !answer.proposals.is_empty();
    if answer.label == Label::Symptom && !explained && !searched {
        problems.push(format!(
            "symptom needs a claim whose effect is {entity}, or a proposal where its cause may be"
        ));
    }
    if answer.label == Label::Origin && explained {
        problems.push(format!(
            "an origin is explained by nothing else: either it is no origin, or the claim whose \
             effect is {entity} is wrong"
        ));
    }
}

fn claims(subject: &Subject, answer: &ExploreAnswer, problems: &mut Vec<String>) {
    if answer.claims.len() > MAX_CLAIMS {
        let (many, most) = (answer.claims.len(), MAX_CLAIMS);
        problems.push(format!("{many} claims; at most {most} are allowed, give the strongest"));
    }
    let mut edges = BTreeSet::new();
    for (index, claim) in answer.claims.iter().enumerate().take(MAX_CLAIMS) {
        let place = format!("claim {}", index + 1);
        for (field, value) in [("condition", &claim.condition), ("observed", &claim.observed)] {
            text(&format!("{place}, {field}"), value, problems);
        }
        if claim.evidence.is_empty() {
            problems.push(format!("{place} cites nothing; give at least one number"));
        }
        numbers(&place, &claim.evidence, subject, problems);
        let ends = [("cause", &claim.cause), ("effect", &claim.effect)].map(|(field, name)| {
            let found = subject.resolve(name);
            if let Err(problem) = &found {
                problems.push(format!("{place}, {field}: {problem}"));
            }
            found.ok()
        });
        let [Some(cause), Some(effect)] = ends else { continue };
        if !subject.leads(&claim.evidence, cause, effect) {
            between(subject, &place, cause, effect, problems);
        }
        if !edges.insert((cause, effect)) {
            problems.push(format!("{place} repeats an earlier claim of {cause} and {effect}"));
        }
        if *cause == subject.entity {
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
    if let Some((number, change)) = change.min_by_key(|(_, facts)| facts.start()) {
        too_late(place, *number, *change, &own, problems);
    }
}

/// An origin needs a change of its own, or at least a failure, that comes before what it explains.
fn origin(subject: &Subject, answer: &ExploreAnswer, problems: &mut Vec<String>) {
    let claimed = answer.claims.iter().flat_map(|claim| &claim.evidence);
    let numbers: BTreeSet<u32> = answer.evidence.iter().chain(claimed).copied().collect();
    let runs = numbers.iter().any(|number| subject.get(*number).is_some_and(|cited| cited.is_run));
    let own = subject.own(numbers);
    let changes: Vec<(u32, Facts)> =
        own.iter().filter(|(_, facts)| facts.is_change()).copied().collect();
    let Some((number, first)) = changes.iter().min_by_key(|(_, facts)| facts.start()).copied()
    else {
        if !own.iter().any(|(_, facts)| facts.is_failure()) {
            problems.push(origin_without_cause(subject));
        }
        return;
    };
    let is_defined = |(_, facts): &(u32, Facts)| facts.signal == Signal::Experiment;
    if changes.iter().all(is_defined) && !runs {
        problems.push(format!(
            "[{number}] says that an experiment was defined, not that it ran; cite an event that \
             says it ran, or say defer"
        ));
    }
    too_late("origin", number, first, &own, problems);
    if subject.last_onset.is_some_and(|last| seconds(last, first.start()) > SLACK_SECONDS) {
        problems.push(format!(
            "the change [{number}] at {} came after every alert and explains none",
            to_the_second(first.start()),
        ));
    }
}

fn origin_without_cause(subject: &Subject) -> String {
    let entity = &subject.entity;
    let last = u32::try_from(subject.cited.len()).unwrap_or(u32::MAX);
    let own = subject.own(1..=last);
    let of = |is: fn(&Facts) -> bool| {
        let found = own.iter().filter(|(_, facts)| is(facts)).map(|(number, _)| *number);
        list(&found.collect::<Vec<u32>>())
    };
    match (of(Facts::is_change), of(Facts::is_failure)) {
        (changes, _) if !changes.is_empty() => {
            format!("origin must cite a change of {entity}: {changes}, if it explains the harm")
        }
        (_, failures) if !failures.is_empty() => format!(
            "origin must cite a change of {entity}, but none is listed; cite its own failure \
             {failures}, if nothing else explains that, or say symptom or defer"
        ),
        _ => format!(
            "nothing that changed or failed in {entity} is listed, so it is no origin; say \
             symptom or defer"
        ),
    }
}

/// Harm that was there before a change is not its effect.
fn too_late(
    place: &str,
    number: u32,
    change: Facts,
    cited: &[(u32, Facts)],
    problems: &mut Vec<String>,
) {
    let before = |(_, facts): &&(u32, Facts)| {
        facts.is_harm() && seconds(facts.start(), change.start()) > SLACK_SECONDS
    };
    let earlier: Vec<u32> = cited.iter().filter(before).map(|(number, _)| *number).collect();
    if !earlier.is_empty() {
        problems.push(format!(
            "{place}: the change [{number}] at {} came after {} began, so it cannot explain it",
            to_the_second(change.start()),
            list(&earlier),
        ));
    }
}

fn seconds(from: Timestamp, to: Timestamp) -> i64 {
    to.as_second() - from.as_second()
}

fn proposals(subject: &Subject, answer: &ExploreAnswer, problems: &mut Vec<String>) {
    let many = answer.proposals.len();
    if many > MAX_PROPOSALS {
        problems.push(format!("{many} proposals; at most {MAX_PROPOSALS} are allowed"));
    }
    if many > 0 && answer.direction == Step::None {
        problems.push("proposals need their direction; all stand in one".to_owned());
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
