//! Findings from events: failures, restarts, decisions of a platform.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::{EvidenceTime, FindingContent, Peer, PeerRole, Quantity, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp, Window};

use crate::logs::times;
use crate::shift::during;
use crate::text::shorten;

/// Longest quoted message, in characters.
const MAX_MESSAGE: usize = 240;

/// One event.
///
/// ```
/// use eog_core::EntityId;
/// use eog_core::evidence::{Signal, Trend};
/// use eog_evidence::{EventRecord, event_findings};
/// let event = EventRecord {
///     time: "2026-01-01T10:04:00Z".parse()?,
///     entity: EntityId::new("db")?,
///     reason: "OutOfMemory".into(),
///     signal: Signal::Exhaustion,
///     message: "process killed".into(),
///     peer: None,
/// };
/// let findings = event_findings(&[event], None, "events.csv");
/// assert_eq!(findings[0].excerpt, "OutOfMemory, once: process killed");
/// assert_eq!(findings[0].trend, Trend::Rising);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// When it happened.
    pub time: Timestamp,
    /// The entity it happened to.
    pub entity: EntityId,
    /// The kind of event in one word, such as `OutOfMemory`.
    pub reason: String,
    /// What it speaks of.
    pub signal: Signal,
    /// What the source says. Untrusted text.
    pub message: String,
    /// Another entity that it names.
    pub peer: Option<Peer>,
}

/// One finding for each entity, reason, signal and peer, with the number of events; sorted by
/// these. With a window only events in it count. The onset is the first of them, unless there were
/// such events before the window.
///
/// The trend is `rising` for a signal of which more is worse (failures, exhaustion, errors), for
/// [`Signal::Experiment`] (an experiment that ran) and for [`Signal::Traffic`]; else `steady`.
pub fn event_findings(
    events: &[EventRecord],
    window: Option<Window>,
    source: &str,
) -> Vec<Finding> {
    let mut groups: BTreeMap<Key<'_>, Vec<&EventRecord>> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for event in events {
        if window.is_none_or(|window| window.contains(event.time)) {
            groups.entry(key(event)).or_default().push(event);
        } else if window.is_some_and(|window| event.time < window.start()) {
            known.insert(key(event));
        }
    }
    let found =
        groups.iter().filter_map(|(key, group)| finding(group, !known.contains(key), source));
    found.collect()
}

/// Whether an event is a failure of the entity itself.
pub(crate) fn is_failure(event: &EventRecord) -> bool {
    matches!(event.signal, Signal::Availability | Signal::Exhaustion)
}

type Key<'a> = (&'a EntityId, &'a str, Signal, Option<(&'a EntityId, PeerRole)>);

fn key(event: &EventRecord) -> Key<'_> {
    let peer = event.peer.as_ref().map(|peer| (&peer.entity, peer.role));
    (&event.entity, &event.reason, event.signal, peer)
}

fn finding(group: &[&EventRecord], is_new: bool, source: &str) -> Option<Finding> {
    let first = group.iter().min_by_key(|event| (event.time, &event.message))?;
    let last = group.iter().map(|event| event.time).max()?;
    let time = if first.time == last { EvidenceTime::At(last) } else { during(first.time, last) };
    let reason = shorten(&first.reason, 80);
    Some(Finding::new(FindingContent {
        entity: first.entity.clone(),
        kind: EvidenceKind::Event,
        signal: first.signal,
        trend: trend(first.signal),
        time,
        quantity: Some(Quantity {
            observed: group.len() as f64,
            baseline: None,
            unit: "events".into(),
        }),
        change: None,
        peer: first.peer.clone(),
        source: source.to_owned(),
        query: format!("entity={} reason={reason}", first.entity),
        excerpt: format!(
            "{reason}, {}: {}",
            times(group.len()),
            shorten(&first.message, MAX_MESSAGE)
        ),
        onset: is_new.then(|| Onset::at(first.time)),
    }))
}

fn trend(signal: Signal) -> Trend {
    match signal {
        Signal::Errors
        | Signal::Latency
        | Signal::Saturation
        | Signal::Exhaustion
        | Signal::Availability
        | Signal::Experiment
        | Signal::Traffic => Trend::Rising,
        _ => Trend::Steady,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(minute: i64, entity: &str, reason: &str, signal: Signal) -> EventRecord {
        EventRecord {
            time: Timestamp::from_second(minute * 60).unwrap(),
            entity: EntityId::new(entity).unwrap(),
            reason: reason.into(),
            signal,
            message: format!("at {minute}"),
            peer: None,
        }
    }

    #[test]
    fn events_are_grouped_and_cut_to_the_window() {
        let events = [
            event(5, "db", "Killed", Signal::Exhaustion),
            event(3, "db", "Killed", Signal::Exhaustion),
            event(4, "db", "Scheduled", Signal::Other),
            event(90, "db", "Killed", Signal::Exhaustion),
            event(5, "cart", "Killed", Signal::Exhaustion),
        ];
        let hour = Window::new(Timestamp::UNIX_EPOCH, Timestamp::from_second(3600).unwrap());
        let findings = event_findings(&events, hour.ok(), "events.csv");
        let excerpts: Vec<&str> = findings.iter().map(|f| f.excerpt.as_str()).collect();
        assert_eq!(
            excerpts,
            ["Killed, once: at 5", "Killed, 2 times: at 3", "Scheduled, once: at 4"]
        );
        assert_eq!(findings[1].time.start(), Timestamp::from_second(180).unwrap());
        assert_eq!(findings[2].trend, Trend::Steady);
        assert_eq!(event_findings(&events, None, "").len(), 3);
    }
}
