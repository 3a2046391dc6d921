//! What no model answers is judged by the evidence policy, where that stands behind it.

use eog_core::{BudgetKind, Decision, Failure, try_policy_fn};
use eog_evidence::{EvidencePolicy, OrEvidence};
use eog_testkit::{ask, finding, packet};

#[test]
fn what_fails_is_judged_by_evidence_and_says_so() {
    let packet = packet("db").finding(finding("db").measured(900.0, 20.0, "ms").build()).build();
    let absent =
        OrEvidence(try_policy_fn(|_| Err::<Decision, _>(Failure::policy("it does not answer"))));
    let decision = ask(&absent, &packet).unwrap().decision;
    let own = EvidencePolicy::default().judge(&packet);
    assert_eq!((decision.label, &decision.evidence), (own.label, &own.evidence));
    assert!(decision.summary.ends_with("[judged without a model: it does not answer]"));
    let used_up = OrEvidence(try_policy_fn(|_| {
        Err::<Decision, _>(Failure {
            exhausted: Some(BudgetKind::Tokens),
            ..Failure::policy("no more tokens")
        })
    }));
    assert!(ask(&used_up, &packet).is_err(), "a budget is not evaded");
}
