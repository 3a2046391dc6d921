//! Refuses single claims and proposals of an answer, so that a bad one does not cost the judgement.

use eog_evidence::shorten;

use super::ExploreAnswer;
use super::grounding::Grounding;
use super::subject::Subject;

/// Longest account of what was refused, in characters. It is sent to neighbours.
const MAX_ACCOUNT_CHARS: usize = 240;

/// Longest reason of one refusal, in characters: the start of a problem names the place.
const MAX_REASON_CHARS: usize = 80;

/// The answer without the claims and proposals that have problems of their own; `because` says
/// which, and why. Nothing if none has.
pub(super) fn without_refused(subject: &Subject, answer: &ExploreAnswer) -> Option<ExploreAnswer> {
    let all = Grounding::of(subject, answer).refusals;
    let refused: Vec<String> = all
        .iter()
        .filter(|problem| is_of_part(problem))
        .map(|problem| shorten(problem, MAX_REASON_CHARS))
        .collect();
    if refused.is_empty() {
        return None;
    }
    let is_sound = |part: &str, index: usize| {
        let place = format!("{part} {}", index + 1);
        !all.iter().any(|problem| at_place(problem, &place))
    };
    let mut kept = answer.clone();
    let claims = answer.claims.iter().enumerate();
    kept.claims =
        claims.filter(|(at, _)| is_sound("claim", *at)).map(|(_, it)| it.clone()).collect();
    let proposals = answer.proposals.iter().enumerate();
    kept.proposals =
        proposals.filter(|(at, _)| is_sound("proposal", *at)).map(|(_, it)| it.clone()).collect();
    if !Grounding::of(subject, &kept).refusals.is_empty() {
        return None;
    }
    let account = shorten(&refused.join("; "), MAX_ACCOUNT_CHARS);
    kept.because = format!("{}{REFUSED}{account}]", kept.because.trim());
    Some(kept)
}

/// What stands between a judgement and the account of what was refused of it.
const REFUSED: &str = " [refused: ";

/// What stands between a judgement and why it is less certain.
const DOUBTS: &str = " [doubts: ";

/// A judgement and why it is less certain.
pub(super) fn with_doubts(because: &str, doubts: &[String]) -> String {
    match doubts {
        [] => because.to_owned(),
        _ => format!("{because}{DOUBTS}{}]", shorten(&doubts.join("; "), MAX_ACCOUNT_CHARS)),
    }
}

/// A judgement without the account of what was refused or doubted of it, which is for readers of the result.
pub(super) fn without_account(because: &str) -> &str {
    let ends = [REFUSED, DOUBTS].into_iter().filter_map(|account| because.find(account));
    ends.min().and_then(|end| because.get(..end)).unwrap_or(because)
}

fn is_of_part(problem: &str) -> bool {
    ["claim ", "proposal "].iter().any(|part| problem.starts_with(part))
}

/// Whether a problem is one of a single proposal.
pub(super) fn is_of_proposal(problem: &str) -> bool {
    problem.starts_with("proposal ")
}

/// Whether a problem is one of this place: `claim 1` is not a place of `claim 12`.
fn at_place(problem: &str, place: &str) -> bool {
    let rest = problem.strip_prefix(place);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}
