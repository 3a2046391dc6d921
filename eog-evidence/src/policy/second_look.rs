//! What a second look at an entity changes.

use eog_core::contract::NoticeReason;
use eog_core::{EntityId, EvidenceKind, Label};

use super::explanation::{Explanation, Standing};
use super::facts::Facts;
use super::weigh::Weighed;

/// The place of the explanation to take: the best one, but at a dead end the best one that leads
/// elsewhere than what would be taken without it; at the second dead end the one after that.
///
/// Who turned out to be an origin since is no dead end any more.
pub(super) fn taken(all: &[Weighed], facts: &Facts<'_>) -> usize {
    let Some(notice) = facts.notice else { return 0 };
    if notice.reason != NoticeReason::DeadEnd {
        return 0;
    }
    let before = Weighed::all(&Facts { notice: None, ..facts.clone() });
    let mut tried: Vec<Vec<&EntityId>> = Vec::new();
    if let Some(first) = before.first().filter(|first| leads(first)) {
        let causes = first.explanation.causes(facts.entity);
        if causes.iter().any(|cause| facts.label_of(cause) == Some(Label::Origin)) {
            return 0;
        }
        tried.push(causes);
    }
    // Each dead end takes what the one before would have taken for tried.
    for look in 1..=notice.count.max(1) {
        let mut open = all.iter().enumerate().filter(|(_, one)| leads(one));
        let next = open.find(|(_, one)| !tried.contains(&one.explanation.causes(facts.entity)));
        let Some((place, one)) = next else { return 0 };
        if look == notice.count.max(1) {
            return place;
        }
        tried.push(one.explanation.causes(facts.entity));
    }
    0
}

/// Whether an explanation says where a cause lies.
fn leads(weighed: &Weighed) -> bool {
    weighed.explanation.standing > Standing::Unexplained
}

/// Whether, at a second opinion, an explanation names a rival that cites a change, while the entity
/// has none that was made in time.
pub(super) fn yields_to_a_rival(explanation: &Explanation, facts: &Facts<'_>) -> bool {
    let Some(notice) = facts.notice else { return false };
    let is_changed = |rival: &EntityId| {
        facts.message(rival).is_some_and(|belief| {
            belief.label == Label::Origin
                && belief.evidence.iter().any(|id| id.kind() == EvidenceKind::Change)
        })
    };
    notice.reason == NoticeReason::SecondOpinion
        && !facts.has_timely_change()
        && explanation
            .causes(facts.entity)
            .iter()
            .any(|cause| notice.rivals.contains(cause) && is_changed(cause))
}
