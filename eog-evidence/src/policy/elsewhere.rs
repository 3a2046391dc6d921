//! Origins that were found elsewhere, of which a second look tells, and whether they are behind what is to be explained here.

use eog_core::contract::NamedOrigin;
use eog_core::incident::Onset;
use eog_core::{Belief, EntityId, Label};

use super::facts::Facts;
use super::rule::Nature;
use super::rules::nature_of;
use super::times::{Delay, before, first_of, surely_before};
use crate::effect_map::ABOUT_AS_NEAR;

/// Whether a second look tells of other origins.
pub(super) fn tells_of_others(facts: &Facts<'_>) -> bool {
    facts.notice.is_some_and(|notice| !notice.others.is_empty())
}

/// Another origin, of whom a second look tells, that fails by itself, not surely after what is to be explained here: it needs
/// no further cause, and one that is seen to fail is simpler than two of which one merely was changed. `since` is
/// when the harm began, where that was measured; else it did when alerts fired. `changed` is when the change was made that is
/// weighed, if one is.
pub(super) fn fails_by_itself_elsewhere<'a>(
    since: Option<Onset>,
    changed: Option<&Onset>,
    facts: &Facts<'a>,
) -> Option<&'a EntityId> {
    let others = facts.notice.map_or(&[][..], |notice| notice.others.as_slice());
    let is_late = |begun| begins_late(begun, since, facts);
    let mut others = others.iter().filter(|other| {
        nature_of(other.rule.as_deref()).is_by_itself() && !other.since.is_some_and(is_late)
    });
    others.next().map(|other| &other.entity).or_else(|| fails_at_hand(since, changed, facts))
}

/// An origin that ran out, fell, takes up what others rest on or sends more than ever, not surely after what is to be explained here: one that
/// explains no alert so far although it can, or a neighbour that says itself that it explains the entity. Whom the entity's own
/// effects can reach may fail by what was `changed` here, unless it did so before.
fn fails_at_hand<'a>(
    since: Option<Onset>,
    changed: Option<&Onset>,
    facts: &Facts<'a>,
) -> Option<&'a EntityId> {
    let is_effect = |sender: &EntityId, began: Option<Onset>| {
        let is_before = |made| began.is_some_and(|began| surely_before(&began, made));
        changed.is_some_and(|made| facts.affects(sender) && !is_before(made))
    };
    let claims_me = |sender: &EntityId, belief: &Belief| {
        belief.label == Label::Origin
            && nature_of(belief.rule.as_deref()).fails_or_takes()
            && facts.says(sender, sender, facts.entity)
            && !belief.since.is_some_and(|began| begins_late(began, since, facts))
            && !is_effect(sender, belief.since)
    };
    let mut messages = facts.packet.inbox.iter();
    let claimant = messages.find(|message| claims_me(&message.sender, &message.belief));
    let claimant = claimant.map(|message| &message.sender);
    // Where neither harm nor an alert here is dated, the change is.
    let undated = changed.copied().filter(|_| first_alert(facts).is_none());
    let mut others = unlinked(Nature::fails_or_takes, since.or(undated), facts);
    claimant
        .or_else(|| others.find(|(other, began)| !is_effect(other, *began)).map(|(other, _)| other))
}

/// Origins of some natures that explain no alert so far although they can, not surely after what is to be explained here,
/// each with when it began.
pub(super) fn unlinked<'a>(
    is_wanted: impl Fn(Nature) -> bool,
    since: Option<Onset>,
    facts: &Facts<'a>,
) -> impl Iterator<Item = (&'a EntityId, Option<Onset>)> {
    let unlinked = facts.notice.map_or(&[][..], |notice| notice.unlinked.as_slice());
    unlinked.iter().filter_map(move |other| {
        let nature = nature_of(other.rule.as_deref());
        let is_joined = || match nature {
            Nature::Stated => !other.since.is_some_and(|begun| begins_late(begun, since, facts)),
            _ => is_near(other, since, facts),
        };
        (is_wanted(nature) && is_joined()).then_some((&other.entity, other.since))
    })
}

/// Who is seen to fail, where the entity is an origin only since nobody else is known, or by what its callers feel.
pub(super) fn found_instead<'a>(nature: Nature, facts: &Facts<'a>) -> Option<&'a EntityId> {
    let is_inferred = matches!(nature, Nature::Inferred | Nature::Felt);
    let is_known = facts.is_stated() || facts.is_injected();
    if is_inferred && !is_known { fails_at_hand(facts.harm_since(), None, facts) } else { None }
}

/// Whether something surely began after what is to be explained here: after the harm, where `since` tells when that was
/// measured to begin, else after the first alert here.
pub(super) fn begins_late(begun: Onset, since: Option<Onset>, facts: &Facts<'_>) -> bool {
    let harm = since.or_else(|| first_alert(facts));
    harm.is_some_and(|harm| surely_before(&harm, &begun))
}

/// Whether something began not surely after what is to be explained here and at most ten minutes before, and was seen until at
/// most five minutes before. Not known to be so if nothing here is dated.
fn is_near(other: &NamedOrigin, since: Option<Onset>, facts: &Facts<'_>) -> bool {
    let Some(told) = first_alert(facts).or(since) else { return false };
    let is_timely = |begun: Onset| {
        !Delay::to(&begun, since, told.earliest()).is_long() && !begins_late(begun, since, facts)
    };
    let harm = since.unwrap_or(told).earliest();
    other.since.is_some_and(is_timely)
        && other.until.is_none_or(|until| until >= before(harm, ABOUT_AS_NEAR))
}

fn first_alert(facts: &Facts<'_>) -> Option<Onset> {
    first_of(facts.packet.anomalies.iter().map(|anomaly| Onset::at(anomaly.onset)))
}
