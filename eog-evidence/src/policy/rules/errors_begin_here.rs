//! The rule *errors begin here*.

use eog_core::{Decision, EntityId, Label};

use crate::policy::answer::{decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::felt::claim_those_who_feel_it;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "errors begin here",
    when: "of requests with error lines here and elsewhere, more than usual have the first one here, and requests are not known to fail as ever",
    decides: "`origin` without a change; itself → neighbours that rest on it without calling it, such as its service, and do worse without naming it, at most three",
    nature: Nature::Traced,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Errors begin here.** Lines that name their request tell who complained first: nobody had failed
/// before whom this entity asked, or it would have said so. Rules that see calls fail or take longer come before, since who
/// is asked may write nothing.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let begun = facts.errors_begun().next().filter(|_| !facts.fails_as_usual())?;
    let summary = format!("errors begin here: {}", quote(begun));
    let mut decision = decide(Label::Origin, &summary, [begun]);
    rate(&mut decision, facts.entity, 500);
    // A whole measures no calls to its parts.
    let is_told = |other: &EntityId| !facts.is_called_by(other);
    Some(claim_those_who_feel_it(decision, facts, is_told, &quote(begun), &[begun.id()]))
}
