//! Tests of the policy.

use super::EvidencePolicy;
use super::terms::{TERMS, WEIGHTS};

#[test]
fn the_shipped_table_has_a_weight_for_each_term_in_its_order() {
    assert_eq!(WEIGHTS.version, 1);
    let named: Vec<&str> = WEIGHTS.terms.iter().map(|weight| weight.name.as_str()).collect();
    let terms: Vec<&str> = TERMS.iter().map(|term| term.name).collect();
    assert_eq!(named, terms);
    assert!(WEIGHTS.decision.dead_end < WEIGHTS.decision.origin);
    assert_eq!(EvidencePolicy::weights().count(), TERMS.len());
}
