//! Telemetry on its way into a bundle: sorted by entity, from files or from memory.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::{EntityId, EvidenceKind, Timestamp, Window};
use jiff::SignedDuration;
use thin_vec::ThinVec;

use crate::events::EventRecord;
use crate::held::HEAP;
use crate::intervals::Intervals;
use crate::logs::{LogLine, LogPatterns};
use crate::series::Series;
use crate::spans::SpanRecord;
use crate::states::StateRecord;
use crate::text::shorten;

/// Most errors in logs of which the request is kept. At most some 30 MB.
const MAX_FAILED_REQUESTS: usize = 100_000;

/// Longest id of a request, and longest message kept with it, in characters.
const MAX_ID: usize = 64;
const MAX_SAID: usize = 100;

/// What distinguishes two series of one entity.
pub(super) type SeriesKey = (String, Signal, String, Option<(EntityId, PeerRole)>);

/// The series of an entity by what distinguishes them, in order once all are there. A map holds room for eleven at
/// once, and there may be a million entities of one series each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeriesList {
    list: ThinVec<(SeriesKey, Series)>,
    /// Where they are, as long as more come and they are many.
    #[expect(clippy::box_collection, reason = "most entities have none: a pointer takes a third")]
    places: Option<Box<BTreeMap<SeriesKey, usize>>>,
}

impl SeriesList {
    /// Up to so many are searched one by one.
    const FEW: usize = 8;

    fn add(&mut self, key: SeriesKey, new: impl FnOnce() -> Series) -> (&mut Series, bool) {
        let known = match &self.places {
            Some(places) => places.get(&key).copied(),
            None => self.list.iter().position(|(known, _)| *known == key),
        };
        let place = known.unwrap_or_else(|| {
            if self.list.is_empty() {
                self.list.reserve_exact(1);
            }
            self.list.push((key, new()));
            let from = match self.places {
                None if self.list.len() <= Self::FEW => return self.list.len() - 1,
                None => 0,
                Some(_) => self.list.len() - 1,
            };
            let places = self.places.get_or_insert_default();
            let more = self.list.iter().enumerate().skip(from);
            places.extend(more.map(|(place, (key, _))| (key.clone(), place)));
            self.list.len() - 1
        });
        (&mut self.list[place].1, known.is_none())
    }

    fn settle(&mut self) {
        self.places = None;
        self.list.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (_, series) in &mut self.list {
            series.points.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            series.points.dedup();
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&SeriesKey, &Series)> {
        self.list.iter().map(|(key, series)| (key, series))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Series> {
        self.list.iter().map(|(_, series)| series)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }
}

/// What was recorded, by entity. In boxes: a tree that grows in order is half empty.
pub(super) type ByEntity = BTreeMap<EntityId, Box<Telemetry>>;

/// Everything recorded about one entity. There may be a million of one record each: a list without any takes a pointer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Telemetry {
    pub(super) series: SeriesList,
    pub(super) events: ThinVec<EventRecord>,
    pub(super) logs: LogPatterns,
    /// The errors in logs that name a request.
    pub(super) failed_requests: ThinVec<FailedRequest>,
    pub(super) spans: ThinVec<SpanRecord>,
}

/// A log line of level error that names a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FailedRequest {
    pub(super) time: Timestamp,
    pub(super) request: String,
    pub(super) message: String,
    /// The entity whose failed call it reports.
    pub(super) callee: Option<EntityId>,
}

/// Collects telemetry; the order of arrival does not matter to the result.
#[derive(Default)]
pub(super) struct Intake {
    by_entity: ByEntity,
    extent: Option<(Timestamp, Timestamp)>,
    /// What counts of the bundle that is read at present; everything where it is empty.
    only: Intervals,
    failed_requests: usize,
    held: Held,
    /// States of objects. They say nothing of when was recorded: a state may be years old.
    states: BTreeMap<EntityId, Vec<StateRecord>>,
}

/// About how many bytes are held by now, for who reads and who collects.
pub(super) type Held = Rc<Cell<u64>>;

/// What a record that is put into a list takes, with what lists hold in reserve.
const fn listed<T>() -> usize {
    2 * size_of::<T>()
}

/// What a text takes.
fn text(text: &str) -> usize {
    text.len() + HEAP
}

impl Intake {
    /// One that counts what it holds.
    pub(super) fn counting(held: Held) -> Self {
        Self { held, ..Self::default() }
    }

    fn holds(&self, more: usize) {
        self.held.set(self.held.get().saturating_add(more as u64));
    }

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
        let new = || Series { kind: EvidenceKind::Metric, points: Vec::new(), ..part.clone() };
        let (series, is_new) = self.of(&part.entity).series.add(key, new);
        if is_new {
            series.points.reserve_exact(part.points.len());
        }
        series.points.extend_from_slice(&part.points);
        let texts = 2 * (text(&part.metric) + text(&part.unit));
        let own = if is_new { listed::<(SeriesKey, Series)>() + texts + HEAP } else { 0 };
        self.holds(own + part.points.len() * listed::<(Timestamp, f64)>());
    }

    pub(super) fn event(&mut self, event: EventRecord) {
        if !self.counts(event.time) {
            return;
        }
        self.saw(event.time);
        self.holds(listed::<EventRecord>() + text(&event.reason) + text(&event.message));
        push(&mut self.of(&event.entity).events, event);
    }

    pub(super) fn state(&mut self, record: StateRecord) {
        // Another bundle's objects are others.
        if !self.only.is_empty() {
            return;
        }
        self.holds(listed::<StateRecord>() + text(&record.reason));
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

    pub(super) fn log(&mut self, entity: &EntityId, line: &LogLine) {
        if !self.counts(line.time) {
            return;
        }
        self.saw(line.time);
        if let Some(request) = line.failed_request()
            && self.failed_requests < MAX_FAILED_REQUESTS
        {
            self.failed_requests += 1;
            let request = shorten(request, MAX_ID);
            let message = shorten(&line.message, MAX_SAID);
            let is_callee = |peer: &&Peer| peer.role == PeerRole::Callee;
            let callee = line.peer.as_ref().filter(is_callee).map(|peer| peer.entity.clone());
            self.holds(listed::<FailedRequest>() + text(&request) + text(&message));
            let failed = FailedRequest { time: line.time, request, message, callee };
            push(&mut self.of(entity).failed_requests, failed);
        }
        let more = self.of(entity).logs.add_counted(line);
        self.holds(more);
    }

    pub(super) fn span(&mut self, span: SpanRecord) {
        if !self.counts(span.time) {
            return;
        }
        self.saw(span.time);
        let ids = span
            .ids
            .iter()
            .flat_map(|ids| [Some(&ids.trace), Some(&ids.span), ids.parent.as_ref()]);
        let texts = ids.chain([span.operation.as_ref()]).flatten().map(|it| text(it));
        self.holds(listed::<SpanRecord>() + texts.sum::<usize>());
        push(&mut self.of(&span.entity).spans, span);
    }

    /// The telemetry by entity, points and events by time, and its extent.
    pub(super) fn finish(mut self) -> (ByEntity, Option<Window>) {
        for telemetry in self.by_entity.values_mut() {
            telemetry.logs.settle();
            telemetry.failed_requests.sort_unstable();
            telemetry.series.settle();
            telemetry.events.sort_by(|a, b| {
                (a.time, &a.reason, &a.message).cmp(&(b.time, &b.reason, &b.message))
            });
        }
        let extent = self.extent();
        (self.by_entity, extent)
    }

    fn of(&mut self, entity: &EntityId) -> &mut Telemetry {
        let held = &self.held;
        self.by_entity.entry(entity.clone()).or_insert_with(|| {
            let name = text(entity.as_str()) + 2 * size_of::<EntityId>();
            let own = size_of::<Telemetry>() + HEAP;
            let more = listed::<(EntityId, Box<Telemetry>)>() + own + name;
            held.set(held.get().saturating_add(more as u64));
            Box::new(Telemetry {
                series: SeriesList::default(),
                events: ThinVec::new(),
                logs: LogPatterns::new(entity.clone()),
                failed_requests: ThinVec::new(),
                spans: ThinVec::new(),
            })
        })
    }

    fn saw(&mut self, at: Timestamp) {
        let (first, last) = self.extent.unwrap_or((at, at));
        self.extent = Some((first.min(at), last.max(at)));
    }
}

/// Adds to a list, of which most hold one record: the first gets no room beside it.
fn push<T>(list: &mut ThinVec<T>, record: T) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.push(record);
}
