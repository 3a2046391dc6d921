//! The tree: nodes in an arena, and what selection, backup and pruning keep of them.

mod links;
mod view;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::arithmetic::{ln, upper_bound};
use crate::body::{Action, Metadata, Verdict};
use crate::config::Backup;
use crate::id::NodeId;
#[cfg(feature = "planted-faults")]
use crate::planted::{PlantedFault, is_planted};

pub use view::NodeView;

/// The index of a node in the arena; the root is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ix(u32);

impl Ix {
    pub(crate) const ROOT: Self = Self(0);
    /// In place of a link that leads nowhere, and of an entry that there is not.
    const NONE: u32 = u32::MAX;
}

/// The state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// Nothing was done yet.
    Pending,
    /// Its action is under way, or its score.
    Running,
    /// It has a score. The root is here from the beginning, without one.
    Scored,
    /// Its action failed.
    Failed,
    /// It ran, and its score failed.
    EvalFailed,
    /// It is not followed any further.
    Pruned,
    /// It is the result.
    Solution,
}

/// The role that pruned a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PrunedBy {
    /// The planner.
    Planner,
    /// The evaluator.
    Evaluator,
    /// Others of its level have higher scores.
    Beam,
    /// No simulation went through it, and its value is low: it is only set aside.
    Unvisited,
    /// Its path went back to where it last made progress, or was given up.
    Backtracked,
    /// Nothing was left to do on the path.
    Blocked,
    /// It was replaced by another path.
    Rewritten,
}

/// One node. Small, since a tree may have a million: what it did and saw stands in the ledger.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    action: Option<Arc<Action>>,
    /// Rewards of all simulations from here or below.
    total: u64,
    /// The highest of them.
    best: u16,
    visits: u32,
    /// Selections below that are not committed yet.
    under_way: u32,
    parent: u32,
    first_child: u32,
    last_child: u32,
    next_sibling: u32,
    ordinal: u32,
    children: u32,
    open_children: u32,
    selectable_children: u32,
    /// The entry that records its evaluation.
    entry: u32,
    score: u16,
    depth: u16,
    pub(crate) phase: Phase,
    pruned_by: Option<PrunedBy>,
    flags: Flags,
}

/// Flags of a node.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    /// It is closed.
    closed: bool,
    /// A round that began here is not over.
    busy: bool,
    set_aside: bool,
    /// A trajectory ends here.
    terminal: bool,
    has_score: bool,
    held: bool,
    /// What [`Tree::refresh`] found last.
    selectable: bool,
}

/// The tree of a search. Nodes are named by the path to them ([`NodeId`]).
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    /// Leaves that were set aside, by value.
    set_aside: BTreeMap<Reverse<u16>, BTreeSet<Ix>>,
    /// What evaluators said of nodes beside scores.
    metadata: BTreeMap<Ix, Metadata>,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let mut root = Node::new(None, Ix::NONE, 0, 0);
        root.phase = Phase::Scored;
        root.flags.selectable = true;
        Self { nodes: vec![root], set_aside: BTreeMap::new(), metadata: BTreeMap::new() }
    }

    /// How many nodes it has, with the root.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// A tree has a root always.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Every node as it stands, parents before children.
    pub fn nodes(&self) -> impl Iterator<Item = NodeView<'_>> {
        self.indexes().map(|ix| self.view(ix))
    }

    pub(crate) fn indexes(&self) -> impl Iterator<Item = Ix> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(Ix::NONE)).map(Ix)
    }

    pub(crate) fn node(&self, ix: Ix) -> &Node {
        &self.nodes[ix.0 as usize]
    }

    pub(crate) fn node_mut(&mut self, ix: Ix) -> &mut Node {
        &mut self.nodes[ix.0 as usize]
    }

    /// Keeps the score of a node, and what was said beside it.
    pub(crate) fn judge(&mut self, ix: Ix, verdict: &Verdict) {
        self.node_mut(ix).set_score(verdict.score);
        match verdict.metadata.is_empty() {
            true => self.metadata.remove(&ix),
            false => self.metadata.insert(ix, verdict.metadata.clone()),
        };
    }

    /// What an evaluator said of a node beside its score, if anything.
    pub(crate) fn metadata(&self, ix: Ix) -> Option<&Metadata> {
        self.metadata.get(&ix)
    }

    /// Adds a node below another.
    pub(crate) fn add(&mut self, parent: Ix, action: Arc<Action>) -> Ix {
        let ix = Ix(u32::try_from(self.nodes.len()).unwrap_or(Ix::NONE));
        let above = self.node_mut(parent);
        above.children += 1;
        above.open_children += 1;
        let (ordinal, depth, last) = (above.children, above.depth + 1, above.last_child);
        above.last_child = ix.0;
        match last {
            Ix::NONE => above.first_child = ix.0,
            last => self.nodes[last as usize].next_sibling = ix.0,
        }
        self.nodes.push(Node::new(Some(action), parent.0, ordinal, depth));
        self.refresh(ix);
        ix
    }

    /// Notes that a round begins at a leaf: its selection counts as a visit without reward on the way to
    /// it until the round is over (virtual loss).
    pub(crate) fn begin(&mut self, leaf: Ix) {
        self.set_busy(leaf, true);
        for ix in self.up_from(leaf) {
            self.node_mut(ix).under_way += 1;
        }
    }

    /// Notes that a round is over.
    pub(crate) fn finish(&mut self, leaf: Ix) {
        for ix in self.up_from(leaf) {
            self.node_mut(ix).under_way -= 1;
        }
        self.set_busy(leaf, false);
    }

    fn set_busy(&mut self, ix: Ix, busy: bool) {
        self.node_mut(ix).flags.busy = busy;
        self.refresh(ix);
    }

    /// Adds a reward to a node and all above it.
    pub(crate) fn back_up(&mut self, from: Ix, reward: u16) {
        for ix in self.up_from(from) {
            let node = self.node_mut(ix);
            node.visits += 1;
            node.total += u64::from(reward);
            node.best = node.best.max(reward);
            #[cfg(feature = "planted-faults")]
            if is_planted(PlantedFault::DividesTwice) && ix == Ix::ROOT {
                node.total /= u64::from(node.visits);
            }
        }
    }

    /// Closes a node, and every node above it whose children are all closed.
    pub(crate) fn close(&mut self, ix: Ix) {
        let mut next = Some(ix);
        while let Some(ix) = next.take() {
            let node = self.node_mut(ix);
            if std::mem::replace(&mut node.flags.closed, true) {
                return;
            }
            self.bring_back(ix);
            self.refresh(ix);
            if let Some(parent) = self.parent(ix) {
                let above = self.node_mut(parent);
                above.open_children -= 1;
                next = (above.open_children == 0).then_some(parent);
            }
        }
    }

    pub(crate) fn is_closed(&self, ix: Ix) -> bool {
        self.node(ix).flags.closed
    }

    /// Sets a leaf aside.
    pub(crate) fn put_aside(&mut self, ix: Ix) {
        let node = self.node_mut(ix);
        if node.flags.closed || std::mem::replace(&mut node.flags.set_aside, true) {
            return;
        }
        node.pruned_by = Some(PrunedBy::Unvisited);
        let value = Reverse(node.score);
        self.set_aside.entry(value).or_default().insert(ix);
        self.refresh(ix);
    }

    fn bring_back(&mut self, ix: Ix) {
        let node = self.node_mut(ix);
        if !std::mem::replace(&mut node.flags.set_aside, false) {
            return;
        }
        node.pruned_by = None;
        let value = Reverse(node.score);
        if let Some(others) = self.set_aside.get_mut(&value) {
            others.remove(&ix);
            if others.is_empty() {
                self.set_aside.remove(&value);
            }
        }
        self.refresh(ix);
    }

    /// Brings back the best of the leaves that were set aside: the highest value, then the path.
    pub(crate) fn bring_back_best(&mut self) -> Option<Ix> {
        let (_, best) = self.set_aside.first_key_value()?;
        let best = best.iter().copied().min_by_key(|ix| self.id(*ix))?;
        self.bring_back(best);
        Some(best)
    }

    /// The leaf that the next round begins at, by upper confidence bounds; nothing if none can be
    /// selected. `c` is the factor of exploration in Q32. The bound is over the mean of the rewards, or
    /// over the highest of them, which a selection under way does not lower.
    pub(crate) fn select(&self, c: u64, backup: Backup) -> Option<Ix> {
        let mut ix = Ix::ROOT;
        if !self.node(ix).flags.selectable {
            return None;
        }
        while self.node(ix).children > 0 {
            #[cfg(feature = "planted-faults")]
            if is_planted(PlantedFault::NoDescent) && ix != Ix::ROOT {
                break;
            }
            let around = ln(self.node(ix).seen());
            // Of equal ones the first: `max_by_key` gives the last, so the order is turned round.
            let selectable = self.children(ix).filter(|child| self.node(*child).flags.selectable);
            ix = selectable.max_by_key(|child| {
                let node = self.node(*child);
                let by_value = (true, u128::from(node.score));
                let total = match backup {
                    Backup::Max => u64::from(node.best) * node.seen(),
                    Backup::Mean | Backup::None => node.total,
                };
                let by_bound = || (false, upper_bound(total, node.seen(), around, c));
                let key = if node.seen() == 0 { by_value } else { by_bound() };
                (key, Reverse(node.ordinal))
            })?;
        }
        Some(ix)
    }

    /// Whether it can be selected: open, not set aside, not under way, and a leaf or above one that can.
    fn can_be_selected(&self, ix: Ix) -> bool {
        let Node { flags, children, selectable_children, .. } = self.node(ix);
        let bars = flags.closed || flags.set_aside || flags.busy;
        !bars && (*children == 0 || *selectable_children > 0)
    }

    /// Finds out again whether a node, and so those above it, can be selected.
    fn refresh(&mut self, ix: Ix) {
        let mut next = Some(ix);
        while let Some(ix) = next.take() {
            let now = self.can_be_selected(ix);
            if std::mem::replace(&mut self.node_mut(ix).flags.selectable, now) == now {
                return;
            }
            if let Some(parent) = self.parent(ix) {
                let above = &mut self.node_mut(parent).selectable_children;
                *above = if now { *above + 1 } else { *above - 1 };
                next = Some(parent);
            }
        }
    }

    /// The name of a node.
    pub(crate) fn id(&self, ix: Ix) -> NodeId {
        let mut ordinals: Vec<u32> =
            self.up_from(ix).iter().map(|ix| self.node(*ix).ordinal).collect();
        ordinals.pop();
        ordinals.reverse();
        NodeId::of(ordinals)
    }
}

impl Node {
    fn new(action: Option<Arc<Action>>, parent: u32, ordinal: u32, depth: u16) -> Self {
        Self {
            action,
            total: 0,
            best: 0,
            visits: 0,
            under_way: 0,
            parent,
            first_child: Ix::NONE,
            last_child: Ix::NONE,
            next_sibling: Ix::NONE,
            ordinal,
            children: 0,
            open_children: 0,
            selectable_children: 0,
            entry: Ix::NONE,
            score: 0,
            depth,
            phase: Phase::Pending,
            pruned_by: None,
            flags: Flags::default(),
        }
    }

    /// Visits, with those that are under way.
    pub(crate) fn seen(&self) -> u64 {
        #[cfg(feature = "planted-faults")]
        if is_planted(PlantedFault::ForgetsVirtualLoss) {
            return u64::from(self.visits);
        }
        u64::from(self.visits) + u64::from(self.under_way)
    }

    /// What it does; nothing at the root.
    pub(crate) fn action(&self) -> Option<&Arc<Action>> {
        self.action.as_ref()
    }

    pub(crate) fn depth(&self) -> u32 {
        u32::from(self.depth)
    }

    pub(crate) fn visits(&self) -> u32 {
        self.visits
    }

    /// Value or score, if it has one.
    pub(crate) fn score(&self) -> Option<u16> {
        self.flags.has_score.then_some(self.score)
    }

    pub(crate) fn set_score(&mut self, score: u16) {
        (self.score, self.flags.has_score) = (score, true);
    }

    /// The entry that records its evaluation, if it was made.
    pub(crate) fn entry(&self) -> Option<u64> {
        (self.entry != Ix::NONE).then_some(u64::from(self.entry))
    }

    pub(crate) fn set_entry(&mut self, entry: u64) {
        self.entry = u32::try_from(entry).unwrap_or(Ix::NONE);
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.flags.terminal
    }

    pub(crate) fn end_here(&mut self) {
        self.flags.terminal = true;
    }

    pub(crate) fn is_held(&self) -> bool {
        self.flags.held
    }

    pub(crate) fn hold(&mut self) {
        self.flags.held = true;
    }

    pub(crate) fn prune(&mut self, by: PrunedBy) {
        if self.phase != Phase::Pruned {
            (self.phase, self.pruned_by) = (Phase::Pruned, Some(by));
        }
    }
}
