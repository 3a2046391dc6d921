//! What a message says about an entity, and whether it is true.

use eog_core::{EntityId, Label, Message};

use crate::truth::{Role, TruthGraph};

/// How many more messages say the truth about an entity than an untruth.
pub(super) fn balance(truth: &TruthGraph, entity: &EntityId, inbox: &[Message]) -> i64 {
    inbox.iter().map(|message| bearing(truth, entity, message)).sum()
}

/// 1 if a message says the truth about an entity, -1 if an untruth, 0 if nothing.
fn bearing(truth: &TruthGraph, entity: &EntityId, message: &Message) -> i64 {
    let (Some(about), Some(sender)) = (truth.get(entity), truth.get(&message.sender)) else {
        return 0;
    };
    let sign = |is_true| if is_true { 1 } else { -1 };
    let belief = &message.belief;
    if belief.claims.iter().any(|claim| claim.cause == *entity) {
        return sign(about.role.since().is_some());
    }
    if !about.calls.contains(&message.sender) {
        return 0;
    }
    let is_healthy = sender.role == Role::Healthy;
    let is_cause = about.role.causes().iter().any(|cause| cause.entity == message.sender);
    match belief.label {
        Label::Healthy if belief.evidence.is_empty() => 0,
        // A callee that fails and did not strike says the truth or not; it bears on nothing.
        Label::Healthy | Label::Symptom | Label::Origin if !is_healthy && !is_cause => 0,
        Label::Healthy => sign(is_healthy),
        Label::Symptom | Label::Origin => sign(is_cause),
        Label::Defer => 0,
    }
}

#[cfg(test)]
mod tests {
    use eog_core::{Belief, Decision};

    use super::*;
    use crate::truth::{Shape, TruthSpec};
    use eog_testkit::claim;

    /// A chain whose origin has a caller, which it strikes or not, and a healthy callee.
    fn chain(propagation: f64) -> (TruthGraph, [EntityId; 3]) {
        let spec = TruthSpec {
            shape: Shape::Chain,
            entities: 12,
            propagation,
            decoys: 0.0,
            undeclared: 0.0,
            ..TruthSpec::default()
        };
        let in_the_middle = |seed| {
            let truth = TruthGraph::generate(&spec, seed).expect("is a good spec");
            let origin = truth.origins().pop_first()?;
            let callee = truth.get(&origin)?.calls.first()?.clone();
            let caller = truth.entities().find(|(_, other)| other.calls.contains(&origin))?.0;
            let caller = caller.clone();
            Some((truth, [caller, origin, callee]))
        };
        (0_u64..).find_map(in_the_middle).expect("seeds do not end")
    }

    fn message(sender: &EntityId, truth: &TruthGraph, decision: Decision) -> Message {
        let evidence = &truth.get(sender).expect("is there").context.findings;
        let Decision { label, summary, evidence, claims, .. } = decision.citing(evidence);
        Message {
            sender: sender.clone(),
            belief: Belief {
                label,
                summary,
                evidence,
                claims,
                since: None,
                explains: None,
                rule: None,
                measures: None,
            },
        }
    }

    #[test]
    fn true_words_count_for_and_untrue_ones_against() {
        let (truth, [caller, origin, callee]) = chain(1.0);
        let says =
            |sender: &EntityId, label| message(sender, &truth, Decision::new(label, "says so"));
        let blames = |sender: &EntityId, cause: &EntityId| {
            let evidence = &truth.get(sender).expect("is there").context.findings;
            let blame = claim(cause.as_str(), sender.as_str(), evidence);
            message(sender, &truth, Decision::new(Label::Symptom, "suffers").claiming(blame))
        };
        for (about, message, expected) in [
            (&origin, blames(&caller, &origin), 1),
            (&callee, blames(&origin, &callee), -1),
            (&origin, says(&callee, Label::Healthy), 1),
            (&origin, says(&callee, Label::Origin), -1),
            (&origin, says(&callee, Label::Defer), 0),
            (&caller, says(&origin, Label::Origin), 1),
            (&caller, says(&origin, Label::Symptom), 1),
            (&caller, says(&origin, Label::Healthy), -1),
            (&origin, says(&caller, Label::Symptom), 0),
            (&callee, says(&origin, Label::Origin), 0),
        ] {
            assert_eq!(bearing(&truth, about, &message), expected, "{about}: {message:?}");
        }
        let both = [blames(&caller, &origin), says(&callee, Label::Healthy)];
        assert_eq!(balance(&truth, &origin, &both), 2);
    }

    #[test]
    fn a_callee_that_fails_and_did_not_strike_says_nothing() {
        let (truth, [caller, origin, _]) = chain(0.0);
        for label in [Label::Origin, Label::Symptom, Label::Healthy] {
            let message = message(&origin, &truth, Decision::new(label, "says so"));
            assert_eq!(bearing(&truth, &caller, &message), 0, "{label}");
        }
    }
}
