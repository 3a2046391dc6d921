//! Findings from cluster events.

use std::collections::BTreeMap;

use eog_core::evidence::{EvidenceTime, Peer, PeerRole, Quantity, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp};

use super::levels::blames_node;
use super::reasons::{meaning, meaning_for_experiment};
use super::{Draft, selector};
use crate::names;
use crate::read::EventRecord;

/// Most findings of one entity and reason; the first and the last are always among them.
const MAX_REPEATS: usize = 6;

/// Every event that says something went wrong, was restarted or scaled.
pub(crate) fn event_findings(events: &[EventRecord]) -> Vec<Finding> {
    let mut groups: BTreeMap<(&EntityId, &str, Signal), Vec<&EventRecord>> = BTreeMap::new();
    for event in events {
        let signal = match event.is_experiment {
            true => meaning_for_experiment(&event.reason, event.is_warning),
            false => meaning(&event.reason, event.is_warning, &event.message),
        };
        if let Some(signal) = signal {
            groups.entry((&event.entity, &event.reason, signal)).or_default().push(event);
        }
    }
    let mut findings = Vec::new();
    for ((_, _, signal), group) in groups {
        let step = group.len().div_ceil(MAX_REPEATS).max(1);
        let last = group.len().saturating_sub(1);
        let kept = group.iter().enumerate().filter(|(at, _)| at % step == 0 || *at == last);
        for (_, event) in kept {
            findings.push(finding(event, signal));
            findings.extend(of_node(event));
        }
    }
    findings.sort_by_key(|finding| finding.time.start());
    findings
}

fn finding(event: &EventRecord, signal: Signal) -> Finding {
    let node = names::entity("", "Node", &event.host);
    let peer = node.filter(|node| *node != event.entity);
    let rising = matches!(signal, Signal::Exhaustion | Signal::Availability);
    let count = event.count as f64;
    let times =
        if event.count > 1 { format!(" ({} times so far)", event.count) } else { String::new() };
    Draft {
        entity: &event.entity,
        kind: EvidenceKind::Event,
        signal,
        trend: if rising { Trend::Rising } else { Trend::Steady },
        time: EvidenceTime::At(event.at),
        quantity: Some(Quantity { observed: count, baseline: None, unit: "count".into() }),
        peer: peer.map(|entity| Peer { entity, role: PeerRole::Mentioned }),
        source: &event.file,
        query: query(event, event.at),
        excerpt: format!("{}: {}{times}", event.reason, event.message),
        onset: onset(event),
    }
    .finding()
}

/// What an eviction says of the node that lacked something.
fn of_node(event: &EventRecord) -> Option<Finding> {
    let is_blamed = event.reason == "Evicted" && blames_node(&event.message);
    let node = names::entity("", "Node", &event.host).filter(|_| is_blamed)?;
    let draft = Draft {
        entity: &node,
        kind: EvidenceKind::Event,
        signal: Signal::Exhaustion,
        trend: Trend::Rising,
        time: EvidenceTime::At(event.at),
        quantity: None,
        peer: Some(Peer { entity: event.entity.clone(), role: PeerRole::Mentioned }),
        source: &event.file,
        query: query(event, event.at),
        excerpt: format!("{} was Evicted: {}", event.entity, event.message),
        onset: onset(event),
    };
    Some(draft.finding())
}

/// When it happened first. What happened several times, and is given one time alone, leaves that open.
fn onset(event: &EventRecord) -> Option<Onset> {
    let is_dated = event.count <= 1 || event.first_at < event.at;
    is_dated.then(|| Onset::at(event.first_at))
}

fn query(event: &EventRecord, at: Timestamp) -> String {
    format!("{} {} reason={} time={at}", event.file, selector(&event.entity), event.reason)
}
