//! An entity that was judged before, and of which nothing new is said.

use eog_core::belief::Belief;
use eog_core::contract::NoticeReason;
use eog_core::{Claim, ContextPacket, Decision, EntityId, EvidenceKind, Label};

/// What was believed before, where all that is new agrees with it.
pub(super) fn agrees(packet: &ContextPacket) -> Option<Decision> {
    let former = packet.former.as_ref()?;
    let is_news = !former.heard.is_empty();
    (is_news && former.heard.iter().all(|it| agrees_with(packet, &former.belief, it)))
        .then(|| again(&former.belief))
}

/// The former answer to a question that is put a second time, if nothing new is known since. Where a search
/// ends, it is put to find what was overlooked, at least once. A second opinion on the same evidence, with
/// nobody else to compare with, is the first one.
pub(super) fn asked_again(packet: &ContextPacket) -> Option<Decision> {
    let notice = packet.notice.as_ref()?;
    let former = packet.former.as_ref()?;
    let is_same = match notice.reason {
        NoticeReason::DeadEnd => notice.count > 1,
        NoticeReason::SecondOpinion => former.heard.is_empty() && notice.rivals.is_empty(),
    };
    (is_same && former.heard.iter().all(|it| agrees_with(packet, &former.belief, it)))
        .then(|| again(&former.belief))
}

/// Whether a message says nothing that the belief does not hold: its sender cannot tell, or shows the
/// change that makes it the origin which the belief names, or claims of the entity what that claims
/// itself. An origin that only failed does not agree: its failure may be an effect of what is known here.
fn agrees_with(packet: &ContextPacket, belief: &Belief, sender: &EntityId) -> bool {
    let Some(said) = packet.message_from(sender) else { return false };
    let is_named = belief.claims.iter().any(|it| it.cause == *sender && it.effect == packet.entity);
    let shows_change = packet.quoted.iter().any(|finding| {
        finding.kind == EvidenceKind::Change
            && finding.entity == *sender
            && said.evidence.contains(finding.id())
    });
    let is_origin = said.label == Label::Origin && shows_change;
    belief.label == Label::Symptom && is_named && is_origin
        || says_the_same(packet, belief, said)
        || says_nothing(said)
}

/// Whether a symptom claims something of the entity, and nothing that the entity does not claim.
fn says_the_same(packet: &ContextPacket, belief: &Belief, said: &Belief) -> bool {
    let touches = |claim: &&Claim| [&claim.cause, &claim.effect].contains(&&packet.entity);
    let is_held = |claim: &Claim| belief.claims.iter().any(|own| own.edge() == claim.edge());
    let mut of_it = said.claims.iter().filter(touches).peekable();
    said.label == Label::Symptom && of_it.peek().is_some() && of_it.all(is_held)
}

fn says_nothing(belief: &Belief) -> bool {
    belief.label == Label::Defer && belief.claims.is_empty() && belief.evidence.is_empty()
}

/// A belief as a decision, without what led to it: it looks nowhere anew.
fn again(belief: &Belief) -> Decision {
    let Belief { label, summary, evidence, claims, since, explains, .. } = belief.clone();
    let rule = Some("as before".to_owned());
    Decision { evidence, claims, since, explains, rule, ..Decision::new(label, summary) }
}
