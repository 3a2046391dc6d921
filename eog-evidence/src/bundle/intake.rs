//! Telemetry on its way into a bundle: sorted by entity, from files or from memory.

use std::collections::BTreeMap;

use eog_core::evidence::{PeerRole, Signal};
use eog_core::{EntityId, EvidenceKind, Timestamp, Window};
use jiff::SignedDuration;

use crate::events::EventRecord;
use crate::logs::{LogLine, LogPatterns};
use crate::series::Series;
use crate::spans::SpanRecord;

/// What tells two series of one entity apart.
pub(super) type SeriesKey = (String, Signal, String, Option<(EntityId, PeerRole)>);

/// Everything recorded about one entity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Telemetry {
    pub(super) series: BTreeMap<SeriesKey, Series>,
    pub(super) events: Vec<EventRecord>,
    pub(super) logs: LogPatterns,
    pub(super) spans: Vec<SpanRecord>,
}

/// Collects telemetry; the order of arrival does not matter to the result.
#[derive(Default)]
pub(super) struct Intake {
    by_entity: BTreeMap<EntityId, Telemetry>,
    extent: Option<(Timestamp, Timestamp)>,
}

impl Intake {
    /// Adds the points of a series to those that are already there.
    pub(super) fn points(&mut self, part: &Series) {
        for (at, _) in &part.points {
            self.saw(*at);
        }
        let peer = part.peer.clone().map(|peer| (peer.entity, peer.role));
        let key = (part.metric.clone(), part.signal, part.unit.clone(), peer);
        let series = self.of(&part.entity).series.entry(key).or_insert_with(|| Series {
            kind: EvidenceKind::Metric,
            points: Vec::new(),
            ..part.clone()
        });
        series.points.extend_from_slice(&part.points);
    }

    pub(super) fn event(&mut self, event: EventRecord) {
        self.saw(event.time);
        self.of(&event.entity).events.push(event);
    }

    pub(super) fn log(&mut self, entity: &EntityId, line: &LogLine) {
        self.saw(line.time);
        self.of(entity).logs.add(line);
    }

    pub(super) fn span(&mut self, span: SpanRecord) {
        self.saw(span.time);
        self.of(&span.entity).spans.push(span);
    }

    /// The telemetry by entity, points and events by time, and its extent.
    pub(super) fn finish(mut self) -> (BTreeMap<EntityId, Telemetry>, Option<Window>) {
        for telemetry in self.by_entity.values_mut() {
            for series in telemetry.series.values_mut() {
                series.points.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
                series.points.dedup();
            }
            telemetry.events.sort_by(|a, b| {
                (a.time, &a.reason, &a.message).cmp(&(b.time, &b.reason, &b.message))
            });
        }
        let extent = self.extent.and_then(|(first, last)| {
            let end = last.checked_add(SignedDuration::from_secs(1)).ok()?;
            Window::new(first, end).ok()
        });
        (self.by_entity, extent)
    }

    fn of(&mut self, entity: &EntityId) -> &mut Telemetry {
        self.by_entity.entry(entity.clone()).or_insert_with(|| Telemetry {
            series: BTreeMap::new(),
            events: Vec::new(),
            logs: LogPatterns::new(entity.clone()),
            spans: Vec::new(),
        })
    }

    fn saw(&mut self, at: Timestamp) {
        let (first, last) = self.extent.unwrap_or((at, at));
        self.extent = Some((first.min(at), last.max(at)));
    }
}
