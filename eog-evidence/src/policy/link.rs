//! How a change elsewhere comes over one hop, in words.

use eog_core::incident::{CLAIM_RELATION, Direction};
use eog_core::{EntityId, Finding};

use super::answer::quote;
use super::facts::Facts;

/// How a change elsewhere comes over one hop: the declared relation, and what was changed.
pub(super) fn link(facts: &Facts<'_>, hop: &EntityId, route: &Finding) -> String {
    let mut declared = facts.packet.neighbours.iter().filter(|neighbour| {
        neighbour.entity == *hop
            && neighbour.relation != CLAIM_RELATION
            && neighbour.direction != Direction::Downstream
    });
    let relation = declared.next().map_or_else(
        || format!("{hop} affects {}", facts.entity),
        |neighbour| {
            let relation = neighbour.relation.replace('_', " ");
            if neighbour.outgoing {
                format!("{} {relation} {hop}", facts.entity)
            } else {
                format!("{hop} {relation} {}", facts.entity)
            }
        },
    );
    let change = route.change.as_ref();
    let change = change.map_or_else(|| quote(route), crate::text::change_in_words);
    format!("{relation}, on the path of the change of {change}")
}
