//! Changes of demand: a workload that only sends requests was changed, and then sent more.

use std::collections::BTreeMap;

use eog_core::evidence::{FindingContent, Signal};
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp, Window};
use jiff::SignedDuration;

use super::BASELINE;
use crate::graph::OperationalGraph;
use crate::snapshot::Snapshot;

/// How long after a change requests are counted.
const AFTER: SignedDuration = SignedDuration::from_mins(10);

/// The request rate must rise by this factor.
const MIN_FACTOR: f64 = 1.5;

/// Fewest requests after the change, and shortest recorded time on both sides, in seconds.
const MIN_REQUESTS: usize = 20;
const MIN_SECONDS: f64 = 30.0;

/// Gives changes of configuration the signal *demand* where the load that the entity makes rose
/// with them. A load generator that was set up to ask for more breaks nothing itself; what it
/// does travels along its calls.
pub(crate) fn mark_demand(
    changes: Vec<Finding>,
    snapshot: &Snapshot,
    graph: &OperationalGraph,
) -> Vec<Finding> {
    changes.into_iter().map(|change| marked(change, snapshot, graph)).collect()
}

fn marked(change: Finding, snapshot: &Snapshot, graph: &OperationalGraph) -> Finding {
    let at = change.time.start();
    let is_configuration =
        change.kind == EvidenceKind::Change && change.signal == Signal::Configuration;
    let is_demand = is_configuration
        && graph.load_of(&change.entity).any(|service| rises(service, at, snapshot, graph));
    if !is_demand {
        return change;
    }
    let mut content = FindingContent::clone(&change);
    content.signal = Signal::Demand;
    Finding::new(content)
}

fn rises(
    service: &EntityId,
    change: Timestamp,
    snapshot: &Snapshot,
    graph: &OperationalGraph,
) -> bool {
    let spans = &snapshot.spans;
    let Some((first, last)) = spans.at.extent() else { return false };
    let start = change.checked_sub(BASELINE).unwrap_or(first).max(first);
    let end = change.checked_add(AFTER).unwrap_or(last).min(last);
    // By the sender's number.
    let mut senders: BTreeMap<u32, bool> = BTreeMap::new();
    let (mut before, mut after) = (0_usize, 0_usize);
    let after_end = end.checked_add(SignedDuration::from_nanos(1)).unwrap_or(end);
    let Ok(window) = Window::new(start, after_end) else { return false };
    for span in spans.rows(spans.at.rows(window)) {
        let is_own = senders.entry(span.sender_number()).or_insert_with(|| {
            let sender = span.sender();
            graph.index.service(&sender.namespace, &sender.service).as_ref() == Some(service)
        });
        if *is_own {
            *(if span.at() < change { &mut before } else { &mut after }) += 1;
        }
    }
    let old = change.duration_since(start).as_secs_f64();
    let new = end.duration_since(change).as_secs_f64();
    let enough = after >= MIN_REQUESTS && old >= MIN_SECONDS && new >= MIN_SECONDS;
    enough && after as f64 / new >= MIN_FACTOR * before as f64 / old
}
