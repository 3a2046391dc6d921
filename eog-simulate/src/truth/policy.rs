//! A policy that judges by the conventions of the generated evidence.

use std::collections::BTreeMap;

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::{
    AbductivePolicy, Answer, BoxFuture, Claim, ContextPacket, Decision, EntityId, EvidenceKind,
    Failure, Finding, Label, Timestamp,
};

/// Judges a packet by what the generated evidence means (see [`truth`](crate::truth)), and by
/// what neighbours say. Stateless; equal packets get equal decisions.
///
/// | the packet shows | decision |
/// |---|---|
/// | no evidence, or notes alone | `Defer` |
/// | a signal both raised and normal | `Defer` |
/// | nothing raised | `Healthy`, unless the context says that something was left out: `Defer` |
/// | a change, then raised metrics of its own that precede all it blames on others | `Origin`, citing both |
/// | bad calls to callees | `Symptom` of each of them, but not of one whose message says `Healthy` and cites evidence |
/// | bad calls only to such callees; or a raised metric and nothing else | `Defer` |
///
/// With all of the evidence and [`Config::default`](eog_core::Config), an investigation's frontier is
/// [`TruthGraph::linked_origins`](crate::truth::TruthGraph::linked_origins).
///
/// ```
/// use eog_core::Label;
/// use eog_simulate::truth::TruthPolicy;
/// use eog_testkit::{ask, packet};
/// let answer = ask(&TruthPolicy, &packet("db").build())?;
/// assert_eq!(answer.decision.label, Label::Defer);
/// # Ok::<(), eog_core::Failure>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TruthPolicy;

impl AbductivePolicy for TruthPolicy {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move { Ok(judge(packet).into()) })
    }
}

fn judge(packet: &ContextPacket) -> Decision {
    let shown = Shown::of(packet);
    if shown.changes.is_empty() && shown.raised.is_empty() && shown.normal.is_empty() {
        return Decision::new(Label::Defer, "there is no evidence");
    }
    if shown.contradicts_itself() {
        return Decision::new(Label::Defer, "the evidence contradicts itself");
    }
    if let Some(decision) = origin(&shown) {
        return decision;
    }
    let mut culprits: BTreeMap<&EntityId, Vec<&Finding>> = BTreeMap::new();
    for (callee, finding) in shown.blamed() {
        culprits.entry(callee).or_default().push(finding);
    }
    if culprits.is_empty() && shown.raised.is_empty() {
        return match packet.context.omitted.as_slice() {
            [] => Decision::new(Label::Healthy, "its metrics are normal")
                .citing(shown.normal)
                .citing(shown.changes),
            _ => Decision::new(Label::Defer, "what shows is normal, but not all shows"),
        };
    }
    culprits.retain(|callee, _| !is_cleared(packet, callee));
    if culprits.is_empty() {
        return Decision::new(Label::Defer, "it fails, and nothing here says why");
    }
    let names: Vec<&str> = culprits.keys().map(|callee| callee.as_str()).collect();
    let mut decision = Decision::new(Label::Symptom, format!("suffers from {}", names.join(", ")))
        .citing(shown.own().copied());
    for (callee, findings) in culprits {
        let condition = format!("{callee} fails or is slow");
        let claim = Claim::new(callee, &packet.entity, condition, "calls to it fail or are slow");
        decision = decision.claiming(claim.citing_ids(findings.iter().map(|one| one.id())));
    }
    decision
}

/// An origin shows a change, then raised metrics of its own, then what it may blame on others.
fn origin(shown: &Shown<'_>) -> Option<Decision> {
    let failing = shown.own().map(|finding| finding.time.start()).min()?;
    let blamed: Option<Timestamp> = shown.blamed().map(|(_, finding)| finding.time.start()).min();
    if blamed.is_some_and(|blamed| blamed <= failing) {
        return None;
    }
    let changes: Vec<&Finding> =
        (shown.changes.iter().copied()).filter(|change| change.time.start() < failing).collect();
    if changes.is_empty() {
        return None;
    }
    let decision = Decision::new(Label::Origin, "it was changed and then failed by itself");
    Some(decision.citing(changes).citing(shown.own().copied()))
}

/// Whether a callee has said, with evidence, that it is well.
fn is_cleared(packet: &ContextPacket, callee: &EntityId) -> bool {
    packet
        .message_from(callee)
        .is_some_and(|belief| belief.label == Label::Healthy && !belief.evidence.is_empty())
}

/// The findings of a packet by what they mean. Notes mean nothing.
struct Shown<'p> {
    changes: Vec<&'p Finding>,
    raised: Vec<&'p Finding>,
    normal: Vec<&'p Finding>,
}

impl<'p> Shown<'p> {
    fn of(packet: &'p ContextPacket) -> Self {
        let mut shown = Self { changes: Vec::new(), raised: Vec::new(), normal: Vec::new() };
        for finding in &packet.context.findings {
            let measured = matches!(finding.signal, Signal::Errors | Signal::Latency);
            match (finding.kind, finding.trend) {
                (EvidenceKind::Change, _) => shown.changes.push(finding),
                (EvidenceKind::Metric | EvidenceKind::Span, Trend::Rising) if measured => {
                    shown.raised.push(finding);
                }
                (EvidenceKind::Metric, Trend::Steady) if measured => shown.normal.push(finding),
                _ => {}
            }
        }
        shown
    }

    /// What is raised and names no other entity.
    fn own(&self) -> impl Iterator<Item = &&'p Finding> {
        self.raised.iter().filter(|finding| finding.peer.is_none())
    }

    /// What is raised in calls, with the callee.
    fn blamed(&self) -> impl Iterator<Item = (&'p EntityId, &'p Finding)> {
        self.raised.iter().filter_map(|finding| {
            let peer = finding.peer.as_ref().filter(|peer| peer.role == PeerRole::Callee)?;
            Some((&peer.entity, *finding))
        })
    }

    /// Whether a metric of its own is both raised and normal.
    fn contradicts_itself(&self) -> bool {
        self.own().any(|raised| self.normal.iter().any(|normal| normal.signal == raised.signal))
    }
}
