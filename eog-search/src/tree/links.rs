//! The links between nodes.

use super::{Ix, Tree};
use crate::id::NodeId;

impl Tree {
    pub(crate) fn parent(&self, ix: Ix) -> Option<Ix> {
        let parent = self.node(ix).parent;
        (parent != Ix::NONE).then_some(Ix(parent))
    }

    /// The children of a node, in order.
    pub(crate) fn children(&self, ix: Ix) -> impl Iterator<Item = Ix> {
        let there = |link: u32| (link != Ix::NONE).then_some(Ix(link));
        let first = there(self.node(ix).first_child);
        std::iter::successors(first, move |child| there(self.node(*child).next_sibling))
    }

    /// A node and all above it, the root last.
    pub(crate) fn up_from(&self, ix: Ix) -> Vec<Ix> {
        let mut up = Vec::with_capacity(self.node(ix).depth as usize + 1);
        let mut next = Some(ix);
        while let Some(ix) = next {
            up.push(ix);
            next = self.parent(ix);
        }
        up
    }

    /// The way to a node, without the root.
    pub(crate) fn path(&self, ix: Ix) -> Vec<Ix> {
        let mut path = self.up_from(ix);
        path.pop();
        path.reverse();
        path
    }

    /// A node and all below it.
    pub(crate) fn down_from(&self, ix: Ix) -> Vec<Ix> {
        let mut all = vec![ix];
        let mut done = 0;
        while let Some(next) = all.get(done).copied() {
            all.extend(self.children(next));
            done += 1;
        }
        all
    }

    /// The node of this name, if there is one.
    pub(crate) fn find(&self, id: &NodeId) -> Option<Ix> {
        id.ordinals().iter().try_fold(Ix::ROOT, |ix, ordinal| {
            self.children(ix).nth(usize::try_from(*ordinal).ok()?.checked_sub(1)?)
        })
    }
}
