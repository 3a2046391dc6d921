//! What a second look at an entity changes.

use eog_core::contract::NoticeReason;
use eog_core::evidence::{PeerRole, Signal};
use eog_core::incident::Onset;
use eog_core::{Anomaly, Claim, EntityId, EvidenceKind, Finding, Label};

use super::bearable::fills_up;
use super::books::own_part;
use super::explanation::{Explanation, Standing};
use super::facts::Facts;
use super::rules::far_upstream;
use super::times::{made, surely_before};
use super::weigh::Weighed;
use crate::signs::{MORE, is_surge, role, was_far_from_full};

/// The place of the explanation to take: the best one, but at a dead end the best one that leads
/// elsewhere than what would be taken without it; at the second dead end the one after that. What names nobody is
/// passed over.
///
/// Who turned out to be an origin since is no dead end any more.
pub(super) fn taken(all: &[Weighed], facts: &Facts<'_>) -> usize {
    if let Some(place) = still_leads_far(all, facts) {
        return place;
    }
    let looks = facts.dead_ends();
    if looks == 0 {
        return 0;
    }
    let before = Weighed::all(&Facts { notice: None, still_ends: false, ..facts.clone() });
    let mut tried: Vec<Vec<&EntityId>> = Vec::new();
    let is_heard = |cause: &&EntityId| **cause == *facts.entity || facts.message(cause).is_some();
    if let Some(first) = before.first().filter(|first| leads(first, facts)) {
        let causes = first.explanation.causes(facts.entity);
        let is_origin = |cause: &&EntityId| facts.label_of(cause) == Some(Label::Origin);
        // It may rest on what was not known at the first look: then nobody was asked yet.
        if causes.iter().any(is_origin) || !causes.iter().any(is_heard) {
            return 0;
        }
        tried.push(causes);
    }
    // Each dead end takes what the one before would have taken for tried.
    for look in 1..=looks {
        let mut open = all.iter().enumerate().filter(|(_, one)| leads(one, facts));
        let next = open.find(|(_, one)| !tried.contains(&one.explanation.causes(facts.entity)));
        let Some((place, one)) = next else { return 0 };
        let causes = one.explanation.causes(facts.entity);
        // Who was never asked was not tried: what stood before it fell to what others said since.
        if look == looks || !causes.iter().any(is_heard) {
            return place;
        }
        tried.push(causes);
    }
    0
}

/// The place of the explanation that led to an origin far upstream where the search ended before, as long as the best one
/// leads to none. Of several alerts here it may explain some; the others are no reason to give it up.
fn still_leads_far(all: &[Weighed], facts: &Facts<'_>) -> Option<usize> {
    let former = &facts.packet.former.as_ref()?.belief;
    if former.rule.as_deref() != Some(far_upstream::RULE.name) {
        return None;
    }
    let leads_to_origins = |one: &Weighed| {
        let causes = one.explanation.causes(facts.entity);
        let is_origin = |cause: &&EntityId| facts.label_of(cause) == Some(Label::Origin);
        !causes.is_empty() && causes.iter().all(is_origin)
    };
    let first = all.first()?;
    if first.explanation.decision.label != Label::Symptom || leads_to_origins(first) {
        return None;
    }
    let claimed: Vec<&EntityId> = former.claims.iter().map(|claim| &claim.cause).collect();
    let is_same = |one: &Weighed| {
        one.rule == far_upstream::RULE.name && one.explanation.causes(facts.entity) == claimed
    };
    all.iter().position(|one| is_same(one) && leads_to_origins(one) && leads(one, facts))
}

/// Whether a second opinion is asked of what was found where the search ended, and for good reason: what an alert here
/// tells of is measured here, or a resource ran full, and nothing else has come up since. Where more is asked of the entity, be it
/// tried again, it need not have begun here.
pub(super) fn still_ends(all: &[Weighed], facts: &Facts<'_>) -> bool {
    let former = facts.packet.former.as_ref();
    let is_second = facts.notice.is_some_and(|notice| notice.reason == NoticeReason::SecondOpinion);
    is_second
        && former.is_some_and(|former| former.belief.label == Label::Origin)
        && (facts.packet.anomalies.iter().any(|anomaly| is_measured(anomaly, facts))
            || facts.harms.iter().any(|harm| ran_full(harm)))
        && !facts.findings().iter().any(is_surge)
        && !all.iter().any(|one| leads(one, facts))
}

/// Whether what an alert tells of was measured to begin here, and is at least half more than usual.
fn is_measured(anomaly: &Anomaly, facts: &Facts<'_>) -> bool {
    let is_much = |harm: &Finding| {
        let quantity = harm.quantity.as_ref();
        quantity.is_some_and(|now| now.baseline.is_some_and(|usual| now.observed >= MORE * usual))
    };
    facts.harms.iter().any(|harm| {
        harm.signal == anomaly.signal
            && matches!(harm.kind, EvidenceKind::Metric | EvidenceKind::Span)
            && role(harm) != Some(PeerRole::Callee)
            && harm.onset.is_some()
            && is_much(harm)
    })
}

/// Whether a resource of the entity itself, far from full before, is nearly full.
fn ran_full(harm: &Finding) -> bool {
    harm.onset.is_some() && fills_up(harm) && was_far_from_full(harm)
}

/// Whether an explanation says where a cause lies, or that it does not lie here.
fn leads(weighed: &Weighed, facts: &Facts<'_>) -> bool {
    weighed.explanation.standing > Standing::Unexplained && !names_nobody(weighed, facts)
}

/// Whether an explanation puts the judgement off without anybody to ask.
fn names_nobody(weighed: &Weighed, facts: &Facts<'_>) -> bool {
    let explanation = &weighed.explanation;
    explanation.decision.label == Label::Defer && explanation.causes(facts.entity).is_empty()
}

/// Whether an explanation leads to a rival that came first: one cause explains both then, and what was changed here is one
/// more cause for the same. A rival comes first when it cites a change and this entity has none that was made in time, or
/// when it began before all that was changed here in time. That is weighed at a second opinion, when rivals are known.
///
/// An entity of which no more is known than that something waits there, such as a queue, yields to whatever explains a
/// neighbour, and at any time to what began no later than the waiting.
pub(super) fn yields_to_a_rival(explanation: &Explanation, facts: &Facts<'_>) -> bool {
    let notice = facts.notice.filter(|notice| notice.reason == NoticeReason::SecondOpinion);
    // Of what is known to wait alone, whatever keeps a neighbour from taking it is the simpler explanation.
    let no_account = own_part(facts).is_none()
        && facts
            .harms
            .iter()
            .all(|harm| harm.kind == EvidenceKind::Alert || harm.signal == Signal::Saturation);
    let mut others =
        explanation.causes(facts.entity).into_iter().filter(|cause| *cause != facts.entity);
    let Some(notice) = notice else {
        let since = facts.harm_since().filter(|_| no_account);
        let by_then = |begun: Onset| since.is_some_and(|since| !surely_before(&since, &begun));
        return others
            .any(|cause| behind(cause, facts).any(|claim| claim.cause_since.is_some_and(by_then)));
    };
    let is_changed = |rival: &EntityId| {
        facts.message(rival).is_some_and(|belief| {
            belief.label == Label::Origin
                && belief.evidence.iter().any(|id| id.kind() == EvidenceKind::Change)
        })
    };
    // Of several own changes the nearest before the harm is put forward.
    let own = facts.timely_changes().map(made).max_by_key(Onset::latest);
    let came_first =
        |since: Onset| own.is_some_and(|own: Onset| since.earliest() <= own.earliest());
    let is_rival = |cause: &EntityId| notice.rivals.contains(cause);
    others.any(|cause| {
        if is_rival(cause) && own.is_none() && is_changed(cause) {
            return true;
        }
        let Some(belief) = facts.message(cause) else { return false };
        let by_itself = belief.since.filter(|_| is_rival(cause));
        let behind = behind(cause, facts).filter(|claim| no_account || is_rival(&claim.cause));
        let behind = behind.filter_map(|claim| claim.cause_since);
        by_itself.into_iter().chain(behind).any(|since| no_account || came_first(since))
    })
}

/// What a neighbour says that its own trouble comes from.
fn behind<'a>(cause: &'a EntityId, facts: &Facts<'a>) -> impl Iterator<Item = &'a Claim> {
    let claims = facts.message(cause).map_or(&[][..], |belief| belief.claims.as_slice());
    claims.iter().filter(move |claim| claim.effect == *cause)
}
