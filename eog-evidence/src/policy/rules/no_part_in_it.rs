//! The rule *no part in it*.

use eog_core::{Decision, Label};

use crate::policy::answer::{decide, quote, rate};
use crate::policy::books::has_no_part;
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "no part in it",
    when: "no alert here, and less than a tenth of what any alert that it reaches shows can have come from here or passed through here",
    decides: "`healthy`",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **No part in it.** Time lost and requests failed are measured here and where the alerts are, and what
/// is too much here is next to nothing of what is too much there. Whatever was changed here, or behind it,
/// does not show.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    if facts.alerted().next().is_some() {
        return None;
    }
    let part = has_no_part(facts)?;
    let summary = format!("no part in it: {}", quote(part));
    let mut decision = decide(Label::Healthy, &summary, [part]);
    rate(&mut decision, facts.entity, 0);
    Some(decision)
}
