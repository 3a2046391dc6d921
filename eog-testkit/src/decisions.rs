//! Usual decisions and claims, each citing what the packet offers.

use eog::{Claim, ContextPacket, Decision, Finding, Label};

use crate::names::entity;

/// "`cause` explains `effect`", with plain words and this evidence.
///
/// The words are public fields; set them where a test cares.
///
/// # Panics
/// When a name is not valid.
///
/// ```
/// use eog_testkit::{claim, finding};
/// let errors = finding("S2").build();
/// assert_eq!(claim("S3", "S2", [&errors]).evidence, [errors.id().clone()]);
/// ```
#[track_caller]
pub fn claim<'a>(
    cause: &str,
    effect: &str,
    evidence: impl IntoIterator<Item = &'a Finding>,
) -> Claim {
    let (condition, observed) = (format!("{cause} is degraded"), format!("{effect} is affected"));
    Claim::new(&entity(cause), &entity(effect), condition, observed)
        .citing_ids(evidence.into_iter().map(Finding::id))
}

/// `Healthy`, citing all local findings.
pub fn healthy(packet: &ContextPacket) -> Decision {
    labelled(packet, Label::Healthy, "operates normally")
}

/// `Symptom` of `cause`: one claim from it to the packet's entity, citing all local findings.
///
/// # Panics
/// When the name is not valid.
///
/// ```
/// use eog_testkit::{finding, packet, symptom_of};
/// let packet = packet("S2").finding(finding("S2")).build();
/// let decision = symptom_of(&packet, "S3");
/// assert_eq!(decision.claims[0].cause.as_str(), "S3");
/// assert_eq!(decision.claims[0].evidence.len(), 1);
/// ```
#[track_caller]
pub fn symptom_of(packet: &ContextPacket, cause: &str) -> Decision {
    let claim = claim(cause, packet.entity.as_str(), &packet.context.findings);
    labelled(packet, Label::Symptom, &format!("suffers from {cause}")).claiming(claim)
}

/// `Origin`, citing all local findings. (One that cites nothing is demoted to `Defer`.)
pub fn origin(packet: &ContextPacket) -> Decision {
    labelled(packet, Label::Origin, "its own evidence explains the incident")
}

/// `Defer`, citing nothing.
pub fn deferred(packet: &ContextPacket) -> Decision {
    Decision::new(Label::Defer, format!("nothing is known about {}", packet.entity))
}

fn labelled(packet: &ContextPacket, label: Label, summary: &str) -> Decision {
    Decision::new(label, format!("{} {summary}", packet.entity)).citing(&packet.context.findings)
}
