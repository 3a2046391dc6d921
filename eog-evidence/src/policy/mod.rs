//! The policy without a model: weights of evidence, summed.
//!
//! findings → observations → numbers → terms → sum → label, claims. Read in this order: `observation` (what one finding
//! says), `numbers` (what a packet says), `terms` with `weights.toml` (what that weighs), `decide` (what follows).

mod bound_by_verdicts;
mod causes;
mod closed_cases;
mod decide;
mod explain;
mod numbers;
mod observation;
mod or_evidence;
mod standout;
mod terms;
#[cfg(test)]
mod tests;
mod times;
mod weights;

use std::sync::Arc;

use eog_core::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, Failure};

pub use bound_by_verdicts::BoundByVerdicts;
pub use closed_cases::{ClosedCases, Precedent};
pub use or_evidence::OrEvidence;
pub use standout::stands_out;
pub(crate) use standout::{Standout, standout};
pub use weights::{Weights, WeightsError};

/// Judges packets by a sum of weights of evidence: deterministic, without a model, without state.
///
/// Each finding is read as a typed observation with a size that is comparable across units. The numbers of a packet,
/// with those that neighbours' messages carry ([`Measures`](eog_core::Measures)), are weighed by a table of terms; their
/// sum are the log-odds that the entity is an origin. An entity whose log-odds reach the threshold, and who knows no
/// upstream origin with more, is an `Origin`; one that does worse is a `Symptom` of those upstream that may explain
/// it. `docs/evidence-policy.md` lists the terms and says how their weights were fitted. Where an entity stands to the
/// alerts is known from [`Reach`](eog_core::contract::Reach), if packets hold it
/// ([`Briefing::reach`](eog_core::controller::Briefing::reach)).
///
/// Every decision with findings cites some; claims cite own findings, or ids that a neighbour's message cites.
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
///     anomalies: Vec::new(),
///     notice: None,
///     former: None,
///     hints: Vec::new(),
///     quoted: Vec::new(),
///     reach: None,
///     case_file: None,
///     queries_left: 0,
/// };
/// let decision = EvidencePolicy::default().judge(&packet);
/// assert_eq!(decision.label, Label::Defer);
/// assert_eq!(decision.summary, "no findings: nothing is known about cart in the window");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EvidencePolicy {
    weights: Arc<Weights>,
}

impl Default for EvidencePolicy {
    /// With the shipped weights.
    fn default() -> Self {
        Self { weights: Weights::shipped() }
    }
}

impl EvidencePolicy {
    /// The policy with these weights.
    pub fn new(weights: Weights) -> Self {
        Self { weights: Arc::new(weights) }
    }

    /// What it weighs by.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The values of all terms for a packet, before they are weighed: what weights are fitted on.
    pub fn values(packet: &ContextPacket) -> Vec<f64> {
        terms::values(&decide::Weighed::of(packet, &Weights::shipped()).numbers)
    }

    /// Judges one packet. Equal packets get equal decisions.
    pub fn judge(&self, packet: &ContextPacket) -> Decision {
        decide::decide(packet, &self.weights)
    }
}

impl AbductivePolicy for EvidencePolicy {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(std::future::ready(Ok(self.judge(packet).into())))
    }
}
