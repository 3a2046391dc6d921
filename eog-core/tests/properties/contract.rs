//! What is taken over from arbitrary decisions always satisfies the contract.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::controller::Reason;
use eog_core::ledger::{RecordedAnswer, Refusal, Warning};
use eog_core::{
    Claim, Config, ContextPacket, ContextRequest, Decision, EntityId, EvidenceId, Failure, Label,
    LocalContext,
};
use proptest::prelude::*;

use super::cases;
use super::drive::{Answers, run};
use eog_testkit::prop::parts::ghost;
use eog_testkit::prop::{World, worlds};

/// Passes questions on and notes what evidence and messages each entity was shown.
struct Witness<'w> {
    world: &'w World,
    shown: BTreeMap<EntityId, BTreeSet<EvidenceId>>,
    received: BTreeMap<EntityId, BTreeSet<EvidenceId>>,
    named: BTreeSet<EntityId>,
    /// By owner the finding of a route, and each of its hops.
    hops: BTreeSet<(EntityId, EvidenceId, EntityId, EntityId)>,
}

impl Answers for Witness<'_> {
    fn context(&mut self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        let context = self.world.context(request)?;
        let shown = self.shown.entry(request.entity.clone()).or_default();
        shown.extend(context.findings.iter().map(|finding| finding.id().clone()));
        self.named.extend(context.named());
        for route in &context.routes {
            for hop in route.hops.windows(2) {
                let (owner, finding) = (request.entity.clone(), route.finding.clone());
                self.hops.insert((owner, finding, hop[0].clone(), hop[1].clone()));
            }
        }
        Ok(context)
    }

    fn decide(&mut self, packet: &ContextPacket) -> Result<Decision, Failure> {
        let received = self.received.entry(packet.entity.clone()).or_default();
        received.extend(packet.inbox.iter().flat_map(|message| message.belief.cited()));
        self.world.decide(packet)
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn beliefs_keep_the_contract(world in worlds(true), decision_memory in any::<bool>()) {
        let config = Config { decision_memory, ..Config::default() };
        let (shown, received) = (BTreeMap::new(), BTreeMap::new());
        let (named, hops) = (BTreeSet::new(), BTreeSet::new());
        let mut witness = Witness { world: &world, shown, received, named, hops };
        let (controller, _) = run(&config, &world.case, &mut witness, 2_000);
        let nothing = BTreeSet::new();
        for evaluation in controller.ledger().evaluations() {
            let owner = &evaluation.entity;
            let own = witness.shown.get(owner).unwrap_or(&nothing);
            let received = witness.received.get(owner).unwrap_or(&nothing);
            let belief = &evaluation.outcome.belief;
            for claim in &belief.claims {
                let follows = claim.evidence.iter().any(|id| {
                    let (cause, effect) = (claim.cause.clone(), claim.effect.clone());
                    witness.hops.contains(&(owner.clone(), id.clone(), cause, effect))
                });
                prop_assert!(claim.cause == *owner || claim.effect == *owner || follows);
                prop_assert!(claim.cause != claim.effect);
                prop_assert!(!claim.evidence.is_empty());
                for end in [&claim.cause, &claim.effect] {
                    let known = world.case.topology.contains(end) || witness.named.contains(end);
                    prop_assert!(known, "{end} is unknown to all");
                }
            }
            for id in belief.cited() {
                prop_assert!(own.contains(&id) || received.contains(&id), "{id} is unknown to all");
            }
            if belief.label == Label::Origin {
                prop_assert!(belief.cited().iter().any(|id| own.contains(id)));
            }
        }
    }

    /// Whatever of a decision is missing in the belief stands among the refusals, and the reverse.
    #[test]
    fn nothing_is_dropped_silently(world in worlds(true)) {
        let config =
            Config { max_visits: None, max_proposals: Some(2), ..Config::default() };
        let (controller, _) = run(&config, &world.case, &mut &world, 2_000);
        for evaluation in controller.ledger().evaluations() {
            let decision = match &evaluation.answer {
                RecordedAnswer::Decided(decision) if !evaluation.asks_for_more() => decision.clone(),
                _ => continue,
            };
            let belief = &evaluation.outcome.belief;
            let refused = |which: fn(&Refusal) -> bool| {
                evaluation.refusals.iter().filter(|refusal| which(refusal)).count()
            };
            let claims = refused(|refusal| matches!(
                refusal,
                Refusal::ClaimWithoutEvidence(_)
                    | Refusal::ClaimBetweenOthers(_)
                    | Refusal::ClaimOnItself(_)
                    | Refusal::ClaimOnUnknownEntity(_)
                    | Refusal::ClaimBeyondEntityCap(_)
            ));
            prop_assert_eq!(decision.claims.len(), belief.claims.len() + claims);
            let proposals = refused(|refusal| matches!(
                refusal,
                Refusal::ProposalUnknown(_)
                    | Refusal::ProposalVisited(_)
                    | Refusal::ProposalQueued(_)
                    | Refusal::ProposalRepeated(_)
                    | Refusal::ProposalBeyondCap(_)
            ));
            let taken = evaluation.activations.iter();
            let taken = taken.filter(|a| a.reason == Reason::Proposal).count();
            prop_assert_eq!(decision.proposals.len(), taken + proposals);
            prop_assert!(taken <= 2);
            prop_assert_eq!(
                decision.next_page,
                refused(|refusal| *refusal == Refusal::NoFurtherPage) == 1
            );
            prop_assert_eq!(
                decision.query.is_some(),
                refused(|refusal| *refusal == Refusal::NoFurtherQuery) == 1
            );
            let demoted = refused(|refusal| *refusal == Refusal::OriginWithoutLocalEvidence) == 1;
            let expected = if demoted { Label::Defer } else { decision.label };
            prop_assert_eq!(belief.label, expected);
            let cites_ghost = decision.evidence.contains(&ghost())
                || decision.claims.iter().any(|claim| claim.evidence.contains(&ghost()));
            let ghost_refused = evaluation.refusals.contains(&Refusal::UnknownEvidence(ghost()));
            prop_assert_eq!(cites_ghost, ghost_refused);
            let uncited = evaluation.warnings.contains(&Warning::Uncited);
            prop_assert_eq!(uncited, belief.cited().is_empty());
        }
    }

    /// A symptom is doubted exactly when no claim held then, by another or by itself, says of what.
    #[test]
    fn a_symptom_without_a_cause_is_said(world in worlds(true)) {
        let (controller, _) = run(&Config::default(), &world.case, &mut &world, 2_000);
        let mut held: BTreeMap<EntityId, Vec<Claim>> = BTreeMap::new();
        for evaluation in controller.ledger().evaluations() {
            let (entity, belief) = (&evaluation.entity, &evaluation.outcome.belief);
            held.insert(entity.clone(), belief.claims.clone());
            let failed = matches!(evaluation.answer, RecordedAnswer::Failed(_));
            let answered = !failed && !evaluation.asks_for_more();
            // Damping hides what the label was.
            if answered && !evaluation.outcome.damped {
                let explained = held.values().flatten().any(|claim| claim.effect == *entity);
                let doubted = evaluation.warnings.contains(&Warning::SymptomWithoutCause);
                prop_assert_eq!(doubted, belief.label == Label::Symptom && !explained);
            }
        }
    }
}
