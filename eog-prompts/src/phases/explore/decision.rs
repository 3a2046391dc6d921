//! From an answer without problems to a decision.

use eog_core::contract::{Alternative, EvidenceQuery};
use eog_core::incident::Direction;
use eog_core::{Claim, Decision, EntityId, EvidenceId, Label, Proposal};

use super::grounding::Grounding;
use super::refused::with_doubts;
use super::subject::Subject;
use super::unasked::PASSES_ON;
use super::{ExploreAlternative, ExploreAnswer, ExploreInput};

/// Longest reasons, in characters. They are sent to neighbours, again and again.
const MAX_BECAUSE_CHARS: usize = 600;

/// Longest text to search for, in characters.
const MAX_SEARCHED_CHARS: usize = 120;

/// Most alternatives of one judgement; further ones are left out.
const MAX_ALTERNATIVES: usize = 3;

/// Longest condition, observation or reason of a proposal, in characters.
const MAX_PART_CHARS: usize = 240;

impl ExploreInput {
    /// The decision for an answer. If the answer has problems, what cannot be mapped is left out.
    pub fn decision(&self, answer: &ExploreAnswer) -> Decision {
        let subject = self.subject();
        let because = without_numbers(&answer.because);
        let summary = whole_sentences(&because, MAX_BECAUSE_CHARS);
        let Grounding { doubts, discounted, .. } = Grounding::of(subject, answer);
        let mut decision = Decision::new(answer.label, with_doubts(&summary, &doubts));
        decision.next_page = answer.next_page;
        decision.query = answer.search.first().and_then(|search| {
            let (entity, kind) =
                (subject.resolve(&search.entity).ok()?.clone(), search.kind.into());
            let text = search.text.trim().chars().take(MAX_SEARCHED_CHARS).collect();
            Some(Box::new(EvidenceQuery { entity, kind, text }))
        });
        let counted = |numbers: &[u32]| -> Vec<EvidenceId> {
            let counted = numbers.iter().copied().filter(|number| !discounted.contains(number));
            ids(subject, &counted.collect::<Vec<u32>>())
        };
        decision.evidence = counted(&answer.evidence);
        decision.claims = claims(subject, answer, |numbers| match counted(numbers) {
            counted if counted.is_empty() => decision.evidence.clone(),
            counted => counted,
        });
        for proposal in &answer.proposals {
            let Ok(entity) = subject.resolve(&proposal.entity) else { continue };
            decision.proposals.push(Proposal {
                entity: entity.clone(),
                direction: direction(subject, entity),
                reason: whole_sentences(&proposal.reason, MAX_PART_CHARS),
            });
        }
        let alternatives = answer.other_causes.iter().take(MAX_ALTERNATIVES);
        decision.alternatives = alternatives.map(|other| alternative(subject, other)).collect();
        decision
    }
}

/// Another explanation. A cause that is no entity, such as an outside system, stays as text.
fn alternative(subject: &Subject, other: &ExploreAlternative) -> Alternative {
    let cause = subject.resolve(&other.cause).ok().cloned();
    let mechanism = without_numbers(&other.mechanism);
    let summary = match &cause {
        Some(_) => mechanism,
        None => format!("{}: {mechanism}", other.cause.trim()),
    };
    let is_own = cause.as_ref() == Some(&subject.entity);
    Alternative {
        label: if is_own { Label::Origin } else { Label::Symptom },
        rule: None,
        cause: cause.filter(|_| !is_own),
        summary: whole_sentences(&summary, MAX_PART_CHARS),
        lost: whole_sentences(&without_numbers(&other.objection), MAX_PART_CHARS),
        evidence: Vec::new(),
    }
}

/// A text without numbers of evidence, such as ` [3]`, `[1][2, 4]`: they count what this question showed, and mean something
/// else wherever the text is read. A blank before them goes as well.
fn without_numbers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let (before, bracket) = rest.split_at(at);
        let inner = bracket.get(1..).unwrap_or_default();
        let close = inner.find(']').filter(|close| {
            let inner = inner.get(..*close).unwrap_or_default();
            let is_listed = |c: char| c.is_ascii_digit() || c == ',' || c == ' ';
            inner.starts_with(|c: char| c.is_ascii_digit()) && inner.chars().all(is_listed)
        });
        match close {
            // A text that begins with one, or a name such as `queue[3]`, is no citation.
            Some(close) if is_citation(kept.as_str(), before) => {
                kept.push_str(before.strip_suffix(' ').unwrap_or(before));
                rest = without_joint(&inner[close + 1..]);
            }
            Some(_) | None => {
                kept.push_str(before);
                kept.push('[');
                rest = inner;
            }
        }
    }
    kept + rest
}

/// What follows a citation, without what joins it to a further one: `[1] to [4]`, `[1], [2]`, `[1]-[4]`.
fn without_joint(rest: &str) -> &str {
    const JOINTS: [&str; 8] = ["-", "–", ", ", " - ", " – ", " to ", " and ", " or "];
    let is_number = |text: &str| {
        text.strip_prefix('[').is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()))
    };
    let after = JOINTS.iter().filter_map(|joint| rest.strip_prefix(joint));
    after.into_iter().find(|after| is_number(after)).unwrap_or(rest)
}

/// Whether a number in brackets cites evidence: it does not begin the text, and is no index of a name as in `queue[3]`.
fn is_citation(kept: &str, before: &str) -> bool {
    let is_first = kept.is_empty() && before.is_empty();
    !is_first && !before.ends_with(char::is_alphabetic)
}

/// The claims of an answer. One that joins the entity with the far end of a route is made hop by hop,
/// except where another one speaks of the same two.
fn claims(
    subject: &Subject,
    answer: &ExploreAnswer,
    counted: impl Fn(&[u32]) -> Vec<EvidenceId>,
) -> Vec<Claim> {
    let (mut claims, mut far): (Vec<Claim>, Vec<Claim>) = (Vec::new(), Vec::new());
    for claim in &answer.claims {
        let (Ok((cause, outside)), Ok(effect)) =
            (subject.cause(claim), subject.resolve(&claim.effect))
        else {
            continue;
        };
        let [condition, observed] = [&claim.condition, &claim.observed]
            .map(|text| whole_sentences(&without_numbers(text), MAX_PART_CHARS));
        let (condition, observed) = (condition.as_str(), observed.as_str());
        let evidence = counted(&claim.evidence);
        let Some((route, hops)) = subject.way(&claim.evidence, &cause, effect) else {
            let claim = Claim::new(&cause, effect, condition, observed).citing_ids(&evidence);
            claims.push(Claim { outside, ..claim });
            continue;
        };
        let last = hops.len().saturating_sub(2);
        for (position, hop) in hops.windows(2).enumerate() {
            // What the claim says of its two ends is not so of those between them.
            let condition = match position {
                0 => condition.to_owned(),
                _ => whole_sentences(&format!("{PASSES_ON}{condition}"), MAX_PART_CHARS),
            };
            let observed = match position == last {
                true => observed.to_owned(),
                false => format!("on the way to {effect}"),
            };
            let own = hop.contains(&subject.entity);
            let others = evidence.iter().filter(|id| own && *id != route);
            let cited = std::iter::once(route).chain(others);
            far.push(Claim::new(&hop[0], &hop[1], &condition, &observed).citing_ids(cited));
        }
    }
    for hop in far {
        if claims.iter().all(|claim| claim.edge() != hop.edge()) {
            claims.push(hop);
        }
    }
    claims
}

/// A text of at most so many characters: of a longer one the sentences that fit, else its beginning up
/// to a word.
fn whole_sentences(text: &str, limit: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    // With room for the mark of a cut.
    let end = text.char_indices().nth(limit.saturating_sub(2)).map_or(text.len(), |(at, _)| at);
    let (start, _) = text.split_at(end);
    let sentence = start.rfind(". ").map(|at| at + 1);
    // A short first sentence would leave out too much.
    if let Some(at) = sentence.filter(|at| *at >= end / 2) {
        return format!("{} …", start.get(..at).unwrap_or(start));
    }
    let word = start.rfind(char::is_whitespace).unwrap_or(end);
    format!("{}…", start.get(..word).unwrap_or(start).trim_end())
}

/// The ids of numbers, each once.
fn ids(subject: &Subject, numbers: &[u32]) -> Vec<EvidenceId> {
    let mut ids: Vec<EvidenceId> = Vec::new();
    for citable in numbers.iter().filter_map(|number| subject.get(*number)) {
        if !ids.contains(&citable.id) {
            ids.push(citable.id.clone());
        }
    }
    ids
}

/// Where a neighbour is declared to stand; of others that is not known.
fn direction(subject: &Subject, entity: &EntityId) -> Direction {
    let declared = subject.neighbours.iter().find(|neighbour| neighbour.entity == *entity);
    declared.map_or(Direction::Both, |neighbour| neighbour.direction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_evidence_are_no_part_of_what_others_read() {
        for (text, plain) in [
            ("Rose [3], then fell [1] [2, 4].", "Rose, then fell."),
            ("[1] at the start stays", "[1] at the start stays"),
            ("queue[3] and [a] and [] and [1", "queue[3] and [a] and [] and [1"),
            ("last [12]", "last"),
            ("the accounts [1]-[5] were gone", "the accounts were gone"),
            (
                "others [4] to [9] add nothing, as [2], [3] and [7] say",
                "others add nothing, as say",
            ),
            ("at 13:01:15[22] and steady [7][8].", "at 13:01:15 and steady."),
        ] {
            assert_eq!(without_numbers(text), plain);
        }
    }

    #[test]
    fn long_texts_end_with_a_sentence_or_a_word() {
        assert_eq!(whole_sentences(" It fits. ", 8), "It fits.");
        assert_eq!(whole_sentences("One is kept. Two is not kept.", 20), "One is kept. …");
        assert_eq!(whole_sentences("No. The second one is far too long.", 20), "No. The second…");
        assert_eq!(whole_sentences("äöüßäöüß", 6), "äöüß…");
    }
}
