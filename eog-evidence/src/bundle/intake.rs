//! Telemetry on its way into a bundle: sorted by entity, from files or from memory.

use std::collections::BTreeMap;

use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::{EntityId, EvidenceKind, Timestamp, Window};
use jiff::SignedDuration;

use crate::events::EventRecord;
use crate::intervals::Intervals;
use crate::logs::{LogLine, LogPatterns};
use crate::mask::{mask_in_place, mask_text};
use crate::series::Series;
use crate::spans::SpanRecord;
use crate::states::StateRecord;
use crate::text::shorten;

/// Most errors in logs of which the request is kept. At most some 30 MB.
const MAX_FAILED_REQUESTS: usize = 100_000;

/// Longest id of a request, and longest message kept with it, in characters.
const MAX_ID: usize = 64;
const MAX_SAID: usize = 100;

/// What tells two series of one entity apart.
pub(super) type SeriesKey = (String, Signal, String, Option<(EntityId, PeerRole)>);

/// Everything recorded about one entity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Telemetry {
    pub(super) series: BTreeMap<SeriesKey, Series>,
    pub(super) events: Vec<EventRecord>,
    pub(super) logs: LogPatterns,
    /// The errors in logs that name a request.
    pub(super) failed_requests: Vec<FailedRequest>,
    pub(super) spans: Vec<SpanRecord>,
}

/// A log line of level error that names a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FailedRequest {
    pub(super) time: Timestamp,
    pub(super) request: String,
    pub(super) message: String,
    /// Whose failed call it tells of.
    pub(super) callee: Option<EntityId>,
}

/// Collects telemetry; the order of arrival does not matter to the result.
#[derive(Default)]
pub(super) struct Intake {
    by_entity: BTreeMap<EntityId, Telemetry>,
    extent: Option<(Timestamp, Timestamp)>,
    /// What counts of the bundle that is read at present; everything where it is empty.
    only: Intervals,
    failed_requests: usize,
    /// States of objects. They say nothing of when was recorded: a state may be years old.
    states: BTreeMap<EntityId, Vec<StateRecord>>,
}

impl Intake {
    /// Takes in the telemetry of another bundle, as far as it lies in some periods; where there are
    /// none, all of it. Gives these periods. The extent stays that of the bundle's own telemetry.
    pub(super) fn borrow<E>(
        &mut self,
        periods: Intervals,
        read: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<Intervals, E> {
        let own = self.extent.take();
        self.only = periods;
        read(self)?;
        let periods = std::mem::take(&mut self.only).or_else(|| self.extent().into());
        self.extent = own;
        Ok(periods)
    }

    /// From the first to the last record.
    pub(super) fn extent(&self) -> Option<Window> {
        let (first, last) = self.extent?;
        Window::new(first, last.checked_add(SignedDuration::from_secs(1)).ok()?).ok()
    }

    /// Whether anything was recorded of an entity.
    pub(super) fn has(&self, entity: &EntityId) -> bool {
        self.by_entity.contains_key(entity) || self.states.contains_key(entity)
    }

    fn counts(&self, at: Timestamp) -> bool {
        self.only.is_empty() || self.only.contains(at)
    }

    /// Adds the points of a series to those that are already there.
    pub(super) fn points(&mut self, part: &Series) {
        if !part.points.iter().all(|(at, _)| self.counts(*at)) {
            return;
        }
        for (at, _) in &part.points {
            self.saw(*at);
        }
        let peer = part.peer.clone().map(|peer| (peer.entity, peer.role));
        let key = (part.metric.clone(), part.signal, part.unit.clone(), peer);
        let series = self.of(&part.entity).series.entry(key).or_insert_with(|| Series {
            kind: EvidenceKind::Metric,
            metric: mask_text(&part.metric),
            points: Vec::new(),
            ..part.clone()
        });
        series.points.extend_from_slice(&part.points);
    }

    pub(super) fn event(&mut self, mut event: EventRecord) {
        if !self.counts(event.time) {
            return;
        }
        mask_in_place(&mut event.reason);
        mask_in_place(&mut event.message);
        self.saw(event.time);
        self.of(&event.entity).events.push(event);
    }

    pub(super) fn state(&mut self, mut record: StateRecord) {
        // Another bundle's objects are others.
        if !self.only.is_empty() {
            return;
        }
        mask_in_place(&mut record.reason);
        self.states.entry(record.entity.clone()).or_default().push(record);
    }

    /// The states of objects, by time.
    pub(super) fn take_states(&mut self) -> BTreeMap<EntityId, Vec<StateRecord>> {
        let mut states = std::mem::take(&mut self.states);
        for records in states.values_mut() {
            records.sort_unstable();
            records.dedup();
        }
        states
    }

    pub(super) fn log(&mut self, entity: &EntityId, mut line: LogLine) {
        if !self.counts(line.time) {
            return;
        }
        mask_in_place(&mut line.message);
        let line = &line;
        self.saw(line.time);
        if let Some(request) = line.failed_request()
            && self.failed_requests < MAX_FAILED_REQUESTS
        {
            self.failed_requests += 1;
            let request = shorten(request, MAX_ID);
            let message = shorten(&line.message, MAX_SAID);
            let is_callee = |peer: &&Peer| peer.role == PeerRole::Callee;
            let callee = line.peer.as_ref().filter(is_callee).map(|peer| peer.entity.clone());
            let failed = FailedRequest { time: line.time, request, message, callee };
            self.of(entity).failed_requests.push(failed);
        }
        self.of(entity).logs.add(line);
    }

    pub(super) fn span(&mut self, mut span: SpanRecord) {
        if !self.counts(span.time) {
            return;
        }
        if let Some(operation) = &mut span.operation {
            mask_in_place(operation);
        }
        self.saw(span.time);
        self.of(&span.entity).spans.push(span);
    }

    /// The telemetry by entity, points and events by time, and its extent.
    pub(super) fn finish(mut self) -> (BTreeMap<EntityId, Telemetry>, Option<Window>) {
        for telemetry in self.by_entity.values_mut() {
            telemetry.logs.settle();
            telemetry.failed_requests.sort_unstable();
            for series in telemetry.series.values_mut() {
                series.points.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
                series.points.dedup();
            }
            telemetry.events.sort_by(|a, b| {
                (a.time, &a.reason, &a.message).cmp(&(b.time, &b.reason, &b.message))
            });
        }
        let extent = self.extent();
        (self.by_entity, extent)
    }

    fn of(&mut self, entity: &EntityId) -> &mut Telemetry {
        self.by_entity.entry(entity.clone()).or_insert_with(|| Telemetry {
            series: BTreeMap::new(),
            events: Vec::new(),
            logs: LogPatterns::new(entity.clone()),
            failed_requests: Vec::new(),
            spans: Vec::new(),
        })
    }

    fn saw(&mut self, at: Timestamp) {
        let (first, last) = self.extent.unwrap_or((at, at));
        self.extent = Some((first.min(at), last.max(at)));
    }
}
