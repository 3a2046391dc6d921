//! The rule *no findings*.

use eog_core::evidence::Signal;
use eog_core::{Decision, EvidenceKind, Label};

use crate::policy::answer::{decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "no findings",
    when: "no findings at all",
    decides: "`defer`",
    nature: Nature::Other,
    propose: |facts| Explanation::unexplained(propose(facts)),
};

/// **No findings.** Nothing is known about the entity.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    // What was recorded and cannot be judged is told by a note without any quantity.
    let notes = || facts.findings().iter().filter(|note| note.kind == EvidenceKind::Note);
    let too_few = notes().find(|note| note.signal == Signal::Other && note.quantity.is_none());
    let summary = match too_few {
        Some(note) => quote(note),
        None => format!("no findings: nothing is known about {} in the window", facts.entity),
    };
    let mut decision = decide(Label::Defer, &summary, too_few);
    rate(&mut decision, facts.entity, 50);
    Some(decision)
}
