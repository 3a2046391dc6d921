//! The evidence policy: documented rules that judge one packet.

mod answer;
mod attribution;
mod callee;
mod demand;
mod facts;
mod own;
mod rest;
#[cfg(test)]
mod tests;
mod upstream;

use eog_core::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, Failure};

use facts::Facts;

/// A rule: its decision, or nothing when it does not apply.
type Rule = fn(&Facts<'_>) -> Option<Decision>;

/// The rules in order; the first that applies decides. The last always applies.
const RULES: [Rule; 15] = [
    own::own_change,
    demand::traffic_amplification,
    callee::failing_callee,
    attribution::accounted_for_upstream,
    own::failure_of_a_part,
    own::own_failure,
    demand::demand_enters_here,
    upstream::changed_upstream,
    attribution::accounted_for_by_nobody,
    upstream::degraded_upstream,
    upstream::on_the_path,
    upstream::rests_on_what_fails,
    rest::less_arrives,
    rest::cause_not_found,
    rest::nothing_unusual,
];

/// Judges packets by documented rules: deterministic, without a model, without state.
///
/// The rules are tried in this order; the first that applies decides. They read the typed fields
/// of findings and messages, never text. `docs/evidence-policy.md` gives the reasons.
///
/// | rule | when | decision |
/// |---|---|---|
/// | own change | a change of its own (no restart) that precedes what it explains | `Origin`; claims itself → next hop to the anomaly |
/// | traffic amplification | overloaded or accused of overloading, and a caller sends more | `Symptom`; claims caller → itself, itself → exhausted callee |
/// | failing callee | calls to another entity fail or are slow | `Symptom`; claims callee → itself |
/// | accounted for upstream | upstream neighbours account for most of what it shows | `Symptom`; claims them → itself |
/// | failure of a part | what failed first, and alone, is one part of it | `Symptom`; claims the part → itself |
/// | own failure | ran out of a resource or crashed, and nothing upstream explains it | `Origin`, which cites no change |
/// | demand enters here | traffic rose, no caller sends it, no change on record | `Defer`; proposes callers |
/// | changed upstream | degraded, and a change elsewhere has a path here | `Symptom`; claims next hop → itself |
/// | accounted for by nobody | it stands out, and nobody upstream accounts for most of it | `Origin`, which cites no change; proposes those that account for a part |
/// | degraded upstream | degraded, and an upstream neighbour says it is too | `Symptom`; claims that neighbour → itself |
/// | on the path | named as cause, nothing unusual of its own, a change elsewhere has a path here | `Defer`; claims next hop → itself |
/// | rests on what fails | named as cause by a caller, nothing unusual of its own, what it rests on does worse | `Symptom`; claims that → itself |
/// | less arrives | less is asked of it, no failure of its own | `Symptom`; claims what it rests on, else degraded callers → itself |
/// | cause not found | degraded, nothing else | `Symptom`; proposes upstream neighbours |
/// | nothing unusual | findings, all as usual | `Healthy`; `Defer` when there are none, or none that it understands |
///
/// Every decision but the last kind cites findings; every claim cites own findings, or ids that a
/// neighbour's message cites. A restart alone is an effect and never makes an `Origin`.
///
/// ```
/// use eog_core::{ContextPacket, EntityId, Label, LocalContext, Window};
/// use eog_evidence::EvidencePolicy;
/// let packet = ContextPacket {
///     entity: EntityId::new("cart")?,
///     window: Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?,
///     context: LocalContext::default(),
///     neighbours: vec![],
///     inbox: vec![],
/// };
/// let decision = EvidencePolicy::default().judge(&packet);
/// assert_eq!(decision.label, Label::Defer);
/// assert_eq!(decision.summary, "no findings: nothing is known about cart in the window");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvidencePolicy {
    _private: (),
}

impl EvidencePolicy {
    /// Judges one packet. Equal packets get equal decisions.
    pub fn judge(&self, packet: &ContextPacket) -> Decision {
        let facts = Facts::of(packet);
        RULES.iter().find_map(|rule| rule(&facts)).unwrap_or_else(|| rest::no_findings(&facts))
    }
}

impl AbductivePolicy for EvidencePolicy {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(std::future::ready(Ok(self.judge(packet).into())))
    }
}
