//! The rule *does not answer*.

use eog_core::evidence::PeerRole;
use eog_core::{Decision, EvidenceKind, Finding, Label};

use crate::policy::answer::{decide, rate};
use crate::policy::elsewhere::fails_by_itself_elsewhere;
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};
use crate::signs::role;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "does not answer",
    when: "accused by a caller, no evidence but what callers see of it, and nobody is upstream of it, or the search ends here; not beside an origin that fails by itself",
    decides: "`origin` without a change if there is anything to cite, else `defer`",
    nature: Nature::Inferred,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Does not answer.** Callers find that calls to the entity fail or are slow, and it has no
/// telemetry of its own: an outside service, or one that is away. Where nothing lies behind it, it
/// is where the trouble begins, as far as anything on record goes. No change is cited.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let by_callers = |finding: &Finding| {
        finding.kind == EvidenceKind::Note || role(finding) == Some(PeerRole::Caller)
    };
    let is_silent = facts.findings().iter().all(by_callers);
    let is_last = facts.upstream().is_empty() || facts.at_dead_end();
    let accusers = || facts.accusations.iter().filter(|(sender, _)| facts.is_called_by(sender));
    let (sender, claim) = accusers().next()?;
    let is_found = fails_by_itself_elsewhere(facts.harm_since(), None, facts).is_some();
    if !is_silent || !is_last || !facts.routes.is_empty() || is_found {
        return None;
    }
    let summary = format!(
        "does not answer: {sender} finds: {}; nothing that {} says of itself is on record, no \
         change either",
        crate::text::shorten(&claim.observed, 160),
        facts.entity
    );
    // An origin needs evidence of its own: what callers see of it, else what was noted of it.
    let label = if facts.findings().is_empty() { Label::Defer } else { Label::Origin };
    let harms = facts.harms.iter().take(3).copied();
    let mut decision = match facts.harms.is_empty() {
        true => decide(label, &summary, facts.findings()),
        false => decide(label, &summary, harms),
    };
    rate(&mut decision, facts.entity, 500);
    Some(decision)
}
