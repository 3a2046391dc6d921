//! The tree of paths: callers and callees, from the first service of a trace on.

use std::collections::BTreeMap;

use eog_core::EntityId;

use crate::evidence::{Compare, Parties};
use crate::graph::NameIndex;
use crate::store::{SpanKind, SpanRef, Spans};

/// Most nodes; what would need more counts for the service that called.
pub(super) const MAX_NODES: usize = 20_000;

/// Longest path, in services.
pub(super) const MAX_HOPS: usize = 32;

/// How far a span is followed up within one trace.
const MAX_ANCESTORS: usize = 1_000;

/// A service reached by one path.
pub(super) struct Node {
    /// Nothing for the root of all.
    pub(super) entity: Option<EntityId>,
    pub(super) parent: usize,
    /// How many services the path has, this one included.
    depth: usize,
    pub(super) children: BTreeMap<EntityId, usize>,
    pub(super) before: Side,
    pub(super) after: Side,
}

/// What happened at a node in one of the two periods.
#[derive(Default)]
pub(super) struct Side {
    /// Spans with which a request came in.
    pub(super) requests: Vec<u32>,
    /// Failed spans, also those inside of the service.
    pub(super) failed: Vec<u32>,
}

/// All paths of the spans of two periods.
pub(super) struct PathTree {
    pub(super) nodes: Vec<Node>,
    /// Spans whose path was cut because of the bounds.
    pub(super) cut: usize,
}

impl PathTree {
    /// Follows every span of the two periods up to the first span of its trace that was recorded.
    pub(super) fn new(spans: &Spans, names: &NameIndex, compare: &Compare) -> Self {
        let mut grower = Grower {
            spans,
            parties: Parties::new(spans, names),
            places: vec![None; spans.len()],
            tree: Self { nodes: vec![Node::new(None, 0, 0)], cut: 0 },
        };
        // The periods meet, and all spans are in time order.
        for (window, is_after) in [(compare.before, false), (compare.after, true)] {
            for span in spans.rows(spans.at.rows(window)) {
                grower.add(span, is_after);
            }
        }
        grower.tree
    }

    /// The nodes from the first service down to one.
    pub(super) fn path(&self, node: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut at = node;
        while let Some(found) = self.nodes.get(at).filter(|found| found.entity.is_some()) {
            path.push(at);
            at = found.parent;
        }
        path.reverse();
        path
    }

    /// The nodes at which paths end.
    pub(super) fn leaves(&self) -> impl Iterator<Item = usize> {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(|(_, node)| node.children.is_empty() && node.entity.is_some())
            .map(|(at, _)| at)
    }
}

impl Node {
    fn new(entity: Option<EntityId>, parent: usize, depth: usize) -> Self {
        let (before, after) = (Side::default(), Side::default());
        Self { entity, parent, depth, children: BTreeMap::new(), before, after }
    }

    fn side(&mut self, is_after: bool) -> &mut Side {
        if is_after { &mut self.after } else { &mut self.before }
    }
}

struct Grower<'a> {
    spans: &'a Spans,
    parties: Parties<'a>,
    /// The node of each span that was visited.
    places: Vec<Option<usize>>,
    tree: PathTree,
}

impl Grower<'_> {
    fn add(&mut self, span: SpanRef<'_>, is_after: bool) {
        let Some(place) = self.place(span) else { return };
        let above = span.parent().and_then(|parent| self.place(parent));
        let comes_in = above != Some(place);
        // No span of the callee was recorded: the caller's span describes the call.
        let untaken = matches!(span.kind(), SpanKind::Client | SpanKind::Producer)
            && span.callee_number().is_none();
        let callee = untaken.then(|| self.parties.callee(span)).flatten();
        let called = callee.map(|callee| self.child(place, callee)).filter(|node| *node != place);
        let mut record = |node: usize, is_request: bool| {
            let Some(node) = self.tree.nodes.get_mut(node) else { return };
            let side = node.side(is_after);
            if is_request {
                side.requests.push(span.row());
            }
            if span.failed() {
                side.failed.push(span.row());
            }
        };
        record(place, comes_in);
        if let Some(called) = called {
            record(called, true);
        }
    }

    /// The node of a span.
    fn place(&mut self, span: SpanRef<'_>) -> Option<usize> {
        // Up to a span whose node is known, then down again. Broken recordings may go in circles.
        let mut chain = vec![span.row()];
        let mut node = 0;
        loop {
            let top = *chain.last()?;
            if let Some(known) = self.places.get(top as usize).copied().flatten() {
                node = known;
                chain.pop();
                break;
            }
            match self.spans.get(top).parent().map(SpanRef::row) {
                Some(parent) if chain.len() < MAX_ANCESTORS && !chain.contains(&parent) => {
                    chain.push(parent);
                }
                _ => break,
            }
        }
        for at in chain.into_iter().rev() {
            if let Some(sender) = self.parties.sender(self.spans.get(at)) {
                node = self.child(node, sender);
            }
            if let Some(place) = self.places.get_mut(at as usize) {
                *place = Some(node);
            }
        }
        Some(node).filter(|node| *node != 0)
    }

    /// The node of a service below another node; the same node when it is the same service.
    fn child(&mut self, node: usize, entity: EntityId) -> usize {
        let fresh = self.tree.nodes.len();
        let Some(above) = self.tree.nodes.get_mut(node) else { return node };
        if above.entity.as_ref() == Some(&entity) {
            return node;
        }
        if let Some(known) = above.children.get(&entity) {
            return *known;
        }
        let depth = above.depth + 1;
        if fresh >= MAX_NODES || depth > MAX_HOPS {
            self.tree.cut += 1;
            return node;
        }
        above.children.insert(entity.clone(), fresh);
        self.tree.nodes.push(Node::new(Some(entity), node, depth));
        fresh
    }
}
