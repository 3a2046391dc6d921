//! Whether a belief and a neighbour's message contradict each other.

use std::collections::BTreeSet;

use crate::belief::{Belief, ClaimEdge, Label, Signature};
use crate::ids::EntityId;
use crate::incident::topology::Direction;
use crate::state::State;

/// A new belief of a sender, to compare with those of its neighbours.
pub(super) struct AtOdds<'b> {
    sender: &'b EntityId,
    belief: &'b Belief,
    before: Option<&'b Signature>,
    /// Whether it counts as silence when it judges nothing.
    is_silence: bool,
    /// The entities that effects of the sender reach, by declared edges or edges ever claimed.
    downstream: BTreeSet<EntityId>,
}

impl<'b> AtOdds<'b> {
    pub(super) fn new(
        state: &State,
        sender: &'b EntityId,
        belief: &'b Belief,
        before: Option<&'b Signature>,
        is_silence: bool,
    ) -> Self {
        let neighbours = state.neighbours(sender).into_iter();
        let downstream = neighbours.filter(|row| row.direction != Direction::Upstream);
        let downstream = downstream.map(|row| row.entity).collect();
        Self { sender, belief, before, is_silence, downstream }
    }

    /// Whether the belief of a neighbour is at odds with the sender's. A neighbour without a belief
    /// never is.
    pub(super) fn with(&self, state: &State, neighbour: &EntityId) -> bool {
        let held = state.get(neighbour).and_then(|node| node.belief.as_ref());
        held.is_some_and(|held| self.with_belief(neighbour, held))
    }

    fn with_belief(&self, neighbour: &EntityId, held: &Belief) -> bool {
        let (causes, caused) = (edge(self.sender, neighbour), edge(neighbour, self.sender));
        let is_accused = claims(held, &causes);
        let accuses = claims(self.belief, &causes);
        let claims_neighbour = claims(self.belief, &caused);
        let is_new = self.before.is_none_or(|before| {
            before.label != self.belief.label || !before.claims.contains(&caused)
        });
        let withdrew =
            !claims_neighbour && self.before.is_some_and(|before| before.claims.contains(&caused));
        let acquits = matches!(held.label, Label::Healthy | Label::Defer);
        let is_strange = !(is_accused || claims(held, &caused) || accuses || claims_neighbour);
        let denies = match self.belief.label {
            Label::Healthy => true,
            Label::Defer => !self.is_silence,
            Label::Symptom | Label::Origin => false,
        };
        (is_accused && (denies || claims_neighbour))
            || (accuses && !is_accused)
            || (claims_neighbour && is_new && acquits)
            || (withdrew && held.label == Label::Origin)
            || (is_strange
                && self.downstream.contains(neighbour)
                && matches!(self.belief.label, Label::Symptom | Label::Origin)
                && held.label != Label::Symptom)
    }
}

fn edge(cause: &EntityId, effect: &EntityId) -> ClaimEdge {
    ClaimEdge { cause: cause.clone(), effect: effect.clone() }
}

fn claims(belief: &Belief, edge: &ClaimEdge) -> bool {
    belief.claims.iter().any(|claim| claim.cause == edge.cause && claim.effect == edge.effect)
}
