//! Any policy, bound by what a person says.

use std::time::Duration;

use eog_core::contract::Alternative;
use eog_core::evidence::Verdict;
use eog_core::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, Failure, Label};

use super::explain::{MAX_SUMMARY, quote};
use crate::signs::is_worse;
use crate::text::shorten;

/// A policy whose label follows the verdict of a person, where the packet holds one.
///
/// A verdict is a finding of kind note and source `person`, as a [`Bundle`](crate::Bundle) or
/// `--cause` and `--not-cause` give it. [`EvidencePolicy`](super::EvidencePolicy) follows verdicts
/// itself; a model or a program reads the note, and may still hold the entity for what the person
/// ruled out. Then the label is changed here, the verdict is cited, and what the policy answered is kept
/// as the first alternative:
///
/// - *it is not the cause*: `Origin` becomes `Symptom`, or `Healthy` where no harm is on record;
/// - *it is the cause*: any other label becomes `Origin`, without claims that another entity explains it.
///
/// ```
/// use eog_core::{Decision, Label, policy_fn};
/// use eog_evidence::BoundByVerdicts;
/// let stubborn = policy_fn(|packet| Decision::new(Label::Origin, format!("it is {}", packet.entity)));
/// let bound = BoundByVerdicts(stubborn);
/// # let _ = bound;
/// ```
#[derive(Clone, Debug)]
pub struct BoundByVerdicts<P>(pub P);

impl<P: AbductivePolicy> AbductivePolicy for BoundByVerdicts<P> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let answer = self.0.decide(packet).await?;
            Ok(Answer { decision: bound(packet, answer.decision), ..answer })
        })
    }

    fn timeout(&self) -> Option<Duration> {
        self.0.timeout()
    }
}

fn bound(packet: &ContextPacket, mut decision: Decision) -> Decision {
    let verdicts = packet.context.findings.iter();
    let mut verdicts = verdicts.filter_map(|finding| Some((finding.verdict()?, finding)));
    let Some((verdict, note)) = verdicts.next() else { return decision };
    let (label, lost) = match (verdict, decision.label) {
        (Verdict::NotCause, Label::Origin) => {
            let harmed =
                packet.context.findings.iter().any(is_worse) || !packet.anomalies.is_empty();
            let label = if harmed { Label::Symptom } else { Label::Healthy };
            (label, "operator input: not the cause")
        }
        (Verdict::Cause, answered) if answered != Label::Origin => {
            decision.claims.retain(|claim| claim.effect != packet.entity);
            (Label::Origin, "operator input: the cause")
        }
        _ => return decision,
    };
    let answered = Alternative {
        label: decision.label,
        rule: decision.rule.take(),
        cause: None,
        summary: decision.summary.clone(),
        lost: lost.to_owned(),
        evidence: decision.evidence.clone(),
    };
    decision.alternatives.insert(0, answered);
    let word = format!("operator input: {}. Without it: {}", quote(note), decision.summary);
    decision.summary = shorten(&word, MAX_SUMMARY);
    decision.evidence.retain(|id| id != note.id());
    decision.evidence.insert(0, note.id().clone());
    decision.label = label;
    decision.next_page = false;
    decision
}

#[cfg(test)]
mod tests {
    use eog_core::evidence::{EvidenceTime, FindingContent, Signal, Trend};
    use eog_core::{Claim, EntityId, EvidenceKind, Finding, LocalContext, Window};

    use super::*;

    fn id(name: &str) -> EntityId {
        EntityId::new(name).unwrap()
    }

    fn window() -> Window {
        Window::new(
            "2026-01-01T10:00:00Z".parse().unwrap(),
            "2026-01-01T11:00:00Z".parse().unwrap(),
        )
        .unwrap()
    }

    fn finding(kind: EvidenceKind, source: &str, signal: Signal, trend: Trend) -> Finding {
        let time = EvidenceTime::During(window());
        let content = FindingContent::new(id("me"), kind, signal, time);
        Finding::new(FindingContent { trend, source: source.into(), ..content })
    }

    fn packet(findings: Vec<Finding>) -> ContextPacket {
        ContextPacket {
            entity: id("me"),
            window: window(),
            context: LocalContext { findings, ..LocalContext::default() },
            neighbours: Vec::new(),
            inbox: Vec::new(),
            anomalies: Vec::new(),
            notice: None,
            former: None,
            hints: Vec::new(),
            quoted: Vec::new(),
            reach: None,
            case_file: None,
            queries_left: 0,
        }
    }

    /// A verdict that rules out, one that names, a remark, and harm.
    fn word(trend: Trend) -> Finding {
        finding(EvidenceKind::Note, "person", Signal::Other, trend)
    }

    fn harm() -> Finding {
        finding(EvidenceKind::Metric, "metrics", Signal::Errors, Trend::Rising)
    }

    fn judged(answers: Label, findings: Vec<Finding>) -> Decision {
        let claim = |cause, effect| Claim {
            cause: id(cause),
            effect: id(effect),
            condition: String::new(),
            observed: String::new(),
            evidence: Vec::new(),
            cause_since: None,
            effect_since: None,
            explains: None,
            outside: false,
        };
        let decision = Decision::new(answers, "as it thinks");
        let decision = decision.claiming(claim("other", "me")).claiming(claim("me", "client"));
        bound(&packet(findings), decision)
    }

    #[test]
    fn what_a_person_ruled_out_is_no_origin() {
        for (findings, label) in [
            (vec![word(Trend::Steady), harm()], Label::Symptom),
            (vec![word(Trend::Steady)], Label::Healthy),
        ] {
            let decision = judged(Label::Origin, findings);
            assert_eq!(decision.label, label);
            assert_eq!(decision.evidence[0], *word(Trend::Steady).id(), "the verdict is cited");
            assert_eq!(decision.alternatives[0].label, Label::Origin);
            assert_eq!(decision.alternatives[0].summary, "as it thinks");
            assert!(decision.summary.contains("Without it: as it thinks"));
            assert_eq!(decision.claims.len(), 2);
        }
    }

    #[test]
    fn what_a_person_names_is_an_origin_that_no_other_entity_explains() {
        let decision = judged(Label::Symptom, vec![harm(), word(Trend::Rising)]);
        assert_eq!(decision.label, Label::Origin);
        assert_eq!(decision.alternatives[0].lost, "operator input: the cause");
        assert_eq!(
            decision.claims.iter().map(|claim| claim.cause.as_str()).collect::<Vec<_>>(),
            ["me"]
        );
    }

    #[test]
    fn without_a_verdict_or_in_agreement_nothing_changes() {
        let remark = finding(EvidenceKind::Note, "remark", Signal::Other, Trend::Rising);
        // A verdict is a note: text of telemetry with the same source is none.
        let log = finding(EvidenceKind::Log, "person", Signal::Other, Trend::Steady);
        for (answers, findings) in [
            (Label::Origin, vec![remark, log, harm()]),
            (Label::Symptom, vec![word(Trend::Steady)]),
            (Label::Origin, vec![word(Trend::Rising)]),
        ] {
            let decision = judged(answers, findings);
            assert_eq!((decision.label, decision.summary.as_str()), (answers, "as it thinks"));
            assert!(decision.alternatives.is_empty());
        }
    }
}
