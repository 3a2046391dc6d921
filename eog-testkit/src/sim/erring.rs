//! A policy that is sometimes wrong.

use eog::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, Digest, Failure, Label};

use super::attempts::check_shares;
use super::nonsense;
use crate::random::{RandomSeed, Stream};

/// Wraps a policy and makes a share of its decisions wrong: by label, by a claim left out, by
/// finding nothing unusual, by claiming the wrong neighbour, by invented evidence, by a claim on an unknown entity, or by
/// proposals without sense.
///
/// Whether and how a decision is wrong hangs on seed and packet alone, so the policy stays
/// stateless: equal packets get equal decisions, wrong ones too.
///
/// ```
/// use eog_testkit::sim::Erring;
/// use eog_testkit::{ask, healthy, packet, policy_fn};
/// let always_wrong = Erring::new(policy_fn(healthy), 1.0, 7);
/// let packet = packet("db").build();
/// assert_ne!(ask(&always_wrong, &packet)?.decision, healthy(&packet));
/// # Ok::<(), eog::Failure>(())
/// ```
#[derive(Clone, Debug)]
pub struct Erring<P> {
    inner: P,
    rate: f64,
    seed: RandomSeed,
}

/// A way to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Error {
    WrongLabel,
    DroppedClaim,
    Cleared,
    WrongPeer,
    InventedEvidence,
    ClaimOnStranger,
    SenselessProposals,
}

impl<P> Erring<P> {
    /// Makes this share of a policy's decisions wrong.
    ///
    /// # Panics
    /// When the rate is not a number from 0 to 1.
    #[track_caller]
    pub fn new(inner: P, rate: f64, seed: impl Into<RandomSeed>) -> Self {
        check_shares([("errors", rate)]);
        Self { inner, rate, seed: seed.into() }
    }

    fn err(&self, packet: &ContextPacket, decision: Decision) -> Decision {
        let mut draw = self.seed.about("erring", &Digest::of(packet), 1);
        if !draw.chance(self.rate) {
            return decision;
        }
        let mut errors = vec![
            Error::WrongLabel,
            Error::InventedEvidence,
            Error::ClaimOnStranger,
            Error::SenselessProposals,
        ];
        if !decision.claims.is_empty() {
            errors.extend([Error::DroppedClaim, Error::Cleared]);
        }
        if innocent_peers(packet, &decision).next().is_some() && !decision.claims.is_empty() {
            errors.push(Error::WrongPeer);
        }
        let error = *draw.pick(&errors).unwrap_or(&Error::WrongLabel);
        worsen(decision, error, packet, &mut draw)
    }
}

/// Neighbours that a decision does not claim.
fn innocent_peers<'p>(
    packet: &'p ContextPacket,
    decision: &Decision,
) -> impl Iterator<Item = &'p eog::EntityId> {
    let claimed: Vec<_> = decision.claims.iter().map(|claim| claim.cause.clone()).collect();
    packet.neighbours.iter().map(|n| &n.entity).filter(move |name| !claimed.contains(name))
}

fn worsen(
    mut decision: Decision,
    error: Error,
    packet: &ContextPacket,
    draw: &mut Stream,
) -> Decision {
    match error {
        Error::WrongLabel => {
            decision.label = nonsense::label(Some(decision.label), draw);
            if decision.label == Label::Origin {
                // Else the contract checks would take it back.
                decision = decision.citing(&packet.context.findings);
            }
        }
        Error::DroppedClaim => {
            let dropped = draw.position(decision.claims.len());
            decision.claims.remove(dropped);
        }
        Error::Cleared => {
            decision = Decision::new(Label::Healthy, "nothing unusual");
            decision = decision.citing(&packet.context.findings);
        }
        Error::WrongPeer => {
            let innocent: Vec<_> = innocent_peers(packet, &decision).cloned().collect();
            let wrong = draw.position(decision.claims.len());
            if let Some(peer) = draw.pick(&innocent) {
                decision.claims[wrong].cause = peer.clone();
            }
        }
        Error::InventedEvidence => decision.evidence = vec![nonsense::evidence(draw)],
        Error::ClaimOnStranger => {
            let stranger = nonsense::stranger(draw);
            let claim = nonsense::claim(&stranger, &packet.entity, draw);
            decision.claims.push(claim);
        }
        Error::SenselessProposals => {
            decision.proposals.extend(nonsense::proposals(packet, draw));
        }
    }
    decision
}

impl<P: AbductivePolicy> AbductivePolicy for Erring<P> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let answer = self.inner.decide(packet).await?;
            Ok(Answer { decision: self.err(packet, answer.decision), ..answer })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{claim, finding, packet};

    #[test]
    fn every_error_changes_the_decision() {
        let packet = packet("a").finding(finding("a")).callee("b").callee("c").build();
        let right = Decision::new(Label::Symptom, "b fails")
            .citing(&packet.context.findings)
            .claiming(claim("b", "a", &packet.context.findings));
        let mut draw = RandomSeed::from(1).stream("errors");
        let mut worse = |error| worsen(right.clone(), error, &packet, &mut draw);
        let label = worse(Error::WrongLabel).label;
        assert_ne!(label, Label::Symptom);
        assert_eq!(worse(Error::DroppedClaim).claims, []);
        let cleared = worse(Error::Cleared);
        assert_eq!((cleared.label, cleared.claims.len()), (Label::Healthy, 0));
        assert_eq!(worse(Error::WrongPeer).claims[0].cause.as_str(), "c");
        let invented = worse(Error::InventedEvidence).evidence;
        assert!(!invented.is_empty() && !right.evidence.contains(&invented[0]));
        let stranger = &worse(Error::ClaimOnStranger).claims[1].cause;
        assert!(stranger.as_str().starts_with("nowhere-"));
        assert!(worse(Error::SenselessProposals).proposals.len() > 1);
    }
}
