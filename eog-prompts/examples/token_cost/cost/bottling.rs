//! What the machines of the shipped bottling line say, by the entity and its messages.

use eog_core::incident::Direction;
use eog_core::{Claim, ContextPacket, Decision, EntityId, EvidenceId, Finding, InvalidId, Label};

const PACKER: &str = "line-3/packer";
const LABELLER: &str = "line-3/labeller";
const CAPPER: &str = "line-3/capper";
const AIR: &str = "utilities/air-header";
const COMPRESSOR: &str = "utilities/compressor-2";

/// The answer of one machine.
pub(super) fn judge(packet: &ContextPacket) -> Result<Decision, InvalidId> {
    let is_symptom = |sender: &str| -> Result<bool, InvalidId> {
        let belief = packet.message_from(&EntityId::new(sender)?);
        Ok(belief.is_some_and(|belief| belief.label == Label::Symptom))
    };
    match packet.entity.as_str() {
        PACKER => suffers(
            packet,
            "Fewer cases since 07:16, as fewer bottles arrive.",
            LABELLER,
            &["cases from", "Starved"],
        ),
        // The new roll of labels looks guilty, until the capper says that it rejects bottles.
        LABELLER if !is_symptom(CAPPER)? => {
            let because = "A new roll of labels at 06:50 preceded the falling output.";
            let output = finding(packet, "cases_worth");
            let decision = Decision::new(Label::Origin, because)
                .citing(finding(packet, "labels.supplier"))
                .citing(output)
                .claiming(claim(LABELLER, PACKER, "it hands on too little", output)?);
            Ok(decision.proposing(EntityId::new(CAPPER)?, Direction::Upstream, "what feeds it"))
        }
        LABELLER => suffers(
            packet,
            "Misreads are as before, so the roll is fine; fewer bottles arrive from the capper.",
            CAPPER,
            &["bottles from line-3/capper", "misreads"],
        ),
        CAPPER | "line-4/capper" => suffers(
            packet,
            "Torque is too low on several heads, and on another line as well: the shared air.",
            AIR,
            &["torque_rejects", "TorqueLow", "Tripped"],
        ),
        AIR => suffers(
            packet,
            "Pressure fell two minutes after the compressor that supplies it.",
            COMPRESSOR,
            &["pressure from"],
        ),
        COMPRESSOR => {
            let because = "Its setpoint was lowered at 07:02, and the outlet followed at 07:04.";
            let outlet = finding(packet, "outlet from");
            Ok(Decision::new(Label::Origin, because)
                .citing(finding(packet, "pressure.setpoint"))
                .citing(outlet)
                .claiming(claim(COMPRESSOR, AIR, "it delivers 5.2 bar", outlet)?))
        }
        _ if packet.context.findings.is_empty() => {
            Ok(Decision::new(Label::Defer, "Nothing was recorded."))
        }
        _ => Ok(Decision::new(Label::Healthy, "It works as before.")
            .citing(packet.context.findings.first())),
    }
}

/// A machine that suffers from another, by the findings with these words.
fn suffers(
    packet: &ContextPacket,
    because: &str,
    cause: &str,
    words: &[&str],
) -> Result<Decision, InvalidId> {
    let cited: Vec<&Finding> = words.iter().filter_map(|words| finding(packet, words)).collect();
    let claim = claim(cause, packet.entity.as_str(), "it gives too little", cited.iter().copied())?;
    Ok(Decision::new(Label::Symptom, because).citing(cited).claiming(claim))
}

fn claim<'f>(
    cause: &str,
    effect: &str,
    condition: &str,
    evidence: impl IntoIterator<Item = &'f Finding>,
) -> Result<Claim, InvalidId> {
    let ids: Vec<EvidenceId> = evidence.into_iter().map(|one| one.id().clone()).collect();
    Ok(Claim {
        cause: EntityId::new(cause)?,
        effect: EntityId::new(effect)?,
        condition: condition.to_owned(),
        observed: "output fell".to_owned(),
        evidence: ids,
        cause_since: None,
        effect_since: None,
        explains: None,
        outside: false,
    })
}

/// The first finding with these words.
fn finding<'p>(packet: &'p ContextPacket, words: &str) -> Option<&'p Finding> {
    packet.context.findings.iter().find(|finding| finding.excerpt.contains(words))
}
