//! Where a fault of variables begins: the least expected departure that nothing upstream explains.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use eog_core::{EntityId, Finding, Timestamp};
use jiff::SignedDuration;

use super::deviation::{Deviation, How};
use super::{Attribution, notes};
use crate::paths::MAX_PATH_HOPS;
use crate::responses::{Departure, Judged, Track, goes_on, judge, tracks};
use crate::ways::Number;

/// For so many alarms at different times the departures before them are worked out.
const MAX_ALARMS: usize = 8;

/// At most this many are named at once …
const MAX_TOGETHER: usize = 3;

/// … those that are hardly more to be expected by chance than the least expected one.
const ALIKE: f64 = 1.25;

/// A departure upstream of which so few are expected by chance explains another.
const EXPLAINS: f64 = 0.03;

/// Variables follow each other where this share of those that move has a law.
const FOLLOWING: f64 = 0.1;

/// A root of which fewer are expected by chance may explain several alarms.
const SURE: f64 = 0.1;

/// Records of one scan of a controller lie no further apart.
const SCAN: SignedDuration = SignedDuration::from_millis(100);

/// What is over has effects for so long.
const AFTERWARDS: SignedDuration = SignedDuration::from_secs(2);

/// Where a fault may begin: who, the path from the alarm, what, and how many such are expected by
/// chance as near to the alarm.
struct Root {
    entity: Number,
    path: Vec<Number>,
    departure: Departure,
    expected: f64,
}

impl Attribution<'_> {
    /// What an entity departed from, and where what explains it begins; nothing when nothing departs.
    pub(super) fn by_departure(&self, entity: &EntityId) -> Option<Vec<Finding>> {
        let number = self.ways.number(entity).filter(|_| self.has_laws())?;
        let own_alarm = self.anomalies.iter().filter(|alert| alert.entity == *entity);
        let Some(alarm) = own_alarm.map(|alert| alert.onset).min() else {
            return self.of_departing(entity, number);
        };
        let mut roots = self.roots(number, alarm);
        // One that explains several alarms is likelier than one for each.
        let sure = |root: &Root| root.expected <= SURE;
        let most =
            roots.iter().filter(|root| sure(root)).map(|root| self.alarms_of(root.entity)).max();
        if let Some(most) = most {
            roots.retain(|root| sure(root) && self.alarms_of(root.entity) == most);
        }
        let best = roots.first()?.expected;
        roots.retain(|root| root.expected <= ALIKE * best);
        roots.truncate(MAX_TOGETHER);
        let own = roots.iter().position(|root| root.entity == number);
        let own = own.map(|place| as_deviation(&roots.remove(place).departure));
        let earlier: Vec<_> = roots.iter().filter_map(|root| self.told(root)).collect();
        Some(notes::of_order(entity, own.as_ref(), &earlier, &self.watched(entity), self.sources))
    }

    /// How many alarms may begin with an entity, of those that are looked at.
    fn alarms_of(&self, entity: Number) -> usize {
        let find = |kept: &super::Kept| kept.alarms_of.clone();
        let work_out = || {
            let mut counts: BTreeMap<Number, usize> = BTreeMap::new();
            let limits = self.limits();
            let alarms: BTreeMap<&EntityId, Timestamp> =
                self.anomalies.iter().rev().map(|alert| (&alert.entity, alert.onset)).collect();
            for (alarm, onset) in alarms.iter().filter(|(_, onset)| limits.contains(onset)) {
                let Some(number) = self.ways.number(alarm) else { continue };
                let roots = self.roots(number, *onset);
                for root in roots.iter().filter(|root| root.expected <= SURE) {
                    *counts.entry(root.entity).or_default() += 1;
                }
            }
            Some(Arc::new(counts))
        };
        let counts = self.books.or_else(
            &self.periods,
            |kept| find(kept).map(Some),
            work_out,
            |kept, counts| {
                kept.alarms_of = counts;
            },
        );
        counts.and_then(|counts| counts.get(&entity).copied()).unwrap_or(0)
    }

    fn told(&self, root: &Root) -> Option<(EntityId, Vec<EntityId>, Deviation)> {
        let name = self.ways.name(root.entity)?.clone();
        Some((name, self.ways.named(&root.path), as_deviation(&root.departure)))
    }

    /// What an entity without an alarm departed from before the first alarm that it did so before.
    fn of_departing(&self, entity: &EntityId, number: Number) -> Option<Vec<Finding>> {
        let limits = self.limits();
        let judged = limits.first().map(|limit| self.judged(number, *limit));
        if let (Some(judged), Some(limit)) = (judged, limits.first())
            && judged.departures.is_empty()
            && !judged.is_moving
            && judged.changes.is_some()
        {
            return Some(vec![notes::of_too_few(entity, judged.changes.unwrap_or(0), *limit)]);
        }
        let found = limits.into_iter().find_map(|limit| {
            let departures = self.departures(number, limit);
            let open = departures.iter().find(|one| self.explaining(number, one, limit).is_none());
            let (departure, is_open) = match (open, departures.first()) {
                (Some(open), _) => (open, true),
                (None, Some(first)) => (first, false),
                (None, None) => return None,
            };
            Some((departure.clone(), is_open, limit))
        });
        let (departure, is_open, limit) = found?;
        let own = as_deviation(&departure);
        if is_open {
            return Some(notes::of_order(
                entity,
                Some(&own),
                &[],
                &self.watched(entity),
                self.sources,
            ));
        }
        let (upstream, why) = self.explaining(number, &departure, limit)?;
        let path = vec![number, upstream];
        let earlier =
            (self.ways.name(upstream)?.clone(), self.ways.named(&path), as_deviation(&why));
        Some(notes::of_order(entity, None, &[earlier], &self.watched(entity), self.sources))
    }

    /// The times before which departures are looked for: those of the first alarms.
    fn limits(&self) -> Vec<Timestamp> {
        let onsets: BTreeSet<Timestamp> = self.anomalies.iter().map(|alert| alert.onset).collect();
        onsets.into_iter().take(MAX_ALARMS).collect()
    }

    /// Where an alarm may begin, the least expected first.
    fn roots(&self, alarm: Number, limit: Timestamp) -> Vec<Root> {
        let mut next = BTreeMap::from([(alarm, alarm)]);
        let mut level = vec![alarm];
        let (mut looked_at, mut roots) = (0_usize, Vec::new());
        for _ in 0..=MAX_PATH_HOPS {
            looked_at += level.len();
            for number in &level {
                let departures = self.departures(*number, limit);
                let is_own = |one: &&Departure| *number != alarm || one.at < limit;
                if let Some(departure) = departures.iter().find(is_own) {
                    let back = std::iter::successors(Some(*number), |at| {
                        next.get(at).copied().filter(|_| *at != alarm)
                    });
                    let mut path: Vec<Number> = back.collect();
                    path.reverse();
                    let expected = departure.expected * looked_at as f64;
                    let departure = departure.clone();
                    roots.push(Root { entity: *number, path, departure, expected });
                }
            }
            let mut further = Vec::new();
            for last in level {
                for number in self.recorded_upstream(last) {
                    if let std::collections::btree_map::Entry::Vacant(slot) = next.entry(number) {
                        slot.insert(last);
                        further.push(number);
                    }
                }
            }
            level = further;
        }
        let mut roots = self.led_back(roots, limit);
        roots.sort_by(|a, b| {
            a.expected
                .total_cmp(&b.expected)
                .then(b.departure.at.cmp(&a.departure.at))
                .then(a.entity.cmp(&b.entity))
        });
        roots
    }

    /// Each departure led back to the one that explains it in the end. A root is as unexpected as the
    /// least expected departure that it explains.
    fn led_back(&self, found: Vec<Root>, limit: Timestamp) -> Vec<Root> {
        let mut best: BTreeMap<Number, f64> = BTreeMap::new();
        for one in &found {
            let end = self.end_of(one.entity, one.departure.clone(), limit);
            let least = best.entry(end).or_insert(f64::MAX);
            *least = least.min(one.expected);
        }
        let ends = found.into_iter().filter_map(|root| {
            let expected = *best.get(&root.entity)?;
            Some(Root { expected, ..root })
        });
        ends.collect()
    }

    /// Who explains a departure in the end. Of those that explain each other in a circle it is the one
    /// that began first.
    fn end_of(&self, entity: Number, departure: Departure, limit: Timestamp) -> Number {
        let mut way = vec![(entity, departure)];
        while let Some((last, departure)) = way.last() {
            let Some((next, why)) = self.explaining(*last, departure, limit) else {
                return *last;
            };
            if let Some(place) = way.iter().position(|(passed, _)| *passed == next) {
                let circle = way.iter().skip(place);
                let first = circle.min_by(|(one, a), (other, b)| {
                    let order = a.between.0.cmp(&b.between.0);
                    order.then(a.expected.total_cmp(&b.expected)).then(one.cmp(other))
                });
                return first.map_or(next, |(first, _)| *first);
            }
            way.push((next, why));
        }
        entity
    }

    fn is_recorded(&self, number: Number) -> bool {
        self.ways.name(number).is_some_and(|name| (self.measured)(name).is_some())
    }

    /// Who acts on an entity, by itself or through others that are not recorded.
    fn recorded_upstream(&self, number: Number) -> Vec<Number> {
        let mut seen = BTreeSet::from([number]);
        let mut queue = VecDeque::from([(number, 0)]);
        let mut found = Vec::new();
        while let Some((last, hops)) = queue.pop_front() {
            for other in self.upstream(last).filter(|other| seen.insert(*other)) {
                if self.is_recorded(other) {
                    found.push(other);
                } else if hops < MAX_PATH_HOPS {
                    queue.push_back((other, hops + 1));
                }
            }
        }
        found
    }

    /// What acts on an entity and departed no later, so that the entity's own departure follows.
    fn explaining(
        &self,
        number: Number,
        departure: &Departure,
        limit: Timestamp,
    ) -> Option<(Number, Departure)> {
        let followed = departure.given.and_then(|place| self.owner(number, place, limit));
        let upstream = self.recorded_upstream(number).into_iter();
        let earlier = upstream.filter(|other| Some(*other) != followed).flat_map(|other| {
            let theirs = self.departures(other, limit);
            let acts_back = self.recorded_upstream(other).contains(&number);
            let explains = |one: &&Departure| {
                let is_sure = one.expected <= EXPLAINS.max(departure.expected);
                let over = one.until.checked_add(AFTERWARDS).unwrap_or(Timestamp::MAX);
                is_sure && over >= departure.between.0 && begins_before(one, departure, acts_back)
            };
            theirs.iter().find(explains).map(|one| (other, one.clone()))
        });
        earlier.min_by(|a, b| a.1.expected.total_cmp(&b.1.expected).then(a.0.cmp(&b.0)))
    }

    /// Who has the variable at a place among those that act on an entity.
    fn owner(&self, number: Number, place: usize, limit: Timestamp) -> Option<Number> {
        let mut left = place;
        self.recorded_upstream(number).into_iter().find(|other| {
            let count = self.tracks(*other, limit).len();
            let is_here = left < count;
            left = left.saturating_sub(count);
            is_here
        })
    }

    /// Whether enough of what moves follows what acts on it. Where nothing does, neighbours tell nothing
    /// of each other, and the order of what is unusual has to do.
    fn has_laws(&self) -> bool {
        let Some(limit) = self.limits().into_iter().next() else { return false };
        let work_out = || {
            let all = self.all().map(|number| self.judged(number, limit));
            let (moving, following) = all.fold((0_usize, 0_usize), |(moving, following), one| {
                let (is_moving, is_following) = (one.is_moving, one.has_laws);
                (moving + usize::from(is_moving), following + usize::from(is_following))
            });
            moving > 0 && following as f64 >= FOLLOWING * moving as f64
        };
        let find = |kept: &super::Kept| kept.has_laws;
        let keep = |kept: &mut super::Kept, has_laws| kept.has_laws = Some(has_laws);
        self.books.or_else(&self.periods, find, work_out, keep)
    }

    fn all(&self) -> impl Iterator<Item = Number> {
        (0..self.ways.names().len()).filter_map(|number| Number::try_from(number).ok())
    }

    fn departures(&self, number: Number, limit: Timestamp) -> Vec<Departure> {
        self.judged(number, limit).departures.clone()
    }

    fn judged(&self, number: Number, limit: Timestamp) -> Arc<Judged> {
        let goes_on = self.goes_on(limit);
        let work_out = || {
            let own = self.tracks(number, limit);
            let upstream: Vec<Arc<Vec<Track>>> = self
                .recorded_upstream(number)
                .into_iter()
                .map(|other| self.tracks(other, limit))
                .collect();
            let upstream: Vec<&Track> = upstream.iter().flat_map(|tracks| tracks.iter()).collect();
            let mut judged = judge(&own, &upstream, goes_on);
            judged.departures.retain(|departure| departure.between.0 <= limit);
            Arc::new(judged)
        };
        let key = (number, limit);
        let find = |kept: &super::Kept| kept.judged.get(&key).cloned();
        self.books.or_else(&self.periods, find, work_out, |kept, judged| {
            kept.judged.insert(key, judged);
        })
    }

    fn goes_on(&self, limit: Timestamp) -> bool {
        let work_out = || {
            let tracks: Vec<_> = self.all().map(|number| self.tracks(number, limit)).collect();
            goes_on(tracks.iter().flat_map(|tracks| tracks.iter()))
        };
        let find = |kept: &super::Kept| kept.goes_on.get(&limit).copied();
        self.books.or_else(&self.periods, find, work_out, |kept, goes_on| {
            kept.goes_on.insert(limit, goes_on);
        })
    }

    fn tracks(&self, number: Number, limit: Timestamp) -> Arc<Vec<Track>> {
        let work_out = || {
            let measured = self.ways.name(number).and_then(|name| (self.measured)(name));
            let made = measured.map(|measured| tracks(&measured, &self.periods, limit));
            Arc::new(made.unwrap_or_default())
        };
        let key = (number, limit);
        let find = |kept: &super::Kept| kept.tracks.get(&key).cloned();
        self.books.or_else(&self.periods, find, work_out, |kept, tracks| {
            kept.tracks.insert(key, tracks);
        })
    }
}

/// Whether a departure can have begun before another. Where both can, of two that act on each other the
/// less expected one came first.
fn begins_before(one: &Departure, other: &Departure, acts_back: bool) -> bool {
    let can = |one: &Departure, other: &Departure| {
        let latest = other.between.1.checked_add(SCAN).unwrap_or(Timestamp::MAX);
        one.between.0 <= latest
    };
    let is_open = acts_back && can(other, one);
    can(one, other) && (!is_open || one.expected < other.expected)
}

/// Fewer expected by chance make no difference.
const LEAST_EXPECTED: f64 = 1e-6;

fn as_deviation(departure: &Departure) -> Deviation {
    Deviation {
        onset: departure.at,
        between: departure.between,
        how: How::Unusual,
        surprise: Some((-libm::log(departure.expected.max(LEAST_EXPECTED))).max(0.0)),
        kind: departure.kind,
        query: departure.query.clone(),
        text: departure.text.clone(),
    }
}
