//! Where to check first: the entities upstream that are hit hardest, wherever they are.
//!
//! An entity with many neighbours cannot ask them all at once. What an entity passes on of the trouble of others
//! is diluted by what else it does, so that of several in trouble the one that is hit hardest, compared with
//! its own usual, is checked first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use eog_core::evidence::{EvidenceTime, Signal, Trend};
use eog_core::{EntityId, Finding};

use super::burden::{self, Account, Weight};
use super::{Attribution, Kind, notes};
use crate::alarms::Alarms;
use crate::paths::{MAX_PATH_HOPS, Travel};
use crate::shift::{MIN_RELATIVE, find_shift, is_at_a_limit};
use crate::signs::{MAJORITY, MORE, NEARLY_FULL, share_in_use};
use crate::text::{arrows, rounded, shorten};
use crate::ways::Number;

/// An entity that serves less than this share of the requests of another is seldom met.
const SELDOM: f64 = 0.05;

/// At most this many are named.
const MAX_SPOTS: usize = 3;

/// What an entity upstream shows.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    /// How many times its usual.
    pub(super) times: f64,
    pub(super) signal: Signal,
    /// It is far more than by chance: of many entities one is always slower than ever.
    pub(super) is_sure: bool,
    /// How much longer each call takes by it, in milliseconds, where traces show it.
    pub(super) longer: Option<f64>,
    pub(super) text: String,
}

impl Attribution<'_> {
    /// A note for each of the three entities upstream that are hit hardest, with the way there. Before them comes the one that is
    /// far more so than by chance and whose effects can reach all others of which that is true.
    pub(super) fn worst_upstream(&self, entity: &EntityId) -> Vec<Finding> {
        let spots = self.spots();
        let Some(start) = self.ways.number(entity).filter(|_| !spots.is_empty()) else {
            return Vec::new();
        };
        let mut next = BTreeMap::from([(start, start)]);
        let mut queue = VecDeque::from([(start, 0)]);
        let mut found: Vec<(Number, &EntityId, &Spot)> = Vec::new();
        while let Some((last, hops)) = queue.pop_front() {
            for number in self.upstream(last).filter(|_| hops < MAX_PATH_HOPS) {
                if next.contains_key(&number) {
                    continue;
                }
                next.insert(number, last);
                queue.push_back((number, hops + 1));
                let name = self.ways.name(number);
                found.extend(name.and_then(|name| Some((number, name, spots.get(name)?))));
            }
        }
        found.sort_by(|a, b| b.2.times.total_cmp(&a.2.times).then_with(|| a.1.cmp(b.1)));
        let time = EvidenceTime::During(self.periods.window);
        let usual = self.traced_books(Kind::Time);
        let usual = usual.as_ref().and_then(|books| books.get(entity)).map(|book| book.usual);
        // What makes requests here hardly longer, if it is in their way at all, is not what was noticed.
        let is_noticeable = |spot: &Spot| match (spot.longer, usual) {
            (Some(longer), Some(usual)) => longer >= MIN_RELATIVE * usual,
            _ => true,
        };
        let sure = found.iter().filter(|(_, _, spot)| spot.is_sure && is_noticeable(spot));
        let root = self.root_of(&sure.map(|(number, ..)| *number).collect());
        // What explains all the others is checked before what is hit harder by it.
        found.sort_by_key(|(number, ..)| Some(*number) != root);
        // Among many entities one is always slower than ever: it counts if it alone can be behind all that is, and is not
        // met by a few requests only.
        let is_significant = |number: Number, name: &EntityId, spot: &Spot| {
            let by_series = spot.longer.is_none() && spot.signal == Signal::Latency;
            is_noticeable(spot)
                && (!by_series || Some(number) == root && !self.is_seldom_met(name, entity))
        };
        let note = |(number, name, spot): &(Number, &EntityId, &Spot)| {
            let way = std::iter::successors(Some(*number), |at| {
                next.get(at).copied().filter(|_| *at != start)
            });
            let path = self.ways.named(&way.collect::<Vec<Number>>());
            let excerpt = format!("{name}: {}; path: {}", spot.text, arrows(&path));
            let spot = Spot {
                is_sure: spot.is_sure && is_significant(*number, name, spot),
                ..(*spot).clone()
            };
            let note = |peer| notes::of_trouble(entity, peer, name, &spot, &excerpt, time);
            // An entity on the way says how it comes here.
            let hop = path.iter().rev().nth(1).filter(|hop| hop != name);
            std::iter::once(note(name)).chain(hop.map(note)).collect::<Vec<_>>()
        };
        found.iter().take(MAX_SPOTS).flat_map(note).collect()
    }

    /// The one of some entities whose effects can reach all the others; none where there are several such, which cannot be
    /// distinguished.
    fn root_of(&self, entities: &BTreeSet<Number>) -> Option<Number> {
        let mut top = *entities.first()?;
        let mut passed = BTreeSet::new();
        // Up to one that none of the others is above of.
        while let Some(above) = self.furthest_above(top, entities) {
            if !passed.insert(top) {
                return None;
            }
            top = above;
        }
        let (mut reached, mut open) = (BTreeSet::from([top]), vec![top]);
        while let Some(last) = open.pop() {
            let onward = self.ways.lanes(Travel::Effects).onward.of(last);
            open.extend(onward.filter(|number| reached.insert(*number)));
        }
        entities.is_subset(&reached).then_some(top)
    }

    /// The one of some entities that is furthest upstream of another.
    fn furthest_above(&self, of: Number, entities: &BTreeSet<Number>) -> Option<Number> {
        let (mut seen, mut queue) = (BTreeSet::from([of]), VecDeque::from([of]));
        let mut furthest = None;
        while let Some(last) = queue.pop_front() {
            for number in self.upstream(last).filter(|number| seen.insert(*number)) {
                furthest = Some(number).filter(|number| entities.contains(number)).or(furthest);
                queue.push_back(number);
            }
        }
        furthest
    }

    /// Whether an entity is known to serve less than one request for twenty of another: the percentiles that people commonly
    /// watch, 95 % and less, do not move by that.
    fn is_seldom_met(&self, entity: &EntityId, of: &EntityId) -> bool {
        let rate = |name: &EntityId| burden::usual_rate(&(self.measured)(name)?, &self.periods);
        let rates = rate(entity).zip(rate(of)).filter(|(own, theirs)| own.unit == theirs.unit);
        rates.is_some_and(|(own, theirs)| own.value < SELDOM * theirs.value)
    }

    fn spots(&self) -> Arc<BTreeMap<EntityId, Spot>> {
        let find = |kept: &super::Kept| kept.spots.clone();
        let draw_up = || {
            let alarms = Alarms::new(self.ways, self.anomalies, false);
            let alerting: BTreeSet<&EntityId> = self.anomalies.iter().map(|a| &a.entity).collect();
            let leads_to_an_alarm = |entity: &&EntityId| {
                let number = self.ways.number(entity);
                number.is_some_and(|one| {
                    alarms.all().iter().any(|alarm| alarms.hops(one, alarm).is_some())
                })
            };
            let asked = self.ways.names().iter().filter(leads_to_an_alarm);
            let asked = asked.filter(|name| !alerting.contains(name));
            let spots = asked.filter_map(|name| Some((name.clone(), self.spot(name)?)));
            Arc::new(spots.collect())
        };
        self.books.or_else(&self.periods, find, draw_up, |kept, spots| kept.spots = Some(spots))
    }

    /// What an entity shows that is most times its usual: its own time or failures, errors that begin there, a resource of which
    /// nearly all is used, requests of others that end with its answers, or calls that it leaves out.
    fn spot(&self, entity: &EntityId) -> Option<Spot> {
        let on_account =
            self.asked.kinds.iter().filter_map(|kind| self.spot_of_account(entity, *kind));
        let spots = on_account
            .chain(self.errors_begun(entity))
            .chain(self.full_resource(entity))
            .chain(self.spot_of_endings(entity))
            .chain(self.spot_of_left_out(entity));
        spots.max_by(|a, b| a.times.total_cmp(&b.times).then_with(|| b.text.cmp(&a.text)))
    }

    pub(super) fn spot_of_account(&self, entity: &EntityId, kind: Kind) -> Option<Spot> {
        let signal = kind.signal();
        let books = self.traced_books(kind);
        if let Some(book) = books.as_ref().and_then(|books| books.get(entity)) {
            let usual = book.usual.max(f64::MIN_POSITIVE);
            let text = notes::traced_excerpt(kind, book);
            let times = 1.0 + book.own / usual;
            // How long calls are under way does not depend on what is asked for.
            let longer = (kind == Kind::Time).then_some(book.own);
            let is_sure = times >= MORE
                || kind == Kind::Time && book.way_here + book.ways_on >= MAJORITY * book.own;
            let spot = Spot { times, signal, is_sure, longer, text };
            // Where too few were traced to show that they are worse at all, measurements of what alerts speak of may.
            if book.own_stands_out || book.stands_out || self.asked.is_implied {
                return Some(spot).filter(|_| book.own_stands_out);
            }
        }
        let Account::Burden(burden) = self.account(entity, kind, Weight::None) else { return None };
        // What is hardly ever there is any number of times as much: the bound of chance is the least level.
        let usual = burden.usual.max(burden.limit()).max(f64::MIN_POSITIVE);
        let text = format!(
            "{} {} {} (normally {})",
            shorten(&burden.metric, 120),
            rounded(burden.observed),
            shorten(&burden.unit, 40),
            rounded(burden.usual)
        );
        let times = burden.observed / usual;
        // What fails now and then may stand out only after users complained of it.
        let last = self.anomalies.iter().map(|alert| alert.onset).max();
        let is_late = matches!((burden.onset(), last), (Some(began), Some(last)) if began > last);
        let is_sure = times >= MORE && !(kind == Kind::Time && is_late);
        burden.stands_out().then_some(Spot { times, signal, is_sure, longer: None, text })
    }

    /// Requests of which an entity has the first error line.
    fn errors_begun(&self, entity: &EntityId) -> Option<Spot> {
        let mut alerts = self.anomalies.iter();
        let is_asked = alerts.any(|alert| Kind::of(alert.signal) == Some(Kind::Failures));
        let joined = self.joined.get(entity).filter(|_| is_asked);
        let begun = joined.into_iter().flatten().filter(|one| {
            one.peer.is_none() && (one.signal, one.trend) == (Signal::Errors, Trend::Rising)
        });
        let spots = begun.filter_map(|one| {
            let requests = one.quantity.as_ref()?;
            let times = requests.observed / requests.baseline.unwrap_or_default().max(1.0);
            let (is_sure, text) = (times >= MORE, one.excerpt.clone());
            Some(Spot { times, signal: Signal::Errors, is_sure, longer: None, text })
        });
        spots.max_by(|a, b| a.times.total_cmp(&b.times))
    }

    /// The resource of an entity of which nearly all is used now, and was not before.
    fn full_resource(&self, entity: &EntityId) -> Option<Spot> {
        let measured = (self.measured)(entity)?;
        let full = measured.series.iter().filter_map(|series| {
            if series.peer.is_some() {
                return None;
            }
            let shift = find_shift(&series.points, &series.unit, &self.periods)?;
            let is_near = match share_in_use(series.signal, &series.unit, shift.observed) {
                Some(used) => used >= NEARLY_FULL,
                None => is_at_a_limit(series, &shift),
            };
            let is_full = shift.trend() == Trend::Rising && is_near;
            let text = format!(
                "{} {} {} (normally {})",
                shorten(&series.metric, 120),
                rounded(shift.observed),
                shorten(&series.unit, 40),
                rounded(shift.baseline)
            );
            let usual = shift.baseline.max(shift.limit).max(f64::MIN_POSITIVE);
            let times = shift.observed / usual;
            let (signal, is_sure) = (Signal::Saturation, times >= MORE);
            is_full.then_some(Spot { times, signal, is_sure, longer: None, text })
        });
        full.max_by(|a, b| a.times.total_cmp(&b.times))
    }
}
