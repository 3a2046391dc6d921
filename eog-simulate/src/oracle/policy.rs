//! The oracle itself.

use std::collections::BTreeSet;

use eog_core::belief::ClaimEdge;
use eog_core::evidence::PeerRole;
use eog_core::incident::Direction;
use eog_core::{
    AbductivePolicy, Answer, BoxFuture, Claim, ContextPacket, Decision, Digest, EntityId, Failure,
    Finding, Label,
};

use super::bearing::balance;
use super::rates::OracleRates;
use crate::random::{RandomSeed, Stream};
use crate::truth::{InvalidSpec, Role, TruthGraph, judge};

/// How many callees a deferring answer proposes at most, as the paper's prompt allows.
const MAX_PROPOSALS: usize = 2;

/// Knows a generated incident and is wrong at a stated rate; see [`oracle`](crate::oracle).
///
/// Seeds are runs: another seed errs elsewhere.
///
/// ```
/// use eog_core::Config;
/// use eog_simulate::oracle::{NoisyOracle, OracleRates};
/// use eog_testkit::run;
/// use eog_simulate::truth::{TruthGraph, TruthSpec};
/// let truth = TruthGraph::generate(&TruthSpec::default(), 7)?;
/// let oracle = NoisyOracle::new(&truth, OracleRates::wrong(0.0), 1)?;
/// let ended = run(Config::default(), truth.case(), &truth, &oracle);
/// let found = ended.conclusion().frontier.into_iter().flat_map(|group| group.origins);
/// assert_eq!(found.collect::<Vec<_>>(), Vec::from_iter(truth.linked_origins()));
/// # Ok::<(), eog_simulate::truth::InvalidSpec>(())
/// ```
#[derive(Clone, Debug)]
pub struct NoisyOracle<'t> {
    truth: &'t TruthGraph,
    rates: OracleRates,
    seed: RandomSeed,
}

impl<'t> NoisyOracle<'t> {
    /// An oracle of an incident.
    ///
    /// # Errors
    /// [`InvalidSpec`] when a rate makes no sense.
    pub fn new(
        truth: &'t TruthGraph,
        rates: OracleRates,
        seed: impl Into<RandomSeed>,
    ) -> Result<Self, InvalidSpec> {
        rates.check()?;
        Ok(Self { truth, rates, seed: seed.into() })
    }

    /// With which probability, over seeds, it answers a packet wrongly.
    pub fn error_rate(&self, packet: &ContextPacket) -> f64 {
        self.rates.at(balance(self.truth, &packet.entity, &packet.inbox))
    }

    /// The answer without error: what evidence and true messages say.
    pub fn right(&self, packet: &ContextPacket) -> Decision {
        let is_healthy =
            |name: &EntityId| self.truth.get(name).is_some_and(|other| other.role == Role::Healthy);
        let mut told_truly = packet.clone();
        // Only these change what a right answer is: they clear who was blamed.
        told_truly.inbox.retain(|message| {
            message.belief.label == Label::Healthy && is_healthy(&message.sender)
        });
        judge(&told_truly)
    }

    /// The answer, which may be wrong.
    pub fn answer(&self, packet: &ContextPacket) -> Decision {
        let right = self.right(packet);
        let question = match self.rates.stubborn {
            true => Digest::of(&packet.entity),
            false => question(packet),
        };
        let mut draw = self.seed.about("oracle", &question, 1);
        if !draw.chance(self.error_rate(packet)) {
            return right;
        }
        let OracleRates { swapped, missed, deferred, .. } = self.rates;
        let at = draw.share() * (swapped + missed + deferred);
        match right.label {
            // What cannot be judged cannot be misjudged.
            Label::Defer => right,
            _ if at >= swapped + missed => defer(packet),
            Label::Origin if at < swapped => self.blame(packet, &mut draw),
            Label::Healthy if at >= swapped => self.blame(packet, &mut draw),
            Label::Symptom | Label::Healthy if at < swapped => {
                Decision::new(Label::Origin, "it failed by itself").citing(&packet.context.findings)
            }
            Label::Origin | Label::Symptom | Label::Healthy => {
                Decision::new(Label::Healthy, "nothing unusual").citing(&packet.context.findings)
            }
        }
    }

    /// A symptom of a declared callee that has nothing to do with it.
    fn blame(&self, packet: &ContextPacket, draw: &mut Stream) -> Decision {
        let causes = self.truth.get(&packet.entity).map_or(&[][..], |entity| entity.role.causes());
        let innocent: Vec<&EntityId> = packet
            .neighbours
            .iter()
            .filter(|neighbour| neighbour.direction == Direction::Upstream)
            .map(|neighbour| &neighbour.entity)
            .filter(|name| causes.iter().all(|cause| cause.entity != **name))
            .collect();
        let Some(&blamed) = draw.pick(&innocent) else { return defer(packet) };
        let findings = &packet.context.findings;
        Decision::new(Label::Symptom, format!("suffers from {blamed}")).citing(findings).claiming(
            Claim {
                cause: blamed.clone(),
                effect: packet.entity.clone(),
                condition: format!("{blamed} fails or is slow"),
                observed: "it fails or is slow".to_owned(),
                evidence: findings.iter().map(|finding| finding.id().clone()).collect(),
                cause_since: None,
                effect_since: None,
                explains: None,
            },
        )
    }
}

impl AbductivePolicy for NoisyOracle<'_> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move { Ok(self.answer(packet).into()) })
    }
}

/// Undecided, with where to look next.
fn defer(packet: &ContextPacket) -> Decision {
    let callee = |finding: &Finding| {
        let peer = finding.peer.as_ref().filter(|peer| peer.role == PeerRole::Callee)?;
        Some(peer.entity.clone())
    };
    let mut named: Vec<EntityId> = Vec::new();
    for callee in packet.context.findings.iter().filter_map(callee) {
        if named.len() < MAX_PROPOSALS && !named.contains(&callee) {
            named.push(callee);
        }
    }
    let undecided = Decision::new(Label::Defer, "the evidence says too little");
    named.into_iter().fold(undecided, |decision, callee| {
        decision.proposing(callee, Direction::Upstream, "calls to it are named")
    })
}

/// What makes two questions equal: entity, senders, their labels and claimed edges, and the notice of
/// a second look.
fn question(packet: &ContextPacket) -> Digest {
    let said: Vec<(&EntityId, Label, BTreeSet<ClaimEdge>)> = packet
        .inbox
        .iter()
        .map(|message| {
            let signature = message.belief.signature();
            (&message.sender, signature.label, signature.claims)
        })
        .collect();
    match &packet.notice {
        None => Digest::of(&(&packet.entity, said)),
        Some(notice) => Digest::of(&(&packet.entity, said, notice)),
    }
}
