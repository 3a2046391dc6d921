//! An entity in which nothing stands out, and without claims about it.

use eog_core::{Claim, ContextPacket, Decision, Label};
use eog_evidence::stands_out;

use super::{by_rule, is_watched};

/// If harm would have been recorded, its silence speaks for it, else it says nothing.
pub(super) fn decision(packet: &ContextPacket) -> Option<Decision> {
    let context = &packet.context;
    // That its evidence is as usual says something only where that of others is not.
    let elsewhere =
        packet.case_file.as_ref().is_some_and(|file| file.findings.iter().any(stands_out));
    let is_quiet = match context.findings.is_empty() {
        true => true,
        false => elsewhere && !context.findings.iter().any(stands_out),
    };
    if is_spoken_of(packet) || !is_quiet || !packet.anomalies.is_empty() || packet.former.is_some()
    {
        return None;
    }
    Some(if is_watched(packet)? {
        by_rule(
            "nothing stands out",
            Label::Healthy,
            "Not judged by a model: in what was recorded of it, nothing stands out.",
        )
    } else {
        by_rule(
            "nothing recorded",
            Label::Defer,
            "Evidence is absent: what would show harm was not recorded of it.",
        )
    })
}

/// Whether a neighbour claims anything of the entity.
pub(super) fn is_spoken_of(packet: &ContextPacket) -> bool {
    let touches = |claim: &Claim| [&claim.cause, &claim.effect].contains(&&packet.entity);
    packet.inbox.iter().any(|message| message.belief.claims.iter().any(touches))
}
