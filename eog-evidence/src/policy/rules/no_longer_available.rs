//! The rule *no longer available*.

use super::own_failure::{has_own, propose};
use crate::policy::explanation::Explanation;
use crate::policy::rule::{Nature, Rule};

/// **No longer available.** The entity is down or answers less often than it should, and nobody upstream does worse. What
/// accounts for that upstream comes first, since who waits for others in vain is not available either.
pub(in crate::policy) const RULE: Rule = Rule {
    name: "no longer available",
    when: "availability is lost, as more than an alert tells, and no earlier surge, no earlier change upstream (unless the search ends here) and no degraded upstream neighbour explains it",
    decides: "as *own failure* does",
    nature: Nature::Fails,
    propose: |facts| Explanation::possible(propose(facts, RULE.name).filter(|_| !has_own(facts))),
};
