//! Traces as trees: who worked when within a request, where its error began, which calls were made again, and
//! how long a message waited.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use eog_core::EntityId;

use super::numbers::Numbers;
use super::traced::TracedSpan;

/// Most steps from a request to what was done for it.
const MAX_DEPTH: usize = 64;

/// A span in its tree. Times are milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
struct Node {
    entity: u32,
    callee: Option<u32>,
    operation: u32,
    begin: f64,
    end: f64,
    failed: Option<bool>,
    parent: Option<u32>,
    /// An equal call of the same request had failed before.
    again: bool,
    /// An equal call of the same request went well later.
    made_good: bool,
}

/// All spans whose places are known. Nodes have the numbers of the spans that they were made from.
#[derive(Clone, Debug, Default)]
pub(super) struct Trees {
    nodes: Vec<Option<Node>>,
    /// Children by parent; of one parent those first that end last.
    children: Vec<(u32, u32)>,
    names: Vec<EntityId>,
    operations: Arc<Vec<String>>,
}

/// The entity that had some time of a request, or where its error began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whose<'a> {
    /// The work of an entity on an operation.
    Work(&'a EntityId, &'a str),
    /// Between a caller and a callee.
    Way(&'a EntityId, &'a EntityId),
}

impl Trees {
    pub(super) fn of(spans: &[TracedSpan<'_>], numbers: &Numbers) -> Self {
        if spans.iter().all(|span| span.place.is_none()) {
            return Self::default();
        }
        let mut trees = Self {
            nodes: Vec::with_capacity(spans.len()),
            children: Vec::new(),
            names: numbers.entities.clone(),
            operations: Arc::clone(&numbers.operations),
        };
        // Look-ups alone.
        let callers = spans.iter().filter(|span| span.callee.is_some()).count();
        let mut made = HashMap::with_capacity(callers);
        let mut served = HashMap::with_capacity(spans.len() - callers);
        for (number, span) in spans.iter().enumerate() {
            let Some(place) = span.place else { continue };
            let ids = if span.callee.is_some() { &mut made } else { &mut served };
            // Of spans that claim one id the first counts.
            ids.entry(place.span).or_insert(number as u32);
        }
        for (number, (span, named)) in spans.iter().zip(&numbers.spans).enumerate() {
            let node = span.place.filter(|_| span.duration_ms.is_finite()).map(|place| {
                let of = |ids: &HashMap<u64, u32>, id: u64| ids.get(&id).copied();
                let above = || {
                    let parent = place.parent?;
                    match span.callee {
                        None => of(&made, parent).or_else(|| of(&served, parent)),
                        Some(_) => of(&served, parent).or_else(|| of(&made, parent)),
                    }
                };
                // A call and what became of it may share an id.
                let shared = of(&made, place.span).filter(|_| span.callee.is_none());
                let parent = shared.or_else(above).filter(|parent| *parent != number as u32);
                let begin = span.time.as_nanosecond() as f64 / 1e6;
                Node {
                    entity: named.entity,
                    callee: named.callee,
                    operation: named.operation,
                    begin,
                    end: begin + span.duration_ms.max(0.0),
                    failed: span.failed,
                    parent,
                    again: false,
                    made_good: false,
                }
            });
            trees.nodes.push(node);
        }
        let parents = trees.nodes.iter().enumerate();
        let mut children: Vec<(u32, u32)> =
            parents.filter_map(|(at, node)| Some(((*node)?.parent?, at as u32))).collect();
        let end = |at: u32| trees.node(at).map_or(0.0, |node| node.end);
        children.sort_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| end(b.1).total_cmp(&end(a.1))).then(a.1.cmp(&b.1))
        });
        trees.children = children;
        trees.separate_attempts();
        trees
    }

    /// Tells which calls are further attempts, and which failures were made good by one.
    fn separate_attempts(&mut self) {
        let Self { nodes, children, .. } = self;
        for siblings in children.chunk_by(|a, b| a.0 == b.0) {
            // Of equal calls: when the first failure ended, and when the last success began.
            let mut attempts: BTreeMap<(u32, u32), (f64, f64)> = BTreeMap::new();
            let calls = |nodes: &[Option<Node>], at: u32| {
                let node = nodes.get(at as usize).copied().flatten()?;
                Some((node, (node.callee?, node.operation)))
            };
            for (node, key) in siblings.iter().filter_map(|(_, at)| calls(nodes, *at)) {
                let known = attempts.entry(key).or_insert((f64::INFINITY, f64::NEG_INFINITY));
                match node.failed {
                    Some(true) => known.0 = known.0.min(node.end),
                    Some(false) => known.1 = known.1.max(node.begin),
                    None => {}
                }
            }
            for (_, at) in siblings {
                let Some((node, key)) = calls(nodes, *at) else { continue };
                let Some((failed, went_well)) = attempts.get(&key).copied() else { continue };
                if let Some(Some(slot)) = nodes.get_mut(*at as usize) {
                    slot.again = node.end > node.begin && failed <= node.begin;
                    slot.made_good = node.failed == Some(true) && went_well >= node.end;
                }
            }
        }
    }

    fn node(&self, at: u32) -> Option<Node> {
        self.nodes.get(at as usize).copied().flatten()
    }

    fn children(&self, of: u32) -> impl DoubleEndedIterator<Item = (u32, Node)> {
        let from = self.children.partition_point(|(parent, _)| *parent < of);
        let to = self.children.partition_point(|(parent, _)| *parent <= of);
        let all = self.children.get(from..to).unwrap_or_default();
        all.iter().filter_map(|(_, child)| Some((*child, self.node(*child)?)))
    }

    fn name(&self, number: u32) -> Option<&EntityId> {
        self.names.get(number as usize)
    }

    fn whose(&self, node: &Node) -> Option<Whose<'_>> {
        let entity = self.name(node.entity)?;
        let operation = self.operations.get(node.operation as usize).map_or("", String::as_str);
        Some(match node.callee {
            None => Whose::Work(entity, operation),
            Some(callee) => Whose::Way(entity, self.name(callee)?),
        })
    }

    /// Whether the place of a span is known.
    pub(super) fn is_placed(&self, at: u32) -> bool {
        self.node(at).is_some()
    }

    /// The calls of a request, with whether they failed; those first that ended last.
    pub(super) fn calls_of(&self, at: u32) -> impl Iterator<Item = (&EntityId, Option<bool>)> {
        let calls = self.children(at).filter_map(|(_, one)| Some((one.callee?, one.failed)));
        calls.filter_map(|(callee, failed)| Some((self.name(callee)?, failed)))
    }

    /// What a request worked itself, in milliseconds: what its calls that are waited for leave.
    pub(super) fn own_ms(&self, at: u32) -> Option<f64> {
        let node = self.node(at)?;
        let mut own = node.end - node.begin;
        self.waits(at, &node, (node.begin, node.end), 0.0, |_, (from, to), _| own -= to - from);
        Some(own.max(0.0))
    }

    /// For each span, where it is a call of a request, how much of it is waited for, in milliseconds.
    pub(super) fn waited_for(&self) -> Vec<Option<f64>> {
        let mut all = vec![None; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            let Some(node) = node.filter(|node| node.callee.is_none()) else { continue };
            let at = at as u32;
            for (child, _) in self.children(at).filter(|(_, one)| one.callee.is_some()) {
                all[child as usize] = Some(0.0);
            }
            self.waits(at, &node, (node.begin, node.end), 0.0, |child, (from, to), _| {
                if let Some(Some(waited)) = all.get_mut(child as usize) {
                    *waited += to - from;
                }
            });
        }
        all
    }

    /// The server of a call, and how much longer the call took than serving it, in milliseconds: the time on the way, both
    /// ways, and waiting at either end. Nothing where serving took longer, as work on a message does.
    pub(super) fn on_the_way(&self, at: u32) -> Option<(&EntityId, f64)> {
        let call = self.node(at).filter(|node| node.callee.is_some())?;
        let (_, served) = self.children(at).find(|(_, one)| one.callee.is_none())?;
        let ms = (call.end - call.begin) - (served.end - served.begin);
        Some((self.name(served.entity)?, ms)).filter(|(_, ms)| *ms >= 0.0)
    }

    /// The critical path of a span within some time: from its end backwards, it waits for the child that ended last;
    /// before that began, for the one that had ended last by then, and so on. Clocks of machines differ: what was
    /// recorded elsewhere, is shorter, and lies outside of the call is moved to its middle, as trace viewers do (Jaeger's
    /// clock skew adjustment). What takes longer than its call is not waited for beyond it, such as work on a message.
    fn waits(
        &self,
        at: u32,
        node: &Node,
        (from, to): (f64, f64),
        shift: f64,
        mut each: impl FnMut(u32, (f64, f64), f64),
    ) {
        let (begin, end) = (node.begin + shift, node.end + shift);
        let mut until = to;
        for (child, one) in self.children(at) {
            let (mut first, mut last) = (one.begin + shift, one.end + shift);
            let is_elsewhere = one.entity != node.entity && (first < begin || last > end);

            let is_sent = node.callee != Some(one.entity) && first >= end;
            let spare = (end - begin) - (last - first);
            let moved = if is_elsewhere && !is_sent && spare >= 0.0 {
                begin + spare / 2.0 - first
            } else {
                0.0
            };
            (first, last) = (first + moved, last + moved);
            let (start, stop) = (first.max(from), last.min(until));
            if stop > start {
                each(child, (start, stop), shift + moved);
                until = start;
            }
        }
    }

    /// The time of a request by entity, along its critical path, in milliseconds.
    pub(super) fn along_the_path<'a>(&'a self, at: u32, mut add: impl FnMut(Whose<'a>, f64)) {
        let Some(root) = self.node(at) else { return };
        let mut open = vec![(at, (root.begin, root.end), 0.0, 0)];
        while let Some((at, within, shift, depth)) = open.pop() {
            let Some(node) = self.node(at) else { continue };
            let mut own = within.1 - within.0;
            if depth < MAX_DEPTH {
                self.waits(at, &node, within, shift, |child, part, shift| {
                    own -= part.1 - part.0;
                    open.push((child, part, shift, depth + 1));
                });
            }
            if let Some(whose) = self.whose(&node) {
                add(whose, own.max(0.0));
            }
        }
    }

    /// Where the error of a failed request began: at the failed span within it none of whose own calls failed for good.
    /// A call that was made again and went well passes nothing on.
    pub(super) fn first_error(&self, at: u32) -> Option<Whose<'_>> {
        let mut last = (at, self.node(at)?);
        for _ in 0..MAX_DEPTH {
            match self.passed_on(last.0) {
                Some(deeper) => last = deeper,
                None => break,
            }
        }
        self.whose(&last.1)
    }

    /// The failed child of a failed span that it passes on: the last to end.
    fn passed_on(&self, at: u32) -> Option<(u32, Node)> {
        self.children(at).find(|(_, one)| one.failed == Some(true) && !one.made_good)
    }

    /// Whether a request that failed has only itself to blame; nothing where it went well or is not known.
    pub(super) fn begins_error(&self, at: u32) -> Option<bool> {
        let failed = self.node(at)?.failed?;
        Some(failed && self.passed_on(at).is_none())
    }

    /// Whether a call that failed was passed on as a failure of the request that made it.
    pub(super) fn is_passed_on(&self, at: u32) -> Option<bool> {
        let node = self.node(at)?;
        let above = self.node(node.parent?)?;
        Some(node.failed? && above.failed? && !node.made_good)
    }

    /// Whether a call was made because an equal one within the same request had failed before.
    pub(super) fn is_made_again(&self, at: u32) -> Option<bool> {
        self.node(at).filter(|node| node.parent.is_some()).map(|node| node.again)
    }

    /// How long a request waited until a receiver worked on it, in milliseconds, where its sender did not wait for it: from
    /// the end of the span that sent it. So it is where that span names another callee, such as a queue, or is
    /// shorter than the work; other spans outside of their callers' come of clocks that differ.
    pub(super) fn wait_ms(&self, at: u32) -> Option<f64> {
        let node = self.node(at).filter(|node| node.callee.is_none())?;
        let sent = self.node(node.parent?).filter(|sent| sent.callee.is_some())?;
        let is_sent =
            sent.callee != Some(node.entity) || node.end - node.begin > sent.end - sent.begin;
        (is_sent && node.begin >= sent.end).then_some(node.begin - sent.end)
    }
}
