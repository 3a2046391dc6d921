//! Records that no reader made, without their secrets. Every field is named, so that a new one cannot be
//! forgotten.

use eog_core::EntityId;
use eog_core::evidence::Peer;

use crate::events::EventRecord;
use crate::logs::LogLine;
use crate::mask::{MASK, mask_text};
use crate::series::Series;
use crate::spans::{SpanIds, SpanRecord};
use crate::states::StateRecord;

pub(super) fn entity(name: &EntityId) -> EntityId {
    let masked = mask_text(name.as_str());
    if masked == name.as_str() {
        return name.clone();
    }
    // It may be too long now.
    EntityId::new(masked).or_else(|_| EntityId::new(MASK)).unwrap_or_else(|_| name.clone())
}

fn peer(peer: &Option<Peer>) -> Option<Peer> {
    peer.as_ref().map(|Peer { entity: name, role }| Peer { entity: entity(name), role: *role })
}

fn text(text: &Option<String>) -> Option<String> {
    text.as_deref().map(mask_text)
}

pub(super) fn series(given: &Series) -> Series {
    let Series { entity: name, kind, metric, signal, unit, peer: other, points } = given;
    Series {
        entity: entity(name),
        kind: *kind,
        metric: mask_text(metric),
        signal: *signal,
        unit: mask_text(unit),
        peer: peer(other),
        points: points.clone(),
    }
}

pub(super) fn event(given: &EventRecord) -> EventRecord {
    let EventRecord { time, entity: name, reason, signal, message, peer: other } = given;
    EventRecord {
        time: *time,
        entity: entity(name),
        reason: mask_text(reason),
        signal: *signal,
        message: mask_text(message),
        peer: peer(other),
    }
}

pub(super) fn state(given: &StateRecord) -> StateRecord {
    let StateRecord { time, entity: name, state, reason } = given;
    StateRecord { time: *time, entity: entity(name), state: *state, reason: mask_text(reason) }
}

pub(super) fn line(given: &LogLine) -> LogLine {
    let LogLine { time, level, message, signal, peer: other, trace } = given;
    LogLine {
        time: *time,
        level: mask_text(level),
        message: mask_text(message),
        signal: *signal,
        peer: peer(other),
        trace: text(trace),
    }
}

pub(super) fn span(given: &SpanRecord) -> SpanRecord {
    let SpanRecord { time, entity: name, duration_ms, failed, peer: other, operation, ids } = given;
    let ids = ids.as_ref().map(|SpanIds { trace, span, parent }| SpanIds {
        trace: mask_text(trace),
        span: mask_text(span),
        parent: text(parent),
    });
    SpanRecord {
        time: *time,
        entity: entity(name),
        duration_ms: *duration_ms,
        failed: *failed,
        peer: peer(other),
        operation: text(operation),
        ids,
    }
}
