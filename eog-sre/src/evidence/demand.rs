//! Changes of demand: a workload that only sends requests was changed, and then sent more.

use std::collections::BTreeMap;
use std::sync::Arc;

use eog_core::{EntityId, EvidenceKind, Finding, FindingContent, Signal, Timestamp};
use jiff::SignedDuration;

use super::BASELINE;
use crate::graph::OperationalGraph;
use crate::read::Resource;
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
    let (Some(first), Some(last)) = (
        snapshot.spans.iter().map(|span| span.at).min(),
        snapshot.spans.iter().map(|span| span.at).max(),
    ) else {
        return false;
    };
    let start = change.checked_sub(BASELINE).unwrap_or(first).max(first);
    let end = change.checked_add(AFTER).unwrap_or(last).min(last);
    let mut senders: BTreeMap<*const Resource, bool> = BTreeMap::new();
    let (mut before, mut after) = (0_usize, 0_usize);
    for span in &snapshot.spans {
        if span.at < start || span.at > end {
            continue;
        }
        let is_own = senders.entry(Arc::as_ptr(&span.sender)).or_insert_with(|| {
            let sender = graph.index.service(&span.sender.namespace, &span.sender.service);
            sender.as_ref() == Some(service)
        });
        if *is_own {
            *(if span.at < change { &mut before } else { &mut after }) += 1;
        }
    }
    let old = change.duration_since(start).as_secs_f64();
    let new = end.duration_since(change).as_secs_f64();
    let enough = after >= MIN_REQUESTS && old >= MIN_SECONDS && new >= MIN_SECONDS;
    enough && after as f64 / new >= MIN_FACTOR * before as f64 / old
}
