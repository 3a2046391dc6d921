//! Answers in place of a model: by the entity and its messages, never by the prompt.

use eog_core::{ContextPacket, Decision, EvidenceKind, Failure, Label, Timestamp};
use eog_evidence::{EvidencePolicy, shorten};
use eog_testkit::ask;
use eog_testkit::truth::TruthPolicy;

use super::bottling;

/// Most characters of a condition, an observation or a reason: with its ellipsis, what the rules of a
/// prompt allow.
const MAX_PART: usize = 239;

/// Most characters of a summary.
const MAX_SUMMARY: usize = 599;

/// Most proposals, by the paper's prompt and by ours.
const MAX_PROPOSALS: usize = 2;

/// Most claims of one answer, by our prompt.
const MAX_CLAIMS: usize = 6;

/// The source of the scripted answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Judge {
    /// The evidence policy.
    Evidence,
    /// The table of the shipped bottling line, whose rules are another matter: they take a decoy for
    /// the cause.
    BottlingLine,
    /// The truth table of generated incidents.
    Truth,
}

impl Judge {
    /// The answer to a packet as the controller makes it, within the bounds of both prompts.
    ///
    /// An origin whose change comes after every alert is deferred: our prompt allows no such origin,
    /// and it explains nothing. The evidence rules never name one; the truth table does. Neither prompt
    /// asks since when, which of several observations, or for log-odds: what the policy knows of it is left out,
    /// as the controller goes by it.
    pub(crate) fn decide(
        self,
        packet: &ContextPacket,
        last_onset: Option<Timestamp>,
    ) -> Result<Decision, Failure> {
        let mut decision = match self {
            Self::Evidence => EvidencePolicy::default().judge(packet),
            Self::BottlingLine => {
                bottling::judge(packet).map_err(|error| Failure::policy(error.to_string()))?
            }
            Self::Truth => ask(&TruthPolicy, packet)?.decision,
        };
        if decision.label == Label::Origin && is_late(packet, &decision, last_onset) {
            decision.label = Label::Defer;
        }
        decision.proposals.truncate(MAX_PROPOSALS);
        decision.claims.truncate(MAX_CLAIMS);
        (decision.since, decision.explains) = (None, None);
        (decision.rule, decision.alternatives) = (None, Vec::new());
        (decision.measures, decision.terms) = (None, Vec::new());
        decision.summary = shorten(&decision.summary, MAX_SUMMARY);
        for claim in &mut decision.claims {
            (claim.cause_since, claim.effect_since, claim.explains) = (None, None, None);
            claim.condition = shorten(&claim.condition, MAX_PART);
            claim.observed = shorten(&claim.observed, MAX_PART);
        }
        for proposal in &mut decision.proposals {
            proposal.reason = shorten(&proposal.reason, MAX_PART);
        }
        Ok(decision)
    }
}

/// Whether all changes that a decision cites came after the last alert.
fn is_late(packet: &ContextPacket, decision: &Decision, last_onset: Option<Timestamp>) -> bool {
    let cited = packet.context.findings.iter().filter(|finding| {
        finding.kind == EvidenceKind::Change && decision.evidence.contains(finding.id())
    });
    let first = cited.map(|change| change.time.start()).min();
    first.zip(last_onset).is_some_and(|(first, last)| first > last)
}
