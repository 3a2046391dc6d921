//! The public view of a node.

use serde::Serialize;

use super::{Ix, Phase, PrunedBy, Tree};
use crate::body::{Action, Metadata};
use crate::id::NodeId;

/// A node as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NodeView<'t> {
    /// Its name.
    pub id: NodeId,
    /// What it does; nothing at the root.
    pub action: Option<&'t Action>,
    /// Its state.
    pub phase: Phase,
    /// Value or score, from 0 to 1000, if it has one.
    pub score: Option<u16>,
    /// What an evaluator said beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<&'t Metadata>,
    /// How many simulations went through it. Always 0 where none are made.
    pub visits: u32,
    /// The rewards of these, added up.
    pub total: u64,
    /// How many selections below it are not committed yet.
    pub under_way: u32,
    /// Whether a trajectory ends here.
    pub terminal: bool,
    /// Whether it is closed.
    pub closed: bool,
    /// Whether it needs no children.
    pub held: bool,
    /// The role that pruned it, or set it aside.
    pub pruned_by: Option<PrunedBy>,
    /// The ledger entry that records its evaluation.
    pub entry: Option<u64>,
}

impl Tree {
    pub(super) fn view(&self, ix: Ix) -> NodeView<'_> {
        let node = self.node(ix);
        NodeView {
            id: self.id(ix),
            action: node.action.as_deref(),
            phase: node.phase,
            score: node.score(),
            metadata: self.metadata(ix),
            visits: node.visits,
            total: node.total,
            under_way: node.under_way,
            terminal: node.flags.terminal,
            closed: node.flags.closed,
            held: node.flags.held,
            pruned_by: node.pruned_by,
            entry: node.entry(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tree::Node;

    #[test]
    fn a_node_is_small() {
        let size = size_of::<Node>();
        assert!(size <= 96, "{size} bytes");
    }
}
