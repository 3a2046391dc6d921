//! Questions whose answer is plain from their packet alone. They are not put to a model: it could say
//! nothing else, and each question costs a request.

mod silence;
mod ways;

use eog_core::{ContextPacket, Decision, EvidenceKind, Label};

pub(super) use ways::PASSES_ON;

/// Most findings beside which the next page is shown unasked. Half of a page: what two pages hold
/// then seldom exceeds what one may.
const MAX_BESIDE: usize = 12;

/// The decision that a packet leaves no choice about, if there is one.
pub(crate) fn decision(packet: &ContextPacket) -> Option<Decision> {
    // A model asked for a second opinion, or to find what was overlooked, is to give one.
    if packet.notice.is_some() {
        return None;
    }
    if packet.context.pages_left > 0 {
        return next_page(packet);
    }
    ways::carries(packet).or_else(|| silence::decision(packet))
}

/// The changes and events of dependencies, where there is room for them beside the own findings. Pages
/// once given stay, so that this is asked once, and no limit on pages refuses it.
fn next_page(packet: &ContextPacket) -> Option<Decision> {
    let findings = &packet.context.findings;
    let are_own = findings.iter().all(|finding| finding.entity == packet.entity);
    (are_own && findings.len() <= MAX_BESIDE).then(|| Decision {
        next_page: true,
        ..by_rule(
            "next page",
            Label::Defer,
            "Not judged yet: there is room for the next page beside this one.",
        )
    })
}

/// A decision that names what decided in place of a model.
fn by_rule(rule: &str, label: Label, summary: &str) -> Decision {
    Decision { rule: Some(rule.to_owned()), ..Decision::new(label, summary) }
}

/// Whether the kinds of evidence that show harm were recorded of the entity; nothing if the source does not say.
fn is_watched(packet: &ContextPacket) -> Option<bool> {
    let coverage = packet.context.coverage.as_ref()?;
    let shows_harm = [EvidenceKind::Metric, EvidenceKind::Log, EvidenceKind::Span];
    Some(coverage.own.iter().any(|kind| shows_harm.contains(kind)))
}
